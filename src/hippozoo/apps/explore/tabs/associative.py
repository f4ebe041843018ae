"""Write and read at addresses, and see the bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.models import BasicTicker, ColumnDataSource, LinearColorMapper, Range1d

from hippozoo.apps.explore.tabs.parts import (
    BLUE_TO_RED,
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
)
from hippozoo.apps.explore.views.associative import AssociativeView
from hippozoo.apps.pages import colour

__all__ = ["AssociativeTab"]


class AssociativeTab:
    """The bank as a function of the address, what is written and read, and how writes disturb each other.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Associative"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view = AssociativeView(16).write(0.2, 1.0).write(0.5, -0.6).write(0.8, 0.5)
        self.order = choice("Order of the bank", [4, 6, 8, 12, 16, 24, 32, 48, 64], 16)
        slider = {"sizing_mode": "stretch_width", "min_width": 150, "max_width": 250}
        self.address = pn.widgets.FloatSlider(label="Address", start=0.0, end=1.0, step=0.005, value=0.35, **slider)
        self.value = pn.widgets.FloatSlider(label="Value", start=-1.5, end=1.5, step=0.05, value=1.0, **slider)
        self.gate = pn.widgets.FloatSlider(label="Gate", start=0.0, end=1.0, step=0.05, value=1.0, **slider)
        self.write = pn.widgets.Button(label="Write", width=90, stylesheets=OUTLINED)
        self.undo = pn.widgets.Button(label="Undo", width=90, stylesheets=OUTLINED)
        self.clear = pn.widgets.Button(label="Clear", width=90, stylesheets=OUTLINED)

        self.curve = ColumnDataSource({"address": [], "held": [], "bump": []})
        self.points = ColumnDataSource({"address": [], "value": [], "read": []})
        self.reading = ColumnDataSource({"address": [], "read": []})
        self.cells = ColumnDataSource({"i": [], "j": [], "moved": []})
        self.bank = picture(
            session,
            "address: click to write there",
            "value",
            320,
            x_range=Range1d(start=-0.01, end=1.01),
            y_range=Range1d(start=-2, end=2),
        )
        self.bank.line(
            "address", "bump", source=self.curve, line_color=colour("C2"), line_width=1.5, line_dash="dashed"
        )
        self.bank.line("address", "held", source=self.curve, line_color=colour("C0"), line_width=2.5)
        self.bank.segment(
            "address", "value", "address", "read", source=self.points, line_color=colour("C1"), line_width=2
        )
        self.bank.scatter("address", "value", source=self.points, size=9, fill_color=colour("C1"), line_color=None)
        self.bank.scatter(
            "address", "read", source=self.reading, size=12, marker="x", line_color=colour("ink"), line_width=3
        )
        self.heat = picture(session, "written at (number of the write)", "read at", 300)
        self.heat.max_width = 420
        for axis in (self.heat.xaxis[0], self.heat.yaxis[0]):
            axis.ticker = BasicTicker(min_interval=1, num_minor_ticks=0)
        self.heat.rect(
            "j", "i", 1, 1, source=self.cells, line_color=None,
            fill_color={"field": "moved", "transform": LinearColorMapper(palette=BLUE_TO_RED, low=-1, high=1)},
        )  # fmt: skip
        session.painter.add(self.bank, self.heat)

        self.said = sentence()
        self.bank.on_event(Tap, self._tap)
        self.write.on_click(lambda _event: self._write(self.address.value, self.value.value))
        self.undo.on_click(lambda _event: self._put(self.view.without_last()))
        self.clear.on_click(lambda _event: self._put(AssociativeView(self.view.order)))
        self.order.param.watch(lambda event: self._put(AssociativeView(event.new, self.view.writes)), "value_throttled")
        self.address.param.watch(lambda _event: self._put(self.view), "value")
        self.code = CodeBox(lambda: self.view.code())
        self._put(self.view)
        self.layout = pn.Column(
            sentence(
                "A bank is a function of an address between 0 and 1 (blue). A write makes it right at one address, and "
                "moves it elsewhere by the dashed bump. Dots are what was written, and a line leads to what is read "
                "there now. The cross reads at the address of the slider."
            ),
            controls(self.order, self.address, self.value, self.gate, self.write, self.undo, self.clear),
            self.said,
            *shown_figures(self.bank),
            sentence(
                "Interference: how far a full write at one address moves what is read at another (red up, blue down)."
            ),
            *shown_figures(self.heat),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    def _tap(self, event: Any) -> None:
        if event.x is not None and 0 <= event.x <= 1 and -2 <= event.y <= 2:
            self._write(event.x, event.y)

    def _write(self, address: float, value: float) -> None:
        self._put(self.view.write(address, value, self.gate.value))

    def _put(self, view: AssociativeView) -> None:
        self.view = view
        here = float(self.address.value)
        self.curve.data = {"address": small(view.places), "held": small(view.bank), "bump": small(view.bump(here))}
        addresses = [one.address for one in view.writes]
        self.points.data = {
            "address": addresses,
            "value": [one.value for one in view.writes],
            "read": view.recalled.tolist() if view.writes else [],
        }
        self.reading.data = {"address": [here], "read": [view.read(here)]}
        count = len(view.writes)
        rows, columns = np.indices((count, count)).reshape(2, -1) + 1
        self.cells.data = {"i": rows, "j": columns, "moved": view.interference.ravel()}
        worst = max((abs(read - one.value) for read, one in zip(view.recalled, view.writes, strict=True)), default=0.0)
        tell(
            self.said,
            f"{count} write{'s' * (count != 1)} in {view.order} coefficients; reading at {here:g} gives "
            f"{view.read(here):.3g}. The recall that is furthest off is off by {worst:.2g}.",
        )
        self.code.refresh()
