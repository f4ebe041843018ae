"""A table that is read chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._arguments import shorten
from hippozoo.tables.csv_file import open_csv
from hippozoo.tables.date_parts import date_parts, holds_hours, joined_dates, why_it_counts
from hippozoo.tables.headless import looks_like_a_row
from hippozoo.tables.numbers import Numbers, why_no_numbers
from hippozoo.tables.order import order_problem
from hippozoo.tables.parquet_file import NAMELESS_INDEX, open_parquet
from hippozoo.tables.problem import TableError
from hippozoo.tables.time_column import time_column
from hippozoo.tables.times import Times, holds_dates, holds_times_of_day, times_for
from hippozoo.tables.truths import all_as_numbers, as_numbers, holds_truths

__all__ = ["CHUNK_ROWS", "Rows", "Table", "import_pandas", "read_table"]

CHUNK_ROWS = 65_536
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "csv", ".gz": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True, eq=False)
class Rows:
    """A stretch of a table.

    Parameters
    ----------
    first
        The number of its first row; rows count from 1, the header not counted.
    times
        Seconds (for dates, since 1970) or plain numbers, strictly rising; None without a time column.
    values
        (rows, columns); NaN where a cell is empty.
    offsets
        How many seconds local time is ahead of UTC in each row; None where times name no zone.

    Examples
    --------
    >>> rows = Rows(1, np.array([0.0, 60.0]), np.array([[5.0], [np.nan]]))
    >>> rows.values.shape
    (2, 1)
    """

    first: int
    times: Float[np.ndarray, " rows"] | None
    values: Float[np.ndarray, "rows columns"]
    offsets: Float[np.ndarray, " rows"] | None = None


@dataclass(frozen=True)
class Table:
    """A table that was opened.

    Parameters
    ----------
    columns
        Its columns of numbers.
    dates
        Whether times are dates.
    size
        Bytes of the file.
    chunks
        Its rows, chunk by chunk, each with the bytes read so far.
    left_out
        The columns that nobody named and that hold no numbers, and why they are left out.
    time
        The column of times, if there is one.
    notes
        What was skipped, and what looks wrong; complete once all chunks were read.

    Examples
    --------
    >>> Table(("load",), dates=False, size=0, chunks=iter(())).left_out
    {}
    """

    columns: tuple[str, ...]
    dates: bool
    size: int
    chunks: Iterator[tuple[Rows, int]]
    left_out: Mapping[str, str] = field(default_factory=dict)
    time: str | None = None
    notes: list[str] = field(default_factory=list)


def read_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
    *,
    find_time: bool = False,
) -> Table:
    r"""Open a table; its chunks come with the number of bytes read so far, and a file may be larger than memory.

    Parameters
    ----------
    path
        A .csv (also .tsv, .csv.gz) or .parquet file, with a header. Columns are separated by commas, semicolons or
        tabs; with the latter two, numbers may have a decimal comma.
    columns
        The columns of numbers; by default every column but the time whose first rows are numbers and do not only
        count, as an index or a year does.
    time
        The column of times, if there is one: numbers, or dates as 2024-01-31 12:00, 20240131 or 31.1.2024. Dates such
        as 1/2/2024 are refused unless the rows say which number is the day.
    chunk_rows
        Rows per chunk.
    find_time
        Where no `time` is named, take the column of dates for it, if the table has one and no other like it; or join
        columns called year, month, day, hour, minute and second, as far as they are there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "load.csv"
    ...     _ = path.write_text("when,load\n2024-01-01 00:00,5\n2024-01-01 01:00,\n2024-01-01 02:00,7\n")
    ...     table = read_table(path, time="when")
    ...     rows, _ = next(table.chunks)
    >>> table.columns, rows.values[:, 0].tolist(), np.diff(rows.times).tolist()
    (('load',), [5.0, nan, 7.0], [3600.0, 3600.0])
    """
    pandas = import_pandas()
    path = Path(path)
    if not path.is_file():
        raise TableError(f"{path}: there is no such file; check the path.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty; pass a table with a header and rows.")
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise TableError(f"{path}: files ending in {path.suffix!r} are not read; pass a .csv or .parquet file.")
    notes: list[str] = []
    if kind == "csv":
        separator, frames = open_csv(pandas, path, chunk_rows, notes)
    else:
        separator, frames = ",", open_parquet(path, chunk_rows)
    first, progress = next(frames, (None, 0))
    if first is None or not len(first):
        raise TableError(f"{path} has a header and no rows; pass a table with rows.")
    names = [str(name) for name in first.columns]
    for name in (*columns, *([time] if time else [])):
        if name not in names:
            uncut = _uncut(names, kind)
            raise TableError(f"{path} has no column {name!r}; it has {', '.join(map(repr, names[:20]))}.{uncut}")
    numbers = Numbers(pandas, path, separator, named=bool(columns))
    truths = [name for name in names if name != time and holds_truths(first[name])]
    if truths:
        first, frames = as_numbers(first, truths), all_as_numbers(frames, truths)
    found, parts = time is None and find_time, {}
    if found:
        free = [name for name in names if name not in columns]
        time = time_column(pandas, path, first, free, numbers)
        parts = date_parts(pandas, first, free) if time is None else {}
        if parts:
            time = " ".join(parts.values())
            first, frames = _with_times(pandas, first, time, parts), _all_with_times(pandas, frames, time, parts)
    # Who names columns by their numbers knows that these are names.
    headed_by_date = time is not None and holds_dates(pandas, path, time, pandas.Series([time]), numbers)
    if headed_by_date or (kind == "csv" and not columns and looks_like_a_row(pandas, first, names, separator)):
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        notes.append(
            f"the first line, {', '.join(map(repr, names[:20]))}{more}, was taken for the header; is it a row? Then "
            f"write a line with names above it"
        )
    left_out = {} if columns else _without_numbers(pandas, first, [name for name in names if name != time], separator)
    left_out |= {} if columns else dict.fromkeys(parts.values(), f"it is part of the times, {time!r}")
    chosen = tuple(columns) or tuple(name for name in names if name != time and name not in left_out)
    if not chosen:
        raise TableError(
            f"{path} has no column of numbers under its header {', '.join(map(repr, names[:20]))}: "
            f"{'; '.join(f'{name!r}: {why}' for name, why in list(left_out.items())[:5])}. Correct these cells, delete "
            f"rows that are no samples (units), or correct the header if it is none.{_uncut(names, kind)}"
        )
    notes.extend(f"{name!r} holds True and False, which are read as 1 and 0" for name in truths if name in chosen)
    with _told_how_found(time if found else None):
        times = None if time is None else times_for(pandas, path, time, first[time], numbers)
    chunks = _chunks(first, progress, frames, chosen, numbers, times, found)
    return Table(chosen, times is not None and times.dates, path.stat().st_size, chunks, left_out, time, notes)


def _chunks(
    frame: Any,
    done: int,
    frames: Iterator[tuple[Any, int]],
    columns: tuple[str, ...],
    numbers: Numbers,
    times: Times | None,
    found: bool,
) -> Iterator[tuple[Rows, int]]:
    row, before = 1, np.empty(0)
    while frame is not None:
        moments = offsets = None
        if times is not None:
            with _told_how_found(times.name if found else None):
                moments, offsets = times.read(frame[times.name], row)
                wall_clock = times.dates and offsets is None
                problem = order_problem(moments, before, wall_clock=wall_clock)
                if problem:
                    # What else may tell the rows apart is looked for only where it is needed.
                    others = [name for name in map(str, frame) if name != times.name]
                    clock, series = _clock(numbers.pandas, frame, others), _series(frame, times.name, others, numbers)
                    problem = (
                        order_problem(moments, before, wall_clock=wall_clock, time_of_day=clock, series=series)
                        or problem
                    )
                    at, said = problem
                    cell = shorten(str(frame[times.name].iloc[at]))
                    raise TableError(f"{numbers.path}, row {row + at}, column {times.name!r}: {cell} {said}")
            before = np.concatenate([before, moments])[-2:]
        values = np.column_stack([numbers.read(frame[name], name, row) for name in columns])
        yield Rows(row, moments, values, offsets), done
        row += len(frame)
        frame, done = next(frames, (None, 0))


def _clock(pandas: Any, frame: Any, names: list[str]) -> str:
    """A column of times of day, or of hours; empty without one."""
    found = (n for n in names if holds_times_of_day(frame[n]) or holds_hours(pandas, n, frame[n]))
    return next(found, "")


def _series(frame: Any, time: str, names: list[str], numbers: Numbers) -> str:
    """A column that names the series of each row: few names that come again, and each only once at a time."""
    fitting = [
        name
        for name in names
        if 1 < frame[name].nunique() <= len(frame) / 2 and not frame.duplicated([time, name]).any()
    ]
    # Names are words more often than numbers, and measured numbers may differ at every time by chance.
    words = [name for name in fitting if why_no_numbers(numbers.pandas, frame[name], numbers.separator)]
    return next(iter(words or [name for name in fitting if _are_whole(numbers.pandas, frame[name])]), "")


def _are_whole(pandas: Any, cells: Any) -> bool:
    values = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=float)
    return bool((values == np.floor(values)).all())


def _with_times(pandas: Any, frame: Any, name: str, parts: Mapping[str, str]) -> Any:
    return frame.assign(**{name: joined_dates(pandas, frame, parts)})


def _all_with_times(
    pandas: Any, frames: Iterator[tuple[Any, int]], name: str, parts: Mapping[str, str]
) -> Iterator[tuple[Any, int]]:
    for frame, done in frames:
        yield _with_times(pandas, frame, name, parts), done


def import_pandas() -> Any:
    """The library pandas, or a sentence on how to get it."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise ImportError("tables are read by pandas, which is not installed; pip install 'hippozoo[data]'") from None
    return pandas


@contextmanager
def _told_how_found(name: str | None) -> Iterator[None]:
    """Add to what is wrong with a column of times that nobody named it, and how to go on without it."""
    try:
        yield
    except TableError as error:
        if name is None:
            raise
        raise TableError(
            f"{error} Column {name!r} was taken for the times because it holds dates; --time names another, and "
            f"--no-time takes the rows as even steps."
        ) from None


def _uncut(names: list[str], kind: str) -> str:
    told = " Columns are cut at commas, semicolons or tabs, and its header has none of them."
    return told if kind == "csv" and len(names) == 1 and len(names[0].split()) > 1 else ""


def _without_numbers(pandas: Any, frame: Any, names: list[str], separator: str) -> dict[str, str]:
    reasons = {
        name: "it is an index of pandas; name it with --column to forecast it"
        if name.startswith(NAMELESS_INDEX) or _counts_rows(name, frame[name])
        else why_no_numbers(pandas, frame[name], separator) or why_it_counts(pandas, name, frame[name])
        for name in names
    }
    if len(reasons) and all(reasons.values()):
        # Where nothing else is left, what counts is all there is to forecast.
        reasons = {name: why_no_numbers(pandas, frame[name], separator) for name in names}
    return {name: why for name, why in reasons.items() if why}


def _counts_rows(name: str, cells: Any) -> bool:
    """Whether it is what pandas writes into a CSV file before the first column, without a name: 0, 1, 2."""
    return name == "Unnamed: 0" and cells.astype(str).str.strip().tolist() == list(map(str, range(len(cells))))
