"""Cells as times: numbers, or dates whose order of day and month is certain."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hippozoo._arguments import shorten
from hippozoo.tables.numbers import Numbers, filled_cells, why_no_numbers
from hippozoo.tables.problem import TableError

__all__ = [
    "Kind",
    "Times",
    "holds_dates",
    "holds_times_of_day",
    "is_short_date",
    "is_time_of_day",
    "may_be_date",
    "times_for",
    "year_first",
]

Kind = Literal["numbers", "digits", "dates", "day first", "month first"]

# Dates written as one whole number, by their length; ten digits would be seconds since 1970 as often as hours.
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_SENSIBLE = (1800, 2200)
# 31.1.2024, 01/31/24 and their like; what follows is the time of day.
_SHORT = re.compile(r"^(\d{1,2})(\.\s?|[/ -])(\d{1,2})(?:\.\s?|[/ -])(\d{4}|\d{2})(?!\d)(.*)$")
_SHORT_ANYWHERE = r"\b\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})\b"
_CLOCK = re.compile(r"^\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[apAP][mM])?$")
_YEAR = r"(?<!\d)(?:1[89]|20|21)\d\d"
_NO_SAMPLE = "delete the row if it is no sample (blank, a total, a unit)"
# A moment up to its time of day, and the zone after it.
_ZONED = r"(?i)^(.*\d:\d\d[\d:.,]*(?:\s*[ap]m)?)\s*(?:Z|UTC|GMT|(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?)$"


@dataclass(frozen=True)
class Times:
    """Reads the times of one column in the same way in every chunk."""

    pandas: Any
    path: Path
    name: str
    numbers: Numbers
    kind: Kind
    digits: str = ""
    zoned: bool = False

    @property
    def dates(self) -> bool:
        """Whether times are dates, and not plain numbers."""
        return self.kind != "numbers"

    def read(self, cells: Any, row: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Seconds since 1970 (or plain numbers), and how many seconds local time is ahead of them, if it says so."""
        if self.kind == "numbers":
            numbers, _ = self.numbers.parse(cells, self.name, row)
            why = f"is not a number like those before; correct the time of this row, or {_NO_SAMPLE}."
            self._refuse(~np.isfinite(numbers), cells, row, why)
            self.numbers.check_digits(cells, numbers, self.name, row)
            return numbers, None
        if cells.dtype.kind == "M":
            moments = cells.dt.tz_convert("UTC") if cells.dt.tz is not None else cells
            local = cells.dt.tz_localize(None) if cells.dt.tz is not None else None
        else:
            text = _plain(cells)
            bare = text.str.extract(_ZONED, expand=False)
            zoned = bare.notna().to_numpy()
            said = "has no time zone, and row 1 has one" if self.zoned else "has a time zone, and row 1 has none"
            self._refuse(zoned != self.zoned, cells, row, f"{said}; write all times alike.")
            moments = self.parse(text)
            local = self.parse(bare) if self.zoned else None
        why = f"is not a date, or not written like those before; write it as 2024-01-31 12:00, or {_NO_SAMPLE}."
        self._refuse(moments.isna().to_numpy(), cells, row, why)
        seconds = _seconds(moments)
        return seconds, None if local is None else np.rint(_seconds(local) - seconds)

    def parse(self, text: Any) -> Any:
        """Moments in UTC, NaT where there is none."""
        read = self.pandas.to_datetime
        if self.kind == "digits":
            return read(text, errors="coerce", utc=True, format=self.digits)
        if self.kind != "dates":
            kind = self.kind
            text = text.map(lambda one: year_first(one, kind), na_action="ignore")
        moments = read(text, errors="coerce", utc=True, format="ISO8601")
        if not moments.isna().any():
            return moments
        with warnings.catch_warnings():
            # Where no common format is found pandas says so and tries each cell by itself, which is what is wanted.
            warnings.simplefilter("ignore", UserWarning)
            guessed = read(text, errors="coerce", utc=True)
        # Of 1/2/2024 pandas takes the first number for the month, whatever was meant.
        guessed = guessed.where(~text.str.contains(_SHORT_ANYWHERE, na=False))
        return guessed if guessed.isna().sum() < moments.isna().sum() else moments

    def _refuse(self, wrong: np.ndarray, cells: Any, row: int, why: str) -> None:
        if wrong.any():
            at = int(wrong.argmax())
            cell = cells.iloc[at]
            shown = shorten(cell if isinstance(cell, str) else str(cell))
            raise TableError(f"{self.path}, row {row + at}, column {self.name!r}: {shown} {why}")


def _seconds(moments: Any) -> np.ndarray:
    # Microseconds, because float64 holds no more of a date of our time.
    return moments.dt.as_unit("us").astype("int64").to_numpy() / 1e6


def _plain(cells: Any) -> Any:
    """Text without what surrounds it; whole numbers without a point."""
    if cells.dtype.kind == "f":
        whole = np.isfinite(cells).all() and (cells == np.floor(cells)).all()
        cells = cells.astype("int64") if whole else cells
    return cells.astype(str).str.strip()


def times_for(pandas: Any, path: Path, name: str, cells: Any, numbers: Numbers) -> Times:
    """The reader that fits a column, by its cells in the first chunk."""
    if cells.dtype.kind == "M":
        return Times(pandas, path, name, numbers, "dates")
    text = _plain(cells)
    begin = str(text.iloc[0])
    if not why_no_numbers(pandas, cells, numbers.separator):
        digits = _digits(pandas, text)
        return Times(pandas, path, name, numbers, "digits" if digits else "numbers", digits)
    place = f"{path}, row 1, column {name!r}: {shorten(begin)}"
    if is_time_of_day(begin):
        raise TableError(
            f"{place} is a time of day without a date; write it as 2024-01-31 12:00, or name another column by --time."
        )
    kind = _order(text, place) if _SHORT.match(begin) else "dates"
    return Times(pandas, path, name, numbers, kind, zoned=bool(re.match(_ZONED, begin)))


def holds_dates(pandas: Any, path: Path, name: str, cells: Any, numbers: Numbers) -> bool:
    """Whether most cells of a column are dates; its readers say what is wrong with the others."""
    if cells.dtype.kind == "M":
        return True
    if not why_no_numbers(pandas, cells, numbers.separator):
        # A few rows first: most columns of numbers are none of days.
        return all(_digits(pandas, _plain(part)) for part in (cells.head(9), cells))
    text = filled_cells(cells)
    if not len(text):
        return False
    short = text.map(is_short_date).astype(bool)
    # Without a year pandas makes dates of much that is none.
    moments = Times(pandas, path, name, numbers, "dates").parse(text)
    return bool((short | (moments.notna() & text.str.contains(_YEAR))).mean() > 0.5)


def may_be_date(text: str) -> bool:
    """Whether it is worth looking closer at a cell: it has a year, or small numbers as a date has them.

    Examples
    --------
    >>> [may_be_date(text) for text in ("31.1.2024", "31-Jan-2024", "20240131", "pump 7", "10-20-30")]
    [True, True, True, False, False]
    """
    return is_short_date(text) or bool(re.search(_YEAR, text))


def year_first(text: str, kind: Kind) -> str:
    """A short date whose order is known, as ISO 8601 has it; empty if it is none.

    Examples
    --------
    >>> year_first("31.1.2024 12:00", "day first"), year_first("1/31/69", "month first")
    ('2024-01-31 12:00', '1969-01-31')
    """
    found = _SHORT.match(text)
    if found is None:
        return ""
    day, _, month, year, clock = found.groups()
    if kind == "month first":
        day, month = month, day
    if len(year) == 2:
        year = f"{'20' if year < '69' else '19'}{year}"  # as in POSIX
    return f"{year}-{month:0>2}-{day:0>2}{clock}"


def is_short_date(text: str) -> bool:
    """Whether it begins like 31.1.2024 or 1/31/24."""
    found = _SHORT.match(text)
    if found is None:
        return False
    small = sorted((int(found[1]), int(found[3])))
    sensible = small[0] <= 12 and small[1] <= 31
    return sensible and (len(found[4]) == 4 or found[2] in ("/", "."))  # 10-20-30 may be anything


def holds_times_of_day(cells: Any) -> bool:
    """Whether most cells of a column are times of day without a date."""
    text = filled_cells(cells)
    return bool(len(text) and text.map(is_time_of_day).mean() > 0.5)


def is_time_of_day(text: str) -> bool:
    """Whether it is a time of day without a date."""
    return _CLOCK.match(text) is not None


def _digits(pandas: Any, text: Any) -> str:
    """The format of whole numbers if every one is a date that may well be meant; else none."""
    length = len(str(text.iloc[0]))
    if length not in _DIGITS or not text.str.fullmatch(rf"\d{{{length}}}", na=False).all():
        return ""
    moments = pandas.to_datetime(text, errors="coerce", format=_DIGITS[length])
    sensible = moments.notna().all() and moments.dt.year.between(*_SENSIBLE).all()
    return _DIGITS[length] if sensible else ""


def _order(text: Any, place: str) -> Kind:
    """Which of two small numbers is the day; a guess would be wrong without a sign of it."""
    parts = text.str.extract(_SHORT).dropna()
    first, second = (parts[column].astype(int).gt(12).any() for column in (0, 2))
    long_years = (parts[3].str.len() == 4).all()
    if second and not first:
        return "month first"
    if not second and long_years and (first or parts[1].iloc[0].startswith(".")):
        return "day first"
    why = "does not say which number is the day" if long_years else "does not say which number is the year"
    raise TableError(f"{place} {why}; write dates as 2024-01-31.")
