"""Times that stand in several columns: year, quarter, month, week, day and hour, or a date and a time of day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hippozoo.tables.dates import is_time_of_day, time_reader
from hippozoo.tables.numbers import Cells, is_missing, read_number

__all__ = ["PARTS", "date_parts", "holds_hours", "is_part", "join_parts"]

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


def whole_numbers(cells: Cells) -> np.ndarray | None:
    """The cells as numbers if all of them are whole; else None."""
    values = [read_number(cell) for cell in cells]
    if not all(value is not None and value == np.floor(value) for value in values):
        return None
    return np.array(values, float)
