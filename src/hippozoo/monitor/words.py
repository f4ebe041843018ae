"""An alarm in a sentence for a night shift, and how severe it is."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

__all__ = ["SEVERITIES", "sentence", "severity_of", "write_number", "write_time"]

# From the least to the most.
SEVERITIES = ("minor", "major", "critical")
# So many half bands from what was expected, and so many readings, are more than minor; and critical.
_FAR, _LONG = (3.0, 10.0), (12, 100)


def write_time(moment: float, offset: float | None = None, *, dates: bool = True) -> str:
    """A time as it is written everywhere: by the clock of the source, with its zone where it names one.

    Parameters
    ----------
    moment
        Seconds since 1970, or a plain number.
    offset
        How many seconds the clock of the source is ahead of UTC; None where it names no zone.
    dates
        Whether it is a date.

    Examples
    --------
    >>> write_time(3600.0), write_time(3600.5, 7200.0), write_time(17.0, dates=False)
    ('1970-01-01 01:00', '1970-01-01 03:00:00.500000+02:00', '17')
    """
    if not dates:
        return f"{moment:g}" if moment != int(moment) or abs(moment) > 1e15 else str(int(moment))
    try:
        zone = UTC if offset is None else timezone(timedelta(seconds=offset))
        found = datetime.fromtimestamp(0.0, zone) + timedelta(seconds=moment)
    except (OverflowError, ValueError, OSError):
        return f"{moment:g}"
    fine = "%H:%M:%S.%f" if found.microsecond else "%H:%M:%S" if found.second else "%H:%M"
    text = f"{found.year:04d}-{found:%m-%d} {found:{fine}}"
    return text if offset is None else f"{text}{found:%z}"[:-2] + ":" + f"{found:%z}"[3:5]


def write_number(value: float | None) -> str:
    """A number for people: four digits that count, thousands apart.

    Examples
    --------
    >>> write_number(69712.3), write_number(0.012345), write_number(0.0), write_number(None)
    ('69,710', '0.01235', '0', 'nothing')
    """
    if value is None or math.isnan(value):
        return "nothing"
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e15 else f"{rounded:g}"


def severity_of(far: float, readings: int, columns: int, of_columns: int, *, no_data: bool = False) -> str:
    """How severe an alarm is: by how far, for how long, and in how many columns of how many.

    Minor within three half bands of what was expected, one column, less than 12 readings; critical beyond ten half
    bands, over 100 readings, or in three columns or more that are half of all; major in between. No data is major.

    Examples
    --------
    >>> severity_of(2.0, 1, 1, 5), severity_of(4.0, 1, 1, 5), severity_of(2.0, 1, 4, 5)
    ('minor', 'major', 'critical')
    """
    if far >= _FAR[1] or readings >= _LONG[1] or (columns >= 3 and 2 * columns >= of_columns):
        return "critical"
    return "major" if no_data or far >= _FAR[0] or readings >= _LONG[0] or columns > 1 else "minor"


def _describe(alarm: dict[str, Any]) -> str:
    """What has happened to a column, in words."""
    column, kind, when, since = (alarm[name] for name in ("column", "kind", "time", "since"))
    value, expected, seen = alarm["value"], alarm["expected"], write_number(alarm["value"])
    if kind == "no data":
        return f"{column} has sent nothing since {since}"
    if value is None or expected is None:
        return f"{column} was {seen} at {when}"
    up = alarm["direction"] > 0
    if kind != "spread" and since == when:
        return f"{column} {'fell' if value < expected else 'rose'} to {seen} at {when}"
    side = "above" if up else "below"
    what = {
        "spread": "has changed more than usual" if up else "has hardly changed",
        "shape": "has taken an unusual course",
        "cycle": f"has been {side} its cycle",
        "together": f"has been {side} what the other columns suggest",
    }.get(kind, f"has been {side} its usual level")
    return f"{column} {what} since {since}; it was {seen} at {when}"


def sentence(alarm: dict[str, Any]) -> str:
    """An alarm for a night shift: what happened, what was expected, and whether the like has come before.

    Parameters
    ----------
    alarm
        Its column, kind, direction, p, value, expected, lower, upper, readings, and, as they are written, its time,
        `since` and the `nearest` (time, value, and by what), if nothing as far has come before.

    Examples
    --------
    >>> alarm = {"column": "load", "kind": "spike", "direction": -1, "value": 0.0, "expected": 69700.0, "p": 1e-6}
    >>> alarm |= {"lower": 67200.0, "upper": 73000.0, "readings": 5500, "time": "08:00", "since": "08:00"}
    >>> sentence(alarm | {"nearest": ("12 May 03:00", 31000.0, "value")})[:77]
    'load fell to 0 at 08:00; 69,700 expected (67,200 to 73,000); nothing like it '
    """
    parts = [_describe(alarm)]
    if alarm["kind"] == "no data" or alarm["expected"] is None:
        return parts[0]
    band = ""
    if alarm["lower"] is not None and alarm["upper"] is not None:
        band = f" ({write_number(alarm['lower'])} to {write_number(alarm['upper'])})"
    parts.append(f"{write_number(alarm['expected'])} expected{band}")
    near = alarm.get("nearest")
    if near is None:
        parts.append(f"expected once in {1 / max(alarm['p'], 1e-12):,.0f} readings")
    else:
        what = "nothing like it" if near[2] == "value" else "no error as large"
        parts.append(f"{what} in {alarm['readings']:,} readings; the nearest was {near[0]} ({write_number(near[1])})")
    return "; ".join(parts)
