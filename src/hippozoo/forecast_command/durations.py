"""Lengths of time as people say them: "one week", not 604800 seconds."""

from __future__ import annotations

__all__ = ["say_duration", "say_last"]

_UNITS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
# So many days are a year, for those who count them: 52 weeks, 365 days, and what the calendar says.
_YEAR = (364 * 86_400, 366.5 * 86_400)


def say_duration(seconds: float | int) -> str:
    """A length of time in its largest whole unit.

    Examples
    --------
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

    Examples
    --------
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
