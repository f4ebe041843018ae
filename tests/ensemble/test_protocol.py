"""Both forecasters answer the same few questions, and `advance` is one way in for one reading and for many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.ensemble import EnsembleForecast, EnsembleState, forecaster_for
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecast, Forecaster, ForecasterLike, ForecasterState, GaussianForecast, StateLike

BOTH = {
    "paper": (Forecaster(LegT(8, 20.0), horizon=4.0), ForecasterState, GaussianForecast),
    "ensemble": (forecaster_for(4), EnsembleState, EnsembleForecast),
}


@pytest.mark.parametrize("name", BOTH)
def test_each_forecaster_has_a_state_and_a_forecast_of_its_own_and_one_protocol(name, rng):
    forecaster, own_state, own_forecast = BOTH[name]
    state = forecaster.learn(forecaster.initial_state(2), rng.normal(size=(60, 2)))
    forecast = forecaster.forecast(state)
    assert isinstance(forecaster, ForecasterLike)
    assert isinstance(state, own_state)
    assert isinstance(state, StateLike)
    assert isinstance(forecast, own_forecast)
    assert isinstance(forecast, Forecast)
    assert_array_equal(forecaster.silence(forecaster.learn_one(state, None)), [1.0, 1.0])
    assert forecaster.until_each_validated(state).max() == forecaster.until_validated(state)
    assert_allclose(forecast.channel(1).samples(), forecast.samples()[1], rtol=1e-12)
    assert forecast.sample_covariance().shape == (2, 4, 4)


@pytest.mark.parametrize("horizon", [4.0, 60.0])
def test_advance_expects_of_many_readings_what_it_expects_of_each(horizon, rng):
    """Horizon 60 issues forecasts after every second cell only; missing readings are among them."""
    forecaster = forecaster_for(horizon)
    rows = np.cumsum(rng.normal(size=(260, 2)), axis=0)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[200:203] = np.nan
    state, expected = forecaster.advance(forecaster.initial_state(2), rows)
    one = forecaster.initial_state(2)
    for place in range(len(rows)):
        one, alone = forecaster.advance(one, rows[place : place + 1])
        assert_array_equal(alone[0], expected[place])
    assert_array_equal(forecaster.forecast(one).samples(), forecaster.forecast(state).samples())


@pytest.mark.parametrize(
    "horizon",
    [
        4.0,
        60.0,  # forecasts are not issued after every cell
    ],
)
def test_asking_changes_nothing_and_advancing_is_learning(horizon, rng):
    forecaster = forecaster_for(horizon)
    rows = np.cumsum(rng.normal(size=(260, 2)), axis=0)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    state = forecaster.initial_state(2)
    for place in range(len(rows)):
        state, expected = forecaster.advance(state, rows[place : place + 1])
        assert_array_equal(forecaster.expect(state), expected[0])
    known = ~np.isnan(rows)
    learnt = forecaster.learn(forecaster.initial_state(2), np.where(known, rows, 0.0), mask=known)
    assert_array_equal(forecaster.forecast(learnt).samples(), forecaster.forecast(state).samples())
