"""Kernels that are learnt while the stream runs: prediction, error and kernel, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import panel as pn
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d
from jaxtyping import Float

from hippozoo.apps.explore.tabs import parts
from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem, LegS, LegT
from hippozoo.tasks.wray_green import true_kernel
from hippozoo.zoo.volterra import VolterraModel, VolterraState

LENGTH = 40
TOTAL = 40_000
_CHUNK = 250
_EVERY = 60  # milliseconds
_SHOWN = 250


def _product_kernel() -> Float[np.ndarray, "lags lags"]:
    kernel = np.zeros((LENGTH, LENGTH))
    kernel[4, 12] = kernel[12, 4] = 1.0
    return kernel


class Task(NamedTuple):
    """A system to be learnt: code that leaves `signal` and `target`, the true kernel of degree 2, and the memory."""

    code: str
    truth: Callable[[], Float[np.ndarray, "lags lags"]]
    system: Callable[[int], HippoSystem]


TASKS = {
    "Wray-Green: filter, then square": Task(
        f"""from hippozoo.tasks.wray_green import wray_green

data = wray_green({TOTAL}, np.random.default_rng(0))
signal, target = data.signal, data.target""",
        lambda: true_kernel()[:LENGTH, :LENGTH],
        lambda order: LegS(order, 37.5),
    ),
    "product of two past samples": Task(
        f"""
signal = np.random.default_rng(0).normal(size={TOTAL})
target = 2 * np.roll(signal, 4) * np.roll(signal, 12)""",
        _product_kernel,
        lambda order: LegT(order, 16.0),
    ),
}


class VolterraView:
    """How far learning has come; the view itself goes on with `learn`.

    `errors` holds, after each chunk, samples seen and the mean squared error in it, in units of the target's variance;
    `shown` holds target and prediction of the last chunk.
    """

    def __init__(self, task: str = next(iter(TASKS)), order: int = 32) -> None:
        self.task = TASKS[task]
        self.model = VolterraModel(Memory(self.task.system(order)), degree=2)
        names: dict[str, Any] = {"np": np}
        exec(self.task.code, names)  # what is shown is what runs
        self.signal, self.target, self.truth = names["signal"], names["target"], self.task.truth()
        self.state: VolterraState = self.model.initial_state()
        self.kernel: Float[np.ndarray, "lags lags"] = np.zeros((LENGTH, LENGTH))
        self.seen, self.errors, self.shown = 0, list[tuple[int, float]](), (np.zeros(0), np.zeros(0))

    @property
    def finished(self) -> bool:
        """Whether the stream is at its end."""
        return self.seen >= len(self.signal)

    def learn(self, count: int) -> None:
        """Learn from so many further samples."""
        signal, target = (one[self.seen : self.seen + count] for one in (self.signal, self.target))
        if not len(signal):
            return
        predictions, self.state = self.model.learn(self.state, signal, target)
        self.seen += len(signal)
        self.errors.append((self.seen, float(np.mean((predictions - target) ** 2) / self.target.var())))
        self.shown = target, np.asarray(predictions)
        self.kernel = self.model.kernel(self.state, 2, length=LENGTH)

    @property
    def distance(self) -> float:
        """How far the learnt kernel is from the true one, in units of its size."""
        return float(np.linalg.norm(self.kernel - self.truth) / np.linalg.norm(self.truth))

    def code(self) -> str:
        """Python that gives the same pictures."""
        system = self.model.memory.system
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import {type(system).__name__}, Memory, VolterraModel
{self.task.code}

model = VolterraModel(Memory({system!r}), degree=2)
predictions, state = model.learn(model.initial_state(), signal[:{max(1, self.seen)}], target[:{max(1, self.seen)}])
kernel = model.kernel(state, 2, length={LENGTH})

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
largest = np.abs(kernel).max()
figure.colorbar(ax.imshow(kernel, vmin=-largest, vmax=largest, cmap="RdBu_r", origin="lower"))
figure.savefig("kernel.png")
"""


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
        parts.when_let_go(self._begin, self.order)

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
        view = self.view
        for _ in range(chunks):
            view.learn(_CHUNK)
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
