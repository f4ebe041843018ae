"""The database of a watch: one SQLite file that holds what was read, what was expected, the alarms, and the way back.

A batch is one transaction: readings, alarms, troubles and the place in the source are there together or not at all. The
state of the model is kept as a snapshot now and then; after a crash the readings since then are replayed from here.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hippozoo._files import CannotWriteError, demand_writable, naming, open_locked, remove_locked
from hippozoo.watch_command.lines import Place
from hippozoo.watch_command.problem import WatchError

__all__ = ["Alarm", "Batch", "FullDiskError", "Kept", "Progress", "Store", "reading"]

VERSION = 5
_MARK = 0x48504F57  # SQLite's application_id: says whose file it is
_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE columns (channel INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE readings (
    number INTEGER NOT NULL,   -- of the reading, from 0
    channel INTEGER NOT NULL,  -- which column
    time REAL NOT NULL,        -- seconds since 1970, or the source's own number
    value REAL,                -- NULL where it is missing
    expected REAL, lower REAL, upper REAL,  -- before it came
    p REAL,                    -- how often a quiet stream looks at least so strange
    PRIMARY KEY (number, channel)
) WITHOUT ROWID;
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL, channel INTEGER NOT NULL, time REAL NOT NULL,
    p REAL NOT NULL, value REAL, expected REAL, lower REAL, upper REAL,
    explanation TEXT NOT NULL, -- JSON
    told INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE troubles (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), content TEXT NOT NULL);
"""
_TROUBLES_KEPT = 1000


class FullDiskError(OSError):
    """There is no room for a batch, or the disk fails; it can be written again when there is, or when it works."""


@dataclass(frozen=True)
class Progress:
    """How far a watch has come.

    Parameters
    ----------
    place
        In the source.
    readings
        Taken in so far; the next one has this number.
    time
        Of the last one; None before the first.
    late
        Rows that were skipped because their time was not after the last.
    left_out
        Rows that were no readings.
    names
        The columns as the last header in the middle of the source named them; None if there was none.
    unusual, unusual_since
        How many steps in a row were not the usual one, and when the first of them began.
    behind
        How many rows in a row were late.
    """

    place: Place = field(default_factory=Place)
    readings: int = 0
    time: float | None = None
    late: int = 0
    left_out: int = 0
    names: tuple[str, ...] | None = None
    unusual: int = 0
    unusual_since: float | None = None
    behind: int = 0


class Kept(NamedTuple):
    """A reading as the database holds it, one column of it: number, channel, time, value, what was expected, and p."""

    number: int
    channel: int
    time: float
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    p: float | None


@dataclass(frozen=True)
class Alarm:
    """An alarm; `explanation` is whatever the detector says about it, as plain JSON."""

    id: int
    number: int
    channel: int
    time: float
    p: float
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    explanation: dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """What is committed together."""

    readings: Sequence[Kept]
    alarms: Sequence[Alarm]
    troubles: Sequence[tuple[int, str]]
    progress: Progress
    snapshot: tuple[int, bytes] | None = None


class Store:
    """One watch's file, opened to write; a second writer is refused and harms nothing.

    Parameters
    ----------
    path
        The SQLite file; made if it is not there.
    settings
        What the watch was started with; a file that was made with others is refused.
    columns
        The names of the channels.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Store(Path(folder) / "pump.db", {"horizon": 24}, ["flow"]) as store:
    ...         store.commit(Batch([Kept(0, 0, 0.0, 1.5, None, None, None, None)], [], [], Progress(readings=1)))
    ...     with Store(Path(folder) / "pump.db", {"horizon": 24}, ["flow"]) as store:
    ...         store.progress.readings, next(store.readings(0)).value
    (1, 1.5)
    """

    def __init__(self, path: Path, settings: dict[str, Any], columns: Sequence[str]) -> None:
        self.path = path
        self._lock: int | None = None
        self._waiting: bool | None = None
        self._lock_path = f"{path}.lock"
        if not path.exists():
            demand_writable(path)
        self._lock = self._take_lock()
        try:
            new = not self.is_begun(path)
            self._database = self._open()
            if new:
                self._create(settings, columns)
            else:
                self._recognise(settings, columns)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()
        if self._lock is not None:
            remove_locked(self._lock, self._lock_path)
            self._lock = None

    # -- opening ----------------------------------------------------------------------------------------------------

    def _take_lock(self) -> int:
        """Held by a file beside it: SQLite's own locks come and go with each transaction, and readers are welcome."""
        try:
            with naming(self._lock_path):
                return open_locked(self._lock_path)
        except CannotWriteError as error:
            if error.errno != errno.EAGAIN:
                raise
            raise WatchError(
                f"another watch is writing to {self.path}; stop it first, or write to another --out."
            ) from None

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, isolation_level=None, timeout=30.0)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            self._wait_for_disk(database, True)
        except sqlite3.DatabaseError as error:
            database.close()
            if _is_full(error):
                raise FullDiskError(f"{self.path} cannot be written: {error}.") from error
            raise self._not_ours(f"it cannot be read as SQLite ({error})") from error
        return database

    def _wait_for_disk(self, database: sqlite3.Connection, wait: bool) -> None:
        """Whether a commit returns only once it is on the disk.

        A process that is killed loses no commit in either case. If the machine goes down, commits that were not waited
        for may be gone, the last ones first; then the watch reads those rows again, and finds the same. What has been
        told to others, and snapshots, are waited for.
        """
        if wait != self._waiting:
            database.execute(f"PRAGMA synchronous = {'FULL' if wait else 'NORMAL'}")
            self._waiting = wait

    def _not_ours(self, why: str) -> WatchError:
        return WatchError(f"{self.path} is not a database of hippozoo watch: {why}; write to another --out.")

    def _create(self, settings: dict[str, Any], columns: Sequence[str]) -> None:
        with self._transaction() as database:
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    database.execute(statement)
            rows = {**settings, "columns": list(columns)}
            database.executemany(
                "INSERT INTO settings VALUES (?, ?)", [(name, json.dumps(value)) for name, value in rows.items()]
            )
            database.executemany("INSERT INTO columns VALUES (?, ?)", enumerate(columns))
            database.execute("INSERT INTO progress VALUES (1, ?)", [_written(Progress())])
            database.execute(f"PRAGMA application_id = {_MARK}")
            database.execute(f"PRAGMA user_version = {VERSION}")

    def _recognise(self, settings: dict[str, Any], columns: Sequence[str]) -> None:
        [mark] = self._database.execute("PRAGMA application_id").fetchone()
        [version] = self._database.execute("PRAGMA user_version").fetchone()
        if mark != _MARK:
            raise self._not_ours("it belongs to something else")
        _demand_version(self.path, version)
        before = {name: json.loads(value) for name, value in self._database.execute("SELECT * FROM settings")}
        for name, value in {**settings, "columns": list(columns)}.items():
            was = before.get(name)
            if was != json.loads(json.dumps(value)):
                raise WatchError(
                    f"{self.path} was made with {name}={was!r}, and now it is {value!r}; "
                    f"use the same, or write to another --out."
                )

    @staticmethod
    def is_begun(path: Path) -> bool:
        """Whether there is anything in the file; one that was killed while it made its tables has left none."""
        if not path.exists() or path.stat().st_size == 0:
            return False
        try:
            with closing(sqlite3.connect(path, timeout=30.0)) as database:
                return bool(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        except sqlite3.DatabaseError:
            return True  # whatever it is

    @staticmethod
    def settings_of(path: Path) -> dict[str, Any]:
        """What a database was made with; nothing is changed, and a watch may be writing to it."""
        with reading(path) as database:
            return {name: json.loads(value) for name, value in database.execute("SELECT * FROM settings")}

    @staticmethod
    def place_of(path: Path) -> Place:
        """How far the source of a database was read; as for its settings, nothing is changed."""
        with reading(path) as database:
            [text] = database.execute("SELECT content FROM progress").fetchone()
            return Place(**json.loads(text)["place"])

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def progress(self) -> Progress:
        """How far the watch has come."""
        [text] = self._database.execute("SELECT content FROM progress").fetchone()
        content = json.loads(text)
        names = content["names"]
        known = {"place": Place(**content["place"]), "names": None if names is None else tuple(names)}
        return Progress(**(content | known))

    def snapshot(self) -> tuple[int, bytes] | None:
        """The last state that was kept: how many readings it had taken in, and its bytes."""
        return self._database.execute("SELECT number, state FROM snapshots ORDER BY number DESC LIMIT 1").fetchone()

    def readings(self, since: int) -> Iterator[Kept]:
        """All columns of all readings from this number on, in order."""
        rows = self._database.execute("SELECT * FROM readings WHERE number >= ? ORDER BY number, channel", [since])
        return (Kept(*row) for row in rows)

    def count_alarms(self) -> int:
        """How many alarms there are; the next one has this id."""
        return self._database.execute("SELECT count(*) FROM alarms").fetchone()[0]

    def last_alarm(self) -> float | None:
        """The time of the newest alarm."""
        found = self._database.execute("SELECT time FROM alarms ORDER BY id DESC LIMIT 1").fetchone()
        return None if found is None else found[0]

    def untold(self) -> list[Alarm]:
        """Alarms that were committed, and perhaps not printed before a crash."""
        rows = self._database.execute(
            "SELECT id, number, channel, time, p, value, expected, lower, upper, explanation FROM alarms "
            "WHERE told = 0 ORDER BY id"
        )
        return [Alarm(*row[:9], explanation=json.loads(row[9])) for row in rows]

    # -- writing ----------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch, keep: int | None = None) -> None:
        """Write a batch, all of it or nothing; with `keep`, older readings than so many go.

        What a replay needs, the readings since the last snapshot, stays in any case.
        """
        self._wait_for_disk(self._database, bool(batch.alarms) or batch.snapshot is not None)
        with self._transaction() as database:
            database.executemany(
                "INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                batch.readings,
            )
            database.executemany(
                "INSERT INTO alarms VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                [(*astuple(alarm)[:-1], json.dumps(alarm.explanation)) for alarm in batch.alarms],
            )
            database.executemany("INSERT INTO troubles (line, text) VALUES (?, ?)", batch.troubles)
            if batch.troubles:
                database.execute(f"DELETE FROM troubles WHERE id <= (SELECT max(id) FROM troubles) - {_TROUBLES_KEPT}")
            if batch.snapshot is not None:
                database.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?)", batch.snapshot)
                database.execute("DELETE FROM snapshots WHERE number < ?", [batch.snapshot[0]])
                if keep is not None:
                    oldest = min(batch.snapshot[0], batch.progress.readings - keep)
                    database.execute("DELETE FROM readings WHERE number < ?", [oldest])
            database.execute("UPDATE progress SET content = ?", [_written(batch.progress)])

    def tell(self, alarms: Iterable[Alarm]) -> None:
        """Note that these alarms have been printed."""
        with self._transaction() as database:
            database.executemany("UPDATE alarms SET told = 1 WHERE id = ?", [(alarm.id,) for alarm in alarms])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        database = self._database
        try:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            if isinstance(error, sqlite3.DatabaseError) and _is_full(error):
                raise FullDiskError(f"{self.path} cannot be written: {error}.") from error
            raise


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to read from; a watch may be writing to it. Nothing is left beside it.

    Parameters
    ----------
    path
        A file that a watch has written; anything else is refused in words.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not a file" if path.exists() else "is not there"
        raise WatchError(f"{path} {what}; pass a database that hippozoo watch has written.")
    database = None
    try:
        database = _connected(path)
        [mark] = database.execute("PRAGMA application_id").fetchone()
        if mark != _MARK:
            raise sqlite3.DatabaseError("it belongs to something else")
        _demand_version(path, *database.execute("PRAGMA user_version").fetchone())
        yield database
    except sqlite3.DatabaseError as error:
        raise WatchError(
            f"{path} is not a database of hippozoo watch: {error}; pass one that it has written, or write to another "
            f"--out."
        ) from error
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


def _demand_version(path: Path, version: int) -> None:
    if version != VERSION:
        raise WatchError(
            f"{path} has version {version} of the format, and this hippozoo knows {VERSION}; "
            f"go on with the hippozoo that made it, or write to another --out."
        )


def _is_full(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _written(progress: Progress) -> str:
    return json.dumps(asdict(progress))
