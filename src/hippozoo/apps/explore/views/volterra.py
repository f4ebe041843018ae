"""A system that is learnt while its data come in: prediction, error and kernel, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem, LegS, LegT
from hippozoo.tasks.wray_green import true_kernel, wray_green
from hippozoo.zoo.volterra import VolterraModel, VolterraState

__all__ = ["TASKS", "VolterraView"]

LENGTH = 40
TOTAL = 40_000

Data = tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]


def _wray_green() -> Data:
    data = wray_green(TOTAL, np.random.default_rng(0))
    return data.signal, data.target


def _product() -> Data:
    signal = np.random.default_rng(0).normal(size=TOTAL)
    return signal, 2 * np.roll(signal, 4) * np.roll(signal, 12)


def _product_kernel() -> Float[np.ndarray, "lags lags"]:
    kernel = np.zeros((LENGTH, LENGTH))
    kernel[4, 12] = kernel[12, 4] = 1.0
    return kernel


# The data, the true kernel of degree 2, the system, and the code of the data.
TASKS: dict[str, tuple[Callable[[], Data], Callable[[], np.ndarray], Callable[[int], HippoSystem], str]] = {
    "Wray-Green: filter, then square": (
        _wray_green,
        lambda: true_kernel()[:LENGTH, :LENGTH],
        lambda order: LegS(order, 37.5),
        f"""from hippozoo.tasks.wray_green import wray_green

data = wray_green({TOTAL}, np.random.default_rng(0))
signal, target = data.signal, data.target""",
    ),
    "product of two past samples": (
        _product,
        _product_kernel,
        lambda order: LegT(order, 16.0),
        f"""
signal = np.random.default_rng(0).normal(size={TOTAL})
target = 2 * np.roll(signal, 4) * np.roll(signal, 12)""",
    ),
}


@dataclass(frozen=True, eq=False)
class VolterraView:
    """How far learning has come.

    `errors` holds, after each chunk, samples seen and the mean squared error in it, in units of the target's variance;
    `shown` holds target and prediction of the last chunk.

    Examples
    --------
    >>> view = VolterraView("product of two past samples", order=16)
    >>> for _ in range(10):
    ...     view = view.learn(1000)
    >>> view.seen, view.errors[-1][1] < view.errors[0][1]
    (10000, True)
    """

    task: str = next(iter(TASKS))
    order: int = 32
    seen: int = 0
    state: VolterraState | None = None
    errors: tuple[tuple[int, float], ...] = ()
    shown: Data = (np.zeros(0), np.zeros(0))

    @cached_property
    def model(self) -> VolterraModel:
        """The model that learns."""
        return VolterraModel(Memory(TASKS[self.task][2](self.order)), degree=2)

    @cached_property
    def data(self) -> Data:
        """Input and target."""
        return TASKS[self.task][0]()

    @property
    def finished(self) -> bool:
        """Whether the stream is at its end."""
        return self.seen >= len(self.data[0])

    def learn(self, count: int) -> VolterraView:
        """The view after so many further samples."""
        signal, target = (one[self.seen : self.seen + count] for one in self.data)
        if not len(signal):
            return self
        predictions, state = self.model.learn(self.state or self.model.initial_state(), signal, target)
        seen = self.seen + len(signal)
        error = float(np.mean((predictions - target) ** 2) / self.data[1].var())
        after = replace(
            self, seen=seen, state=state, errors=(*self.errors, (seen, error)), shown=(target, np.asarray(predictions))
        )
        for name in ("model", "data"):  # tables of the model are made once
            object.__setattr__(after, name, getattr(self, name))
        return after

    @cached_property
    def kernel(self) -> Float[np.ndarray, "lags lags"]:
        """The kernel of degree 2 as it has been learnt; zero at the start."""
        if self.state is None:
            return np.zeros((LENGTH, LENGTH))
        return self.model.kernel(self.state, 2, length=LENGTH)

    @cached_property
    def truth(self) -> Float[np.ndarray, "lags lags"]:
        """The kernel that there is to find."""
        return TASKS[self.task][1]()

    @property
    def distance(self) -> float:
        """How far the learnt kernel is from the true one, in units of its size."""
        return float(np.linalg.norm(self.kernel - self.truth) / np.linalg.norm(self.truth))

    def code(self) -> str:
        """Python that gives the same pictures."""
        system = self.model.memory.system
        return f"""import matplotlib.pyplot as plt
import numpy as np
from hippozoo import {type(system).__name__}, Memory, VolterraModel
{TASKS[self.task][3]}

model = VolterraModel(Memory({system!r}), degree=2)
predictions, state = model.learn(model.initial_state(), signal[:{max(1, self.seen)}], target[:{max(1, self.seen)}])
kernel = model.kernel(state, 2, length={LENGTH})

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
largest = np.abs(kernel).max()
figure.colorbar(ax.imshow(kernel, vmin=-largest, vmax=largest, cmap="RdBu_r", origin="lower"))
figure.savefig("kernel.png")
"""
