"""Lines of text as records: what separates their cells, whether the first is a header, quotes, and JSON objects."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables.dates import date_format
from hippozoo.tables.numbers import is_missing, read_number, with_point
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["LONGEST", "Form", "Line", "join_quoted", "named_columns", "read_object", "recognise", "split", "surplus"]

# No row is longer; a longer line is a sign of damage, or of a file that is no table.
LONGEST = 1 << 20
# No quoted cell has more lines; more are a quote that was never closed.
_MOST_LINES = 50
# The beginning of a JSON array of objects, which is one value and not a row in each line.
_ARRAY = re.compile(r"\s*\[\s*(?:\{|$)")
_SPELLED = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


class Line(NamedTuple):
    """A line without its end, its number in the source (the first is 1), and the offset of the next one.

    `length` is its number of bytes where they are more than `LONGEST`; then its text is empty.
    """

    number: int
    text: str
    end: int = 0
    length: int = 0


class Form(NamedTuple):
    """How lines are cut: "csv" with a separator, names of columns and whether the first line holds them, or "json"."""

    kind: str
    separator: str = ","
    names: tuple[str, ...] = ()
    header: bool = True


def recognise(lines: Sequence[Line], source: str, named: Sequence[str] = ()) -> tuple[Form, list[Line]]:
    """How the first lines of a source are cut, and those of them that are records.

    A first line that holds all columns that somebody has `named` is a header.

    >>> form, records = recognise([Line(1, "time;flow"), Line(2, "0;1,5")], "pump.csv")
    >>> form.separator, form.names, records[0].text
    (';', ('time', 'flow'), '0;1,5')
    >>> recognise([Line(1, "2024-01-01,7"), Line(2, "2024-01-02,9"), Line(3, "2024-01-03,6")], "pump.csv")[0].names
    ('column 1', 'column 2')
    """
    filled = [line for line in lines if line.text.strip()]
    if not filled:
        raise TableError(Trouble("blank", Place(source)))
    if "\x00" in filled[0].text:
        raise TableError(Trouble("binary", Place(source)))
    if _ARRAY.match(filled[0].text):
        raise TableError(Trouble("array", Place(source), shlex.quote(source)))
    if filled[0].text.lstrip().startswith("{"):
        first = read_object(filled[0])
        if isinstance(first, Trouble):
            raise TableError(first._replace(place=first.place._replace(source=source)))
        return Form("json"), filled
    separator = _separator(filled, source)
    records, _ = join_quoted(filled, separator, ended=True)
    head = split(records[0].text, separator)
    if head is None:
        raise TableError(Trouble("quotes", Place(source, records[0].number)))
    names = named_columns(head)
    if not (named and set(named) <= set(names)):
        rows = [row for one in records[1:] if (row := split(one.text, separator)) is not None]
        if _is_row(head, [row for row in rows if len(row) == len(head)], separator):
            return Form("csv", separator, tuple(f"column {k + 1}" for k in range(len(head))), header=False), records
    return Form("csv", separator, tuple(names)), records[1:]


def _separator(lines: Sequence[Line], source: str) -> str:
    """The one separator that cuts the header, and most rows as the header."""
    fits: dict[str, int] = {}
    for one in _SPELLED:
        records, _ = join_quoted(lines, one, ended=True)
        rows = [split(record.text, one) for record in records]
        if rows[0] is not None and (width := len(named_columns(rows[0]))) > 1:
            fits[one] = sum(row is not None and surplus(row, width) == 0 for row in rows[1:])
    best = [one for one, count in fits.items() if count == max(fits.values())]
    if len(best) > 1:
        marks = " or ".join(_SPELLED[one] for one in best)
        raise TableError(Trouble("separator", Place(source), shorten(lines[0].text.strip()), more=(marks,)))
    return best[0] if best else ","


def surplus(record: Sequence[str], width: int) -> int:
    """How many fields are too many, or (below zero) missing; one empty field after the last is a habit of programs."""
    return len(record) - width - (len(record) == width + 1 and not record[-1].strip())


def named_columns(header: Sequence[str]) -> list[str]:
    """Names of columns, all different, in the way of pandas.

    >>> named_columns(["a", " b", "a", ""])
    ['a', 'b', 'a.1']
    """
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


def _is_row(head: Sequence[str], rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether a first line is a row like those below it: numbers under numbers, dates under dates.

    Some tables are meant to have numbers for names: years, or 0, 1, 2 as pandas writes them. So a number counts only
    if it is written like those of its column, with a fraction or without, and is no further from them than they are
    from each other.
    """
    if [one.strip() for one in head] == [str(place) for place in range(len(head))] or not rows:
        return False
    likely = [_is_like(one.strip(), [row[k].strip() for row in rows], separator) for k, one in enumerate(head)]
    return any(likely) and False not in likely


def _is_like(head: str, below: list[str], separator: str) -> bool | None:
    """Whether a cell is like those below it; None where it is empty."""
    if not head:
        return None
    filled = [cell for cell in below if not is_missing(cell)]
    number = read_number(_number_text(head, separator))
    if number is None or (filled and (date_format("", filled) or "").startswith("%")):
        form = date_format("", [head])
        return form is not None and bool(filled) and date_format("", filled) is not None
    known = [value for cell in filled if (value := read_number(_number_text(cell, separator))) is not None]
    values = np.array([value for value in known if np.isfinite(value)])
    if not len(values):
        return False
    whole = (values == np.floor(values)).mean()
    if whole == 1.0 if number != np.floor(number) else whole < 0.1:
        return False
    reach = max(np.ptp(values), abs(number) * 1e-3)
    return bool(values.min() - reach <= number <= values.max() + reach)


def _number_text(text: str, separator: str) -> str:
    return text if separator == "," else with_point(text)


def split(text: str, separator: str) -> list[str] | None:
    """The cells of a record; None if its quotes make no sense, or do not close."""
    if '"' not in text:  # nothing is quoted, and this is faster
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None


def read_object(line: Line) -> dict[str, Any] | Trouble:
    """The JSON object of a line, or why it is none."""
    try:
        cells = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        return Trouble("not JSON", Place(line=line.number), error)
    return cells if isinstance(cells, dict) else Trouble("not an object", Place(line=line.number), shorten(cells))


def join_quoted(lines: Sequence[Line], separator: str, *, ended: bool) -> tuple[list[Line], list[Line]]:
    r"""Records: lines, and where a quoted cell holds line breaks, several lines as one, with the number of the first.

    A quote that does not close within so many lines, or by the end of the source (`ended`), is that of its own line
    only: that line stays as it is, and the next ones are read as if it had none. Before the end, the lines of a record
    that is not whole are given back, to come again.

    >>> records, rest = join_quoted([Line(1, 'a,"b'), Line(2, 'c",d'), Line(3, 'e,"f')], ",", ended=False)
    >>> [one.text for one in records], [one.text for one in rest]
    (['a,"b\nc",d'], ['e,"f'])
    """
    found, at = [], 0
    while at < len(lines):
        first = lines[at]
        count = _span(lines, at, separator) if '"' in first.text else 1
        if not count and not ended and len(lines) - at < _MOST_LINES:
            return found, list(lines[at:])
        if count > 1:
            whole = lines[at : at + count]
            first = Line(first.number, "\n".join(line.text for line in whole), whole[-1].end)
        found.append(first)
        at += max(count, 1)
    return found, []


def _span(lines: Sequence[Line], at: int, separator: str) -> int:
    """How many lines the record has that begins here; 0 if its quotes do not close."""
    text = lines[at].text
    if lines[at].length or _closes(text, separator):
        return 1
    for count, line in enumerate(lines[at + 1 : at + 1 + _MOST_LINES], start=2):
        text += "\n" + line.text
        if not line.length and '"' in line.text and _closes(text, separator):
            return count
    return 0


def _closes(text: str, separator: str) -> bool:
    """Whether every quote that opens a cell is closed; one that stands where none may stand is another matter."""
    return split(text, separator) is not None or split(text + '"', separator) is None
