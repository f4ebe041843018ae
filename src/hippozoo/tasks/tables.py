"""Tables of the user's own: chosen columns of a CSV or Parquet file, in chunks, checked row by row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._arguments import shorten

__all__ = ["Rows", "TableError", "read_table"]

CHUNK_ROWS = 65_536
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "csv", ".gz": "csv", ".parquet": "parquet", ".pq": "parquet"}


class TableError(ValueError):
    """A table cannot be used as it is; the message names the row, the column and what to do."""


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
    """

    first: int
    times: Float[np.ndarray, " rows"] | None
    values: Float[np.ndarray, "rows columns"]


@dataclass(frozen=True)
class Table:
    """A table that was opened: its columns of numbers, whether times are dates, and its rows, chunk by chunk."""

    columns: tuple[str, ...]
    dates: bool
    size: int
    chunks: Iterator[tuple[Rows, int]]


def read_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Table:
    r"""Open a table; its chunks come with the number of bytes read so far, and a file may be larger than memory.

    Parameters
    ----------
    path
        A .csv (also .tsv, .csv.gz) or .parquet file, with a header.
    columns
        The columns of numbers; by default every column but the time whose first rows are numbers.
    time
        The column of times, if there is one: numbers or dates.
    chunk_rows
        Rows per chunk.

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
    pandas = _pandas()
    path = Path(path)
    if not path.is_file():
        raise TableError(f"{path}: there is no such file; check the path.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty; pass a table with a header and rows.")
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise TableError(f"{path}: files ending in {path.suffix!r} are not read; pass a .csv or .parquet file.")
    frames = _csv(pandas, path, chunk_rows) if kind == "csv" else _parquet(pandas, path, chunk_rows)
    first, progress = next(frames, (None, 0))
    if first is None or not len(first):
        raise TableError(f"{path} has a header and no rows; pass a table with rows.")
    names = [str(name) for name in first.columns]
    for name in (*columns, *([time] if time else [])):
        if name not in names:
            raise TableError(f"{path} has no column {name!r}; it has {', '.join(map(repr, names[:20]))}.")
    chosen = tuple(columns) or tuple(n for n in names if n != time and _is_number(pandas, first[n]))
    if not chosen:
        raise TableError(f"{path} has no column of numbers; name one with --column.")
    dates = time is not None and not _is_number(pandas, first[time])

    def chunks() -> Iterator[tuple[Rows, int]]:
        row, last, frame, done = 1, -np.inf, first, progress
        while frame is not None:
            values = np.column_stack([_numbers(pandas, path, frame[name], name, row) for name in chosen])
            times = None
            if time is not None:
                times = _times(pandas, path, frame[time], time, row, dates)
                _check_order(path, times, frame[time], time, row, last)
                last = float(times[-1])
            yield Rows(row, times, values), done
            row += len(frame)
            frame, done = next(frames, (None, 0))

    return Table(chosen, dates, path.stat().st_size, chunks())


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise ImportError("tables are read by pandas, which is not installed; pip install 'hippozoo[data]'") from None
    return pandas


def _csv(pandas: Any, path: Path, chunk_rows: int) -> Iterator[tuple[Any, int]]:
    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        # As text, so that a word among numbers is found with its row, and empty cells stay empty.
        reader = pandas.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, chunksize=chunk_rows, skipinitialspace=True
        )
        with reader:
            for frame in reader:
                handle = getattr(getattr(reader, "handles", None), "handle", None)
                yield frame, _position(handle)
    except (pandas.errors.ParserError, UnicodeDecodeError, pandas.errors.EmptyDataError) as error:
        raise TableError(f"{path} is no table ({str(error).strip()}); pass a CSV file with one header line.") from None


def _position(handle: Any) -> int:
    raw = getattr(handle, "buffer", handle)
    try:
        return int(raw.tell())
    except (AttributeError, OSError, ValueError):
        return 0


def _parquet(pandas: Any, path: Path, chunk_rows: int) -> Iterator[tuple[Any, int]]:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise ImportError("Parquet is read by pyarrow, which is not installed; pip install 'hippozoo[data]'") from None
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:
        raise TableError(f"{path} is no Parquet file ({error}); pass a whole one.") from None
    size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
    for batch in file.iter_batches(batch_size=chunk_rows):
        frame = batch.to_pandas()
        done += len(frame)
        yield frame, size * done // rows


def _is_number(pandas: Any, cells: Any) -> bool:
    if cells.dtype.kind in "iufb":
        return True
    if cells.dtype.kind == "M":
        return False
    filled = cells[cells.astype(str).str.strip() != ""].head(50)
    return bool(len(filled)) and bool(pandas.to_numeric(filled, errors="coerce").notna().all())


def _numbers(pandas: Any, path: Path, cells: Any, name: str, row: int) -> np.ndarray:
    if cells.dtype.kind in "iufb":
        values = cells.to_numpy(dtype=float, na_value=np.nan)
    else:
        text = cells.astype(str).str.strip()
        missing = cells.isna() | text.str.lower().isin(["", "nan", "na", "null", "none", "n/a"])
        values = pandas.to_numeric(text.where(~missing), errors="coerce").to_numpy(dtype=float)
        wrong = np.isnan(values) & ~missing.to_numpy()
        if wrong.any():
            at = int(wrong.argmax())
            raise TableError(
                f"{path}, row {row + at}, column {name!r}: {shorten(cells.iloc[at])} is not a number; correct it, "
                f"or leave the cell empty if the value is missing."
            )
    if np.isinf(values).any():
        at = int(np.isinf(values).argmax())
        raise TableError(f"{path}, row {row + at}, column {name!r} is infinite; correct it, or leave the cell empty.")
    return values


def _times(pandas: Any, path: Path, cells: Any, name: str, row: int, dates: bool) -> np.ndarray:
    if dates:
        with warnings.catch_warnings():
            # Where no common format is found pandas says so and tries each cell by itself, which is what is wanted.
            warnings.simplefilter("ignore", UserWarning)
            moments = pandas.to_datetime(cells, errors="coerce", utc=True)
        seconds = moments.dt.as_unit("ns").astype("int64").to_numpy() / 1e9
        wrong = moments.isna().to_numpy()
    else:
        seconds = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=float)
        wrong = ~np.isfinite(seconds)
    if wrong.any():
        at = int(wrong.argmax())
        kind = "date" if dates else "number"
        raise TableError(
            f"{path}, row {row + at}, column {name!r}: {shorten(cells.iloc[at])} is not a {kind} like those before; "
            f"correct the time of this row."
        )
    return np.asarray(seconds, float)


def _check_order(path: Path, times: np.ndarray, cells: Any, name: str, row: int, last: float) -> None:
    steps = np.diff(times, prepend=last)
    if (steps > 0).all():
        return
    at = int((steps <= 0).argmax())
    what = "the same time as" if steps[at] == 0 else "an earlier time than"
    advice = "keep one row per time" if steps[at] == 0 else "sort the rows by time"
    raise TableError(
        f"{path}, row {row + at}, column {name!r}: {shorten(str(cells.iloc[at]))} is {what} the row before; {advice}."
    )
