"""Times whose year, month, day and hour stand in columns of their own, and columns that only count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["CLOCKS", "PARTS", "date_parts", "holds_hours", "joined_dates", "why_it_counts"]

# What each part may be called, and the whole numbers that it may hold.
PARTS: dict[str, tuple[frozenset[str], int, int]] = {
    "year": (frozenset({"year", "yr", "yyyy", "jahr"}), 1600, 2400),
    "month": (frozenset({"month", "mon", "mo", "mm", "monat"}), 1, 12),
    "day": (frozenset({"day", "dd", "dom", "day_of_month", "tag"}), 1, 31),
    "hour": (frozenset({"hour", "hr", "hh", "stunde"}), 0, 23),
    "minute": (frozenset({"minute", "min", "mi"}), 0, 59),
    "second": (frozenset({"second", "sec", "ss"}), 0, 59),
}
_COUNTERS = frozenset({"index", "idx", "row", "rownum", "row_number", "id", "no", "nr", "number", "obs", "rownames"})
# What a column of times may be called.
CLOCKS = frozenset({"time", "times", "timestamp", "ts", "date", "datetime", "epoch", "unix", "unixtime", "unix_time"})
_FEWEST = 8


def date_parts(pandas: Any, frame: Any, names: list[str]) -> dict[str, str]:
    """The column of each part, from the year down to the finest that is there; empty without a year that rises.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"YEAR": [2023, 2024], "Month": [12, 1], "load": [5, 6]})
    >>> date_parts(pandas, frame, list(frame))
    {'year': 'YEAR', 'month': 'Month'}
    """
    found: dict[str, str] = {}
    for part, (spellings, lowest, highest) in PARTS.items():
        named = [name for name in names if name.strip().lower() in spellings]
        if len(named) != 1 or not _whole_between(pandas, frame[named[0]], lowest, highest):
            break  # hours without days would be no times
        found[part] = named[0]
    if not found or len(frame) < 2:
        return {}
    keys = np.column_stack([_numbers(pandas, frame[name]) for name in found.values()])
    rising = all(tuple(a) < tuple(b) for a, b in zip(keys[:-1].tolist(), keys[1:].tolist(), strict=True))
    return found if rising else {}


def holds_hours(pandas: Any, name: str, cells: Any) -> bool:
    """Whether a column is called hour and holds the hours of a day, which some count up to 24.

    Examples
    --------
    >>> import pandas
    >>> holds_hours(pandas, "Hour", pandas.Series(["0", "1", "23"])), holds_hours(pandas, "x", pandas.Series([1]))
    (True, False)
    """
    spellings, lowest, highest = PARTS["hour"]
    return name.strip().lower() in spellings and _whole_between(pandas, cells, lowest, highest + 1)


def joined_dates(pandas: Any, frame: Any, parts: Mapping[str, str]) -> Any:
    """The parts of each row as one date in words, 2024-01-31 12:00:00."""
    columns = {part: _numbers(pandas, frame[parts[part]]) for part in parts}
    rows = len(frame)
    whole = {part: columns.get(part, np.full(rows, 1.0 if part in ("month", "day") else 0.0)) for part in PARTS}

    def word(row: int) -> str:
        values = [whole[part][row] for part in PARTS]
        if not all(np.isfinite(values)):
            return "/".join(str(frame[name].iloc[row]) for name in parts.values())
        year, month, day, hour, minute, second = (int(one) for one in values)
        return f"{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"

    return pandas.Series([word(row) for row in range(rows)], index=frame.index, dtype=str)


def why_it_counts(pandas: Any, name: str, cells: Any) -> str:
    """Why a column of numbers says where a row stands and nothing else; empty if it may be worth a forecast.

    Examples
    --------
    >>> import pandas
    >>> why_it_counts(pandas, "YEAR", pandas.Series(range(1990, 2020)))
    'it counts; name it with --column to forecast it'
    >>> why_it_counts(pandas, "ts", pandas.Series(range(1_600_000_000, 1_600_000_600, 60)))
    'it rises like a clock; --time ts reads it as the times, --column ts forecasts it'
    >>> why_it_counts(pandas, "load", pandas.Series([3, 1, 4, 1, 5, 9, 2, 6]))
    ''
    """
    values = _numbers(pandas, cells)
    if len(values) < _FEWEST or not np.isfinite(values).all():
        return ""
    steps = np.diff(values)
    spelled = name.strip().lower()
    if spelled in CLOCKS and (steps > 0).all():
        return f"it rises like a clock; --time {name} reads it as the times, --column {name} forecasts it"
    if (values != np.floor(values)).any():
        return ""
    is_part = any(
        spelled in spellings and lo <= values.min() <= values.max() <= hi for spellings, lo, hi in PARTS.values()
    )
    by_ones = (np.abs(steps) == 1).all() and (steps == steps[0]).all()
    calls_itself = spelled in _COUNTERS and (steps == steps[0]).all() and steps[0] != 0
    return "it counts; name it with --column to forecast it" if is_part or by_ones or calls_itself else ""


def _numbers(pandas: Any, cells: Any) -> np.ndarray:
    return pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=float)


def _whole_between(pandas: Any, cells: Any, lowest: int, highest: int) -> bool:
    values = _numbers(pandas, cells)
    known = np.isfinite(values).all() and (values == np.floor(values)).all()
    return bool(len(values) and known and values.min() >= lowest and values.max() <= highest)
