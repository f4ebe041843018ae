"""The sensors of a watch: each has a monitor, which is loaded or rebuilt from the readings where it is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hippozoo.apps.watch.database import label_of, sound
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Batch, Channel, Kept, Sensor, State
from hippozoo.apps.watch.store import Store
from hippozoo.monitor import Alert, Clock, Monitor, Outcome, Over, Plan, Rules
from hippozoo.monitor.monitor import OPENING, usual_step
from hippozoo.tables.schema import Reading

__all__ = ["Fact", "LiveSensor", "Row", "Sensors", "demand_columns"]

# The state is kept after every so many readings: by their number, so that a restart changes nothing; not of all
# sensors at once.
_SNAPSHOT, _APART = 2048, 37
# Readings that are pushed together, and after how many such pieces of a rebuilding its state is kept.
_PIECE, _KEPT_EVERY = 2048, 32
# States that are written together at the end.
_AT_ONCE = 64


class Row(NamedTuple):
    """A reading, and the line with which it came to be one."""

    reading: Reading
    cause: int


class Fact(NamedTuple):
    """An alarm or the end of an event: with which line it was known, of which sensor, and what."""

    cause: int
    sensor: int
    what: Alert | Over


@dataclass
class LiveSensor:
    """A sensor at work."""

    number: int
    name: str
    channels: list[int]
    readings: int = 0
    clock: Clock = field(default_factory=Clock)
    usual: float | None = None  # its step, once that is known; before that, the times of its first readings:
    opening: list[float] = field(default_factory=list)
    waiting: list[Any] = field(default_factory=list)  # readings that waited for the usual step when it was kept
    due: float = math.inf  # when there are no data for too long
    kept: int = -1  # number of readings when its state was kept last
    is_new: bool = True

    def look_for_step(self, times: Sequence[float]) -> None:
        """As its monitor does, by the first readings: line by line, so that batches change nothing."""
        self.opening += times
        if len(self.opening) >= OPENING:
            self.usual = usual_step(self.opening[:OPENING])

    def state(self, monitor: Monitor) -> State:
        """The state of its monitor, to be kept."""
        self.kept = monitor.readings
        return State(self.number, monitor.readings, monitor.to_bytes(), monitor.first)

    def row(self, plan: Plan, monitor: Monitor) -> Sensor:
        """What is kept of it with every batch."""
        self.usual, self.due = monitor.usual, monitor.due
        clock = self.clock.as_dict()
        if monitor.waiting:
            clock["waiting"] = [[t, [None if np.isnan(one) else one for one in row]] for t, row in monitor.waiting]
        if plan.every is None and monitor.usual is not None:
            clock["usual"] = monitor.usual
        if np.isfinite(monitor.due):
            clock["due"] = monitor.due
        return Sensor(self.number, self.name, self.readings, clock)


class Sensors:
    """All sensors of a watch; at most so many monitors are held at once, and others are kept in the database."""

    def __init__(self, store: Store, plan: Plan, columns: Sequence[str], most: int = 10**9) -> None:
        self.store, self.plan, self.columns, self.most = store, plan, tuple(columns), max(most, 1)
        self.by_name: dict[str, LiveSensor] = {}
        self.labels: dict[int, tuple[str, str]] = {}  # what each column, and its sensor, is called
        self.watch: Any = None  # is told, while a state is rebuilt, why and how far it is
        self.written: Callable[[float], Any] = float
        self._monitors: dict[int, Monitor] = {}  # the one that was asked for last is the last
        self._load()

    def _load(self) -> None:
        known: dict[int, dict[str, int]] = {}
        channels, names = self.store.channels(), {one.sensor: one.name for one in self.store.sensors()}
        for one in channels:
            self._label(one, names.get(one.sensor, ""))
            if one.watched:
                known.setdefault(one.sensor, {})[one.name] = one.channel
        for one in self.store.sensors():
            with sound(self.store.path):
                clock, waiting = one.clock, one.clock.get("waiting", [])
                self.by_name[one.name] = LiveSensor(
                    one.sensor, one.name, [known[one.sensor][name] for name in self.columns], one.readings,
                    Clock.from_dict(clock), clock.get("usual", self.plan.every), [time for time, _ in waiting], waiting,
                    float(clock.get("due", math.inf)), is_new=False,
                )  # fmt: skip

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str) -> LiveSensor:
        """The sensor of this name; one that is new begins."""
        sensor = self.by_name.get(name)
        if sensor is None:
            first = next(reversed(self.labels), -1) + 1
            usual = self.plan.every if self.plan.timed else 1.0
            channels = list(range(first, first + len(self.columns)))
            sensor = self.by_name[name] = LiveSensor(len(self.by_name), name, channels, usual=usual)
            for one in self._channels(sensor):
                self._label(one, name)
        return sensor

    def _channels(self, sensor: LiveSensor) -> list[Channel]:
        return [Channel(c, name, sensor.number) for c, name in zip(sensor.channels, self.columns, strict=True)]

    def _label(self, channel: Channel, sensor: str) -> None:
        self.labels[channel.channel] = label_of(channel.name, sensor, len(self.columns)), sensor

    def change_rules(self, rules: Rules) -> None:
        """Tell alarms by other rules from here on; what each sensor has come to know is kept first."""
        for sensor in self.by_name.values():
            monitor = self.monitor(sensor)
            if sensor.kept != monitor.readings:
                self.store.keep_state(sensor.state(monitor))
        self.plan = replace(self.plan, rules=rules)
        for monitor in self._monitors.values():
            monitor.change_rules(rules)

    # -- monitors -----------------------------------------------------------------------------------------------------

    def monitor(self, sensor: LiveSensor) -> Monitor:
        """The monitor of a sensor as it was after its last reading: held, loaded, or rebuilt from the readings.

        Told to stop while it is rebuilt, it keeps what it has so far, and returns that.
        """
        found = self._monitors.pop(sensor.number, None) or self._resumed(sensor)
        self._monitors[sensor.number] = found
        return found

    def _release(self) -> Iterator[State]:
        """Let monitors go that were not asked for lately, where there are too many; their states, to be kept."""
        sensors = list(self.by_name.values()) if len(self._monitors) > self.most else []
        while len(self._monitors) > self.most:
            sensor = sensors[next(iter(self._monitors))]
            monitor = self._monitors.pop(sensor.number)
            if sensor.kept != monitor.readings or monitor.waiting:
                yield sensor.state(monitor)

    def final_states(self) -> Iterator[list[State]]:
        """The states of all monitors that have gone on since theirs was kept, a few at a time: they are large."""
        held = [(one, self._monitors[one.number]) for one in self.by_name.values() if one.number in self._monitors]
        changed = [(one, monitor) for one, monitor in held if monitor.readings and one.kept != monitor.readings]
        for at in range(0, len(changed), _AT_ONCE):
            yield [sensor.state(monitor) for sensor, monitor in changed[at : at + _AT_ONCE]]

    def _resumed(self, sensor: LiveSensor) -> Monitor:
        if sensor.is_new:
            return Monitor(self.plan)
        end = sensor.readings
        monitor, why = self._kept(sensor)
        if monitor is None:
            oldest = self.store.oldest(sensor.channels)
            first = end if oldest is None else oldest[0]
            usual = sensor.usual if first else self.plan.every
            monitor = Monitor(self.plan if usual is None else replace(self.plan, every=usual), first)
            if why and end and self.watch is not None:
                gone = ""
                if first:
                    begin = "" if oldest is None else f", which begin at {self.written(oldest[1])}"
                    gone = f"{begin}; what was learnt from the {first:,} before them is lost"
                self.watch.warn(
                    f"{why}; it is rebuilt from the {end - first:,} readings that {self.store.path} holds{gone}."
                )
        self._replay(sensor, monitor, keep=bool(why))
        # Readings that wait for the usual step are kept with the clock, and not among the readings.
        if sensor.waiting and not monitor.waiting and monitor.readings == end == 0:
            with sound(self.store.path):
                values = [[np.nan if one is None else one for one in row] for _, row in sensor.waiting]
                monitor.push(np.array([time for time, _ in sensor.waiting], float), np.array(values, float))
        return monitor

    def _replay(self, sensor: LiveSensor, monitor: Monitor, *, keep: bool) -> None:
        start = number = monitor.first if monitor.waiting else monitor.readings
        pieces, end = 0, sensor.readings
        while number < end:
            upto = min(number + _PIECE, end)
            times, values = self.store.arrays(sensor.channels, number, upto)
            with sound(self.store.path):
                monitor.push(times if self.plan.timed else None, values)
            number, pieces = upto, pieces + 1
            if self.watch is not None and (keep or number - start > _PIECE):
                self.watch.rebuilt(number - monitor.first, end - monitor.first)
            stop = self.watch is not None and self.watch.stopped()
            if keep and (stop or number == end or pieces % _KEPT_EVERY == 0):
                self.store.keep_state(sensor.state(monitor))
            if stop:
                return

    def _kept(self, sensor: LiveSensor) -> tuple[Monitor | None, str]:
        """The monitor that was kept last, if it can be gone on with; else why not."""
        state, path = self.store.state(sensor.number), self.store.path
        if state is None:
            # Before the first one is kept there is none, and nothing is wrong.
            if self.store.has_state(sensor.number):
                return None, f"another version or other settings made the state in {path}; it cannot be gone on with"
            oldest = self.store.oldest(sensor.channels)
            return None, f"the state in {path} is gone" if oldest is not None and oldest[0] else ""
        try:
            monitor = Monitor.from_bytes(state.state, self.plan)
            if monitor.readings != state.number or monitor.first != state.first or state.number > sensor.readings:
                raise ValueError("it belongs to other readings")
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            return None, f"the state in {path} is damaged ({error})"
        sensor.kept = monitor.readings
        return monitor, ""

    # -- pushing ------------------------------------------------------------------------------------------------------

    def push(self, rows: dict[str, list[Row]], batch: Batch) -> list[Fact]:
        """Push the rows of some sensors; what is kept of them goes to a batch."""
        facts: list[Fact] = []
        for name, some in rows.items():
            sensor = self.by_name[name]
            monitor = self.monitor(sensor)
            if sensor.is_new:
                batch.channels += self._channels(sensor)
                sensor.is_new = False
            for piece in _pieces(some, monitor, sensor.number):
                values = np.array([row.reading.values for row in piece], float).reshape(len(piece), -1)
                times = np.array([row.reading.time for row in piece], float) if self.plan.timed else None
                outcome = monitor.push(times, values)
                facts += _facts(sensor, outcome, _causes(outcome, piece))
                if len(outcome.times):
                    batch.readings += _kept(outcome, sensor.channels)
                    sensor.readings = outcome.first + len(outcome.times)
                    if (monitor.readings + _APART * sensor.number) % _SNAPSHOT == 0:
                        batch.states.append(sensor.state(monitor))
            batch.sensors.append(sensor.row(self.plan, monitor))
        batch.states += self._release()
        return sorted(facts, key=lambda one: (one.cause, isinstance(one.what, Over), one.sensor, one.what.channel))

    def tick(self, now: float, cause: int, batch: Batch) -> list[Fact]:
        """Nothing has come of some sensors until `now`: say so of those from which that is too long."""
        facts: list[Fact] = []
        for sensor in self.by_name.values():
            if now > sensor.due:
                monitor = self.monitor(sensor)
                facts += _facts(sensor, monitor.tick(now), {}, cause)
                batch.sensors.append(sensor.row(self.plan, monitor))
                # That it has been said is known by the state alone.
                batch.states.append(sensor.state(monitor))
        return sorted(facts, key=lambda one: (one.what.time, one.sensor, one.what.channel))


def _facts(sensor: LiveSensor, outcome: Outcome, causes: dict[int, int], cause: int = 0) -> list[Fact]:
    last = max(causes.values(), default=cause)
    return [
        Fact(causes.get(one.number, last), sensor.number, one._replace(channel=sensor.channels[one.channel]))
        for one in (*outcome.alerts, *outcome.over)
    ]


def _pieces(rows: list[Row], monitor: Monitor, sensor: int) -> list[list[Row]]:
    """Rows, cut where the state is kept."""
    number, at, found = monitor.readings + _APART * sensor + len(monitor.waiting), 0, []
    while at < len(rows):
        end = at + _SNAPSHOT - (number + at) % _SNAPSHOT
        found.append(rows[at:end])
        at = end
    return found


def _causes(outcome: Outcome, piece: list[Row]) -> dict[int, int]:
    """With which line each reading came; those that had waited came with the first."""
    count = len(outcome.times)
    lines = [piece[0].cause] * (count - len(piece)) + [row.cause for row in piece] if count else []
    return {outcome.first + k: line for k, line in enumerate(lines)}


def _kept(outcome: Outcome, channels: Sequence[int]) -> list[Kept]:
    """Readings as the database holds them: one row per column, and nothing where there is no finite number."""
    count = len(outcome.times)
    numbers = np.repeat(np.arange(outcome.first, outcome.first + count), len(channels)).tolist()
    parts = (outcome.values, outcome.expected, outcome.lower, outcome.upper, outcome.p)
    times = np.repeat(outcome.times, len(channels)).tolist()
    columns = (numbers, list(channels) * count, times, *map(_plain, parts))
    return list(map(Kept._make, zip(*columns, strict=True)))


def _plain(part: np.ndarray) -> list[float | None]:
    """Numbers for the database, which knows no NaN and no infinity."""
    flat = part.ravel()
    finite = np.isfinite(flat)
    if finite.all():
        return flat.tolist()
    return [value if good else None for value, good in zip(flat.tolist(), finite.tolist(), strict=True)]


def demand_columns(known: Sequence[Channel], columns: Sequence[str]) -> list[Channel]:
    """The columns as they are watched from here on: those that are named, and new ones for what was not there."""
    sensors = sorted({one.sensor for one in known}) or [0]
    found, free = [], max((one.channel for one in known), default=-1) + 1
    for sensor in sensors:
        own = {one.name: one for one in known if one.sensor == sensor}
        found += [one._replace(watched=one.name in columns) for one in own.values()]
        for name in columns:
            if name not in own:
                found.append(Channel(free, name, sensor))
                free += 1
    if not found:
        raise WatchError("no column is left to watch; name one with --column.")
    return found
