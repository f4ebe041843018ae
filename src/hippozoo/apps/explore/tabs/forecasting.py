"""A forecast with its band, and what it reads of the past."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Slider, Span

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs.parts import (
    CodeBox,
    Session,
    choice,
    controls,
    picture,
    sentence,
    shown_figures,
    small,
    tell,
)
from hippozoo.apps.explore.views.forecasting import COVERAGE, ForecastView
from hippozoo.apps.pages import colour

__all__ = ["ForecastTab"]


class ForecastTab:
    """A forecaster that has learnt up to the moment of a slider.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Forecast"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.horizon = choice("Horizon (steps)", [4, 8, 12, 24, 48, 96, 168], 48)
        self.rank = choice("Rank: through how many numbers the past speaks", [1, 2, 3, 4, 6, 8, 12, 16], 6)
        self.view = ForecastView(session.loaded, self.horizon.value, self.rank.value)
        self.future = ColumnDataSource({"time": [], "mean": [], "lower": [], "upper": [], "came": []})
        self.history = ColumnDataSource({"time": [], "past": [], "memory": [], "predictive": []})
        self.picture = figure = picture(session, "time from now", "signal", 380)
        figure.varea("time", "lower", "upper", source=self.future, fill_color=colour("C0"), fill_alpha=0.25)
        figure.line("time", "past", source=self.history, line_color=colour("ink"), line_width=2.5, line_alpha=0.45)
        figure.line("time", "came", source=self.future, line_color=colour("ink"), line_width=2.5, line_alpha=0.45)
        figure.line("time", "mean", source=self.future, line_color=colour("C0"), line_width=2.5)
        figure.line("time", "predictive", source=self.history, line_color=colour("C1"), line_width=2)
        figure.add_layout(Span(location=0, dimension="height", line_dash="dotted", line_color="#888888"))
        session.painter.add(figure)
        self.moment = Slider(title="Samples learnt from", start=0, end=1, value=0, step=1, show_value=False)
        self.moment.sizing_mode = "stretch_width"
        self.moment.on_change("value", lambda _attribute, _old, _new: self.show())
        for widget in (self.horizon, self.rank):
            widget.param.watch(lambda _event: self.load(self.session.loaded), "value_throttled")
        session.listen(self.load)
        self.said = sentence()
        self.code = CodeBox(lambda: self.view.code(self.now))
        self.load(session.loaded, 0.75)
        self.layout = pn.Column(
            sentence(
                "Blue is the forecast that hippozoo forecast makes, with a band that should hold "
                f"{COVERAGE:.0%} of the values; thick is what was and what came. Orange is the predictive memory of "
                "the paper's member: the part of the past that a single map of this rank uses."
            ),
            controls(self.horizon, self.rank),
            pn.pane.Bokeh(self.moment, sizing_mode="stretch_width", height=50),
            self.said,
            *shown_figures(figure),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    @property
    def now(self) -> int:
        """The moment of the slider."""
        moments = self.view.moments
        return moments[min(int(self.moment.value), len(moments) - 1)]  # pyright: ignore[reportArgumentType]

    def load(self, loaded: Loaded, place: float | None = None) -> None:
        """Another signal, horizon or rank."""
        place = int(self.moment.value) / max(1, int(self.moment.end)) if place is None else place  # pyright: ignore
        fits = max(2, len(loaded.values) // 8)
        self.view = ForecastView(loaded, min(self.horizon.value, fits), self.rank.value)
        end = len(self.view.moments) - 1
        self.moment.update(end=end, value=round(place * end))
        self.show()

    def show(self) -> None:
        """The forecast at the moment of the slider."""
        seen, unit = self.view.at(self.now), self.view.loaded.unit
        self.moment.title = f"Samples learnt from: {seen.now:,}"
        self.picture.xaxis[0].axis_label.text = f"time from now ({unit})" if unit else "time from now (steps)"
        self.history.data = {
            "time": small(-seen.lags),
            "past": small(seen.past),
            "memory": small(seen.memory),
            "predictive": small(seen.predictive),
        }
        self.future.data = {
            "time": small(seen.leads),
            "mean": small(seen.mean),
            "lower": small(seen.lower),
            "upper": small(seen.upper),
            "came": small(seen.came),
        }
        known = np.isfinite(seen.came)
        if known.any():
            error = float(np.abs(seen.mean - seen.came)[known].mean())
            held = float(((seen.lower <= seen.came) & (seen.came <= seen.upper))[known].mean())
            repeated = float(np.abs(seen.past[0] - seen.came)[known].mean())
            text = (
                f"Here the mean absolute error is {error:.3g}; repeating the last value would give {repeated:.3g}. "
                f"The band holds {held:.0%} of the {known.sum()} values that came."
            )
        else:
            text = "The signal ends here, so nothing has come yet."
        tell(self.said, text)
        self.code.refresh()
