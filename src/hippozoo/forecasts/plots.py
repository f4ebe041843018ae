"""A picture of a forecast; arrays in, axes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.forecast import Forecast

if TYPE_CHECKING:
    from hippozoo.plotting import Axes

__all__ = ["plot_forecast"]


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
