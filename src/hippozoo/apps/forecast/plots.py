"""Pictures of a forecast with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hippozoo.apps.forecast.run import ForecastRun

if TYPE_CHECKING:
    from hippozoo.plotting import Figure

__all__ = ["plot_forecast"]

# Columns that are drawn where nobody names some, and horizons of the past.
_COLUMNS, _HORIZONS = 6, 3
_LEAST_PAST = 12


def plot_forecast(run: ForecastRun, columns: Sequence[str] = (), figure: Figure | None = None) -> Figure:
    """Past, forecast and bands, one axes for each column; the first six where none is named.

    >>> from hippozoo.apps.forecast import forecast
    >>> len(plot_forecast(forecast(np.sin(np.arange(200) / 3), horizon=6).run).axes)
    1
    """
    from hippozoo.plotting import Figure, ink

    names = tuple(columns) or run.columns[:_COLUMNS]
    figure = Figure(figsize=(7.0, 1.0 + 2.2 * len(names)), layout="constrained") if figure is None else figure
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    past = min(len(run.recent), max(_HORIZONS * run.horizon, _LEAST_PAST))
    times = np.arange(1 - past, run.horizon + 1) if run.positions is None else run.positions[len(run.recent) - past :]
    if run.learner.grid.dates:
        times = np.rint(times * 1e6).astype("int64").astype("datetime64[us]")
    mean = run.forecast.samples()
    bands = [run.forecast.band(share) for share in run.coverages]
    for one, name in zip(axes, names, strict=True):
        c = run.columns.index(name)
        for number, (share, (lower, upper)) in enumerate(zip(run.coverages, bands, strict=True)):
            one.fill_between(
                times[past:], lower[c], upper[c], color="C0", alpha=0.35 if not number else 0.18, linewidth=0,
                label=f"{share * 100:g} % band",
            )  # fmt: skip
        one.plot(times[:past], run.recent[len(run.recent) - past :, c], color=ink(), linewidth=1.2, label="past")
        one.plot(times[past:], mean[c], color="C0", marker="." if run.horizon == 1 else None, label="forecast")
        one.set_ylabel(name)
    axes[-1].set_xlabel("steps from the end" if run.positions is None else (run.time or "time"))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    if run.learner.grid.dates:
        for label in axes[-1].get_xticklabels():
            label.set_rotation(20)
    return figure
