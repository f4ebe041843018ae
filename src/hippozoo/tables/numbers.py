"""Cells as numbers: words for missing values, decimal marks, and the row where there is no number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._arguments import shorten
from hippozoo.tables.problem import TableError

__all__ = ["MISSING", "Numbers", "decimal_mark", "filled_cells", "mark_in", "why_no_numbers", "with_point"]

# As spreadsheets, databases, R and Python write that there is no value; in any case.
MISSING = frozenset({"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"})
# Squares of larger ones, summed over a long table, leave the range of float64.
_LARGEST = 1e140
# Up to here float64 holds every whole number.
_EXACT = 2**53
_WHOLE = re.compile(r"[+-]?\d{1,400}")
_WITH_COMMA = r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?"
_WITH_POINT = r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?"
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:,\d{3})+"
# So many filled cells say whether a column holds numbers.
_LOOKED_AT = 50


def _is_numeric(cells: Any) -> bool:
    return cells.dtype.kind in "iufb"


def _text(cells: Any) -> tuple[Any, Any]:
    """Stripped text, and where a value is missing."""
    text = cells.astype(str).str.strip()
    return text, cells.isna() | text.str.lower().isin(MISSING)


def filled_cells(cells: Any) -> Any:
    """The first cells that are not empty, as text: enough to say what a column holds."""
    text, missing = _text(cells)
    return text[~missing].head(_LOOKED_AT)


def why_no_numbers(pandas: Any, cells: Any, separator: str) -> str:
    """Why a column's first rows are not numbers; empty where they are."""
    if _is_numeric(cells):
        return ""
    if cells.dtype.kind in "mM":
        return "it holds times"
    filled = filled_cells(cells)
    if not len(filled):
        return f"it holds no value in its first {len(cells)} rows"
    if separator != ",":
        filled = filled.mask(filled.str.fullmatch(_WITH_COMMA), "0")
    wrong = pandas.to_numeric(filled, errors="coerce").isna()
    if not wrong.any():
        return ""
    return f"{shorten(str(cells[wrong.idxmax()]))} in row {int(wrong.idxmax()) + 1} is not a number"


def mark_in(text: str) -> str:
    """The decimal mark of a number; empty if it has none, or is none."""
    if re.fullmatch(_WITH_COMMA, text):
        return ","
    return "." if re.fullmatch(_WITH_POINT, text) else ""


def with_point(text: str) -> str:
    """A number with a decimal comma, with a point in its place; anything else as it is."""
    return text.replace(",", ".") if mark_in(text) == "," else text


def decimal_mark(cells: Iterable[str], separator: str) -> str | None:
    r"""The mark of the first number that has one; empty without any; None if its comma may as well separate thousands.

    Examples
    --------
    >>> decimal_mark(["5", "1,5"], ";"), decimal_mark(["5"], ";"), decimal_mark(["1,500", "2,250"], "\t")
    (',', '', None)
    """
    marked = [(cell, mark) for cell in cells if (mark := mark_in(cell))]
    if not marked:
        return ""
    first = marked[0][1]
    # Tables with semicolons come from where the comma is decimal; those with tabs come from everywhere.
    if first == "," and separator == "\t" and all(re.fullmatch(_THOUSANDS, one) for one, mark in marked if mark == ","):
        return None
    return first


@dataclass
class Numbers:
    """Reads the cells of one file as numbers; all of them have the same decimal mark.

    A decimal comma is understood where columns are separated by something else.
    """

    pandas: Any
    path: Path
    separator: str
    named: bool = True  # whether the columns were chosen by name
    mark: str = ""  # unknown until a number has one

    def read(self, cells: Any, name: str, row: int) -> np.ndarray:
        """Values, NaN where missing; `row` is the number of the first one."""
        values, wrong = self.parse(cells, name, row)
        if wrong.any():
            at = int(wrong.argmax())
            others = "" if self.named else ", or name the columns to forecast with --column"
            raise TableError(
                f"{self.path}, row {row + at}, column {name!r}: {shorten(cells.iloc[at])} is not a number; correct it, "
                f"leave the cell empty if the value is missing, delete the row if it is no sample (a total, a unit)"
                f"{others}."
            )
        self._check_size(values, name, row)
        self.check_digits(cells, values, name, row)
        return values

    def parse(self, cells: Any, name: str, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Values, NaN where there is none, and where there is something else."""
        if _is_numeric(cells):
            return cells.to_numpy(dtype=float, na_value=np.nan), np.zeros(len(cells), bool)
        text, missing = _text(cells)
        if self.separator != ",":
            text = self._with_points(text, name, row)
        values = self.pandas.to_numeric(text.where(~missing), errors="coerce").to_numpy(dtype=float, copy=True)
        known = ~np.isnan(values)
        # pandas says what is a number, but rounds the last digits of long ones wrongly; Python does not.
        values[known] = [float(cell) for cell in text.to_numpy(dtype=object)[known]]
        return values, ~known & ~missing.to_numpy(dtype=bool)

    def _with_points(self, text: Any, name: str, row: int) -> Any:
        comma, point = text.str.fullmatch(_WITH_COMMA), text.str.fullmatch(_WITH_POINT)
        marked = (comma | point).to_numpy(dtype=bool)
        if not self.mark and marked.any():
            mark = decimal_mark(text[marked], self.separator)
            if mark is None:
                at = int(marked.argmax())
                raise TableError(
                    f"{self.path}, row {row + at}, column {name!r}: the comma of {shorten(str(text.iloc[at]))} may "
                    f"be a decimal comma or separate thousands; write numbers with a decimal point."
                )
            self.mark = mark
        other = (point if self.mark == "," else comma).to_numpy(dtype=bool)
        if other.any():
            at = int(other.argmax())
            found, before = ("point", "comma") if self.mark == "," else ("comma", "point")
            raise TableError(
                f"{self.path}, row {row + at}, column {name!r}: {shorten(str(text.iloc[at]))} has a {found}, but "
                f"numbers before it have a decimal {before}; write all numbers alike, without separators of thousands."
            )
        return text.where(~comma, text.str.replace(",", ".", regex=False))

    def _check_size(self, values: np.ndarray, name: str, row: int) -> None:
        large = np.abs(values) > _LARGEST
        if not large.any():
            return
        at = int(large.argmax())
        place = f"{self.path}, row {row + at}, column {name!r}"
        if np.isinf(values[at]):
            raise TableError(f"{place} is infinite; correct it, or leave the cell empty.")
        raise TableError(
            f"{place}: {values[at]:g} is beyond {_LARGEST:g}, and squares of such numbers are infinite; correct it, or "
            f"divide the column by a constant."
        )

    def check_digits(self, cells: Any, values: np.ndarray, name: str, row: int) -> None:
        """Whole numbers that float64 does not have are not rounded without a word."""
        for at in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
            text = str(cells.iloc[at]).strip()
            if _WHOLE.fullmatch(text) and int(text) != int(values[at]):
                raise TableError(
                    f"{self.path}, row {row + at}, column {name!r}: {text[:60]} has more digits than a float64, "
                    f"which would hold {int(values[at])}; subtract a constant from the column, or divide it by one."
                )
