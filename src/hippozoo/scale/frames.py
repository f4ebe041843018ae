"""States of the series of a table: a local pass over each partition, and pieces joined by series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.memory import hold_missing
from hippozoo.memory.base import PureMemory
from hippozoo.scale._dask import dask_module
from hippozoo.scale.arrays import Piece, join, piece_of
from hippozoo.scale.folder import Part
from hippozoo.scale.reading import SeriesRows, TableLayout

__all__ = ["FrameStates"]


def _pieces(frame: Any, work: FrameStates, partition_info: Any = None) -> Any:
    return work.pieces(frame, 0 if partition_info is None else partition_info["number"])


@dataclass(frozen=True, eq=False)
class FrameStates:
    """What is done to the frames of a table: `pieces` of one frame, and `finish` of the pieces of whole series.

    A piece is a row: the name of its series; begin and end, which are ticks, or else the number of the partition and
    steps; then, channel by channel, the last value, the time that the piece waits for its first, and the state.
    """

    memory: PureMemory
    reading: TableLayout
    weights: np.ndarray | None = None

    def of_frame(self, frame: Any) -> Any:
        """The states of a Dask dataframe; series that lie in several partitions are brought together as pieces."""
        if self.reading.id not in map(str, frame.columns) and frame.known_divisions:
            return frame.map_partitions(self.whole, meta=self.meta())
        pieces = frame.map_partitions(_pieces, self, meta=self.no_pieces())
        if frame.npartitions > 1:
            pieces = pieces.shuffle(self.reading.id, npartitions=frame.npartitions, ignore_index=True)
        return pieces.map_partitions(self.finish, meta=self.meta())

    def of_parts(self, parts: list[Part]) -> Any:
        """The states of a folder cut into parts that hold whole series."""
        return dask_module("dask.dataframe").from_map(self.of_part, parts, meta=self.meta(), enforce_metadata=False)

    def of_part(self, part: Part) -> Any:
        """The states of a part of a folder, read batch by batch."""
        found = [self.pieces(frame, number) for number, frame in enumerate(part.frames(self.reading.wanted))]
        return self.finish(dask_module("pandas").concat(found, ignore_index=True) if found else self.no_pieces())

    def whole(self, frame: Any) -> Any:
        """The states of a frame that holds whole series."""
        return self.finish(self.pieces(frame, 0))

    # -- frames -----------------------------------------------------------------------------------------------------

    def meta(self) -> Any:
        """An empty frame of states."""
        pandas, shape = dask_module("pandas"), self.memory.initial_state().shape
        end = shape if self.weights is None else self.weights.shape[len(shape) :]
        columns = [f"{name}_{k}" for name in self.reading.columns for k in range(int(np.prod(end, dtype=int)))]
        index = pandas.Index([], dtype=self.reading.names, name=self.reading.id)
        return pandas.DataFrame(np.zeros((0, len(columns)), self.memory.dtype), index=index, columns=columns)

    def no_pieces(self) -> Any:
        """An empty frame of pieces."""
        names = dask_module("pandas").Index([], dtype=self.reading.names)
        ticks = np.zeros(0, "int64" if self.reading.time is None or self.reading.dates else "float64")
        size = self.memory.initial_state().size
        channels = np.zeros((0, len(self.reading.columns)))
        return self._frame(names, ticks, ticks, channels, channels, np.repeat(channels, size, axis=1))

    def _frame(
        self, names: Any, begin: np.ndarray, end: np.ndarray, last: np.ndarray, waiting: np.ndarray, state: np.ndarray
    ) -> Any:
        pandas = dask_module("pandas")
        # Exact, whatever the precision of the state; times in nanoseconds alone are too long for a float.
        numbers = np.concatenate(
            [last, waiting, state.reshape(len(names), last.shape[1] * self.memory.initial_state().size)], axis=1
        )
        ends = pandas.DataFrame({self.reading.id: names, "_begin": begin, "_end": end})
        return pandas.concat([ends, pandas.DataFrame(numbers).add_prefix("_")], axis=1)

    def pieces(self, frame: Any, number: int) -> Any:
        """One row for each series of a frame: what the memory holds of its rows there."""
        if not len(frame):
            return self.no_pieces()
        if self.reading.time is not None:
            series = list(self.reading.series(frame))
            columns = zip(*map(self._timed_piece, series), strict=True)
            return self._frame(np.asarray([one.name for one in series]), *map(np.stack, columns))
        names, ends, values, _ = self.reading.rows(frame)
        begins, streams = np.append(0, ends[:-1]), (len(names), values.shape[1])
        steps = ends - begins
        state = np.empty((*streams, *self.memory.initial_state().shape), self.memory.dtype)
        found = Piece(state, np.empty(streams), np.empty(streams), steps)
        for length in np.unique(steps).tolist():
            # Series of one length are remembered side by side, as channels.
            at = np.flatnonzero(steps == length)
            rows = values[begins[at] + np.arange(length)[:, None]]
            piece = piece_of(self.memory, rows.reshape(length, -1))
            for part, new in zip(found[:3], piece[:3], strict=True):
                part[at] = new.reshape(len(at), *part.shape[1:])
        return self._frame(names, np.full(len(names), number), steps, found.last, found.waiting, found.state)

    def finish(self, pieces: Any) -> Any:
        """The states of series all of whose pieces are here."""
        if not len(pieces):
            return self.meta()
        pandas, channels, shape = dask_module("pandas"), len(self.reading.columns), self.memory.initial_state().shape
        codes, names = pandas.factorize(pieces[self.reading.id])
        pieces = pieces.iloc[np.lexsort((pieces["_begin"].to_numpy(), codes))]
        counts = np.bincount(codes)
        begins = np.cumsum(counts) - counts
        begin, end = pieces["_begin"].to_numpy(), pieces["_end"].to_numpy()
        width = channels * (2 + self.memory.initial_state().size)
        numbers = pieces[[f"_{k}" for k in range(width)]].to_numpy()
        last, waiting, state = np.split(numbers, [channels, 2 * channels], axis=1)
        state = state.reshape(len(pieces), channels, *shape).astype(self.memory.dtype)
        if self.reading.time is None:
            found = self._joined(Piece(state, last, waiting, end[:, None]), begins, counts)
        else:
            found = np.stack(
                [
                    self._joined_in_time(name, begin[at], end[at], last[at], waiting[at], state[at])
                    for name, at in zip(names, np.split(np.arange(len(pieces)), begins[1:]), strict=True)
                ]
            )
        if self.weights is not None:
            found = np.tensordot(found, self.weights, axes=len(shape))
        flat = found.reshape(len(names), -1).astype(self.memory.dtype)
        index = pandas.Index(names, name=self.reading.id)
        return pandas.DataFrame(flat, index=index, columns=self.meta().columns)

    # -- rows are steps ---------------------------------------------------------------------------------------------

    def _joined(self, pieces: Piece, begins: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Pieces joined in the order of the rows, the first two of all series, then the third, and so on."""
        found = Piece(*(part[begins] for part in pieces))
        for place in range(1, int(counts.max())):
            going = np.flatnonzero(counts > place)
            lengths = pieces.steps[begins[going] + place, 0]
            for length in np.unique(lengths).tolist():
                at = going[lengths == length]
                left, right = (
                    Piece(*(part[rows] for part in some)) for some, rows in ((found, at), (pieces, begins[at] + place))
                )
                for part, new in zip(found, join(self.memory, left, right._replace(steps=length)), strict=True):
                    part[at] = new
        return found.state

    # -- rows have times --------------------------------------------------------------------------------------------

    def _timed_piece(self, series: SeriesRows) -> tuple[Any, ...]:
        """The state when the last row comes: how long that one holds, only the next piece knows."""
        assert series.ticks is not None
        durations = self.reading.durations(series.name, series.ticks)
        known = ~np.isnan(series.values)
        held = series.values if known.all() else hold_missing(series.values, known)
        state = self.memory.initial_state(held.shape[1])
        if len(durations):
            state = self.memory.final(held[:-1], dt=durations)
        some = known.any(axis=0)
        since = (series.ticks - series.ticks[0]) * self.reading.tick
        waiting = np.where(some, since[known.argmax(axis=0)], since[-1])
        return series.ticks[0], series.ticks[-1], np.where(some, held[-1], np.nan), waiting, state

    def _joined_in_time(
        self, name: Any, begin: np.ndarray, end: np.ndarray, lasts: np.ndarray, waiting: np.ndarray, states: np.ndarray
    ) -> np.ndarray:
        """The pieces of one series joined in the order of their times."""
        memory, state, last = self.memory, states[0], lasts[0]
        for at in range(1, len(states)):
            if begin[at] <= end[at - 1]:
                raise ValueError(
                    f"series {shorten(name)}: two partitions hold rows of the same time; let each hold a stretch of it."
                )
            apart = float(begin[at] - end[at - 1]) * self.reading.tick
            state = memory.step(state, np.nan_to_num(last), dt=apart)
            elapsed = float(end[at] - begin[at]) * self.reading.tick
            if elapsed:
                state = memory.merge(state, states[at], elapsed=elapsed)
                for c in np.flatnonzero((waiting[at] > 0) & ~np.isnan(last)):
                    state[c] += last[c] * self._held(float(waiting[at, c]), elapsed)
            last = np.where(np.isnan(lasts[at]), last, lasts[at])
        return memory.step(state, np.nan_to_num(last), dt=memory.dt)

    def _held(self, waiting: float, elapsed: float) -> np.ndarray:
        """The state after `elapsed`, of which the first `waiting` were 1 and the rest 0."""
        if waiting >= elapsed:
            return self.memory.final(np.ones(1), dt=np.array([elapsed]))
        return self.memory.final(np.array([1.0, 0.0]), dt=np.array([waiting, elapsed - waiting]))
