"""A plain memory at any moment of a signal: what it holds, what counts, and its coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo.apps.explore.signals import Loaded
from hippozoo.memory import Memory
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

__all__ = ["ORDERS", "SYSTEMS", "Frame", "MemoryView", "rms", "system_named", "timescales", "true_past"]

SYSTEMS: dict[str, type[HippoSystem]] = {"Leg-T": LegT, "Leg-S": LegS, "Lag-T": LagT, "Fou-T": FouT}
ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
LAGS = 401
# Timescales of a fading memory that are drawn: 99.3 % of an exponential weight.
FADING_SPAN = 5.0


class Frame(NamedTuple):
    """One moment: the true past, what is remembered of it, the coefficients, and the error between the first two."""

    true_past: Float[np.ndarray, " lags"]
    remembered: Float[np.ndarray, " lags"]
    coefficients: Float[np.ndarray, " order"]
    error: float


def system_named(name: str, order: int, timescale: float) -> HippoSystem:
    """A system by its name in the paper; a Fourier memory takes the next odd order.

    Examples
    --------
    >>> system_named("Fou-T", 64, 10.0)
    FouT(order=65, timescale=10.0)
    """
    if name not in SYSTEMS:
        raise ValueError(f"there is no system {shorten(name)}; pass one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name](order | 1 if name == "Fou-T" else order, timescale)


def timescales(loaded: Loaded) -> tuple[float, ...]:
    """Timescales worth trying on a signal: from four samples to half of its length, rounded.

    Examples
    --------
    >>> from hippozoo.apps.explore import built_in
    >>> timescales(built_in("random walk"))[:4], timescales(built_in("random walk"))[-1]
    ((4.0, 4.87, 5.94, 7.24), 1500.0)
    """
    found = np.geomspace(4 * loaded.dt, loaded.duration / 2, 31)
    return tuple(dict.fromkeys(float(f"{one:.3g}") for one in found))


def true_past(signal: Float[np.ndarray, " time"], now: int, lags: np.ndarray, dt: float) -> Float[np.ndarray, " lags"]:
    """The samples at these lags before `now` (samples seen so far), each held until the next; NaN before the first.

    Examples
    --------
    >>> true_past(np.array([1.0, 2.0, 3.0]), 2, np.array([0.0, 1.5, 2.5]), 1.0).tolist()
    [2.0, 1.0, nan]
    """
    # A lag that ends a cell, up to rounding, belongs to the next one.
    ago = np.floor(lags / dt * (1 + 1e-12)).astype(int)
    return np.where(ago < now, signal[np.maximum(now - 1 - ago, 0)], np.nan)


def rms(errors: np.ndarray) -> float:
    """Root of the mean square of those that are numbers; NaN if none is."""
    known = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(known**2))) if known.size else math.nan


@dataclass(frozen=True, eq=False)
class MemoryView:
    """A memory runs over a signal; `frame` gives any moment in a fraction of a millisecond, from tables made once.

    Examples
    --------
    >>> from hippozoo.apps.explore import built_in
    >>> view = MemoryView(built_in("chirp"), "Leg-T", 32, 4.0)
    >>> frame = view.frame(1000)
    >>> frame.remembered.shape, bool(frame.error < 0.05)
    ((401,), True)
    """

    loaded: Loaded
    system: str = "Leg-T"
    order: int = 64
    timescale: float = 1.0

    @cached_property
    def memory(self) -> Memory:
        """The memory itself."""
        return Memory(system_named(self.system, self.order, self.timescale), dt=self.loaded.dt)

    @cached_property
    def span(self) -> float:
        """The longest lag that is drawn: a little beyond a window, where nothing is remembered."""
        window = self.memory.system.window
        return 1.25 * window if math.isfinite(window) else FADING_SPAN * self.timescale

    @cached_property
    def lags(self) -> Float[np.ndarray, " lags"]:
        """Where past and memory are drawn."""
        return np.linspace(0.0, self.span, LAGS)

    @cached_property
    def weight(self) -> Float[np.ndarray, " lags"]:
        """How much accuracy at each lag counts."""
        return self.memory.system.weight(self.lags)

    @cached_property
    def inside(self) -> int:
        """How many of the lags, counted from the present, lie in the window."""
        return int((self.lags <= self.memory.system.window).sum())

    @cached_property
    def _basis(self) -> Float[np.ndarray, "lags order"]:
        return self.memory.system.basis(self.lags[: self.inside])

    @cached_property
    def _states(self) -> Float[np.ndarray, "time order"]:
        return self.memory.scan(self.loaded.values)

    @cached_property
    def largest(self) -> float:
        """The largest coefficient, but for the first one where it would dwarf the others; for the axis."""
        sizes = np.abs(self._states).max(axis=0)
        return 1.1 * float(max(sizes[1:].max() if len(sizes) > 1 else sizes[0], 1e-12))

    def frame(self, now: int) -> Frame:
        """What is there to see once `now` samples have been taken in, 1 at least."""
        state = self._states[now - 1]
        truth = true_past(self.loaded.values, now, self.lags, self.loaded.dt)
        remembered = np.full(LAGS, np.nan)
        remembered[: self.inside] = self._basis @ state
        # Before the first sample there was nothing; that is no error of the memory.
        return Frame(truth, remembered, state, rms(remembered - truth))

    def code(self, now: int) -> str:
        """Python that gives the same pictures."""
        system = self.memory.system
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import {type(system).__name__}, Memory
from hippozoo.apps.explore import built_in, from_file
from hippozoo.memory.plots import plot_memory, plot_weight

{self.loaded.code}
memory = Memory({system!r}, dt={self.loaded.dt!r})
state = memory.final(loaded.values[:{now}])  # the coefficients after {now} samples
lags = np.linspace(0.0, {self.span!r}, {LAGS})
remembered = memory.reconstruct(state, lags[lags <= memory.system.window])
weight = memory.system.weight(lags)

figure, (above, middle, below) = plt.subplots(3, figsize=(8, 8), layout="constrained")
plot_memory(memory, state, loaded.values[:{now}], lags=lags, unit={self.loaded.unit!r}, ax=above)
plot_weight(memory, lags=lags, unit={self.loaded.unit!r}, ax=middle)
below.bar(np.arange(len(state)), state)
figure.savefig("memory.png")
"""
