"""Cells as numbers: words for missing values, decimal marks, and the kind of trouble where there is no number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "ABSENT",
    "EXACT",
    "LARGEST",
    "SMALLEST",
    "Cells",
    "decimal_marks",
    "is_missing",
    "mark_in",
    "read_column",
    "read_number",
    "read_value",
    "whole_numbers",
    "with_point",
]

# A column: text of CSV, values of JSON and Parquet; columns of numbers in Parquet are arrays, NaN where missing.
Cells = Sequence[Any] | np.ndarray
# As spreadsheets, databases, R and Python write that there is no value; in any case.
MISSING = frozenset({"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"})
# Read as numbers, in any case.
TRUTHS = {"true": 1.0, "false": 0.0}
# In place of a cell whose column a row does not have.
ABSENT = object()
# Beyond it squares, and sums of them, leave the range of float64; below it numbers have lost digits.
LARGEST, SMALLEST = 1e100, 2.2250738585072014e-308
# Up to here float64 holds every whole number.
EXACT = 2**53
_WHOLE = re.compile(r"[+-]?\d{1,400}")
_WITH_COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def read_number(cell: Any) -> float | None:
    """The number that a cell is, finite or not; None if it is none."""
    if isinstance(cell, (int, float)):
        try:
            return float(cell)
        except OverflowError:
            return math.inf
    if not isinstance(cell, str) or "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return TRUTHS.get(cell.strip().lower())


def read_value(cell: Any, marks: str = ".") -> tuple[float, str]:
    """The number, and the kind of trouble with it, if any; NaN where it is missing or wrong.

    `marks` are the decimal marks that numbers may have.

    >>> read_value("1.5"), read_value("1,5", ","), read_value("true"), read_value("1.5", ",")[1]
    ((1.5, ''), (1.5, ''), (1.0, ''), 'other mark')
    """
    if type(cell) is str:
        if marks != ".":
            cell = cell.strip()
            if "." not in marks and mark_in(cell) == ".":
                return math.nan, "other mark"  # 1.234 may well be a thousand and more
            cell = with_point(cell)
        try:
            number = float(cell)
        except ValueError:
            pass
        else:
            if (SMALLEST <= abs(number) < EXACT or number == 0) and "_" not in cell:
                return number, ""
    if is_missing(cell):
        return math.nan, ""
    if cell is ABSENT:
        return math.nan, "no such column"
    number = read_number(cell)
    if number is None:
        return math.nan, "not a number"
    if math.isnan(number):
        return math.nan, ""
    if abs(number) > LARGEST:
        return math.nan, "too large"
    if 0 < abs(number) < SMALLEST:
        return 0.0, "too small"
    whole = cell if isinstance(cell, int) else int(cell) if isinstance(cell, str) and _WHOLE.fullmatch(cell) else None
    return number, "digits" if whole is not None and whole != int(number) else ""


def read_column(cells: Cells, marks: str = ".") -> tuple[np.ndarray, list[tuple[int, str]]]:
    """As `read_value` of every cell, and faster; the places of troubles with their kinds.

    >>> values, troubles = read_column(["1", "", "x", "2.5"])
    >>> values.tolist(), troubles
    ([1.0, nan, nan, 2.5], [(2, 'not a number')])
    """
    if isinstance(cells, np.ndarray):
        values, doubtful = cells, _doubtful(cells)
    else:
        try:
            if "." not in marks or any(type(cell) is str and "_" in cell for cell in cells):
                raise ValueError("one by one")
            values = np.array([float(cell) if cell is not None and cell != "" else math.nan for cell in cells], float)
        except (ValueError, TypeError, OverflowError):
            read = [read_value(cell, marks) for cell in cells]
            found = [(place, kind) for place, (_, kind) in enumerate(read) if kind]
            return np.array([value for value, _ in read], float), found
        doubtful = _doubtful(values) | (np.abs(values) >= EXACT)
    troubles = []
    for place in np.flatnonzero(doubtful).tolist():
        cell = float(cells[place]) if isinstance(cells, np.ndarray) else cells[place]
        values[place], kind = read_value(cell, marks)
        if kind:
            troubles.append((place, kind))
    return values, troubles


def whole_numbers(cells: Cells) -> np.ndarray | None:
    """The cells as numbers if all of them are whole; else None."""
    values = [read_number(cell) for cell in cells]
    if not all(value is not None and value == np.floor(value) for value in values):
        return None
    return np.array(values, float)


def _doubtful(values: np.ndarray) -> np.ndarray:
    return (np.abs(values) > LARGEST) | ((np.abs(values) < SMALLEST) & (values != 0))


def mark_in(text: str) -> str:
    """The decimal mark of a number; empty if it has none, or is none."""
    if _WITH_COMMA.fullmatch(text):
        return ","
    return "." if _WITH_POINT.fullmatch(text) else ""


def with_point(text: str) -> str:
    """A number with a decimal comma, with a point in its place; anything else as it is."""
    return text.replace(",", ".") if "," in text and mark_in(text) == "," else text


def decimal_marks(cells: Iterable[str], separator: str) -> tuple[str, str]:
    r"""The decimal marks that numbers may have, and a number whose comma may as well separate thousands.

    The mark of the first number that has one is that of all. Tables with semicolons come from where the comma is
    decimal; with tabs a comma may separate thousands.

    >>> decimal_marks(["5", "1,5"], ";"), decimal_marks(["5"], ";"), decimal_marks(["1,500", "2,250"], "\t")
    ((',', ''), (',.', ''), ('.', '1,500'))
    """
    if separator == ",":
        return ".", ""
    marked = [(cell, mark) for cell in cells if (mark := mark_in(cell))]
    if not marked:
        return (",." if separator == ";" else "."), ""
    first, mark = marked[0]
    commas = [cell for cell, one in marked if one == ","]
    if mark == "," and separator == "\t" and all(_THOUSANDS.fullmatch(one) for one in commas):
        return ".", first
    return mark, ""
