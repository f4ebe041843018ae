"""A learnt readout that gets new inputs keeps what it has learnt about the old ones."""

from __future__ import annotations

import numpy as np

from hippozoo.zoo.volterra import LowRankReadout, PolynomialReadout, VolterraModel, VolterraState, multi_indices

__all__ = ["grown_state"]


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
