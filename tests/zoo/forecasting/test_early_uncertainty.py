"""Bands before any forecast could be compared with what came: wide enough, and gone once that was done."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster, forecaster_with_candidates
from short_series import HORIZON, SERIES, autoregressions, lines, noises, walks, waves


def covered(forecaster, series, coverage=0.95):
    """The share of what came that each band held; channels are runs."""
    seen, came = series[:-HORIZON], series[-HORIZON:].T
    state = forecaster.learn(forecaster.initial_state(SERIES), seen)
    forecast = forecaster.forecast(state)
    lower, upper = forecast.band(forecast.leads(), coverage)
    return state, np.mean((lower < came) & (came < upper)), (upper - lower).mean()


@pytest.mark.parametrize("horizons", [1.2, 2.0, 3.0, 4.0, 4.6])
@pytest.mark.parametrize("kind", [noises, autoregressions, walks, waves, lines])
def test_a_band_of_95_percent_holds_most_of_what_comes_long_before_it_is_validated(rng, kind, horizons):
    series = kind(rng, int(horizons * HORIZON) + HORIZON)
    state, held, width = covered(forecaster_with_candidates(float(HORIZON)), series)
    assert not state.validation.weight.any()
    assert held > 0.85
    # Nobody needs a forecaster for a band of many times all that was ever seen.
    assert width < 6 * np.ptp(series, axis=0).mean()


@pytest.mark.parametrize("together", ["independent", "shared", "joint"])
@pytest.mark.parametrize("anchor", ["none", "last"])
def test_every_kind_of_forecaster_is_careful(rng, together, anchor):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor=anchor, together=together)
    held = []
    for _ in range(20 if together == "joint" else 1):
        series = walks(rng, 3 * HORIZON)[:, : 4 if together == "joint" else SERIES]
        seen, came = series[:-HORIZON], series[-HORIZON:].T
        forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(seen.shape[1]), seen))
        lower, upper = forecast.band(forecast.leads(), 0.95)
        held.append((lower < came) & (came < upper))
    assert np.mean(held) > 0.8


def test_one_pair_gives_a_band_that_is_narrow_nowhere(rng):
    forecaster = forecaster_with_candidates(29.0)
    state = forecaster.learn(forecaster.initial_state(), rng.normal(size=30))
    forecast = forecaster.forecast(state)
    spread = np.sqrt(forecast.variance(forecast.leads()))
    assert state.pairs == 1
    assert spread.min() > 0.3
    assert spread.max() < 10


def test_the_unit_and_the_level_of_a_signal_change_nothing(rng):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor="last", ridge=1e-2)
    signal = walks(rng, 40)[:, 0]
    plain, other = (
        forecaster.forecast(forecaster.learn(forecaster.initial_state(), one)).variance(7.0)
        for one in (signal, 500 + 1000 * signal)
    )
    assert_allclose(other, 1e6 * plain, rtol=1e-6)


def test_many_short_series_tell_more_than_caution(rng):
    # A hundred series of three horizons each: none long enough to validate on, together enough to know the errors.
    forecaster = Forecaster(LegT(4, 8.0), horizon=4.0, ridge=1e-4)
    series = autoregressions(rng, 12)
    merged = forecaster.learn(forecaster.initial_state(), series[:, 0])
    for one in series[:, 1:].T:
        merged = forecaster.merge(merged, forecaster.learn(forecaster.initial_state(), one))
    assert not merged.validation.weight.any()
    expected = (1 - 0.64 ** np.arange(1, 5)) / (1 - 0.64)
    forecast = forecaster.forecast(merged)
    assert_allclose(forecast.variance(forecast.leads()), expected, rtol=0.3)


def test_once_validated_a_band_is_that_of_the_errors_found(rng):
    forecaster = forecaster_with_candidates(float(HORIZON))
    state = forecaster.learn(forecaster.initial_state(), walks(rng, 6 * HORIZON)[:, 0])
    place = forecaster.candidates.index(forecaster.chosen(state)[0])
    assert_allclose(
        forecaster.forecast(state).covariance,
        state.validation.errors[0, place] / state.validation.weight[0],
        rtol=0,
        atol=0,
    )


@pytest.mark.parametrize("together", ["independent", "shared", "joint"])
@pytest.mark.parametrize(("begun", "late"), [(0, 0), (20, 0), (40, 33), (75, 70), (60, 0), (500, 450)])
def test_it_knows_how_much_more_it_must_see_to_validate(rng, together, begun, late):
    forecaster = Forecaster(LegT(8, 20.0), horizon=7.0, dt=1.0, warmup=3.0, together=together)
    series = walks(rng, 900)[:, :2]
    mask = np.ones((900, 2), bool)
    mask[:late, 1] = False
    state = forecaster.learn(forecaster.initial_state(2), series[:begun], mask=mask[:begun])
    missing = int(forecaster.until_validated(state))
    for rows, validated in ((missing - 1, False), (missing, True)):
        if rows >= 0:
            later = forecaster.learn(state, series[begun : begun + rows], mask=mask[begun : begun + rows])
            assert later.validation.weight.all() == validated
    gap = forecaster.learn(state, series[:50], mask=np.zeros((50, 2), bool))
    assert forecaster.until_validated(gap) <= missing
