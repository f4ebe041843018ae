"""Forecasts on the way: rolling origins at the cost of learning."""

import numpy as np
import pytest

from hippozoo.ensemble import forecaster_for


def series(rng, rows=700, channels=2):
    time = np.arange(rows)[:, None]
    values = np.sin(2 * np.pi * time / 12) + 0.1 * rng.normal(size=(rows, channels)).cumsum(axis=0)
    values[200:230, 0] = np.nan
    return values


@pytest.mark.parametrize("horizon", [1, 6, 60])
def test_rolled_forecasts_are_those_that_would_have_been_asked_for(horizon, rng):
    values = series(rng)
    mask = np.isfinite(values)
    forecaster = forecaster_for(float(horizon), season=12)
    state, origins, means, experts = forecaster.initial_state(2), [], [], []
    for piece in (slice(0, 333), slice(333, None)):
        for later, rolled in forecaster.roll(state, values[piece], mask[piece]):
            state = later
            origins.append(rolled.origins), means.append(rolled.mean.copy()), experts.append(rolled.experts.copy())
    origins, means = np.concatenate(origins), np.concatenate(means, axis=1)
    assert (np.diff(origins) == forecaster.mixer.stride).all()
    assert len(origins) >= (len(values) - 1) // forecaster.mixer.stride
    for origin in origins[[5, len(origins) // 2, -1]].tolist():
        asked = forecaster.forecast(forecaster.learn(forecaster.initial_state(2), values[:origin], mask=mask[:origin]))
        place = int(np.flatnonzero(origins == origin)[0])
        assert np.array_equal(means[:, place], asked.samples())
        assert np.array_equal(np.concatenate(experts, axis=1)[:, place], asked.issued.experts)


def test_rolling_learns_what_learning_does_and_leaves_the_state_before_alone(rng):
    values = series(rng)
    mask = np.isfinite(values)
    forecaster = forecaster_for(6.0, season=12)
    begun = forecaster.learn(forecaster.initial_state(2), values[:300], mask=mask[:300])
    before = forecaster.forecast(begun).samples().copy()
    *_, (rolled, _) = forecaster.roll(begun, values[300:], mask[300:])
    learnt = forecaster.learn(begun, values[300:], mask=mask[300:])
    assert np.array_equal(forecaster.forecast(rolled).samples(), forecaster.forecast(learnt).samples())
    assert (rolled.time, rolled.seen) == (learnt.time, learnt.seen)
    assert np.array_equal(forecaster.forecast(begun).samples(), before)


def test_bounds_hold_for_means_bands_and_what_is_expected_next(rng):
    values = np.clip(90 + 20 * rng.normal(size=400), 0, 100)
    forecaster = forecaster_for(12.0, lower=0, upper=100)
    state = forecaster.learn(forecaster.initial_state(), values)
    forecast = forecaster.forecast(state)
    low, high = forecast.band(forecast.leads(), 0.99)
    assert low.min() >= 0
    assert high.max() == 100
    high_state = forecaster.learn(forecaster.initial_state(), np.minimum(np.arange(400) / 3, 100.0))
    assert forecaster.expect(high_state)[0].max() <= 100
    for _, rolled in forecaster.roll(forecaster.initial_state(), values):
        assert rolled.mean.max() <= 100
    for given in ({"upper": float("nan")}, {"lower": 5, "upper": 5}):
        with pytest.raises(ValueError, match="upper="):
            forecaster_for(12.0, **given)
