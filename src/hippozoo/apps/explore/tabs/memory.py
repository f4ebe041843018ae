"""The first tab: a memory runs over a signal."""

from __future__ import annotations

import math

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs.parts import (
    OUTLINED,
    CodeBox,
    Player,
    Session,
    choice,
    controls,
    picture,
    sentence,
    small,
    tell,
    y_range,
)
from hippozoo.apps.explore.views.memory import ORDERS, SYSTEMS, MemoryView, timescales
from hippozoo.apps.pages import colour

__all__ = ["MemoryTab"]


class MemoryTab:
    """Reconstruction against the true past, weight over lags, coefficients; scrub or play.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Memory"

    def __init__(self, session: Session) -> None:
        self.session = session
        loaded = session.loaded
        self.system = pn.widgets.RadioButtonGroup(
            options=list(SYSTEMS), value="Leg-T", label="System", margin=(18, 8, 5, 8), stylesheets=OUTLINED
        )
        self.order = choice("Order (numbers kept)", list(ORDERS), 64)
        self.timescale = choice("Timescale", *self._timescale_options(loaded))
        self.view = MemoryView(loaded, self.system.value, self.order.value, self.timescale.value)

        self.curves = ColumnDataSource({"lag": [], "true": [], "remembered": []})
        self.weights = ColumnDataSource({"lag": [], "weight": []})
        self.numbers = ColumnDataSource({"n": [], "value": []})
        self.past = picture(
            session, "lag", "signal", 300, x_range=Range1d(start=1, end=0), y_range=y_range(loaded.values)
        )
        self.past.step(
            "lag", "true", source=self.curves, mode="before", line_color=colour("ink"), line_width=2.5, line_alpha=0.5
        )
        self.past.line("lag", "remembered", source=self.curves, line_color=colour("C0"), line_width=2)
        self.weight = picture(session, "lag; the present is on the right", "weight", 150, x_range=self.past.x_range)
        self.weight.varea("lag", 0, "weight", source=self.weights, fill_color=colour("C2"), fill_alpha=0.3)
        self.weight.line("lag", "weight", source=self.weights, line_color=colour("C2"), line_width=2)
        self.weight.y_range.start = 0
        self.bars = picture(session, "coefficient", "value", 190, y_range=Range1d(start=-1, end=1))
        self.bars.vbar("n", 0.8, "value", source=self.numbers, fill_color=colour("C1"), line_color=None)
        session.painter.add(self.past, self.weight, self.bars)

        self.said = sentence()
        self.player = Player(
            "Samples seen",
            len(loaded.values),
            len(loaded.values) // 2,
            self.show,
            [self.curves, self.numbers],
            self.frame,
        )
        self.code = CodeBox(lambda: self.view.code(self.player.now))
        for widget, name in (
            (self.system, "value"),
            (self.order, "value_throttled"),
            (self.timescale, "value_throttled"),
        ):
            widget.param.watch(lambda _event: self.rebuild(), name)
        session.listen(self.load)
        self.rebuild()
        self.layout = pn.Column(
            sentence(
                "A memory keeps a few numbers. They can be turned back into the past: thick is the true past, blue "
                "what is remembered. The weight says which part of the past the memory cares for."
            ),
            controls(self.system, self.order, self.timescale),
            self.player.layout,
            self.said,
            *(pn.pane.Bokeh(one, sizing_mode="stretch_width") for one in (self.past, self.weight, self.bars)),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    @staticmethod
    def _timescale_options(loaded: Loaded) -> tuple[dict[str, float], float]:
        found = timescales(loaded)
        # A tenth of the signal shows both what is kept and what is lost.
        wanted = min(found, key=lambda one: abs(math.log(one / (0.12 * loaded.duration))))
        return {f"{one:g} {loaded.unit}".strip(): one for one in found}, wanted

    def load(self, loaded: Loaded) -> None:
        """Another signal."""
        options, value = self._timescale_options(loaded)
        self.past.y_range.update(start=y_range(loaded.values).start, end=y_range(loaded.values).end)
        self.view = MemoryView(loaded, self.system.value, self.order.value, value)
        self.timescale.param.update(options=options, value=value)
        self.player.reach(len(loaded.values), len(loaded.values) // 2)
        self.rebuild()

    def rebuild(self) -> None:
        """Another system, order or timescale: new tables, then the present frame."""
        loaded = self.session.loaded
        self.view = view = MemoryView(loaded, self.system.value, self.order.value, self.timescale.value)
        self.past.x_range.update(start=view.span, end=0)
        for figure, label in ((self.past, "lag{}"), (self.weight, "lag{}; the present is on the right")):
            figure.xaxis[0].axis_label.text = label.format(f" ({loaded.unit})" if loaded.unit else "")
        self.weights.data = {"lag": small(view.lags), "weight": small(view.weight)}
        self.weight.y_range.end = 1.15 * float(np.nanmax(view.weight))
        largest = view.largest
        self.bars.y_range.update(start=-largest, end=largest)
        self._n = np.arange(view.memory.system.order, dtype=np.float32)
        self._lags = small(view.lags)
        self.player.flush()
        self.show(self.player.now)

    def frame(self, now: int) -> list[dict[str, np.ndarray]]:
        """What changes from frame to frame: two curves, and the coefficients."""
        frame = self.view.frame(min(now, len(self.session.loaded.values)))
        return [{"true": frame.true_past, "remembered": frame.remembered}, {"value": frame.coefficients}]

    def show(self, now: int) -> None:
        """One frame: two small updates and a sentence."""
        curves, numbers = self.frame(now)
        self.numbers.data = {"n": self._n, "value": small(numbers["value"])}
        self.curves.data = {"lag": self._lags, **{name: small(values) for name, values in curves.items()}}
        self.tell()

    def tell(self) -> None:
        """The numbers behind the picture, in words."""
        now, view = self.player.now, self.view
        frame, unit, kept = view.frame(now), view.loaded.unit, view.lags[view.inside - 1]
        tell(
            self.said,
            f"After {now:,} samples, {view.memory.system.order} numbers stand for the last {kept:.3g} {unit} "
            f"({kept / view.loaded.dt:,.0f} samples); rms error {frame.error:.3g}, where the signal varies by "
            f"{float(view.loaded.values.std()):.3g}.",
        )
        self.code.refresh()
