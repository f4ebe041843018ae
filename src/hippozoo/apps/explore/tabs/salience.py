"""Paint a clock, and see time warp: how salience moves it, and what the memory then keeps of a signal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import Range1d

from hippozoo.apps.explore.signals import Loaded, built_in
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.tabs.memory import ORDERS, rms, timescales
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceTrace

KNOTS = 61
LOWEST, HIGHEST = 0.01, 3.0
MOMENTS = 600
_BURSTS, _ABOVE = "three bursts", "the signal above"


class SalienceView:
    """A signal remembered by a Leg-T memory on a painted clock.

    The salience is given at `KNOTS` moments, evenly spread over the signal, with straight lines between them. Measure,
    memory and truth are drawn at `MOMENTS` of real time; what the memory has forgotten is NaN.

    Examples
    --------
    A clock that always runs at half speed reaches back twice as far.

    >>> view = SalienceView(built_in("three bursts"), order=16, timescale=8.0).paint(0.0, 60.0, 0.5, 0.5)
    >>> round(view.reach, 1)
    16.0
    """

    def __init__(
        self, loaded: Loaded, order: int = 64, timescale: float = 14.0, salience: Sequence[float] = (1.0,) * KNOTS
    ) -> None:
        self.loaded, self.order, self.timescale, self.salience = loaded, order, timescale, salience
        values, dt, duration = loaded.values, loaded.dt, loaded.duration
        self.knots = np.linspace(0.0, duration, len(salience))
        self.clock = np.interp((np.arange(len(values)) + 0.5) * dt, self.knots, salience)
        self.memory = Memory(LegT(order, timescale), dt=dt)
        self.seen = SalienceTrace(self.memory.system, self.clock, np.full(len(values), dt))
        self.moments = (np.arange(MOMENTS) + 0.5) / MOMENTS * duration
        end = float(self.seen.times[-1])
        self.measure = self.seen.history_measure(self.moments, end)
        lags = self.seen.lags(self.moments, end)
        inside = lags <= self.memory.system.window
        state = self.memory.final(values, dt=dt * self.clock)
        self.remembered = np.full(MOMENTS, np.nan)
        self.remembered[inside] = self.memory.reconstruct(state, np.maximum(lags[inside], 0.0))
        self.truth = values[np.minimum(self.moments / dt, len(values) - 1).astype(int)]
        self.error = rms(np.nan_to_num(self.remembered) - self.truth)
        kept = self.moments[np.isfinite(self.remembered)]
        self.reach = float(duration - kept.min() + duration / MOMENTS / 2) if kept.size else 0.0

    def on_clock(self, salience: Sequence[float]) -> SalienceView:
        """The same signal and memory on another clock."""
        return SalienceView(self.loaded, self.order, self.timescale, salience)

    def paint(self, begin: float, end: float, first: float, last: float) -> SalienceView:
        """The view after a stroke of the brush from one moment to another; the clock stays between its bounds."""
        (begin, first), (end, last) = sorted([(begin, first), (end, last)])
        half = self.loaded.duration / (KNOTS - 1) / 2
        touched = (self.knots >= begin - half) & (self.knots <= end + half)
        stroke = np.interp(self.knots, [begin, end], [first, last]) if end > begin else np.full(len(self.knots), last)
        painted = np.where(touched, np.clip(stroke, LOWEST, HIGHEST), self.salience)
        return self.on_clock(tuple(float(f"{one:.3g}") for one in painted))

    def quiet_means_slow(self) -> SalienceView:
        """The view with a clock that waits while the signal is quiet: what a salience layer would learn here."""
        values = np.abs(self.loaded.values - np.median(self.loaded.values))
        cells = np.array_split(values, KNOTS - 1)
        loud = np.array([cell.max() if cell.size else 0.0 for cell in cells])
        loud = np.maximum(np.append(loud, 0.0), np.append(0.0, loud))  # a knot belongs to the cells on both sides
        return self.on_clock(tuple(np.where(loud > 0.1 * loud.max(), 1.0, LOWEST).tolist()))

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


class SalienceTab(parts.Tab):
    """The clock above, then warped time, the history measure, and what is remembered."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.view = view = SalienceView(built_in(_BURSTS)).quiet_means_slow()
        self.which = pn.widgets.Select(label="Signal", options=[_BURSTS, _ABOVE], value=_BURSTS, width=170)
        self.order = parts.choice("Order", list(ORDERS), view.order)
        self.timescale = parts.choice("Window on the warped clock", *self._windows(view.loaded, view.timescale))
        self.even = parts.button("Even clock", 120, lambda: self._put(self.view.on_clock((1.0,) * KNOTS)))
        self.waiting = parts.button("Wait while it is quiet", 190, lambda: self._put(self.view.quiet_means_slow()))

        self.knots = parts.columns("time", "salience")
        self.clock = parts.columns("time", "warped")
        self.curves = parts.columns("time", "true", "remembered", "measure")
        span = Range1d(start=0, end=view.loaded.duration)
        heights = Range1d(start=0, end=HIGHEST)
        self.paper = parts.picture("time: paint here", "salience g(t)", 180, x_range=span, y_range=heights)
        parts.draw_area(self.paper, self.knots, "time", "salience", "C1")
        self.paper.renderers[-1].glyph.line_width = 2.5
        self.paper.min_border_left = 60
        warp = parts.picture("time", "warped time φ(t)", 170, x_range=span)
        parts.draw_line(warp, self.clock, "time", "warped", line_width=2, line_alpha=1.0)
        measure = parts.picture("time", "history measure", 170, x_range=span)
        parts.draw_area(measure, self.curves, "time", "measure", "C2")
        self.kept = parts.picture("time; the present is on the right", "signal", 220, x_range=span, y_range=Range1d())
        parts.set_around(self.kept.y_range, view.loaded.values)
        parts.draw_line(self.kept, self.curves, "time", "true")
        parts.draw_line(self.kept, self.curves, "time", "remembered", "C0")

        self._last: tuple[float, float] | None = None
        for event in (PanStart, Pan, Tap):
            self.paper.on_event(event, self._brush)
        self.paper.on_event(PanEnd, self._lift)
        self.which.param.watch(lambda event: self._choose(event.new), "value")
        parts.when_let_go(self._rebuild, self.order, self.timescale)
        session.listen(lambda _loaded: self._choose(self.which.value) if self.which.value == _ABOVE else None)
        self._busy = False
        self._put(view)
        self.layout = self.arrange(
            "Paint the salience with the mouse or a finger: where it is high the memory's clock runs fast, and the "
            "signal there takes up more of the memory. Blue is what is remembered at the end.",
            [self.which, self.order, self.timescale, self.even, self.waiting],
            self.said,
            self.paper,
            warp,
            measure,
            self.kept,
        )

    @staticmethod
    def _windows(loaded: Loaded, wanted: float) -> tuple[dict[str, float], float]:
        return parts.in_unit(sorted({*timescales(loaded), wanted}), loaded.unit), wanted

    def _choose(self, which: str) -> None:
        loaded = built_in(_BURSTS) if which == _BURSTS else self.session.loaded
        wanted = float(f"{loaded.duration / 4:.3g}")
        options, value = self._windows(loaded, 14.0 if which == _BURSTS else wanted)
        self._busy = True
        self.timescale.param.update(options=options, value=value)
        self._busy = False
        self.paper.x_range.end = loaded.duration
        parts.set_around(self.kept.y_range, loaded.values)
        self._put(SalienceView(loaded, self.order.value, value))

    def _rebuild(self) -> None:
        if not self._busy:
            self._put(SalienceView(self.view.loaded, self.order.value, self.timescale.value, self.view.salience))

    def _brush(self, event: Any) -> None:
        if event.x is None or event.y is None or not (math.isfinite(event.x) and math.isfinite(event.y)):
            return
        here = (float(event.x), float(event.y))
        begin = here if self._last is None or isinstance(event, (PanStart, Tap)) else self._last
        self._last = here
        self._put(self.view.paint(begin[0], here[0], begin[1], here[1]), finished=isinstance(event, Tap))

    def _lift(self, _event: Any) -> None:
        self._last = None
        self._put(self.view)

    def _put(self, view: SalienceView, *, finished: bool = True) -> None:
        """Show a view; words and code follow when the brush is lifted."""
        self.view = view
        parts.put(self.knots, time=view.knots, salience=view.salience)
        drawn = np.linspace(0, len(view.seen.times) - 1, 300).astype(int)
        parts.put(self.clock, time=view.seen.times[drawn], warped=view.seen.warped_time[drawn])
        parts.put(self.curves, time=view.moments, true=view.truth, remembered=view.remembered, measure=view.measure)
        if finished:
            self.tell(
                f"The memory reaches {view.reach:.3g} {view.loaded.unit} back, by a window of {view.timescale:g} on "
                f"its own clock. Rms error over the whole signal, what is forgotten counted as zero: {view.error:.3g}, "
                f"where the signal varies by {float(view.loaded.values.std()):.3g}.",
            )
