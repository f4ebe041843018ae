"""A clock that one paints: how salience warps time, and what the memory then keeps of a signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.views.memory import rms
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceTrace

__all__ = ["KNOTS", "LOWEST", "HIGHEST", "SalienceView"]

KNOTS = 61
LOWEST, HIGHEST = 0.01, 3.0
MOMENTS = 600


@dataclass(frozen=True, eq=False)
class SalienceView:
    """A signal remembered on a painted clock.

    Order and timescale are those of the Leg-T memory on the warped clock; the salience is given at `KNOTS` moments,
    evenly spread over the signal, with straight lines between them.

    Examples
    --------
    A clock that always runs at half speed reaches back twice as far.

    >>> from hippozoo.apps.explore import built_in
    >>> view = SalienceView(built_in("three bursts"), order=16, timescale=8.0).paint(0.0, 60.0, 0.5, 0.5)
    >>> round(view.reach, 1)
    16.0
    """

    loaded: Loaded
    order: int = 64
    timescale: float = 14.0
    salience: Sequence[float] = (1.0,) * KNOTS

    @cached_property
    def knots(self) -> Float[np.ndarray, " knots"]:
        """The moments at which the clock is painted."""
        return np.linspace(0.0, self.loaded.duration, len(self.salience))

    def paint(self, begin: float, end: float, first: float, last: float) -> SalienceView:
        """The view after a stroke of the brush from one moment to another; the clock stays between its bounds."""
        (begin, first), (end, last) = sorted([(begin, first), (end, last)])
        half = self.loaded.duration / (KNOTS - 1) / 2
        touched = (self.knots >= begin - half) & (self.knots <= end + half)
        stroke = np.interp(self.knots, [begin, end], [first, last]) if end > begin else np.full(len(self.knots), last)
        painted = np.where(touched, np.clip(stroke, LOWEST, HIGHEST), self.salience)
        return replace(self, salience=tuple(float(f"{one:.3g}") for one in painted))

    def quiet_means_slow(self) -> SalienceView:
        """The view with a clock that waits while the signal is quiet: what a salience layer would learn here."""
        values = np.abs(self.loaded.values - np.median(self.loaded.values))
        cells = np.array_split(values, KNOTS - 1)
        loud = np.array([cell.max() if cell.size else 0.0 for cell in cells])
        loud = np.maximum(np.append(loud, 0.0), np.append(0.0, loud))  # a knot belongs to the cells on both sides
        return replace(self, salience=tuple(np.where(loud > 0.1 * loud.max(), 1.0, LOWEST).tolist()))

    @cached_property
    def clock(self) -> Float[np.ndarray, " time"]:
        """The salience of every sample."""
        middles = (np.arange(len(self.loaded.values)) + 0.5) * self.loaded.dt
        return np.interp(middles, self.knots, self.salience)

    @cached_property
    def memory(self) -> Memory:
        """The memory on the warped clock."""
        return Memory(LegT(self.order, self.timescale), dt=self.loaded.dt)

    @cached_property
    def seen(self) -> SalienceTrace:
        """The signal's clock and measures."""
        return SalienceTrace(self.memory.system, self.clock, np.full(len(self.clock), self.loaded.dt))

    @cached_property
    def moments(self) -> Float[np.ndarray, " moments"]:
        """Moments of real time at which measure and memory are drawn."""
        return (np.arange(MOMENTS) + 0.5) / MOMENTS * self.loaded.duration

    @cached_property
    def measure(self) -> Float[np.ndarray, " moments"]:
        """How much each moment counts in the memory at the end."""
        return self.seen.history_measure(self.moments, float(self.seen.times[-1]))

    @cached_property
    def remembered(self) -> Float[np.ndarray, " moments"]:
        """What the memory holds of each moment; NaN where it has forgotten."""
        state = self.memory.final(self.loaded.values, dt=self.loaded.dt * self.clock)
        lags = self.seen.lags(self.moments, float(self.seen.times[-1]))
        inside = lags <= self.memory.system.window
        found = np.full(len(lags), np.nan)
        found[inside] = self.memory.reconstruct(state, np.maximum(lags[inside], 0.0))
        return found

    @cached_property
    def truth(self) -> Float[np.ndarray, " moments"]:
        """The signal at the same moments."""
        at = np.minimum(self.moments / self.loaded.dt, len(self.loaded.values) - 1).astype(int)
        return self.loaded.values[at]

    @property
    def reach(self) -> float:
        """How far back the memory reaches in real time."""
        kept = self.moments[np.isfinite(self.remembered)]
        return float(self.loaded.duration - kept.min() + self.loaded.duration / MOMENTS / 2) if kept.size else 0.0

    @property
    def error(self) -> float:
        """Root mean square error over all moments; what is forgotten counts as zero."""
        return rms(np.nan_to_num(self.remembered) - self.truth)

    def code(self) -> str:
        """Python that gives the same pictures."""
        knots = ", ".join(f"{one:g}" for one in self.salience)
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import LegT, Memory
from hippozoo.apps.explore import built_in, from_file
from hippozoo.zoo.salience import SalienceTrace
from hippozoo.zoo.salience.plots import plot_warp

{self.loaded.code}
signal, dt = loaded.values, loaded.dt
painted = np.array([{knots}])
end = len(signal) * dt
middles = (np.arange(len(signal)) + 0.5) * dt
salience = np.interp(middles, np.linspace(0, end, len(painted)), painted)

memory = Memory({self.memory.system!r}, dt=dt)
state = memory.final(signal, dt=dt * salience)  # salience stretches time
seen = SalienceTrace(memory.system, salience, np.full(len(signal), dt))

moments = (np.arange({MOMENTS}) + 0.5) / {MOMENTS} * end
measure = seen.history_measure(moments, seen.times[-1])
lags = seen.lags(moments, seen.times[-1])
inside = lags <= memory.system.window
remembered = memory.reconstruct(state, lags[inside])

plot_warp(seen, at=[end / 2, end])[0, 0].figure.savefig("warp.png")
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(np.arange(len(signal)) * dt, signal, moments[inside], remembered)
figure.savefig("remembered.png")
"""
