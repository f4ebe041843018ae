"""Work on whole series: brought together, each in one task, from whatever they come in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.scale._dask import checked_samples, dask_module, kind_of
from hippozoo.scale.folder import PARTITION_BYTES, Part, open_folder
from hippozoo.scale.reading import SeriesRows, TableLayout

__all__ = ["Work", "half_of", "rows_of_table", "tasks_of", "whole_rows"]

_PLACE = "_hippozoo_place"


# What a task does with its series: given those, how they were read, and the number of the task.
Work = Callable[[Iterator[SeriesRows], TableLayout | None, int], Any]


def tasks_of(
    work: Work,
    series: Any,
    id: str | None,
    column: str | Sequence[str] | None,
    time: str | None,
    partition_bytes: int = PARTITION_BYTES,
) -> list[Any]:
    """One delayed result for each partition, of its whole series in the order of the collection."""
    dask = dask_module()
    kind = kind_of(series, id=id, column=column, time=time)
    if kind in ("bag", "array"):
        blocks = series.to_delayed()
        if kind == "array":
            blocks = series.rechunk(dict.fromkeys(range(1, series.ndim), -1)).to_delayed().ravel()
        return [dask.delayed(_of_elements)(work, block, number) for number, block in enumerate(blocks)]
    reading, rows = rows_of_table(series, id, column, time, partition_bytes)
    if isinstance(rows, list):
        return [dask.delayed(_of_part)(work, part, reading) for part in rows]
    return _of_table(work, rows, reading)


def rows_of_table(
    series: Any, id: Any, column: str | Sequence[str] | None, time: str | None, partition_bytes: int
) -> tuple[TableLayout, Any]:
    """How a dataframe or a folder is read, and its rows: parts in which series are whole, or a Dask dataframe."""
    if not isinstance(series, (str, Path)):
        return TableLayout.of_frame(series._meta, id, column, time), series
    folder = open_folder(series, id)
    reading = TableLayout.of_frame(folder.meta, id, column, time)
    parts = folder.parts(id, partition_bytes)
    if parts is not None:
        return reading, parts
    frame = dask_module("dask.dataframe").read_parquet(
        list(folder.files),
        columns=reading.wanted,
        index=False,
        split_row_groups="adaptive",
        blocksize=partition_bytes,
        aggregate_files=True,
    )
    return TableLayout.of_frame(frame._meta, id, reading.columns, time), frame


def whole_rows(frames: Iterator[Any], reading: TableLayout, *, ordered: bool) -> Iterator[SeriesRows]:
    """The series of frames that follow each other; where they are ordered by series, only one is held at a time."""
    waiting: dict[Any, list[SeriesRows]] = {}
    for frame in frames:
        found = list(reading.series(frame))
        for one in found:
            waiting.setdefault(one.name, []).append(one)
        if ordered:
            for name in [name for name in waiting if name != found[-1].name]:
                yield _together(waiting.pop(name))
    for parts in waiting.values():
        yield _together(parts)


def half_of(series: SeriesRows) -> int:
    """0 or 1: in which half of a panel a series is, by its name or else by its values; the same wherever it lies."""
    text = np.ascontiguousarray(series.values).tobytes() if series.name is None else str(series.name).encode()
    return zlib.crc32(text) & 1


def _together(parts: list[SeriesRows]) -> SeriesRows:
    if len(parts) == 1:
        return parts[0]
    ticks = None if parts[0].ticks is None else np.concatenate([one.ticks for one in parts if one.ticks is not None])
    return SeriesRows(parts[0].name, np.concatenate([one.values for one in parts]), ticks)


def _of_part(work: Work, part: Part, reading: TableLayout) -> Any:
    rows = whole_rows(part.frames(reading.wanted), reading, ordered=part.is_ordered())
    return work(rows, reading, part.number)


def _of_table(work: Work, frame: Any, reading: TableLayout) -> list[Any]:
    dask = dask_module()
    indexed = reading.id not in map(str, frame.columns)
    if not (indexed and frame.known_divisions) and frame.npartitions > 1:
        placed = frame.reset_index() if indexed else frame
        placed = placed[reading.wanted]
        meta = placed._meta.assign(**{_PLACE: np.zeros(0, np.int64)})
        placed = placed.map_partitions(_with_place, meta=meta)
        frame = placed.shuffle(reading.id, npartitions=frame.npartitions, ignore_index=True)
    return [dask.delayed(_of_frame)(work, part, reading, number) for number, part in enumerate(frame.to_delayed())]


def _with_place(frame: Any, partition_info: Any = None) -> Any:
    """Shuffles keep no order, so that every row takes its place along."""
    number = 0 if partition_info is None else partition_info["number"]
    return frame.assign(**{_PLACE: np.arange(len(frame), dtype=np.int64) + (number << 40)})


def _of_frame(work: Work, frame: Any, reading: TableLayout, number: int) -> Any:
    if _PLACE in frame.columns:
        by = [_PLACE] if reading.time is None else [reading.time, _PLACE]
        frame = frame.sort_values(by)
    return work(whole_rows(iter([frame] if len(frame) else []), reading, ordered=False), reading, number)


def _of_elements(work: Work, elements: Any, number: int) -> Any:
    return work(map(_element, elements), None, number)


def _element(given: Any) -> SeriesRows:
    name, values = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
    rows = checked_samples(values)
    return SeriesRows(name, rows[:, None] if rows.ndim == 1 else rows, None)
