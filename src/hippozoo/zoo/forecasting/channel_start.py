"""How a channel begins, and begins anew: before its first sample it is taken to have been constant at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["begin_channels", "rows_that_begin", "wait_for_a_sample"]


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
