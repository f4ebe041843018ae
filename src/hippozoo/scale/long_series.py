"""Fitting a forecaster to one long series in chunks, in two passes that both run side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hippozoo.memory import Memory
from hippozoo.scale._dask import dask_module
from hippozoo.scale.handover import continued, nothing_learnt, present_after, rows_before_handover, stretch_ends
from hippozoo.scale.reading import masked
from hippozoo.zoo.forecasting import Forecaster, ForecasterLike, ForecasterState

__all__ = ["fit_long_series"]


def fit_long_series(forecaster: ForecasterLike[Any], series: Any) -> Any:
    """The state after a Dask array ``(time,)``, as if it had been learnt in one go."""
    dask = dask_module()
    if series.dtype.kind not in "fiu" or not series.size:
        raise ValueError(f"series has dtype {series.dtype} and shape {series.shape}; pass real numbers, one at least.")
    if np.isnan(sum(series.chunks[0])):
        raise ValueError("the chunks of series have unknown sizes; call series.compute_chunk_sizes() first.")
    least = rows_before_handover(forecaster)
    chunks = _at_least(series.chunks[0], least)
    series = series.rechunk((chunks,))
    blocks = list(series.to_delayed())
    if isinstance(forecaster, Forecaster) and forecaster.delay != "endpoint" and len(chunks) > 1:
        starts = np.cumsum([0, *chunks[:-1]]).tolist()
        local = dask.delayed(_local)
        pieces = [local(forecaster, block, least, first=not start) for block, start in zip(blocks, starts, strict=True)]
        (found,) = dask.compute(pieces)
        if not any(piece.gaps for piece in found):
            presents = _presents(forecaster, found, starts)
            ends = stretch_ends(forecaster, sum(chunks))
            learn = dask.delayed(_learn)
            cut = [
                [end - start for end in ends if start < end < start + size]
                for start, size in zip(starts, chunks, strict=True)
            ]
            (learnt,) = dask.compute([learn(forecaster, *one) for one in zip(presents, blocks, cut, strict=True)])
            state = forecaster.initial_state(1)
            for piece in (piece for chunk in learnt for piece in chunk):
                state = continued(forecaster, state, piece)
            return replace(state, single=True)
    state, hand_over = forecaster.initial_state(), dask.delayed(_hand_over)
    for block in blocks:
        state = hand_over(forecaster, state, block)
    return dask.compute(state)[0]


def _at_least(chunks: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Chunks that are long enough to hand over the present: short ones join those after them."""
    found, waiting = [], 0
    for size in chunks:
        waiting += size
        if waiting >= least:
            found.append(waiting)
            waiting = 0
    if waiting:
        found.append(waiting + (found.pop() if found else 0))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Piece:
    """What a first pass over a chunk leaves: memories of it alone, and its last rows."""

    rows: int
    gaps: bool
    tail: np.ndarray
    recent: np.ndarray
    delayed: tuple[np.ndarray, ...]
    aligned: tuple[np.ndarray, ...]


def _local(forecaster: Forecaster, block: np.ndarray, least: int, *, first: bool) -> _Piece:
    values = np.asarray(block, float)[:, None]
    empty = np.zeros((1, 0))
    if np.isnan(values).any():
        return _Piece(len(values), True, values[:0], empty, (), ())
    recent, pasts = forecaster.one_pass.recent, forecaster.one_pass.pasts
    dt, horizon = float(forecaster.dt), float(forecaster.horizon)

    def start(memory: Memory) -> np.ndarray:
        # Before its first sample a series is taken to have been constant at it.
        constant = np.arange(memory.system.order) == 0
        return values[:1].T * constant if first else memory.initial_state(1)

    # System 2 ends one horizon before the chunk does, within a sample as a rule.
    ahead = len(values) - horizon / dt
    whole = int(np.floor(ahead + 1e-9))
    part = (ahead - whole) * dt

    def delayed(memory: Memory) -> np.ndarray:
        state = start(memory)
        state = memory.final(values[:whole], state) if whole else state
        return memory.step(state, values[whole], dt=part) if part > 1e-9 * dt else state

    return _Piece(
        len(values),
        False,
        values[-least:],
        recent.final(values, start(recent)),
        tuple(delayed(memory) for memory in pasts),
        tuple(memory.final(values, start(memory)) for memory in pasts),
    )


def _presents(forecaster: Forecaster, pieces: list[_Piece], starts: list[int]) -> list[ForecasterState]:
    """The present at the beginning of every chunk, by merging what the chunks before it have left."""
    recent, pasts = forecaster.one_pass.recent, forecaster.one_pass.pasts
    dt, horizon = float(forecaster.dt), float(forecaster.horizon)
    found = [nothing_learnt(forecaster, forecaster.initial_state(1))]
    now, aligned = pieces[0].recent, pieces[0].aligned
    delayed = pieces[0].delayed
    for number, piece in enumerate(pieces):
        if number:
            elapsed = piece.rows * dt
            before = aligned
            now = recent.merge(now, piece.recent, elapsed)
            delayed = tuple(
                m.merge(a, b, elapsed - horizon) if elapsed - horizon > 1e-9 * dt else a
                for m, a, b in zip(pasts, before, piece.delayed, strict=True)
            )
            aligned = tuple(m.merge(a, b, elapsed) for m, a, b in zip(pasts, before, piece.aligned, strict=True))
        if number + 1 < len(pieces):
            found.append(present_after(forecaster, starts[number + 1], piece.tail, now, delayed, aligned))
    return found


def _learn(forecaster: Forecaster, state: ForecasterState, block: np.ndarray, cuts: list[int]) -> list[ForecasterState]:
    """What a chunk teaches, cut where stretches end."""
    found = []
    for part in np.split(np.asarray(block, float)[:, None], cuts):
        state = forecaster.learn(nothing_learnt(forecaster, state), part)
        found.append(state)
    return found


def _hand_over(forecaster: Any, state: Any, block: np.ndarray) -> Any:
    values, mask = masked(np.asarray(block, float))
    return forecaster.learn(state, values, mask=mask)
