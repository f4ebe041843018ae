"""A few windows in geometric progression, read by exact re-expansion: the parsimonious bank."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo._internal.immutable import read_only
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions.base import Bank, Coefficients, Construction

__all__ = ["GeometricBank"]

# Beyond this share of the weight a fading past no longer counts.
_TAIL = 1e-16
# Readings kept for horizons that are asked for again and again.
_KEPT = 256


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
        pieces = self.re_expansion(horizon)
        used = len(pieces)
        return np.tensordot(state[..., :used], pieces, axes=([-2, -1], [2, 0]))

    def re_expansion(self, horizon: float) -> Float[np.ndarray, "used order order"]:
        """For each window that is read, the map from its coefficients to those of the horizon."""
        if horizon not in self._readings:
            self._readings[horizon] = self._computed(horizon)
            while len(self._readings) > _KEPT:
                self._readings.popitem(last=False)
        return self._readings[horizon]

    @cached_property
    def _readings(self) -> OrderedDict[float, np.ndarray]:
        return OrderedDict()

    def _computed(self, horizon: float) -> Float[np.ndarray, "used order order"]:
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
