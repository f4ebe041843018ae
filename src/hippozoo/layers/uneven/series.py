r"""What any step does to any state, as a polynomial of the step.

A sample x held for a time h takes a state s to ``E(h) s + G(h) x`` with :math:`E(h) = e^{hA}` and
:math:`G(h) = \int_0^h e^{sA} b\,ds`. Both are smooth in h: a Chebyshev series of about as many terms as the state has
coefficients gives them to rounding for all steps up to a quarter of a timescale, for all steps by one matrix product.
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

__all__ = ["StepSeries", "series_for", "step_series"]

#: What the terms that are left out add up to, at most, in any entry.
TOLERANCE = {torch.float32: 1e-8, torch.float64: 1e-12}
#: Terms of a series, at most: a longer step is better taken digit by digit.
MOST_TERMS = 128


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
    """The series of a system for all steps up to `reach` timescales; None where it would be too long.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> series = step_series(LegT(8, timescale=1.0), 0.5, torch.float64)
    >>> half, whole = series.updates(torch.tensor([0.2, 0.4], dtype=torch.float64))[:, :-1]
    >>> bool(torch.allclose(half @ half, whole))
    True
    """
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
