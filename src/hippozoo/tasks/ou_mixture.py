"""Mixtures of Ornstein-Uhlenbeck processes: signals with something to remember at every horizon."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.signal import lfilter

from hippozoo._internal.arguments import positive_number, shorten, whole_number

__all__ = ["ou_mixture"]


def ou_mixture(
    rng: np.random.Generator,
    n_steps: int = 30_000,
    trajectories: int = 64,
    components: int = 16,
    timescales: tuple[float, float] = (2.0, 2000.0),
    dt: float = 1.0,
) -> Float[np.ndarray, "time trajectories"]:
    r"""Stationary signals of variance 1, each the mean of processes with log-uniform time constants.

    .. math:: z_{t+1} = a z_t + \sqrt{1 - a^2}\,\varepsilon_t, \quad a = e^{-dt/\tau}, \quad
              x_t = K^{-1/2} \sum_{k=1}^K z^{(k)}_t

    Parameters
    ----------
    rng
        Where randomness comes from; every trajectory draws its own time constants.
    n_steps, trajectories
        How many samples, and how many signals side by side.
    components
        Processes in each mixture, K in the paper.
    timescales
        Shortest and longest time constant, tau.
    dt
        Time between samples.

    Examples
    --------
    >>> signal = ou_mixture(np.random.default_rng(0), n_steps=2000, trajectories=50)
    >>> signal.shape, bool(0.8 < signal.std() < 1.2)
    ((2000, 50), True)

    References
    ----------
    Paper, appendix "Variable-Horizon Reconstruction Experiment". The number of components is not given there; 16 is
    ours.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng={shorten(rng)}; pass np.random.default_rng(seed).")
    length = whole_number("n_steps", n_steps)
    count = whole_number("trajectories", trajectories)
    parts = whole_number("components", components)
    try:
        shortest, longest = timescales
    except (TypeError, ValueError):
        raise TypeError(f"timescales={shorten(timescales)}; pass two numbers, for example (2.0, 2000.0).") from None
    shortest = positive_number("timescales[0]", shortest, why="it is a duration")
    longest = positive_number("timescales[1]", longest, why="it is a duration")
    if shortest > longest:
        raise ValueError(f"timescales={shorten(timescales)}: the first is the shortest; pass them in rising order.")
    step = positive_number("dt", dt, why="time only runs forwards")
    signal = np.zeros((length, count))
    for trajectory in range(count):
        tau = np.exp(rng.uniform(math.log(shortest), math.log(longest), size=parts))
        noise = rng.normal(size=(parts, length))
        for decay, shocks in zip(np.exp(-step / tau), noise, strict=True):
            # The first value is drawn from the stationary law, so that the process has no beginning.
            shocks[1:] *= math.sqrt(1 - decay**2)
            signal[:, trajectory] += lfilter([1.0], [1.0, -decay], shocks)
    return signal / math.sqrt(parts)
