"""A forecaster with a clock: readings are pushed as they come, and what was not expected is said."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hippozoo import checkpoint
from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.ensemble import reading_checks as checks
from hippozoo.ensemble.alarm import Alarm, alarms_of
from hippozoo.ensemble.detector import Detector, DetectorState
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.forecaster import EnsembleForecaster
from hippozoo.ensemble.judgement import (
    ERROR,
    MOST_AT_ONCE,
    P_VALUE,
    SAID,
    Judged,
    Pushed,
    RecentReadings,
    compare,
    until_renewal,
)
from hippozoo.ensemble.state import EnsembleState

__all__ = ["ForecastStream"]

Value = float | int | Float[np.ndarray, " channels"] | Int[np.ndarray, " channels"] | list | tuple | None

# A reading holds for so many usual steps at most; then readings are missing.
_GAP = 3.5
# A silence of more steps than this changes nothing more.
_LONGEST_SILENCE = 1e6

_ARGUMENTS = ("forecaster", "channels", "rate", "coverage", "late", "detector")


class ForecastStream:
    """Takes readings as they come; says what was expected, whether a reading is strange, and what comes next.

    A reading holds until the next one, and how long that is, is not known when it comes. So the newest one counts for
    one usual step until then: the forecast includes it, and what is learnt is the same as learning the array of all
    readings with their true durations. A missing reading (None, NaN) lets time pass. After a gap of more than three and
    a half usual steps the reading before it counts for one usual step and then there was silence, as `advance` says it:
    a sensor that was off for a week has not measured the same value all the time. What is missing is taken to be what
    was forecast, and bands are as wide as so long a lead makes them.

    Parameters
    ----------
    forecaster
        An `EnsembleForecaster` (`forecaster_for` makes one); its `dt` is the usual step.
    channels
        None for single numbers.
    rate
        Alarms wanted per 1,000 readings of a quiet stream.
    coverage
        Of the bands.
    late
        A reading whose time is not after the last one: ``"refuse"`` it in words, or ``"skip"`` and count it.
    detector
        In place of the usual one; `rate` is then its own.

    Examples
    --------
    >>> from hippozoo.ensemble import ForecastStream, forecaster_for
    >>> stream = ForecastStream(forecaster_for(24 * 60.0, dt=60.0))
    >>> for minute in range(600):
    ...     pushed = stream.push(np.sin(minute / 9), time=60.0 * minute)
    >>> bool(abs(pushed.expected - np.sin(599 / 9)) < 0.05)
    True
    >>> stream.push(7.0, time=60.0 * 600).alarm.kind
    'spike'
    """

    def __init__(
        self,
        forecaster: EnsembleForecaster,
        channels: int | None = None,
        rate: float = 1.0,
        coverage: float = 0.95,
        late: checks.Late = "refuse",
        detector: Detector | None = None,
    ) -> None:
        if not isinstance(forecaster, EnsembleForecaster):
            raise TypeError(f"forecaster={shorten(forecaster)}; pass one made by forecaster_for(horizon).")
        checks.check_options(coverage, late)
        self.forecaster, self._step = forecaster, float(forecaster.dt)  # the usual step
        self.channels = None if channels is None else whole_number("channels", channels)
        self.detector = Detector(rate=rate) if detector is None else detector
        self.rate, self.coverage, self.late = self.detector.rate, coverage, late
        count = self.channels or 1
        self._learnt: EnsembleState = forecaster.initial_state(channels)
        self._provisional: EnsembleState | None = None
        self._watched: DetectorState = self.detector.initial_state(count)
        self._newest = np.full(count, np.nan)
        self._reach = np.zeros((2, count))
        self._recent = RecentReadings(count)
        self._time: float | None = None
        self._timed: bool | None = None
        self._pending = False  # whether the newest reading is still to be learnt
        self.readings = 0
        self.skipped = 0

    @property
    def time(self) -> float | None:
        """Of the newest reading, or what the stream has advanced to; None before the first."""
        return self._time

    @property
    def state(self) -> EnsembleState:
        """What was learnt, with the newest reading for one usual step."""
        if not self._pending:
            return self._learnt
        if self._provisional is None:
            self._provisional = self._learn(self._learnt, self._newest, None)
        return self._provisional

    @property
    def forecast(self) -> EnsembleForecast:
        """What is expected of the horizon after the newest reading's usual step."""
        return self.forecaster.forecast(self.state)

    def tell(
        self,
        known: Float[np.ndarray, "rows known"] | None = None,
        past: Float[np.ndarray, "others past"] | None = None,
    ) -> None:
        """More rows of the inputs, before the readings that need them; see `EnsembleForecaster.learn`.

        Before the first reading, `known` is told for one horizon; then with each reading one row of either kind.
        """
        self._learnt, self._provisional = self.forecaster.tell(self._learnt, known, past), None

    def push(self, value: Value, time: float | None = None) -> Pushed | None:
        """Take in one reading; None if it came too late and such are skipped.

        Parameters
        ----------
        value
            A number, or one per channel; None or NaN where it is missing.
        time
            When it was taken, in the unit of `dt`; leave it out in a stream of equal steps.
        """
        row, moment = checks.checked_value(value, self.channels, self._held), self._checked_time(time)
        elapsed = self._elapsed(moment)
        if elapsed is not None and self._is_late(elapsed):
            if self.late == "skip":
                self.skipped += 1
                return None
            raise checks.too_late(f"time={time}", self._time)
        judged = self._judge(row, elapsed, self._watched)
        alarms = self._take_in(row, None if moment is None else np.array([moment]), judged)
        return self._pushed_one(judged, alarms)

    def push_many(
        self,
        values: Float[np.ndarray, "time *channels"] | Int[np.ndarray, "time *channels"],
        times: Float[np.ndarray, " time"] | Int[np.ndarray, " time"] | None = None,
    ) -> Pushed:
        """Take in readings that are there already, the same bit for bit as one by one, and several times as fast.

        Everything is checked before the first is taken in. Readings that come too late are refused, or skipped and
        counted; what is said of these is NaN.

        Parameters
        ----------
        values, times
            (time,) or (time, channels), NaN where one is missing; and when each was taken, as of `push`.

        Examples
        --------
        >>> from hippozoo.ensemble import ForecastStream, forecaster_for
        >>> stream = ForecastStream(forecaster_for(6.0))
        >>> pushed = stream.push_many(np.sin(np.arange(500) / 5))
        >>> pushed.expected.shape, stream.readings, bool(abs(pushed.expected[-1] - np.sin(499 / 5)) < 0.05)
        ((500,), 500, True)
        """
        given = checks.checked_values(values, self.channels, self._held)
        checks.check_alike(self._timed, times is not None)
        moments = None if times is None else checks.checked_times(times, len(given))
        begin = -math.inf if self._time is None else self._time
        if not self._pending:  # nothing came before that time; at that time something may
            begin = math.nextafter(begin, -math.inf)
        kept = checks.in_time(moments, len(given), begin, refuse=self.late == "refuse")
        said = np.full((SAID, len(given), len(self._newest)), np.nan)
        alarms: list[Alarm] = []
        places = np.flatnonzero(kept)
        rows, clock, at = np.ascontiguousarray(given[places]), None if moments is None else moments[places], 0
        while at < len(rows):
            elapsed = self._elapsed(None if clock is None else float(clock[at]))
            length = self._length_of_block(rows, clock, at)
            judged = self._judge(rows[at : at + length], elapsed, self._watched.copy())
            # An alarm is explained by what was known just before it, so its reading is taken by itself.
            while length > 1 and judged.surprise.alarm.any():
                length = max(1, int(judged.surprise.alarm.any(axis=1).argmax()))
                judged = self._judge(rows[at : at + length], elapsed, self._watched.copy())
            block = slice(at, at + length)
            alarms += self._take_in(rows[block], None if clock is None else clock[block], judged)
            said[:, places[block]] = judged.said
            at += length
        self.skipped += int((~kept).sum())
        return self._pushed(said[:, :, 0] if self.channels is None else said, tuple(alarms))

    def judge(self, value: Value, time: float | None = None) -> Pushed:
        """What a reading would mean if it came now; nothing is taken in, and no alarm is given.

        Examples
        --------
        >>> from hippozoo.ensemble import ForecastStream, forecaster_for
        >>> stream = ForecastStream(forecaster_for(6.0))
        >>> _ = stream.push_many(np.sin(np.arange(500) / 5))
        >>> bool(stream.judge(9.0).p < 0.001 < stream.judge(np.sin(100)).p), stream.readings
        (True, 500)
        """
        row = checks.checked_value(value, self.channels, self._held)
        elapsed = self._elapsed(self._checked_time(time))
        if elapsed is not None and self._is_late(elapsed):
            raise ValueError(f"time={time} is not after {self._time}, the time of the newest reading.")
        return self._pushed_one(self._judge(row, elapsed, self._watched.copy()), ())

    def advance(self, time: float) -> None:
        """Nothing came until `time`: the newest reading held for its usual step, and then there was silence."""
        elapsed = self._elapsed(self._checked_time(time))
        if elapsed is None:
            raise ValueError("the stream has not begun; push a reading first.")
        if elapsed < 0:
            raise ValueError(f"time={time} is before {self._time}; time only runs forwards.")
        if elapsed == 0:
            return
        step, learnt, left = self._step, self._learnt, elapsed
        if self._pending:
            learnt = self._learn(learnt, self._newest, min(elapsed, step))
            left -= min(elapsed, step)
        if left > step * checks.SAME:
            learnt = self._after_silence(learnt, left)
        self._watched = self._watched.copy()
        self.detector.skip(self._watched, self._missed(elapsed))
        self._learnt, self._provisional, self._pending = learnt, None, False
        self._time = float(time)

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in _ARGUMENTS}

    def state_dict(self) -> dict[str, Any]:
        """All that the stream has come to know, its clock included."""
        return {
            "learnt": self._learnt,
            "watched": self._watched.copy(),
            "newest": self._newest,
            "reach": self._reach,
            "recent": self._recent.ring.copy(),
            "time": self._time,
            "timed": self._timed,
            "pending": self._pending,
            "readings": self.readings,
            "skipped": self.skipped,
        }

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another stream of the same configuration stood; what does not fit is refused."""
        checks.check_saved(known, self.state_dict())
        self._learnt, self._watched, self._provisional = known["learnt"], known["watched"].copy(), None
        self._newest, self._reach = np.array(known["newest"], float), np.array(known["reach"], float)
        self._recent.ring = np.array(known["recent"], float)
        self._time = None if known["time"] is None else float(known["time"])
        self._timed = None if known["timed"] is None else bool(known["timed"])
        self._pending = bool(known["pending"])
        self.readings, self.skipped = int(known["readings"]), int(known["skipped"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole stream to one file; see `hippozoo.checkpoint`."""
        checkpoint.save(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ForecastStream:
        """The stream that `save` wrote; it goes on where it stood."""
        return checkpoint.load(path, expected=cls)

    def _checked_time(self, time: Any) -> float | None:
        checks.check_alike(self._timed, time is not None)
        return None if time is None else checks.checked_time(time)

    def _elapsed(self, time: float | None) -> float | None:
        """Time since the newest reading; None for the first."""
        if time is None:
            return None if not self.readings else self._step
        return None if self._time is None else time - self._time

    def _is_late(self, elapsed: float) -> bool:
        return elapsed < 0 or (elapsed == 0 and self._pending)

    def _is_usual(self, elapsed: float) -> bool:
        return abs(elapsed - self._step) <= checks.SAME * self._step

    def _missed(self, elapsed: float) -> int:
        """How many readings should have come in a time that has passed."""
        steps = round(min(elapsed / self._step, _LONGEST_SILENCE))
        return max(steps - 1, 0) if self._pending else steps

    def _after(self, elapsed: float | None) -> EnsembleState:
        """What is learnt once the newest reading has held for so long."""
        if elapsed is None or not self._pending:
            if elapsed is None or elapsed == 0 or not self.readings:
                return self._learnt
            return self._after_silence(self._learnt, elapsed)
        if self._is_usual(elapsed):
            return self.state
        if elapsed > _GAP * self._step:
            return self._after_silence(self.state, elapsed - self._step)
        return self._learn(self._learnt, self._newest, elapsed)

    def _after_silence(self, state: EnsembleState, passed: float) -> EnsembleState:
        """What is known after so long without a reading."""
        longest = self._step * max(_LONGEST_SILENCE, 2 * self.forecaster.mixer.silence)
        if passed > longest:
            passed = longest + (math.fmod(passed, self._step) if math.isfinite(passed) else 0.0)
        return self._learn(state, np.full_like(self._newest, np.nan), passed)

    def _learn(self, state: EnsembleState, value: np.ndarray, dt: float | None) -> EnsembleState:
        step = None if dt is None or self._is_usual(dt) else dt
        given: Any = value if self.channels is not None else (None if math.isnan(value[0]) else float(value[0]))
        return self.forecaster.learn_one(state, given, step)

    def _held(self) -> np.ndarray:
        """The last reading of each channel that was seen."""
        held = self._learnt.held
        return np.where(np.isnan(self._newest), held, self._newest) if self._pending else held

    def _judge(self, rows: np.ndarray, elapsed: float | None, watched: DetectorState) -> Judged:
        """What one reading means after so long, or several that each come a usual step later.

        Nothing is taken in yet, but `watched`, what the detector knows, is written over.
        """
        reach = self._reach
        if len(rows) > 1:
            learnt, expected = self.forecaster.advance(self._learnt, np.concatenate([self._newest[None], rows[:-1]]))
        else:
            learnt = self._after(elapsed)
            if not until_renewal(self.readings):
                forecast = self.forecaster.forecast(learnt)
                expected = np.stack(forecast.next_reading())[None]
                reach = forecast.next_reach((1 - self.coverage) / 2)
            else:
                expected = self.forecaster.expect(learnt)[None]
        said = np.empty((SAID, *rows.shape))
        compare(rows, expected, reach, said)
        if elapsed is not None and not (self._pending and self._is_usual(elapsed)):
            self.detector.skip(watched, self._missed(elapsed))
        surprise = self.detector.watch_rows(watched, rows, said[ERROR])
        said[P_VALUE] = surprise.p
        return Judged(learnt, reach, said, watched, surprise)

    def _take_in(self, rows: np.ndarray, clock: np.ndarray | None, judged: Judged) -> tuple[Alarm, ...]:
        """Let readings have come that were judged; the alarms that the last of them gives."""
        self._learnt, self._provisional, self._newest, self._pending = judged.learnt, None, rows[-1], True
        self._reach, self._watched = judged.reach, judged.watched
        self._timed = clock is not None
        if clock is not None:
            self._time = float(clock[-1])
        self._recent.add(self.readings, rows, clock, judged.said)
        self.readings += len(rows)
        if not np.count_nonzero(judged.surprise.alarm):
            return ()
        return alarms_of(
            self.forecaster.mixer, judged.learnt.mixture, self.detector, judged.watched, judged.surprise,
            self._recent.last(self.readings), self.readings - 1, None if clock is None else float(clock[-1]),
        )  # fmt: skip

    def _pushed_one(self, judged: Judged, alarms: tuple[Alarm, ...]) -> Pushed:
        """What is said of one reading; single numbers where the stream is one of these."""
        return self._pushed(judged.said[:, 0, 0].tolist() if self.channels is None else judged.said[:, 0], alarms)

    def _pushed(self, said: Any, alarms: tuple[Alarm, ...]) -> Pushed:
        number = self.readings

        def forecast() -> EnsembleForecast:
            if number != self.readings:
                raise RuntimeError("the stream has moved on; ask for pushed.forecast before the next push.")
            return self.forecast

        expected, lower, upper, error, p = said
        return Pushed(expected, lower, upper, error, p, alarms, forecast)

    def _length_of_block(self, rows: np.ndarray, clock: np.ndarray | None, at: int) -> int:
        """How many of the rows from `at` on can be judged in one go; 1 where a reading must be taken by itself."""
        if not self._pending or not until_renewal(self.readings) or self._learnt.mixture.offset:
            return 1
        end = min(at + MOST_AT_ONCE, at + until_renewal(self.readings), len(rows))
        # What is learnt are the newest reading and all rows but the last one.
        cells = np.concatenate([self._newest[None], rows[at : end - 1]])
        newest = math.nan if self._time is None else self._time
        steps = None if clock is None else np.diff(clock[at:end], prepend=newest)
        return checks.whole_cells(cells, steps, self._step)
