"""Volterra: a quadratic readout learns an unknown system online and shows its kernel."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section
from hippozoo.plotting import ink
from hippozoo.zoo.volterra.plots import plot_kernels


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """Above, target and prediction early and late; below, the true kernel and the inferred one."""
    grid = figure.add_gridspec(2, 1, height_ratios=[1, 1.6])
    streams, kernels = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    for ax, begin, title in zip(streams.subplots(1, 2, sharey=True), (60, 99_700), ("early", "late"), strict=True):
        shown = slice(begin, begin + 300)
        seconds = np.arange(begin, begin + 300) * 0.01
        ax.plot(seconds, names.data.target[shown], color=ink(), label="output")
        ax.plot(seconds, names.predictions[shown], color="C1", linestyle="--", label="predicted")
        ax.set(title=title, xlabel="time (s)", ylim=(-4, 26))
    streams.axes[0].legend(loc="upper right", ncols=2)
    axes = kernels.subplots(1, 2)
    plot_kernels({"true kernel": names.true_kernel(), "inferred": names.kernel}, dt=0.01, unit="s", axes=axes)


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Errors relative to the variance of the output, early and late, and that of the kernel."""
    squared = (names.predictions - names.data.target) ** 2 / names.data.target.var()
    truth = names.true_kernel()
    off = float(np.linalg.norm(names.kernel - truth) / np.linalg.norm(truth))
    found = names.model.identification(names.state, names.data.signal)
    return {
        "early": 100 * float(squared[:500].mean()),
        "late": 100 * float(squared[-10_000:].mean()),
        "kernel": 100 * off,
        "excited": found.count,
        "directions": len(found.strength),
    }


SECTION = Section(
    order=60,
    title="Which products matter",
    question="Which pairs of past inputs make this output?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import LegS
from hippozoo.tasks.wray_green import true_kernel, wray_green
from hippozoo.zoo.volterra import VolterraModel

data = wray_green(100_000, np.random.default_rng(0))  # an unknown system
memory = Memory(LegS(order=64, timescale=0.375), dt=0.01)
""",
    code="""
model = VolterraModel(memory, degree=2)
predictions, state = model.learn(
    model.initial_state(), data.signal, data.target
)
kernel = model.kernel(state, 2, length=50)
""",
    draw=draw,
    measure=measure,
    caption=(
        "The output is the square of a filtered input; the model is told neither. Learning one sample at a time, its "
        "mean squared error falls from {early:.0f} % of the output's variance in the first 500 samples to "
        "{late:.4f} % in the last 10,000. What it has learnt is a kernel: red where two past inputs of the same sign "
        "raise the output, blue where they lower it. It is {kernel:.1f} % away from the true one. The input is noise "
        "below 10 Hz and excites {excited} of the {directions} directions that a kernel can have; "
        "model.identification tells which."
    ),
    alt=(
        "Top: early on the predicted output follows the true one only roughly, later the two lines cannot be told "
        "apart. Bottom: two heat maps over pairs of lags, the true and the inferred kernel, show the same checkerboard "
        "of red and blue patches that fades with the lag."
    ),
    height=6.0,
    read_on="volterra",
)
