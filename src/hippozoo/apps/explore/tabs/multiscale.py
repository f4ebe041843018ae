"""One slider over horizons."""

from __future__ import annotations

import numpy as np

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.views.multiscale import MultiscaleView


class MultiscaleTab(parts.Tab):
    """One state, asked through any horizon."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.order = parts.choice("Order (numbers per window)", [4, 6, 8, 12, 16, 24, 32], 16)
        self.view = view = MultiscaleView(session.loaded, self.order.value)
        total = len(view.loaded.values)
        self.curves = parts.columns("lag", "true", "remembered")
        self.past = parts.draw_past(view.loaded.values, self.curves, 320)
        self.horizon = parts.slider("Horizon", len(view.horizons) - 1, 40, self._ask)
        self.player = parts.Player(total, total, self.show, [self.curves], self.frame)
        self.order.param.watch(lambda _event: self.load(self.session.loaded), "value_throttled")
        session.listen(self.load)
        self.show(total)
        self.layout = self.arrange(
            "One state serves every horizon: move the slider from the last samples to most of the signal. The "
            "state stays the same, only the question changes.",
            [self.order],
            parts.slider_row(self.horizon),
            self.player.layout,
            self.said,
            self.past,
        )

    def _ask(self) -> None:
        self.player.flush()
        self.show(self.player.now)

    def write_code(self) -> str:
        """Python that gives the same picture."""
        return self.view.code(self.player.now, self.asked)

    @property
    def asked(self) -> float:
        """The horizon of the slider."""
        horizons = self.view.horizons
        return horizons[min(int(self.horizon.value), len(horizons) - 1)]

    def load(self, loaded: Loaded) -> None:
        """Another signal or order."""
        same = loaded is self.view.loaded
        self.view = MultiscaleView(loaded, self.order.value)
        self.horizon.end = len(self.view.horizons) - 1
        if not same:
            parts.set_around(self.past.y_range, loaded.values)
            self.player.reach(len(loaded.values), len(loaded.values))
        self.show(self.player.now)

    def frame(self, now: int) -> list[dict[str, np.ndarray]]:
        """What changes from frame to frame."""
        asked = self.view.ask(now, self.asked)
        return [{"true": asked.true_past, "remembered": asked.remembered}]

    def show(self, now: int) -> None:
        """What the state says through the horizon of the slider."""
        asked, unit, memory = self.view.ask(now, self.asked), self.view.loaded.unit, self.view.memory
        self.past.x_range.update(start=self.asked, end=0)
        self.past.xaxis[0].axis_label.text = parts.with_unit("lag", unit)
        parts.put(self.curves, lag=asked.lags, true=asked.true_past, remembered=asked.remembered)
        self.horizon.title = f"Horizon: the last {self.asked:g} {unit}".strip()
        self.tell(
            f"{memory.size} numbers ({len(memory.windows)} windows of {memory.system.order}) answer for every "
            f"horizon from {memory.shortest:g} to {memory.longest:g} {unit}. Here the rms error is {asked.error:.3g}, "
            f"where the signal varies by {float(self.view.loaded.values.std()):.3g}.",
        )
