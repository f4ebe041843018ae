"""What a memory holds of a piece of a stream, how pieces join, and the states of a Dask array by both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo.memory import hold_missing
from hippozoo.memory.base import PureMemory
from hippozoo.scale._dask import dask_module

__all__ = ["Piece", "array_states", "join", "piece_of"]


class Piece(NamedTuple):
    """The state after a piece of each of several streams, as if nothing had come before it.

    Missing samples hold the last value seen, which may stand in an earlier piece. The state is linear in it, so it is
    enough to know how long the piece waits for its first sample: what was held before is added when pieces join.
    """

    state: np.ndarray  # (*streams, *the axes of a state)
    last: np.ndarray  # the last value seen in each stream; NaN where none was
    waiting: np.ndarray  # steps that each stream waits for its first sample; all of them where there is none
    steps: Any  # of the piece: a number, or one for each stream where several lengths are gathered


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
    state = memory.merge(left.state, right.state, elapsed=right.steps * memory.dt)
    heard = ~np.isnan(left.last)
    for wait in np.unique(right.waiting[heard & (right.waiting > 0)]).astype(int).tolist():
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


def array_states(memory: PureMemory, series: Any, mode: str, weights: np.ndarray | None) -> Any:
    """States of ``(time,)``, ``(series, time)`` or ``(series, time, channels)``, lazily, chunked as the series are."""
    dask, da = dask_module(), dask_module("dask.array")
    if series.ndim not in (1, 2, 3):
        raise ValueError(
            f"series has shape {series.shape}; pass (time,), (series, time) or (series, time, channels), a long series "
            f"of several channels as (channels, time)."
        )
    if series.dtype.kind not in "fiu":
        raise TypeError(f"series has dtype {series.dtype}; pass real numbers.")
    if any(np.isnan(sum(sizes)) for sizes in series.chunks):
        raise ValueError("the chunks of series have unknown sizes; call series.compute_chunk_sizes() first.")
    if not series.size:
        raise ValueError(f"series has shape {series.shape} and holds no sample; pass at least one.")
    blocks = series[None] if series.ndim == 1 else series
    if blocks.ndim == 3:
        blocks = blocks.rechunk({2: -1})
    channels = blocks.shape[2:]
    shape = memory.initial_state().shape
    end = shape if weights is None else weights.shape[len(shape) :]
    local, joined, last = dask.delayed(_local, pure=True), dask.delayed(join, pure=True), dask.delayed(_last, pure=True)
    rows = []
    for number, grid in enumerate(blocks.to_delayed().reshape(len(blocks.chunks[0]), -1)):
        count = blocks.chunks[0][number]
        pieces = [local(memory, block) for block in grid]
        if mode == "final":
            final = last(_tree(joined, memory, pieces), weights, (count, *channels))
            rows.append(da.from_delayed(final, (count, *channels, *end), memory.dtype))
            continue
        scan, before, parts = dask.delayed(_scan, pure=True), None, []
        for block, piece, length in zip(grid, pieces, blocks.chunks[1], strict=True):
            part = scan(memory, block, before, weights)
            parts.append(da.from_delayed(part, (count, length, *channels, *end), memory.dtype))
            before = piece if before is None else joined(memory, before, piece)
        rows.append(da.concatenate(parts, axis=1))
    found = da.concatenate(rows, axis=0)
    return found[0] if series.ndim == 1 else found


def _tree(joined: Any, memory: PureMemory, pieces: list[Any]) -> Any:
    """Neighbours join, then those: the depth grows with the logarithm of their number."""
    while len(pieces) > 1:
        pairs = [joined(memory, *pieces[at : at + 2]) for at in range(0, len(pieces) - 1, 2)]
        pieces = pairs + pieces[2 * len(pairs) :]
    return pieces[0]


def _local(memory: PureMemory, block: np.ndarray) -> Piece:
    return piece_of(memory, _streams(block))


def _last(piece: Piece, weights: np.ndarray | None, leading: tuple[int, ...]) -> np.ndarray:
    axes = piece.state.ndim - 1
    found = piece.state if weights is None else np.tensordot(piece.state, weights, axes=axes).astype(piece.state.dtype)
    return found.reshape(*leading, *found.shape[1:])


def _scan(memory: PureMemory, block: np.ndarray, before: Piece | None, weights: np.ndarray | None) -> np.ndarray:
    """The state after every sample of a block, from what all blocks before it have left."""
    values, state = _streams(block), None
    held: Any = 0.0
    if before is not None:
        state, held = before.state, np.nan_to_num(before.last)
    known = ~np.isnan(values)
    if not known.all():
        values = hold_missing(values, known, held)
    read = getattr(memory, "readout", None)
    if weights is not None and read is not None:
        found = read(values, weights, state)
    else:
        found = memory.scan(values, state)
        axes = len(memory.initial_state().shape)
        found = found if weights is None else np.tensordot(found, weights, axes=axes)
    found = found.astype(memory.dtype, copy=False)
    wide = found.reshape(len(values), len(block), *block.shape[2:], *found.shape[2:])
    return np.moveaxis(wide, 0, 1)


def _streams(block: np.ndarray) -> np.ndarray:
    """(time, streams) of a block (series, time) or (series, time, channels)."""
    return np.ascontiguousarray(np.moveaxis(block, 1, 0).reshape(block.shape[1], -1), dtype=float)
