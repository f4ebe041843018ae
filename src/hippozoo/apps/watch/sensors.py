"""The sensors of a watch: each has a monitor, which is loaded or rebuilt from the readings where it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hippozoo.apps.watch.intake import Row
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Channel, Kept, Sensor, State
from hippozoo.apps.watch.store import Store, sound
from hippozoo.monitor import Alert, Clock, Monitor, Outcome, Over, Plan, Rules

__all__ = ["Fact", "Pushed", "Sensors"]

# The state is kept after every so many readings: by their number, so that a restart changes nothing; not of all
# sensors at once.
_SNAPSHOT, _APART = 2048, 37
# Readings that are pushed together, and after how many such pieces of a rebuilding its state is kept.
_PIECE, _KEPT_EVERY = 2048, 32
# States that are written together at the end.
_AT_ONCE = 64


class Fact(NamedTuple):
    """An alarm or the end of an event: with which line it was known, of which sensor, and what."""

    cause: int
    sensor: int
    what: Alert | Over


class Pushed(NamedTuple):
    """What came of rows: readings as the database holds them, alarms and ends, new sensors and columns, states."""

    kept: list[Kept]
    facts: list[Fact]
    sensors: list[Sensor]
    channels: list[Channel]
    states: list[State]

    def and_then(self, more: Pushed) -> Pushed:
        """Both, one after the other."""
        pairs: Any = zip(self, more, strict=True)
        return Pushed(*(own + theirs for own, theirs in pairs))


class Sensors:
    """All sensors of a watch; at most so many monitors are held at once, and others are kept in the database."""

    def __init__(self, store: Store, plan: Plan, columns: Sequence[str], most: int = 10**9) -> None:
        self.store, self.plan, self.columns, self.most = store, plan, tuple(columns), max(most, 1)
        self.clocks: dict[str, Clock] = {}
        self.names: dict[str, int] = {}
        self.channels: dict[int, list[int]] = {}
        self.readings: dict[int, int] = {}
        self.usual: dict[str, float | None] = {}
        # When there are no data of a sensor for too long.
        self.due: dict[int, float] = {}
        self._monitors: dict[int, Monitor] = {}  # the one that was asked for last is the last
        self._waiting: dict[int, list[Any]] = {}
        self._saved: dict[int, int] = {}
        self._first: dict[int, int] = {}
        self._next_channel = 0
        self.listen(str, lambda done, total: None, bool, float)
        self._load()

    def listen(
        self,
        warn: Callable[[str], Any],
        rebuilt: Callable[[int, int], Any],
        stopped: Callable[[], bool],
        written: Callable[[float], Any],
    ) -> None:
        """Whom to tell, while a state is rebuilt, why and how far it is; whether to stop; how times are written."""
        self._warn, self._rebuilt, self._stopped, self._written = warn, rebuilt, stopped, written

    def _load(self) -> None:
        known: dict[int, dict[str, int]] = {}
        for one in self.store.channels():
            self._next_channel = max(self._next_channel, one.channel + 1)
            if one.watched:
                known.setdefault(one.sensor, {})[one.name] = one.channel
        for sensor in self.store.sensors():
            with sound(self.store.path):
                self.names[sensor.name] = sensor.sensor
                self.readings[sensor.sensor] = sensor.readings
                self.clocks[sensor.name] = Clock.from_dict(sensor.clock)
                self.usual[sensor.name] = sensor.clock.get("usual", self.plan.every)
                self._waiting[sensor.sensor] = sensor.clock.get("waiting", [])
                self.due[sensor.sensor] = float(sensor.clock.get("due", np.inf))
                self.channels[sensor.sensor] = [known[sensor.sensor][name] for name in self.columns]

    def __len__(self) -> int:
        return len(self.names)

    def opening_times(self) -> dict[str, list[float]]:
        """The times of readings that wait until the usual step of their sensor is known."""
        waiting = ((name, self._waiting.get(sensor)) for name, sensor in self.names.items())
        return {name: [time for time, _ in some] for name, some in waiting if some}

    def change_rules(self, rules: Rules) -> None:
        """Tell alarms by other rules from here on; what each sensor has come to know is kept first."""
        for sensor in list(self.names.values()):
            monitor = self.monitor(sensor)
            if self._saved.get(sensor, -1) != monitor.readings:
                self.store.keep_state(self._state(sensor, monitor))
        self.plan = replace(self.plan, rules=rules)
        for monitor in self._monitors.values():
            monitor.change_rules(rules)

    # -- monitors -----------------------------------------------------------------------------------------------------

    def monitor(self, sensor: int) -> Monitor:
        """The monitor of a sensor as it was after its last reading: held, loaded, or rebuilt from the readings.

        Told to stop while it is rebuilt, it keeps what it has so far, and returns that.
        """
        found = self._monitors.pop(sensor, None) or self._resumed(sensor)
        self._monitors[sensor] = found
        return found

    def release(self) -> list[State]:
        """Let monitors go that were not asked for lately, where there are too many; their states, to be kept."""
        states = []
        while len(self._monitors) > self.most:
            sensor = next(iter(self._monitors))
            monitor = self._monitors.pop(sensor)
            if self._saved.get(sensor, -1) != monitor.readings or monitor.waiting:
                states.append(self._state(sensor, monitor))
        return states

    def _state(self, sensor: int, monitor: Monitor) -> State:
        self._saved[sensor] = monitor.readings
        return State(sensor, monitor.readings, monitor.to_bytes(), monitor.first)

    def final_states(self) -> Iterator[list[State]]:
        """The states of all monitors that have gone on since theirs was kept, a few at a time: they are large."""
        changed = [s for s, one in self._monitors.items() if self._saved.get(s, -1) != one.readings and one.readings]
        for at in range(0, len(changed), _AT_ONCE):
            yield [self._state(sensor, self._monitors[sensor]) for sensor in changed[at : at + _AT_ONCE]]

    def _resumed(self, sensor: int) -> Monitor:
        end, channels = self.readings[sensor], self.channels[sensor]
        monitor, why = self._kept(sensor, end)
        if monitor is None:
            oldest = self.store.oldest(channels)
            first = end if oldest is None else oldest[0]
            usual = self.usual.get(next(n for n, s in self.names.items() if s == sensor)) if first else self.plan.every
            monitor = Monitor(self.plan if usual is None else replace(self.plan, every=usual), first)
            if why and end:
                gone = ""
                if first:
                    begin = "" if oldest is None else f", which begin at {self._written(oldest[1])}"
                    gone = f"{begin}; what was learnt from the {first:,} before them is lost"
                self._warn(
                    f"{why}; it is rebuilt from the {end - first:,} readings that {self.store.path} holds{gone}."
                )
        self._replay(sensor, monitor, end, keep=bool(why))
        if monitor.readings >= end:
            self._take_waiting(sensor, monitor)
        return monitor

    def _replay(self, sensor: int, monitor: Monitor, end: int, *, keep: bool) -> None:
        start = number = monitor.first if monitor.waiting else monitor.readings
        pieces = 0
        while number < end:
            upto = min(number + _PIECE, end)
            times, values = self.store.arrays(self.channels[sensor], number, upto)
            with sound(self.store.path):
                monitor.push(times if self.plan.timed else None, values)
            number, pieces = upto, pieces + 1
            if keep or number - start > _PIECE:
                self._rebuilt(number - monitor.first, end - monitor.first)
            stop = self._stopped()
            if keep and (stop or number == end or pieces % _KEPT_EVERY == 0):
                self.store.keep_state(self._state(sensor, monitor))
            if stop:
                return

    def _take_waiting(self, sensor: int, monitor: Monitor) -> None:
        """Readings that wait for the usual step are kept with the clock, and not among the readings."""
        waiting = self._waiting.get(sensor, [])
        if waiting and not monitor.waiting and not monitor.readings:
            with sound(self.store.path):
                values = [[np.nan if one is None else one for one in row] for _, row in waiting]
                monitor.push(np.array([time for time, _ in waiting], float), np.array(values, float))

    def _kept(self, sensor: int, end: int) -> tuple[Monitor | None, str]:
        """The monitor that was kept last, if it can be gone on with; else why not."""
        state, path = self.store.state(sensor), self.store.path
        if state is None:
            # Before the first one is kept there is none, and nothing is wrong.
            if self.store.has_state(sensor):
                return None, f"another version or other settings made the state in {path}; it cannot be gone on with"
            oldest = self.store.oldest(self.channels[sensor])
            return None, f"the state in {path} is gone" if oldest is not None and oldest[0] else ""
        try:
            monitor = Monitor.from_bytes(state.state, self.plan)
            if monitor.readings != state.number or monitor.first != state.first or state.number > end:
                raise ValueError("it belongs to other readings")
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            return None, f"the state in {path} is damaged ({error})"
        self._saved[sensor] = monitor.readings
        return monitor, ""

    # -- pushing ------------------------------------------------------------------------------------------------------

    def push(self, rows: dict[str, list[Row]]) -> Pushed:
        """Push the rows of some sensors; those that are new begin."""
        found = Pushed([], [], [], [], [])
        for name, some in rows.items():
            sensor = self.names.get(name)
            if sensor is None:
                sensor = self._begin(name, found)
            monitor = self.monitor(sensor)
            for piece in _pieces(some, monitor, sensor):
                values = np.array([row.reading.values for row in piece], float).reshape(len(piece), -1)
                times = np.array([row.reading.time for row in piece], float) if self.plan.timed else None
                outcome = monitor.push(times, values)
                causes = _causes(outcome, piece)
                self._take_in(sensor, outcome, causes, found)
                if len(outcome.times) and (monitor.readings + _APART * sensor) % _SNAPSHOT == 0:
                    found.states.append(self._state(sensor, monitor))
            self._note(name, sensor, monitor, found)
        found.states.extend(self.release())
        found.facts.sort(key=lambda one: (one.cause, isinstance(one.what, Over), one.sensor, one.what.channel))
        return found

    def tick(self, now: float, cause: int) -> Pushed:
        """Nothing has come of some sensors until `now`: say so of those from which that is too long."""
        found = Pushed([], [], [], [], [])
        for name, sensor in self.names.items():
            if now > self.due.get(sensor, np.inf):
                monitor = self.monitor(sensor)
                self._take_in(sensor, monitor.tick(now), {}, found, cause)
                self._note(name, sensor, monitor, found)
                # That it has been said is known by the state alone.
                found.states.append(self._state(sensor, monitor))
        found.facts.sort(key=lambda one: (one.what.time, one.sensor, one.what.channel))
        return found

    def _begin(self, name: str, found: Pushed) -> int:
        sensor = self.names[name] = len(self.names)
        channels = range(self._next_channel, self._next_channel + len(self.columns))
        self._next_channel += len(self.columns)
        self.channels[sensor], self.readings[sensor] = list(channels), 0
        self._monitors[sensor] = Monitor(self.plan)
        found.channels.extend(Channel(c, one, sensor) for c, one in zip(channels, self.columns, strict=True))
        return sensor

    def _take_in(self, sensor: int, outcome: Outcome, causes: dict[int, int], found: Pushed, cause: int = 0) -> None:
        channels = self.channels[sensor]
        if len(outcome.times):
            found.kept.extend(_kept(outcome, channels))
            self.readings[sensor] = outcome.first + len(outcome.times)
        last = max(causes.values(), default=cause)
        for one in (*outcome.alerts, *outcome.over):
            what = one._replace(channel=channels[one.channel])
            found.facts.append(Fact(causes.get(one.number, last), sensor, what))

    def _note(self, name: str, sensor: int, monitor: Monitor, found: Pushed) -> None:
        """What is kept of a sensor with every batch."""
        self.usual[name], self.due[sensor] = monitor.usual, monitor.due
        clock = self.clocks.setdefault(name, Clock()).as_dict()
        if monitor.waiting:
            clock["waiting"] = [[t, [None if np.isnan(one) else one for one in row]] for t, row in monitor.waiting]
        if self.plan.every is None and monitor.usual is not None:
            clock["usual"] = monitor.usual
        if np.isfinite(monitor.due):
            clock["due"] = monitor.due
        found.sensors.append(Sensor(sensor, name, self.readings[sensor], clock))


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
