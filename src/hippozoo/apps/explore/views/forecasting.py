"""A forecast with its band, and the part of the past that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.forecast.grid import usual_periods
from hippozoo.ensemble import find_seasons, forecaster_for
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster, explain

__all__ = ["ForecastView", "Seen"]

MOMENTS = 40
COVERAGE = 0.8
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


class Seen(NamedTuple):
    """A forecast after `now` samples with its band, what came (NaN beyond the end), and what it uses of the past."""

    now: int
    leads: Float[np.ndarray, " leads"]
    mean: Float[np.ndarray, " leads"]
    lower: Float[np.ndarray, " leads"]
    upper: Float[np.ndarray, " leads"]
    came: Float[np.ndarray, " leads"]
    lags: Float[np.ndarray, " lags"]
    past: Float[np.ndarray, " lags"]
    predictive: Float[np.ndarray, " lags"]


@dataclass(frozen=True, eq=False)
class ForecastView:
    """A forecaster learns a signal in one pass; its forecasts can be looked at wherever the stream stood.

    The forecast is that of ``hippozoo forecast``. What of the past it is about is shown by the paper's member, a single
    map of the given rank, from so many coefficients of the past (`order`).

    Examples
    --------
    >>> from hippozoo.apps.explore import built_in
    >>> view = ForecastView(built_in("hourly load"), horizon=24, rank=6)
    >>> seen = view.at(view.moments[-2])
    >>> seen.mean.shape, bool((seen.lower <= seen.upper).all())
    ((24,), True)
    """

    loaded: Loaded
    horizon: int = 24
    rank: int = 6
    order: int = 48

    @cached_property
    def seasons(self) -> tuple[int, ...]:
        """The seasons that ``hippozoo forecast`` finds."""
        seconds = _SECONDS.get(self.loaded.unit)
        if seconds is None:
            return find_seasons(self.loaded.values)
        return find_seasons(self.loaded.values, usual=usual_periods(self.loaded.dt * seconds))

    @cached_property
    def usual(self) -> Any:
        """The forecaster of ``hippozoo forecast``, which counts in steps."""
        return forecaster_for(float(self.horizon), season=self.seasons or None)

    @cached_property
    def forecaster(self) -> Forecaster:
        """The paper's member: a window of seven horizons, within a quarter of the signal."""
        dt = self.loaded.dt
        window = max(8, min(7 * self.horizon, len(self.loaded.values) // 4))
        history = LegT(min(self.order, window), window * dt)
        return Forecaster(history, horizon=self.horizon * dt, dt=dt, rank=min(self.rank, history.order), ridge=1e-4)

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """The moments that can be looked at: once there is something to learn from, and to the end."""
        total = len(self.loaded.values)
        first = min(total, max(3 * self.horizon + 2, total // 10))
        return tuple(dict.fromkeys(np.linspace(first, total, MOMENTS).astype(int).tolist()))

    @cached_property
    def _states(self) -> dict[int, tuple[Any, Any]]:
        forecaster, state, seen, states = self.forecaster, self.forecaster.initial_state(), 0, {}
        known = self.usual.initial_state()
        for now in self.moments:
            state = forecaster.learn(state, self.loaded.values[seen:now])
            known = self.usual.learn(known, self.loaded.values[seen:now])
            states[now] = state, known
            seen = now
        return states

    def at(self, now: int) -> Seen:
        """The forecast made after `now` samples, one of `moments`."""
        forecaster, dt = self.forecaster, self.loaded.dt
        state, known = self._states[now]
        forecast = self.usual.forecast(known)
        leads = forecast.leads()
        lower, upper = forecast.band(leads, COVERAGE)
        came = np.full(len(leads), np.nan)
        rest = self.loaded.values[now : now + len(leads)]
        came[: len(rest)] = rest
        opened = explain(forecaster, state)
        count = min(now, round(opened.system.timescale / dt))
        lags = (np.arange(count) + 0.5) * dt
        past = self.loaded.values[now - count : now][::-1]
        predictive = opened.predictive_memory(lags)
        return Seen(now, leads * dt, forecast.mean(leads), lower, upper, came, lags, past, predictive)

    def code(self, now: int) -> str:
        """Python that gives the same pictures."""
        one = self.forecaster
        count = min(now, round(one.histories[0].timescale / self.loaded.dt))
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import Forecaster, LegT, forecaster_for
from hippozoo.apps.explore import built_in, from_file
from hippozoo.zoo.forecasting import explain
from hippozoo.forecasts.plots import plot_forecast

{self.loaded.code}
signal, dt = loaded.values[:{now}], {self.loaded.dt!r}
usual = forecaster_for({float(self.horizon)!r}, season={self.seasons or None!r})  # as hippozoo forecast does
forecast = usual.forecast(usual.learn(usual.initial_state(), signal))
leads = forecast.leads()  # in steps
mean = forecast.mean(leads)
lower, upper = forecast.band(leads, coverage={COVERAGE})

# What of the past a single map of the paper's member uses.
forecaster = Forecaster({one.history!r}, horizon={one.horizon!r}, dt=dt, rank={one.rank!r}, ridge=1e-4)
state = forecaster.learn(forecaster.initial_state(), signal)
lags = (np.arange({count}) + 0.5) * dt
predictive = explain(forecaster, state).predictive_memory(lags)

figure, (above, below) = plt.subplots(2, figsize=(8, 6), layout="constrained")
plot_forecast(forecast, signal[-{min(now, 4 * self.horizon)}:], ax=above)
below.plot(-lags, signal[::-1][:{count}], -lags, predictive)
figure.savefig("forecast.png")
"""
