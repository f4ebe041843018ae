"""One state, asked through any horizon by one slider."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.explore.tabs.memory import LAGS, rms, true_past
from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleMemory


class Asked(NamedTuple):
    """The answer for one horizon: lags, the true past, what is remembered, and the rms error."""

    lags: Float[np.ndarray, " lags"]
    true_past: Float[np.ndarray, " lags"]
    remembered: Float[np.ndarray, " lags"]
    error: float


class MultiscaleView:
    """A multiscale memory, from eight samples to two thirds of the signal; any horizon is asked for afterwards."""

    def __init__(self, loaded: Loaded, order: int = 16) -> None:
        self.loaded = loaded
        shortest, longest = (float(f"{one:.3g}") for one in (8 * loaded.dt, loaded.duration / 1.5))
        self.memory = MultiscaleMemory(LegT(order, shortest), longest, construction="bank", dt=loaded.dt)
        shortest, longest = self.memory.shortest, self.memory.longest
        inside = (min(max(float(f"{one:.3g}"), shortest), longest) for one in np.geomspace(shortest, longest, 61))
        self.horizons = tuple(dict.fromkeys(inside))
        self._states = self.memory.scan(loaded.values)

    def ask(self, now: int, horizon: float) -> Asked:
        """What the state after `now` samples says of the last `horizon`."""
        lags = np.linspace(0.0, horizon, LAGS)
        remembered = self.memory.reconstruct(self._states[now - 1], lags, horizon)
        truth = true_past(self.loaded.values, now, lags, self.loaded.dt)
        return Asked(lags, truth, remembered, rms(remembered - truth))

    def code(self, now: int, horizon: float) -> str:
        """Python that gives the same picture."""
        memory = self.memory
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import LegT, MultiscaleMemory
from hippozoo.apps.explore import built_in, from_file
from hippozoo.memory.plots import plot_memory

{self.loaded.code}
memory = MultiscaleMemory({memory.system!r}, longest={memory.longest!r}, construction="bank", dt={memory.dt!r})
state = memory.final(loaded.values[:{now}])  # {memory.size} numbers for every horizon
lags = np.linspace(0.0, {horizon!r}, {LAGS})
remembered = memory.reconstruct(state, lags, horizon={horizon!r})

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
plain, coefficients = memory.plain({horizon!r}), memory.coefficients(state, {horizon!r})
plot_memory(plain, coefficients, loaded.values[:{now}], lags=lags, unit={self.loaded.unit!r}, ax=ax)
figure.savefig("horizon.png")
"""


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
        parts.when_let_go(lambda: self.load(self.session.loaded), self.order)
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
        return parts.chosen(self.view.horizons, self.horizon)

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
