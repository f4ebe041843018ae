"""Pictures of forecasts and of the past they use; arrays in, axes out."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.plots import plot_forecast
from hippozoo.plotting import Axes, axes_or_new, ink
from hippozoo.zoo.forecasting.explanation import Explanation

__all__ = ["plot_eigenfunctions", "plot_forecast", "plot_patterns", "plot_predictive_memory", "plot_schematic"]


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
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> ax = plot_predictive_memory(explain(forecaster, state), np.arange(17.0))
    >>> len(ax.lines) >= 1
    True
    """
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
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> ax = plot_patterns(explain(forecaster, state), np.arange(17.0), 2)
    >>> len(ax.lines) >= 2
    True
    """
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
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.forecasting import Forecaster, explain
    >>> forecaster = Forecaster(LegT(order=8, timescale=16.0), horizon=4.0, rank=2)
    >>> state = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(300) / 3))
    >>> ax = plot_eigenfunctions(explain(forecaster, state), np.arange(17.0), 2)
    >>> len(ax.lines) >= 2
    True
    """
    ax = axes_or_new(ax)
    values, functions = explanation.eigenfunctions(lags, count)
    for number, (value, function) in enumerate(zip(values, functions, strict=True)):
        ax.plot(lags, function, color=f"C{number}", label=f"eigenfunction {number + 1}, eigenvalue {value:.2g}")
    ax.set(xlabel="lag", ylabel="eigenfunction of Q", title=f"ridge {explanation.candidate.ridge:g}")
    return ax


def plot_schematic(horizon: float, window: float, ax: Axes | None = None) -> Axes:
    """Which stretch of time each of the three systems holds, what flows into it, and what is learnt from what.

    The signal f(t) enters System 1; what leaves it at its far end, u(t), enters System 2. System 3 is a copy of
    System 2 that f(t) enters at once.

    Examples
    --------
    >>> ax = plot_schematic(horizon=4.0, window=16.0)
    >>> len(ax.texts) > 0
    True
    """
    ax = axes_or_new(ax)
    rows = (
        ("System 2: the past before it", -horizon - window, window, "C1"),
        ("System 1: the recent past", -horizon, horizon, "C0"),
        ("System 3: a copy of System 2", -window, window, "C1"),
        ("forecast", 0.0, horizon, "C0"),
    )
    for number, (name, start, length, color) in enumerate(rows):
        height = 3.0 - number - (number > 1) * 0.4
        ax.barh(height, length, left=start, height=0.55, color=color, alpha=0.35 if number < 3 else 0.7)
        if length > 0.6 * window:
            ax.text(start + length / 2, height, name, ha="center", va="center", fontsize=8)
        elif start < 0:  # too long for its bar: the past's name stands below it, the future's after it
            ax.text(0.0, height - 0.33, name, ha="right", va="top", fontsize=8)
        else:
            ax.text(start + length + 0.02 * window, height, name, ha="left", va="center", fontsize=8)
    for low, high, text in ((2.0, 3.0, "learn T"), (-0.4, 0.6, "apply T")):
        at = -horizon if high == 3.0 else 0.0
        start = at - 0.3 * window
        arrow = {"arrowstyle": "->", "color": ink(), "linestyle": "--"}
        ax.annotate("", (at, low), (start, high - 0.28), arrowprops=arrow)
        ax.text(start - 0.02 * window, (low + high) / 2, text, ha="right", va="center", fontsize=8)
    flow = {"arrowstyle": "-|>", "color": ink(), "linewidth": 1.4}
    reach = max(horizon, 0.45 * window)
    step = 0.07 * (window + horizon + reach)
    for height in (2.0, 0.6):
        ax.annotate("", (0.0, height), (step, height), arrowprops=flow)
        ax.text(1.1 * step, height, "f(t)", ha="left", va="center", fontsize=9)
    # What leaves System 1 at its far end.
    ax.annotate("", (-horizon, 2.72), (-horizon, 2.2), arrowprops=flow)
    ax.text(-horizon, 3.32, "u(t) = f(t - H)", ha="right", va="bottom", fontsize=9)
    ax.axvline(0.0, color=ink(), linewidth=0.8, zorder=0)
    ax.set(xlabel="time from the present", yticks=[], ylim=(-0.9, 3.8), xlim=(None, reach))
    ax.spines["left"].set_visible(False)
    return ax
