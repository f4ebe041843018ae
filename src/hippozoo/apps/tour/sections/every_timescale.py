"""Multiscale HiPPO: one state, asked at four horizons."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section
from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.plots import plot_past


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The same state at each horizon, beside the true past."""
    for ax, horizon in zip(figure.subplots(2, 2).ravel(), names.horizons, strict=True):
        plot_past(names.memory, names.state, horizon, names.signal, label="remembered", ax=ax)
        ax.set_title(f"the last {horizon:,.0f} samples".replace(",", " "))
        ax.set_xlabel("")
        if horizon == names.horizons[0]:
            ax.legend(loc="best")


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Errors at the centres of the samples' cells, against the plain memory of each horizon."""
    ours, plain = [], []
    for horizon in names.horizons:
        lags = np.arange(int(horizon)) + 0.5
        truth = names.signal[::-1][: lags.size]
        own = names.memory.plain(horizon)
        ours.append(np.mean((names.memory.reconstruct(names.state, lags, horizon=horizon) - truth) ** 2))
        plain.append(np.mean((own.reconstruct(own.final(names.signal), lags) - truth) ** 2))
    thrifty = MultiscaleMemory(LegT(order=24, timescale=10.0), longest=1e4, scales=8, construction="bank")
    return {
        "thrifty": float(thrifty.size),
        "excess": 100 * thrifty.coverage(order=16).worst_excess,
        "numbers": float(names.state.size),
        "samples": float(names.signal.size),
        "worst": 100 * float(max(ours[i] / plain[i] for i in range(len(ours))) - 1),
    }


SECTION = Section(
    order=90,
    title="Every timescale",
    question="How far back should a memory look, if nobody knows beforehand?",
    setup="""
import numpy as np
from hippozoo.systems import LegT
from hippozoo.tasks.ou_mixture import ou_mixture
from hippozoo.zoo.multiscale import MultiscaleMemory

rng = np.random.default_rng(4)
signal = ou_mixture(rng, n_steps=30_000, trajectories=1)[:, 0]
horizons = np.array([30.0, 300.0, 3_000.0, 10_000.0])  # samples
""",
    code="""
memory = MultiscaleMemory(LegT(order=16, timescale=10.0), longest=1e4)
state = memory.final(signal)
coefficients = memory.coefficients(state, horizons)  # 16 for each horizon
""",
    draw=draw,
    measure=measure,
    caption=(
        "One state of {numbers:.0f} numbers has seen {samples:,.0f} samples of a signal that moves at all speeds. The "
        "horizon is chosen afterwards, and the answer is that of a memory built for it: the squared error is "
        'at most {worst:.1g} % above. Beyond the paper, construction="bank" with {thrifty:.0f} numbers is expected '
        "to stay within {excess:.0f} % over the whole range."
    ),
    alt=(
        "Four panels: the last 30, 300, 3000 and 10000 samples of a rough signal, each with a smooth curve that "
        "follows it as closely as 16 numbers can. All four curves come from the same state."
    ),
    height=4.6,
    read_on="multiscale",
)
