"""Polynomials in the rate under Jeffreys' weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from hippozoo.polynomials import OrthonormalFamily, from_weight
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions.basic_rate import BasicRate

__all__ = ["JeffreysRate"]


@dataclass(frozen=True)
class JeffreysRate(BasicRate):
    """The paper's second construction: polynomials in the rate, orthonormal under 1/rate on [min_rate, 1].

    The weight favours long horizons, yet the windows hardly move: Gauss nodes follow the arcsine law of the interval
    whatever the weight.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> windows = JeffreysRate(LegT(order=16, timescale=10.0), longest=1e4, scales=128).windows
    >>> bool(10 < windows.min() < windows.max() < 1e4)
    True

    References
    ----------
    Paper, appendix "Jeffreys-Style Scale Embeddings".
    """

    @classmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """As for the basic construction, with half as many: the interval ends at the longest horizon, not at rate 0."""
        return max(8, math.ceil(0.85 * (system.order + 1) * math.sqrt(longest / system.timescale)))

    @cached_property
    def family(self) -> OrthonormalFamily:
        """Polynomials under 1/rate, found numerically."""
        return from_weight(lambda rate: 1 / rate, (self.min_rate, 1.0), self.scales)
