"""How the rows of a table or a stream are read, and one line by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hippozoo._internal.arguments import shorten
from hippozoo.tables.dates import Moment
from hippozoo.tables.numbers import ABSENT, LARGEST, SMALLEST, is_missing, read_number, read_value
from hippozoo.tables.records import LONGEST, Line, named_columns, read_object, split, surplus
from hippozoo.tables.times import Times
from hippozoo.tables.trouble import Place, Trouble

__all__ = ["Header", "Reading", "Schema", "cell_trouble", "series_label", "time_trouble"]


class Reading(NamedTuple):
    """A row: its line, its time (None where the source has none), values (NaN where missing), troubles, zone, series.

    `offset` is how many seconds the clock that the time was read from is ahead of UTC; None where it names no zone.
    """

    line: int
    time: float | None
    values: tuple[float, ...]
    troubles: tuple[Trouble, ...] = ()
    offset: float | None = None
    series: str = ""


class Header(NamedTuple):
    """A header: its names, by which the rows after it are read, and the trouble with it, but for the first one."""

    names: tuple[str, ...]
    trouble: Trouble | None


@dataclass(frozen=True)
class Schema:
    """How the rows of a source are read.

    >>> from hippozoo.tables.infer import infer_from_lines
    >>> schema = infer_from_lines([Line(1, "time,flow"), Line(2, "2024-01-31 12:00,3.5")], "pump.csv").schema
    >>> schema.time, schema.columns, schema.read(Line(3, "2024-01-31 12:05,high")).troubles[0].kind
    ('time', ('flow',), 'not a number')
    """

    kind: str  # "csv", "json" or "parquet"
    names: tuple[str, ...]  # of CSV all columns in order
    columns: tuple[str, ...]  # those of numbers
    time: str | None  # the column of times, None if every row is one step; all names where several hold them
    dates: bool  # whether times are dates (seconds since 1970, in UTC where no zone is given) or plain numbers
    separator: str = ","
    written: str = ""  # how dates are written, as of `hippozoo.tables.dates.time_reader`
    marks: str = "."  # decimal marks that numbers may have
    header: bool = True  # whether the first line holds the names
    parts: tuple[str, ...] = ()  # the columns of the times, where they are several
    zoned: bool | None = None  # whether dates name their zone; None where that is not asked
    series: tuple[str, ...] = ()  # the columns that name the series of each row, in a table that stacks several

    def as_settings(self) -> dict[str, Any]:
        """What a database keeps of it; not what came later and is as before, so that older ones are the same."""
        return {name: value for name, value in asdict(self).items() if name not in _LATER or value != _LATER[name]}

    @cached_property
    def times(self) -> Times | None:
        """The times as they are found and read."""
        if self.time is None:
            return None
        return Times(self.time, self.dates, self.written, self.parts, self.zoned)

    def read(self, line: Line) -> Reading | Header | Trouble | None:
        """The reading of a line; what is wrong if it is none; None for an empty line or the header in the first one."""
        row = self._cut(line)
        if not isinstance(row, list | dict):
            return row
        moment: Moment | None = None
        if self.times is not None:
            moment = self._moment(self.times, row, line)
            if isinstance(moment, Trouble):
                return moment
        label = ""
        if self.series:
            label = series_label([self._cell(row, name) for name in self.series])
            if not label:
                return Trouble("no series", Place(line=line.number, column=self.series[0]))
        values, troubles = [], []
        for name in self.columns:
            cell = row.get(name, ABSENT) if isinstance(row, dict) else self._cell(row, name)
            value, trouble = read_value(cell, self.marks)
            values.append(value)
            if trouble:
                troubles.append(cell_trouble(trouble, Place(line=line.number, column=name), cell))
        time, offset = (None, None) if moment is None else moment
        return Reading(line.number, time, tuple(values), tuple(troubles), offset, label)

    def _cut(self, line: Line) -> list[str] | dict[str, Any] | Header | Trouble | None:
        place = Place(line=line.number)
        if line.length:
            return Trouble("too long", place, line.length, more=(LONGEST,))
        if not line.text.strip():
            return None
        if "\x00" in line.text:
            return Trouble("not text", place)
        if self.kind == "json":
            return read_object(line)
        row = split(line.text, self.separator)
        if row is None:
            return Trouble("quotes", place)
        if self.header and self._mark in line.text:
            header = self._header(line, row)
            if header is not None:
                return header if header.trouble is not None else None
        if surplus(row, len(self.names)):
            return Trouble("cells", place, len(row), more=(len(self.names),))
        return row

    def _moment(self, times: Times, row: list[str] | dict[str, Any], line: Line) -> Any:
        """The time of a row, or what is wrong with it."""
        cell = times.cell([self._cell(row, name) for name in times.columns])
        moment = times.read(cell)
        return time_trouble(self, cell, moment, Place(line=line.number)) or moment

    def _cell(self, row: list[str] | dict[str, Any], name: str) -> Any:
        if isinstance(row, dict):
            return row.get(name)
        place = self._place_of.get(name)
        return None if place is None else row[place]  # a column may have vanished

    @property
    def _mark(self) -> str:
        """A name that every header has."""
        return self.columns[0] if self.time is None else self.parts[0] if self.parts else self.time

    def _header(self, line: Line, row: Sequence[str]) -> Header | None:
        """The header that a row is: the same once more, as when files are put together, or another one."""
        cells = [cell.strip() for cell in row]
        # Databases that were begun before names were made different hold them as they stood.
        names = tuple(cells) if tuple(cells) == self.names else tuple(named_columns(cells))
        if self._mark not in names or any(not read_value(cell)[1] and not is_missing(cell) for cell in cells):
            return None
        gone = ", ".join(repr(name) for name in self.columns if name not in names)
        if line.number == 1 and names == self.names:  # where a header belongs
            return Header(names, None)
        kind = "header again" if names == self.names else "header without" if gone else "other header"
        return Header(names, Trouble(kind, Place(line=line.number), gone))

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}


_LATER = {"written": "", "marks": ".", "header": True, "parts": (), "zoned": None, "series": ()}


def cell_trouble(kind: str, place: Place, cell: Any) -> Trouble:
    """What is wrong with the cell of a number."""
    more: dict[str, Any] = {"too large": LARGEST, "too small": SMALLEST}
    if kind == "digits":
        more[kind] = int(read_number(cell) or 0)
    given = "" if cell is ABSENT else shorten(cell)
    return Trouble(kind, place, given, more=(more[kind],) if kind in more else ())


def time_trouble(schema: Schema, cell: Any, moment: Moment | None, place: Place) -> Trouble | None:
    """What is wrong with the cell of a time, if anything is."""
    if moment is None:
        place = place._replace(column=schema.time or "")
        if is_missing(cell):
            return Trouble("no time", place)
        return Trouble("not a time", place, shorten(str(cell)), more=("date" if schema.dates else "number",))
    if schema.zoned is not None and (moment[1] is not None) != schema.zoned:
        given = shorten(str(cell))
        more = ("has no", "have one") if schema.zoned else ("has", "have none")
        return Trouble("other zone", place._replace(column=schema.time or ""), given, more=more)
    return None


def series_label(cells: Sequence[Any]) -> str:
    """The name of the series that these cells name together; empty if one of them is empty."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    return " / ".join(texts) if all(texts) else ""
