"""One sensor, watched: the same arithmetic in `hippozoo watch`, for every key of a panel, and on Flink."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hippozoo import checkpoint
from hippozoo.ensemble import EnsembleForecaster, forecaster_for
from hippozoo.forecasts.settings import usual_histories
from hippozoo.monitor.rules import Rules
from hippozoo.monitor.stream import Alert, EventStream, Over

__all__ = ["Monitor", "Outcome", "Plan"]

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

    def stream(self, every: float, first: int = 0) -> EventStream:
        """A stream that has seen nothing; `first` is the number of its first reading."""
        return EventStream(_forecaster(self.horizon, self.season, every, self.order), self.channels, self.rules, first)


@lru_cache(maxsize=64)
def _forecaster(horizon: int, season: int | None, every: float, order: int) -> EnsembleForecaster:
    """One forecaster for all sensors of a kind: it is pure, and its matrices are as large as a state."""
    histories = usual_histories(horizon * every, every, order)
    return forecaster_for(horizon * every, every, None if season is None else season * every, history=histories)


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
        self._stream: EventStream | None = None if self.usual is None else plan.stream(self.usual, first)
        # Readings that wait until the usual step is known.
        self.waiting: list[tuple[float, tuple[float, ...]]] = []

    @property
    def readings(self) -> int:
        """The number of the next reading that is pushed on; those that wait for the usual step are not counted."""
        return self.first + (0 if self._stream is None else self._stream.readings)

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
            self.waiting += [(time, tuple(row)) for time, row in zip(times.tolist(), values.tolist(), strict=True)]
            if len(self.waiting) < OPENING:
                return self._outcome(np.empty(0), values[:0], None)
            # By the first ones, however many have come by now.
            self.usual = usual_step([time for time, _ in self.waiting[:OPENING]])
            self._stream = self.plan.stream(self.usual, self.first)
            times, values = (np.array(part, float) for part in zip(*self.waiting, strict=True))
            self.waiting = []
        first = self.readings
        pushed = self._stream.push_many(np.ascontiguousarray(values), times)
        moments = np.arange(first, first + len(values), dtype=float) if times is None else times
        return self._outcome(moments, values, pushed)

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
        alerts, over = ([], []) if self._stream is None else self._stream.take()
        first = self.readings - len(values)
        return Outcome(first, times, values, expected, lower, upper, p, alerts, over)

    # -- bytes --------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """All that it knows: a mark, a version, and a checkpoint without pickle."""
        known: dict[str, Any] = {"first": self.first, "usual": self.usual, "waiting": self.waiting}
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
        found.waiting = [(float(time), tuple(map(float, row))) for time, row in known["waiting"]]
        if "stream" in known:
            stream = plan.stream(found.usual or 1.0, found.first)
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
