"""Bands by the errors that were made: early ones count less, rare ones are doubted more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_less

from hippozoo.ensemble import calibration, forecaster_for
from hippozoo.ensemble.calibration import Calibration


@pytest.mark.parametrize(("horizon", "steps"), [(3, 40), (3, 200), (12, 300)])
def test_an_error_counts_by_the_fourth_power_of_how_much_was_seen(horizon, steps, rng):
    forecaster = forecaster_for(horizon)
    state = forecaster.learn(forecaster.initial_state(), rng.normal(size=steps))
    counts = forecaster.mixer.open(state.mixture).errors["counts"][0].sum(axis=(1, 2))
    ages = np.arange(steps)
    worth = np.minimum(ages / max(8 * horizon, 48), 1.0) ** 4
    for lead in range(horizon):
        # The first error of the very first forecast has no size to be compared with.
        assert counts[lead] == pytest.approx(worth[lead + 1 :].sum(), abs=worth[lead + 2])


@pytest.mark.parametrize("errors", [20, 60, 100, 400, 5000])
def test_weights_are_worth_as_many_errors_as_their_squares_say(errors):
    """(Σ w)² / Σ w², which is what a mean of that variance has seen."""
    weights = np.minimum(np.arange(1, errors + 1) / 100, 1.0) ** 4
    worth = calibration._worth(np.array([[weights.sum()]]), 100.0)[0, 0] * weights.sum()
    assert worth == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=0.15)


def test_few_errors_are_doubted_and_rare_ones_the_more():
    """Twice as many of the same errors give narrower bands; the difference grows towards the tail."""
    shape = calibration.usual_shape() / 2
    few, many = (Calibration(np.broadcast_to(count * shape, (1, 1, 2, len(shape)))) for count in (100, 10_000))
    wider = [few.reach(tail)[0, 0, 0] / many.reach(tail)[0, 0, 0] for tail in (0.1, 0.025, 0.005, 0.0005)]
    assert_array_less(1.0, wider)
    assert_array_less(wider[:-1], wider[1:])


def test_bands_hold_on_a_daily_wave_whose_season_was_learnt_on_the_way(rng):
    """What is missed where the first days were forecast badly: 25 and 8 % where beginners' errors counted in full."""
    values = 3 * np.sin(np.arange(340) * 2 * np.pi / 24)[:, None] + rng.normal(size=(340, 60))
    forecaster = forecaster_for(24, season=24)
    state = forecaster.learn(forecaster.initial_state(60), values[:208])
    missed = []
    for begin in range(208, 316, 18):
        forecast, future = forecaster.forecast(state), values[begin : begin + 24].T
        bands = [forecast.band(forecast.leads(), coverage) for coverage in (0.8, 0.95)]
        missed.append([np.mean((future < lower) | (future > upper)) for lower, upper in bands])
        state = forecaster.learn(state, values[begin : begin + 18])
    assert_allclose(np.mean(missed, axis=0), [0.2, 0.05], atol=0.03)
