"""The first tab: a memory runs over a signal."""

from __future__ import annotations

import math

import numpy as np
import panel as pn
from bokeh.models import Range1d

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.views.memory import ORDERS, SYSTEMS, MemoryView, timescales
from hippozoo.apps.pages import colour


class MemoryTab(parts.Tab):
    """Reconstruction against the true past, weight over lags, coefficients; scrub or play."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        values = session.loaded.values
        self.system = pn.widgets.RadioButtonGroup(
            options=list(SYSTEMS), value="Leg-T", label="System", margin=(18, 8, 5, 8), stylesheets=parts.OUTLINED
        )
        self.order = parts.choice("Order (numbers kept)", list(ORDERS), 64)
        self.timescale = parts.choice("Timescale", *self._timescale_options(session.loaded))

        self.curves = parts.columns("lag", "true", "remembered")
        self.weights = parts.columns("lag", "weight")
        self.numbers = parts.columns("n", "value")
        self.past = parts.draw_past(values, self.curves, 300)
        self.weight = parts.picture("lag; the present is on the right", "weight", 150, x_range=self.past.x_range)
        parts.draw_area(self.weight, self.weights, "lag", "weight", "C2")
        self.weight.y_range.start = 0
        self.bars = parts.picture("coefficient", "value", 190, y_range=Range1d(start=-1, end=1))
        self.bars.vbar("n", 0.8, "value", source=self.numbers, fill_color=colour("C1"), line_color=None)

        sources = [self.curves, self.numbers]
        self.player = parts.Player(len(values), len(values) // 2, self.show, sources, self.frame)
        self.system.param.watch(lambda _event: self.rebuild(), "value")
        for widget in (self.order, self.timescale):
            widget.param.watch(lambda _event: self.rebuild(), "value_throttled")
        session.listen(self.load)
        self.rebuild()
        self.layout = self.arrange(
            "A memory keeps a few numbers. They can be turned back into the past: thick is the true past, blue "
            "what is remembered. The weight says which part of the past the memory cares for.",
            [self.system, self.order, self.timescale],
            self.player.layout,
            self.said,
            self.past,
            self.weight,
            self.bars,
        )

    @staticmethod
    def _timescale_options(loaded: Loaded) -> tuple[dict[str, float], float]:
        found = timescales(loaded)
        # A tenth of the signal shows both what is kept and what is lost.
        wanted = min(found, key=lambda one: abs(math.log(one / (0.12 * loaded.duration))))
        return {f"{one:g} {loaded.unit}".strip(): one for one in found}, wanted

    def write_code(self) -> str:
        """Python that gives the same pictures."""
        return self.view.code(self.player.now)

    def load(self, loaded: Loaded) -> None:
        """Another signal."""
        options, value = self._timescale_options(loaded)
        parts.set_around(self.past.y_range, loaded.values)
        self.view = MemoryView(loaded, self.system.value, self.order.value, value)
        self.timescale.param.update(options=options, value=value)
        self.player.reach(len(loaded.values), len(loaded.values) // 2)
        self.rebuild()

    def rebuild(self) -> None:
        """Another system, order or timescale: new tables, then the present frame."""
        loaded = self.session.loaded
        self.view = view = MemoryView(loaded, self.system.value, self.order.value, self.timescale.value)
        self.past.x_range.update(start=view.span, end=0)
        label = parts.with_unit("lag", loaded.unit)
        self.past.xaxis[0].axis_label.text = label
        self.weight.xaxis[0].axis_label.text = f"{label}; the present is on the right"
        parts.put(self.weights, lag=view.lags, weight=view.weight)
        self.weight.y_range.end = 1.15 * float(np.nanmax(view.weight))
        self.bars.y_range.update(start=-view.largest, end=view.largest)
        self.player.flush()
        self.show(self.player.now)

    def frame(self, now: int) -> list[dict[str, np.ndarray]]:
        """What changes from frame to frame: two curves, and the coefficients."""
        frame = self.view.frame(min(now, len(self.session.loaded.values)))
        return [{"true": frame.true_past, "remembered": frame.remembered}, {"value": frame.coefficients}]

    def show(self, now: int) -> None:
        """One frame: two small updates and a sentence."""
        curves, numbers = self.frame(now)
        parts.put(self.numbers, n=np.arange(len(numbers["value"])), **numbers)
        parts.put(self.curves, lag=self.view.lags, **curves)
        view, now = self.view, self.player.now
        kept = view.lags[view.inside - 1]
        self.tell(
            f"After {now:,} samples, {view.memory.system.order} numbers stand for the last {kept:.3g} "
            f"{view.loaded.unit} ({kept / view.loaded.dt:,.0f} samples); rms error {view.frame(now).error:.3g}, where "
            f"the signal varies by {float(view.loaded.values.std()):.3g}.",
        )
