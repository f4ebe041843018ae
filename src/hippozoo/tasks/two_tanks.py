"""Two tanks, one above the other: a slow, second-order system with square roots and an edge, made by simulation."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number

__all__ = ["two_tanks"]


def two_tanks(
    n_steps: int,
    rng: np.random.Generator,
    level: float = 2.9,
    swing: float = 1.0,
    noise: float = 0.02,
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """Pump voltage and level of the lower tank, in the manner of the cascaded-tanks benchmark, with numbers of our own.

    What leaves a tank grows with the root of its level (Torricelli); a tank that is full overflows, and part of what
    leaves the upper one falls into the lower.

    Parameters
    ----------
    n_steps
        Samples, four seconds apart.
    rng
        Where phases and noise come from.
    level, swing
        Mean and standard deviation of the pump's voltage; at 3.3 and 1.6 the lower tank is full a third of the time.
    noise
        Standard deviation of the measurement noise.

    Examples
    --------
    >>> voltage, height = two_tanks(256, np.random.default_rng(0))
    >>> bool(height.max() < 10.2), voltage.shape
    (True, (256,))
    """
    n_steps = whole_number("n_steps", n_steps)
    dt, parts = 4.0, 20
    frequency = np.arange(1, 57) / 4096
    phase = rng.uniform(0, 2 * np.pi, len(frequency))
    size = 1 / np.sqrt(1 + (frequency / 0.004) ** 2)
    times = dt * np.arange(n_steps)
    waves = np.cos(2 * np.pi * frequency[:, None] * times + phase[:, None])
    voltage = (size[:, None] * waves).sum(axis=0)
    voltage = np.clip(voltage / voltage.std() * swing + level, 0.3, 7.5)
    upper, lower, full, step = 5.5, 5.2, 10.0, dt / parts
    height = np.empty(n_steps)
    for t in range(n_steps):
        height[t] = lower
        for _ in range(parts):
            rise = 0.046 * voltage[t] - 0.054 * np.sqrt(upper)
            spilt = rise if upper >= full and rise > 0 else 0.0
            fall = 0.047 * np.sqrt(upper) - 0.040 * np.sqrt(lower) + 0.3 * spilt
            upper = min(max(upper + step * (rise - spilt), 0.0), full)
            lower = min(max(lower + step * fall, 0.0), full)
    return voltage, height + noise * rng.normal(size=n_steps)
