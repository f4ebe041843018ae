"""The systems side by side: weight, basis, window."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from hippozoo.memory.plots import plot_basis, plot_weight
from hippozoo.tour.section import Section, Table

WORDS = {
    "LegT": ("the last 4 s, all alike", "Legendre polynomials on the window", "LMU; LegT in HiPPO (2020) and s4"),
    "LegS": ("everything, fading", "Legendre polynomials in 1 - exp(-lag)", "LegS in S4; not the 1/t one of 2020"),
    "LagT": ("everything, fading", "Laguerre polynomials in the lag", "LagT in HiPPO (2020)"),
    "FouT": ("the last 4 s, as one period", "sines and cosines on the window", "FouT in s4"),
}


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """One row per system: its weight, and the first functions of its basis."""
    axes = figure.subplots(len(names.systems), 2, sharex=True, width_ratios=[1, 1.6])
    lags = np.linspace(0.0, 6.0, 1201)
    for system, (weight, basis) in zip(names.systems, axes, strict=True):
        plot_weight(system, lags=lags, ax=weight, unit="s")
        weight.set(title=type(system).__name__, xlabel="", ylabel="", ylim=(0, 0.55))
        plot_basis(system, 4, lags=lags[lags <= system.window], ax=basis, unit="s")
        basis.set(xlim=(6, 0), ylim=(-3.2, 3.2), xlabel="", ylabel="")
    axes[0, 0].set_title("weight (1/s)", loc="right", fontsize=9)
    axes[0, 1].set_title("the first four basis functions", loc="right", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("lag (s)")


def errors(names: SimpleNamespace) -> list[float]:
    """Rms error of each memory over the last two seconds."""
    truth = names.signal[::-1][: names.lags.size]
    return [float(np.sqrt(np.mean((past - truth) ** 2))) for past in names.pasts]


def table(names: SimpleNamespace) -> Table:
    """One row per system, in words, with its measured error."""
    rows = [
        (type(system).__name__, *WORDS[type(system).__name__], f"{error:.1f}")
        for system, error in zip(names.systems, errors(names), strict=True)
    ]
    return Table(header=("system", "remembers", "by", "elsewhere", "error, mmHg"), rows=rows)


SECTION = Section(
    order=50,
    title="Which HiPPO is this",
    question="Which HiPPO is this?",
    setup="""
import numpy as np
from hippozoo.memory import Memory
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.tour.signals import pulse_wave

signal = pulse_wave(seconds=30.0, rate=100.0)  # blood pressure, mmHg
lags = (np.arange(200) + 0.5) * 0.01  # seconds ago: the last 200 samples
""",
    code="""
systems = LegT(65, 4.0), LegS(65, 2.0), LagT(65, 2.0), FouT(65, 4.0)
memories = [Memory(system, dt=0.01) for system in systems]
pasts = [one.reconstruct(one.final(signal), lags) for one in memories]
""",
    draw=draw,
    measure=lambda names: {"legt": errors(names)[0], "legs": errors(names)[1], "lagt": errors(names)[2]},
    caption=(
        "A system is a weight (what counts as past) with the functions that are orthonormal under it (how the past is "
        "spelled). With 65 numbers each, the rms error over the last two seconds of a pressure wave is {legs:.1f} "
        "mmHg for Leg-S, {legt:.1f} for Leg-T and {lagt:.1f} for Lag-T, which keeps little more than the mean: its "
        "polynomials suit smooth decays and need many more numbers for a pulse."
    ),
    alt=(
        "Four rows of two panels. Leg-T and Fou-T have a flat weight over four seconds, Leg-S and Lag-T an "
        "exponential one; beside each weight, the first four basis functions."
    ),
    height=6.6,
    table=table,
)
