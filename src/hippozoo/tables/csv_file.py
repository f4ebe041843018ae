"""CSV files as text, in chunks: every cell under its own name, or a sentence about the row where that is not so."""

from __future__ import annotations

import csv
import gzip
import io
import shlex
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hippozoo._arguments import shorten
from hippozoo.tables.problem import TableError

__all__ = ["open_csv"]

_SPELLED = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
# So many lines say how columns are separated.
_LOOKED_AT = 50


def open_csv(pandas: Any, path: Path, chunk_rows: int, notes: list[str]) -> tuple[str, Iterator[tuple[Any, int]]]:
    """What separates the columns, and frames of text, each with the number of bytes read so far.

    What was skipped is added to `notes`.
    """
    chunks = _chunks(pandas, path, chunk_rows, notes)
    return str(next(chunks)), chunks


def _chunks(pandas: Any, path: Path, chunk_rows: int, notes: list[str]) -> Iterator[Any]:
    try:
        with path.open("rb") as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
            lines = io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="")  # pyright: ignore[reportArgumentType]
            head = list(islice(lines, _LOOKED_AT))
            separator = _separator(path, head)
            yield separator
            # `strict`, because a quote that never closes would swallow the rest of the file.
            reader = csv.reader(chain(head, lines), delimiter=separator, skipinitialspace=True, strict=True)
            header = _names(next((record for record in reader if record), []))
            if not header:
                raise TableError(f"{path} holds blank lines only; pass a table with a header and rows.")
            filled = _without_blank_end(reader, len(header), notes)
            row = 1
            while records := list(islice(filled, chunk_rows)):
                _fit(path, records, header, separator, row)
                yield pandas.DataFrame(records, columns=header, dtype=str), raw.tell()
                row += len(records)
    except UnicodeDecodeError as error:
        raise TableError(_other_encoding(path, error)) from None
    except csv.Error as error:
        raise TableError(f"{path} is no table ({error}); pass a CSV file with one header line.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path} is no whole gzip file ({error}); pack or copy it again.") from None


def _separator(path: Path, head: list[str]) -> str:
    """The one separator that cuts the header, and the rows as the header."""
    separators = "\t,;" if ".tsv" in path.suffixes else ",;\t"
    tables = {one: [r for r in csv.reader(head, delimiter=one, skipinitialspace=True) if r] for one in separators}
    cutting = [one for one, records in tables.items() if records and len(records[0]) > 1]
    if len(cutting) <= 1:
        return cutting[0] if cutting else separators[0]
    fitting = [one for one in cutting if all(_surplus(r, len(tables[one][0])) == 0 for r in tables[one])]
    if len(fitting) != 1:
        marks = " or ".join(_SPELLED[one] for one in cutting)
        raise TableError(
            f"{path}: its header {shorten(head[0].strip())} can be cut at {marks}, and its rows do not say which is "
            f"meant; rename the columns so that only the separator is left."
        )
    return fitting[0]


def _surplus(record: list[str], width: int) -> int:
    """How many fields are too many, or (below zero) missing; one empty field after the last is a habit of programs."""
    return len(record) - width - (len(record) == width + 1 and not record[-1].strip())


def _names(header: list[str]) -> list[str]:
    """Names of columns, all different, in the way of pandas."""
    if len(header) > 1 and not header[-1].strip():
        header = header[:-1]  # as in rows, an empty field after the last
    names: list[str] = []
    for place, text in enumerate(header):
        name = plain = text.strip() or f"Unnamed: {place}"
        again = 0
        while name in names:
            again += 1
            name = f"{plain}.{again}"
        names.append(name)
    return names


def _without_blank_end(records: Iterable[list[str]], width: int, notes: list[str]) -> Iterator[list[str]]:
    """Without blank lines, and without the rows of separators that spreadsheets write below a table.

    Between other rows such a row is one without values, as in a table of one column a row that is written "".
    """
    held = 0
    for record in records:
        if width > 1 and record and not any(field.strip() for field in record):
            held += record != [""]
        elif record:
            yield from ([""] * width for _ in range(held))
            held = 0
            yield record
    if held:
        rows = "a blank row" if held == 1 else f"{held} blank rows"
        notes.append(f"{rows} at the end of the table skipped")


def _fit(path: Path, records: list[list[str]], header: list[str], separator: str, row: int) -> None:
    """Give every record as many fields as the header, where that loses nothing."""
    width = len(header)
    for place, record in enumerate(records):
        if len(record) == width:
            continue
        if _surplus(record, width) > 0:
            raise TableError(
                f"{path}, row {row + place} has {len(record)} fields, but the header has {width}: "
                f"{', '.join(map(repr, header[:20]))}. Delete lines above the header, name every column in it, and "
                f"quote fields that hold {_SPELLED[separator]}."
            )
        # A short row ends early: what is not there is missing.
        records[place] = record[:width] + [""] * (width - len(record))


def _other_encoding(path: Path, error: UnicodeDecodeError) -> str:
    with path.open("rb") as raw:
        encoding = "utf-16" if raw.read(2) in (b"\xff\xfe", b"\xfe\xff") else "latin1"
    return (
        f"{path} is not UTF-8: it holds the byte 0x{error.object[error.start]:02x}. Save it as 'CSV UTF-8', or "
        f"convert it: iconv -f {encoding} -t utf-8 {shlex.quote(str(path))} > utf8.csv"
    )
