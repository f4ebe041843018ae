"""Volterra HiPPO for river: memory and readout in one estimator.

A memory as a transformer in a pipeline would train on the state after a sample and predict from the state before it;
here both see the state after it.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from river import base

from hippozoo._internal.arguments import shorten
from hippozoo.estimators._settings import learner_named, memory_named, one_number
from hippozoo.zoo.volterra import LowRankReadout, PolynomialReadout, VolterraModel, VolterraState, multi_indices

__all__ = ["RiverVolterraRegressor"]


class RiverVolterraRegressor(base.Regressor):
    """Regression on a polynomial of the past of all features, learnt one sample at a time.

    Features may come and go. A new one begins a memory of its own; one that is missing holds its last value. With time
    stamps (`t=`) a sample fills the time since the one before it.

    Parameters
    ----------
    order
        Coefficients kept of the past of each feature.
    timescale
        How far back, in samples or in the unit of `t`.
    system
        Which past: ``"legt"`` (a window), ``"legs"`` or ``"lagt"`` (fading), ``"fout"`` (a window, by harmonics).
    degree
        Highest degree of products.
    rank
        None for all products; else the number of products of linear functionals in each degree from 2 on.
    learner
        ``"nlms"``, ``"sgd"`` or ``"rls"``.
    rate
        Learning rate of nlms and sgd; None for their default.
    ridge
        Ridge of rls.
    dt
        Time between samples without time stamps.
    seed
        Of the low-rank readout's start.

    Examples
    --------
    >>> from hippozoo.estimators import RiverVolterraRegressor
    >>> from river import metrics
    >>> rng = np.random.default_rng(0)
    >>> model = RiverVolterraRegressor(order=4, timescale=4.0)
    >>> metric, before = metrics.R2(), 0.0
    >>> for now in rng.normal(size=3000):
    ...     y = now * before  # the product of this sample and the one before
    ...     metric.update(y, model.predict_one({"u": now}))
    ...     model.learn_one({"u": now}, y)
    ...     before = now
    >>> bool(metric.get() > 0.5)
    True
    """

    def __init__(
        self,
        order: int = 8,
        timescale: float = 10.0,
        system: str = "legt",
        degree: int = 2,
        rank: int | None = None,
        learner: str = "nlms",
        rate: float | None = None,
        ridge: float = 1e-3,
        dt: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.order = order
        self.timescale = timescale
        self.system = system
        self.degree = degree
        self.rank = rank
        self.learner = learner
        self.rate = rate
        self.ridge = ridge
        self.dt = dt
        self.seed = seed
        self._memory = memory_named(system, order, timescale, dt)
        self._learner = learner_named(learner, rate, ridge)
        self._names: dict[Any, int] = {}
        self._held = np.zeros(0)
        self._time: float | None = None
        self._model: VolterraModel | None = None
        self._state: VolterraState | None = None
        self._with(1)  # complains about a degree or rank now, not at the first sample

    def learn_one(self, x: dict[Any, Any], y: float, t: float | None = None) -> None:
        """Take in one sample, then learn from its target; `t` is its time."""
        _check_time(t)
        target = one_number("y", y, "leave out samples without a target")
        names, held, model, state = self._prepared(x)
        if model is None:
            return
        _, state = model.learn_one(state, held, target, self._duration(t))
        self._names, self._held, self._model, self._state = names, held, model, state
        self._time = t if t is not None else self._time

    def predict_one(self, x: dict[Any, Any], t: float | None = None) -> float:
        """What the target of this sample will be; changes nothing."""
        _check_time(t)
        _, held, model, state = self._prepared(x)
        return 0.0 if model is None else model.predict_one(state, held, self._duration(t))[0]

    def kernel(self, k: int, length: int | None = None) -> dict[tuple[Any, ...], np.ndarray]:
        """The kernels of degree k at sample lags, by the names of the features they multiply."""
        if self._model is None or self._state is None:
            raise ValueError("nothing has been learnt yet; call learn_one first.")
        names = list(self._names)
        whole = self._model.kernel(self._state, k, length)
        if len(names) == 1:
            return {tuple(names) * k: whole.reshape([n for n in whole.shape if n > 1] or [1])}
        places = np.ndindex(*(len(names),) * k)
        return {
            tuple(names[i] for i in place): whole[tuple(n for i in place for n in (i, slice(None)))] for place in places
        }

    def state_dict(self) -> dict[str, Any]:
        """What was learnt, for `hippozoo.checkpoint`."""
        return {"names": list(self._names), "held": self._held, "time": self._time, "state": self._state}

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another regressor of the same settings stood."""
        self._names = {name: place for place, name in enumerate(known["names"])}
        self._held, self._time, self._state = np.array(known["held"], float), known["time"], known["state"]
        self._model = self._with(len(self._names)) if self._names else None

    def _with(self, channels: int) -> VolterraModel:
        return VolterraModel(self._memory, self.degree, self.rank, self._learner, channels)

    def _prepared(self, x: dict[Any, Any]) -> tuple[dict[Any, int], np.ndarray, Any, Any]:
        """Names, values (with gaps held), model and state for this sample, all features of it included."""
        values = {
            name: one_number(f"x[{name!r}]", value, "encode it, or leave out a feature that is missing")
            for name, value in x.items()
        }
        # Names in an order that does not depend on that of the keys.
        new = sorted(
            (name for name in values if name not in self._names), key=lambda name: (str(type(name)), str(name))
        )
        names, held, model, state = self._names, self._held.copy(), self._model, self._state
        if new:
            names = {**names, **{name: len(names) + i for i, name in enumerate(new)}}
            held = np.append(held, np.zeros(len(new)))
            grown = self._with(len(names))
            begun = grown.initial_state(np.random.default_rng(self.seed))
            if model is not None and state is not None:
                begun = grown_state(model, state, grown, begun)
            model, state = grown, begun
        for name, value in values.items():
            held[names[name]] = value
        return names, held, model, state

    def _duration(self, t: float | None) -> float | None:
        return None if t is None or self._time is None else t - self._time


def _check_time(t: Any) -> None:
    # The number itself is kept: an integer count of nanoseconds has more digits than a float.
    is_number = isinstance(t, numbers.Real) and not isinstance(t, bool)
    if t is None or (is_number and math.isfinite(t)):
        return
    wrong = ValueError if is_number else TypeError
    raise wrong(f"t={shorten(t)}: the time of a sample; pass one finite number, or leave t out for steps of dt.")


def grown_state(old: VolterraModel, state: VolterraState, new: VolterraModel, begun: VolterraState) -> VolterraState:
    """The state of a `new` model with more channels: the old channels first, the new ones as they have `begun`.

    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> memory = Memory(LegT(order=2, timescale=2.0))
    >>> one, two = VolterraModel(memory, channels=1), VolterraModel(memory, channels=2)
    >>> _, state = one.learn_one(one.initial_state(), np.array([1.0]), 3.0)
    >>> grown = grown_state(one, state, two, two.initial_state())
    >>> one.predict_one(state, np.array([0.5]))[0] == two.predict_one(grown, np.array([0.5, 0.0]))[0]
    True
    """
    places = _places(old.readout, new.readout)
    learnt, fresh = state.learnt, begun.learnt
    parameters = fresh.parameters.copy()
    parameters[places] = learnt.parameters
    covariance = fresh.covariance.copy()
    if covariance.size:
        covariance[np.ix_(places, places)] = learnt.covariance
    memory = begun.memory.copy()
    memory[: len(state.memory)] = state.memory
    return VolterraState(memory, learnt._replace(parameters=parameters, covariance=covariance))


def _places(old: PolynomialReadout | LowRankReadout, new: PolynomialReadout | LowRankReadout) -> np.ndarray:
    """Where each parameter of the smaller readout stands in the larger one."""
    if isinstance(old, LowRankReadout) or isinstance(new, LowRankReadout):
        rows = (old.n_parameters - 1) // old.inputs
        starts = 1 + new.inputs * np.arange(rows)[:, None]
        return np.concatenate([[0], (starts + np.arange(old.inputs)).ravel()])
    parts = []
    for k in range(old.degree + 1):
        # Sorted tuples stay sorted tuples; read as digits, their order is that of the numbers.
        weights = new.inputs ** np.arange(k)[::-1]
        numbers = [multi_indices(readout.inputs, k) @ weights for readout in (old, new)]
        parts.append(new.products.offsets[k] + np.searchsorted(numbers[1], numbers[0]))
    return np.concatenate(parts).astype(np.int64)
