"""One slider over horizons."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d, Slider

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs.parts import (
    CodeBox,
    Player,
    Session,
    choice,
    controls,
    picture,
    sentence,
    shown_figures,
    small,
    tell,
    y_range,
)
from hippozoo.apps.explore.views.multiscale import MultiscaleView
from hippozoo.apps.pages import colour

__all__ = ["MultiscaleTab"]


class MultiscaleTab:
    """One state, asked through any horizon.

    Parameters
    ----------
    session
        Of the window it stands in.
    """

    title = "Multiscale"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.order = choice("Order (numbers per window)", [4, 6, 8, 12, 16, 24, 32], 16)
        self.view = view = MultiscaleView(session.loaded, self.order.value)
        self.curves = ColumnDataSource({"lag": [], "true": [], "remembered": []})
        self.past = picture(
            session, "lag", "signal", 320, x_range=Range1d(start=1, end=0), y_range=y_range(view.loaded.values)
        )
        self.past.step(
            "lag", "true", source=self.curves, mode="before", line_color=colour("ink"), line_width=2.5, line_alpha=0.5
        )
        self.past.line("lag", "remembered", source=self.curves, line_color=colour("C0"), line_width=2)
        session.painter.add(self.past)
        total = len(view.loaded.values)
        # Bokeh's own slider, since it moves the picture while it is dragged.
        self.horizon = Slider(title="Horizon", start=0, end=len(view.horizons) - 1, value=40, step=1, show_value=False)
        self.horizon.sizing_mode = "stretch_width"
        self.horizon.on_change("value", lambda _attribute, _old, _new: self._ask())
        self.player = Player("Samples seen", total, total, self.show, [self.curves], self.frame)
        self.said = sentence()
        self.code = CodeBox(lambda: self.view.code(self.player.now, self.asked))
        self.order.param.watch(lambda _event: self.load(self.session.loaded), "value_throttled")
        session.listen(self.load)
        self.show(total)
        self.layout = pn.Column(
            sentence(
                "One state serves every horizon: move the slider from the last samples to most of the signal. The "
                "state stays the same, only the question changes."
            ),
            controls(self.order),
            pn.pane.Bokeh(self.horizon, sizing_mode="stretch_width", height=50),
            self.player.layout,
            self.said,
            *shown_figures(self.past),
            self.code.layout,
            sizing_mode="stretch_width",
        )

    def _ask(self) -> None:
        self.player.flush()
        self.show(self.player.now)

    @property
    def asked(self) -> float:
        """The horizon of the slider."""
        horizons = self.view.horizons
        return horizons[min(int(self.horizon.value), len(horizons) - 1)]  # pyright: ignore[reportArgumentType]

    def load(self, loaded: Loaded) -> None:
        """Another signal or order."""
        same = loaded is self.view.loaded
        self.view = MultiscaleView(loaded, self.order.value)
        self.horizon.end = len(self.view.horizons) - 1
        if not same:
            around = y_range(loaded.values)
            self.past.y_range.update(start=around.start, end=around.end)
            self.player.reach(len(loaded.values), len(loaded.values))
        self.show(self.player.now)

    def frame(self, now: int) -> list[dict[str, np.ndarray]]:
        """What changes from frame to frame."""
        asked = self.view.ask(now, self.asked)
        return [{"true": asked.true_past, "remembered": asked.remembered}]

    def show(self, now: int) -> None:
        """What the state says through the horizon of the slider."""
        asked, unit = self.view.ask(now, self.asked), self.view.loaded.unit
        self.past.x_range.update(start=self.asked, end=0)
        self.past.xaxis[0].axis_label.text = f"lag ({unit})" if unit else "lag"
        self.curves.data = {
            "lag": small(asked.lags),
            "true": small(asked.true_past),
            "remembered": small(asked.remembered),
        }
        self.horizon.title = f"Horizon: the last {self.asked:g} {unit}".strip()
        memory = self.view.memory
        tell(
            self.said,
            f"{memory.size} numbers ({len(memory.windows)} windows of {memory.system.order}) answer for every "
            f"horizon from {memory.shortest:g} to {memory.longest:g} {unit}. Here the rms error is {asked.error:.3g}, "
            f"where the signal varies by {float(self.view.loaded.values.std()):.3g}.",
        )
        self.code.refresh()
