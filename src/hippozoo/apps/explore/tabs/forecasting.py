"""A forecast with its band, and what it reads of the past."""

from __future__ import annotations

import numpy as np
from bokeh.models import Span

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.views.forecasting import COVERAGE, ForecastView
from hippozoo.apps.pages import colour


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
        for widget in (self.horizon, self.rank):
            widget.param.watch(lambda _event: self.load(self.session.loaded), "value_throttled")
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
        moments = self.view.moments
        return moments[min(int(self.moment.value), len(moments) - 1)]

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
