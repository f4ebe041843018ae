"""How channels begin, and begin anew after a gap; long gaps in one step, since nothing is learnt in them.

Before its first sample a channel is taken to have been constant at it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.memory import Memory
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["begin_channels", "cross_gap", "long_gaps", "rows_that_begin", "wait_for_a_sample"]

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


def wait_for_a_sample(
    state: ForecasterState, steps: Float[np.ndarray, " time"], observed: Float[np.ndarray, "time channels"]
) -> tuple[ForecasterState, int]:
    """Let time pass until the first sample of any channel; also how many rows that takes."""
    if state.begun.any():
        return state, 0
    seen = np.asarray(observed.any(axis=1))
    rows = int(seen.argmax()) if seen.any() else len(seen)
    return replace(state, time=state.time + float(steps[:rows].sum())), rows


def rows_that_begin(
    state: ForecasterState,
    steps: Float[np.ndarray, " time"],
    observed: Float[np.ndarray, "time channels"],
    longest_silence: float,
) -> Bool[np.ndarray, " time"]:
    """Whether `begin_channels` has something to do at each of these rows."""
    if state.begun.all() and observed.all():
        begins = np.zeros(observed.shape, bool)
        begins[0] = state.silent > longest_silence
        return np.asarray(begins.any(axis=1))
    end = np.cumsum(steps)
    heard = np.where(observed > 0, end[:, None], -np.inf)
    before = np.maximum.accumulate(np.concatenate([-state.silent[None], heard[:-1]]))
    # Before its first sample a channel has been silent for ever.
    begun = state.begun | np.logical_or.accumulate(np.concatenate([np.zeros_like(observed[:1]), observed[:-1]]) > 0)
    begins = (observed > 0) & (~begun | ((end - steps)[:, None] - before > longest_silence))
    return np.asarray(begins.any(axis=1))


def begin_channels(
    state: ForecasterState,
    sample: Float[np.ndarray, " channels"],
    observed: Float[np.ndarray, " channels"],
    longest_silence: float,
) -> ForecasterState:
    """Give the channels whose first sample this is a constant past; also the first one after a long silence.

    All that memories then hold is the last value before it, held as if it had been seen all the time.
    """
    first = (~state.begun | (state.silent > longest_silence)) & (observed > 0)
    if not first.any():
        return state

    def constant(before: np.ndarray) -> np.ndarray:
        # A constant past fills the first coefficient and no other, in every system.
        return np.where(first[:, None], sample[:, None] * (np.arange(before.shape[1]) == 0), before)

    return replace(
        state,
        begun=state.begun | first,
        age=np.where(first, 0.0, state.age),
        recent=constant(state.recent),
        delayed=tuple(map(constant, state.delayed)),
        aligned=tuple(map(constant, state.aligned)),
        line=replace(state.line, values=np.where(first, sample, state.line.values)),
    )
