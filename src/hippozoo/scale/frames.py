"""States of the series of a table: a local pass over each partition, and pieces joined by series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs
from hippozoo.memory import hold_missing
from hippozoo.memory.base import PureMemory
from hippozoo.scale._dask import dask_module
from hippozoo.scale.folder import PARTITION_BYTES, Part, open_folder
from hippozoo.scale.pieces import Piece, join, piece_of
from hippozoo.scale.reading import SeriesRows, TableLayout

__all__ = ["PARTITION_BYTES", "FrameStates", "folder_states", "frame_states"]


def frame_states(work: FrameStates, frame: Any) -> Any:
    """The states of a Dask dataframe; series that lie in several partitions are brought together as pieces."""
    id = work.reading.id
    indexed = id not in map(str, frame.columns)
    meta = work.meta(frame._meta.index.dtype if indexed else frame._meta[id].dtype)
    if indexed and frame.known_divisions:
        return frame.map_partitions(work.whole, meta=meta)
    pieces = frame.map_partitions(_pieces, work, meta=work.pieces_meta(meta.index.dtype))
    if frame.npartitions > 1:
        pieces = pieces.shuffle(id, npartitions=frame.npartitions, ignore_index=True)
    return pieces.map_partitions(work.finish, meta=meta)


def folder_states(
    memory: PureMemory,
    path: Path,
    id: str,
    column: str | Sequence[str] | None,
    time: str | None,
    weights: np.ndarray | None,
    partition_bytes: int,
) -> Any:
    """The states of a folder of Parquet files."""
    dd = dask_module("dask.dataframe")
    folder = open_folder(path, id)
    work = FrameStates(memory, TableLayout.of_frame(folder.meta, id, column, time), weights)
    parts = folder.parts(id, partition_bytes)
    if parts is None:
        return frame_states(work, read_unsorted(folder.files, work.reading, partition_bytes))
    return dd.from_map(work.of_part, parts, meta=work.meta(folder.meta[id].dtype), enforce_metadata=False)


def read_unsorted(files: Sequence[str], reading: TableLayout, partition_bytes: int) -> Any:
    """The rows of a folder as a Dask dataframe, in the order of its files."""
    dd = dask_module("dask.dataframe")
    return dd.read_parquet(
        list(files),
        columns=reading.wanted,
        index=False,
        split_row_groups="adaptive",
        blocksize=partition_bytes,
        aggregate_files=True,
    )


def _pieces(frame: Any, work: FrameStates, partition_info: Any = None) -> Any:
    return work.pieces(frame, 0 if partition_info is None else partition_info["number"])


@dataclass(frozen=True, eq=False)
class FrameStates:
    """What is done to the frames of a table: `pieces` of one frame, and `finish` of the pieces of whole series."""

    memory: PureMemory
    reading: TableLayout
    weights: np.ndarray | None = None

    # -- frames without rows ----------------------------------------------------------------------------------------

    def meta(self, names: Any) -> Any:
        """An empty frame of states."""
        pandas = needs("pandas", extra="dask", feature="hippozoo.scale")

        shape = self.memory.initial_state().shape
        end = shape if self.weights is None else self.weights.shape[len(shape) :]
        count = int(np.prod(end, dtype=int))
        columns = [f"{name}_{k}" for name in self.reading.columns for k in range(count)]
        empty = pandas.DataFrame({name: np.zeros(0, self.memory.dtype) for name in columns})
        return empty.set_index(pandas.Index([], dtype=names, name=self.reading.id))

    def pieces_meta(self, names: Any) -> Any:
        """An empty frame of pieces."""
        pandas = needs("pandas", extra="dask", feature="hippozoo.scale")

        empty = pandas.DataFrame({self.reading.id: pandas.Series([], dtype=names)})
        for name, kind in self._piece_columns().items():
            empty[name] = np.zeros(0, kind)
        return empty

    def _piece_columns(self) -> dict[str, str]:
        ticks = "int64" if self.reading.dates else "float64"
        found = {"_part": "int64", "_steps": "int64"} if self.reading.time is None else {"_begin": ticks, "_end": ticks}
        streams = range(len(self.reading.columns))
        size = self.memory.initial_state().size
        waiting = "int64" if self.reading.time is None else "float64"
        found |= {f"_last_{c}": "float64" for c in streams} | {f"_waiting_{c}": waiting for c in streams}
        return found | {f"_state_{k}": self.memory.dtype for k in range(len(streams) * size)}

    # -- the work ---------------------------------------------------------------------------------------------------

    def whole(self, frame: Any) -> Any:
        """The states of a frame that holds whole series."""
        return self.finish(self.pieces(frame, 0))

    def of_part(self, part: Part) -> Any:
        """The states of a part of a folder, read batch by batch."""
        pandas = needs("pandas", extra="dask", feature="hippozoo.scale")

        found = [self.pieces(frame, number) for number, frame in enumerate(part.frames(self.reading.wanted))]
        return self.finish(pandas.concat(found, ignore_index=True) if found else self.pieces_meta(object))

    def pieces(self, frame: Any, number: int) -> Any:
        """One row for each series of a frame: what the memory holds of its rows there."""
        if not len(frame):
            id = self.reading.id
            return self.pieces_meta(frame[id].dtype if id in frame.columns else frame.index.dtype)
        if self.reading.time is not None:
            return self._timed_pieces(frame)
        names, ends, values, _ = self.reading.rows(frame)
        begins, channels = np.append(0, ends[:-1]), values.shape[1]
        lengths = ends - begins
        states = np.empty((len(names), channels, *self.memory.initial_state().shape), self.memory.dtype)
        last, waiting = np.empty((len(names), channels)), np.empty((len(names), channels), np.int64)
        for length in np.unique(lengths).tolist():
            # Series of one length are remembered side by side, as channels.
            at = np.flatnonzero(lengths == length)
            rows = values[begins[at] + np.arange(length)[:, None]]
            piece = piece_of(self.memory, rows.reshape(length, -1))
            states[at] = piece.state.reshape(len(at), *states.shape[1:])
            last[at], waiting[at] = piece.last.reshape(len(at), -1), piece.waiting.reshape(len(at), -1)
        return self._rows(names, {"_part": np.full(len(names), number), "_steps": lengths}, last, waiting, states)

    def finish(self, pieces: Any) -> Any:
        """The states of series all of whose pieces are here."""
        pandas = needs("pandas", extra="dask", feature="hippozoo.scale")

        reading, channels = self.reading, len(self.reading.columns)
        if not len(pieces):
            return self.meta(pieces[reading.id].dtype)
        order_by = "_part" if reading.time is None else "_begin"
        codes, names = pandas.factorize(pieces[reading.id])
        pieces = pieces.iloc[np.lexsort((pieces[order_by].to_numpy(), codes))]
        counts = np.bincount(codes)
        begins = np.cumsum(counts) - counts
        shape = self.memory.initial_state().shape

        def several(name: str) -> np.ndarray:
            return pieces[[f"{name}_{c}" for c in range(channels)]].to_numpy()

        size = self.memory.initial_state().size
        stored = pieces[[f"_state_{k}" for k in range(channels * size)]].to_numpy(dtype=self.memory.dtype)
        table = _Table(several("_last"), several("_waiting"), stored.reshape(len(pieces), channels, *shape))
        if reading.time is None:
            found = self._joined(table, pieces["_steps"].to_numpy(), begins, counts)
        else:
            ticks = pieces["_begin"].to_numpy(), pieces["_end"].to_numpy()
            found = np.stack(
                [
                    self._timed(name, table, *ticks, first, count)
                    for name, first, count in zip(names, begins.tolist(), counts.tolist(), strict=True)
                ]
            )
        if self.weights is not None:
            found = np.tensordot(found, self.weights, axes=len(shape))
        flat = found.reshape(len(names), -1).astype(self.memory.dtype)
        index = pandas.Index(names, name=reading.id)
        return pandas.DataFrame(flat, index=index, columns=self.meta(index.dtype).columns)

    def _rows(
        self, names: np.ndarray, begin: dict[str, np.ndarray], last: np.ndarray, waiting: np.ndarray, states: np.ndarray
    ) -> Any:
        pandas = needs("pandas", extra="dask", feature="hippozoo.scale")

        numbers = {f"_last_{c}": last[:, c] for c in range(last.shape[1])}
        numbers |= {f"_waiting_{c}": waiting[:, c] for c in range(waiting.shape[1])}
        flat = states.reshape(len(names), -1)
        table = pandas.DataFrame(flat, columns=[f"_state_{k}" for k in range(flat.shape[1])])
        return pandas.concat([pandas.DataFrame({self.reading.id: names} | begin | numbers), table], axis=1)

    # -- rows are steps ---------------------------------------------------------------------------------------------

    def _joined(self, table: _Table, steps: np.ndarray, begins: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Pieces joined in the order of the rows, the first two of all series, then the third, and so on."""
        channels = table.last.shape[1]
        state, last = table.state[begins].copy(), table.last[begins].copy()
        waiting, passed = table.waiting[begins].copy(), steps[begins].copy()
        for place in range(1, int(counts.max())):
            going = np.flatnonzero(counts > place)
            rows = begins[going] + place
            for length in np.unique(steps[rows]).tolist():
                here = steps[rows] == length
                at, row = going[here], rows[here]
                left = Piece(_flat(state[at]), last[at].ravel(), waiting[at].ravel(), np.repeat(passed[at], channels))
                right = Piece(_flat(table.state[row]), table.last[row].ravel(), table.waiting[row].ravel(), length)
                both = join(self.memory, left, right)
                state[at] = both.state.reshape(state[at].shape)
                last[at], waiting[at] = both.last.reshape(-1, channels), both.waiting.reshape(-1, channels)
                passed[at] += length
        return state

    # -- rows have times --------------------------------------------------------------------------------------------

    def _timed_pieces(self, frame: Any) -> Any:
        found = [self._timed_piece(one) for one in self.reading.series(frame)]
        names = np.asarray([one.name for one in self.reading.series(frame)])
        begin, end, last, waiting, states = (np.stack(column) for column in zip(*found, strict=True))
        return self._rows(names, {"_begin": begin, "_end": end}, last, waiting, states)

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

    def _timed(
        self, name: Any, table: _Table, begin: np.ndarray, end: np.ndarray, first: int, count: int
    ) -> np.ndarray:
        """The pieces of one series joined in the order of their times."""
        memory, state, last = self.memory, table.state[first], table.last[first]
        for at in range(first + 1, first + count):
            if begin[at] <= end[at - 1]:
                raise ValueError(
                    f"series {shorten(name)}: two partitions hold rows of the same time; let each hold a stretch of it."
                )
            apart = float(begin[at] - end[at - 1]) * self.reading.tick
            state = memory.step(state, np.nan_to_num(last), dt=apart)
            elapsed = float(end[at] - begin[at]) * self.reading.tick
            if elapsed:
                state = memory.merge(state, table.state[at], elapsed=elapsed)
                for c in np.flatnonzero((table.waiting[at] > 0) & ~np.isnan(last)):
                    state[c] += last[c] * self._held(float(table.waiting[at, c]), elapsed)
            last = np.where(np.isnan(table.last[at]), last, table.last[at])
        return memory.step(state, np.nan_to_num(last), dt=memory.dt)

    def _held(self, waiting: float, elapsed: float) -> np.ndarray:
        """The state after `elapsed`, of which the first `waiting` were 1 and the rest 0."""
        if waiting >= elapsed:
            return self.memory.final(np.ones(1), dt=np.array([elapsed]))
        return self.memory.final(np.array([1.0, 0.0]), dt=np.array([waiting, elapsed - waiting]))


@dataclass(frozen=True, eq=False)
class _Table:
    """Pieces as arrays, one row each: (pieces, channels) and (pieces, channels, *state)."""

    last: np.ndarray
    waiting: np.ndarray
    state: np.ndarray


def _flat(states: np.ndarray) -> np.ndarray:
    return states.reshape(-1, *states.shape[2:])
