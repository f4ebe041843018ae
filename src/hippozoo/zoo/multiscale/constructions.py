"""Where the windows stand and how to read between them: three constructions of the paper and one beyond it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo._internal.immutable import Immutable, read_only
from hippozoo.polynomials import Legendre, OrthonormalFamily, from_weight
from hippozoo.systems import HippoSystem

__all__ = [
    "CONSTRUCTIONS",
    "BasicRate",
    "Construction",
    "GeometricBank",
    "JeffreysRate",
    "LogTimescale",
    "ScaleExpansion",
]

#: States of all windows, and the coefficients of one horizon.
Bank = Float[np.ndarray, "*batch order scales"]
Coefficients = Float[np.ndarray, "*batch order"]
# Beyond this share of the weight a fading past no longer counts.
_TAIL = 1e-16
# Readings kept for horizons that are asked for again and again.
_KEPT = 256


@dataclass(frozen=True)
class Construction(Immutable, ABC):
    """Windows between the timescale of `system` and `longest`, and a way to read any horizon between them.

    Column m of a state is the plain memory of ``windows[m]``, whatever the construction; what differs is where the
    windows stand and how a horizon is put together from them.

    Parameters
    ----------
    system
        What each window runs; its timescale is the shortest horizon (the paper's base timescale).
    longest
        The longest horizon.
    scales
        How many windows, M in the paper.
    """

    system: HippoSystem
    longest: float
    scales: int

    def __post_init__(self) -> None:
        longest = positive_number("longest", self.longest, why="it is a horizon in your time unit")
        if longest <= self.system.timescale:
            raise ValueError(
                f"longest={longest} is not beyond the shortest horizon, the system's timescale "
                f"{self.system.timescale}; pass a longer one, or a system with a smaller timescale."
            )
        scales = whole_number("scales", self.scales, why="a range of horizons takes several windows", minimum=2)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "scales", scales)

    @classmethod
    @abstractmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """How many windows serve this range well."""

    @cached_property
    @abstractmethod
    def windows(self) -> Float[np.ndarray, " scales"]:
        """The timescale of each window, in the user's unit, short to long (read-only)."""

    @abstractmethod
    def read(self, state: Bank, horizon: float) -> Coefficients:
        """The coefficients of the plain memory of `horizon`, which has been checked to lie in the range."""

    def plain_system(self, horizon: float) -> HippoSystem:
        """The system at the timescale of a horizon."""
        return replace(self.system, timescale=horizon)

    @property
    def min_rate(self) -> float:
        """The rate of the longest horizon, epsilon in the paper; the shortest has rate 1."""
        return self.system.timescale / self.longest


@dataclass(frozen=True)
class ScaleExpansion(Construction):
    r"""The state as a polynomial in some coordinate of scale, :math:`s(u) = S\,\psi(u)`, as in the paper.

    With Gauss nodes :math:`u_j` and weights :math:`w_j` of the family :math:`\psi`, the coupled system
    :math:`\dot S = A S G + b\,(G e_0)^\top f` is a bank of plain systems at the rates of the nodes:
    :math:`S = P\,\operatorname{diag}(w)\,\psi(u_j)`, where column j of P is the plain state of that rate. Reading is
    then interpolation over scale through the nodes.
    """

    @cached_property
    @abstractmethod
    def family(self) -> OrthonormalFamily:
        """The scale basis psi, orthonormal under a probability measure, over the coordinate of scale."""

    @abstractmethod
    def coordinate(self, rate: float) -> float:
        """Where a rate stands in the coordinate of the scale basis."""

    @abstractmethod
    def rate_at(self, coordinate: Float[np.ndarray, "*nodes"]) -> Float[np.ndarray, "*nodes"]:
        """The rate that stands at a coordinate."""

    @cached_property
    def windows(self) -> Float[np.ndarray, " scales"]:
        """The timescales of the Gauss nodes."""
        nodes, _ = self.family.gauss_rule()
        # Coordinates rise with the rate, and windows shrink.
        return read_only(self.system.timescale / self.rate_at(nodes)[::-1])

    @cached_property
    def scale_transform(self) -> Float[np.ndarray, "scales degrees"]:
        """From node coordinates to the paper's coefficients: ``S = state @ scale_transform``."""
        nodes, weights = self.family.gauss_rule()
        return read_only((weights[:, None] * self.family.values(nodes))[::-1])

    @cached_property
    def rate_matrix(self) -> Float[np.ndarray, "degrees degrees"]:
        """Multiplication by the rate in the scale basis, G in the paper."""
        nodes, weights = self.family.gauss_rule()
        eigenvectors = self.family.values(nodes) * np.sqrt(weights)[:, None]
        return eigenvectors.T @ (self.rate_at(nodes)[:, None] * eigenvectors)

    def interpolation(self, horizon: float) -> Float[np.ndarray, " scales"]:
        """How much each window speaks at a horizon; at a window's own horizon, that one alone."""
        return self.scale_transform @ self.family.values(self.coordinate(self.system.timescale / horizon))

    def read(self, state: Bank, horizon: float) -> Coefficients:
        """Interpolation over scale, coefficient by coefficient."""
        return state @ self.interpolation(horizon)


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


@dataclass(frozen=True)
class GeometricBank(Construction):
    """Beyond the paper: windows a constant factor apart, each reading what lies beyond the next shorter one.

    A horizon is put together lag by lag: every lag is remembered by the shortest window that covers it, which knows
    it most sharply. These pieces are polynomials (or whatever the system's basis is), and their sum is projected on
    the basis of the horizon exactly. No interpolation over scale takes place, so two windows per octave or fewer do.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> GeometricBank(LegT(order=16, timescale=10.0), longest=1e4, scales=4).windows.round(6).tolist()
    [10.0, 100.0, 1000.0, 10000.0]
    """

    @classmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """About five windows to a decade."""
        return max(2, 1 + math.ceil(5 * math.log10(longest / system.timescale)))

    @cached_property
    def windows(self) -> Float[np.ndarray, " scales"]:
        """Geometric, both ends included."""
        return read_only(np.geomspace(self.system.timescale, self.longest, self.scales))

    def read(self, state: Bank, horizon: float) -> Coefficients:
        """Each window's piece of the past, projected on the basis of the horizon."""
        pieces = self._re_expansion(horizon)
        used = len(pieces)
        return np.tensordot(state[..., :used], pieces, axes=([-2, -1], [2, 0]))

    @cached_property
    def _re_expansion(self) -> Callable[[float], Float[np.ndarray, "used order order"]]:
        return lru_cache(_KEPT)(self._computed)

    def _computed(self, horizon: float) -> Float[np.ndarray, "used order order"]:
        """For each window that is read, the map from its coefficients to those of the horizon."""
        target = self.plain_system(horizon)
        # The shortest window that is as long as the horizon; beyond its predecessor it speaks alone.
        last = min(int(np.searchsorted(self.windows, horizon * (1 - 1e-12))), self.scales - 1)
        ends = [*self.windows[:last].tolist(), furthest_lag(target)]
        starts = [0.0, *ends[:-1]]
        pieces = []
        for window, start, end in zip(self.windows[: last + 1], starts, ends, strict=True):
            lags, masses = gauss_panels(start, end, self.system)
            source = self.plain_system(float(window))
            weighted = (masses * target.weight(lags))[:, None] * target.basis(lags)
            # A lag at the very end of a window may lie one rounding beyond it.
            pieces.append(weighted.T @ source.basis(np.minimum(lags, source.window)))
        return read_only(np.stack(pieces))


def furthest_lag(system: HippoSystem) -> float:
    """The end of the window, or where the rest of a fading weight is nothing."""
    if math.isfinite(system.window):
        return system.window
    lag = system.timescale
    while system.weight(lag) * lag > _TAIL:
        lag *= 1.25
    return lag


def gauss_panels(
    start: float, end: float, system: HippoSystem
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Nodes and masses that integrate products of two basis functions over [start, end].

    One panel does over a window. Over a fading past panels begin with half the shortest timescale and grow from there.
    """
    node, mass = np.polynomial.legendre.leggauss(4 * system.order + 24)
    edges = [start]
    while edges[-1] < end:
        panel = end if math.isfinite(system.window) else max(0.5 * system.timescale, 0.25 * edges[-1])
        edges.append(min(end, edges[-1] + panel))
    half = np.diff(edges)[:, None] / 2
    lags = np.asarray(edges[:-1])[:, None] + half * (node + 1)
    return lags.ravel(), (half * mass).ravel()


#: By the names that a memory is built with; a construction of one's own joins by one more line.
CONSTRUCTIONS: dict[str, type[Construction]] = {
    "log": LogTimescale,
    "basic": BasicRate,
    "jeffreys": JeffreysRate,
    "bank": GeometricBank,
}
