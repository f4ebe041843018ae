"""A database that is read, by whoever likes: a watch may be writing to it. What goes wrong becomes a sentence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.formats import demand_format
from hippozoo.apps.watch.lines import Place
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Progress

__all__ = ["FullDiskError", "is_begun", "labels_in", "progress_of", "read_progress", "reading", "settings_of", "sound"]


class FullDiskError(OSError):
    """There is no room for a batch, or the disk fails; it can be written again when there is, or when it works."""


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """What goes wrong with the contents of a database inside becomes a sentence that names it."""
    advice = "restore a copy of it, or write to another --out"
    try:
        yield
    except (WatchError, FullDiskError):
        raise
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise FullDiskError(f"{path} cannot be written: {error}.") from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise WatchError(
                f"{path} is locked by another program; end that one, or write to another --out."
            ) from error
        if code == sqlite3.SQLITE_NOTADB or "belongs to something else" in str(error):
            raise WatchError(f"{path} is not a database of hippozoo watch: {error}; name another file.") from error
        raise WatchError(f"{path} is damaged: {error}; {advice}.") from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise WatchError(f"{path} is damaged: {type(error).__name__} {error}; {advice}.") from error


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to read from, of any format; a watch may be writing to it. Nothing is changed or left beside it."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not a file" if path.exists() else "is not there"
        raise WatchError(f"{path} {what}; pass a database that hippozoo watch has written.")
    database = None
    try:
        with sound(path):
            database = _connected(path)
            demand_format(path, database)
        try:
            yield database
        except sqlite3.Error as error:
            with sound(path):
                raise error
    finally:
        if database is not None:
            database.close()


def _connected(path: Path) -> sqlite3.Connection:
    """Open to read. Who may only read leaves the files of the log behind: so as a writer that writes nothing.

    Where writing is not allowed, as a reader; where not even the files of the log can be made, as a file that nobody
    changes.
    """
    failed: sqlite3.Error | None = None
    for mode in ("mode=rw", "mode=ro", "immutable=1"):
        database = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=30.0)
        try:
            database.execute("PRAGMA query_only = 1")
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError as error:
            database.close()
            failed = error
        except sqlite3.Error:
            database.close()
            raise
    assert failed is not None
    raise failed


def is_begun(path: Path) -> bool:
    """Whether there is anything in the file; one that was killed while it made its tables has left none."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    try:
        with closing(sqlite3.connect(path, timeout=30.0)) as database:
            return bool(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except (sqlite3.Error, ValueError):
        return True  # whatever it is


def settings_of(path: Path) -> dict[str, Any]:
    """What a database was made with, and what was changed since; nothing is changed here."""
    with reading(path) as database, sound(path):
        return settings_in(database)


def settings_in(database: sqlite3.Connection) -> dict[str, Any]:
    """The settings of an open database, if they make sense."""
    found = {name: json.loads(value) for name, value in database.execute("SELECT name, value FROM settings")}
    names = {name for (name,) in database.execute("SELECT DISTINCT name FROM columns")}
    layout = found["layout"]
    if set(found["columns"]) != set(layout["columns"]) or not found["columns"]:
        raise ValueError("its columns are not those that it was made with")
    # Columns come with the first commit; one that was killed before has left none, and nothing is lost.
    [begun] = database.execute("SELECT EXISTS (SELECT 1 FROM readings)").fetchone()
    if begun and not set(found["columns"]) <= names and not layout.get("series"):
        raise ValueError("its columns are not those that it was made with")
    if not isinstance(layout["dates"], bool) or not float(found["every"] or 1.0) > 0:
        raise TypeError("its settings make no sense")
    return found | {"rate": float(found["rate"]), "source": str(found["source"])}


def labels_in(database: sqlite3.Connection) -> dict[int, str]:
    """What each column is called, in a database of any format: by its name, by its sensor, or by both."""
    if database.execute("PRAGMA user_version").fetchone()[0] < 7:
        return dict(database.execute("SELECT channel, name FROM columns ORDER BY channel").fetchall())
    [columns] = database.execute("SELECT count(DISTINCT name) FROM columns WHERE watched").fetchone()
    rows = database.execute(
        "SELECT channel, columns.name, coalesce(sensors.name, '') FROM columns LEFT JOIN sensors USING (sensor) "
        "ORDER BY channel"
    )
    return {channel: label_of(name, sensor, columns) for channel, name, sensor in rows}


def label_of(name: str, sensor: str, columns: int) -> str:
    """What a column is called: by its name, by its sensor where that has one only, or by both."""
    return name if not sensor else sensor if columns == 1 else f"{sensor} / {name}"


def progress_of(path: Path) -> Progress:
    """How far the source of a database was read; nothing is changed."""
    with reading(path) as database, sound(path):
        [text] = database.execute("SELECT content FROM progress").fetchone()
        return read_progress(text)


def read_progress(text: str) -> Progress:
    """Progress as it was kept; what belonged to the one sensor of earlier formats is with the sensors now."""
    content = json.loads(text)
    place = Place(**content["place"])
    names = None if content["names"] is None else tuple(content["names"])
    found = Progress(
        place, content["readings"], content["time"], content["late"], content["left_out"], names, content.get("offset")
    )
    if not all(isinstance(number, int) for number in (found.readings, found.place.offset, found.place.number)):
        raise TypeError("progress is counted in whole numbers")
    return found
