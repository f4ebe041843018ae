"""Databases as metrics in Prometheus' text format: for a server, and as a file for its node exporter."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hippozoo._internal.files import demand_writable, write_whole
from hippozoo.apps.watch.overview import Overview, look_over
from hippozoo.apps.watch.problem import WatchError
from hippozoo.monitor import SEVERITIES

__all__ = ["Textfile", "write_metrics"]

# Above so many streams of a database, only those with an open event have metrics of their own.
MOST_STREAMS = 2000
_EVERY = 15.0  # seconds, as often as Prometheus looks
# Name, type and meaning; those of a stream have a label `column`.
_FAMILIES = {
    "up": ("gauge", "Whether the database can be read."),
    "watch_running": ("gauge", "Whether a watch is writing to the database."),
    "readings_total": ("counter", "Readings taken in."),
    "late_total": ("counter", "Rows skipped because their time was not after the last."),
    "left_out_total": ("counter", "Rows that were not readings."),
    "alarms_total": ("counter", "Alarms; those of many columns at once are one."),
    "events_open": ("gauge", "Events that are still on, by severity."),
    "events_unacknowledged": ("gauge", "Open events that nobody has acknowledged."),
    "last_reading_timestamp_seconds": ("gauge", "Time of the newest reading."),
    "rate": ("gauge", "Alarms wanted per 1,000 readings of a normal stream."),
    "outbox_waiting": ("gauge", "Alarms that wait for a recipient."),
    "requests_waiting": ("gauge", "Requests that the watch has not applied yet."),
    "value": ("gauge", "The newest reading."),
    "expected": ("gauge", "What was expected before it came."),
    "lower": ("gauge", "Lower end of the 95 % band."),
    "upper": ("gauge", "Upper end of the 95 % band."),
    "p": ("gauge", "Share of readings of a normal stream that look at least this unusual."),
    "alarm": ("gauge", "Whether the stream has a part in an open event."),
    "muted": ("gauge", "Whether alarms of the stream are muted."),
}

_Samples = dict[str, list[str]]


def write_metrics(databases: Sequence[tuple[str, Path]]) -> str:
    r"""All databases, each under its name, in Prometheus' text format 0.0.4.

    Examples
    --------
    >>> print(write_metrics([("pump.db", Path("not-there.db"))]), end="")
    # HELP hippozoo_up Whether the database can be read.
    # TYPE hippozoo_up gauge
    hippozoo_up{database="pump.db"} 0
    """
    found: _Samples = {name: [] for name in _FAMILIES}
    for name, path in databases:
        try:
            _add(found, {"database": name}, look_over(path))
        except (WatchError, OSError):
            _sample(found, "up", {"database": name}, 0)
    lines = []
    for name, samples in found.items():
        if samples:
            kind, meaning = _FAMILIES[name]
            lines += [f"# HELP hippozoo_{name} {meaning}", f"# TYPE hippozoo_{name} {kind}", *samples]
    return "".join(f"{line}\n" for line in lines)


def _add(found: _Samples, labels: dict[str, str], now: Overview) -> None:
    progress = now.progress
    for name, value in {
        "up": 1,
        "watch_running": int(now.watched),
        "readings_total": progress.readings,
        "late_total": progress.late,
        "left_out_total": progress.left_out,
        "alarms_total": now.alarms,
        "events_unacknowledged": sum(one.acknowledged is None for one in now.events),
        "last_reading_timestamp_seconds": progress.time if now.dates else None,
        "rate": now.settings["rate"],
        "requests_waiting": now.unapplied,
    }.items():
        _sample(found, name, labels, value)
    for severity in SEVERITIES:
        count = sum(one.severity == severity for one in now.events)
        _sample(found, "events_open", labels | {"severity": severity}, count)
    for sink, count in now.waiting.items():
        _sample(found, "outbox_waiting", labels | {"sink": sink}, count)
    many = len(now.streams) > MOST_STREAMS
    for one in now.streams:
        if many and one.event is None:
            continue
        own = labels | {"column": one.name}
        for name in ("value", "expected", "lower", "upper", "p"):
            _sample(found, name, own, getattr(one, name))
        _sample(found, "alarm", own, int(one.event is not None))
        _sample(found, "muted", own, int(one.muted is not None))


def _sample(found: _Samples, name: str, labels: dict[str, str], value: int | float | None) -> None:
    if value is not None and math.isfinite(value):
        text = ",".join(f'{label}="{_escaped(content)}"' for label, content in labels.items())
        found[name].append(f"hippozoo_{name}{{{text}}} {value!r}")


def _escaped(text: str) -> str:
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", " ")):
        text = text.replace(mark, escaped)
    return text


class Textfile:
    """A sink that writes the metrics of a watch to a file, whole each time, from a thread of its own."""

    def __init__(self, file: Path) -> None:
        demand_writable(file)
        self.file = file
        self._path, self._warn = Path(), print
        self._ending, self._said = threading.Event(), ""
        self._thread: threading.Thread | None = None

    def start(self, path: Path, warn: Callable[[str], Any]) -> None:
        """Begin to write, every 15 seconds."""
        self._path, self._warn = path, warn
        self._thread = threading.Thread(target=self._work, name="hippozoo-textfile", daemon=True)
        self._thread.start()

    def tell(self, lines: Sequence[dict[str, Any]]) -> None:
        """Alarms are counted in the database."""

    def close(self) -> None:
        """Write once more."""
        if self._thread is not None:
            self._ending.set()
            self._thread.join()

    def _work(self) -> None:
        while True:
            ended = self._ending.is_set()
            try:
                write_whole(self.file, write_metrics([(self._path.name, self._path)]).encode())
                self._said = ""
            except OSError as error:
                if str(error) != self._said:
                    self._warn(f"{error} The watch goes on; it is tried again.")
                self._said = str(error)
            if ended:
                return
            self._ending.wait(_EVERY)
