"""A mixture of forecasts: pieces equal the whole, every way to learn is one, and simple things are forecast simply."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.checkpoint import load_state, save_state
from hippozoo.ensemble import forecaster_for
from hippozoo.zoo.forecasting import Forecaster, ForecasterState


def wave(n: int, seed: int = 0) -> np.ndarray:
    return np.sin(np.arange(n) / 4) + 0.1 * np.random.default_rng(seed).normal(size=n)


def learnt(forecaster: Forecaster, signal: np.ndarray) -> ForecasterState:
    known = np.isfinite(signal)
    channels = None if signal.ndim == 1 else signal.shape[1]
    return forecaster.learn(forecaster.initial_state(channels), np.nan_to_num(signal), mask=known)


@pytest.mark.parametrize("season", [None, 12, (7, 30)])
def test_one_by_one_in_pieces_and_at_once_are_the_same_bits(season):
    forecaster, signal = forecaster_for(6, season=season), wave(400)
    signal[[100, 101, 250]] = np.nan
    whole = learnt(forecaster, signal)
    pieces = forecaster.initial_state()
    for begin in range(0, 400, 37):
        piece = signal[begin : begin + 37]
        pieces = forecaster.learn(pieces, np.nan_to_num(piece), mask=np.isfinite(piece))
    single = forecaster.initial_state()
    for value in signal:
        single = forecaster.learn_one(single, None if np.isnan(value) else float(value))
    wanted = forecaster.forecast(whole)
    for state in (pieces, single):
        found = forecaster.forecast(state)
        assert_array_equal(found.samples(), wanted.samples())
        assert_array_equal(found.quantile(found.leads(), 0.999), wanted.quantile(wanted.leads(), 0.999))


def test_a_state_is_never_changed_by_what_is_learnt_from_it():
    forecaster, signal = forecaster_for(6, season=12), wave(300)
    state = learnt(forecaster, signal[:200])
    before = forecaster.forecast(state).samples().copy()
    one = forecaster.learn(state, signal[200:])
    forecaster.learn(state, -signal[200:])
    for value in signal[200:]:
        state_of_another = forecaster.learn_one(state, float(10 * value))
    assert state_of_another.time == state.time + 1
    assert_array_equal(forecaster.forecast(state).samples(), before)
    again = forecaster.learn(state, signal[200:])
    assert_array_equal(forecaster.forecast(again).samples(), forecaster.forecast(one).samples())


def test_channels_that_learn_by_themselves_do_not_mix():
    forecaster, one, two = forecaster_for(6, season=12), wave(300), 50 + 3 * wave(300, 1)
    two[:40] = np.nan
    both = forecaster.forecast(learnt(forecaster, np.column_stack([one, two])))
    # Maps are renewed by the clock of the stream, which begins with its first sample.
    assert_array_equal(both.samples()[0], forecaster.forecast(learnt(forecaster, one)).samples())
    assert np.isfinite(both.samples()).all()


def test_what_is_used_is_said_and_adds_up_to_one():
    forecaster = forecaster_for(12, season=24)
    signal = 100 + np.tile(np.arange(24.0), 40) + 0.01 * np.random.default_rng(0).normal(size=960)
    by = forecaster.forecast(learnt(forecaster, signal)).by[0]
    assert sum(by.values()) == pytest.approx(1)
    assert sum(share for name, share in by.items() if "24" in name) > 0.9


@pytest.mark.parametrize("power", [-330, -40, 1, 330])
def test_a_power_of_two_scales_forecasts_exactly(power):
    forecaster, signal = forecaster_for(6, season=12), 3 + wave(300)
    plain, scaled = (forecaster.forecast(learnt(forecaster, one)) for one in (signal, signal * 2.0**power))
    assert_array_equal(scaled.samples(), plain.samples() * 2.0**power)
    assert_array_equal(scaled.quantile(scaled.leads(), 0.01), plain.quantile(plain.leads(), 0.01) * 2.0**power)


def test_paths_spread_as_bands_say():
    forecaster = forecaster_for(8)
    signal = np.random.default_rng(0).normal(size=1000)
    forecast = forecaster.forecast(learnt(forecaster, signal))
    paths = forecast.paths(4000, np.random.default_rng(1))
    lower, upper = forecast.band(forecast.leads(), 0.8)
    held = ((paths > lower) & (paths < upper)).mean()
    assert held == pytest.approx(0.8, abs=0.03)


def test_counts_are_bounded_by_zero_and_a_bound_can_be_given():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=500).astype(float)
    forecaster = forecaster_for(8)
    assert forecaster.forecast(learnt(forecaster, counts)).quantile(3.5, 0.001) == 0
    bounded = forecaster_for(8, lower=-0.5)
    assert bounded.forecast(learnt(bounded, counts - 0.5)).quantile(3.5, 0.001) >= -0.5


def test_long_horizons_have_smooth_bands_beside_an_even_season(rng):
    """Every second cell issues a forecast then, and half of the phases of the season would never be scored."""
    signal = np.sin(np.arange(700) * 2 * np.pi / 24) + 0.2 * rng.normal(size=700)
    forecaster = forecaster_for(60, season=24)
    forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), signal))
    lower, upper = forecast.band(forecast.leads(), 0.95)
    assert (upper - lower).max() < 3 * (upper - lower).min()


@pytest.mark.parametrize("choice", [{"together": "joint"}, {"rank": 3}, {"delay": "endpoint"}, {"warmup": 2.0}])
def test_what_belongs_to_one_map_is_refused_with_the_way_to_it(choice):
    with pytest.raises(TypeError, match=r"belongs to one map.*forecaster_with_candidates"):
        forecaster_for(6, **choice)


def test_a_panel_of_short_series_of_one_process_is_forecast_better_than_each_by_itself(rng):
    """Forty series of sixty samples, of sizes from 1 to 1,000: a wave that sixty samples of noise do not teach."""
    time, sizes = np.arange(72)[:, None], np.logspace(0, 3, 40)
    waves = np.sin(time * 2 * np.pi / 9.3 + rng.uniform(0, 2 * np.pi, 40))
    values = sizes * (5 + waves + 0.7 * rng.normal(size=(72, 40)))
    errors = {}
    for how in ("independent", "panel"):
        forecaster = forecaster_for(12, together=how)
        ahead = forecaster.forecast(learnt(forecaster, values[:60])).samples()
        # Beside what can be foreseen: the noise to come is nobody's fault.
        errors[how] = np.mean(np.abs(ahead / sizes[:, None] - 5 - waves[60:].T))
    assert errors["panel"] < 0.8 * errors["independent"]


@pytest.mark.parametrize("every", [1, 10])  # of few samples the log fills up before maps are renewed
@pytest.mark.parametrize("together", ["independent", "shared", "panel"])
def test_a_state_from_a_file_goes_on_to_the_same_bits(tmp_path, every, together):
    """A file holds no maps: they are solved again from the moments they came from."""
    forecaster, signal = forecaster_for(6, season=12, together=together), wave(1250)[:, None] * [1.0, 2.0, 3.0]
    mask = np.repeat(np.append(np.ones(900), np.arange(250) % every == 0) > 0, 3).reshape(-1, 3)
    state = forecaster.learn(forecaster.initial_state(3), signal[:1150], mask=mask)
    assert state.mixture.mapped.is_none == (every == 1)
    save_state(tmp_path / "state.safetensors", state, forecaster)
    found = load_state(tmp_path / "state.safetensors", forecaster)
    assert_array_equal(forecaster.mixer.maps(found.mixture), forecaster.mixer.maps(state.mixture))
    for go_on in (
        lambda one: one,
        lambda one: forecaster.learn_one(one, np.full(3, 0.3)),
        lambda one: forecaster.learn(one, signal[1150:]),
    ):
        after, wanted = (forecaster.forecast(go_on(one)) for one in (found, state))
        assert_array_equal(after.samples(), wanted.samples())
        assert_array_equal(after.quantile(after.leads(), 0.99), wanted.quantile(wanted.leads(), 0.99))


def test_a_state_of_another_layout_is_refused_in_words():
    """Such as one that an older version saved, with fewer forecasts in it: compiled loops would read beyond it."""
    state, other = learnt(forecaster_for(6), wave(100)), forecaster_for(6, season=12)
    for go_on in (
        lambda: other.learn(state, wave(5)),
        lambda: other.learn_one(state, 1.0),
        lambda: other.forecast(state),
    ):
        with pytest.raises(ValueError, match=r"saved by an older version; begin with initial_state"):
            go_on()
