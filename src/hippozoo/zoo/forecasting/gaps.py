"""Long gaps in one step: while nothing is observed nothing is learnt, and only the memories move on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from hippozoo.memory import Memory
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["cross_gap", "long_gaps"]

# Rows of a gap that are worth an exact step of their own, which costs a matrix exponential for every system.
_LONG = 1024


def long_gaps(
    state: ForecasterState,
    steps: Float[np.ndarray, " time"],
    observed: Float[np.ndarray, "time channels"],
    reach: float,
) -> dict[int, int]:
    """Where rows begin that can be crossed in one step, and where they end.

    A gap teaches as long as futures reach back out of it, for a `reach` after its beginning.
    """
    if len(steps) < _LONG:
        return {}
    missing = np.concatenate([[False], ~observed.any(axis=1), [False]])
    edges = np.flatnonzero(missing[1:] != missing[:-1]).reshape(-1, 2)
    found = {}
    for begin, end in edges[edges[:, 1] - edges[:, 0] >= _LONG].tolist():
        under_way = begin == 0 and not state.line.observed.any()
        inside = 0 if under_way else int(np.searchsorted(np.cumsum(steps[begin:end]), reach)) + 1
        if end - begin - inside >= _LONG:
            found[begin + inside] = end
    return found


def cross_gap(state: ForecasterState, recent: Memory, pasts: tuple[Memory, ...], duration: float) -> ForecasterState:
    """The state after a time in which nothing was observed, when the whole delay line holds nothing observed either.

    The line is then full of the last value and stays so, and every system sees that value. What was learnt is left
    as it is.
    """
    step, held = np.array([duration]), state.held[None]
    return replace(
        state,
        time=state.time + duration,
        age=np.where(state.begun, state.age + duration, 0.0),
        silent=state.silent + duration,
        recent=recent.final(held, state.recent, step),
        delayed=tuple(memory.final(held, one, step) for memory, one in zip(pasts, state.delayed, strict=True)),
        aligned=tuple(memory.final(held, one, step) for memory, one in zip(pasts, state.aligned, strict=True)),
    )
