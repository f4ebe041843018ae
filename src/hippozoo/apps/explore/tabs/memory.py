"""The first tab: a memory runs over a signal."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import panel as pn
from bokeh.models import Range1d
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.pages import colour
from hippozoo.memory import Memory
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

SYSTEMS: dict[str, type[HippoSystem]] = {"Leg-T": LegT, "Leg-S": LegS, "Lag-T": LagT, "Fou-T": FouT}
ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
LAGS = 401
# Timescales of a fading memory that are drawn: 99.3 % of an exponential weight.
FADING_SPAN = 5.0


def timescales(loaded: Loaded) -> tuple[float, ...]:
    """Timescales worth trying on a signal: from four samples to half of its length, rounded.

    Examples
    --------
    >>> from hippozoo.apps.explore import built_in
    >>> timescales(built_in("random walk"))[:4], timescales(built_in("random walk"))[-1]
    ((4.0, 4.87, 5.94, 7.24), 1500.0)
    """
    found = np.geomspace(4 * loaded.dt, loaded.duration / 2, 31)
    return tuple(dict.fromkeys(float(f"{one:.3g}") for one in found))


def true_past(signal: Float[np.ndarray, " time"], now: int, lags: np.ndarray, dt: float) -> Float[np.ndarray, " lags"]:
    """The samples at these lags before `now` (samples seen so far), each held until the next; NaN before the first."""
    # A lag that ends a cell, up to rounding, belongs to the next one.
    ago = np.floor(lags / dt * (1 + 1e-12)).astype(int)
    return np.where(ago < now, signal[np.maximum(now - 1 - ago, 0)], np.nan)


def rms(errors: np.ndarray) -> float:
    """Root of the mean square of those that are numbers; NaN if none is."""
    known = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(known**2))) if known.size else math.nan


class Frame(NamedTuple):
    """One moment: the true past, what is remembered of it, the coefficients, and the error between the first two."""

    true_past: Float[np.ndarray, " lags"]
    remembered: Float[np.ndarray, " lags"]
    coefficients: Float[np.ndarray, " order"]
    error: float


class MemoryView:
    """A memory runs over a signal; `frame` gives any moment in a fraction of a millisecond, from tables made once."""

    def __init__(self, loaded: Loaded, system: str = "Leg-T", order: int = 64, timescale: float = 1.0) -> None:
        if system not in SYSTEMS:
            raise ValueError(f"there is no system {shorten(system)}; pass one of {', '.join(SYSTEMS)}.")
        # A Fourier memory takes the next odd order.
        made = SYSTEMS[system](order | 1 if system == "Fou-T" else order, timescale)
        self.loaded, self.memory = loaded, Memory(made, dt=loaded.dt)
        # A little beyond a window, where nothing is remembered.
        self.span = 1.25 * made.window if math.isfinite(made.window) else FADING_SPAN * timescale
        self.lags = np.linspace(0.0, self.span, LAGS)
        self.weight = made.weight(self.lags)
        self.inside = int((self.lags <= made.window).sum())
        self._basis = made.basis(self.lags[: self.inside])
        self._states = self.memory.scan(loaded.values)
        # The largest coefficient, but for the first one where it would dwarf the others; for the axis.
        sizes = np.abs(self._states).max(axis=0)
        self.largest = 1.1 * float(max(sizes[1:].max() if len(sizes) > 1 else sizes[0], 1e-12))

    def frame(self, now: int) -> Frame:
        """What is there to see once `now` samples have been taken in, 1 at least."""
        state = self._states[now - 1]
        truth = true_past(self.loaded.values, now, self.lags, self.loaded.dt)
        remembered = np.full(LAGS, np.nan)
        remembered[: self.inside] = self._basis @ state
        # Before the first sample there was nothing; that is no error of the memory.
        return Frame(truth, remembered, state, rms(remembered - truth))

    def code(self, now: int) -> str:
        """Python that gives the same pictures."""
        system = self.memory.system
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import {type(system).__name__}, Memory
from hippozoo.apps.explore import built_in, from_file
from hippozoo.memory.plots import plot_memory, plot_weight

{self.loaded.code}
memory = Memory({system!r}, dt={self.loaded.dt!r})
state = memory.final(loaded.values[:{now}])  # the coefficients after {now} samples
lags = np.linspace(0.0, {self.span!r}, {LAGS})
remembered = memory.reconstruct(state, lags[lags <= memory.system.window])
weight = memory.system.weight(lags)

figure, (above, middle, below) = plt.subplots(3, figsize=(8, 8), layout="constrained")
plot_memory(memory, state, loaded.values[:{now}], lags=lags, unit={self.loaded.unit!r}, ax=above)
plot_weight(memory, lags=lags, unit={self.loaded.unit!r}, ax=middle)
below.bar(np.arange(len(state)), state)
figure.savefig("memory.png")
"""


class MemoryTab(parts.Tab):
    """Reconstruction against the true past, weight over lags, coefficients; scrub or play."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        values = session.loaded.values
        self.system = pn.widgets.RadioButtonGroup(
            options=list(SYSTEMS), value="Leg-T", label="System", margin=(18, 8, 5, 8), stylesheets=parts.OUTLINED
        )
        self.order = parts.choice("Order (numbers kept)", list(ORDERS), 64)
        self.timescale = parts.choice("Timescale", *self._timescale_options(session.loaded))

        self.curves = parts.columns("lag", "true", "remembered")
        self.weights = parts.columns("lag", "weight")
        self.numbers = parts.columns("n", "value")
        self.past = parts.draw_past(values, self.curves, 300)
        self.weight = parts.picture("lag; the present is on the right", "weight", 150, x_range=self.past.x_range)
        parts.draw_area(self.weight, self.weights, "lag", "weight", "C2")
        self.weight.y_range.start = 0
        self.bars = parts.picture("coefficient", "value", 190, y_range=Range1d(start=-1, end=1))
        self.bars.vbar("n", 0.8, "value", source=self.numbers, fill_color=colour("C1"), line_color=None)

        sources = [self.curves, self.numbers]
        self.player = parts.Player(len(values), len(values) // 2, self.show, sources, self.frame)
        self.system.param.watch(lambda _event: self.rebuild(), "value")
        parts.when_let_go(self.rebuild, self.order, self.timescale)
        session.listen(self.load)
        self.rebuild()
        self.layout = self.arrange(
            "A memory keeps a few numbers. They can be turned back into the past: thick is the true past, blue "
            "what is remembered. The weight says which part of the past the memory cares for.",
            [self.system, self.order, self.timescale],
            self.player.layout,
            self.said,
            self.past,
            self.weight,
            self.bars,
        )

    @staticmethod
    def _timescale_options(loaded: Loaded) -> tuple[dict[str, float], float]:
        found = timescales(loaded)
        # A tenth of the signal shows both what is kept and what is lost.
        wanted = min(found, key=lambda one: abs(math.log(one / (0.12 * loaded.duration))))
        return parts.in_unit(found, loaded.unit), wanted

    def write_code(self) -> str:
        """Python that gives the same pictures."""
        return self.view.code(self.player.now)

    def load(self, loaded: Loaded) -> None:
        """Another signal."""
        options, value = self._timescale_options(loaded)
        parts.set_around(self.past.y_range, loaded.values)
        self.view = MemoryView(loaded, self.system.value, self.order.value, value)
        self.timescale.param.update(options=options, value=value)
        self.player.reach(len(loaded.values), len(loaded.values) // 2)
        self.rebuild()

    def rebuild(self) -> None:
        """Another system, order or timescale: new tables, then the present frame."""
        loaded = self.session.loaded
        self.view = view = MemoryView(loaded, self.system.value, self.order.value, self.timescale.value)
        self.past.x_range.update(start=view.span, end=0)
        label = parts.with_unit("lag", loaded.unit)
        self.past.xaxis[0].axis_label.text = label
        self.weight.xaxis[0].axis_label.text = f"{label}; the present is on the right"
        parts.put(self.weights, lag=view.lags, weight=view.weight)
        self.weight.y_range.end = 1.15 * float(np.nanmax(view.weight))
        self.bars.y_range.update(start=-view.largest, end=view.largest)
        self.player.flush()
        self.show(self.player.now)

    def frame(self, now: int) -> list[dict[str, np.ndarray]]:
        """What changes from frame to frame: two curves, and the coefficients."""
        frame = self.view.frame(min(now, len(self.session.loaded.values)))
        return [{"true": frame.true_past, "remembered": frame.remembered}, {"value": frame.coefficients}]

    def show(self, now: int) -> None:
        """One frame: two small updates and a sentence."""
        curves, numbers = self.frame(now)
        parts.put(self.numbers, n=np.arange(len(numbers["value"])), **numbers)
        parts.put(self.curves, lag=self.view.lags, **curves)
        view, now = self.view, self.player.now
        kept = view.lags[view.inside - 1]
        self.tell(
            f"After {now:,} samples, {view.memory.system.order} numbers stand for the last {kept:.3g} "
            f"{view.loaded.unit} ({kept / view.loaded.dt:,.0f} samples); rms error {view.frame(now).error:.3g}, where "
            f"the signal varies by {float(view.loaded.values.std()):.3g}.",
        )
