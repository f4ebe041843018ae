"""Pictures of forecasts and of the past they use; arrays in, axes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from hippozoo.zoo.forecasting.alarm import Alarm
from hippozoo.zoo.forecasting.explanation import Explanation
from hippozoo.zoo.forecasting.forecast import Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "plot_alarm",
    "plot_eigenfunctions",
    "plot_forecast",
    "plot_influence",
    "plot_patterns",
    "plot_predictive_memory",
    "plot_schematic",
]


def plot_forecast(
    forecast: Forecast,
    past: Float[np.ndarray, " time"] | None = None,
    truth: Float[np.ndarray, " count"] | None = None,
    coverages: tuple[float, ...] = (0.8, 0.95),
    label: str = "forecast",
    color: str = "C0",
    ax: Axes | None = None,
) -> Axes:
    """The forecast as a line with its bands, the past before it and the truth beside it; the present is at 0.

    Held samples are drawn as steps: the k-th sample to come from k - 1 to k.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> ax = plot_forecast(forecaster.forecast(state), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'time from the present'
    """
    from hippozoo.plotting import axes_or_new, ink

    ax = axes_or_new(ax)
    leads = np.linspace(0.0, forecast.horizon, 400)
    for place, coverage in enumerate(sorted(coverages, reverse=True)):
        lower, upper = forecast.band(leads, coverage)
        alpha = min(1.0, 0.14 * (place + 1))  # the narrower the darker, in the legend too
        ax.fill_between(leads, lower, upper, color=color, alpha=alpha, linewidth=0, label=f"{coverage:.0%} band")
    ax.plot(leads, forecast.mean(leads), color=color, label=label)
    for values, start, name in ((past, -1, "truth"), (truth, 1, None)):
        if values is not None:
            edges = np.arange(len(values) + 1) * forecast.dt
            ax.stairs(values, edges if start > 0 else edges - edges[-1], baseline=None, color=ink(), label=name)
    ax.axvline(0.0, color=ink(), linewidth=0.6)
    ax.set(xlabel="time from the present", ylabel="signal")
    return ax


def plot_predictive_memory(
    explanation: Explanation,
    lags: Float[np.ndarray, " lags"],
    label: str = "predictive memory",
    color: str = "C0",
    whole: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """What the forecast keeps of the past, and the whole of System 3's memory where `whole` asks for it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> lags = np.linspace(0.0, 16.0, 50)
    >>> ax = plot_predictive_memory(explain(forecaster, state), lags, ax=Figure().subplots())
    >>> len(ax.lines) >= 1
    True
    """
    from hippozoo.plotting import axes_or_new

    ax = axes_or_new(ax)
    if whole:
        ax.plot(-lags, explanation.memory(lags), color="C3", linewidth=1.0, label="all that System 3 holds")
    ax.plot(-lags, explanation.predictive_memory(lags), color=color, label=label)
    ax.set(xlabel="time from the present", ylabel="signal")
    return ax


def plot_patterns(
    explanation: Explanation, lags: Float[np.ndarray, " lags"], count: int = 3, ax: Axes | None = None
) -> Axes:
    """The leading parts of the past that the forecast looks for; these do not depend on the ridge.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> lags = np.linspace(0.0, 16.0, 50)
    >>> ax = plot_patterns(explain(forecaster, state), lags, 2, ax=Figure().subplots())
    >>> len(ax.lines) >= 2
    True
    """
    from hippozoo.plotting import axes_or_new

    ax = axes_or_new(ax)
    for number, pattern in enumerate(explanation.patterns(lags)[:count]):
        ax.plot(lags, pattern, color=f"C{number}", label=f"pattern {number + 1}")
    ax.set(xlabel="lag", ylabel="pattern")
    return ax


def plot_eigenfunctions(
    explanation: Explanation, lags: Float[np.ndarray, " lags"], count: int = 3, ax: Axes | None = None
) -> Axes:
    """The leading eigenfunctions of the history metric Q, with the ridge that they depend on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> lags = np.linspace(0.0, 16.0, 50)
    >>> ax = plot_eigenfunctions(explain(forecaster, state), lags, 2, ax=Figure().subplots())
    >>> len(ax.lines) >= 2
    True
    """
    from hippozoo.plotting import axes_or_new

    ax = axes_or_new(ax)
    values, functions = explanation.eigenfunctions(lags, count)
    for number, (value, function) in enumerate(zip(values, functions, strict=True)):
        ax.plot(lags, function, color=f"C{number}", label=f"eigenfunction {number + 1}, eigenvalue {value:.2g}")
    ax.set(xlabel="lag", ylabel="eigenfunction of Q", title=f"ridge {explanation.candidate.ridge:g}")
    return ax


def plot_influence(
    explanation: Explanation,
    leads: Float[np.ndarray, " leads"],
    count: int,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """How much each of the last `count` samples moves the forecast at each lead.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> ax = plot_influence(explain(forecaster, state), np.array([0.5, 3.5]), 16, ax=Figure().subplots())
    >>> len(ax.lines) + len(ax.patches) > 0
    True
    """
    from hippozoo.plotting import axes_or_new

    ax = axes_or_new(ax)
    dt = explanation.forecaster.dt
    for number, lead in enumerate(leads):
        taps = explanation.influence(float(lead), count)
        ax.stairs(taps, np.arange(count + 1) * dt, baseline=None, color=f"C{number}", label=f"lead {lead:g}{unit}")
    ax.axhline(0.0, linewidth=0.6, color="0.5")
    ax.set(xlabel=f"lag{f' ({unit.strip()})' if unit else ''}", ylabel="weight in the forecast")
    return ax


def plot_schematic(horizon: float, window: float, ax: Axes | None = None) -> Axes:
    """Which stretch of time each of the three systems holds, and what is learnt from what.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_schematic(horizon=4.0, window=16.0, ax=Figure().subplots())
    >>> len(ax.texts) > 0
    True
    """
    from hippozoo.plotting import axes_or_new, ink

    ax = axes_or_new(ax)
    rows = (
        ("System 2: the past before it", -horizon - window, window, "C1"),
        ("System 1: the recent past", -horizon, horizon, "C0"),
        ("System 3: the past up to now", -window, window, "C1"),
        ("forecast", 0.0, horizon, "C0"),
    )
    for number, (name, start, length, color) in enumerate(rows):
        height = 3.0 - number - (number > 1) * 0.4
        ax.barh(height, length, left=start, height=0.55, color=color, alpha=0.35 if number < 3 else 0.7)
        if length > 0.6 * window:
            ax.text(start + length / 2, height, name, ha="center", va="center", fontsize=8)
        else:  # too long for its bar: the past's name stands before it, the future's after it
            before = start < 0
            at = start - 0.8 if before else start + length + 0.8
            ax.text(at, height, name, ha="right" if before else "left", va="center", fontsize=8)
    for low, high, text in ((2.0, 3.0, "learn T"), (-0.4, 0.6, "apply T")):
        at = -horizon if high == 3.0 else 0.0
        ax.annotate("", (at + 1, low + 0.3), (at - 1, high - 0.3), arrowprops={"arrowstyle": "->", "color": ink()})
        ax.text(at - 2, (low + high) / 2, text, ha="right", va="center", fontsize=8)
    ax.axvline(0.0, color=ink(), linewidth=0.8)
    ax.set(xlabel="time from the present", yticks=[], ylim=(-0.9, 3.5), xlim=(None, max(horizon, 0.3 * window)))
    ax.spines["left"].set_visible(False)
    return ax


def plot_alarm(alarm: Alarm, figure: Figure | None = None) -> Figure:
    """What came beside what was expected, since when, and how much each reading of the past counted in it.

    Examples
    --------
    >>> from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
    >>> stream = ForecastStream(forecaster_for(24.0, dt=1.0), rate=1.0)
    >>> for second in range(400):
    ...     _ = stream.push(float(np.sin(second / 8)), time=float(second))
    >>> figure = plot_alarm(stream.push(6.0, time=400.0).alarm)
    >>> len(figure.axes)
    2
    """
    from matplotlib.figure import Figure

    from hippozoo.plotting import ink

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
