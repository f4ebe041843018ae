"""The paper's constructions: polynomials in the logarithm of the rate, in the rate, and under Jeffreys' weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import Legendre, OrthonormalFamily, from_weight
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions.base import ScaleExpansion

__all__ = ["BasicRate", "JeffreysRate", "LogTimescale"]


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
