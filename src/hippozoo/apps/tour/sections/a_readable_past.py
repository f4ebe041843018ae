"""What a memory holds of a signal, at two orders."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, rms, run_section
from hippozoo.apps.tour.sliders import Sliders
from hippozoo.memory.plots import plot_memory, plot_weight
from hippozoo.systems import LegT


def with_16_numbers() -> SimpleNamespace:
    """What the same lines leave behind when they say order=16."""
    return run_section(replace(SECTION, code=SECTION.code.replace("order=64", "order=16")))


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The true past and both memories of it; the weight below, on the same lags."""
    past, weight = figure.subplots(2, sharex=True, height_ratios=[4, 1])
    coarse, shown = with_16_numbers(), np.linspace(0.0, 5.0, 1001)
    plot_memory(names.memory, names.state, names.signal, lags=shown, ax=past)
    plot_memory(coarse.memory, coarse.state, lags=shown, ax=past)
    past.set(ylabel="pressure (mmHg)", xlabel="", ylim=(60, 145))
    past.legend(ncols=3, loc="upper left")
    plot_weight(names.memory.system, lags=shown, unit="s", ax=weight)
    weight.set(ylim=(0, 0.4), xlabel="lag (s): how long ago; the present is on the right")


def measure(names: SimpleNamespace) -> dict[str, float]:
    """Rms errors at the centres of the samples' cells."""
    truth = names.signal[::-1][: names.lags.size]
    fine, coarse = (rms(past - truth) for past in (names.past, with_16_numbers().past))
    return {"fine": fine, "coarse": coarse, "spread": float(truth.std()), "samples": float(truth.size)}


SECTION = Section(
    order=10,
    title="A readable past",
    question="What do 64 numbers still know of the last four seconds?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.apps.tour.signals import pulse_wave

signal = pulse_wave(seconds=12.0, rate=100.0)  # blood pressure, mmHg
lags = (np.arange(400) + 0.5) * 0.01  # seconds ago: the last 400 samples
""",
    code="""
memory = Memory(LegT(order=64, timescale=4.0), dt=0.01)
state = memory.final(signal)
past = memory.reconstruct(state, lags)
""",
    draw=draw,
    measure=measure,
    caption=(
        "Beats, dicrotic waves and the rise of the last beat can be read off the 64 numbers that stand for "
        "{samples:.0f} samples: the rms error is {fine:.1f} mmHg, where the signal itself varies by "
        "{spread:.0f}. With order=16 the same lines keep the rhythm only, and the error is {coarse:.1f}. The "
        "weight below says what the memory cares for: every moment of the last four seconds alike, nothing "
        "before."
    ),
    alt=(
        "A blood pressure wave over the last five seconds; for the last four of them a memory of 64 numbers "
        "follows it closely, one of 16 numbers only in outline. Below, the weight is a box over four seconds."
    ),
    height=4.0,
    sliders=lambda names: Sliders(
        names.signal, {"Leg-T": LegT}, 6.0, (4, 8, 16, 32, 64, 128), (1.0, 2.0, 4.0, 6.0), start=(4, 2)
    ),
    read_on="memory",
)
