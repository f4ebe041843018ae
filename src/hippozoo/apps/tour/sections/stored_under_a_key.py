"""Values stored under addresses, in one function that one can draw."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import torch
from matplotlib.figure import Figure

from hippozoo.apps.tour.section import Section, run_section
from hippozoo.plotting import ink
from hippozoo.zoo.associative.plots import plot_write


def few_coefficients() -> SimpleNamespace:
    """What the same lines leave behind when the bank has 8 coefficients."""
    return run_section(replace(SECTION, code=SECTION.code.replace("Legendre(32)", "Legendre(8)")))


def draw(names: SimpleNamespace, figure: Figure) -> None:
    """The stored function before and after one more write, in a large bank and in a small one."""
    points = torch.linspace(0, 1, 401)[None]
    for ax, run, title in zip(
        figure.subplots(2, sharex=True), (names, few_coefficients()), ("32 coefficients", "8 coefficients"), strict=True
    ):
        before, after = (run.bank.read(state, points)[0, :, 0].numpy() for state in (run.before, run.after))
        rooms = run.rooms[0].numpy()
        plot_write(points[0].numpy(), before, after, float(rooms[3]), rooms, ax=ax)
        ax.plot(rooms, run.degrees[0, :, 0], "o", color=ink(), markersize=5, label="what was stored")
        ax.set(ylabel="°C above 20", ylim=(-4.5, 7), xlabel="", title=title)
        ax.get_legend().remove()
    figure.axes[1].set_xlabel("address")
    figure.axes[0].legend(ncols=3, loc="upper left", fontsize=8)


def measure(names: SimpleNamespace) -> dict[str, float]:
    """How far the other rooms moved when one was written anew, and how far recall was off before it."""

    def moved(run: SimpleNamespace) -> float:
        change = (run.bank.read(run.after, run.rooms) - run.bank.read(run.before, run.rooms))[0, :, 0].abs()
        return float(max(change[[0, 1, 2, 4, 5]]))

    def off(run: SimpleNamespace) -> float:
        return float((run.bank.read(run.before, run.rooms) - run.degrees).abs().max())

    few = few_coefficients()
    written = float(names.bank.read(names.after, names.rooms)[0, 3, 0])
    return {"moved": moved(names), "moved_few": moved(few), "off": off(names), "off_few": off(few), "written": written}


SECTION = Section(
    order=80,
    title="Stored under a key",
    question="What was stored under this key, and does a new value disturb the others?",
    setup="""
import torch
from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import PolynomialBank

rooms = torch.tensor([[0.08, 0.22, 0.36, 0.55, 0.72, 0.91]])  # their keys
degrees = torch.tensor([[1.0, -0.5, 2.0, -1.5, 0.5, 1.5]])[..., None]
""",
    code="""
bank = PolynomialBank(channels=1, family=Legendre(32))
reads, before = bank(rooms, degrees, rooms)  # write all, read all
after = bank.write(before, rooms[:, 3], torch.tensor([[5.0]]))
""",
    draw=draw,
    measure=measure,
    caption=(
        "Six values are stored in one polynomial; then the fourth is written anew. A write is the smallest change that "
        "makes it so, a bump around its address. With 32 coefficients recall was off by at most {off:.2f} degrees, "
        "{written:.2f} is read where 5 was written, and the other rooms move by at most {moved:.2f}. With 8, bumps are "
        "wide: recall was off by up to {off_few:.2f}, and the others move by up to {moved_few:.2f}. At the nodes of "
        "the Gauss rule nothing would move at all; the layer AssociativeMemory learns addresses that keep clear of "
        "each other."
    ),
    alt=(
        "Two panels with the stored function before and after the write at address 0.55. Above, 32 coefficients: a "
        "narrow peak rises at 0.55, and at the other five addresses the curve hardly moves. Below, 8 coefficients: a "
        "wide hill rises there, and the curve moves at its neighbours."
    ),
    height=4.6,
    read_on="associative",
)
