"""The figures of the multiscale study: errors by horizon, reconstructions, spectra of timescales, expected errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hippozoo_studies import (
    Result,
    drawing,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def arcsine_law(place: np.ndarray) -> np.ndarray:
    """The share that lies below a place between 0 and 1."""
    return np.arcsin(2 * place - 1) / np.pi + 0.5


#: How the curves of memories that are not plain look: colour, dashes, width.
LOOKS = {
    "basic": ("C4", "-", 1.4),
    "jeffreys": ("C3", "-", 1.4),
    "log_wide": ("C1", ":", 1.4),
    "log": ("C1", "-", 2.4),
    "bank": ("C2", "--", 1.4),
}


def draw_all_errors(result: Result, names: tuple[str, ...], folder: Path, file: str) -> None:
    """Error against horizon of some memories beside the plain ones, in both conventions of time."""
    with drawing(folder, file, (11, 4.6)) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        titles = {
            "paper_time": "the paper's time: samples at the left edge of their cells",
            "cell_time": "cell centres",
        }
        for ax, (convention, title) in zip(axes, titles.items(), strict=True):
            draw_errors(ax, result.metrics["mse"][convention], names)
            ax.set_title(title)
        axes[0].set_ylabel("mean squared error (± SEM)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)


def draw_errors(ax: Axes, curves: dict[str, Any], names: tuple[str, ...]) -> None:
    """One curve and SEM band per system; plain ones in blues, light to dark."""
    import matplotlib as mpl

    plain = [name for name in curves if name.startswith("plain_") and name != "plain_of_horizon"]
    blues = mpl.colormaps["Blues"](np.linspace(0.35, 0.95, len(plain)))
    looks: dict[str, Any] = {name: (blue, "-", 1.4) for name, blue in zip(plain, blues, strict=True)}
    for name, (colour, dashes, width) in (looks | {name: LOOKS[name] for name in names}).items():
        horizons = list(curves[name])
        mean = np.array([one["mean"] for one in curves[name].values()])
        sem = np.array([one["sem"] or 0.0 for one in curves[name].values()])
        ax.plot(horizons, mean, dashes, color=colour, linewidth=width, label=_words(name))
        ax.fill_between(horizons, mean - sem, mean + sem, color=colour, alpha=0.2, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="horizon (samples)")


def _words(name: str) -> str:
    """A memory as a reader knows it.

    Examples
    --------
    >>> _words("plain_1000"), _words("log_160")
    ('plain, 1,000 samples', 'log-timescale, 160 scales')
    """
    kind, _, number = name.partition("_")
    if number.isdigit():
        return f"plain, {int(number):,} samples" if kind == "plain" else f"log-timescale, {number} scales"
    known = {"jeffreys": "Jeffreys", "log": "log-timescale", "log_wide": "log-timescale, wide", "bank": "bank"}
    return known.get(name, name)


def draw_examples(figure: Any, result: Result) -> None:
    """The first trajectory: each plain system (row) at its own window and at the others, beside log-timescale."""
    import matplotlib as mpl

    from hippozoo.plotting import ink

    asked = list(result.arrays["past"])
    plain = [name for name in result.arrays["remembered"][asked[0]] if name != "log"]
    blues = mpl.colormaps["Blues"](np.linspace(0.45, 0.95, len(plain)))
    axes = figure.subplots(len(plain), len(asked), sharex="col", sharey="col", squeeze=False)
    for row, (name, blue) in enumerate(zip(plain, blues, strict=True)):
        for ax, horizon in zip(axes[row], asked, strict=True):
            past, remembered = result.arrays["past"][horizon], result.arrays["remembered"][horizon]
            lags = np.linspace(0.0, horizon, past.size)
            ax.plot(lags, past, color=ink(), linewidth=0.6, alpha=0.55, label="true past")
            ax.plot(lags, remembered[name], color=blue, linewidth=2.2, label="plain system")
            ax.plot(lags, remembered["log"], "--", color="C1", linewidth=1.4, label="log-timescale")
            ax.set_xlim(horizon, 0)
            if name == f"plain_{horizon}":
                ax.patch.set(facecolor="C0", alpha=0.08)
                ax.annotate("its own window", (0.97, 0.03), xycoords="axes fraction", ha="right", fontsize=8)
        # Two lines: the rows are not as high as one would be long.
        axes[row, 0].set_ylabel(f"{_words(name)}\nsignal", fontsize=8)
    for ax, horizon in zip(axes[0], asked, strict=True):
        ax.set_title(f"the last {horizon:,} samples")
    for ax in axes[-1]:
        ax.set_xlabel("lag (samples)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def draw_spectra(ax: Axes, memories: dict[str, Any]) -> None:
    """Cumulative: the three constructions and the bank, the arcsine law and the log-uniform line."""
    from hippozoo.plotting import ink
    from hippozoo.zoo.multiscale.plots import plot_windows

    log = memories["log"]
    place = np.linspace(0, 1, 201)
    timescales = log.shortest * (log.longest / log.shortest) ** place
    ax.plot(timescales, arcsine_law(place), color=ink(), linewidth=1.0, label="arcsine law")
    ax.plot(timescales, place, ":", color=ink(), linewidth=1.2, label="log-uniform")
    for name, colour in (("basic", "C4"), ("jeffreys", "C3"), ("log", "C1"), ("bank", "C2")):
        plot_windows(memories[name], ax=ax, label=_words(name))
        ax.lines[-1].set_color(colour)
    ax.set(xlabel="timescale (samples)", ylim=(0, 1.02))
    ax.set_xlim(log.shortest, 3 * max(memories["basic"].windows))
    ax.legend()


def draw_coverages(ax: Axes, result: Result) -> None:
    """Expected error above that of the plain memory of each horizon, without any simulation."""
    from hippozoo.zoo.multiscale.plots import plot_coverage

    numbers = result.metrics["numbers_stored"]
    for name, coverage in result.arrays["coverages"].items():
        if name.startswith(("log", "bank")):
            label = f"{_words(name)}: {numbers[name]:,} numbers"
            plot_coverage(coverage, label=label, ax=ax)
    ax.set(title="expected error, over that of a plain memory of the horizon", xlabel="horizon (samples)")
    ax.legend()
