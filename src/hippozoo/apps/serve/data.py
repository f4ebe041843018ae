"""What the page and its neighbours ask for, read from the databases: streams, their last day, alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hippozoo.apps.watch import overview
from hippozoo.apps.watch.database import Database, reading, sound
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
        now = overview.look_over(path)
    except (WatchError, OSError) as error:
        return {"name": name, "error": str(error), "streams": []}
    zone, moment = now.progress.offset, now.progress.time
    events = {event.id: event for event in now.events}

    def row(one: overview.StreamNow) -> dict[str, Any]:
        found = one._asdict()
        del found["event"], found["muted"]
        if one.event is not None:
            event = events[one.event]
            found |= {"event": event.id, "severity": event.severity, "acknowledged": event.acknowledged is not None}
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
        dates = database.dates
        return {channel: _day_of(database, channel, dates=dates) for channel in channels}


def _day_of(database: Database, channel: int, *, dates: bool) -> dict[str, Any]:
    newest = database.rows("SELECT number, time FROM readings WHERE channel = ? ORDER BY number DESC LIMIT 1", channel)
    if not newest:
        return {"points": [], "alarms": []}
    [(last, moment)] = newest
    start = last - _PLAIN + 1
    if dates:
        start = min(_number_at(database, channel, last, moment - _DAY), last - _FEWEST + 1)
    alarms = database.rows(
        "SELECT time, coalesce(value, expected) FROM alarms WHERE id > (SELECT max(id) FROM alarms) - ? "
        "AND channel = ? AND number >= ? ORDER BY id DESC LIMIT 50",
        _LOOKED_AT, channel, start,
    )  # fmt: skip
    return {"points": overview.thin(database, channel, _MOST_POINTS, start, last), "alarms": alarms}


def _number_at(database: Database, channel: int, last: int, moment: float) -> int:
    """The first reading at this time or after it. Times rise with numbers, and have no index: so by halves."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        query = "SELECT time FROM readings WHERE channel = ? AND number >= ? ORDER BY number LIMIT 1"
        time = database.value(query, channel, middle)
        low, high = (middle + 1, high) if time < moment else (low, middle)
    return low


def list_alarms(name: str, path: Path, count: int) -> list[dict[str, Any]]:
    """The newest alarms of a database, each with what became of its event, the newest first."""
    with reading(path) as database, sound(path):
        dates = database.dates
        return [_alarm(one, name, dates=dates) for one in overview.list_alarms(database, count)]


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
