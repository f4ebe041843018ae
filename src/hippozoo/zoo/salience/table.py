r"""The warped-lag table: one function of the lag holds everything that a held signal can leave in the memory.

A signal that jumped from 0 to 1 a warped lag :math:`\tau` ago has left :math:`G(\tau) = \int_0^\tau e^{sA} b\,ds`. Held
samples are a staircase, so the state is :math:`\sum_e \mathrm{jump}_e\, G(\mathrm{lag}_e)`, whatever the salience did
to the lags. The table keeps G at knots with the exact slope :math:`A G + b`; between knots stands a cubic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr

from hippozoo._internal.immutable import Immutable
from hippozoo.memory.varying_step import ExactStep
from hippozoo.systems import HippoSystem

__all__ = ["LagTable", "Staircase", "lag_table"]

# The memory of a step is complete where this little of it is still to come.
COMPLETE = 1e-8
LONGEST = 256.0  # timescales; no system of ours needs more
# A table may hold this many numbers (twice: values and slopes); beyond, there is none.
LARGEST = 1 << 24
# Carrying a state through worse-conditioned cells than this would spoil float32.
WORST_CONDITION = 2000.0


@dataclass(frozen=True, eq=False)
class Staircase:
    """How any state is written as the past that would have left it: a staircase of as many levels as coefficients.

    Parameters
    ----------
    lags
        Where it jumps, oldest first, in timescales; the first jump stands for the infinite past.
    jumps_of
        ``jumps_of @ state`` are the jumps.
    condition
        How much the cells amplify an error, at worst.
    """

    lags: Float[np.ndarray, " edges"]
    jumps_of: Float[np.ndarray, "edges order"]
    condition: float


@dataclass(frozen=True, eq=False)
class LagTable(Immutable):
    """G at knots, ready for interpolation; lags are in timescales.

    `values` and `slopes` are G at knots even in the square root of the lag, and its derivative by the knot's number;
    `error` is the largest one found half way between knots.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> table = lag_table(LegT(8, timescale=1.0), 1e-6)
    >>> bool(np.allclose(table.values[-1], [1, 0, 0, 0, 0, 0, 0, 0], atol=1e-6))  # a constant past
    True
    """

    system: HippoSystem
    root_step: float
    values: Float[np.ndarray, "knots order"]
    slopes: Float[np.ndarray, "knots order"]
    error: float

    @property
    def longest(self) -> float:
        """The lag from which on nothing changes."""
        return (self.root_step * (len(self.values) - 1)) ** 2

    @cached_property
    def staircase(self) -> Staircase | None:
        """The cells that a carried state is written in; None where they would be ill-conditioned."""
        order = self.system.order
        roots = self.root_step * np.arange(len(self.values))
        still_to_come = self.values[-1] - self.values
        # Pivoting finds lags whose steps leave states as different as possible, for any system.
        *_, pivots = qr(still_to_come.T, mode="economic", pivoting=True)
        chosen = np.sort(pivots[:order])
        edges = still_to_come[chosen]
        cells = edges - np.vstack([edges[1:], np.zeros((1, order))])
        size = np.linalg.norm(cells, axis=1, keepdims=True)
        if size.min() < 1e-12:
            return None
        condition = float(np.linalg.cond(cells / size))
        if condition > WORST_CONDITION:
            return None
        levels_of = np.linalg.inv(cells.T)[::-1]  # oldest first
        jumps_of = np.diff(levels_of, axis=0, prepend=0.0, append=0.0)
        lags = np.concatenate([[self.longest], (roots[chosen] ** 2)[::-1]])
        return Staircase(lags, jumps_of, condition)


@lru_cache(maxsize=16)
def lag_table(system: HippoSystem, tolerance: float) -> LagTable | None:
    """The table of a system to a tolerance, or None where it would be larger than it is worth.

    `tolerance` is the largest error of a coefficient of G, half way between knots.
    """
    engine = ExactStep(system)
    longest = _complete_after(engine)
    if longest is None:
        return None
    cells = max(64, int(4 * system.order * np.sqrt(longest)))
    while (cells + 1) * system.order <= LARGEST:
        table = _with_knots(engine, longest, cells)
        if table.error <= tolerance:
            return table
        # The error of a cubic falls with the fourth power.
        cells = int(cells * max(1.1, 1.05 * (table.error / tolerance) ** 0.25)) + 1
    return None


def _complete_after(engine: ExactStep) -> float | None:
    lag = 0.5
    while lag < LONGEST:
        if np.abs(engine.forget(engine.settled[None], lag)).max() < COMPLETE:
            return lag
        lag *= 1.1
    return None


def _with_knots(engine: ExactStep, longest: float, cells: int) -> LagTable:
    system = engine.system
    root_step = np.sqrt(longest) / cells
    # Also half way between the knots, to see the error.
    roots = root_step / 2 * np.arange(2 * cells + 1)
    steps = np.diff(roots**2)
    held_at_one = engine.scan(np.ones((len(steps), 1)), steps, np.zeros((1, system.order)))[:, 0]
    G = np.vstack([np.zeros((1, system.order)), held_at_one])
    values, halfway = G[::2], G[1::2]
    slopes = root_step * 2 * roots[::2, None] * (values @ system.A.T + system.b)
    cubic = (values[1:] + values[:-1]) / 2 + (slopes[:-1] - slopes[1:]) / 8
    return LagTable(system, float(root_step), values, slopes, float(np.abs(cubic - halfway).max()))
