"""The update table: what any step of the warped clock does to any state, kept as a function of the step.

A held sample x and a step h take the state s to ``E(h) s + G(h) x``, with ``E(h) = exp(h A)`` and G its integral from 0
to h, times b. Both are kept at knots even in the square root of the step; a quintic stands between knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import expm
from torch import Tensor

from hippozoo.layers.derivatives import torch_looks_inside, without_autocast
from hippozoo.layers.updates import augmented_generator
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience._kernels import update_matrices

__all__ = ["UpdateTable", "update_table"]

# Error of an entry of the update matrices between knots.
TOLERANCE = {torch.float32: 1e-7, torch.float64: 1e-11}
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

    `tolerance` is the largest error of an entry, half way between knots.
    """
    N, generator = system.order, augmented_generator(system).numpy()
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


class Tables(NamedTuple):
    """An update table on torch's side, shared by all layers of a system."""

    knots: Tensor  # (knots, 3, order + 1, order)
    root_step: float
    A_T: Tensor
    b: Tensor


@lru_cache(maxsize=16)
def tables_for(system: HippoSystem, reach: float, dtype: torch.dtype) -> Tables | None:
    """The update table for all steps up to `reach`, or None where it would be too large."""
    table = update_table(system, reach, TOLERANCE[dtype])
    if table is None:
        return None
    knots, A_T, b = (torch.tensor(a, dtype=dtype) for a in (table.knots, system.A.T, system.b))
    return Tables(knots, table.root_step, A_T.contiguous(), b)


def updates_at(steps: Tensor, tables: Tables) -> Tensor:
    """The quintic at every step: (steps, order + 1, order), the steps of any shape."""
    return cast(Tensor, _UpdatesAt.apply(steps, tables.knots, tables.root_step, tables.A_T, tables.b))


def arrivals_at(steps: Tensor, tables: Tables) -> Tensor:
    """The last row of `updates_at` alone, what a held sample of 1 leaves: (steps, order)."""
    both = _UpdatesAt.apply(steps, tables.knots[:, :, -1:], tables.root_step, tables.A_T, tables.b)
    return cast(Tensor, both)[..., 0, :]


class _UpdatesAt(torch.autograd.Function):
    """Its derivative is made of its own output, so it is right at every order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(steps: Tensor, knots: Tensor, root_step: float, A_T: Tensor, b: Tensor) -> Tensor:
        if not torch_looks_inside():
            found = knots.new_empty(steps.numel(), knots[0, 0].numel())
            rows = knots.reshape(3 * len(knots), -1).numpy()
            update_matrices(rows, root_step, steps.detach().reshape(-1).numpy(), found.numpy())
            return found.view(*steps.shape, *knots.shape[2:])
        place = (steps.clamp(min=0.0).sqrt() / root_step).clamp(max=len(knots) - 1)
        cell = place.long().clamp(max=len(knots) - 2)
        q = place - cell
        late = q**3 * (10 - 15 * q + 6 * q * q)
        here = [1 - late, q - q**3 * (6 - 8 * q + 3 * q * q), q * q / 2 - q**3 * (1.5 - 1.5 * q + 0.5 * q * q)]
        there = [late, -(q**3) * (4 - 7 * q + 3 * q * q), q**3 * (0.5 - q + 0.5 * q * q)]
        weights = [torch.stack(three, -1)[..., None, None] for three in (here, there)]
        return (weights[0] * knots[cell] + weights[1] * knots[cell + 1]).sum(-3)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output, *inputs[-2:])

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        both, A_T, b = ctx.saved_tensors
        (gradient,) = gradients
        velocity = both @ A_T
        rate = (gradient * velocity).sum((-2, -1)) + gradient[..., -1, :] @ b
        return rate, None, None, None, None
