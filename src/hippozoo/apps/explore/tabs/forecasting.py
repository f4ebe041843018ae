"""A forecast with its band, and what it reads of the past."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from bokeh.models import Span
from jaxtyping import Float

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.forecast.grid import usual_periods
from hippozoo.apps.pages import colour
from hippozoo.ensemble import find_seasons, forecaster_for
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster, explain

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


class ForecastView:
    """A forecaster learns a signal in one pass; its forecasts can be looked at wherever the stream stood.

    The forecast is that of ``hippozoo forecast``. What of the past it is about is shown by the paper's member, a single
    map of the given rank, from so many coefficients of the past (`order`).
    """

    def __init__(self, loaded: Loaded, horizon: int = 24, rank: int = 6, order: int = 48) -> None:
        self.loaded, self.horizon, values, dt = loaded, horizon, loaded.values, loaded.dt
        seconds = _SECONDS.get(loaded.unit)
        if seconds is None:
            self.seasons = find_seasons(values)
        else:
            self.seasons = find_seasons(values, usual=usual_periods(dt * seconds))
        self.usual = forecaster_for(float(horizon), season=self.seasons or None)  # counts in steps
        # A window of seven horizons, within a quarter of the signal.
        window = max(8, min(7 * horizon, len(values) // 4))
        history = LegT(min(order, window), window * dt)
        self.forecaster = Forecaster(history, horizon=horizon * dt, dt=dt, rank=min(rank, history.order), ridge=1e-4)
        # The moments that can be looked at: once there is something to learn from, and to the end.
        first = min(len(values), max(3 * horizon + 2, len(values) // 10))
        self.moments = tuple(dict.fromkeys(np.linspace(first, len(values), MOMENTS).astype(int).tolist()))
        self._states, seen = {}, 0
        state, known = self.forecaster.initial_state(), self.usual.initial_state()
        for now in self.moments:
            state = self.forecaster.learn(state, values[seen:now])
            known = self.usual.learn(known, values[seen:now])
            self._states[now], seen = (state, known), now

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


class ForecastTab(parts.Tab):
    """A forecaster that has learnt up to the moment of a slider."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.horizon = parts.choice("Horizon (steps)", [4, 8, 12, 24, 48, 96, 168], 48)
        self.rank = parts.choice("Rank: through how many numbers the past speaks", [1, 2, 3, 4, 6, 8, 12, 16], 6)
        self.future = parts.columns("time", "mean", "lower", "upper", "came")
        self.history = parts.columns("time", "past", "predictive")
        self.picture = figure = parts.picture("time from now", "signal", 380)
        figure.varea("time", "lower", "upper", source=self.future, fill_color=colour("C0"), fill_alpha=0.25)
        parts.draw_line(figure, self.history, "time", "past", line_alpha=0.45)
        parts.draw_line(figure, self.future, "time", "came", line_alpha=0.45)
        parts.draw_line(figure, self.future, "time", "mean", "C0", line_width=2.5)
        parts.draw_line(figure, self.history, "time", "predictive", "C1")
        figure.add_layout(Span(location=0, dimension="height", line_dash="dotted", line_color="#888888"))
        self.moment = parts.slider("Samples learnt from", 1, 0, self.show)
        parts.when_let_go(lambda: self.load(self.session.loaded), self.horizon, self.rank)
        session.listen(self.load)
        self.load(session.loaded, 0.75)
        self.layout = self.arrange(
            "Blue is the forecast that hippozoo forecast makes, with a band that should hold "
            f"{COVERAGE:.0%} of the values; thick is what was and what came. Orange is the predictive memory of "
            "the paper's member: the part of the past that a single map of this rank uses.",
            [self.horizon, self.rank],
            parts.slider_row(self.moment),
            self.said,
            figure,
        )

    @property
    def now(self) -> int:
        """The moment of the slider."""
        return parts.chosen(self.view.moments, self.moment)

    def write_code(self) -> str:
        """Python that gives the same pictures."""
        return self.view.code(self.now)

    def load(self, loaded: Loaded, place: float | None = None) -> None:
        """Another signal, horizon or rank."""
        place = int(self.moment.value) / max(1, int(self.moment.end)) if place is None else place
        fits = max(2, len(loaded.values) // 8)
        self.view = ForecastView(loaded, min(self.horizon.value, fits), self.rank.value)
        end = len(self.view.moments) - 1
        self.moment.update(end=end, value=round(place * end))
        self.show()

    def show(self) -> None:
        """The forecast at the moment of the slider."""
        seen, unit = self.view.at(self.now), self.view.loaded.unit
        self.moment.title = f"Samples learnt from: {seen.now:,}"
        self.picture.xaxis[0].axis_label.text = parts.with_unit("time from now", unit or "steps")
        parts.put(self.history, time=-seen.lags, past=seen.past, predictive=seen.predictive)
        parts.put(self.future, time=seen.leads, mean=seen.mean, lower=seen.lower, upper=seen.upper, came=seen.came)
        known = np.isfinite(seen.came)
        text = "The signal ends here, so nothing has come yet."
        if known.any():
            error = float(np.abs(seen.mean - seen.came)[known].mean())
            held = float(((seen.lower <= seen.came) & (seen.came <= seen.upper))[known].mean())
            repeated = float(np.abs(seen.past[0] - seen.came)[known].mean())
            text = (
                f"Here the mean absolute error is {error:.3g}; repeating the last value would give {repeated:.3g}. "
                f"The band holds {held:.0%} of the {known.sum()} values that came."
            )
        self.tell(text)
