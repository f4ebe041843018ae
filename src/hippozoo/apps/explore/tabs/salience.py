"""Paint a clock, and see time warp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import Range1d

from hippozoo.apps.explore.signals import Loaded, built_in
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.views.memory import ORDERS, timescales
from hippozoo.apps.explore.views.salience import HIGHEST, SalienceView

_BURSTS, _ABOVE = "three bursts", "the signal above"


class SalienceTab(parts.Tab):
    """The clock above, then warped time, the history measure, and what is remembered."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.view = view = SalienceView(built_in(_BURSTS)).quiet_means_slow()
        self.which = pn.widgets.Select(label="Signal", options=[_BURSTS, _ABOVE], value=_BURSTS, width=170)
        self.order = parts.choice("Order", list(ORDERS), view.order)
        self.timescale = parts.choice("Window on the warped clock", *self._windows(view.loaded, view.timescale))
        self.even = parts.button("Even clock", 120, self._reset)
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
        for widget in (self.order, self.timescale):
            widget.param.watch(lambda _event: self._rebuild(), "value_throttled")
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
        found = sorted({*timescales(loaded), wanted})
        return {f"{one:g} {loaded.unit}".strip(): one for one in found}, wanted

    def _reset(self) -> None:
        self._put(SalienceView(self.view.loaded, self.view.order, self.view.timescale))

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
