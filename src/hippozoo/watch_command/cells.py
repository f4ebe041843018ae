"""Cells of a row as numbers and as times."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hippozoo._arguments import shorten
from hippozoo.tables.numbers import MISSING, mark_in, with_point
from hippozoo.tables.one_date import iso_date

__all__ = ["ABSENT", "LARGEST", "is_missing", "read_date", "read_number", "read_value", "value_reader"]

# Beyond it squares, and sums of them, leave the range of float64.
LARGEST = 1e100
# In place of a cell whose column a row does not have.
ABSENT = object()


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is no value."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def read_number(cell: Any) -> float | None:
    """The number that a cell is, finite or not; None if it is none."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, (int, float)):
        try:
            return float(cell)
        except OverflowError:
            return math.inf
    try:
        return float(cell) if isinstance(cell, str) and "_" not in cell else None
    except ValueError:
        return None


def read_date(cell: Any) -> float | None:
    """Seconds since 1970 of a date in ISO 8601; None if the cell is none."""
    return iso_date(cell.strip()) if isinstance(cell, str) else None


def read_value(cell: Any) -> tuple[float, str]:
    """The number, and what is wrong with it; NaN where it is missing or wrong."""
    if type(cell) is str:  # most cells by far are numbers
        try:
            number = float(cell)
        except ValueError:
            pass
        else:
            if -LARGEST <= number <= LARGEST and "_" not in cell:
                return number, ""
    if is_missing(cell):
        return math.nan, ""
    if cell is ABSENT:
        return math.nan, "there is no such column in this row"
    number = read_number(cell)
    if number is None:
        return math.nan, f"{shorten(cell)} is not a number"
    if math.isnan(number):
        return math.nan, ""
    if abs(number) > LARGEST:
        return math.nan, f"{shorten(cell)} is beyond {LARGEST:g}"
    return number, ""


def value_reader(marks: str) -> Callable[[Any], tuple[float, str]]:
    """As `read_value`, for numbers with these decimal marks.

    Examples
    --------
    >>> value_reader(",")("1,5"), value_reader(",.")("1.5")
    ((1.5, ''), (1.5, ''))
    """
    if marks == ".":
        return read_value

    def read(cell: Any) -> tuple[float, str]:
        if not isinstance(cell, str):
            return read_value(cell)
        text = cell.strip()
        if "." not in marks and mark_in(text) == ".":
            # As forecast does: 1.234 may well be a thousand and more.
            return math.nan, f"{shorten(cell)} has a point, and numbers before it a decimal comma"
        return read_value(with_point(text))

    return read
