"""What the page and its neighbours ask for, read from the databases: streams, their last day, alarms."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import reading, settings_in, sound
from hippozoo.apps.watch.overview import StreamNow, alarms_in, look_over
from hippozoo.apps.watch.problem import WatchError
from hippozoo.monitor import write_time

__all__ = ["describe", "list_alarms", "name_databases", "read_day"]

_DAY = 86_400.0
# Where a day holds fewer readings than this, more of them; where times are plain numbers, so many.
_FEWEST, _PLAIN = 48, 1000
# More points than this say nothing more on a screen.
_MOST_POINTS = 480
# Alarms are not kept by column: so many of the newest are looked at.
_LOOKED_AT = 2000


def name_databases(paths: Sequence[Path]) -> dict[str, Path]:
    """Each database under a name of its own, for people: that of its file, or its path where two are called alike.

    Examples
    --------
    >>> list(name_databases([Path("a/pump.db"), Path("b/pump.db"), Path("fan.db")]))
    ['a/pump.db', 'b/pump.db', 'fan.db']
    """
    names = [path.name for path in paths]
    found = {name if names.count(name) == 1 else str(path): path for name, path in zip(names, paths, strict=True)}
    if len(found) < len(paths):
        raise WatchError("a database is named twice; name each of them once.")
    return found


def describe(name: str, path: Path) -> dict[str, Any]:
    """A database and all its streams as they are now; what is wrong with it, if it cannot be read."""
    try:
        now = look_over(path)
    except (WatchError, OSError) as error:
        return {"name": name, "error": str(error), "streams": []}
    zone, moment = now.progress.offset, now.progress.time
    severity = {event.id: event.severity for event in now.events}
    acknowledged = {event.id for event in now.events if event.acknowledged is not None}

    def row(one: StreamNow) -> dict[str, Any]:
        found: dict[str, Any] = {"channel": one.channel, "name": one.name}
        for part in ("time", "value", "expected", "lower", "upper", "p"):
            found[part] = getattr(one, part)
        if one.event is not None:
            found |= {
                "event": one.event, "severity": severity[one.event], "acknowledged": one.event in acknowledged,
            }  # fmt: skip
        if one.muted is not None:
            for_good = math.isinf(one.muted)
            found["muted"] = "for good" if for_good else f"until {write_time(one.muted, zone, dates=now.dates)}"
        return found

    return {
        "name": name,
        "watched": now.watched,
        "source": str(now.settings["source"]),
        "readings": now.progress.readings,
        "alarms": now.alarms,
        "time": None if moment is None else write_time(moment, zone, dates=now.dates),
        "dates": now.dates,
        "offset": zone or 0.0,
        "rate": now.settings["rate"],
        "waiting": now.waiting,
        "requests": now.requests,
        "unapplied": now.unapplied,
        "streams": [row(one) for one in now.streams],
    }


def read_day(path: Path, channels: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The last day of some streams: points (time, lowest, highest, expected, lower, upper) and the times of alarms."""
    with reading(path) as database, sound(path):
        dates = bool(settings_in(database)["layout"]["dates"])
        return {channel: _day_of(database, channel, dates=dates) for channel in channels}


def _day_of(database: sqlite3.Connection, channel: int, *, dates: bool) -> dict[str, Any]:
    last = database.execute(
        "SELECT number, time FROM readings WHERE channel = ? ORDER BY number DESC LIMIT 1", [channel]
    ).fetchone()
    if last is None:
        return {"points": [], "alarms": []}
    start = last[0] - _PLAIN + 1
    if dates:
        start = min(_number_at(database, channel, last[0], last[1] - _DAY), last[0] - _FEWEST + 1)
    stretch = max(math.ceil((last[0] - start + 1) / _MOST_POINTS), 1)
    points = database.execute(
        "SELECT avg(time), min(value), max(value), avg(expected), min(lower), max(upper) FROM readings "
        "WHERE channel = ? AND number >= ? GROUP BY (? - number) / ? ORDER BY min(number)",
        [channel, start, last[0], stretch],
    ).fetchall()
    alarms = database.execute(
        "SELECT time, coalesce(value, expected) FROM alarms WHERE id > (SELECT max(id) FROM alarms) - ? "
        "AND channel = ? AND number >= ? ORDER BY id DESC LIMIT 50",
        [_LOOKED_AT, channel, start],
    ).fetchall()
    return {"points": points, "alarms": alarms}


def _number_at(database: sqlite3.Connection, channel: int, last: int, moment: float) -> int:
    """The first reading at this time or after it. Times rise with numbers, and have no index: so by halves."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        [time] = database.execute(
            "SELECT time FROM readings WHERE channel = ? AND number >= ? ORDER BY number LIMIT 1", [channel, middle]
        ).fetchone()
        low, high = (middle + 1, high) if time < moment else (low, middle)
    return low


def list_alarms(name: str, path: Path, count: int) -> list[dict[str, Any]]:
    """The newest alarms of a database, each with what became of its event, the newest first."""
    with reading(path) as database, sound(path):
        database.execute("BEGIN")
        dates = bool(settings_in(database)["layout"]["dates"])
        return [_alarm(one, name, dates=dates) for one in alarms_in(database, count)]


def _alarm(found: dict[str, Any], database: str, *, dates: bool) -> dict[str, Any]:
    kind, offset, told = found.pop("explanation").get("kind", ""), found.pop("offset"), found.pop("told")
    ended = found["ended"]
    del found["lead"]
    return found | {
        "database": database,
        "kind": kind,
        "sentence": found["sentence"] or f"{found['column']}: {kind}",
        "moment": found["time"],
        "time": write_time(found["time"], offset, dates=dates),
        "open": found["event"] is not None and ended is None,
        "ended": None if ended is None else write_time(ended, offset, dates=dates),
        "muted": told == 2,
    }
