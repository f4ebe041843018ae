"""The weights of the past are the slopes of the forecast: what each reading moves when what was learnt stays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.ensemble import forecaster_for, history_weights

LAGS = (0, 1, 2, 5, 11, 12, 23, 24, 40)


def slopes(forecaster, state, values):
    """By definition: replay the signal with one reading moved, by the same maps and shares."""
    base = forecaster.replay(state, values, 0.5)[-1]
    found = []
    for lag in LAGS:
        moved = values.copy()
        moved[-1 - lag] += 1e-3
        found.append((forecaster.replay(state, moved, 0.5)[-1] - base) / 1e-3)
    return found


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"season": 24.0},
        {"simple": False},
        {"forgetting": 200.0},
        {"season": (12.0, 24.0), "guard": False},
    ],
    ids=str,
)
def test_weights_are_the_slopes_of_the_forecast(choices):
    rng = np.random.default_rng(0)
    values = 3 * np.sin(np.arange(150) * 2 * np.pi / 24) + rng.normal(size=150)
    forecaster = forecaster_for(6.0, **choices)
    state = forecaster.learn(forecaster.initial_state(), values)
    found = history_weights(forecaster.mixer, state.mixture, 0, 60)[list(LAGS)]
    assert np.abs(found).max() > 0.05
    assert_allclose(found, slopes(forecaster, state, values), atol=1e-6)
