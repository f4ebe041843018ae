"""Paint a clock, and see time warp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import ColumnDataSource, Range1d

from hippozoo.apps.explore.signals import Loaded, built_in
from hippozoo.apps.explore.tabs.parts import (
    OUTLINED,
    CodeBox,
    Session,
    choice,
    controls,
    picture,
    sentence,
    shown_figures,
    small,
    tell,
    y_range,
)
from hippozoo.apps.explore.views.memory import ORDERS, timescales
from hippozoo.apps.explore.views.salience import HIGHEST, SalienceView
from hippozoo.apps.pages import colour

__all__ = ["SalienceTab"]

_BURSTS, _ABOVE = "three bursts", "the signal above"


class SalienceTab:
    """The clock above, then warped time, the history measure, and what is remembered.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Salience"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view = view = SalienceView(built_in(_BURSTS)).quiet_means_slow()
        self.which = pn.widgets.Select(label="Signal", options=[_BURSTS, _ABOVE], value=_BURSTS, width=170)
        self.order = choice("Order", list(ORDERS), view.order)
        self.timescale = choice("Window on the warped clock", *self._windows(view.loaded, view.timescale))
        self.even = pn.widgets.Button(label="Even clock", width=120, stylesheets=OUTLINED)
        self.waiting = pn.widgets.Button(label="Wait while it is quiet", width=190, stylesheets=OUTLINED)

        self.knots = ColumnDataSource({"time": [], "salience": []})
        self.clock = ColumnDataSource({"time": [], "warped": []})
        self.curves = ColumnDataSource({"time": [], "true": [], "remembered": [], "measure": []})
        span = Range1d(start=0, end=view.loaded.duration)
        self.paper = picture(
            session, "time: paint here", "salience g(t)", 180, x_range=span, y_range=Range1d(start=0, end=HIGHEST)
        )
        self.paper.varea("time", 0, "salience", source=self.knots, fill_color=colour("C1"), fill_alpha=0.3)
        self.paper.line("time", "salience", source=self.knots, line_color=colour("C1"), line_width=2.5)
        self.paper.min_border_left = 60
        self.warp = picture(session, "time", "warped time φ(t)", 170, x_range=span)
        self.warp.line("time", "warped", source=self.clock, line_color=colour("ink"), line_width=2)
        self.measure = picture(session, "time", "history measure", 170, x_range=span)
        self.measure.varea("time", 0, "measure", source=self.curves, fill_color=colour("C2"), fill_alpha=0.3)
        self.measure.line("time", "measure", source=self.curves, line_color=colour("C2"), line_width=2)
        self.kept = picture(session, "time; the present is on the right", "signal", 220, x_range=span)
        self.kept.y_range = y_range(view.loaded.values)
        self.kept.line("time", "true", source=self.curves, line_color=colour("ink"), line_width=2.5, line_alpha=0.5)
        self.kept.line("time", "remembered", source=self.curves, line_color=colour("C0"), line_width=2)
        session.painter.add(self.paper, self.warp, self.measure, self.kept)

        self._last: tuple[float, float] | None = None
        for event in (PanStart, Pan, Tap):
            self.paper.on_event(event, self._brush)
        self.paper.on_event(PanEnd, self._lift)
        self.even.on_click(lambda _event: self._put(self._plain()))
        self.waiting.on_click(lambda _event: self._put(self.view.quiet_means_slow()))
        self.which.param.watch(lambda event: self._choose(event.new), "value")
        for widget in (self.order, self.timescale):
            widget.param.watch(lambda _event: self._rebuild(), "value_throttled")
        session.listen(lambda _loaded: self._choose(self.which.value) if self.which.value == _ABOVE else None)
        self.said = sentence()
        self.code = CodeBox(lambda: self.view.code())
        self._busy = False
        self._put(view)
        self.layout = pn.Column(
            sentence(
                "Paint the salience with the mouse or a finger: where it is high the memory's clock runs fast, and the "
                "signal there takes up more of the memory. Blue is what is remembered at the end."
            ),
            controls(self.which, self.order, self.timescale, self.even, self.waiting),
            self.said,
            *shown_figures(self.paper, self.warp, self.measure, self.kept),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    @staticmethod
    def _windows(loaded: Loaded, wanted: float) -> tuple[dict[str, float], float]:
        found = sorted({*timescales(loaded), wanted})
        return {f"{one:g} {loaded.unit}".strip(): one for one in found}, wanted

    def _plain(self) -> SalienceView:
        return SalienceView(self.view.loaded, self.view.order, self.view.timescale)

    def _choose(self, which: str) -> None:
        loaded = built_in(_BURSTS) if which == _BURSTS else self.session.loaded
        wanted = float(f"{loaded.duration / 4:.3g}")
        options, value = self._windows(loaded, 14.0 if which == _BURSTS else wanted)
        self._busy = True
        self.timescale.param.update(options=options, value=value)
        self._busy = False
        self.paper.x_range.end = loaded.duration
        around = y_range(loaded.values)
        self.kept.y_range.update(start=around.start, end=around.end)
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
        self.knots.data = {"time": small(view.knots), "salience": small(view.salience)}
        shown = np.linspace(0, len(view.seen.times) - 1, 300).astype(int)
        self.clock.data = {"time": small(view.seen.times[shown]), "warped": small(view.seen.warped_time[shown])}
        self.curves.data = {
            "time": small(view.moments),
            "true": small(view.truth),
            "remembered": small(view.remembered),
            "measure": small(view.measure),
        }
        if finished:
            unit = view.loaded.unit
            tell(
                self.said,
                f"The memory reaches {view.reach:.3g} {unit} back, by a window of {view.timescale:g} on its own clock. "
                f"Rms error over the whole signal, what is forgotten counted as zero: {view.error:.3g}, where the "
                f"signal varies by {float(view.loaded.values.std()):.3g}.",
            )
            self.code.refresh()
