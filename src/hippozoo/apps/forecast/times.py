"""Times and lengths of time as text: "one week", not 604800 seconds."""

from __future__ import annotations

import re
from datetime import time, timedelta, timezone
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten

__all__ = ["parse_duration", "say_duration", "say_last", "seconds_of", "write_dates", "write_numbers"]

_UNITS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
_SHORT = {"w": "week", "d": "day", "h": "hour", "min": "minute", "s": "second", "sec": "second"}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
# So many days are a year, for those who count them: 52 weeks, 365 days, and what the calendar says.
_YEAR = (364 * 86_400, 366.5 * 86_400)


def parse_duration(name: str, given: Any) -> tuple[float, str]:
    """A number and its unit, ``"second"`` or ``"month"``; a timedelta is one too.

    >>> parse_duration("horizon", "2 days"), parse_duration("horizon", "1 year"), parse_duration("horizon", "90min")
    ((172800.0, 'second'), (12.0, 'month'), (5400.0, 'second'))
    """
    if isinstance(given, timedelta):
        return given.total_seconds(), "second"
    if type(given).__name__ == "timedelta64":
        return float(given / type(given)(1, "us")) / 1e6, "second"
    pattern = r"\s*(a |an |one |\d+(?:\.\d+)?)\s*([a-zA-Z]+?)s?\s*"
    if isinstance(given, str) and (words := re.fullmatch(pattern, given)):
        count = 1.0 if words[1].strip() in ("a", "an", "one") else float(words[1])
        unit = words[2].lower()
        unit = _SHORT.get(unit, unit)
        if unit in _UNITS:
            return count * _UNITS[unit], "second"
        if unit in _MONTHS:
            return count * _MONTHS[unit], "month"
    raise ValueError(
        f"{name}={shorten(given)} is no length of time; write a number and seconds, minutes, hours, days, weeks, "
        f"months, quarters or years, as '2 days'."
    )


def seconds_of(name: str, given: str) -> float:
    """A length of time in seconds, 900 for "15 minutes"; months have none."""
    count, unit = parse_duration(name, given)
    if unit != "second":
        raise ValueError(f"{name}={shorten(given)}: months differ in length; omit {name}, steps of months are found.")
    return count


def say_duration(seconds: float | int) -> str:
    """A length of time in its largest whole unit.

    >>> [say_duration(seconds) for seconds in (604_800, 900, 5400, 0.1, 1)]
    ['one week', '15 minutes', '90 minutes', '0.1 seconds', 'one second']
    """
    for name, length in _UNITS.items():
        count = seconds / length
        if count >= 1 and abs(count - round(count)) < 1e-9 * count:
            return f"one {name}" if round(count) == 1 else f"{round(count)} {name}s"
    return f"{seconds:g} seconds"


def say_last(period: int, seconds: float | int | None) -> str:
    """What stands a season before now: "last week"; without times, "the last 7 steps".

    >>> say_last(168, 168 * 3600.0), say_last(24, 24 * 3600.0), say_last(52, 52 * 604_800.0), say_last(17, None)
    ('last week', 'yesterday', 'last year', 'the last 17 steps')
    """
    if seconds is not None:
        if _YEAR[0] <= seconds <= _YEAR[1]:
            return "last year"
        for name, length in _UNITS.items():
            if abs(seconds - length) < 1e-9 * length:
                return {"day": "yesterday", "week": "last week"}.get(name, f"the last {name}")
    return f"the last {period} steps"


def write_dates(local: np.ndarray, offset: float | None) -> tuple[str, ...]:
    """Seconds since 1970 by a clock that is `offset` ahead of UTC, as in ISO 8601 with a blank in the middle.

    >>> write_dates(np.array([0.0, 3600.0]), None)
    ('1970-01-01 00:00:00', '1970-01-01 01:00:00')
    >>> write_dates(np.array([0.1, 1.0]), 7200.0)
    ('1970-01-01 00:00:00.100000+02:00', '1970-01-01 00:00:01.000000+02:00')
    """
    micros = np.rint(local * 1e6).astype("int64")
    texts = np.datetime_as_string(micros.astype("datetime64[us]"), unit="us" if (micros % 1_000_000).any() else "s")
    zone = "" if offset is None else time(tzinfo=timezone(timedelta(seconds=round(offset)))).isoformat()[8:]
    return tuple(text.replace("T", " ") + zone for text in texts.tolist())


def write_numbers(times: np.ndarray) -> tuple[str, ...]:
    """Plain numbers: whole ones with all digits, others without the noise of the last.

    >>> write_numbers(np.array([1700000060000.0, 59.9 + 3 * 0.1]))
    ('1700000060000', '60.2')
    """
    return tuple(str(int(one)) if one == int(one) else f"{one:.15g}" for one in times.tolist())
