"""A table that is read chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo.tables.infer import LOOKED_AT, Inferred, infer
from hippozoo.tables.numbers import Cells, read_column
from hippozoo.tables.pieces import open_parquet, open_text
from hippozoo.tables.records import Form
from hippozoo.tables.schema import Schema, cell_trouble, time_trouble
from hippozoo.tables.stacked import order_problem
from hippozoo.tables.trouble import KINDS, Place, TableError, Trouble, unusable

__all__ = ["CHUNK_ROWS", "Rows", "Table", "open_table", "read_rows", "read_table"]

CHUNK_ROWS = 65_536
_TEXT = frozenset({".csv", ".txt", ".tsv", ".dat", ".log", ".jsonl", ".ndjson", ".json", ".gz", ""})
_PARQUET = frozenset({".parquet", ".pq"})

Piece = tuple[dict[str, Cells], int]


@dataclass(frozen=True, eq=False)
class Rows:
    """A stretch of a table.

    >>> Rows(1, np.array([0.0, 60.0]), np.array([[5.0], [np.nan]])).values.shape
    (2, 1)
    """

    first: int  # the number of its first row; rows count from 1, the header not counted
    times: Float[np.ndarray, " rows"] | None  # seconds (of dates, since 1970) or plain numbers, strictly rising
    values: Float[np.ndarray, "rows columns"]  # NaN where a cell is empty
    offsets: Float[np.ndarray, " rows"] | None = None  # seconds of local time ahead of UTC; None where no zone is named

    def part(self, begin: int, end: int | None = None) -> Rows:
        """Those from one place to another."""
        times, offsets = (None if one is None else one[begin:end] for one in (self.times, self.offsets))
        return Rows(self.first + begin, times, self.values[begin:end], offsets)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts, one after the other."""
        times = [one.times for one in parts if one.times is not None]
        offsets = [one.offsets for one in parts if one.offsets is not None]
        return cls(
            parts[0].first,
            np.concatenate(times) if len(times) == len(parts) else None,
            np.concatenate([one.values for one in parts]),
            np.concatenate(offsets) if len(offsets) == len(parts) else None,
        )


@dataclass(frozen=True)
class Table:
    """A table that was opened.

    >>> Table(("load",), dates=False, size=0, chunks=iter(())).left_out
    {}
    """

    columns: tuple[str, ...]  # those of numbers
    dates: bool  # whether times are dates
    size: int  # bytes of the file
    chunks: Iterator[tuple[Rows, int]]  # its rows, each chunk with the bytes read so far
    left_out: Mapping[str, Trouble] = field(default_factory=dict)  # columns that hold no numbers, and why
    time: str | None = None  # the column of times, if there is one
    # What was skipped, and what looks wrong, lost times first; complete once all chunks were read.
    notes: list[Trouble] = field(default_factory=list)


def read_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
    *,
    find_time: bool = False,
    name: str = "",
    inputs: Sequence[str] = (),
) -> Table:
    r"""Open a table; its chunks come with the number of bytes read so far, and a file may be larger than memory.

    Parameters
    ----------
    path
        A CSV file (also .tsv, .csv.gz), a .jsonl file of one object in each line, or a .parquet file. Columns of CSV
        are separated by commas, semicolons, tabs or bars; but for the first, numbers may have a decimal comma.
    columns
        The columns of numbers; by default every column but the time whose first rows are numbers and do not only
        count, as an index or a year does.
    time
        The column of times, if there is one: numbers, or dates as 2024-01-31 12:00, 20240131, 31.1.2024, 1998 Q1 or
        2024-W05. Dates such as 1/2/2024 are refused unless the rows say which number is the day.
    chunk_rows
        Rows per chunk.
    find_time
        Where no `time` is named, take the column of dates for it, if the table has one and no other like it; or join
        columns called year, quarter, month, day, hour and so on, as far as they are there.
    name
        What to call the table in messages; its path if left out.
    inputs
        Further columns of numbers, which stand after the others in each row.

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
    source = name or str(path)
    found, pieces = open_table(path, columns, time, chunk_rows, find_time=find_time, source=source, inputs=inputs)
    schema = found.schema
    targets = tuple(name for name in schema.columns if name not in inputs)
    chunks = _chunks(pieces, schema, source, named=bool(columns or inputs), found=time is None and find_time)
    size = Path(path).stat().st_size
    return Table(targets, schema.dates, size, chunks, found.left_out, schema.time, found.notes)


def open_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
    *,
    find_time: bool = False,
    source: str = "",
    series: Sequence[str] = (),
    inputs: Sequence[str] = (),
) -> tuple[Inferred, Iterator[Piece]]:
    """How a table is read, and its cells in pieces; arguments as of `read_table` and `infer`."""
    path = Path(path)
    source = source or str(path)
    if not path.is_file():
        raise TableError(Trouble("no file", Place(source)))
    if path.stat().st_size == 0:
        raise TableError(Trouble("empty file", Place(source)))
    suffix, skipped = path.suffix.lower(), []
    if suffix in _PARQUET:
        form, pieces = Form("parquet"), open_parquet(path, chunk_rows, source)
    elif suffix in _TEXT:
        named = [*columns, *inputs, *series, *([time] if time else [])]
        form, pieces = open_text(path, chunk_rows, named, source, skipped)
    else:
        raise TableError(Trouble("ending", Place(source), repr(path.suffix)))
    first: list[Piece] = []
    rows = 0
    for piece in pieces:
        first.append(piece)
        rows += _length(piece[0])
        if rows >= LOOKED_AT:
            break
    if not rows:
        raise TableError(Trouble("no rows", Place(source)))
    cells, left_out = _together([cells for cells, _ in first]), None
    if inputs and not columns:
        looked = infer(cells, form, source, (), time, find_time=find_time, series=series)
        columns = [name for name in looked.schema.columns if name not in inputs]
        left_out = {name: why for name, why in looked.left_out.items() if name not in inputs}
        if not columns:
            raise unusable(
                source, f"all its columns of numbers are inputs ({', '.join(inputs)}); leave one to forecast"
            )
    found = infer(cells, form, source, (*columns, *inputs), time, find_time=find_time, series=series)
    found = found if left_out is None else found._replace(left_out=left_out)
    # What is skipped at the end of the file is known at its end.
    skipped[:0] = found.notes
    return found._replace(notes=skipped), chain(first, pieces)


def _length(cells: Mapping[str, Cells]) -> int:
    return len(next(iter(cells.values()))) if cells else 0


def _together(pieces: Sequence[Mapping[str, Cells]]) -> Mapping[str, Cells]:
    if len(pieces) == 1:
        return pieces[0]
    return {name: [cell for piece in pieces for cell in piece[name]] for name in pieces[0]}


def read_rows(schema: Schema, cells: Mapping[str, Cells], row: int, source: str, *, named: bool = True) -> Rows:
    """A piece of a table as numbers; the first cell that is wrong is refused with its row.

    `row` is the number of its first row; where the columns were not `named`, that is part of the advice.
    """
    times, offsets = _times(schema, cells, row, source)
    values = np.empty((_length(cells), len(schema.columns)))
    for c, name in enumerate(schema.columns):
        values[:, c], troubles = read_column(cells[name], schema.marks)
        if troubles:
            at, kind = troubles[0]
            trouble = cell_trouble(kind, Place(source, row=row + at, column=name), cells[name][at])
            if kind == "not a number" and not named:
                trouble = trouble._replace(advice=f"{KINDS[kind][2]}, or name the columns to forecast with --column")
            raise TableError(trouble)
    return Rows(row, times, values, offsets)


def _times(
    schema: Schema, cells: Mapping[str, Cells], row: int, source: str
) -> tuple[np.ndarray | None, np.ndarray | None]:
    if schema.times is None:
        return None, None
    written = schema.times.cells(cells)
    moments = list(map(schema.times.read, written))
    for at, (cell, moment) in enumerate(zip(written, moments, strict=True)):
        trouble = time_trouble(schema, cell, moment, Place(source, row=row + at))
        if trouble is not None:
            raise TableError(trouble)
    known = [moment for moment in moments if moment is not None]
    times = np.array([moment[0] for moment in known], float)
    if not schema.dates:
        _, troubles = read_column(written, ",.")
        if troubles:
            at, kind = troubles[0]
            raise TableError(cell_trouble(kind, Place(source, row=row + at, column=schema.time or ""), written[at]))
    return times, np.array([moment[1] for moment in known], float) if schema.zoned else None


def _chunks(
    pieces: Iterator[Piece], schema: Schema, source: str, *, named: bool, found: bool
) -> Iterator[tuple[Rows, int]]:
    row, before = 1, np.empty(0)
    for cells, done in pieces:
        try:
            rows = read_rows(schema, cells, row, source, named=named)
            if rows.times is not None:
                _demand_order(rows, before, schema, cells, source)
                before = np.concatenate([before, rows.times])[-2:]
        except TableError as error:
            if not found or error.trouble is None or error.trouble.place.column != schema.time:
                raise
            said = error.trouble.advice or KINDS[error.trouble.kind][2]
            more = "--time names another column of times, and --no-time takes the rows as even steps"
            raise TableError(error.trouble._replace(advice=f"{said}; {more}")) from None
        yield rows, done
        row += len(rows.values)


def _demand_order(rows: Rows, before: np.ndarray, schema: Schema, cells: Mapping[str, Cells], source: str) -> None:
    assert rows.times is not None
    assert schema.times is not None
    others = [name for name in cells if name not in schema.times.columns]
    wall_clock = schema.dates and rows.offsets is None
    problem = order_problem(rows.times, before, {name: cells[name] for name in others}, wall_clock=wall_clock)
    if problem is not None:
        at, kind, advice = problem
        given = shorten(str(schema.times.cells(cells)[at]))
        raise TableError(Trouble(kind, Place(source, row=rows.first + at, column=schema.time or ""), given, advice))
