"""Kernels that are learnt while the stream runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d

from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.views.volterra import LENGTH, TASKS, VolterraView

_CHUNK = 250
_EVERY = 60  # milliseconds
_SHOWN = 250


class VolterraTab(parts.Tab):
    """A system is identified sample by sample: prediction, error, and the kernel beside the true one."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.task = pn.widgets.Select(label="System to be learnt", options=list(TASKS), width=270)
        self.order = parts.choice("Order of the memory", [8, 12, 16, 24, 32, 48], 32)
        self.run = pn.widgets.Toggle(label="▶ Run the stream", width=150, stylesheets=parts.OUTLINED)
        self.again = parts.button("Begin again", 120, self._begin)
        self._ticking: Any = None
        self.run.param.watch(self._turn, "value")
        self.task.param.watch(lambda _event: self._begin(), "value")
        self.order.param.watch(lambda _event: self._begin(), "value_throttled")

        self.stream = parts.columns("time", "target", "predicted")
        self.errors = parts.columns("seen", "error")
        self.learnt, self.true = (ColumnDataSource({"kernel": [np.zeros((LENGTH, LENGTH))]}) for _ in range(2))
        lines = parts.picture("samples", "output", 200)
        parts.draw_line(lines, self.stream, "time", "target")
        parts.draw_line(lines, self.stream, "time", "predicted", "C1")
        falling = parts.picture("samples", "error", 170, y_axis_type="log")
        parts.draw_line(falling, self.errors, "seen", "error", "C0")
        self.colours = LinearColorMapper(palette=parts.BLUE_TO_RED, low=-1, high=1)
        maps = [self._map("learnt", self.learnt), self._map("true", self.true)]
        session.painter.add(*maps)

        self._begin()
        self.layout = self.arrange(
            "The output depends on products of past inputs. The model learns them online: the left map shows by "
            "how much a pair of past inputs raises (red) or lowers (blue) the output, the right one the truth.",
            [self.task, self.order, self.run, self.again],
            self.said,
            # Side by side in a row of Bokeh's: in a flex box of Panel's their frames have no width.
            pn.pane.Bokeh(row(*maps, **parts.WIDE), **parts.WIDE),
            lines,
            falling,
        )

    def _map(self, label: str, source: ColumnDataSource) -> Any:
        ranges = {name: Range1d(start=0, end=LENGTH) for name in ("x_range", "y_range")}
        figure = parts.picture(f"lag ({label})", "lag", 310, **ranges)
        figure.max_width = 330
        figure.image("kernel", 0, 0, LENGTH, LENGTH, source=source, color_mapper=self.colours)
        return figure

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
        self.true.data = {"kernel": [parts.small(self.view.truth)]}
        self.advance(4)

    def advance(self, chunks: int = 1) -> None:
        """Learn from the next samples, and show what is known now."""
        for _ in range(chunks):
            self.view = self.view.learn(_CHUNK)
        view = self.view
        target, predicted = (one[-_SHOWN:] for one in view.shown)
        parts.put(self.stream, time=np.arange(view.seen - len(target), view.seen), target=target, predicted=predicted)
        seen, errors = np.array(view.errors).T
        parts.put(self.errors, seen=seen, error=np.maximum(errors, 1e-9))
        self.learnt.data = {"kernel": [parts.small(view.kernel)]}
        parts.tell(
            self.said,
            f"{view.seen:,} samples seen. In the last {_CHUNK} the mean squared error is "
            f"{100 * view.errors[-1][1]:.3g} % of the output's variance; the kernel is "
            f"{100 * view.distance:.0f} % away from the true one.",
        )
        if view.finished:
            self.run.value = False
        if not self.run.value:
            self.code.refresh()
