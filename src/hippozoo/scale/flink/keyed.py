"""One sensor per key, without Flink: rows and timers in, JSON lines out, and all state in what an engine keeps."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from hippozoo.monitor import Alert, Outcome, Over, Plan, write_time
from hippozoo.scale.flink.sensor import Sensor, time_of_row
from hippozoo.tables.trouble import Trouble, word

__all__ = ["END", "KeyState", "KeyedWatch", "Settings"]

# The watermark of a source that has ended is later than any time; a timer at this one fires only then.
END = 2**62
_LATEST = 2**61


@runtime_checkable
class KeyState(Protocol):
    """What an engine keeps of the key at work, and the timers that it sets: Flink's, or in tests a few lists."""

    def snapshot(self) -> bytes | None:
        """The last snapshot; None for a new key."""

    def log(self) -> list[bytes]:
        """Rows that were taken in since the snapshot, in their order."""
        ...

    def buffer(self) -> list[bytes]:
        """Rows that wait."""
        ...

    def save(self, snapshot: bytes) -> None:
        """Replace the snapshot, and empty the log."""

    def add_to_log(self, rows: Sequence[bytes]) -> None:
        """Append rows to the log."""

    def add_to_buffer(self, row: bytes) -> None:
        """Append a row to those that wait."""

    def replace_buffer(self, rows: Sequence[bytes]) -> None:
        """Let these rows wait, and no others."""

    def wake_at(self, milliseconds: int) -> None:
        """Set a timer by the watermark."""

    def wake_in(self, milliseconds: int) -> None:
        """Set a timer by the wall clock."""


@dataclass(frozen=True)
class Settings:
    """How a stream of many sensors is watched.

    Examples
    --------
    >>> Settings(Plan(horizon=6), ("flow",)).milliseconds(1.5)
    1500
    """

    #: What each monitor is asked to do (with `every` of None each finds its own usual step); names of the channels.
    plan: Plan
    columns: tuple[str, ...]
    #: Whether times are seconds since 1970; the usual step of a sensor of which little is known.
    dates: bool = True
    hint: float = math.inf
    #: None: rows are taken as they come, and one whose time is not after the last is late, as in `hippozoo watch`. Else
    #: rows wait until the watermark, which is so much behind the latest time, has passed theirs, and are sorted.
    lateness: float | None = None
    #: Rows that are taken in together at most, and how many milliseconds of the wall clock one waits for others.
    batch: int = 64
    wait: int = 200
    #: After so many rows of a key a snapshot replaces the log; so many sensors are held in memory.
    every_rows: int = 512
    cache: int = 2000
    all_readings: bool = False  #: Whether every reading is written, not only alarms.

    def __post_init__(self) -> None:
        for name in ("batch", "every_rows", "cache"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: pass 1 or more.")
        if self.lateness is not None and not 0 <= self.lateness < math.inf:
            raise ValueError(f"lateness={self.lateness}: pass None, or how far behind a row may come, 0 or more.")
        if len(self.columns) != self.plan.channels:
            raise ValueError(f"{len(self.columns)} columns, but a plan of {self.plan.channels}; name every channel.")
        if not self.plan.timed:
            raise ValueError("rows without times have no event time; name a column of times.")

    @property
    def _unit(self) -> float:
        """Milliseconds of event time in a unit of the stream; a usual step of plain numbers counts as a second."""
        return 1000.0 if self.dates or not 0 < self.hint < math.inf else 1000.0 / self.hint

    def milliseconds(self, time: float) -> int:
        """A time of the stream as Flink counts event time."""
        return int(max(min(math.floor(time * self._unit), _LATEST), -_LATEST))

    def time(self, milliseconds: int) -> float:
        """The time of the stream at an event time."""
        return milliseconds / self._unit


@dataclass
class _Key:
    """What is known of a key while its sensor may not be in memory: its buffer, and the timers that are set."""

    name: str
    buffer: list[bytes]
    no_data_at: int | None = None
    release_at: int | None = None


class KeyedWatch:
    """Watches one sensor per key: the logic of the Flink function, with any `KeyState`.

    A row is written to the log of its key, and the monitor in memory goes on. After `every_rows` rows a snapshot, the
    monitor's bytes, replaces the log. Whoever goes on from a checkpoint loads the snapshot and takes in the log again,
    in silence, so that memory is never more than a cache.

    Examples
    --------
    See ``tests/scale/test_flink.py`` for an engine of lists; Flink's is `hippozoo.scale.flink.job`.

    >>> KeyedWatch(Settings(Plan(horizon=6), ("flow",))).settings.batch
    64
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._keys: dict[str, _Key] = {}
        # With the length of the log of each; the one that was asked for last is the last.
        self._sensors: OrderedDict[str, tuple[Sensor, int]] = OrderedDict()

    # -- rows and timers ----------------------------------------------------------------------------------------------

    def take(self, name: str, row: bytes, state: KeyState) -> Iterator[str]:
        """Take in one packed row of a key; the lines that come of it."""
        key = self._key(name, state)
        full = self.settings.lateness is None and len(key.buffer) + 1 >= self.settings.batch
        if full:
            rows = [*key.buffer, row]
            if key.buffer:
                state.replace_buffer([])
            key.buffer = []
            yield from self._push(key, rows, state)
            return
        if not key.buffer:
            state.wake_at(END)
        key.buffer.append(row)
        state.add_to_buffer(row)
        if self.settings.lateness is not None:
            self._set_release(key, self._due(row), state)
        elif len(key.buffer) == 1:
            state.wake_in(self.settings.wait)

    def on_watermark(self, name: str, timer: int, watermark: int, state: KeyState) -> Iterator[str]:
        """A timer by the watermark has fired: release rows, and see whether there are no data."""
        key, ended = self._key(name, state), watermark >= END
        if key.release_at is not None and timer >= key.release_at:
            key.release_at = None
        yield from self._release(key, watermark, state)
        if key.no_data_at is not None and timer < key.no_data_at and not ended:
            return
        key.no_data_at = None
        sensor, _ = self._sensor(key, state)
        now = self.settings.time(timer)
        if not ended and now > sensor.monitor.due:
            outcome = sensor.monitor.tick(now)
            self._save(key, sensor, state)  # that it was said is known by the snapshot alone
            yield from self._lines(name, sensor, outcome, [])
        if not ended:
            self._set_timers(key, sensor, state)
        elif timer == END and sensor.clock.held is not None:
            yield self._held(name, sensor)

    def on_clock(self, name: str, state: KeyState) -> Iterator[str]:
        """A timer by the wall clock has fired: rows have waited long enough for others."""
        if self.settings.lateness is None:
            yield from self._release(self._key(name, state), 0, state)

    # -- state --------------------------------------------------------------------------------------------------------

    def _key(self, name: str, state: KeyState) -> _Key:
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = _Key(name, state.buffer())
        return key

    def _sensor(self, key: _Key, state: KeyState) -> tuple[Sensor, int]:
        """The sensor of a key and the length of its log: from memory, or from its snapshot and its log."""
        found = self._sensors.get(key.name)
        if found is None:
            kept, log, settings = state.snapshot(), state.log(), self.settings
            try:
                sensor = Sensor(settings.plan, settings.hint)
                if kept is not None:
                    sensor = Sensor.from_bytes(kept, settings.plan, settings.hint)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"sensor {key.name!r}: {error}") from error
            sensor.take(log, key.name)
            found = self._sensors[key.name] = sensor, len(log)
            while len(self._sensors) > settings.cache:
                self._sensors.popitem(last=False)
        self._sensors.move_to_end(key.name)
        return found

    def _save(self, key: _Key, sensor: Sensor, state: KeyState) -> None:
        state.save(sensor.to_bytes())
        self._sensors[key.name] = sensor, 0

    def _due(self, row: bytes) -> int:
        """The watermark by which a row is released."""
        return self.settings.milliseconds(time_of_row(row))

    def _release(self, key: _Key, watermark: int, state: KeyState) -> Iterator[str]:
        """Take in the rows that wait; where they wait for the watermark, those that it has passed, sorted."""
        rows, rest = key.buffer, list[bytes]()
        if self.settings.lateness is not None:
            rows = sorted((row for row in key.buffer if self._due(row) <= watermark), key=time_of_row)
            rest = [row for row in key.buffer if self._due(row) > watermark]
        if rows:
            state.replace_buffer(rest)
            key.buffer = rest
            yield from self._push(key, rows, state, ended=watermark >= END)
        if rest:
            self._set_release(key, min(map(self._due, rest)), state)

    def _push(self, key: _Key, rows: list[bytes], state: KeyState, *, ended: bool = False) -> Iterator[str]:
        sensor, logged = self._sensor(key, state)
        outcome, troubles = sensor.take(rows, key.name, self._written)
        if logged + len(rows) >= self.settings.every_rows:
            self._save(key, sensor, state)
        else:
            state.add_to_log(rows)
            self._sensors[key.name] = sensor, logged + len(rows)
        if not ended:
            self._set_timers(key, sensor, state)
        yield from self._lines(key.name, sensor, outcome, troubles)

    def _set_timers(self, key: _Key, sensor: Sensor, state: KeyState) -> None:
        if key.no_data_at is None and math.isfinite(due := sensor.monitor.due):
            key.no_data_at = self.settings.milliseconds(due) + 2  # clearly after it, whatever the rounding
            state.wake_at(key.no_data_at)

    def _set_release(self, key: _Key, due: int, state: KeyState) -> None:
        if key.release_at is None or due < key.release_at:
            key.release_at = due
            state.wake_at(due)

    # -- lines --------------------------------------------------------------------------------------------------------

    def _written(self, moment: float, offset: float | None) -> Any:
        return write_time(moment, offset) if self.settings.dates else moment

    def _lines(self, key: str, sensor: Sensor, outcome: Outcome, troubles: Sequence[Trouble]) -> Iterator[str]:
        if self.settings.all_readings:
            yield from self._readings(key, sensor, outcome)
        for trouble in troubles:
            yield trouble_line(key, trouble)
        for alert in outcome.alerts:
            yield json.dumps({"alarm": self._alarm(key, sensor, alert)})
        for over in outcome.over:
            yield json.dumps({"end": self._end(key, sensor, over)})

    def _readings(self, key: str, sensor: Sensor, outcome: Outcome) -> Iterator[str]:
        parts = (outcome.values, outcome.expected, outcome.lower, outcome.upper, outcome.p)
        for t, moment in enumerate(outcome.times.tolist()):
            for c, column in enumerate(self.settings.columns):
                numbers = [float(part[t, c]) for part in parts]
                value, expected, lower, upper, p = (one if math.isfinite(one) else None for one in numbers)
                line = {
                    "id": f"{key}:{c}:{outcome.first + t}", "sensor": key, "column": column,
                    "number": outcome.first + t, "time": self._written(moment, sensor.offset), "value": value,
                    "expected": expected, "lower": lower, "upper": upper, "p": p,
                }  # fmt: skip
                yield json.dumps({"reading": line})

    def _alarm(self, key: str, sensor: Sensor, alert: Alert) -> dict[str, Any]:
        column, columns = self.settings.columns[alert.channel], len(self.settings.columns)
        text = partial(write_time, offset=sensor.offset, dates=self.settings.dates)
        sentence, severity = alert.describe(f"{key} {column}" if columns > 1 else key, text, columns)
        return {
            "id": alert.key(key), "event": f"{key}:{alert.channel}:{alert.event}", "sensor": key, "column": column,
            "time": self._written(alert.time, sensor.offset), "severity": severity, "sentence": sentence,
            "number": alert.number, "kind": alert.kind, "p": alert.p, "value": alert.value, "expected": alert.expected,
            "lower": alert.lower, "upper": alert.upper, "again": alert.again,
            "explanation": {name: one for name, one in alert.explanation.items() if name != "weights"},
        }  # fmt: skip

    def _end(self, key: str, sensor: Sensor, over: Over) -> dict[str, Any]:
        since = write_time(over.time, sensor.offset, dates=self.settings.dates)
        return {
            "id": f"{key}:{over.channel}:{over.number}:{'data' if over.no_data else 'end'}",
            "event": f"{key}:{over.channel}:{over.event}",
            "sensor": key,
            "column": self.settings.columns[over.channel],
            "number": over.number,
            "ended": self._written(over.time, sensor.offset),
            "sentence": f"{key}: {'data have come back' if over.no_data else 'back to normal'} since {since}",
        }

    def _held(self, key: str, sensor: Sensor) -> str:
        """At the end of the source: a row whose time was far ahead, and that no other has followed."""
        assert sensor.clock.held is not None
        _, moment, _, offset = sensor.clock.held
        last, usual = sensor.clock.time or 0.0, sensor.monitor.usual or self.settings.hint
        more = ((moment - last) / usual, self._written(last, offset))
        return trouble_line(key, Trouble("held", given=self._written(moment, offset), more=more))


def trouble_line(key: str, trouble: Trouble) -> str:
    """A trouble as a line."""
    named = trouble._replace(place=trouble.place._replace(source=key, line=0))
    return json.dumps({"trouble": {"sensor": key, "kind": trouble.kind, "sentence": word(named, stream=True)}})
