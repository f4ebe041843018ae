"""Which column of a stream holds the times, from its first rows, where nobody has named it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hippozoo.watch_command.cells import read_date, read_number

__all__ = ["find_time", "holds_dates"]

_TIME_NAMES = ("time", "timestamp", "date", "datetime", "ts")
# A column of dates is that of the times if no larger share of its first rows, or no more than one, is no date.
_OTHERS = 0.1


def find_time(
    known: Sequence[str], examples: Sequence[dict[str, Any]], columns: Sequence[str], notes: list[str]
) -> str | None:
    """The column of times: one that is called so, or the first that holds dates in nearly all rows."""
    free = [name for name in known if name not in columns]
    for name in free:
        if name.strip().lower() in _TIME_NAMES:
            return name
    some = {}
    for name in free:
        cells = [one.get(name) for one in examples]
        dates = sum(map(_is_date, cells))
        if dates and len(cells) - dates <= max(1, _OTHERS * len(cells)):
            return name
        if 2 * dates > len(cells):
            some[name] = dates
    for name, dates in some.items():
        notes.append(
            f"column {name!r} holds dates in {dates} of its first {len(examples)} rows and is not taken for the times: "
            f"readings are numbered. If it holds the times, pass --time {name}."
        )
    return None


def holds_dates(cells: Sequence[Any]) -> bool:
    """Whether the times of a column are dates and not numbers; one that is wrong does not decide."""
    return sum(map(_is_date, cells)) > sum(read_number(cell) is not None for cell in cells)


def _is_date(cell: Any) -> bool:
    return read_number(cell) is None and read_date(cell) is not None
