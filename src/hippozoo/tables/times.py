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

__all__ = ["Times", "holds_dates", "holds_times_of_day", "times_for"]

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
            moments = self._parse(text)
            local = self._parse(bare) if self.zoned else None
        why = f"is not a date, or not written like those before; write it as 2024-01-31 12:00, or {_NO_SAMPLE}."
        self._refuse(moments.isna().to_numpy(), cells, row, why)
        seconds = _seconds(moments)
        return seconds, None if local is None else np.rint(_seconds(local) - seconds)

    def _parse(self, text: Any) -> Any:
        """Moments in UTC, NaT where there is none."""
        read = self.pandas.to_datetime
        if self.kind == "digits":
            return read(text, errors="coerce", utc=True, format=self.digits)
        if self.kind != "dates":
            parts = text.str.extract(_SHORT).fillna("")
            day, month = (parts[0], parts[2]) if self.kind == "day first" else (parts[2], parts[0])
            century = parts[3].lt("69").map({True: "20", False: "19"})  # where it is not written, as in POSIX
            year = parts[3].where(parts[3].str.len() == 4, century + parts[3])
            text = year + "-" + month.str.zfill(2) + "-" + day.str.zfill(2) + parts[4]
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
    if _CLOCK.match(begin):
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
    parts = text.str.extract(_SHORT)
    small = parts[[0, 2]].fillna(99).astype(int)
    short = (small.max(axis=1) <= 31) & (small.min(axis=1) <= 12)
    short &= (parts[3].str.len() == 4) | parts[1].isin(["/", "."])  # 10-20-30 may be anything
    # Without a year pandas makes dates of much that is none.
    moments = Times(pandas, path, name, numbers, "dates")._parse(text)
    return bool((short | (moments.notna() & text.str.contains(_YEAR))).mean() > 0.5)


def holds_times_of_day(cells: Any) -> bool:
    """Whether most cells of a column are times of day without a date."""
    text = filled_cells(cells)
    return bool(len(text) and text.str.fullmatch(_CLOCK).mean() > 0.5)


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
