"""How well every horizon can be read, expected over a reference signal and computed exactly.

The signal is the paper's, stretched to the range: Ornstein-Uhlenbeck processes of variance 1 together, with time
constants log-uniform between a fifth of the shortest and of the longest horizon. The past is cut into cells on which it
is constant, and states are linear in their values, whose covariance is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import exp1

from hippozoo._internal.immutable import Immutable
from hippozoo.memory.varying_step import ExactStep
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions import Construction, furthest_lag

__all__ = ["Coverage", "measure_coverage"]

_CELLS_PER_LAG = 200
# Leg-T forgets what is this many windows old to a thousandth of it.
_WINDOWS_BACK = 3.0
_PER_DECADE = 24
# What a reader would not notice in an error curve.
_GOOD = 0.01


@dataclass(frozen=True, eq=False)
class Coverage:
    """Expected reconstruction errors across the range, of this memory and of the plain memory of each horizon.

    Errors are squared, weighted as the system weights lags; the signal has variance 1.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.multiscale import MultiscaleMemory
    >>> coverage = MultiscaleMemory(LegT(order=4, timescale=10.0), longest=1e3, scales=8).coverage()
    >>> print(coverage.note)
    At horizon 10 the error is 117 % above that of the plain memory.
    8 scales are fewer than the 32 that are comfortable here.
    """

    horizons: Float[np.ndarray, " horizons"]  #: Where it was measured, in the order asked for.
    error: Float[np.ndarray, " horizons"]
    plain_error: Float[np.ndarray, " horizons"]
    deviation: Float[np.ndarray, " horizons"]  #: Of the coefficients from those of the plain memory, relative (rms).
    scales: int  #: How many windows there are.
    scales_wanted: int  #: How many would be comfortable.

    @property
    def excess(self) -> Float[np.ndarray, " horizons"]:
        """How far the error lies above that of the plain memory: 0.05 is 5 %."""
        return self.error / self.plain_error - 1

    @property
    def worst_excess(self) -> float:
        """The largest excess over the range."""
        return float(self.excess.max())

    @property
    def worst_horizon(self) -> float:
        """Where it is largest."""
        return float(self.horizons[self.excess.argmax()])

    @property
    def note(self) -> str:
        """The same in one sentence."""
        if self.worst_excess <= _GOOD:
            text = (
                f"Every horizon from {self.horizons.min():g} to {self.horizons.max():g} is read as well as its own "
                f"plain memory reads it: the error is at most {100 * max(self.worst_excess, 0):.2g} % above."
            )
        else:
            text = (
                f"At horizon {self.worst_horizon:.3g} the error is {100 * self.worst_excess:.3g} % above that of the "
                f"plain memory."
            )
        if self.scales < self.scales_wanted:
            text += f" {self.scales} scales are fewer than the {self.scales_wanted} that are comfortable here."
        return text


@dataclass(frozen=True, eq=False)
class ReferencePast(Immutable):
    """The reference signal for a range of horizons, on its cells, seen from the present."""

    shortest: float
    longest: float
    dt: float

    @cached_property
    def edges(self) -> Float[np.ndarray, " edges"]:
        """Of the cells, from lag 0 on."""
        end = _WINDOWS_BACK * self.longest
        near = self.dt * np.arange(min(_CELLS_PER_LAG, math.ceil(end / self.dt)) + 1)
        growth = math.log1p(1 / _CELLS_PER_LAG)
        count = max(0, math.ceil(math.log(end / near[-1]) / growth))
        return np.concatenate([near, near[-1] * np.exp(growth * np.arange(1, count + 1))])

    @cached_property
    def covariance(self) -> Float[np.ndarray, "cells cells"]:
        """Of the values of the cells."""
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        return self.correlation(np.abs(centres[:, None] - centres))

    def correlation(self, lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags"]:
        """The mean of exp(-lag/tau) over log-uniform tau: a difference of exponential integrals."""
        low, high = self.shortest / 5, self.longest / 5
        safe = np.maximum(lag, 1e-12 * low)
        return (exp1(safe / high) - exp1(safe / low)) / math.log(high / low)

    def responses(self, system: HippoSystem) -> Float[np.ndarray, "order cells"]:
        """How the value of each cell stands in the state of a plain memory."""
        exact = ExactStep(system)
        steps = np.diff(self.edges) / system.timescale
        faded = exact.scan(np.zeros((len(steps), 1)), steps, exact.settled[None])[:, 0]
        return -np.diff(np.concatenate([exact.settled[None], faded]), axis=0).T

    def projection(self, system: HippoSystem) -> Float[np.ndarray, "order cells"]:
        """How the value of each cell stands in the true projection on the basis of a system."""
        end = min(furthest_lag(system), self.edges[-1])
        last = int(np.searchsorted(self.edges, end))
        edges = np.minimum(self.edges[: last + 1], end)
        node, mass = np.polynomial.legendre.leggauss(6)
        half = np.diff(edges)[:, None] / 2
        lags = edges[:-1, None] + half * (node + 1)
        weights = half * mass * system.weight(lags)
        found = np.zeros((system.order, len(self.edges) - 1))
        found[:, :last] = np.einsum("cq,cqn->nc", weights, system.basis(lags))
        return found


@lru_cache(maxsize=4)
def reference_past(shortest: float, longest: float, dt: float) -> ReferencePast:
    """The reference signal for a range; its covariance takes a second for five decades, so it is kept."""
    return ReferencePast(shortest, longest, dt)


@dataclass(frozen=True, eq=False)
class Reader(Immutable):
    """What a construction reads of the reference signal."""

    construction: Construction
    past: ReferencePast

    @cached_property
    def _responses(self) -> Float[np.ndarray, "cells order scales"]:
        windows = [self.construction.plain_system(window) for window in self.construction.windows.tolist()]
        return np.stack([self.past.responses(window).T for window in windows], axis=-1)

    @cached_property
    def _seen(self) -> Float[np.ndarray, "cells order scales"]:
        # Reading is linear, so the covariance is applied once for all horizons.
        return np.tensordot(self.past.covariance, self._responses, axes=1)

    def coefficients(self, horizon: float) -> Float[np.ndarray, "order cells"]:
        """How the value of each cell stands in the coefficients that are read."""
        return self.construction.read(self._responses, horizon).T

    def error(self, horizon: float, order: int | None = None) -> float:
        """Expected squared error of the reconstruction, by the first `order` coefficients or by all of them."""
        seen = self.construction.read(self._seen, horizon).T
        projection = self.past.projection(self.construction.plain_system(horizon))
        terms = seen * (self.coefficients(horizon) - 2.0 * projection)
        return 1.0 + float(terms[:order].sum())


def measure_coverage(
    construction: Construction,
    dt: float,
    horizons: Float[np.ndarray, " horizons"] | None = None,
    order: int | None = None,
) -> Coverage:
    """The errors of a construction at each horizon, beside those of the plain memory of that very horizon.

    With `order`, the plain memories have that one, and only as many coefficients are read.
    """
    system = construction.system
    if horizons is None:
        horizons = default_horizons(system.timescale, construction.longest)
    past = reference_past(system.timescale, construction.longest, dt)
    reader = Reader(construction, past)
    error, plain_error, deviation = (np.empty(len(horizons)) for _ in range(3))
    for i, horizon in enumerate(horizons.tolist()):
        plain = replace(construction.plain_system(horizon), order=order or system.order)
        theirs = past.responses(plain)
        error[i] = reader.error(horizon, order)
        plain_error[i] = expected_error(theirs, past.projection(plain), past.covariance)
        distance = reader.coefficients(horizon)[:order] - theirs
        deviation[i] = math.sqrt(power(distance, past.covariance) / power(theirs, past.covariance))
    wanted = construction.comfortable_scales(system, construction.longest)
    return Coverage(horizons, error, plain_error, deviation, construction.scales, wanted)


def default_horizons(shortest: float, longest: float) -> Float[np.ndarray, " horizons"]:
    """24 to the decade, and both ends."""
    count = max(17, math.ceil(_PER_DECADE * math.log10(longest / shortest)) | 1)
    return np.geomspace(shortest, longest, count)


def expected_error(
    response: Float[np.ndarray, "order cells"],
    projection: Float[np.ndarray, "order cells"],
    covariance: Float[np.ndarray, "cells cells"],
) -> float:
    """Mean of (reconstruction - signal)^2 under the weight: the basis is orthonormal, so coefficients are enough."""
    seen = response @ covariance
    return 1.0 - 2.0 * float((seen * projection).sum()) + float((seen * response).sum())


def power(response: Float[np.ndarray, "order cells"], covariance: Float[np.ndarray, "cells cells"]) -> float:
    """Mean squared size of the coefficients."""
    return float((response @ covariance * response).sum())
