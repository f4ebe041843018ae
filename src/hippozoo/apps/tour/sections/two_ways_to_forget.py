"""A window forgets at once, a fading memory by degrees."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section
from hippozoo.apps.tour.sliders import Sliders
from hippozoo.memory.plots import plot_memory, plot_weight
from hippozoo.systems import LegS, LegT


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The two weights, then the two pasts, on the same lags."""
    weights, *pasts = figure.subplots(3, sharex=True, height_ratios=[1.2, 2, 2])
    both = zip(("Leg-T", "Leg-S"), (names.window, names.fading), names.states, pasts, strict=True)
    for number, (label, memory, state, ax) in enumerate(both):
        plot_weight(memory.system, lags=names.lags, unit="s", label=label, ax=weights)
        plot_memory(memory, state, names.signal, lags=names.lags, label=f"{label} remembers", ax=ax)
        ax.lines[0].set_color(f"C{number}")
        ax.set(ylabel="mmHg", xlabel="", ylim=(60, 150))
        ax.legend(ncols=2, loc="upper left")
    weights.legend(ncols=2, loc="upper left")
    weights.set(xlabel="", ylim=(0, 0.62))
    pasts[-1].set_xlabel("lag (s)")


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Rms errors over the last second and over the one that began four seconds ago."""
    centres = (np.arange(400) + 0.5) * 0.01
    truth = names.signal[::-1][:400]
    errors = [
        np.sqrt(np.mean((memory.reconstruct(state, centres) - truth).reshape(4, 100) ** 2, axis=1))
        for memory, state in zip((names.window, names.fading), names.states, strict=True)
    ]
    (window_new, *_, window_old), (fading_new, *_, fading_old) = (map(float, error) for error in errors)
    return {"window_new": window_new, "window_old": window_old, "fading_new": fading_new, "fading_old": fading_old}


SECTION = Section(
    order=20,
    title="Two ways to forget",
    question="Does it forget all at once, or by degrees?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.apps.tour.signals import pulse_wave

signal = pulse_wave(seconds=12.0, rate=100.0)  # blood pressure, mmHg
lags = np.linspace(0.0, 10.0, 2001)  # s
""",
    code="""
window = Memory(LegT(order=64, timescale=4.0), dt=0.01)
fading = Memory(LegS(order=64, timescale=2.0), dt=0.01)
states = window.final(signal), fading.final(signal)
""",
    draw=draw,
    measure=measure,
    caption=(
        "Leg-T holds a window: within it every moment counts alike, and what leaves it is gone. Leg-S never quite "
        "lets go, but details blur with age. Both keep 64 numbers. Over the last second the rms error is "
        "{window_new:.1f} (Leg-T) and {fading_new:.1f} mmHg (Leg-S); for the second that began four seconds ago "
        "it is {window_old:.1f} and {fading_old:.1f}."
    ),
    alt=(
        "Top: the weight of Leg-T is a box over the last four seconds, that of Leg-S an exponential. Middle: Leg-T "
        "follows the pressure wave for four seconds and ends there. Bottom: Leg-S follows the last beats closely, "
        "older beats ever more smoothly, and beyond eight seconds only their mean."
    ),
    height=5.4,
    sliders=lambda names: Sliders(
        names.signal, {"Leg-T": LegT, "Leg-S": LegS}, 8.0, (8, 16, 32, 64, 128), (0.5, 1.0, 2.0, 4.0), start=(3, 2)
    ),
    read_on="order-and-timescale",
)
