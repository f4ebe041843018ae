"""One sensor, watched: the same arithmetic in `hippozoo watch`, for every key of a panel, and on Flink."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hippozoo import checkpoint
from hippozoo.ensemble import EnsembleForecaster, forecaster_for
from hippozoo.forecasts.settings import usual_histories
from hippozoo.monitor.rules import Rules
from hippozoo.monitor.stream import NO_DATA, Ended, EventStream, Found, Missing
from hippozoo.monitor.words import sentence, severity_of

__all__ = ["Alert", "Monitor", "Outcome", "Over", "Plan"]

# Coefficients of a history, at most, where nobody says how many: as of `forecaster_for`.
ORDER = 48
# So many readings show the usual step of a sensor, where nobody says what it is.
OPENING = 8
# How the bytes of a monitor begin: a mark, and a version that is raised with every change of what follows.
_MARK, _VERSION = b"hippozoo monitor", 2


@dataclass(frozen=True)
class Plan:
    """What a monitor is asked to do.

    Parameters
    ----------
    channels
        Columns of numbers.
    horizon, season
        In usual steps; a season of None is none.
    every
        The usual step; None to see it in the first readings. 1 in a stream without times.
    timed
        Whether readings have times.
    rules
        When an alarm is told.
    order
        Coefficients of each history, at most; fewer make a smaller state, for many sensors.

    Examples
    --------
    >>> Plan(channels=2, horizon=6).rules.rate
    1.0
    """

    channels: int = 1
    horizon: int = 24
    season: int | None = None
    every: float | None = None
    timed: bool = True
    rules: Rules = field(default_factory=Rules)
    order: int = ORDER

    def stream(self, every: float) -> EventStream:
        """A stream that has seen nothing."""
        return EventStream(_forecaster(self.horizon, self.season, every, self.order), self.channels, self.rules)


@lru_cache(maxsize=64)
def _forecaster(horizon: int, season: int | None, every: float, order: int) -> EnsembleForecaster:
    """One forecaster for all sensors of a kind: it is pure, and its matrices are as large as a state."""
    histories = usual_histories(horizon * every, every, order)
    return forecaster_for(horizon * every, every, None if season is None else season * every, history=histories)


class Alert(NamedTuple):
    """An alarm of one column, as plain data.

    Examples
    --------
    >>> Alert._fields[:4]
    ('channel', 'number', 'time', 'kind')
    """

    channel: int
    number: int  # of the reading, from 0
    time: float
    kind: str  # of `hippozoo.ensemble.detector.KINDS`, or "no data"
    direction: int  # 1 above the most similar past (livelier, for a spread), -1 below, 0 for no data
    p: float  # share of readings of a normal stream with which one begins to look as unusual; 0 for no data
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    far: float  # half bands between the value and what was expected
    since: int  # the reading with which it most likely began, and when
    since_time: float
    event: int  # the reading with which its event began
    again: str  # why it is told within a silence or an event
    readings: int  # read before
    nearest: tuple[float, float, str] | None  # time and value of what came nearest before, by "value" or by "error"
    explanation: dict[str, Any]  # what the detector says besides, as plain JSON

    def key(self, sensor: str = "") -> str:
        """A name that is the same whenever, and however often, the same alarm is found."""
        return f"{sensor}:{self.channel}:{self.number}:{self.kind if self.kind == NO_DATA else 'value'}"

    def describe(self, column: str, text: Callable[[float], str], columns: int) -> tuple[str, str]:
        """Its sentence and severity, for a column of this name among so many; `text` writes a time."""
        near = None if self.nearest is None else (text(self.nearest[0]), *self.nearest[1:])
        named = {"column": column, "time": text(self.time), "since": text(self.since_time), "nearest": near}
        far, readings = self.far if math.isfinite(self.far) else 0.0, self.number - self.event + 1
        severity = severity_of(far, readings, 1, columns, no_data=self.kind == NO_DATA)
        return sentence(self._asdict() | named), severity


class Over(NamedTuple):
    """The end of an event: its column, its beginning, the reading with which it was known, and since when."""

    channel: int
    event: int
    number: int
    time: float
    no_data: bool = False


class Outcome(NamedTuple):
    """What came of some readings: from which number on, their times and values, what was expected, alarms and ends."""

    first: int
    times: np.ndarray
    values: np.ndarray
    expected: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p: np.ndarray
    alerts: list[Alert]
    over: list[Over]


class Monitor:
    """Watches one sensor, of one column or several: readings in, expectations, alarms and ends of events out.

    Parameters
    ----------
    plan
        What to do.
    first
        The number of the first reading; above 0 where older ones are gone.

    Examples
    --------
    >>> monitor = Monitor(Plan(horizon=6))
    >>> values = np.sin(np.arange(700.0) / 6)
    >>> values[600] += 9.0
    >>> outcome = monitor.push(60.0 * np.arange(700.0), values[:, None])
    >>> [alert.number for alert in outcome.alerts][-1:], monitor.usual
    ([600], 60.0)
    >>> Monitor.from_bytes(monitor.to_bytes(), Plan(horizon=6)).readings
    700
    """

    def __init__(self, plan: Plan, first: int = 0) -> None:
        self.plan, self.first = plan, first
        self.usual: float | None = plan.every if plan.timed else 1.0
        self._stream: EventStream | None = None if self.usual is None else plan.stream(self.usual)
        self._waiting: list[tuple[float, tuple[float, ...]]] = []

    @property
    def readings(self) -> int:
        """The number of the next reading that is pushed on; those that wait for the usual step are not counted."""
        return self.first + (0 if self._stream is None else self._stream.readings)

    @property
    def waiting(self) -> list[tuple[float, tuple[float, ...]]]:
        """Readings that wait until the usual step is known."""
        return list(self._waiting)

    def change_rules(self, rules: Rules) -> None:
        """Tell alarms by other rules from here on; nothing that was learnt is lost."""
        self.plan = replace(self.plan, rules=rules)
        if self._stream is not None:
            self._stream.rules = rules

    def push(self, times: np.ndarray | None, values: np.ndarray) -> Outcome:
        """Take in readings.

        Parameters
        ----------
        times
            Of each, rising; None in a stream without times.
        values
            (readings, channels); NaN where one is missing.
        """
        if self._stream is None:
            assert times is not None
            self._waiting += [(time, tuple(row)) for time, row in zip(times.tolist(), values.tolist(), strict=True)]
            if len(self._waiting) < OPENING:
                return self._outcome(np.empty(0), values[:0], None)
            times, values = self._open()
        first = self.readings
        pushed = self._stream.push_many(np.ascontiguousarray(values), times)  # pyright: ignore[reportOptionalMemberAccess]
        moments = np.arange(first, first + len(values), dtype=float) if times is None else times
        return self._outcome(moments, values, pushed)

    def _open(self) -> tuple[np.ndarray, np.ndarray]:
        """Begin with the usual step of the readings that have waited."""
        times = [time for time, _ in self._waiting]
        # By the first ones, however many have come by now.
        self.usual = usual_step(times[:OPENING])
        self._stream = self.plan.stream(self.usual)
        values = np.array([row for _, row in self._waiting], float)
        self._waiting = []
        return np.array(times), values

    @property
    def due(self) -> float:
        """When it is too long since the last value; infinite where that has been said, or nobody knows yet."""
        return math.inf if self._stream is None else self._stream.due

    def tick(self, now: float) -> Outcome:
        """Nothing has come until `now`, in the time of the stream: alarms that say so, if that is too long."""
        if self._stream is not None:
            self._stream.tick(now)
        return self._outcome(np.empty(0), np.empty((0, self.plan.channels)), None)

    def _outcome(self, times: np.ndarray, values: np.ndarray, pushed: Any) -> Outcome:
        expected = lower = upper = p = values[:0]
        if pushed is not None:
            expected, lower, upper, p = pushed.expected, pushed.lower, pushed.upper, pushed.p
        alerts: list[Alert] = []
        over: list[Over] = []
        if self._stream is not None:
            alerts += [self._alert(found) for found in self._stream.take_found()]
            alerts += [self._absent(missing) for missing in self._stream.take_missing()]
            over += [self._over(ended) for ended in self._stream.take_ended()]
        first = self.readings - len(values)
        return Outcome(first, times, values, expected, lower, upper, p, alerts, over)

    def _alert(self, found: Found) -> Alert:
        alarm = found.alarm
        value, expected, lower, upper = (
            _finite(one) for one in (alarm.value, alarm.expected, alarm.lower, alarm.upper)
        )
        explanation = {
            "what": str(alarm),
            "kind": alarm.kind,
            "direction": alarm.direction,
            "size": alarm.size,
            "readings": alarm.readings,
            "neighbour": None if alarm.neighbour is None else self.first + alarm.neighbour,
            "since": self.first + alarm.since,
            "since_time": alarm.since_time if self.plan.timed else self.first + alarm.since,
            "usual": list(alarm.usual),
            "expected_by": dict(list(alarm.by.items())[:3]),
            # Of each reading before it, newest first, in what was expected.
            "weights": [float(f"{weight:.4g}") for weight in alarm.weights.tolist()],
        }
        near = (
            None if found.nearest is None else (self._when(found.nearest.time), found.nearest.value, found.nearest.by)
        )
        when = self._when(alarm.number if alarm.time is None else alarm.time)
        far = _far(value, expected, lower, upper)
        return Alert(
            alarm.channel, self.first + alarm.number, when, alarm.kind, alarm.direction, alarm.p, value,
            expected, lower, upper, far,
            self.first + alarm.since, explanation["since_time"], self.first + found.event, found.again,
            self.first + alarm.number, near, explanation,
        )  # fmt: skip

    def _absent(self, missing: Missing) -> Alert:
        since, number = self._when(missing.since), self.first + missing.number
        return Alert(
            missing.channel, number, self._when(missing.time), NO_DATA, 0, 0.0, None, None, None, None, math.inf,
            number,
            since, number, "", number, None, {"kind": NO_DATA, "since": number, "since_time": since},
        )  # fmt: skip

    def _over(self, ended: Ended) -> Over:
        return Over(
            ended.channel, self.first + ended.event, self.first + ended.number, self._when(ended.time), ended.no_data
        )

    def _when(self, time: float) -> float:
        return float(time) if self.plan.timed else float(self.first + time)

    # -- bytes --------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """All that it knows: a mark, a version, and a checkpoint without pickle."""
        known: dict[str, Any] = {"first": self.first, "usual": self.usual, "waiting": self._waiting}
        if self._stream is not None:
            known |= {"stream": self._stream.state_dict(), "events": self._stream.event_state()}
        return _MARK + bytes([_VERSION]) + checkpoint.dumps(known)

    @classmethod
    def from_bytes(cls, data: bytes, plan: Plan) -> Monitor:
        """The monitor that was kept, with the same plan, but for its rules."""
        if data[: len(_MARK)] != _MARK or data[len(_MARK) : len(_MARK) + 1] != bytes([_VERSION]):
            raise ValueError("another version of hippozoo made this state")
        known = checkpoint.loads(data[len(_MARK) + 1 :])
        found = cls(plan, int(known["first"]))
        found.usual = None if known["usual"] is None else float(known["usual"])
        found._waiting = [(float(time), tuple(map(float, row))) for time, row in known["waiting"]]
        if "stream" in known:
            stream = plan.stream(found.usual or 1.0)
            stream.load_state_dict(known["stream"])
            stream.load_event_state(known["events"])
            found._stream = stream
        return found


def usual_step(times: Sequence[float]) -> float:
    """The usual step between the first readings.

    Examples
    --------
    >>> usual_step([0.0, 60.0, 120.0, 300.0])
    60.0
    """
    return float(statistics.median(after - before for before, after in pairwise(times)))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _far(value: float | None, expected: float | None, lower: float | None, upper: float | None) -> float:
    """How many half bands a value is from what was expected."""
    if value is None or expected is None or lower is None or upper is None:
        return 0.0
    half = upper - expected if value > expected else expected - lower
    return abs(value - expected) / half if half > 0 else 0.0 if value == expected else 1e6
