"""The signals of the variable-horizon experiment are what the paper says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.tasks.ou_mixture import ou_mixture


def test_one_component_follows_its_recurrence():
    tau = 7.0
    signal = ou_mixture(np.random.default_rng(3), 50, trajectories=1, components=1, timescales=(tau, tau))[:, 0]
    rng = np.random.default_rng(3)
    rng.uniform(size=1)
    noise = rng.normal(size=50)
    a = np.exp(-1 / tau)
    z = noise[0]
    for t in range(50):
        assert_allclose(signal[t], z, atol=1e-12)
        if t < 49:
            z = a * z + np.sqrt(1 - a**2) * noise[t + 1]


def test_the_correlation_is_the_mean_of_exponentials_over_log_uniform_time_constants():
    signal = ou_mixture(np.random.default_rng(0), n_steps=400, trajectories=3000, timescales=(2.0, 200.0))
    tau = np.geomspace(2, 200, 2001)
    for lag in (0, 1, 10, 100):
        found = (signal[: 400 - lag] * signal[lag:]).mean()
        assert_allclose(found, np.exp(-lag / tau).mean(), atol=0.03)  # the spread of 3000 trajectories


def test_the_same_seed_gives_the_same_signals_and_each_trajectory_is_its_own():
    first = ou_mixture(np.random.default_rng(1), 100, 3)
    assert_allclose(ou_mixture(np.random.default_rng(1), 100, 3), first)
    assert np.abs(np.corrcoef(first.T) - np.eye(3)).max() < 0.9
    # A longer list of trajectories begins with the shorter one.
    assert_allclose(ou_mixture(np.random.default_rng(1), 100, 5)[:, :3], first)


def test_dt_and_time_constants_stretched_together_change_nothing():
    first = ou_mixture(np.random.default_rng(1), 100, 3, timescales=(2.0, 20.0))
    assert_allclose(ou_mixture(np.random.default_rng(1), 100, 3, timescales=(4.0, 40.0), dt=2.0), first)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_steps": 0}, ValueError, "n_steps=0"),
        ({"timescales": (20.0, 2.0)}, ValueError, "rising order"),
        ({"timescales": (0.0, 2.0)}, ValueError, r"timescales\[0\]=0.0"),
        ({"dt": -1.0}, ValueError, "dt=-1.0"),
        ({"components": 0}, ValueError, "components=0"),
    ],
)
def test_signals_that_cannot_be_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ou_mixture(np.random.default_rng(0), **arguments)
