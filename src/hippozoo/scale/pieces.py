"""What a memory holds of a piece of a stream, and how pieces join: the monoid behind everything here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hippozoo.memory import hold_missing
from hippozoo.memory.base import PureMemory

__all__ = ["Piece", "join", "piece_of", "steps_of_held"]


@dataclass(frozen=True, eq=False)
class Piece:
    """The state after a piece of each of several streams, as if nothing had come before it.

    Missing samples hold the last value seen, which may stand in an earlier piece. The state is linear in it, so it is
    enough to know how long the piece waits for its first sample: what was held before is added when pieces join.
    """

    state: np.ndarray  # (streams, *the axes of a state)
    last: np.ndarray  # the last value seen in each stream; NaN where none was
    waiting: np.ndarray  # steps that each stream waits for its first sample; all of them where there is none
    steps: int | np.ndarray  # of the piece; one number for each stream where several lengths are gathered


def piece_of(memory: PureMemory, values: np.ndarray) -> Piece:
    """The piece that these values are, (time, streams); NaN where a sample is missing."""
    known = ~np.isnan(values)
    if known.all():
        return Piece(memory.final(values), values[-1].astype(float), np.zeros(values.shape[1], int), len(values))
    state = memory.final(hold_missing(values, known))
    some = known.any(axis=0)
    waiting = np.where(some, known.argmax(axis=0), len(values))
    newest = len(values) - 1 - known[::-1].argmax(axis=0)
    last = np.where(some, values[newest, np.arange(values.shape[1])], np.nan)
    return Piece(state, last, waiting, len(values))


def join(memory: PureMemory, left: Piece, right: Piece) -> Piece:
    """`left`, then `right`; associative, so that pieces may join in any grouping; all of `right` is of one length."""
    assert isinstance(right.steps, int)
    state = memory.merge(left.state, right.state, elapsed=right.steps * memory.dt)
    heard = ~np.isnan(left.last)
    for wait in np.unique(right.waiting[heard & (right.waiting > 0)]).tolist():
        held = heard & (right.waiting == wait)
        response = steps_of_held(memory, wait, right.steps)
        state[held] += np.multiply.outer(left.last[held], response).astype(state.dtype)
    return Piece(
        state,
        np.where(np.isnan(right.last), left.last, right.last),
        np.where(heard, left.waiting, left.steps + right.waiting),
        left.steps + right.steps,
    )


def steps_of_held(memory: PureMemory, held: int, steps: int) -> np.ndarray:
    """The state after `steps` steps of which the first `held` were 1 and the rest 0."""
    state = memory.final(np.ones(held))
    return state if held == steps else memory.final(np.zeros(steps - held), state)
