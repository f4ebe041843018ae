"""Columns of True and False, which are read as 1 and 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hippozoo.tables.numbers import filled_cells

__all__ = ["all_as_numbers", "as_numbers", "holds_truths"]

_TRUTHS = {"true": "1", "false": "0"}


def holds_truths(cells: Any) -> bool:
    """Whether a column holds True and False, in any case, and nothing else in its first rows.

    Examples
    --------
    >>> import pandas
    >>> holds_truths(pandas.Series(["True", "", "FALSE"])), holds_truths(pandas.Series(["True", "1"]))
    (True, False)
    """
    if cells.dtype.kind == "b":
        return True
    if cells.dtype.kind in "iufM":
        return False
    filled = filled_cells(cells)
    return bool(len(filled)) and bool(filled.str.lower().isin(_TRUTHS).all())


def as_numbers(frame: Any, names: Sequence[str]) -> Any:
    """The same table with 1 for True and 0 for False in these columns; other cells stay as they are."""
    return frame.assign(**{name: _read(frame[name]) for name in names})


def all_as_numbers(frames: Iterator[tuple[Any, int]], names: Sequence[str]) -> Iterator[tuple[Any, int]]:
    """`as_numbers` of all frames that follow."""
    for frame, done in frames:
        yield as_numbers(frame, names), done


def _read(cells: Any) -> Any:
    if cells.dtype.kind == "b":
        return cells
    numbers = cells.astype(str).str.strip().str.lower().map(_TRUTHS)
    return cells.where(numbers.isna(), numbers)
