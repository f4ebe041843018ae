"""The tables of a database, and the way from each earlier format to this one.

Readings, alarms, columns and settings are read for ever, by every later version, without changing the file: a migration
may add tables and columns, and never changes or drops a column of these four. The state is not promised: it belongs to
the arithmetic that made it, and is rebuilt from the readings where that has changed.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hippozoo.apps.watch.problem import WatchError

__all__ = ["MARK", "OLDEST", "VERSION", "create_tables", "demand_format", "migrate", "show_as_present"]

VERSION = 7
# The first format whose databases are kept as fixtures; of those before it none is known to exist.
OLDEST = 5
MARK = 0x48504F57  # SQLite's application_id: says whose file it is
_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE columns (channel INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE readings (
    number INTEGER NOT NULL,   -- of the reading of its sensor, from 0
    channel INTEGER NOT NULL,  -- which column
    time REAL NOT NULL,        -- seconds since 1970, or the source's own number
    value REAL,                -- NULL where it is missing
    expected REAL, lower REAL, upper REAL,  -- before it came
    p REAL,                    -- how often a quiet stream looks at least so strange
    PRIMARY KEY (channel, number)  -- before format 7: (number, channel)
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
# From a format to the next one. A new database takes the same way, so that there is only one.
_STEPS = {
    5: """
CREATE TABLE writers (
    number INTEGER PRIMARY KEY,  -- the first reading that it wrote
    version TEXT NOT NULL,       -- of hippozoo
    arithmetic TEXT NOT NULL     -- of its forecasts; a state belongs to one of them
);
INSERT INTO writers VALUES (0, '0.1.0', 'before format 6');
ALTER TABLE troubles ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshots ADD COLUMN arithmetic TEXT NOT NULL DEFAULT 'before format 6';
ALTER TABLE snapshots ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
""",
    6: """
ALTER TABLE columns ADD COLUMN sensor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE columns ADD COLUMN watched INTEGER NOT NULL DEFAULT 1;
-- the event that it belongs to, and the alarm that is told for it
ALTER TABLE alarms ADD COLUMN event INTEGER;
ALTER TABLE alarms ADD COLUMN lead INTEGER;
ALTER TABLE alarms ADD COLUMN severity TEXT NOT NULL DEFAULT '';
ALTER TABLE alarms ADD COLUMN sentence TEXT NOT NULL DEFAULT '';
ALTER TABLE alarms ADD COLUMN again TEXT NOT NULL DEFAULT '';
ALTER TABLE alarms ADD COLUMN key TEXT NOT NULL DEFAULT '';
ALTER TABLE alarms ADD COLUMN offset REAL;
UPDATE alarms SET lead = id;
CREATE INDEX alarms_by_event ON alarms (event);
CREATE INDEX alarms_untold ON alarms (told) WHERE told = 0;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, begun REAL NOT NULL, alarmed REAL NOT NULL, ended REAL,
    channels TEXT NOT NULL, open TEXT NOT NULL,        -- JSON
    severity TEXT NOT NULL, acknowledged REAL, told INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX events_open ON events (ended) WHERE ended IS NULL;
CREATE TABLE sensors (
    sensor INTEGER PRIMARY KEY, name TEXT NOT NULL, readings INTEGER NOT NULL,
    clock TEXT NOT NULL                                -- JSON
);
INSERT INTO sensors SELECT 0, '', json_extract(content, '$.readings'), content FROM progress;
CREATE TABLE states (
    sensor INTEGER PRIMARY KEY, number INTEGER NOT NULL, state BLOB NOT NULL,
    arithmetic TEXT NOT NULL, first INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE mutes (channel INTEGER PRIMARY KEY, until REAL);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, made REAL NOT NULL, reading INTEGER NOT NULL, what TEXT NOT NULL
);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY, made REAL NOT NULL, request TEXT NOT NULL, applied REAL, outcome TEXT
);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY, sink TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL
);
DELETE FROM snapshots;
""",
}
# What a reader sees of an earlier format, which stays as it is: as the steps would make it.
_VIEWS = """
CREATE TEMP VIEW columns AS SELECT *, 0 AS sensor, 1 AS watched FROM main.columns;
CREATE TEMP VIEW alarms AS SELECT *, NULL AS event, id AS lead, '' AS severity, '' AS sentence, '' AS again, '' AS key,
    NULL AS offset FROM main.alarms;
CREATE TEMP TABLE events (id, begun, alarmed, ended, channels, open, severity, acknowledged, told);
CREATE TEMP TABLE sensors (sensor, name);
CREATE TEMP TABLE mutes (channel, until);
CREATE TEMP TABLE requests (id, made, request, applied, outcome);
CREATE TEMP TABLE outbox (id, sink, key, body);
"""


def create_tables(database: sqlite3.Connection) -> None:
    """The tables of a new database; call it within a transaction."""
    _run(database, _TABLES)
    database.execute(f"PRAGMA application_id = {MARK}")
    migrate(database, OLDEST)
    database.execute("DELETE FROM writers")


def migrate(database: sqlite3.Connection, version: int) -> None:
    """Bring a database from a format to this one; call it within a transaction: all of it, or nothing, happens."""
    for step in range(version, VERSION):
        _run(database, _STEPS[step])
    database.execute(f"PRAGMA user_version = {VERSION}")


def show_as_present(database: sqlite3.Connection, version: int) -> None:
    """Let a reader of an earlier format see the tables of this one."""
    if version < VERSION:
        database.execute("PRAGMA temp_store = MEMORY")
        _run(database, _VIEWS)


def demand_format(path: Path, database: sqlite3.Connection) -> int:
    """The format of a database; one that cannot be read is refused."""
    [mark] = database.execute("PRAGMA application_id").fetchone()
    [version] = database.execute("PRAGMA user_version").fetchone()
    if mark != MARK:
        raise sqlite3.DatabaseError("it belongs to something else")
    if not OLDEST <= version <= VERSION:
        raise WatchError(
            f"{path} has format {version}, and this hippozoo reads {OLDEST} to {VERSION}; use the hippozoo that made "
            f"it, or write to another --out."
        )
    return version


def _run(database: sqlite3.Connection, statements: str) -> None:
    # Not executescript, which would end the transaction.
    for statement in statements.split(";\n"):
        if statement.strip():
            database.execute(statement)
