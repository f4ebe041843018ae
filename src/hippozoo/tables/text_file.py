"""Text files as columns, in pieces: every cell under its own name, or a trouble with the row where that is not so."""

from __future__ import annotations

import gzip
import io
import shlex
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hippozoo.tables.infer import LOOKED_AT
from hippozoo.tables.numbers import Cells
from hippozoo.tables.records import Form, Line, join_quoted, read_object, recognise, split, surplus
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["open_text"]

# Lines that are cut at once.
_AT_ONCE = 4096


def open_text(
    path: Path, chunk_rows: int, named: Sequence[str], source: str, notes: list[Trouble]
) -> tuple[Form, Iterator[tuple[dict[str, Cells], int]]]:
    """How a file is cut, and its columns, each piece with the number of bytes read so far.

    What was skipped is added to `notes`.
    """
    pieces = _pieces(path, chunk_rows, named, source, notes)
    form = next(pieces)
    assert isinstance(form, Form)
    return form, pieces  # pyright: ignore[reportReturnType]


def _pieces(
    path: Path, chunk_rows: int, named: Sequence[str], source: str, notes: list[Trouble]
) -> Iterator[Form | tuple[dict[str, Cells], int]]:
    try:
        with path.open("rb") as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
            text = io.TextIOWrapper(unpacked, encoding="utf-8-sig")  # pyright: ignore[reportArgumentType]
            lines = (Line(number, line.rstrip("\n")) for number, line in enumerate(text, start=1))
            head = list(islice(lines, LOOKED_AT))
            form, _ = recognise(head, source, named)
            yield form
            rows = _Rows(form, source)
            records, rest = _records(head, form, ended=False)
            rows.add(records[1:] if form.kind == "csv" and form.header else records)
            while True:
                while len(rows.waiting) >= chunk_rows:
                    yield rows.take(chunk_rows), raw.tell()
                more = list(islice(lines, _AT_ONCE))
                if not more and not rest:
                    break
                records, rest = _records([*rest, *more], form, ended=not more)
                rows.add(records)
            if rows.waiting:
                yield rows.take(chunk_rows), raw.tell()
            if rows.blank:
                notes.append(Trouble("blank end", Place(source), rows.blank))
    except UnicodeDecodeError as error:
        raise TableError(_other_encoding(path, source, error)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(Trouble("gzip", Place(source), error)) from None


def _records(lines: Sequence[Line], form: Form, *, ended: bool) -> tuple[list[Line], list[Line]]:
    """Whole records, and the lines of one that is not whole yet."""
    filled = [line for line in lines if line.text.strip()]
    return (filled, []) if form.kind == "json" else join_quoted(filled, form.separator, ended=ended)


class _Rows:
    """Rows that were cut and wait for their chunk."""

    def __init__(self, form: Form, source: str) -> None:
        self.form, self.source = form, source
        self.names = list(form.names)
        self.waiting: list[list[Any]] = []
        self.row = 0  # rows cut so far
        # Rows of separators, as spreadsheets write them below a table; between rows they are samples without values.
        self.blank = 0

    def add(self, records: Sequence[Line]) -> None:
        """Cut more records."""
        for place, line in enumerate(records, start=1):
            if "\x00" in line.text:
                row = 0 if self.form.kind == "json" else self.row + place
                cells = [] if self.form.kind == "json" else line.text.split(self.form.separator)
                column = next((name for name, cell in zip(self.names, cells, strict=False) if "\x00" in cell), "")
                raise TableError(Trouble("not text", Place(self.source, line.number, row, column)))
        if self.form.kind == "json":
            objects = [self._object(line) for line in records]
            self.names = self.names or list(dict.fromkeys(str(name) for one in objects for name in one))
            self.waiting += [[one.get(name) for name in self.names] for one in objects]
            return
        separator, width = self.form.separator, len(self.names)
        for line in records:
            self.row += 1
            cells = split(line.text, separator)
            if cells is None:
                raise TableError(Trouble("quotes", Place(self.source, line.number)))
            if len(cells) != width:
                if surplus(cells, width) > 0:
                    raise TableError(Trouble("cells", Place(self.source, row=self.row), len(cells), more=(width,)))
                # A short row ends early: what is not there is missing.
                cells = cells[:width] + [""] * (width - len(cells))
            if width > 1 and not any(map(str.strip, cells)):
                self.blank += 1
                continue
            if self.blank:
                self.waiting += [[""] * width] * self.blank
                self.blank = 0
            self.waiting.append(cells)

    def _object(self, line: Line) -> dict[str, Any]:
        found = read_object(line)
        if isinstance(found, Trouble):
            raise TableError(found._replace(place=Place(self.source, line.number)))
        return found

    def take(self, count: int) -> dict[str, Cells]:
        """The next chunk, by column."""
        chunk, self.waiting = self.waiting[:count], self.waiting[count:]
        return {name: list(cells) for name, cells in zip(self.names, zip(*chunk, strict=True), strict=True)}


def _other_encoding(path: Path, source: str, error: UnicodeDecodeError) -> Trouble:
    with path.open("rb") as raw:
        encoding = "utf-16" if raw.read(2) in (b"\xff\xfe", b"\xfe\xff") else "latin1"
    byte = error.object[error.start]
    return Trouble("encoding", Place(source), byte, more=(encoding, shlex.quote(source)))
