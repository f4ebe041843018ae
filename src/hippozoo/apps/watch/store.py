"""The database of a watch: one SQLite file that holds what was read, what was expected, the alarms, and the way back.

A batch is one transaction: readings, alarms, troubles and the place in the source are there together or not at all. The
state of each sensor is kept now and then; after a crash the readings since then are replayed from here.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sqlite3
import time as clock
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo import __version__
from hippozoo._internal.files import CannotWriteError, demand_writable, naming, open_locked, remove_locked
from hippozoo.apps.watch.database import Database, FullDiskError, is_begun, sound
from hippozoo.apps.watch.formats import create_tables, demand_format, migrate
from hippozoo.apps.watch.problem import LockedError, WatchError
from hippozoo.apps.watch.records import Alarm, Batch, Channel, Event, Progress, Sensor, State
from hippozoo.tables.trouble import word

__all__ = ["FullDiskError", "Store"]

_TROUBLES_KEPT = 1000


class Store(Database):
    """One watch's file, opened to write; a second writer is refused, and a file of an earlier format is migrated.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.apps.watch.records import Kept
    >>> settings = {"source": "a", "columns": ["flow"], "layout": {"columns": ["flow"]}}
    >>> with TemporaryDirectory() as folder:
    ...     with Store(Path(folder) / "pump.db", settings) as store:
    ...         store.commit(Batch(Progress(readings=1), [Kept(0, 0, 0.0, 1.5, None, None, None, None)]))
    ...     with Store(Path(folder) / "pump.db") as store:
    ...         store.progress.readings, store.arrays([0], 0, 1)[1].tolist()
    (1, [[1.5]])
    """

    def __init__(
        self, path: Path, settings: dict[str, Any] | None = None, arithmetic: str = "", patience: float = 0.0
    ) -> None:
        self.path, self.arithmetic = path, arithmetic
        self._lock: int | None = None
        self._waiting: bool | None = None
        self.durable = False  # whether each commit is waited for, where nothing can be read again
        self._lock_path = f"{path}.lock"
        demand_writable(path)
        self._lock = self._take_lock(clock.monotonic() + patience)
        try:
            new = not is_begun(path)
            if new and settings is None:
                raise WatchError(f"{path} holds nothing yet; watch a source with --out {path} first.")
            super().__init__(path, sqlite3.connect(path, isolation_level=None, timeout=30.0))
            with sound(path):
                self._database.execute("PRAGMA journal_mode = WAL")
                self._wait_for_disk(True)
                with self.transaction() as database:
                    if new:
                        create_tables(database)
                        self._put_settings(settings or {})
                        database.execute("INSERT INTO progress VALUES (1, ?)", [json.dumps(asdict(Progress()))])
                        self._sign(0)
                    else:
                        migrate(database, demand_format(path, database))
            self._file = os.stat(path)  # noqa: PTH116
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

    def _take_lock(self, until: float) -> int:
        """Held by a file beside it: SQLite's own locks come and go with each transaction, and readers are welcome."""
        try:
            with naming(self._lock_path):
                return open_locked(self._lock_path)
        except CannotWriteError as error:
            if error.errno != errno.EAGAIN:
                raise
            if clock.monotonic() < until:
                clock.sleep(0.01)
                return self._take_lock(until)
            raise LockedError(
                f"another watch is writing to {self.path}; stop it first, or write to another --out."
            ) from None

    def _wait_for_disk(self, wait: bool) -> None:
        """Whether a commit returns only once it is on the disk.

        A process that is killed loses no commit in either case. If the machine goes down, commits that were not waited
        for may be gone, the last ones first; then the watch reads those rows again, and finds the same. Alarms and
        states are waited for.
        """
        if wait != self._waiting:
            self._database.execute(f"PRAGMA synchronous = {'FULL' if wait else 'NORMAL'}")
            self._waiting = wait

    def sign(self, arithmetic: str) -> None:
        """From here on, this version and this arithmetic write."""
        self.arithmetic = arithmetic
        with self.transaction() as database:
            last = database.execute("SELECT version, arithmetic FROM writers ORDER BY number DESC").fetchone()
            if last != (__version__, arithmetic):
                self._sign(self.progress.readings)

    def _sign(self, number: int) -> None:
        row = (number, __version__, self.arithmetic)
        _insert(self._database, "INSERT OR REPLACE INTO writers (number, version, arithmetic)", [row])

    # -- reading ----------------------------------------------------------------------------------------------------

    def sensors(self) -> list[Sensor]:
        """All sensors, in the order in which they came."""
        query = "SELECT sensor, name, readings, clock FROM sensors ORDER BY sensor"
        return self.rows(
            query, make=lambda number, name, count, text: Sensor(number, name, int(count), json.loads(text))
        )

    def channels(self) -> list[Channel]:
        """All columns of all sensors."""
        return self.rows("SELECT * FROM columns ORDER BY channel", make=Channel)

    def state(self, sensor: int) -> State | None:
        """The last state of a sensor that was kept by this arithmetic."""
        query = "SELECT sensor, number, state, first FROM states WHERE sensor = ? AND arithmetic = ?"
        return next(iter(self.rows(query, sensor, self.arithmetic, make=State)), None)

    def has_state(self, sensor: int) -> bool:
        """Whether any state of a sensor was kept, by whatever arithmetic, in whatever format."""
        query = "SELECT (SELECT count(*) FROM states WHERE sensor = ?) > 0 OR (SELECT count(*) FROM writers) > 1"
        return bool(self.value(query, sensor))

    def oldest(self, channels: Sequence[int]) -> tuple[int, float] | None:
        """Number and time of the first reading of these columns that is still here."""
        query = "SELECT number, time FROM readings WHERE channel = ? ORDER BY number LIMIT 1"
        return min((row for channel in channels for row in self.rows(query, channel)), default=None)

    def arrays(self, channels: Sequence[int], start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of all readings from `start` up to `end`; NaN of columns that were not watched yet."""
        query = "SELECT number, time, value FROM readings WHERE channel = ? AND number >= ? AND number < ?"
        times, values = np.full(end - start, np.nan), np.full((end - start, len(channels)), np.nan)
        for place, channel in enumerate(channels):
            rows = self.rows(query, channel, start, end)
            with sound(self.path):
                at = np.array([row[0] for row in rows], int) - start
                times[at] = np.array([row[1] for row in rows], float)
                values[at, place] = np.array([math.nan if row[2] is None else row[2] for row in rows], float)
        with sound(self.path):
            if np.isnan(times).any():
                raise ValueError(f"readings {start} to {end - 1} are not all there")
        return times, values

    def alarms(self, which: str) -> list[Alarm]:
        """The alarms that a condition chooses."""
        return self.rows(f"SELECT * FROM alarms WHERE {which} ORDER BY id", make=_read_alarm)

    def last_groups(self) -> list[list[Alarm]]:
        """Of each event that is still on, its last alarms: those of several columns at one time."""
        found: dict[int | None, list[Alarm]] = {}
        for one in self.alarms("event IN (SELECT id FROM events WHERE ended IS NULL) AND lead >= 0"):
            group = found.setdefault(one.event, [])
            group[:] = [*group, one] if group and group[0].time == one.time else [one]
        return list(found.values())

    def untold(self) -> list[Alarm]:
        """Alarms that were committed, and perhaps not told before a crash; those of other columns with their leads."""
        return self.alarms("told = 0 OR lead IN (SELECT id FROM alarms WHERE told = 0)")

    def mutes(self) -> dict[int, float]:
        """Muted columns, and until when, in the time of the source."""
        return dict(self.rows("SELECT channel, coalesce(until, 9e999) FROM mutes"))

    def requests(self) -> list[tuple[int, dict[str, Any]]]:
        """What has been asked for and not been done yet."""
        query = "SELECT id, request FROM requests WHERE applied IS NULL ORDER BY id"
        return self.rows(query, make=lambda number, text: (number, json.loads(text)))

    # -- writing ----------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch, keep: int | None = None) -> None:
        """Write a batch, all of it or nothing; with `keep`, older readings of a sensor than so many go.

        What a replay needs, the readings since the last state, stays in any case.
        """
        self.demand_there()
        with sound(self.path):
            self._wait_for_disk(self.durable or bool(batch.alarms) or bool(batch.states))
        with self.transaction() as database:
            _insert(database, "INSERT INTO columns", batch.channels)
            # In the order in which the table holds them, which is faster to write.
            _insert(database, "INSERT INTO readings", sorted(batch.readings, key=lambda one: (one.channel, one.number)))
            _insert(database, "INSERT OR REPLACE INTO alarms", map(_row_of, batch.alarms))
            _insert(database, "INSERT OR REPLACE INTO events", map(_row_of, batch.events))
            troubles = [(one.place.line, word(one, stream=True), one.kind) for one in batch.troubles]
            _insert(database, "INSERT INTO troubles (line, text, kind)", troubles)
            if batch.troubles:
                database.execute(f"DELETE FROM troubles WHERE id <= (SELECT max(id) FROM troubles) - {_TROUBLES_KEPT}")
            sensors = [(*one[:3], json.dumps(one.clock)) for one in batch.sensors]
            _insert(database, "INSERT OR REPLACE INTO sensors", sensors)
            for state in {one.sensor: one for one in batch.states}.values():
                self._replace_state(state)
                if keep is not None:
                    self._forget(state, keep)
            database.execute("UPDATE progress SET content = ?", [json.dumps(asdict(batch.progress))])

    def _forget(self, state: State, keep: int) -> None:
        """Let older readings of a sensor go than so many, but for those that a replay needs."""
        [count] = self._database.execute("SELECT readings FROM sensors WHERE sensor = ?", [state.sensor]).fetchone()
        oldest = min(state.number, count - keep)
        if oldest > 0:
            self._database.execute(
                "DELETE FROM readings WHERE number < ? AND channel IN (SELECT channel FROM columns WHERE sensor = ?)",
                [oldest, state.sensor],
            )

    def keep_state(self, state: State) -> None:
        """Put a state that was rebuilt in the place of the one before."""
        self.demand_there()
        with self.transaction():
            self._replace_state(state)

    def _replace_state(self, state: State) -> None:
        row = (state.sensor, state.number, state.state, self.arithmetic, state.first)
        _insert(self._database, "INSERT OR REPLACE INTO states (sensor, number, state, arithmetic, first)", [row])

    def change(self, settings: dict[str, Any], what: Sequence[str]) -> None:
        """Change settings, and note what was changed and when; call it within a transaction."""
        self._put_settings(settings)
        rows = [(clock.time(), self.progress.readings, text) for text in what]
        _insert(self._database, "INSERT INTO changes (made, reading, what)", rows)

    def change_columns(self, columns: Sequence[Channel]) -> None:
        """Watch columns as they say from here on; call it within a transaction."""
        _insert(self._database, "INSERT OR REPLACE INTO columns", columns)

    def _put_settings(self, settings: dict[str, Any]) -> None:
        rows = [(name, json.dumps(value)) for name, value in settings.items()]
        _insert(self._database, "INSERT OR REPLACE INTO settings", rows)

    def tell(self, alarms: Iterable[Alarm] = (), events: Iterable[Event] = ()) -> None:
        """Note that these alarms, and the ends of these events, have been told."""
        with self.transaction() as database:
            database.executemany("UPDATE alarms SET told = 1 WHERE id = ?", [(alarm.id,) for alarm in alarms])
            database.executemany("UPDATE events SET told = 1 WHERE id = ?", [(event.id,) for event in events])

    def demand_there(self) -> None:
        """Refuse to go on in a file that was removed, or replaced by another one: what is written there is lost."""
        try:
            there = os.path.samestat(os.stat(self.path), self._file)  # noqa: PTH116  (faster)
        except FileNotFoundError:
            there = False
        if not there:
            raise WatchError(
                f"{self.path} was removed or replaced while it was being written, so nothing more can be kept in it; "
                f"put it back and start again, or write to another --out."
            )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside is there afterwards, or nothing of it."""
        database = self._database
        try:
            with sound(self.path):
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise


def _insert(database: sqlite3.Connection, into: str, rows: Iterable[Any]) -> None:
    rows = list(rows)
    if rows:
        database.executemany(f"{into} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _read_alarm(*row: Any) -> Alarm:
    cells = list(row)
    cells[9] = dict(json.loads(row[9]))
    return Alarm(*cells)


def _row_of(record: Alarm | Event) -> list[Any]:
    """The fields of a record are the columns of its table, lists and dictionaries as JSON."""
    return [json.dumps(one) if isinstance(one, (dict, list)) else one for one in vars(record).values()]
