"""A stream whose alarms are events: each has a beginning and an end, and silence after one listens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hippozoo.ensemble import EnsembleForecaster, ForecastStream
from hippozoo.ensemble.alarm import Alarm
from hippozoo.ensemble.detector import KINDS
from hippozoo.ensemble.judgement import ERROR, Judged
from hippozoo.monitor._kernels import BACK, ENDED, EVENT, LONGER, MISSING, USUAL_GAPS, follow
from hippozoo.monitor.rules import NEVER, Rules
from hippozoo.monitor.words import sentence, severity_of

__all__ = ["NO_DATA", "Alert", "EventStream", "Over"]

NO_DATA = "no data"
# A reading is strange if it is so many times as frequent as an alarm, or rarer; after so many that are not, an event
# has ended. An alarm within a silence is so many times rarer than those before it.
_STRANGE, _BACK, _RARER = 1.0, 12, 10.0
# After so many usual readings an event is on only in windows that still hold it, and one of another kind is news.
_RETURNED = 6
# What comes so soon after an alarm is its echo, in forecasts and in windows that hold it: then so many times rarer.
_ECHO, _RARER_THAN_ECHO = 6, 1000.0
# Nearer to its usual mean than so many deviations a value has come back; elsewhere an event ends after so many.
_NEAR, _NEW_LEVEL = 3.0, 120
# A reading further than so many expected errors from what was expected is off: normal readings begin after the last.
_OFF = 4.0
# So many readings after a gap an alarm has to be so many times rarer, since little is known.
_AFTER_GAP, _RARER_AFTER_GAP = 30, 100.0
# Fewer readings do not show how long may pass without one.
_WARMUP = 100
# A reading that is far off may be named a spike, a shape or a spread: within a silence these are one kind, and so
# are a level and a cycle; a stream that hardly changes any more is of a kind of its own.
_FAMILIES, _CALM = np.array([0, 0, 1, 0, 1, 2, 0]), 3  # of the last, -1, nothing is known
# Of more expected errors the direction is clear.
_CLEARLY = 2.0
# A step of more usual ones is a gap.
_GAP = 3.5
# Within so many deviations of its usual mean, forgotten over so many readings, a value has come back, and that is no
# alarm while an event is on.
_USUAL, _FORGETTING = 2.0, 4000.0


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


class EventStream(ForecastStream):
    """A `ForecastStream` that tells an alarm by `Rules`, whatever its detector would do: it gives p-values.

    Parameters
    ----------
    forecaster, channels
        As of `ForecastStream`.
    rules
        When an alarm is told; they may be replaced at any time.
    first
        The number of the first reading; above 0 where older ones are gone.

    Examples
    --------
    >>> from hippozoo.ensemble import forecaster_for
    >>> values = np.sin(np.arange(900) / 5) + 0.1 * np.random.default_rng(0).normal(size=900)
    >>> values[600] += 5.0
    >>> stream = EventStream(forecaster_for(6.0), None, Rules())
    >>> _ = stream.push_many(values)
    >>> [alert.number for alert in stream.take()[0] if alert.number > 300]
    [600]
    """

    def __init__(self, forecaster: EnsembleForecaster, channels: int | None, rules: Rules, first: int = 0) -> None:
        super().__init__(forecaster, channels, rate=min(rules.rate, 999.0))
        self.rules, self.first = rules, first
        self.events = np.zeros(len(self._newest), EVENT)
        for name in ("told", "told_time", "strange", "after_gap"):
            self.events[name] = -np.inf
        for name in ("rarest", "low"):
            self.events[name] = np.inf
        self.events["high"], self.events["seen"], self.events["normal"] = -np.inf, np.nan, np.nan
        # Of the last kind, -1, nothing is known.
        self._lengths = np.array([self.detector.length(k) for k in range(len(KINDS))] + [1])
        self._alerts: list[Alert] = []
        self._absent: list[Alert] = []
        self._over: list[Over] = []

    # -- what has been found ------------------------------------------------------------------------------------------

    def take(self) -> tuple[list[Alert], list[Over]]:
        """The alarms, those of missing data last, and the ends of events since this was last asked."""
        found = [*self._alerts, *self._absent], self._over
        self._alerts, self._absent, self._over = [], [], []
        return found

    def tick(self, now: float) -> None:
        """Nothing has come until `now`, in the time of the stream: see whether that is too long."""
        if self.rules.no_data == NEVER or self.readings < _WARMUP:
            return
        for c in np.flatnonzero((self.events["absent"] == 0) & np.isfinite(self.events["seen"])).tolist():
            own, limit = self.events[c], self._limit(c)
            if now - own["seen"] > limit:
                if not own["open"]:
                    begin = (1, self.readings, own["seen"], 0)
                    own["open"], own["begun"], own["begun_time"], own["count"] = begin
                own["absent"] = 1
                self._note_absent(c, self.readings, own["seen"], own["seen"] + limit)

    @property
    def due(self) -> float:
        """When it is too long since the last value, in the time of the stream; infinite where that has been said."""
        if self.rules.no_data == NEVER or self.readings < _WARMUP:
            return NEVER
        waiting = np.flatnonzero((self.events["absent"] == 0) & np.isfinite(self.events["seen"]))
        return min((float(self.events["seen"][c] + self._limit(c)) for c in waiting.tolist()), default=NEVER)

    # -- deciding -----------------------------------------------------------------------------------------------------

    def _judge(self, rows: np.ndarray, elapsed: float | None, watched: Any) -> Judged:
        judged = super()._judge(rows, elapsed, watched)
        p, kind = judged.surprise.p, judged.surprise.kind
        told = p <= self.rules.threshold
        # What is known of events is of the first row: one of several that may be an alarm is judged again by itself.
        if len(rows) == 1 and told.any():
            told &= self._is_told(rows, p, kind, judged.surprise.direction, judged.said[ERROR], elapsed)
        return judged._replace(surprise=judged.surprise._replace(alarm=told))

    def _is_told(
        self,
        rows: np.ndarray,
        p: np.ndarray,
        kind: np.ndarray,
        direction: np.ndarray,
        error: np.ndarray,
        elapsed: float | None,
    ) -> np.ndarray:
        """Whether alarms are told: not in a silence, unless rarer, of another kind or direction; rarer after a gap."""
        events = self.events
        numbers = self.readings + np.arange(len(p))[:, None]
        ago = numbers - events["told"]
        silent, rarer = self._is_silent(numbers, elapsed), p <= events["rarest"] / _RARER
        # A window that holds the reading of the last alarm tells of that one once more.
        other_kind = ((events["kinds"].astype(int) >> _family(kind, direction)) & 1 == 0) & (ago > self._lengths[kind])
        way = _way(error)
        other_way = (way < 2) & ((events["ways"].astype(int) >> way) & 1 == 0) & (ago > self._lengths[kind])
        # While an event is on, another side of it is no news, and neither is the way back.
        back = np.abs(rows - events["mean"]) <= _USUAL * np.sqrt(events["variance"])
        relapse = other_kind & (events["returned"] > 0)
        known = (events["open"] > 0) & (back | ~(rarer | other_way | relapse))
        free = ~silent | ((rarer | other_kind | other_way) & ~known)
        free &= (ago > _ECHO) | (p <= events["rarest"] / _RARER_THAN_ECHO)
        gap = elapsed is not None and elapsed > _GAP * float(self.forecaster.dt)
        after_gap = (numbers - events["after_gap"] < _AFTER_GAP) | gap
        return free & ~(after_gap & (p > self.rules.threshold / _RARER_AFTER_GAP))

    def _is_silent(self, numbers: np.ndarray, elapsed: float | None) -> np.ndarray:
        silence, events = self.rules.silence, self.events
        if silence.seconds is None:
            return numbers - events["told"] <= silence.readings
        step = float(self.forecaster.dt)
        begin = (self._time or 0.0) + (step if elapsed is None else elapsed)
        times = begin + step * (numbers - numbers[0]) if self._timed is not False else step * numbers
        return times - events["told_time"] <= silence.seconds

    # -- taking in ----------------------------------------------------------------------------------------------------

    def _take_in(self, rows: np.ndarray, clock: np.ndarray | None, judged: Judged) -> tuple[Alarm, ...]:
        first, before = self.readings, self._time
        alarms = super()._take_in(rows, clock, judged)
        times = first + np.arange(len(rows), dtype=float) if clock is None else clock
        if clock is not None and before is not None and clock[0] - before > _GAP * float(self.forecaster.dt):
            self.events["after_gap"] = first
        p, error = judged.surprise.p, judged.said[ERROR]
        for alarm in alarms:
            self._tell(alarm, float(times[-1]), error[-1, alarm.channel])
        self._follow(rows, error, p, times, first)
        return alarms

    def _follow(self, rows: np.ndarray, error: np.ndarray, p: np.ndarray, times: np.ndarray, first: int) -> None:
        """Go on with what is known of events, and note what has ended or is missing."""
        usual = self._usual
        marks = np.empty(rows.shape, np.int64)
        when = np.empty((*rows.shape, 5))
        limits = (_GAP * usual, self.rules.no_data * usual, float(_WARMUP))
        strange = _STRANGE * self.rules.threshold
        bounds = (strange, _OFF, float(_BACK), _NEAR, float(_NEW_LEVEL), float(_RETURNED))
        events = self.events.view(float).reshape(len(self.events), -1)
        follow(events, rows, error, p, times, first, limits, bounds, _FORGETTING, marks, when)
        if not marks.any():
            return
        for t, c in np.argwhere(marks).tolist():
            normal, since, late, data_ended, begun = when[t, c].tolist()
            if marks[t, c] & MISSING:
                self._note_absent(c, first + t, since, late)
            number = self.first + first + t
            if marks[t, c] & BACK:
                ended = self._when(times[t])
                self._over.append(Over(c, self.first + int(data_ended), number, ended, no_data=True))
            if marks[t, c] & ENDED:
                self._over.append(Over(c, self.first + int(begun), number, self._when(normal)))

    @property
    def _usual(self) -> float:
        return float(self.forecaster.dt) if self._timed else 1.0

    def _tell(self, alarm: Alarm, time: float, error: float) -> None:
        own = self.events[alarm.channel]
        kind = int(_family(np.array(KINDS.index(alarm.kind)), np.array(alarm.direction)))
        silence = self.rules.silence
        silent = alarm.number - own["told"] <= silence.readings
        if silence.seconds is not None:
            silent = time - own["told_time"] <= silence.seconds
        why = ""
        if silent:
            way = int(_way(np.array(error)))
            rarer, other = alarm.p <= own["rarest"] / _RARER, not int(own["kinds"]) >> kind & 1
            why = "rarer" if rarer else "another kind" if other else "other direction" if way < 2 else ""
        elif own["open"]:
            why = "still"
        if not silent:
            own["rarest"], own["kinds"], own["ways"] = np.inf, 0, 0
        if not own["open"]:
            own["open"], own["begun"], own["begun_time"], own["count"] = 1, alarm.number, time, 0
        own["told"], own["told_time"] = alarm.number, time
        own["usual_run"] = own["returned"] = 0
        own["rarest"] = min(own["rarest"], alarm.p)
        own["kinds"] = int(own["kinds"]) | 1 << kind
        own["ways"] = int(own["ways"]) | 1 << int(_way(np.array(error)))
        self._alerts.append(self._alert(alarm, why, self.first + int(own["begun"]), self._nearest(alarm, float(error))))

    def _alert(self, alarm: Alarm, again: str, event: int, nearest: tuple[float, float, str] | None) -> Alert:
        value, expected, lower, upper = (
            _finite(one) for one in (alarm.value, alarm.expected, alarm.lower, alarm.upper)
        )
        number, since = self.first + alarm.number, self.first + alarm.since
        explanation = {
            "what": str(alarm),
            "kind": alarm.kind,
            "direction": alarm.direction,
            "size": alarm.size,
            "readings": alarm.readings,
            "neighbour": None if alarm.neighbour is None else self.first + alarm.neighbour,
            "since": since,
            "since_time": alarm.since_time if self._timed else since,
            "usual": list(alarm.usual),
            "expected_by": dict(list(alarm.by.items())[:3]),
            # Of each reading before it, newest first, in what was expected.
            "weights": [float(f"{weight:.4g}") for weight in alarm.weights.tolist()],
        }
        when = self._when(alarm.number if alarm.time is None else alarm.time)
        return Alert(
            alarm.channel, number, when, alarm.kind, alarm.direction, alarm.p, value, expected, lower, upper,
            _far(value, expected, lower, upper), since, explanation["since_time"], event, again, number, nearest,
            explanation,
        )  # fmt: skip

    def _nearest(self, alarm: Alarm, error: float) -> tuple[float, float, str] | None:
        """What came nearest to it before, on its side, if nothing came as far: by its value, or else by its error."""
        own = self.events[alarm.channel]
        if alarm.value < own["low"] < np.inf:
            return self._when(own["low_time"]), float(own["low"]), "value"
        if alarm.value > own["high"] > -np.inf:
            return self._when(own["high_time"]), float(own["high"]), "value"
        if abs(error) > own["error"] > 0:
            return self._when(own["error_time"]), float(own["error_value"]), "error"
        return None

    def _when(self, time: float | int) -> float:
        return float(time) if self._timed else float(self.first + time)

    # -- no data ------------------------------------------------------------------------------------------------------

    def _limit(self, channel: int) -> float:
        """How long may pass without a value."""
        often = float(np.sort(self.events["gaps"][channel])[-USUAL_GAPS])
        return max(self.rules.no_data * self._usual, LONGER * often)

    def _note_absent(self, channel: int, number: int, since: float, noticed: float) -> None:
        number, since = self.first + number, self._when(since)
        known = {"kind": NO_DATA, "since": number, "since_time": since}
        self._absent.append(
            Alert(
                channel, number, self._when(noticed), NO_DATA, 0, 0.0, None, None, None, None, math.inf, number, since,
                number, "", number, None, known,
            )
        )  # fmt: skip

    # -- saving -------------------------------------------------------------------------------------------------------

    def event_state(self) -> np.ndarray:
        """What is known of events, as one array of numbers for each channel."""
        return self.events.view(float).reshape(len(self.events), -1).copy()

    def load_event_state(self, known: np.ndarray) -> None:
        """Go on with what another one knew."""
        if known.shape != (len(self.events), EVENT.itemsize // 8):
            raise ValueError(f"events have shape {known.shape}, expected {(len(self.events), EVENT.itemsize // 8)}.")
        self.events = np.ascontiguousarray(known, float).view(EVENT)[:, 0].copy()


def _family(kind: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Which kinds are one within a silence."""
    return np.where((kind == KINDS.index("spread")) & (direction < 0), _CALM, _FAMILIES[kind])


def _way(error: np.ndarray) -> np.ndarray:
    """0 for clearly less than was expected, 1 for more; 2 for neither."""
    return np.where(error > _CLEARLY, 1, np.where(error < -_CLEARLY, 0, 2))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _far(value: float | None, expected: float | None, lower: float | None, upper: float | None) -> float:
    """How many half bands a value is from what was expected."""
    if value is None or expected is None or lower is None or upper is None:
        return 0.0
    half = upper - expected if value > expected else expected - lower
    return abs(value - expected) / half if half > 0 else 0.0 if value == expected else 1e6
