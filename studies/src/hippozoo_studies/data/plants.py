"""Simulated plants that are hard to identify: a drive that integrates, and a converter whose diode blocks."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number

__all__ = ["converter", "position_drive"]

Record = tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]


def position_drive(n_steps: int, rng: np.random.Generator, dt: float = 0.005, noise: float = 2e-5) -> Record:
    """Force in newtons and position in metres of a carriage that is sent from place to place.

    A controller compares the position with the wanted one and drives the carriage by what is missing, so force and
    position depend on one another; the carriage stands still for a while at every place.

    Examples
    --------
    >>> force, position = position_drive(2_000, np.random.default_rng(0))
    >>> bool(abs(position).max() < 0.5), force.shape
    (True, (2000,))
    """
    n_steps = whole_number("n_steps", n_steps)
    mass, viscous, dry, push = 95.0, 200.0, 20.0, 3.0
    parts = 10
    step = dt / parts
    x, v, wanted, until = 0.0, 0.0, 0.0, 0
    begin, lasts, target, since = 0.0, 1, 0.0, 0
    force, position = np.empty(n_steps), np.empty(n_steps)
    for t in range(n_steps):
        if t >= until:  # another place, reached on a smooth way; then a pause
            begin, target = wanted, float(rng.uniform(-0.2, 0.2))
            lasts = int(rng.uniform(0.8, 1.6) / dt)
            until, since = t + lasts + int(rng.uniform(0.1, 0.6) / dt), t
        share = min((t - since) / lasts, 1.0)
        wanted = begin + (target - begin) * share**3 * (10 - 15 * share + 6 * share**2)
        force[t] = 8000.0 * (wanted - x) - 900.0 * v
        for _ in range(parts):
            free = v + step / mass * (force[t] - viscous * v - push)
            v = np.sign(free) * max(abs(free) - step / mass * dry, 0.0)
            x += step * v
        position[t] = x
    return force, position + noise * rng.normal(size=n_steps)


def converter(n_steps: int, rng: np.random.Generator, noise: float = 0.02) -> Record:
    """Duty cycle and output voltage of a converter: a coil and a capacitor, and a diode that stops the current at 0.

    Examples
    --------
    >>> duty, voltage = converter(600, np.random.default_rng(0))
    >>> bool(9 < voltage.min() < voltage.max() < 20)
    True
    """
    n_steps = whole_number("n_steps", n_steps)
    duty = np.repeat(rng.choice([0.45, 0.5, 0.55, 0.6, 0.65], size=n_steps // 20 + 1), 20)[:n_steps]
    current, volts, voltage = 1.0, 13.0, np.empty(n_steps)
    for t in range(n_steps):
        for _ in range(10):
            current = max(current + 0.02 * (24 * duty[t] - volts - 0.05 * current), 0.0)
            volts += 0.02 * (current - volts / 12)
        voltage[t] = volts
    return duty, voltage + noise * rng.normal(size=n_steps)
