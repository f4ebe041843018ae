"""Files as columns, in pieces: every cell under its own name, or a trouble with the row where that is not so."""

from __future__ import annotations

import gzip
import io
import shlex
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.extras import needs
from hippozoo.tables.infer import LOOKED_AT
from hippozoo.tables.numbers import EXACT, Cells
from hippozoo.tables.records import Form, Line, join_quoted, read_object, recognise, split, surplus
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["open_parquet", "open_text"]

# Lines that are cut at once.
_AT_ONCE = 4096


def open_text(
    path: Path, chunk_rows: int, named: Sequence[str], source: str, notes: list[Trouble]
) -> tuple[Form, Iterator[tuple[dict[str, Cells], int]]]:
    """How a file is cut, and its columns in pieces, each with the bytes read so far; `notes` get what was skipped."""
    lines = _lines(path, source)
    head = list(islice(lines, LOOKED_AT))
    form, _ = recognise(head, source, named)
    records = _records(chain(head, lines), form)
    if form.kind == "json":
        first = list(islice(records, LOOKED_AT))
        names = tuple(dict.fromkeys(str(name) for line in first for name in _object(line, source)))
        objects = ((_object(line, source), line.end) for line in chain(first, records))
        rows = (([cells.get(name) for name in names], end) for cells, end in objects)
        return form, _pieces(rows, names, chunk_rows)
    return form, _pieces(_cut(islice(records, int(form.header), None), form, source, notes), form.names, chunk_rows)


def _lines(path: Path, source: str) -> Iterator[Line]:
    """Lines, each with about the bytes read so far; what the file is to blame for is a trouble."""
    try:
        with path.open("rb") as raw:
            end = 0
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
            text = io.TextIOWrapper(unpacked, encoding="utf-8-sig")  # pyright: ignore[reportArgumentType]
            for number, line in enumerate(text, start=1):
                if number % _AT_ONCE == 1:
                    end = raw.tell()
                yield Line(number, line.rstrip("\n"), end)
    except UnicodeDecodeError as error:
        with path.open("rb") as raw:
            encoding = "utf-16" if raw.read(2) in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        more = (encoding, shlex.quote(source))
        raise TableError(Trouble("encoding", Place(source), error.object[error.start], more=more)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(Trouble("gzip", Place(source), error)) from None


def _records(lines: Iterator[Line], form: Form) -> Iterator[Line]:
    """Lines that are not blank, those of a quoted cell joined."""
    filled = (line for line in lines if line.text.strip())
    if form.kind == "json":
        yield from filled
        return
    rest: list[Line] = []
    while (more := list(islice(filled, _AT_ONCE))) or rest:
        records, rest = join_quoted([*rest, *more], form.separator, ended=not more)
        yield from records


def _object(line: Line, source: str) -> dict[str, Any]:
    found = Trouble("not text", Place()) if "\x00" in line.text else read_object(line)
    if isinstance(found, Trouble):
        raise TableError(found._replace(place=Place(source, line.number)))
    return found


def _cut(records: Iterator[Line], form: Form, source: str, notes: list[Trouble]) -> Iterator[tuple[list[Any], int]]:
    """The cells of each row, with the bytes read so far."""
    separator, width = form.separator, len(form.names)
    # Rows of separators, as spreadsheets write them below a table; between rows they are samples without values.
    blank = 0
    for row, line in enumerate(records, start=1):
        if "\x00" in line.text:
            named = zip(form.names, line.text.split(separator), strict=False)
            column = next((name for name, cell in named if "\x00" in cell), "")
            raise TableError(Trouble("not text", Place(source, line.number, row, column)))
        cells = split(line.text, separator)
        if cells is None:
            raise TableError(Trouble("quotes", Place(source, line.number)))
        if len(cells) != width:
            if surplus(cells, width) > 0:
                raise TableError(Trouble("cells", Place(source, row=row), len(cells), more=(width,)))
            # A short row ends early: what is not there is missing.
            cells = cells[:width] + [""] * (width - len(cells))
        if width > 1 and not (cells[0].strip() or any(map(str.strip, cells))):
            blank += 1
            continue
        for _ in range(blank):
            yield [""] * width, line.end
        blank = 0
        yield cells, line.end
    if blank:
        notes.append(Trouble("blank end", Place(source), blank))


def _pieces(
    rows: Iterator[tuple[list[Any], int]], names: Sequence[str], chunk_rows: int
) -> Iterator[tuple[dict[str, Cells], int]]:
    while chunk := list(islice(rows, chunk_rows)):
        cells, ends = zip(*chunk, strict=True)
        yield {name: list(column) for name, column in zip(names, zip(*cells, strict=True), strict=True)}, ends[-1]


def open_parquet(path: Path, chunk_rows: int, source: str) -> Iterator[tuple[dict[str, Cells], int]]:
    """Columns, each piece with about the number of bytes read so far; an index that pandas wrote is one like others."""
    parquet = needs("pyarrow.parquet", extra="data", feature="reading Parquet")
    with _readable(source):
        # Where a file has checksums, they are looked at.
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
        batches = file.iter_batches(batch_size=chunk_rows)
    while True:
        with _readable(source):
            batch = next(batches, None)
            if batch is None:
                return
            names, columns = batch.schema.names, batch.columns
            cells = {str(name): _cells(column) for name, column in zip(names, columns, strict=True)}
        done += batch.num_rows
        yield cells, size * done // rows


def _cells(column: Any) -> Cells:
    """Numbers as an array, NaN where missing; all else as Python's own values, times to the microsecond."""
    from pyarrow import float64, timestamp, types

    compute: Any = needs("pyarrow.compute", extra="data", feature="reading Parquet")
    kind = column.type
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if types.is_timestamp(kind):
        return column.cast(timestamp("us", kind.tz), safe=False).to_pylist()
    if types.is_integer(kind) and len(column):
        bounds = compute.min_max(column).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) >= EXACT:
            return column.to_pylist()
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.array(column.cast(float64(), safe=False).to_numpy(zero_copy_only=False), float)
    return column.to_pylist()


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Whatever pyarrow makes of a damaged file, the caller learns that the file is to blame."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise TableError(Trouble("parquet", Place(source), reason)) from None
