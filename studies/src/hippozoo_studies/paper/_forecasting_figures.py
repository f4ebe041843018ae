"""Figure 5 of the paper, with either way to feed System 2; each picture says which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from hippozoo.plotting import ink
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Explanation, Forecaster, explain, plots
from hippozoo_studies import drawing
from hippozoo_studies.paper._history_geometry import DELAYS, LEADING, fine_lags

Ridges = Mapping[float, Explanation]


def draw_schematic(horizons: tuple[int, ...], window: float, folder: Path) -> None:
    """Figure 5A."""
    with drawing(folder, "a-schematic", (10, 2.4)) as figure:
        for ax, horizon in zip(figure.subplots(1, len(horizons), width_ratios=[1, 1.5]), horizons, strict=True):
            plots.plot_schematic(float(horizon), window, ax=ax)
            ax.set(title=f"horizon {horizon}", xlabel="time from the present (samples)")


def draw_predictive_memory(
    forecasters: Mapping[int, Forecaster], delay: str, signal: np.ndarray, process: GaussianMixture, folder: Path
) -> None:
    """Figure 5B: all that System 3 holds, what the forecast keeps of it, the forecast, and the best there could be."""
    with drawing(folder, _name("b-predictive-memory", delay), (12.5, 6.4)) as figure:
        settings = next(iter(forecasters.values())).candidates[0]
        present = len(signal) - max(forecasters)  # so that the truth is known
        rows = figure.subplots(len(forecasters), 3, width_ratios=[3, 1.6, 2], squeeze=False, sharey="col")
        for row, (horizon, forecaster) in zip(rows, forecasters.items(), strict=True):
            learnt = forecaster.learn(forecaster.initial_state(), signal[:present])
            seen = explain(forecaster, learnt)
            window = int(seen.system.timescale)
            lags = fine_lags(seen.system.timescale, 800)
            past, future = signal[present - window : present], signal[present : present + horizon]
            plots.plot_forecast(forecaster.forecast(learnt), past, future, label="forecast", ax=row[0])
            plots.plot_predictive_memory(seen, lags, color="C1", whole=True, ax=row[0])
            mean, variance = process.forecast(signal[:present], np.arange(1, horizon + 1))
            row[0].errorbar(
                np.arange(horizon) + 0.5, mean, 1.2816 * np.sqrt(variance), fmt=".", color="C2", markersize=3,
                linewidth=0.7, label="GP posterior, 80 %",
            )  # fmt: skip
            row[0].set(
                title=f"horizon {horizon}: what is kept, and what is forecast", xlabel="time from the present (samples)"
            )
            _draw_near(row[1], seen, lags, past)
            plots.plot_patterns(seen, lags, ax=row[2])
            row[2].set(title="patterns of the past it looks for", xlabel="lag (samples)")
        _title(figure, delay, f"rank {settings.rank}, ridge {settings.ridge:g}")
        # Colours mean one thing in the left column and another in the right: each has its own legend.
        for ax in (rows[-1][0], rows[-1][2]):
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, fontsize=8)


def _draw_near(ax: Axes, seen: Explanation, lags: np.ndarray, past: np.ndarray, longest: int = 8) -> None:
    """The latest samples, where the two horizons differ."""
    ax.stairs(past[-longest:], np.arange(-longest, 1), baseline=None, color=ink(), linewidth=0.9)
    plots.plot_predictive_memory(seen, lags[lags <= longest], color="C1", whole=True, ax=ax)
    ax.set(xlim=(-longest, 0), title=f"lags 0 to {longest}", xlabel="time from the present (samples)", ylabel="")


def draw_geometry(opened: Mapping[int, Ridges], delay: str, own: float, folder: Path) -> None:
    """Figure 5C: the leading eigenfunctions of Q at each ridge, the experiment's own first, and the patterns."""
    opened = {h: dict(sorted(ridges.items(), key=lambda one: one[0] != own)) for h, ridges in opened.items()}
    shown = list(next(iter(opened.values())))
    with drawing(folder, _name("c-geometry", delay), (2.5 * (len(shown) + 1), 5.2)) as figure:
        grid = figure.subplots(len(opened), len(shown) + 1, sharex=True, squeeze=False)
        for row, (horizon, ridges) in zip(grid, opened.items(), strict=True):
            for ax, (ridge, seen) in zip(row, ridges.items(), strict=False):
                lags = fine_lags(seen.system.timescale, 1600)
                plots.plot_eigenfunctions(seen, lags, count=LEADING, ax=ax)
                ax.set_title(f"H = {horizon}, ridge {ridge:g}")
                ax.set_ylabel("eigenfunction of Q" if ridge == shown[0] else "")
                plots.plot_patterns(seen, lags, ax=row[-1])
            row[-1].set(title=f"H = {horizon}, patterns, all ridges", ylabel="")
            for ax in row:
                ax.axhline(0.0, color=ink(), linewidth=0.5)
                _open_small_lags(ax)
                ax.set_xlabel("lag (samples)" if horizon == list(opened)[-1] else "")
        _title(figure, delay, "lags below 1 linear, then logarithmic")
        lines = grid[0, 0].lines[:LEADING]
        names = [f"eigenfunction or pattern {number}" for number in range(1, LEADING + 1)]
        figure.legend(lines, names, loc="outside lower center", ncols=LEADING)


def draw_history_kernels(opened: Mapping[str, Mapping[int, Ridges]], folder: Path) -> None:
    """Q in time, at the largest ridge and with either delay; colours are logarithmic on both sides of 0."""
    horizons = list(next(iter(opened.values())))
    with drawing(folder, "c-history-kernel", (8, 3.3 * len(opened))) as figure:
        grid = figure.subplots(len(opened), len(horizons), squeeze=False)
        for row, (delay, ridged) in zip(grid, opened.items(), strict=True):
            for ax, (horizon, ridges) in zip(row, ridged.items(), strict=True):
                ridge, seen = list(ridges.items())[-1]
                lags = fine_lags(seen.system.timescale, 320)
                kernel = seen.history_kernel(lags)
                limit = np.abs(kernel).max()
                norm = SymLogNorm(1e-3 * limit, vmin=-limit, vmax=limit)
                picture = ax.pcolormesh(lags, lags, kernel, cmap="RdBu_r", norm=norm, rasterized=True)
                decades = 10.0 ** np.arange(np.ceil(np.log10(limit)) - 2, np.log10(limit))
                figure.colorbar(picture, ax=ax, ticks=[*-decades, 0.0, *decades], label="history kernel")
                ax.set(xlabel="lag (samples)", ylabel="lag (samples)", aspect="equal")
                ax.set_title(f"{DELAYS[delay]}\nH = {horizon}, ridge {ridge:g}")
                ax.grid(visible=False)


def _open_small_lags(ax: Axes) -> None:
    """The present is where functions vary: the first sample gets as much room as two doublings of the lag."""
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.6)
    ax.set_xticks([0, 1, 2, 4, 8, 16, 32], ["0", "1", "2", "4", "8", "16", "32"])
    ax.minorticks_off()


def _title(figure: Figure, delay: str, more: str) -> None:
    figure.suptitle(f"System 2 fed by the {DELAYS[delay]}; {more}", x=0.01, ha="left", fontsize=10.5)


def _name(name: str, delay: str) -> str:
    return name if delay == "exact" else f"{name}-{delay}"
