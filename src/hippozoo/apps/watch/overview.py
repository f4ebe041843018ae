"""What a database says now, at a glance: how far its watch has come, the newest reading of each stream, open events."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import labels_in, read_progress, reading, settings_in, sound
from hippozoo.apps.watch.records import Event, Progress
from hippozoo.apps.watch.store import read_event

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["Overview", "StreamNow", "alarms_in", "is_watched", "look_over"]


@dataclass(frozen=True)
class StreamNow:
    """A stream: its newest reading, what was expected, the open event it has a part in, and until when it is muted."""

    channel: int
    name: str
    time: float | None = None
    value: float | None = None
    expected: float | None = None
    lower: float | None = None
    upper: float | None = None
    p: float | None = None
    event: int | None = None
    muted: float | None = None  # infinite for good


@dataclass(frozen=True)
class Overview:
    """A database at one moment."""

    settings: dict[str, Any]
    progress: Progress
    watched: bool
    alarms: int = 0
    streams: list[StreamNow] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)  # those that are still on
    waiting: dict[str, int] = field(default_factory=dict)  # in the outbox, for whom
    requests: list[dict[str, Any]] = field(default_factory=list)  # the newest first
    unapplied: int = 0  # requests that the watch has not applied yet

    @property
    def dates(self) -> bool:
        """Whether its times are dates."""
        return bool(self.settings["layout"]["dates"])


def look_over(path: Path) -> Overview:
    """Look at a database of any format; a watch may be writing to it."""
    with reading(path) as database, sound(path):
        database.execute("BEGIN")  # so that all of it is of one moment
        new = database.execute("PRAGMA user_version").fetchone()[0] >= 7
        settings = settings_in(database)
        progress = read_progress(database.execute("SELECT content FROM progress").fetchone()[0])
        labels = labels_in(database)
        if not new:
            [alarms] = database.execute("SELECT count(*) FROM alarms").fetchone()
            streams = [_stream(database, channel, name, None, None) for channel, name in labels.items()]
            return Overview(settings, progress, is_watched(path), alarms, streams)
        events = [read_event(*row) for row in _all(database, "events WHERE ended IS NULL")]
        part_of = {channel: event.id for event in events for channel in event.open}
        muted = {channel: math.inf if until is None else until for channel, until in _all(database, "mutes")}
        watched = {channel for (channel,) in database.execute("SELECT channel FROM columns WHERE watched")}
        [alarms] = database.execute("SELECT count(*) FROM alarms WHERE lead = id").fetchone()
        return Overview(
            settings,
            progress,
            is_watched(path),
            alarms,
            [
                _stream(database, channel, name, part_of.get(channel), muted.get(channel))
                for channel, name in labels.items()
                if channel in watched
            ],
            events,
            dict(database.execute("SELECT sink, count(*) FROM outbox GROUP BY sink").fetchall()),
            [
                {"made": made, "request": json.loads(text), "applied": applied, "outcome": outcome}
                for _, made, text, applied, outcome in _all(database, "requests ORDER BY id DESC LIMIT 20")
            ],
            database.execute("SELECT count(*) FROM requests WHERE applied IS NULL").fetchone()[0],
        )


def alarms_in(database: sqlite3.Connection, count: int) -> list[dict[str, Any]]:
    """The newest alarms that were told, newest first, in a database of any format; what it does not know is None."""
    columns = ["alarms.id", "channel", "number", "time", "p", "value", "expected", "lower", "upper", "explanation"]
    later = ["alarms.severity", "sentence", "event", "lead", "key", "offset", "ended", "acknowledged", "alarms.told"]
    source, names = "alarms", [one.rpartition(".")[2] for one in columns + later]
    if database.execute("PRAGMA user_version").fetchone()[0] >= 7:
        columns, source = columns + later, "alarms LEFT JOIN events ON events.id = event WHERE lead = alarms.id"
    query = f"SELECT {', '.join(columns)} FROM {source} ORDER BY alarms.id DESC LIMIT ?"
    labels = labels_in(database)
    nothing: dict[str, Any] = dict.fromkeys(names)
    found = [nothing | dict(zip(names, row, strict=False)) for row in database.execute(query, [count])]
    return [one | {"column": labels[one["channel"]], "explanation": json.loads(one["explanation"])} for one in found]


def _all(database: sqlite3.Connection, what: str) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT * FROM {what}").fetchall()


def _stream(database: sqlite3.Connection, channel: int, name: str, event: int | None, muted: float | None) -> StreamNow:
    row = database.execute(
        "SELECT time, value, expected, lower, upper, p FROM readings WHERE channel = ? ORDER BY number DESC LIMIT 1",
        [channel],
    ).fetchone()
    # Damage may have left something else than a number.
    cells = [float(one) if isinstance(one, (int, float)) and math.isfinite(one) else None for one in row or [None] * 6]
    if muted is not None and cells[0] is not None and cells[0] >= muted:
        muted = None  # it has ended
    return StreamNow(channel, name, *cells, event=event, muted=muted)


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
