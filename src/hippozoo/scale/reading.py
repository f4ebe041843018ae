"""Which columns of a table say what: the series of a row, its values, its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.scale._dask import dask_module

__all__ = ["SeriesRows", "TableLayout", "masked"]


def masked(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Values with a number in every place, and where one was given; None where that is everywhere."""
    known = ~np.isnan(values)
    return (values, None) if known.all() else (np.where(known, values, 0.0), known)


@dataclass(frozen=True, eq=False)
class SeriesRows:
    """The rows of one series in a table, or in a part of one."""

    name: Any
    values: np.ndarray  # (rows, columns); NaN where a cell is empty
    ticks: np.ndarray | None  # times as they were written, numbers or nanoseconds
    mean: Any = 0.0  # what was taken off the values, and
    size: Any = 1.0  # what they were divided by, where they are normalised


@dataclass(frozen=True)
class TableLayout:
    """How the rows of a table are read."""

    id: str  # the column that names the series
    columns: tuple[str, ...]  # of values
    time: str | None = None  # the column of times; None if rows are steps
    dates: bool = False  # whether times are dates
    names: Any = object  # the dtype of the names

    @classmethod
    def of_frame(cls, meta: Any, id: str, column: str | Sequence[str] | None, time: str | None) -> TableLayout:
        """By the columns of a frame; an index may be the column of names."""
        pandas = dask_module("pandas")
        names = list(map(str, meta.columns))
        for name in (time, *([column] if isinstance(column, str) else column or ())):
            if name is not None and name not in names:
                raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, names[:20]))}.")
        if id not in names and meta.index.name != id:
            raise ValueError(f"id={id!r} names no column; there are {', '.join(map(repr, names[:20]))}.")
        numeric = [
            name
            for name in names
            if pandas.api.types.is_numeric_dtype(meta[name].dtype) and not pandas.api.types.is_bool_dtype(meta[name])
        ]
        if column is None:
            chosen = tuple(name for name in numeric if name not in (id, time))
        else:
            chosen = (column,) if isinstance(column, str) else tuple(column)
        if not chosen:
            raise ValueError(f"no column of numbers is left beside {id!r}; name one with column=.")
        for name in chosen:
            if name not in numeric or name in (id, time):
                raise ValueError(f"column {name!r} has dtype {meta[name].dtype}; pass a column of numbers.")
        dates = time is not None and pandas.api.types.is_datetime64_any_dtype(meta[time].dtype)
        if time is not None and not dates and time not in numeric:
            raise ValueError(f"time={time!r} has dtype {meta[time].dtype}; pass a column of numbers or of dates.")
        return cls(id, chosen, time, dates, meta[id].dtype if id in names else meta.index.dtype)

    @property
    def wanted(self) -> list[str]:
        """The columns that are read."""
        return [self.id, *([self.time] if self.time else []), *self.columns]

    @property
    def tick(self) -> float:
        """The length of a tick in the unit of time: dates are kept in nanoseconds and count in seconds."""
        return 1e-9 if self.dates else 1.0

    def rows(self, frame: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Names of the series, where the rows of each end, values and ticks, the rows of a series side by side.

        Series come in the order in which they first appear, and their rows in the order of the frame.
        """
        pandas = dask_module("pandas")
        if self.id not in frame.columns:
            frame = frame.reset_index()
        codes, names = pandas.factorize(frame[self.id])
        if (codes < 0).any():
            row = int((codes < 0).argmax())
            raise ValueError(f"row {row} of a partition has no {self.id!r}; every row must name its series.")
        order = np.argsort(codes, kind="stable")
        values = np.column_stack([frame[name].to_numpy(dtype=float, na_value=np.nan) for name in self.columns])[order]
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            name = names[int(np.searchsorted(ends, row, side="right"))]
            raise ValueError(f"series {shorten(name)} holds an infinite number in {self.columns[column]!r}; remove it.")
        ticks = None
        if self.time is not None:
            cells = frame[self.time]
            if cells.isna().any():
                row = int(cells.isna().to_numpy().argmax())
                raise ValueError(f"row {row} of a partition, series {shorten(frame[self.id].iloc[row])}, has no time.")
            if self.dates:
                cells = cells.dt.tz_convert(None) if getattr(cells.dtype, "tz", None) is not None else cells
                cells = cells.astype("datetime64[ns]").astype("int64")
            ticks = cells.to_numpy(dtype="int64" if self.dates else float)[order]
        return np.asarray(names), ends, values, ticks

    def series(self, frame: Any) -> Iterator[SeriesRows]:
        """The series of a frame, one after the other."""
        names, ends, values, ticks = self.rows(frame)
        begin = 0
        for name, end in zip(names.tolist(), ends.tolist(), strict=True):
            yield SeriesRows(name, values[begin:end], None if ticks is None else ticks[begin:end])
            begin = end

    def steps(self, series: SeriesRows, last: float) -> np.ndarray | None:
        """How long each row holds, the last one for `last`; None without times."""
        return None if series.ticks is None else np.append(self.durations(series.name, series.ticks), last)

    def durations(self, name: Any, ticks: np.ndarray) -> np.ndarray:
        """The time from each row to the next; refused where it does not run forwards."""
        passed = np.diff(ticks)
        if (passed <= 0).any():
            at = int((passed <= 0).argmax())
            raise ValueError(
                f"series {shorten(name)}: after the time {ticks[at] * self.tick:.17g} comes "
                f"{ticks[at + 1] * self.tick:.17g} in {self.time!r}, which is not later; "
                f"sort the rows of each series by time, and keep one of a time."
            )
        return passed * self.tick
