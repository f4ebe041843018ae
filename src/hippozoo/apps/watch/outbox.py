"""Alarms on their way to others: a bounded backlog in the database, delivered at least once by a thread of its own.

The watch appends to the backlog after its commit and goes on; whoever receives may be slow, or away, for days. Each
alarm has an id that is the same however often it is sent.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import sound

__all__ = ["Outbox", "UndeliveredError"]

# Alarms that wait for one recipient, at the most; the oldest go first.
MOST_WAITING = 10_000
# Seconds between tries: twice as long each time. At the end of a run, how long the last ones may take.
_FIRST_PAUSE, _LONGEST_PAUSE, _FAREWELL = 1.0, 300.0, 15.0
# What is refused so often for what it says is set aside, so that those behind it get through.
_MOST_REFUSALS = 3


class UndeliveredError(Exception):
    """It did not arrive; `pause` is how long the recipient asks to wait, `refused` whether it is for what it says."""

    def __init__(self, why: str, *, pause: float | None = None, refused: bool = False) -> None:
        super().__init__(why)
        self.pause, self.refused = pause, refused


class Outbox:
    """A sink of a watch that keeps what is told in the table `outbox` until its recipient has it.

    A recipient has a `kind`, a place `where` it is (without secrets), `encode(line)` for what is sent, `deliver(key,
    body)` that returns once it has arrived or raises `UndeliveredError`, and `close()`.
    """

    def __init__(self, recipient: Any) -> None:
        self.recipient = recipient
        self._path, self._warn, self._identity = Path(), print, ""
        self._news, self._ending = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, path: Path, warn: Callable[[str], Any]) -> None:
        """Begin to deliver what an earlier run has left."""
        self._path, self._warn = path, warn
        with sound(path), _writing(self._path) as database:
            # Alarms are numbered in each database alike: what tells those of two apart is made when it is needed.
            row = ("identity", json.dumps(secrets.token_hex(8)))
            database.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", row)
            [text] = database.execute("SELECT value FROM settings WHERE name = 'identity'").fetchone()
            self._identity = str(json.loads(text))
        self._thread = threading.Thread(target=self._work, name=f"hippozoo-{self.recipient.kind}", daemon=True)
        self._thread.start()

    def tell(self, lines: Sequence[dict[str, Any]]) -> None:
        """Put alarms and ends into the backlog; those that are in it already stay as they are."""
        kind = self.recipient.kind
        with sound(self._path), _writing(self._path) as database:
            for line in lines:
                key = self._key(line)
                body = self.recipient.encode({"id": key, "database": self._path.name, **line})
                database.execute(
                    "INSERT INTO outbox (sink, key, body) SELECT ?, ?, ? "
                    "WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE sink = ? AND key = ?)",
                    [kind, key, body, kind, key],
                )
            oldest = "SELECT id FROM outbox WHERE sink = ? ORDER BY id DESC LIMIT -1 OFFSET ?"
            gone = database.execute(f"DELETE FROM outbox WHERE id IN ({oldest})", [kind, MOST_WAITING]).rowcount
        if gone:
            self._say(
                f"is behind by more than {MOST_WAITING:,} alarms; the oldest are not sent (they are in {self._path})."
            )
        self._news.set()

    def close(self) -> None:
        """Send what waits, if that is possible at once; the rest is left for the next run."""
        if self._thread is None:
            return
        self._ending.set()
        self._news.set()
        self._thread.join(_FAREWELL)
        left = 0
        with suppress(sqlite3.Error), _writing(self._path) as database:  # what is wrong with it, the watch says
            [left] = database.execute("SELECT count(*) FROM outbox WHERE sink = ?", [self.recipient.kind]).fetchone()
        if left:
            self._say(f"has not got all: {left:,} alarms wait in {self._path}, and the next run sends them.")
        if not self._thread.is_alive():
            self.recipient.close()

    def _key(self, line: dict[str, Any]) -> str:
        own = line["alarm"]["key"] if "alarm" in line else f"end:{line['end']['event']}"
        return hashlib.sha256(f"{self._identity}:{own}".encode()).hexdigest()[:32]

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        failed, refusals = 0, 0
        while True:
            row = None
            try:
                row = self._next()
                if row is not None:
                    self.recipient.deliver(row[1], row[2])
                    self._remove(row[0])
            except Exception as error:  # whatever it is: a thread that has ended sends nothing
                refused = isinstance(error, UndeliveredError) and error.refused
                refusals = refusals + 1 if refused else 0
                if refusals == _MOST_REFUSALS and row is not None:
                    refusals = 0
                    self._remove(row[0])
                    self._say(
                        f"refused an alarm {_MOST_REFUSALS} times ({error}); it is not sent, and is in {self._path}."
                    )
                    continue
                if not failed:
                    why = str(error) if isinstance(error, (UndeliveredError, sqlite3.Error)) else type(error).__name__
                    self._say(f"did not take an alarm: {why}. Alarms wait in {self._path} and are sent when it does.")
                failed += 1
                pause = error.pause if isinstance(error, UndeliveredError) else None
                if self._ending.wait(min(pause or _FIRST_PAUSE * 2 ** min(failed - 1, 20), _LONGEST_PAUSE)):
                    return
                continue
            if row is None:
                if self._ending.is_set():
                    return
                self._news.wait()
                self._news.clear()
            elif failed:
                self._say("takes alarms again.")
            failed = refusals = 0

    def _next(self) -> tuple[int, str, str] | None:
        with _writing(self._path) as database:
            query = "SELECT id, key, body FROM outbox WHERE sink = ? ORDER BY id LIMIT 1"
            return database.execute(query, [self.recipient.kind]).fetchone()

    def _say(self, text: str) -> None:
        self._warn(f"the {self.recipient.kind} at {self.recipient.where} {text}")

    def _remove(self, number: int) -> None:
        with _writing(self._path) as database:
            database.execute("DELETE FROM outbox WHERE id = ?", [number])


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A short transaction of its own, in a file that is there."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=30.0, isolation_level="IMMEDIATE")) as database, database:
        yield database
