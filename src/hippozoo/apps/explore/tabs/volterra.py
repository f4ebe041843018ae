"""Kernels that are learnt while the stream runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d

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
from hippozoo.apps.explore.views.volterra import LENGTH, TASKS, VolterraView
from hippozoo.apps.pages import colour

__all__ = ["VolterraTab"]

_CHUNK = 250
_EVERY = 60  # milliseconds
_SHOWN = 250


class VolterraTab:
    """A system is identified sample by sample: prediction, error, and the kernel beside the true one.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Volterra"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.task = pn.widgets.Select(label="System to be learnt", options=list(TASKS), width=270)
        self.order = choice("Order of the memory", [8, 12, 16, 24, 32, 48], 32)
        self.run = pn.widgets.Toggle(label="▶ Run the stream", width=150, stylesheets=OUTLINED)
        self.again = pn.widgets.Button(label="Begin again", width=120, stylesheets=OUTLINED)
        self.view = VolterraView(self.task.value, self.order.value)

        self.stream = ColumnDataSource({"time": [], "target": [], "predicted": []})
        self.errors = ColumnDataSource({"seen": [], "error": []})
        self.learnt = ColumnDataSource({"kernel": [np.zeros((LENGTH, LENGTH))]})
        self.true = ColumnDataSource({"kernel": [self.view.truth]})
        self.lines = picture(session, "samples", "output", 200)
        self.lines.line("time", "target", source=self.stream, line_color=colour("ink"), line_width=2.5, line_alpha=0.5)
        self.lines.line("time", "predicted", source=self.stream, line_color=colour("C1"), line_width=2)
        self.falling = picture(session, "samples", "error", 170, y_axis_type="log")
        self.falling.line("seen", "error", source=self.errors, line_color=colour("C0"), line_width=2)
        largest = float(np.abs(self.view.truth).max())
        self.colours = LinearColorMapper(palette=BLUE_TO_RED, low=-largest, high=largest)
        self.maps = []
        for label, source in (("learnt", self.learnt), ("true", self.true)):
            figure = picture(
                session,
                f"lag ({label})",
                "lag",
                x_range=Range1d(start=0, end=LENGTH),
                y_range=Range1d(start=0, end=LENGTH),
            )
            figure.update(height=310, max_width=330)
            figure.image("kernel", 0, 0, LENGTH, LENGTH, source=source, color_mapper=self.colours)
            self.maps.append(figure)
        session.painter.add(self.lines, self.falling, *self.maps)

        self.said = sentence()
        self.code = CodeBox(lambda: self.view.code())
        self._ticking: Any = None
        self.run.param.watch(self._turn, "value")
        self.again.on_click(lambda _event: self._begin())
        self.task.param.watch(lambda _event: self._begin(), "value")
        self.order.param.watch(lambda _event: self._begin(), "value_throttled")
        self.advance(4)
        self.layout = pn.Column(
            sentence(
                "The output depends on products of past inputs. The model learns them online: the left map shows by "
                "how much a pair of past inputs raises (red) or lowers (blue) the output, the right one the truth."
            ),
            controls(self.task, self.order, self.run, self.again),
            self.said,
            # Side by side in a row of Bokeh's: in a flex box of Panel's their frames have no width.
            pn.pane.Bokeh(row(*self.maps, sizing_mode="stretch_width"), sizing_mode="stretch_width"),
            *shown_figures(self.lines, self.falling),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    def _turn(self, event: Any) -> None:
        self.run.label = "⏸ Pause" if event.new else "▶ Run the stream"
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        if event.new and pn.state.curdoc is not None:
            self._ticking = pn.state.add_periodic_callback(self.advance, period=_EVERY)
        elif not event.new:
            self.code.refresh()

    def _begin(self) -> None:
        self.view = VolterraView(self.task.value, self.order.value)
        largest = float(np.abs(self.view.truth).max())
        self.colours.update(low=-largest, high=largest)
        self.true.data = {"kernel": [small(self.view.truth)]}
        self.advance(4)

    def advance(self, chunks: int = 1) -> None:
        """Learn from the next samples, and show what is known now."""
        for _ in range(chunks):
            self.view = self.view.learn(_CHUNK)
        view = self.view
        target, predicted = view.shown
        self.stream.data = {
            "time": np.arange(view.seen - len(target), view.seen)[-_SHOWN:],
            "target": small(target)[-_SHOWN:],
            "predicted": small(predicted)[-_SHOWN:],
        }
        seen, errors = np.array(view.errors).T
        self.errors.data = {"seen": small(seen), "error": small(np.maximum(errors, 1e-9))}
        self.learnt.data = {"kernel": [small(view.kernel)]}
        tell(
            self.said,
            f"{view.seen:,} samples seen. In the last {_CHUNK} the mean squared error is "
            f"{100 * view.errors[-1][1]:.3g} % of the output's variance; the kernel is "
            f"{100 * view.distance:.0f} % away from the true one.",
        )
        if view.finished:
            self.run.value = False
        if not self.run.value:
            self.code.refresh()
