"""Step, scan, resume and merge: the same memory whichever way it was made."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, Table
from hippozoo.memory.plots import plot_memory


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """What each recorder brings, and the two together."""
    axes = figure.subplots(3, sharex=True, sharey=True)
    nothing = names.memory.initial_state()
    earlier = names.memory.merge(names.first, nothing, elapsed=1.5)
    plot_memory(names.memory, earlier, ax=axes[0], label="first recorder, 1.5 s later")
    plot_memory(names.memory, names.second, ax=axes[1], label="second recorder: the last 1.5 s")
    plot_memory(names.memory, names.merged, names.signal, ax=axes[2], label="merged")
    for number, ax in enumerate(axes):
        ax.lines[-1].set_color(("C1", "C2", "C0")[number])
        ax.axvline(1.5, color="C3", linestyle=":", linewidth=1.2)
        ax.set(ylabel="mmHg", xlabel="", ylim=(-25, 58))
        ax.legend(ncols=2, loc="upper left")
    axes[-1].set_xlabel("lag (s)")


def disagreements(names: SimpleNamespace) -> dict[str, float]:
    """Each mode against the plain loop, relative to the largest coefficient."""
    memory, signal, half = names.memory, names.signal, len(names.signal) // 2
    loop = memory.initial_state()
    states = np.array([loop := memory.step(loop, sample) for sample in signal])
    even = np.full(signal.size, memory.dt)
    found = {
        "all states at once (scan)": memory.scan(signal) - states,
        "the last state only (final)": memory.final(signal) - states[-1],
        "a step for every sample (dt=…)": memory.final(signal, dt=even) - states[-1],
        "stopped and resumed (state=…)": memory.final(signal[half:], memory.final(signal[:half])) - states[-1],
        "two recorders, merged (merge)": names.merged - states[-1],
    }
    return {mode: float(np.abs(error).max() / np.abs(states).max()) for mode, error in found.items()}


def table(names: SimpleNamespace) -> Table:
    """One row per mode."""
    rows = [(mode, f"{error:.0e}") for mode, error in disagreements(names).items()]
    return Table(header=("mode", "largest difference from step by step"), rows=rows)


SECTION = Section(
    order=40,
    title="One memory in pieces",
    question="Can two recorders be joined, and is it the same as one?",
    setup="""
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.apps.tour.signals import pulse_wave

signal = pulse_wave(seconds=12.0, rate=100.0) - 90.0  # mmHg above the mean
memory = Memory(LegT(order=64, timescale=4.0), dt=0.01)
""",
    code="""
first, second = memory.final(signal[:-150]), memory.final(signal[-150:])
merged = memory.merge(first, second, elapsed=1.5)  # `second` saw 1.5 s
disagreement = memory.verify(signal)
""",
    draw=draw,
    measure=lambda names: {"disagreement": names.disagreement},
    caption=(
        "The first recorder stopped 1.5 s ago and the second began there. Each knows nothing of the other's part, "
        "and their states merge into the memory that one recorder would have: aged by 1.5 s, the first adds to "
        "the second. Sample by sample, all at once, resumed or merged: on this signal the modes differ by "
        "{disagreement:.0e} of the largest coefficient, which is rounding. verify() measures it on your own data."
    ),
    alt=(
        "Three panels over the last four seconds. The first recorder's memory ends 1.5 seconds ago, the second's "
        "begins there, and the merged one follows the whole pressure wave."
    ),
    height=4.8,
    table=table,
    read_on="memory",
)
