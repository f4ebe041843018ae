"""Whether the first line of a table is a row, because the table has no header."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippozoo.tables.numbers import filled_cells

__all__ = ["looks_like_a_row"]


def looks_like_a_row(pandas: Any, frame: Any, names: list[str], separator: str = ",") -> bool:
    """Whether all names are numbers like those below them.

    Some tables are meant to have numbers for names: years, or 0, 1, 2 as pandas writes them. So a name counts only if
    it is written like the values of its column, with a fraction or without, and is no further from them than they
    are from each other.

    Examples
    --------
    >>> import pandas
    >>> below = pandas.DataFrame({"50.1": ["49.7", "51.2"], "7": ["8", "6"]})
    >>> looks_like_a_row(pandas, below, list(below))
    True
    >>> years = pandas.DataFrame({"2019": ["310", "295"], "2020": ["287", "301"]})
    >>> looks_like_a_row(pandas, years, list(years))
    False
    """
    if names == [str(place) for place in range(len(names))]:
        return False
    heads = [_numbers(pandas, pandas.Series([name]), separator)[0] for name in names]
    # A row may have gaps, which `read_table` gives names of their own.
    unnamed = [name == f"Unnamed: {place}" for place, name in enumerate(names)]
    if all(unnamed) or not all(np.isfinite(head) or gap for head, gap in zip(heads, unnamed, strict=True)):
        return False
    return all(
        _is_like(head, _numbers(pandas, filled_cells(frame[name]), separator))
        for name, head, gap in zip(names, heads, unnamed, strict=True)
        if not gap
    )


def _is_like(head: float, values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    if not len(known):
        return False
    whole = (known == np.floor(known)).mean()
    if whole == 1.0 if head != np.floor(head) else whole < 0.1:
        return False
    reach = max(np.ptp(known), abs(head) * 1e-3)
    return bool(known.min() - reach <= head <= known.max() + reach)


def _numbers(pandas: Any, cells: Any, separator: str) -> np.ndarray:
    text = cells.astype(str).str.strip()
    if separator != ",":
        text = text.str.replace(",", ".", regex=False)
    return pandas.to_numeric(text, errors="coerce").to_numpy(dtype=float)
