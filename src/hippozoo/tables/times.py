"""Which columns hold the times, and how they are written, from the first rows.

One column; or several: year, quarter, month, week, day and hour, or a date and a time of day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables.dates import CLOCKS, Moment, date_format, is_time_of_day, time_reader
from hippozoo.tables.numbers import LARGEST, Cells, is_missing, read_number, with_point
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["PARTS", "Found", "Times", "find_times", "is_part"]

# Columns that are called so hold the times if they rise; others of CLOCKS if they rise evenly, or count from 1970.
_TIME_NAMES = frozenset({"time", "times", "timestamp", "date", "datetime", "when", "ts"})
_LIKE_CLOCKS = CLOCKS | {"t"}
# A column of dates is that of the times if no larger share of its first rows, or no more than one, is no date.
_OTHERS = 0.1
# So many rows with the same step are a clock; so many seconds after 1970 (in 1973) are one however they rise.
_EVEN, _EPOCH = 8, 1e8
_UNREAD = {
    "date?": "{0} is a time of day without a date",
    "day?": "{0} does not say which number is the day",
    "year?": "{0} does not say which number is the year",
    "": "{0} is no number and no date",
    "empty": "its first {1} rows hold no time",
}
# What each part may be called, and the whole numbers that it may hold.
PARTS: dict[str, tuple[frozenset[str], int, int]] = {
    "year": (frozenset({"year", "yr", "yyyy", "jahr"}), 1600, 2400),
    "quarter": (frozenset({"quarter", "qtr", "quartal"}), 1, 4),
    "week": (frozenset({"week", "isoweek", "iso_week", "woche"}), 1, 53),
    "month": (frozenset({"month", "mon", "mo", "mm", "monat"}), 1, 12),
    "day": (frozenset({"day", "dd", "dom", "day_of_month", "tag"}), 1, 31),
    "hour": (frozenset({"hour", "hr", "hh", "stunde"}), 0, 23),
    "minute": (frozenset({"minute", "min", "mi"}), 0, 59),
    "second": (frozenset({"second", "sec", "ss"}), 0, 59),
}
_CHAINS = (("year", "month", "day", "hour", "minute", "second"), ("year", "quarter"), ("year", "week"))


@dataclass(frozen=True)
class Times:
    """The times of a source: the name of their `column`; of several `parts`, all names.

    `dates` and `written` are as of `time_reader`; `zoned` says whether dates name their zone, None where nobody knows.
    """

    column: str
    dates: bool
    written: str = ""
    parts: tuple[str, ...] = ()
    zoned: bool | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read for it."""
        return self.parts or (self.column,)

    def cell(self, row: Sequence[Any]) -> Any:
        """What stands for the time of a row, given the cells of these columns; several are joined."""
        return join_parts(self.parts, row) if self.parts else row[0]

    def cells(self, cells: Mapping[str, Cells]) -> list[Any]:
        """The same for all rows."""
        return [self.cell(row) for row in zip(*(cells[name] for name in self.columns), strict=True)]

    @cached_property
    def read(self) -> Callable[[Any], Moment | None]:
        """A function from such a cell to its time."""
        return time_reader(self.dates, self.written)

    def moments(self, cells: Mapping[str, Cells]) -> list[Moment | None]:
        """The time of each row; None where there is none."""
        return list(map(self.read, self.cells(cells)))


class Found(NamedTuple):
    """The times, if there are any, and what a person should know about the choice."""

    times: Times | None
    notes: list[Trouble]


def find_times(
    cells: Mapping[str, Cells],
    free: Sequence[str],
    named: str | None,
    source: str,
    *,
    stream: bool,
    whole: Mapping[str, Cells] | None = None,
) -> Found:
    """The column of the times and how they are written; None where rows have to be counted.

    It is the one that was `named`; or of those that are `free` the one that holds dates in nearly all rows, and rises
    if any does; or one that is called and rises like a clock; or several that hold year, month and so on. Where the
    first rows do not say which number is the day, the `whole` is asked. A `stream` goes on after these rows: it refuses
    times that cannot be read, since all that follows would be numbered.

    >>> found = find_times({"day": ["1.2.2024", "2.2.2024"], "x": ["1", "2"]}, ["day", "x"], None, "a", stream=False)
    >>> found.times.column, found.times.written
    ('day', 'day first')
    """
    whole = cells if whole is None else whole
    if named is not None:
        found = _read_as_times(named, cells[named], whole[named], named=True)
        if isinstance(found, Times):
            return Found(found, [])
        raise TableError(_unread(found, named, cells[named], source, ""))
    dated, unread, notes = _dated(cells, whole, free)
    chosen = _choose(dated, cells, source, stream)
    if chosen is not None:
        return Found(_joined_with_hours(chosen, cells, free) or chosen, [])
    parts = date_parts(cells, free)
    if parts:
        joined = Times(" ".join(parts), dates=True, parts=parts, zoned=False)
        if _share_rising(joined, cells) == 1.0:
            return Found(joined, [])
    clock = _clock(cells, free, notes)
    if clock is not None:
        return Found(clock, notes)
    no_time = "" if stream else "; --no-time takes the rows as even steps"
    for name, why in unread.items():
        like_clock = name.strip().lower() in _LIKE_CLOCKS
        if like_clock and (stream or why in ("day?", "year?")):
            raise TableError(_unread(why, name, cells[name], source, no_time))
        if like_clock or why:
            lost = _unread(why, name, cells[name], source, "").more[0]
            notes.append(Trouble("times lost", Place(column=name), name, more=(lost,)))
    return Found(None, notes)


def _unread(why: str, name: str, cells: Cells, source: str, no_time: str) -> Trouble:
    filled = next((cell for cell in cells if not is_missing(cell)), "")
    said = _UNREAD[why].format(shorten(filled), len(cells))
    return Trouble("times unread", Place(source, column=name), name, more=(said, no_time))


def _read_as_times(name: str, cells: Cells, whole: Cells, *, named: bool = False) -> Times | str:
    """The times of a column, if it holds dates, or numbers and was named; else why not, as of `date_format`."""
    filled = [cell for cell in cells if not is_missing(cell)]
    if not filled:
        return "empty"
    written = date_format(name, filled)
    if written in ("day?", "year?") and len(whole) > len(cells):
        written = date_format(name, [cell for cell in whole if not is_missing(cell)])
    if written is not None and not written.endswith("?"):
        found = Times(name, dates=True, written=written)
        zones = [moment[1] is not None for moment in map(found.read, filled) if moment is not None]
        zoned = 2 * sum(zones) > len(zones) or (2 * sum(zones) == len(zones) and bool(zones) and zones[0])
        return replace(found, zoned=zoned)
    numbers = sum(read_number(with_point(cell) if isinstance(cell, str) else cell) is not None for cell in filled)
    if named and 2 * numbers > len(filled):
        return Times(name, dates=False)
    return written or "" if not 2 * numbers > len(filled) else "numbers"


def _dated(
    cells: Mapping[str, Cells], whole: Mapping[str, Cells], free: Sequence[str]
) -> tuple[list[Times], dict[str, str], list[Trouble]]:
    """Columns of dates; those that may hold times and cannot be read, and why; what a person should know of others."""
    dated: list[Times] = []
    unread: dict[str, str] = {}
    notes: list[Trouble] = []
    for name in free:
        found, rows = _read_as_times(name, cells[name], whole[name]), len(cells[name])
        if isinstance(found, str):
            if found not in ("", "numbers", "empty") or (found != "numbers" and name.strip().lower() in _LIKE_CLOCKS):
                unread[name] = found
            continue
        count = sum(moment is not None for moment in found.moments(cells))
        if rows - count > max(1, _OTHERS * rows) or 2 * count <= rows:
            why = f"it holds dates in {count} of its first {rows} rows"
        elif rows > 1 and len({str(cell) for cell in whole[name]}) == 1:
            why = "it holds the same date in all of its first rows"  # as that of an export
        else:
            dated.append(found)
            continue
        notes.append(Trouble("times lost", Place(column=name), name, more=(why,)))
    return dated, unread, notes


def _choose(dated: Sequence[Times], cells: Mapping[str, Cells], source: str, stream: bool) -> Times | None:
    """The column of dates that rises; of several, the one that is called like a clock."""
    rising = {times: _share_rising(times, cells) for times in dated}
    # Whole numbers that may be dates and do not rise are numbers.
    known = [
        times for times in dated if not times.written.startswith("%") or _share_rising(times, cells, least=0.0) > 0.5
    ]
    if len(known) <= 1:
        return known[0] if known else None
    for least in (1.0, 0.5):
        best = [times for times in known if rising[times] >= least]
        called = [times for times in best if times.column.strip().lower() in _TIME_NAMES]
        for some in (best, called):
            if len(some) == 1:
                return some[0]
        if best:
            break
    said = "hold dates that rise" if best else "hold dates, and none rises from row to row"
    names = ", ".join(repr(times.column) for times in (best or known)[:20])
    no_time = "" if stream else ", or pass --no-time to take the rows as even steps"
    raise TableError(Trouble("two times", Place(source), names, more=(said, no_time)))


def _share_rising(times: Times, cells: Mapping[str, Cells], least: float = 1e-300) -> float:
    """The share of rows that come after the one before by this much at least."""
    moments = np.array([moment[0] for moment in times.moments(cells) if moment is not None])
    return float((np.diff(moments) >= least).mean()) if len(moments) > 1 else 1.0


def _joined_with_hours(times: Times, cells: Mapping[str, Cells], free: Sequence[str]) -> Times | None:
    """Dates that come several times, joined with the one column of times of day or hours, if they rise together."""
    share = _share_rising(times, cells)
    clocks = [name for name in free if name != times.column and holds_hours(name, cells[name])] if share < 1.0 else []
    if len(clocks) != 1:
        return None
    written = "" if times.written.startswith("%") else times.written
    joined = Times(f"{times.column} {clocks[0]}", True, written, (times.column, clocks[0]), times.zoned)
    return joined if _share_rising(joined, cells) > max(share, 0.5) else None


def _clock(cells: Mapping[str, Cells], free: Sequence[str], notes: list[Trouble]) -> Times | None:
    """The first column of numbers that is called like a clock and rises like one."""
    for name in free:
        if name.strip().lower() not in _LIKE_CLOCKS:
            continue
        rows = len(cells[name])
        found = (read_number(with_point(one) if isinstance(one, str) else one) for one in cells[name])
        values = np.array([value for value in found if value is not None and abs(value) <= LARGEST])
        called = name.strip().lower() in _TIME_NAMES
        if len(values) < (1 if called else 3) or rows - len(values) > max(1, _OTHERS * rows):
            continue
        steps = np.diff(values)
        back = int((steps < 0).sum())
        if called and (not len(steps) or (back <= max(1, _OTHERS * rows) and 2 * back < len(steps) and steps.any())):
            return Times(name, dates=False)
        if (steps <= 0).any():
            continue
        even = len(values) >= _EVEN and np.ptp(steps) <= 1e-6 * steps.max()
        if even or values[0] >= _EPOCH:
            notes.append(Trouble("taken for times", Place(column=name), name))
            return Times(name, dates=False)
        notes.append(Trouble("may be times", Place(column=name), name, more=(len(values),)))
    return None


# -- several columns ------------------------------------------------------------------------------------------------


def date_parts(cells: Mapping[str, Cells], names: Sequence[str]) -> tuple[str, ...]:
    """The columns from the year down to the finest part that is there; empty without a year, or where no row is a date.

    >>> date_parts({"YEAR": ["2023", "2024"], "Month": ["12", "Jan"], "load": [5, 6]}, ["YEAR", "Month", "load"])
    ('YEAR', 'Month')
    """
    best: list[str] = []
    for chain in _CHAINS:
        found: list[str] = []
        for part in chain:
            named = [name for name in names if _part(name) == part]
            if len(named) != 1 or not _holds(part, cells[named[0]]):
                break  # hours without days would be no times
            found += named
        best = found if len(found) > len(best) else best
    return tuple(best)


def _part(name: str) -> str:
    spelled = name.strip().lower()
    return next((part for part, (spellings, _, _) in PARTS.items() if spelled in spellings), "")


def is_part(name: str) -> bool:
    """Whether a column is called like a part of a date."""
    return bool(_part(name))


def _holds(part: str, cells: Cells) -> bool:
    """Whether nearly all cells are this part of a date."""
    if not len(cells):
        return False
    right = sum(_as_text(part, cell) is not None for cell in cells)
    return len(cells) - right <= 0.1 * len(cells)


def _as_text(part: str, cell: Any) -> str | None:
    """A part of a date as it stands in one; None if it is none."""
    number = read_number(cell)
    _, lowest, highest = PARTS[part]
    if number is not None:
        return str(int(number)) if number == int(number) and lowest <= number <= highest else None
    text = cell.strip() if isinstance(cell, str) else ""
    if part == "month" and time_reader(dates=True)(f"{text} 2000") is not None:
        return text
    named = part in ("quarter", "week") and text[:1].upper() == part[0].upper()
    return _as_text(part, text[1:]) if named and text[1:].isdecimal() else None


def holds_hours(name: str, cells: Cells) -> bool:
    """Whether a column holds times of day, or is called hour and holds the hours of a day."""
    filled = [cell for cell in cells if not is_missing(cell)]
    if not filled:
        return False
    return 2 * sum(map(is_time_of_day, filled)) > len(filled) or (_part(name) == "hour" and _holds("hour", cells))


def join_parts(names: Sequence[str], cells: Sequence[Any]) -> str:
    """The parts of one row as one date in words.

    >>> join_parts(["year", "month"], ["2024", "3"]), join_parts(["yr", "qtr"], [2024, "Q2"])
    ('2024-03-01 00:00:00', '2024 Q2')
    >>> join_parts(["date", "hour"], ["31.1.2024", "7"]), join_parts(["year", "day"], ["2024", "?"])
    ('31.1.2024 07:00', '2024/?')
    """
    if _part(names[0]) != "year":
        day, clock = str(cells[0]).strip(), str(cells[1]).strip()
        if len(day) == 8 and day.isdecimal():
            day = f"{day[:4]}-{day[4:6]}-{day[6:]}"
        hour = None if is_time_of_day(clock) else _as_text("hour", cells[1])
        return f"{day} {clock}" if hour is None else f"{day} {hour:0>2}:00"
    found = {part: _as_text(part, cell) for name, cell in zip(names, cells, strict=True) if (part := _part(name))}
    year = found["year"]
    if year is None or None in found.values():
        return "/".join(str(cell) for cell in cells)
    if "quarter" in found or "week" in found:
        return f"{year} Q{found['quarter']}" if "quarter" in found else f"{year}-W{found['week']:0>2}"
    month, day, *clock = (found.get(part) or default for part, default in zip(_CHAINS[0][1:], "11000", strict=True))
    written = ":".join(f"{one:0>2}" for one in clock)
    return f"{year}-{month:0>2}-{day:0>2} {written}" if month.isdecimal() else f"{day} {month} {year} {written}"
