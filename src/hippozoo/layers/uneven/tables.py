r"""What any step does to any state, as a polynomial of the step.

A sample x held for a time h takes a state s to ``E(h) s + G(h) x`` with :math:`E(h) = e^{hA}` and
:math:`G(h) = \int_0^h e^{sA} b\,ds`: Chebyshev series of both, and G alone in cells, six numbers for any functional.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import expm
from torch import Tensor

from hippozoo.layers.updates import augmented_generator
from hippozoo.systems import HippoSystem

__all__ = ["LagCells", "StepSeries", "lag_cells", "series_for", "step_series"]

#: What the terms that are left out of a series add up to, at most, in any entry.
TOLERANCE = {torch.float32: 1e-8, torch.float64: 1e-12}
#: Terms of a series, at most: a longer step is better taken digit by digit.
MOST_TERMS = 128
#: Error of a coefficient of G between the nodes of a cell, and cells at most.
CELL_TOLERANCE = {torch.float32: 1e-7, torch.float64: 1e-10}
MOST_CELLS = 1 << 10
DEGREE = 5


class StepSeries(NamedTuple):
    """``[E(h); G(h)]``, transposed, for steps up to `reach`; steps are in timescales.

    `terms` are coefficients of the Chebyshev polynomials on [0, reach]. Row n of a matrix is what a coefficient n of 1
    becomes; the last row is what a held sample of 1 leaves.
    """

    reach: float
    terms: Float[Tensor, "terms order_and_1 order"]

    def polynomials(self, steps: Float[Tensor, "*steps"]) -> Float[Tensor, "terms all_steps"]:
        """The Chebyshev polynomials at steps between 0 and `reach`, by their recurrence, in the steps' precision."""
        twice = (steps.flatten() * (4 / self.reach) - 2).clamp(-2.0, 2.0)
        found = twice.new_empty(len(self.terms), len(twice))
        found[0] = 1
        found[1] = twice / 2
        for before, now, after in zip(found, found[1:], found[2:], strict=False):
            torch.addcmul(before.neg(), twice, now, out=after)
        return found.to(self.terms.dtype)

    def updates(self, steps: Float[Tensor, "*steps"]) -> Float[Tensor, "*steps order_and_1 order"]:
        """The matrices of all steps; no gradient reaches the steps."""
        found = self.polynomials(steps).mT @ self.terms.flatten(1)
        return found.view(*steps.shape, *self.terms.shape[1:])

    def arrivals(self, steps: Float[Tensor, "*steps"]) -> Float[Tensor, "*steps order"]:
        """Their last rows alone: what a held sample of 1 leaves."""
        return (self.polynomials(steps).mT @ self.terms[:, -1]).view(*steps.shape, -1)


def series_for(system: HippoSystem, longest: float, dtype: torch.dtype) -> StepSeries | None:
    """The series for steps up to `longest` timescales, or somewhat longer, so that few are made and kept."""
    return step_series(system, 2.0 ** (math.ceil(4 * math.log2(max(longest, 1e-9))) / 4), dtype)


@lru_cache(maxsize=64)
def step_series(system: HippoSystem, reach: float, dtype: torch.dtype) -> StepSeries | None:
    """The series of a system for all steps up to `reach` timescales; None where it would be too long."""
    generator = augmented_generator(system).numpy()
    nodes = 16
    while nodes <= 2 * MOST_TERMS:
        angle = np.pi * (np.arange(nodes) + 0.5) / nodes
        values = expm((reach / 2 * (1 + np.cos(angle)))[:, None, None] * generator)[:, :-1]
        terms = np.tensordot(np.cos(np.outer(np.arange(nodes), angle)), values, 1) * (2 / nodes)
        terms[0] /= 2
        left_out = np.abs(terms).reshape(nodes, -1).max(1)[::-1].cumsum()[::-1]
        needed = int(np.argmax(left_out < TOLERANCE[dtype]))
        # The last quarter shows that the series has come down.
        if left_out[-1] < TOLERANCE[dtype] and needed <= min(3 * nodes // 4, MOST_TERMS):
            # Products with a multiple of four are faster than with fewer.
            kept = terms[: -(-needed // 4) * 4].swapaxes(-1, -2)
            return StepSeries(reach, torch.tensor(np.ascontiguousarray(kept), dtype=dtype, device="cpu"))
        if nodes == MOST_TERMS and left_out[-1] > TOLERANCE[dtype]:
            break  # the last term allowed is still needed, so twice the nodes would only confirm it
        nodes *= 2
    return None


class LagCells(NamedTuple):
    """G(lag), which a signal that rose from 0 to 1 so long ago has left, in cells even in the root of the lag.

    `inverse` is cells per unit of the square root of the lag; `values` are coefficients of the powers of the place in a
    cell, 0 to 1.
    """

    inverse: float
    values: Float[Tensor, "cells 6 order"]


@lru_cache(maxsize=64)
def lag_cells(system: HippoSystem, reach: float, dtype: torch.dtype) -> LagCells | None:
    """The cells of a system for all lags up to `reach` timescales; None where there would be too many."""
    series = step_series(system, reach, torch.float64)
    if series is None:
        return None
    nodes = (1 - np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)) / 2
    between = (nodes[1:] + nodes[:-1]) / 2
    to_powers = np.linalg.inv(np.vander(nodes, increasing=True))
    cells = 4
    while cells <= MOST_CELLS:
        root = np.sqrt(reach) / cells
        lags = ((np.arange(cells)[:, None] + np.concatenate([nodes, between])) * root) ** 2
        left = series.arrivals(torch.from_numpy(lags)).numpy()
        values = to_powers @ left[:, : len(nodes)]
        error = np.abs(np.vander(between, DEGREE + 1, increasing=True) @ values - left[:, len(nodes) :]).max()
        if error <= CELL_TOLERANCE[dtype]:
            return LagCells(float(1 / root), torch.tensor(values, dtype=dtype, device="cpu"))
        # The error of a polynomial of degree five falls with the sixth power.
        cells = int(cells * min(2.0, max(1.1, 1.05 * (error / CELL_TOLERANCE[dtype]) ** (1 / 6)))) + 1
    return None
