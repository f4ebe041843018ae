"""Pictures of alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hippozoo.ensemble.alarm import Alarm

if TYPE_CHECKING:
    from hippozoo.plotting import Figure

__all__ = ["plot_alarm"]


def plot_alarm(alarm: Alarm, figure: Figure | None = None) -> Figure:
    """What came beside what was expected, since when, and how much each reading of the past counted in it.

    Examples
    --------
    >>> from hippozoo.ensemble import ForecastStream, forecaster_for
    >>> stream = ForecastStream(forecaster_for(24.0, dt=1.0), rate=1.0)
    >>> for second in range(400):
    ...     _ = stream.push(float(np.sin(second / 8)), time=float(second))
    >>> figure = plot_alarm(stream.push(6.0, time=400.0).alarm)
    >>> len(figure.axes)
    2
    """
    from hippozoo.plotting import Figure, ink

    figure = Figure(figsize=(7.0, 5.0), layout="constrained") if figure is None else figure
    above, below = figure.subplots(2, 1, height_ratios=[2, 1])
    time, value, expected, lower, upper, _ = alarm.recent.T
    finite = np.isfinite(lower) & np.isfinite(upper)
    above.fill_between(time, lower, upper, where=finite, color="C0", alpha=0.25, linewidth=0, label="band")
    above.plot(time, expected, color="C0", label="expected")
    above.plot(time, value, color=ink(), linewidth=1.2, marker=".", markersize=4, label="seen")
    above.plot(time[-1:], value[-1:], color="C1", marker="^", markersize=9, linestyle="none", label="alarm")
    step = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    above.axvspan(
        alarm.since_time - step / 2, time[-1] + step / 2, color="C1", alpha=0.15, linewidth=0, label="strange"
    )
    if "level" in alarm.kind:
        above.axhline(alarm.usual[0], color="C2", linewidth=1.0, linestyle="--", label="usual level")
    above.set(xlabel="reading" if alarm.time is None else "time", ylabel="value", title=alarm.kind)
    figure.legend(loc="outside lower center", ncols=6, columnspacing=1.0, handlelength=1.4)
    lags = np.arange(1, len(alarm.weights) + 1)
    below.bar(lags, alarm.weights, width=1.0, color="C0")
    below.axhline(0.0, color=ink(), linewidth=0.6)
    first = ", ".join(f"{name} {share:.0%}" for name, share in list(alarm.by.items())[:2])
    below.set(xlabel="readings before", ylabel="weight", title=f"the past that the expectation came from ({first})")
    below.set_xlim(lags[-1] + 0.5, 0.5)  # the newest on the right, as above
    return figure
