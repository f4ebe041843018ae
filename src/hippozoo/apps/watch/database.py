"""A database that is read, by whoever likes: a watch may be writing to it. What goes wrong becomes a sentence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.formats import demand_format, show_as_present
from hippozoo.apps.watch.lines import Place
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Event, Progress

__all__ = ["Database", "FullDiskError", "is_begun", "label_of", "reading", "sound"]


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


class Database:
    """What a database holds, whoever has opened it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._database = path, connection

    def rows(self, query: str, *values: Any, make: Callable[..., Any] = lambda *row: row) -> list[Any]:
        """What `make` makes of the rows of a query."""
        with sound(self.path):
            return [make(*row) for row in self._database.execute(query, values)]

    def value(self, query: str, *values: Any) -> Any:
        """The first cell of the first row, which is there."""
        with sound(self.path):
            return self._database.execute(query, values).fetchone()[0]

    @property
    def settings(self) -> dict[str, Any]:
        """What the database was made with, and what was changed since, if that makes sense."""
        found = dict(self.rows("SELECT name, value FROM settings", make=lambda name, text: (name, json.loads(text))))
        names = {name for (name,) in self.rows("SELECT DISTINCT name FROM columns")}
        # Columns come with the first commit; one that was killed before has left none, and nothing is lost.
        begun = self.value("SELECT EXISTS (SELECT 1 FROM readings)")
        with sound(self.path):
            layout, columns = found["layout"], set(found["columns"])
            lost = begun and not columns <= names and not layout.get("series")
            if columns != set(layout["columns"]) or not columns or lost:
                raise ValueError("its columns are not those that it was made with")
            if not isinstance(layout["dates"], bool) or not float(found["every"] or 1.0) > 0:
                raise TypeError("its settings make no sense")
            return found | {"rate": float(found["rate"]), "source": str(found["source"])}

    @property
    def dates(self) -> bool:
        """Whether its times are dates."""
        return self.settings["layout"]["dates"]

    @property
    def progress(self) -> Progress:
        """How far the watch has come; what belonged to the one sensor of earlier formats is with the sensors now."""
        text = self.value("SELECT content FROM progress")
        with sound(self.path):
            known = json.loads(text)
            known |= {"place": Place(**known["place"]), "names": known["names"] and tuple(known["names"])}
            found = Progress(**{name: known[name] for name in Progress.__dataclass_fields__ if name in known})
            if not all(isinstance(number, int) for number in (found.readings, found.place.offset, found.place.number)):
                raise TypeError("progress is counted in whole numbers")
            return found

    def labels(self) -> dict[int, str]:
        """What each column is called."""
        columns = self.value("SELECT count(DISTINCT name) FROM columns WHERE watched")
        query = "SELECT channel, columns.name, sensors.name FROM columns LEFT JOIN sensors USING (sensor) ORDER BY 1"
        return dict(
            self.rows(query, make=lambda channel, name, sensor: (channel, label_of(name, sensor or "", columns)))
        )

    def events(self, which: str) -> list[Event]:
        """The events that a condition chooses."""
        return self.rows(f"SELECT * FROM events WHERE {which} ORDER BY id", make=_read_event)

    def count_alarms(self) -> tuple[int, float | None]:
        """How many alarms were told, those of many columns at once being one, and the time of the newest."""
        return self.rows("SELECT count(*), max(time) FROM alarms WHERE lead = id")[0]


def _read_event(*row: Any) -> Event:
    cells = list(row)
    cells[4] = json.loads(row[4])
    cells[5] = {int(channel): int(first) for channel, first in json.loads(row[5]).items()}
    return Event(*cells)


def label_of(name: str, sensor: str, columns: int) -> str:
    """What a column is called: by its name, by its sensor where that has one only, or by both."""
    return name if not sensor else sensor if columns == 1 else f"{sensor} / {name}"


@contextmanager
def reading(path: Path) -> Iterator[Database]:
    """A database to read from, of any format, as it is at one moment. Nothing is changed or left beside it."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not a file" if path.exists() else "is not there"
        raise WatchError(f"{path} {what}; pass a database that hippozoo watch has written.")
    with sound(path):
        connection = _connected(path)
    with closing(connection):
        with sound(path):
            show_as_present(connection, demand_format(path, connection))
            connection.execute("PRAGMA query_only = 1")
            connection.execute("BEGIN")
        yield Database(path, connection)


def _connected(path: Path) -> sqlite3.Connection:
    """Open to read. Who may only read leaves the files of the log behind: so as a writer that writes nothing.

    Where writing is not allowed, as a reader; where not even the files of the log can be made, as a file that nobody
    changes.
    """
    failed: sqlite3.Error | None = None
    for mode in ("mode=rw", "mode=ro", "immutable=1"):
        database = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=30.0, isolation_level=None)
        try:
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
