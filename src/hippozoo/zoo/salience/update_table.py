r"""The update table: what any step of the warped clock does to any state, kept as a function of the step.

A held sample x and a step h take the state s to ``E(h) s + G(h) x`` with :math:`E(h) = e^{hA}` and
:math:`G(h) = \int_0^h e^{sA} b\,ds`. Salience asks for another h at every sample, so both are kept at knots even in the
square root of the step, with first and second derivatives (they are products with A); a quintic stands between knots.
Unlike a table of lags it writes no state as a staircase: any system has one, as far as memory goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.linalg import expm

from hippozoo.systems import HippoSystem

__all__ = ["UpdateTable", "update_table"]

# Numbers in a table, at most; beyond, there is none.
LARGEST = 1 << 24
FEWEST_CELLS = 4


@dataclass(frozen=True, eq=False)
class UpdateTable:
    """``[E(h), G(h)]`` transposed, with two derivatives, at knots even in the square root of the step.

    Parameters
    ----------
    root_step
        From knot to knot, in the square root of the step; steps are in timescales.
    knots
        At every knot the value and its first and second derivative by the knot's number. Row n of a value is what a
        coefficient n of 1 becomes; the last row is what a held sample of 1 leaves.
    error
        The largest error found half way between knots.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> table = update_table(LegT(8, timescale=1.0), reach=0.5, tolerance=1e-9)
    >>> bool(np.allclose(table.knots[0, 0], np.eye(9, 8)))  # no time, no change, nothing taken in
    True
    """

    root_step: float
    knots: Float[np.ndarray, "knots 3 order_and_1 order"]
    error: float

    @property
    def reach(self) -> float:
        """The longest step it knows, in timescales."""
        return (self.root_step * (len(self.knots) - 1)) ** 2


@lru_cache(maxsize=16)
def update_table(system: HippoSystem, reach: float, tolerance: float) -> UpdateTable | None:
    """The updates of all steps up to `reach` to a tolerance, or None where they would fill too much memory.

    Parameters
    ----------
    system
        Any time-invariant one.
    reach
        The longest step, in timescales.
    tolerance
        Largest error of an entry, half way between knots.
    """
    N = system.order
    generator = np.zeros((N + 1, N + 1))
    generator[:N, :N], generator[:N, N] = system.A, system.b
    cells = max(FEWEST_CELLS, int(1.5 * N * np.sqrt(reach)))
    while 3 * (cells + 1) * N * (N + 1) <= LARGEST:
        table = _with_cells(generator, reach, cells)
        if table.error <= tolerance:
            return table
        # The error of a quintic falls with the sixth power.
        cells = int(cells * min(3.0, max(1.05, 1.02 * (table.error / tolerance) ** (1 / 6)))) + 1
    return None


def _with_cells(generator: np.ndarray, reach: float, cells: int) -> UpdateTable:
    root_step = np.sqrt(reach) / cells
    # Also half way between the knots, to see the error.
    updates = _at_even_roots(generator, root_step / 2, 2 * cells + 1)
    value, halfway = updates[::2], updates[1::2]
    number = np.arange(cells + 1)[:, None, None]
    velocity = generator @ value
    slope = 2 * root_step**2 * number * velocity
    bend = (2 * root_step**2 * number) ** 2 * (generator @ velocity) + 2 * root_step**2 * velocity
    middle = (value[1:] + value[:-1]) / 2 + 5 / 32 * (slope[:-1] - slope[1:]) + (bend[1:] + bend[:-1]) / 64
    knots = np.stack([value, slope, bend], 1)[:, :, :-1].swapaxes(-1, -2)
    return UpdateTable(float(root_step), np.ascontiguousarray(knots), float(np.abs(middle - halfway).max()))


def _at_even_roots(generator: np.ndarray, root_step: float, count: int) -> np.ndarray:
    """``exp(h generator)`` at h = (k root_step)², by two products each: the steps between grow evenly."""
    found = np.empty((count, *generator.shape))
    current = np.eye(len(generator))
    ahead, growth = expm(root_step**2 * generator), expm(2 * root_step**2 * generator)
    for k in range(count):
        found[k] = current
        current = current @ ahead
        ahead = ahead @ growth
    return found
