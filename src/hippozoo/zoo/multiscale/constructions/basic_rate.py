"""Polynomials in the rate itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import Legendre, OrthonormalFamily
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions.base import ScaleExpansion

__all__ = ["BasicRate"]


@dataclass(frozen=True)
class BasicRate(ScaleExpansion):
    """The paper's basic construction: Legendre polynomials in the rate, on [0, 1].

    Most windows are short and a few very long, some beyond the range: horizons near its long end are read badly.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> windows = BasicRate(LegT(order=16, timescale=10.0), longest=1e4, scales=128).windows
    >>> windows[[0, 64, 127]].round().tolist()
    [10.0, 20.0, 114213.0]

    References
    ----------
    Paper, appendix "Basic Multiscale HiPPO via Polynomial Embeddings in g".
    """

    @classmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """Polynomials of degree M resolve 1/M^2 near rate 0: the order times the square root of the range."""
        return max(8, math.ceil(1.6 * (system.order + 1) * math.sqrt(longest / system.timescale)))

    @cached_property
    def family(self) -> OrthonormalFamily:
        """Legendre polynomials on [0, 1], under the uniform probability measure."""
        return Legendre(self.scales, interval=(0.0, 1.0))

    def coordinate(self, rate: float) -> float:
        """The rate itself."""
        return rate

    def rate_at(self, coordinate: Float[np.ndarray, "*nodes"]) -> Float[np.ndarray, "*nodes"]:
        """The rate itself."""
        return coordinate
