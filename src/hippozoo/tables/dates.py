"""Dates in the ways that people write them, as seconds since 1970: one reader for tables and for streams."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from hippozoo.tables.numbers import read_number, with_point

__all__ = ["CLOCKS", "Moment", "date_format", "day_order", "is_time_of_day", "time_reader"]

# Seconds since 1970 (or a plain number), and how many seconds the clock that it was read from is ahead of UTC.
Moment = tuple[float, float | None]

# What a column of times may be called.
CLOCKS = frozenset(
    {"time", "times", "timestamp", "ts", "date", "datetime", "when", "epoch", "unix", "unixtime", "unix_time"}
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_OF_CLOCKS = _EPOCH.replace(tzinfo=None)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_CLOCK = re.compile(
    r"(?:(?<=[\sT,])|^)(\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?:\s*([ap])\.?m\.?)?"
    r"(?:\s*(?:z|(?:utc|gmt)?([+-]\d\d(?::?\d\d)?)|utc|gmt))?(?=\s|$)",
    re.I,
)
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+", re.I)
# A date without its time of day: y(ear), m(onth), name (of a month), d(ay), q(uarter), w(eek).
_FORMS = [
    re.compile(form, re.I)
    for form in (
        r"(?P<y>\d{4})[-/. ](?P<m>\d{1,2})[-/. ](?P<d>\d{1,2})",
        r"(?P<y>\d{4})[-/](?P<m>\d{1,2})|(?P<m2>\d{1,2})[-/](?P<y2>\d{4})",
        r"(?P<y>\d{4})[ -]?M(?P<m>\d{1,2})",
        r"(?P<y>\d{4})[ /-]?Q(?P<q>[1-4])|Q(?P<q2>[1-4])[ /-]?(?P<y2>\d{4})|(?P<q3>[1-4])Q[ /-]?(?P<y3>\d{4})",
        r"(?P<y>\d{4})[ /-]?W(?P<w>\d{1,2})|W(?P<w2>\d{1,2})[ /-]?(?P<y2>\d{4})",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s./-]*{_NAME}[\s.,/-]*(?P<y>\d{{4}})",
        rf"(?P<d>\d{{1,2}})[/-]{_NAME}[/-](?P<y>\d{{2}})",
        rf"{_NAME}[\s./-]*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s,]+(?P<y>\d{{4}})",
        rf"{_NAME}[\s.,/-]*(?P<y>\d{{4}})|{_NAME.replace('name', 'name2')}[-'](?P<y2>\d{{2}})",
        rf"(?P<y>\d{{4}})[\s./-]*{_NAME}(?:[\s./-]*(?P<d>\d{{1,2}}))?",
    )
]
# 31.1.2024, 01/31/24 and their like; what follows is the time of day.
_SHORT = re.compile(r"^(\d{1,2})(\.\s?|[/ -])(\d{1,2})(?:\.\s?|[/ -])(\d{4}|\d{2})(?!\d)(.*)$")
_TIME_OF_DAY = re.compile(r"^\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[ap]m)?$", re.I)
# Dates written as one whole number, by their length; ten digits would be seconds since 1970 as often as hours.
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_YEARS = range(1500, 2201)
# Of numbers that count from 1970: how many make a second. The years 1973 to 2096, so that no two overlap.
_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_SINCE, _UNTIL = 1e8, 4e9
# Steps as even as those of months, and others that are clearly not: then the even order is the one that is meant.
_EVEN, _UNEVEN = 1.2, 1.5
_MOST = 0.9


def time_reader(dates: bool, written: str = "") -> Callable[[Any], Moment | None]:
    """A function from a cell to its time; None where the cell is no such time.

    Dates may be `written` with the year as four digits or the month by name, or in ISO 8601 (""); "day first" or "month
    first" (31.1.2024, 1/31/24); in "seconds" to "nanoseconds" since 1970; or in digits such as "%Y%m%d".

    >>> read = time_reader(dates=True)
    >>> read("1970-01-02"), read("1970 Q2"), read("1 Jan 1970 02:00+01:00"), read("?")
    ((86400.0, None), (7776000.0, None), (3600.0, 3600.0), None)
    >>> time_reader(dates=True, written="day first")("2.1.1970"), time_reader(dates=False)("7,5")
    ((86400.0, None), (7.5, None))
    """
    if not dates:
        return _read_plain
    if written in _UNITS:
        unit = _UNITS[written]
        return lambda cell: None if (found := _read_plain(cell)) is None else (found[0] / unit, None)
    if written.startswith("%"):
        return lambda cell: _by_digits(str(cell).strip(), written)
    if written in ("day first", "month first"):
        return lambda cell: _parse(_year_first(cell.strip(), written)) if isinstance(cell, str) else None
    return _read_date


def _read_plain(cell: Any) -> Moment | None:
    number = read_number(with_point(cell.strip()) if isinstance(cell, str) else cell)
    return None if number is None or not math.isfinite(number) else (number, None)


def _read_date(cell: Any) -> Moment | None:
    if isinstance(cell, str):
        return _parse(cell.strip())
    if isinstance(cell, datetime):
        return _moment(cell)
    return _moment(datetime(cell.year, cell.month, cell.day)) if isinstance(cell, date) else None


def _moment(found: datetime) -> Moment:
    offset = found.utcoffset()
    if offset is None:
        # As `timestamp` of this moment in UTC, in a fifth of the time.
        return (found - _EPOCH_OF_CLOCKS).total_seconds(), None
    return found.timestamp(), offset.total_seconds()


def _parse(text: str) -> Moment | None:
    """ISO 8601 by Python, which is fast; then the forms of people, with the time of day wherever it stands."""
    try:
        return _moment(datetime.fromisoformat(text))
    except ValueError:
        pass
    rest, seconds, offset = text, 0.0, None
    for clock in _CLOCK.finditer(text):
        hour, minute, second, fraction, half, zone = clock.groups()
        if minute is None and half is None:
            continue  # a day, or a year
        seconds = _seconds(int(hour), int(minute or 0), float(f"{second or 0}.{fraction or 0}"), half)
        if seconds is None:
            return None
        offset = 0.0 if clock[0].rstrip()[-1] in "zZcCtT" else None
        if zone:
            hours = zone[1:].replace(":", "")
            offset = float(f"{zone[0]}1") * (3600 * int(hours[:2]) + 60 * int(hours[2:] or 0))
        rest = text[: clock.start()].rstrip(" \tT,") + text[clock.end() :]
        break
    found = _day(_WEEKDAY.sub("", rest.strip().rstrip(",")))
    if found is None:
        return None
    return (found - _EPOCH).total_seconds() + seconds - (offset or 0.0), offset


def _seconds(hour: int, minute: int, second: float, half: str | None) -> float | None:
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 60 else None


def _day(text: str) -> datetime | None:
    for form in _FORMS:
        if found := form.fullmatch(text):
            parts = {name.rstrip("23"): part for name, part in found.groupdict().items() if part is not None}
            try:
                return _from_parts(parts)
            except ValueError:
                return None
    return None


def _from_parts(parts: dict[str, str]) -> datetime | None:
    year = int(parts["y"]) if len(parts["y"]) == 4 else _whole_year(parts["y"])
    if "w" in parts:
        return datetime.fromisocalendar(year, int(parts["w"]), 1).replace(tzinfo=UTC)
    month = _MONTHS.index(parts["name"].lower()) + 1 if "name" in parts else int(parts.get("m", 0))
    if "q" in parts:
        month = 3 * int(parts["q"]) - 2
    if "d" not in parts and year not in _YEARS:
        return None  # 1234-12 may be anything
    return datetime(year, month, int(parts.get("d", 1)), tzinfo=UTC)


def _whole_year(two: str) -> int:
    return int(two) + (2000 if two < "69" else 1900)  # as in POSIX


def _by_digits(text: str, form: str) -> Moment | None:
    if not text.isdecimal() or _DIGITS.get(len(text)) != form:
        return None
    try:
        found = datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
    return (found.timestamp(), None) if found.year in _YEARS else None


def _year_first(text: str, order: str) -> str:
    """A short date whose order is known, as ISO 8601 has it; empty if it is none."""
    found = _SHORT.match(text)
    if found is None:
        return ""
    day, _, month, year, clock = found.groups()
    if order == "month first":
        day, month = month, day
    clock = re.sub(r"^(\s*)(\d):", r"\g<1>0\2:", clock)
    return f"{year if len(year) == 4 else _whole_year(year)}-{month:0>2}-{day:0>2}{clock}"


def is_time_of_day(cell: Any) -> bool:
    """Whether it is a time of day without a date."""
    return isinstance(cell, str) and _TIME_OF_DAY.match(cell.strip()) is not None


def _is_short_date(text: str) -> bool:
    """Whether it begins like 31.1.2024 or 1/31/24."""
    found = _SHORT.match(text)
    if found is None:
        return False
    small = sorted((int(found[1]), int(found[3])))
    sensible = small[0] <= 12 and small[1] <= 31
    return sensible and (len(found[4]) == 4 or found[2] in ("/", "."))  # 10-20-30 may be anything


def date_format(name: str, cells: Sequence[Any]) -> str | None:
    """How the dates of a column are written, by those of its cells that are not missing; None if they are none.

    With a question mark it is what nobody can tell: "day?", "year?" (which number it is) or "date?" (a time of day has
    none).

    >>> date_format("x", ["20240131", "20240201"]), date_format("x", ["1/31/24"]), date_format("x", ["1/2/2024"])
    ('%Y%m%d', 'month first', 'day?')
    >>> date_format("ts", [1.7e9, 1.7e9 + 60, 1.7e9 + 120]), date_format("x", ["12:00"]), date_format("x", ["pump"])
    ('seconds', 'date?', None)
    """
    numbers = [cell for cell in cells if read_number(cell) is not None]
    if 2 * len(numbers) > len(cells):
        return _written_in_digits(numbers) or _epoch_unit(name, numbers)
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if 2 * sum(map(is_time_of_day, texts)) > len(cells):
        return "date?"
    short = [text for text in texts if _is_short_date(text)]
    if short and 2 * len(short) >= len(cells):
        return day_order(short)
    # What is a number is none, though ISO 8601 has dates in digits.
    dates = [cell for cell in cells if read_number(cell) is None and _read_date(cell) is not None]
    return "" if dates and 2 * len(dates) >= len(cells) else None


def _written_in_digits(numbers: Sequence[Any]) -> str | None:
    texts = [str(int(cell)) if isinstance(cell, float) and cell == int(cell) else str(cell).strip() for cell in numbers]
    length = Counter(map(len, texts)).most_common(1)[0][0]
    form = _DIGITS.get(length)
    if form is None or _by_digits(texts[0], form) is None is _by_digits(texts[-1], form):
        return None  # most columns of numbers
    known = sum(_by_digits(text, form) is not None for text in texts)
    return form if known >= _MOST * len(texts) else None


def _epoch_unit(name: str, numbers: Sequence[Any]) -> str | None:
    """The unit of a column that is called like a clock, rises like one, and counts from 1970."""
    values = [value for cell in numbers if (value := read_number(cell)) is not None]
    later = sum(before < after for before, after in pairwise(values))
    if name.strip().lower() not in CLOCKS or len(values) < 3 or later < _MOST * (len(values) - 1):
        return None
    low, high = min(values), max(values)
    return next((unit for unit, each in _UNITS.items() if _SINCE * each <= low <= high <= _UNTIL * each), None)


def day_order(texts: Sequence[str]) -> str:
    """Which of two small numbers is the day, by numbers above 12, by points, or by the order that makes even steps.

    Where nothing tells, what is not known comes with a question mark.

    >>> day_order(["1/31/2024"]), day_order(["1.2.2024"]), day_order(["1/2/2024"])
    ('month first', 'day first', 'day?')
    >>> day_order([f"01/{month:02d}/{year}" for year in (11, 12) for month in range(1, 13)])
    'day first'
    """
    parts = [found for text in texts if (found := _SHORT.match(text))]
    first, second = (sum(int(one[place]) > 12 for one in parts) for place in (1, 3))
    long_years = all(len(one[4]) == 4 for one in parts)
    # One row that is wrong must not hide what all others say.
    if second and first <= 0.1 * second:
        return "month first"
    if long_years and second <= 0.1 * first and (first or parts[0][2].startswith(".")):
        return "day first"
    if len(parts) > 2 and not (first and second):
        orders = {order: _unevenness(texts, order) for order in ("day first", "month first")}
        even, other = sorted(orders, key=lambda order: orders[order])
        if orders[even] <= _EVEN and orders[other] >= _UNEVEN:
            return even
    return "day?" if long_years else "year?"


def _unevenness(texts: Sequence[str], order: str) -> float:
    """The longest step over the shortest, if dates in this order exist and rise; else beyond all bounds."""
    moments = [_parse(_year_first(text, order)) for text in texts]
    known = [moment[0] for moment in moments if moment is not None]
    steps = [after - before for before, after in pairwise(known)]
    return max(steps) / min(steps) if len(known) == len(moments) and min(steps) > 0 else float("inf")
