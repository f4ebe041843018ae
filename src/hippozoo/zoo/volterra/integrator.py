"""An integrator with dry friction: force in, position out, as of drives, valves and anything that is moved.

Velocities follow the input and their own past; the position is their sum, so it stays where it is when nothing moves
it. Dry friction is exact: below it nothing moves, and above it it takes its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hippozoo.checkpoint import register
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra._loop_kernels import run_integrator
from hippozoo.zoo.volterra._records import Record
from hippozoo.zoo.volterra.bounded_loop import Records

__all__ = ["Integrator", "fit_integrator"]

# Shares of a velocity that are left after one sample, from which a search begins.
_KEPT = (0.5, 0.9, 0.98, 0.995, 0.999)
# Of these, so many are followed to the end.
_FOLLOWED = 2


@register(name="hippozoo.zoo.volterra.integrator.Integrator")
@dataclass(frozen=True, eq=False)
class Integrator:
    """v = soft(Σ kept v before + Σ gains u + offset, friction), and the output is the sum of all v.

    A velocity is a change of the output in one sample.

    Examples
    --------
    >>> cart = Integrator(np.array([0.9]), np.array([0.1]), 0.0, friction=0.05)
    >>> push = np.repeat([0.0, 2.0, 0.3], [3, 10, 40])
    >>> position = cart.simulate(push, known=np.zeros(2))
    >>> bool(position[2] == 0.0), bool(position[13] > 3.0), bool(position[-1] == position[-5])
    (True, True, True)
    """

    kept: Float[np.ndarray, " kept"]  #: What is kept of the last velocities, newest first.
    gains: Float[np.ndarray, " gains"]  #: What the inputs of this sample and those before add to it.
    offset: float  #: What is added at any time.
    friction: float  #: By how much every velocity is drawn towards 0; none moves through it.

    def simulate(self, signal: Record, known: Float[np.ndarray, " known"]) -> Record:
        """The output: it goes on from the last known one with the velocity of the known ones, or from rest at 0."""
        return self.run(signal, known)[0]

    def run(self, signal: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs, and how each parameter changes them, (time, parameters)."""
        known = known[: len(signal)]
        velocity = float(np.polyfit(np.arange(len(known)), known, 1)[0]) if len(known) > 1 else 0.0
        begin = known if len(known) else np.zeros(1)
        signal = np.ascontiguousarray(signal, float)
        return run_integrator(
            signal, np.ascontiguousarray(begin), velocity, self.kept, self.gains, self.offset, self.friction
        )


def fit_integrator(records: Records, known: int, kept: int, gains: int, *, friction: bool = True) -> Integrator:
    """Least squares on the simulated output, with so many velocities `kept` and so many `gains` of the input.

    The first `known` outputs begin each simulation, and are not fitted.
    """
    known = max(known, 2)
    used = [(u, y) for u, y in records if len(u) > known + 1]
    wanted = np.concatenate([y[known:] for _, y in used])
    count = kept + gains + 2 - (not friction)

    def made(values: np.ndarray) -> Integrator:
        drag = max(values[-1], 0.0) if friction else 0.0
        return Integrator(values[:kept], values[kept : kept + gains], float(values[kept + gains]), float(drag))

    def residual(values: np.ndarray) -> np.ndarray:
        one = made(values)
        return wanted - np.concatenate([one.simulate(u, y[:known])[known:] for u, y in used])

    def jacobian(values: np.ndarray) -> np.ndarray:
        one = made(values)
        return np.concatenate([one.run(u, y[:known])[1][known:, :count] for u, y in used])

    starts = []
    for share in _KEPT:
        # Without friction, and with what is kept given, the output is linear in all other parameters.
        start = np.zeros(count)
        start[0] = share
        linear = np.arange(kept, kept + gains + 1)
        slopes, left = jacobian(start)[:, linear], residual(start)
        size = np.sqrt(np.square(slopes).mean(axis=0)) + 1e-30
        start[linear] = np.linalg.lstsq(slopes / size, left, rcond=1e-8)[0] / size
        starts.append((float(np.mean(residual(start) ** 2)), start))
    starts.sort(key=lambda one: one[0])
    fits = []
    for _, start in starts[:_FOLLOWED]:
        fits.append(minimise(start, residual, jacobian, 40))
        if friction:
            driven = np.concatenate([u for u, _ in used]).std() * abs(start[kept : kept + gains].sum())
            for share in (0.1, 0.5):
                rubbed = start.copy()
                rubbed[-1], rubbed[kept : kept + gains] = share * driven, (1 + share) * start[kept : kept + gains]
                fits.append(minimise(rubbed, residual, jacobian, 40))
    stable = [fit for fit in fits if np.abs(np.roots([1.0, *-fit.parameters[:kept]])).max() <= 1.0]
    if not stable:
        raise ValueError("no velocity that settles fits these records; pass longer ones, or other forms.")
    return made(min(stable, key=lambda fit: fit.cost).parameters)
