"""Lines as readings: a time and one number per column, or a sentence that says why a line is none."""

from __future__ import annotations

import csv
import difflib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hippozoo._arguments import shorten
from hippozoo.tables.numbers import decimal_mark, mark_in, with_point
from hippozoo.watch_command.cells import ABSENT, is_missing, read_number, read_value, value_reader
from hippozoo.watch_command.lines import Line
from hippozoo.watch_command.problem import WatchError
from hippozoo.watch_command.time_column import Times, find_times

__all__ = ["Header", "Layout", "Reading", "layout_for"]


class Reading(NamedTuple):
    """One line: its number, its time (None where the source has none), its values (NaN where missing), its troubles."""

    line: int
    time: float | None
    values: tuple[float, ...]
    troubles: tuple[str, ...] = ()


class Header(NamedTuple):
    """A header in the middle: its names, by which the rows after it are read, and a sentence about it."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Layout:
    """How the lines of a source are read.

    Parameters
    ----------
    kind
        ``"csv"`` or ``"json"``.
    names
        All column names of a CSV file, in order; empty for JSON.
    columns
        The columns that are watched.
    time
        The column that holds times, or None: then every reading is one step.
    dates
        Whether times are dates (seconds since 1970, read as UTC where no zone is given) or plain numbers.
    separator
        Of a CSV file.
    written
        How dates are written, where it is not ISO 8601; as of `Times`.
    marks
        The decimal marks that numbers may have.
    """

    kind: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    time: str | None
    dates: bool
    separator: str = ","
    written: str = ""
    marks: str = "."

    def as_settings(self) -> dict[str, Any]:
        """What a database keeps of it; not what came later and is as before, so that older ones are the same."""
        return {name: value for name, value in asdict(self).items() if name not in _LATER or value != _LATER[name]}

    def read(self, line: Line) -> Reading | Header | str | None:
        """The reading of a line; a sentence if it is none; None for an empty line or the header in the first one."""
        if not line.text.strip():
            return None
        if "\x00" in line.text:
            return f"line {line.number} holds bytes that are not text; the row is left out."
        if self.kind == "json":
            found = self._json_cells(line)
            if not isinstance(found, dict):
                return found
            told = found.get(self.time) if self.time is not None else None
            cells = [found.get(name, ABSENT) for name in self.columns]
        else:
            row = _split(line.text, self.separator)
            if row is None:
                return f"line {line.number} cannot be read as CSV: its quotes do not close; the row is left out."
            if self._mark in line.text:
                header = self._header(line, row)
                if header is not None:
                    return header if header.text else None
            if len(row) != len(self.names):
                return (
                    f"line {line.number} has {len(row)} cells, and the header {len(self.names)}; the row is left out."
                )
            at, places = self._places
            told, cells = row[at], [None if place is None else row[place] for place in places]
        time: float | None = None
        if self.time is not None:
            time = self._read_time(with_point(told.strip()) if self.marks != "." and isinstance(told, str) else told)
            if time is None and is_missing(told):
                return f"line {line.number}: there is no time; the row is left out."
            if time is None:
                wanted = "a date such as 2024-01-31 12:00" if self.dates else "a number"
                wanted = "a date like those before" if self.written else wanted
                return f"line {line.number}: the time {shorten(told)} is not {wanted}; the row is left out."
        values, troubles = [], []
        for name, cell in zip(self.columns, cells, strict=True):
            value, trouble = self._read_value(cell)
            values.append(value)
            if trouble:
                troubles.append(f"line {line.number}, column {name!r}: {trouble}; it counts as missing.")
        return Reading(line.number, time, tuple(values), tuple(troubles))

    @property
    def _mark(self) -> str:
        """A name that every header has."""
        return self.columns[0] if self.time is None else self.time

    def _header(self, line: Line, row: Sequence[str]) -> Header | None:
        """The header that a row is: the same once more, as when files are put together, or another one."""
        names = tuple(cell.strip() for cell in row)
        if (
            self._mark not in names
            or len(set(names)) < len(names)
            or any(read_number(name) is not None for name in names)
        ):
            return None
        gone = ", ".join(repr(name) for name in self.columns if name not in names)
        if names == self.names:
            text = "is the header once more; it is skipped."
        elif gone:
            text = f"is a header without {gone}; rows are read by it from here on, and {gone} counts as missing."
        else:
            text = "is another header; rows are read by it from here on."
        first = line.number == 1 and not gone  # where a header belongs
        return Header(names, "" if first and names == self.names else f"line {line.number} {text}")

    @cached_property
    def _read_time(self) -> Callable[[Any], float | None]:
        return Times(self.dates, self.written).reader()

    @cached_property
    def _read_value(self) -> Callable[[Any], tuple[float, str]]:
        return value_reader(self.marks)

    @cached_property
    def _places(self) -> tuple[int, list[int | None]]:
        """Where the time and the columns stand in a row; None for a column that has vanished."""
        at = 0 if self.time is None else self.names.index(self.time)
        return at, [self.names.index(name) if name in self.names else None for name in self.columns]

    def _json_cells(self, line: Line) -> dict[str, Any] | str:
        try:
            cells = json.loads(line.text)
        except ValueError as error:
            return f"line {line.number} is not JSON ({error}); the row is left out."
        if not isinstance(cells, dict):
            return f"line {line.number} is not a JSON object but {shorten(cells)}; the row is left out."
        return cells


_LATER = {"written": "", "marks": "."}


def layout_for(
    lines: Sequence[Line],
    source: str,
    columns: Sequence[str] = (),
    time: str | None = None,
    notes: list[str] | None = None,
) -> Layout:
    """How to read a source, from its first lines: the header of a CSV file and a row, or a JSON object.

    Parameters
    ----------
    lines
        The first lines, at least one with data.
    source
        Its name, for messages.
    columns
        Which to watch; all that hold numbers if none is named.
    time
        The column with times; by default the first that is called so or holds dates.
    notes
        What a person should know about the choice is added to them.

    Examples
    --------
    >>> layout = layout_for([Line(1, "time,flow"), Line(2, "2024-01-31 12:00,3.5")], "pump.csv")
    >>> layout.time, layout.columns
    ('time', ('flow',))
    >>> layout.read(Line(3, "2024-01-31 12:05,high")).troubles
    ("line 3, column 'flow': 'high' is not a number; it counts as missing.",)
    """
    filled = [line for line in lines if line.text.strip()]
    if not filled:
        raise WatchError(f"{source} holds no rows; pass a CSV file with a header, or one JSON object in each line.")
    if "\x00" in filled[0].text:
        raise WatchError(f"{source} is a binary file; pass text: CSV, or one JSON object in each line.")
    if filled[0].text.lstrip().startswith("{"):
        cells = Layout("json", (), (), None, False)._json_cells(filled[0])
        if isinstance(cells, str):
            raise WatchError(f"{source}: {cells}")
        kind, names, separator, rows = "json", (), ",", []
        found = [Layout("json", (), (), None, False)._json_cells(line) for line in filled]
        examples = [cells for cells in found if isinstance(cells, dict)]
        known = tuple(dict.fromkeys(str(name) for cells in examples for name in cells))
    else:
        separator = max(",;\t|", key=filled[0].text.count)
        header = _split(filled[0].text, separator)
        if header is None:
            raise WatchError(f"{source}: line {filled[0].number} cannot be read as CSV; pass a table with a header.")
        names = known = tuple(cell.strip() for cell in header)
        kind = "csv"
        if len(filled) < 2:
            raise WatchError(f"{source} has a header and no row yet; watch it with --follow to wait for some.")
        if all(read_number(name) is not None for name in names):
            raise WatchError(
                f"{source} begins with numbers and has no header; put a line with the names of the columns before it, "
                f"for example time,value."
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise WatchError(f"{source} has two columns {twice!r}; give every column a name of its own.")
        rows = [_split(line.text, separator) for line in filled[1:]]
        examples = [dict(zip(names, row, strict=True)) for row in rows if row is not None and len(row) == len(names)]
    for name in [*columns, *([time] if time is not None else [])]:
        if columns.count(name) > 1:
            raise WatchError(f"--column {name} is given twice; name each column once.")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise WatchError(f"{source} has no column {name!r}; {hint}It has: {', '.join(map(repr, known))}.")
    notes = [] if notes is None else notes
    # A row of separators only is no row, and says nothing about any column.
    examples = [one for one in examples if not all(map(is_missing, one.values()))]
    marks = "." if kind == "json" else _marks([row for row in rows if row is not None], separator, notes)
    if marks != ".":
        examples = [{name: with_point(cell.strip()) for name, cell in one.items()} for one in examples]
    time, times = find_times(source, known, examples, columns, time, notes)
    chosen = tuple(columns) or _watched([name for name in known if name != time], examples, notes)
    if not chosen:
        cells = (cell.strip() for one in examples for cell in one.values() if isinstance(cell, str))
        comma = next((cell for cell in cells if mark_in(cell) == ","), None)
        hint = (
            f" {comma!r} has a decimal comma, which is read where semicolons or tabs separate the columns; write them "
            f"so, or write numbers with a decimal point."
        )
        raise WatchError(
            f"{source} has no column of numbers besides the time; its columns are {', '.join(map(repr, known))}."
            f"{'' if comma is None else hint}"
        )
    return Layout(kind, names, chosen, time, times.dates, separator, times.written, marks)


def _watched(names: Sequence[str], examples: Sequence[dict[str, Any]], notes: list[str]) -> tuple[str, ...]:
    """The columns of numbers, and those that are empty so far: a database cannot take in another column later."""
    if not examples:
        return ()
    filled = {name: [cell for one in examples if not is_missing(cell := one.get(name))] for name in names}
    # A separator at the end of every line makes a column without a name, and without values.
    empty = [name for name in names if name and not filled[name]]
    numbers = [name for name in names if any(not math.isnan(read_value(cell)[0]) for cell in filled[name])]
    if empty:
        notes.append(
            f"empty so far, and watched from the first number on: {', '.join(map(repr, empty))}; name the columns to "
            f"watch with --column to leave {'it' if len(empty) == 1 else 'them'} out."
        )
    said = " ".join(notes)  # of dates that are not the times
    others = [name for name in names if filled[name] and name not in numbers and repr(name) not in said]
    if others and (numbers or empty):
        notes.append(
            f"not watched, since the first rows hold no number: {', '.join(map(repr, others))}; --column watches what "
            f"is named."
        )
    return tuple(name for name in names if name in numbers or name in empty)


def _marks(rows: Sequence[Sequence[str]], separator: str, notes: list[str]) -> str:
    """The decimal marks that the numbers of a CSV file may have, by its first rows."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    mark = decimal_mark(cells, separator)
    if mark is None:
        comma = next(cell for cell in cells if mark_in(cell) == ",")
        notes.append(
            f"the comma of {comma!r} may be a decimal comma or separate thousands, so such cells are no numbers; write "
            f"numbers with a decimal point."
        )
    # With semicolons and whole numbers so far, either mark may come; with tabs a comma may separate thousands.
    return mark or (",." if mark == "" and separator == ";" else ".")


def _split(text: str, separator: str) -> list[str] | None:
    """The cells of a line; None if its quotes make no sense."""
    if '"' not in text:  # nothing is quoted, and this is faster
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:
        return None
