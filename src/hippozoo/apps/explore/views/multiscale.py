"""One state, asked through any horizon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.explore.views.memory import LAGS, rms, true_past
from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleMemory

__all__ = ["Asked", "MultiscaleView"]


class Asked(NamedTuple):
    """The answer for one horizon: lags, the true past, what is remembered, and the rms error."""

    lags: Float[np.ndarray, " lags"]
    true_past: Float[np.ndarray, " lags"]
    remembered: Float[np.ndarray, " lags"]
    error: float


@dataclass(frozen=True, eq=False)
class MultiscaleView:
    """A multiscale memory runs over a signal; any horizon is asked for afterwards.

    Examples
    --------
    >>> from hippozoo.apps.explore import built_in
    >>> view = MultiscaleView(built_in("hourly load"), order=16)
    >>> asked = view.ask(len(view.loaded.values), 48.0)
    >>> float(asked.lags[-1]), bool(asked.error < view.ask(len(view.loaded.values), 480.0).error)
    (48.0, True)
    """

    loaded: Loaded
    order: int = 16

    @cached_property
    def memory(self) -> MultiscaleMemory:
        """The memory: from eight samples to two thirds of the signal."""
        shortest, longest = (float(f"{one:.3g}") for one in (8 * self.loaded.dt, self.loaded.duration / 1.5))
        return MultiscaleMemory(LegT(self.order, shortest), longest, construction="bank", dt=self.loaded.dt)

    @cached_property
    def horizons(self) -> tuple[float, ...]:
        """Horizons for the slider."""
        shortest, longest = self.memory.shortest, self.memory.longest
        inside = (min(max(float(f"{one:.3g}"), shortest), longest) for one in np.geomspace(shortest, longest, 61))
        return tuple(dict.fromkeys(inside))

    @cached_property
    def _states(self) -> np.ndarray:
        return self.memory.scan(self.loaded.values)

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
