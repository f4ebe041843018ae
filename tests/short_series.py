"""Short series of five kinds, many of each at once: what a forecaster meets at the beginning of a stream."""

import numpy as np
from scipy.signal import lfilter

HORIZON, SERIES = 16, 100


def noises(rng, count):
    return 10 + rng.normal(size=(count, SERIES))


def autoregressions(rng, count):
    return np.asarray(lfilter([1.0], [1.0, -0.8], rng.normal(size=(count + 100, SERIES)), axis=0))[100:]


def walks(rng, count):
    return np.cumsum(rng.normal(size=(count, SERIES)), axis=0)


def waves(rng, count):
    phase = rng.uniform(0, 2 * np.pi, size=SERIES)
    return 10 * np.sin(np.arange(count)[:, None] * 2 * np.pi / 8.3 + phase) + rng.normal(size=(count, SERIES))


def lines(rng, count):
    return 0.5 * np.arange(count)[:, None] + rng.normal(size=(count, SERIES))


def small_tank():
    """Input and output of a tank that empties faster the fuller it is, 240 samples."""
    u, y = np.repeat(np.random.default_rng(0).normal(size=30), 8), np.zeros(240)
    for t in range(1, 240):
        y[t] = y[t - 1] + 0.2 * (u[t - 1] - y[t - 1] - 0.3 * y[t - 1] ** 3)
    return u, y
