"""Polynomials in the logarithm of the rate: the same resolution in every decade."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import Legendre
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions.base import ScaleExpansion

__all__ = ["LogTimescale"]


@dataclass(frozen=True)
class LogTimescale(ScaleExpansion):
    """The paper's main construction: Legendre polynomials in u = log rate, uniform over the decades.

    The windows are *not* log-uniform: as Gauss nodes they follow the arcsine law in log-timescale, crowded at both
    ends of the range, as interpolation by polynomials must be.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> windows = LogTimescale(LegT(order=16, timescale=10.0), longest=1e4, scales=128).windows
    >>> windows[[0, 64, 127]].round(1).tolist()
    [10.0, 329.9, 9994.0]

    References
    ----------
    Paper, section "Multiscale HiPPO" and appendix "Log-Timescale Formulation".
    """

    @classmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """About 1.4 * order per e-fold of timescale; from 1.2 on errors are within a thousandth of the plain ones."""
        return max(8, math.ceil(1.36 * (system.order + 1) * math.log(longest / system.timescale)))

    @cached_property
    def family(self) -> Legendre:
        """Legendre polynomials on [log min_rate, 0], under the uniform probability measure."""
        return Legendre(self.scales, interval=(math.log(self.min_rate), 0.0))

    def coordinate(self, rate: float) -> float:
        """The logarithm of the rate, u in the paper."""
        return math.log(rate)

    def rate_at(self, coordinate: Float[np.ndarray, "*nodes"]) -> Float[np.ndarray, "*nodes"]:
        """The rate is exp(u)."""
        return np.exp(coordinate)
