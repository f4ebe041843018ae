"""The systems side by side: weight, basis, window."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, Table, rms
from hippozoo.memory import GrowingMemory
from hippozoo.memory.plots import plot_basis, plot_weight
from hippozoo.systems import HippoSystem, LegT

WORDS = {
    "LegT": ("the last 4 s, all alike", "Legendre polynomials on the window", "LMU; LegT in HiPPO (2020) and s4"),
    "LegS": ("everything, fading", "Legendre polynomials in 1 - exp(-lag)", "LegS in S4; not the 1/t one of 2020"),
    "LagT": ("everything, fading", "Laguerre polynomials in the lag", "LagT in HiPPO (2020)"),
    "FouT": ("the last 4 s, as one period", "sines and cosines on the window", "FouT in s4"),
    "GrowingMemory": ("all since it began", "Legendre polynomials on its age", "LegS in HiPPO (2020), with 1/t"),
}
AGES = (5.0, 2.5)  # s: of the growing memory, which at any moment is a window of its own age


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """One row per system: its weight, and the first functions of its basis."""
    axes = figure.subplots(len(WORDS), 2, sharex=True, width_ratios=[1, 1.6])
    for system, row in zip(names.systems, axes, strict=False):
        draw_system(row, system, type(system).__name__)
    for age in AGES:
        draw_system(axes[-1], LegT(order=65, timescale=age), "GrowingMemory", functions=4 if age == AGES[0] else 0)
    axes[-1, 0].text(AGES[1], 0.43, f"after {AGES[1]} s", fontsize=9)
    axes[-1, 0].text(AGES[0], 0.23, f"after {AGES[0]:.0f} s", fontsize=9)
    axes[0, 0].set_title("weight (1/s)", loc="right", fontsize=9)
    axes[0, 1].set_title("the first four basis functions", loc="right", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("lag (s)")


def draw_system(row: np.ndarray, system: HippoSystem, title: str, functions: int = 4) -> None:
    """Weight on the left, basis on the right."""
    lags = np.linspace(0.0, 6.0, 1201)
    plot_weight(system, lags=lags, ax=row[0])
    row[0].set(title=title, xlabel="", ylabel="", ylim=(0, 0.55))
    if functions:
        plot_basis(system, functions, lags=lags[lags <= system.window], ax=row[1])
        row[1].set(xlim=(6, 0), ylim=(-3.2, 3.2), xlabel="", ylabel="")


def errors(names: SimpleNamespace) -> dict[str, float]:
    """Rms error of each memory over the last two seconds."""
    growing = GrowingMemory(order=65)
    past = growing.reconstruct(growing.final(names.signal, dt=0.01), names.lags)
    truth = names.signal[::-1][: names.lags.size]
    return {name: rms(one - truth) for name, one in zip(WORDS, [*names.pasts, past], strict=True)}


def table(names: SimpleNamespace) -> Table:
    """One row per system, in words, with its measured error."""
    rows = [(name, *WORDS[name], f"{error:.1f}") for name, error in errors(names).items()]
    return Table(header=("system", "remembers", "by", "elsewhere", "error, mmHg"), rows=rows)


SECTION = Section(
    order=50,
    title="Which HiPPO is this",
    question="Which HiPPO is this?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.apps.tour.signals import pulse_wave

signal = pulse_wave(seconds=30.0, rate=100.0)  # blood pressure, mmHg
lags = (np.arange(200) + 0.5) * 0.01  # seconds ago: the last 200 samples
""",
    code="""
systems = LegT(65, 4.0), LegS(65, 2.0), LagT(65, 2.0), FouT(65, 4.0)
memories = [Memory(system, dt=0.01) for system in systems]
pasts = [one.reconstruct(one.final(signal), lags) for one in memories]
""",
    draw=draw,
    measure=errors,
    caption=(
        "A system is a weight (what counts as past) with functions that are orthonormal under it (how the past is "
        "spelled). With 65 numbers each, the rms error over the last two seconds of a pressure wave is {LegT:.1f} "
        "mmHg for Leg-T, {LegS:.1f} for Leg-S, {FouT:.1f} for Fou-T and {LagT:.1f} for Lag-T, whose polynomials suit "
        "smooth decays and need many more numbers for a pulse. The growing memory, {GrowingMemory:.1f}, spreads its "
        "numbers over all 30 seconds since the stream began."
    ),
    alt=(
        "Five rows of two panels. Leg-T and Fou-T have a flat weight over four seconds, Leg-S and Lag-T an "
        "exponential one, the growing memory a flat one that widens with its age; beside each weight, the first "
        "four basis functions."
    ),
    height=7.8,
    table=table,
    read_on="memory",
)
