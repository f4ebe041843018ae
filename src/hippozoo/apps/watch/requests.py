"""What people ask of a watch, whether one runs or not: acknowledge an alarm, mute a column, change the rate."""

from __future__ import annotations

import json
import math
import sqlite3
import time as clock
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import is_begun, reading, sound
from hippozoo.apps.watch.formats import VERSION
from hippozoo.apps.watch.problem import LockedError, WatchError
from hippozoo.apps.watch.settings import rules_from, rules_to
from hippozoo.apps.watch.store import Store
from hippozoo.monitor import write_time
from hippozoo.monitor.rules import parse_duration
from hippozoo.tables.dates import time_reader

__all__ = ["apply_request", "ask", "mute_until"]

# A transaction that appends one row; the watch that holds the database is done with its own in less.
_PATIENCE = 30.0
_NOT_DONE = "not done: "


def ask(path: Path, request: dict[str, Any]) -> str:
    """Append a request to a database. A watch that runs does it at its next commit; where none runs, it is done now.

    It is {"acknowledge": id}, {"mute": column, "until": time or None}, {"unmute": column} or {"rate": x}.
    """
    if not is_begun(path):
        raise WatchError(f"{path} holds nothing yet; watch a source with --out {path} first.")
    try:
        # Brings an earlier format up to date, and is refused while a watch runs.
        with Store(path) as store:
            _append(path, request)
            outcome = [apply_request(store, number, one) for number, one in store.requests()][-1]
        if outcome.startswith(_NOT_DONE):
            raise WatchError(f"{path}: {outcome}.")
        return outcome
    except LockedError:
        pass
    _append(path, request)
    return "noted; the watch that is running does it at its next commit"


def _append(path: Path, request: dict[str, Any]) -> None:
    with reading(path) as database:
        if database.value("PRAGMA user_version") < VERSION:
            raise WatchError(f"{path} was made by an earlier hippozoo; run its watch once more first.")
    with sound(path), closing(sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("INSERT INTO requests (made, request) VALUES (?, ?)", [clock.time(), json.dumps(request)])


def apply_request(store: Store, number: int, request: dict[str, Any]) -> str:
    """Do what was asked for, note what and when, and say what came of it."""
    with store.transaction() as database:
        try:
            outcome = _apply(store, database, request)
        except (WatchError, ValueError, TypeError) as error:
            outcome = f"{_NOT_DONE}{error}"
        database.execute("UPDATE requests SET applied = ?, outcome = ? WHERE id = ?", [clock.time(), outcome, number])
    return outcome


def _apply(store: Store, database: sqlite3.Connection, request: dict[str, Any]) -> str:
    """Check what is asked for, then do it, in one statement."""
    if "acknowledge" in request:
        event = _event_of(store, int(request["acknowledge"]))
        database.execute("UPDATE events SET acknowledged = ? WHERE id = ?", [clock.time(), event])
        return f"event {event} is acknowledged"
    if "unmute" in request:
        name = str(request["unmute"])
        database.execute("DELETE FROM mutes WHERE channel = ?", [_channel_of(store, name)])
        return f"{name} is heard again"
    if "mute" in request:
        name = str(request["mute"])
        until = None if request.get("until") is None else float(request["until"])
        channel, forever = _channel_of(store, name), until in (None, math.inf)
        database.execute("INSERT OR REPLACE INTO mutes VALUES (?, ?)", [channel, None if forever else until])
        end = "" if until is None else f" until {write_time(until, store.progress.offset, dates=store.dates)}"
        return f"{name} is muted{end}"
    if "rate" in request:
        rules = replace(rules_from(store.settings), rate=float(request["rate"]))
        store.change(rules_to(rules), [f"--rate to {rules.rate:g}"])
        return f"the rate is {rules.rate:g} per 1,000 readings"
    raise WatchError(f"{', '.join(request)} is unknown")


def _event_of(store: Store, alarm: int) -> int:
    found = store.alarms(f"id = {alarm:d}")
    if not found or found[0].event is None:
        raise WatchError(f"there is no alarm {alarm} that belongs to an event")
    return found[0].event


def _channel_of(store: Store, name: str) -> int:
    for channel, label in store.labels().items():
        if label == name:
            return channel
    raise WatchError(f"there is no column {name!r}")


def mute_until(text: str | None, path: Path) -> float | None:
    """Until when a column is muted: a time, in the zone of its source unless it names another, or a length of time.

    A length of time begins with the last reading.
    """
    with reading(path) as database:
        progress, dates = database.progress, database.dates
    if text is None:
        return None
    try:
        length, seconds = parse_duration(text)
    except ValueError:
        moment = time_reader(dates)(text)
        if moment is None:
            raise WatchError(f"--until {text}: pass a time such as 2024-01-31 12:00, or a length such as 2h.") from None
        seconds, zone = moment
        return seconds - (progress.offset or 0.0) if zone is None else seconds
    if not seconds:
        return length
    if progress.time is None:
        raise WatchError(f"{path} holds no reading yet; pass a time.")
    return progress.time + length
