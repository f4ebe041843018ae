"""What a database says now, at a glance: how far its watch has come, the newest reading of each stream, open events."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from hippozoo.apps.watch.database import Database, reading
from hippozoo.apps.watch.records import Event, Progress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["Overview", "StreamNow", "is_watched", "list_alarms", "look_over", "thin"]


class StreamNow(NamedTuple):
    """A stream: its newest reading, what was expected, the open event it has a part in, and until when it is muted."""

    channel: int
    name: str
    time: float | None
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    p: float | None
    event: int | None
    muted: float | None  # infinite for good


class Overview(NamedTuple):
    """A database at one moment."""

    settings: dict[str, Any]
    progress: Progress
    watched: bool
    alarms: int
    streams: list[StreamNow]
    events: list[Event]  # those that are still on
    waiting: dict[str, int]  # in the outbox, for whom
    requests: list[dict[str, Any]]  # the newest first
    unapplied: int  # requests that the watch has not applied yet

    @property
    def dates(self) -> bool:
        """Whether its times are dates."""
        return self.settings["layout"]["dates"]


def look_over(path: Path) -> Overview:
    """Look at a database of any format; a watch may be writing to it."""
    with reading(path) as database:
        events = database.events("ended IS NULL")
        part_of = {channel: event.id for event in events for channel in event.open}
        muted = dict(database.rows("SELECT channel, coalesce(until, 9e999) FROM mutes"))
        watched = {channel for (channel,) in database.rows("SELECT channel FROM columns WHERE watched")}
        requests = database.rows(
            "SELECT made, request, applied, outcome FROM requests ORDER BY id DESC LIMIT 20",
            make=lambda made, text, applied, outcome: {
                "made": made, "request": json.loads(text), "applied": applied, "outcome": outcome,
            },
        )  # fmt: skip
        return Overview(
            database.settings,
            database.progress,
            is_watched(path),
            database.count_alarms()[0],
            [
                _stream(database, channel, name, part_of.get(channel), muted.get(channel))
                for channel, name in database.labels().items()
                if channel in watched
            ],
            events,
            dict(database.rows("SELECT sink, count(*) FROM outbox GROUP BY sink")),
            requests,
            database.value("SELECT count(*) FROM requests WHERE applied IS NULL"),
        )


def _stream(database: Database, channel: int, name: str, event: int | None, muted: float | None) -> StreamNow:
    query = "SELECT time, value, expected, lower, upper, p FROM readings WHERE channel = ? ORDER BY number DESC LIMIT 1"
    rows = database.rows(query, channel) or [(None,) * 6]
    # Damage may have left something else than a number.
    cells = [float(one) if isinstance(one, (int, float)) and math.isfinite(one) else None for one in rows[0]]
    if muted is not None and cells[0] is not None and cells[0] >= muted:
        muted = None  # it has ended
    return StreamNow(channel, name, *cells, event=event, muted=muted)


def list_alarms(database: Database, count: int) -> list[dict[str, Any]]:
    """The newest alarms that were told, newest first, each with what became of its event."""
    columns = (
        "alarms.id, channel, number, time, p, value, expected, lower, upper, explanation, alarms.severity, sentence, "
        "event, lead, key, offset, ended, acknowledged, alarms.told"
    )
    names = [one.rpartition(".")[2] for one in columns.split(", ")]
    query = f"SELECT {columns} FROM alarms LEFT JOIN events ON events.id = event WHERE lead = alarms.id"
    labels = database.labels()

    def described(*row: Any) -> dict[str, Any]:
        found: dict[str, Any] = dict(zip(names, row, strict=True))
        return found | {"column": labels[found["channel"]], "explanation": json.loads(found["explanation"])}

    return database.rows(f"{query} ORDER BY alarms.id DESC LIMIT ?", count, make=described)


def thin(database: Database, channel: int, most: int, first: int, last: int) -> list[tuple[Any, ...]]:
    """Readings for the eye, at most so many rows: time, lowest, highest, expected, lower, upper.

    SQLite thins, so that millions of readings take no memory; the newest stretch is whole.
    """
    stretch = max(-(-(last - first + 1) // most), 1)
    query = (
        "SELECT avg(time), min(value), max(value), avg(expected), min(lower), max(upper) FROM readings "
        "WHERE channel = ? AND number >= ? GROUP BY (? - number) / ? ORDER BY min(number)"
    )
    return database.rows(query, channel, first, last, stretch)


def is_watched(path: Path) -> bool:
    """Whether a watch is writing to a database: then it holds a lock beside it.

    Where the system has no such locks, whether there is one.
    """
    lock = Path(f"{path}.lock")
    if fcntl is None:
        return lock.exists()
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # a watch that begins just now tries again
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
