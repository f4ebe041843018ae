"""A forecaster with a clock: readings are pushed as they come, and what was not expected is said."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from hippozoo import checkpoint
from hippozoo._arguments import real_array, shorten, whole_number
from hippozoo.zoo.forecasting import mixing
from hippozoo.zoo.forecasting.alarm import RECENT, Alarm
from hippozoo.zoo.forecasting.alarms import Detector, DetectorState, Surprise
from hippozoo.zoo.forecasting.forecast import Forecast
from hippozoo.zoo.forecasting.forecaster import Forecaster
from hippozoo.zoo.forecasting.history_weights import history_weights
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["ForecastStream", "Pushed"]

Late = Literal["refuse", "skip"]
Value = float | int | Float[np.ndarray, " channels"] | Int[np.ndarray, " channels"] | list | tuple | None

# The widths of bands are looked up anew after so many readings, and after more of them once many are known: counted
# from the first, so that it does not depend on how readings come or on restarts.
_RENEWED, _RENEWED_LATER, _LATER = 64, 512, 1024
# Two steps that differ by no more than this share of the usual one are the same.
_SAME = 1e-9
# A reading holds for so many usual steps at most; then readings are missing.
_GAP = 3.5
# A silence of more steps than this changes nothing more.
_LONGEST_SILENCE = 1e6


class Pushed:
    """What a reading meant; each is one number, or one per channel. Of several readings, time comes first.

    Attributes
    ----------
    expected, lower, upper
        What was expected before the reading came, and the band that holds it with the stream's coverage; infinite
        while nothing is known.
    error
        How far off that was, in units of the error expected; NaN where there is none.
    p
        How often, per reading, a quiet stream would begin to look at least so strange.
    alarms
        One for each channel that gave one; empty for most readings.
    """

    def __init__(
        self,
        expected: Any,
        lower: Any,
        upper: Any,
        error: Any,
        p: Any,
        alarms: tuple[Alarm, ...],
        forecast: Callable[[], Forecast],
    ) -> None:
        self.expected, self.lower, self.upper, self.error, self.p, self.alarms = (
            expected,
            lower,
            upper,
            error,
            p,
            alarms,
        )
        self._forecast = forecast

    @property
    def parts(self) -> tuple[Any, ...]:
        """Expected, lower, upper, error and p."""
        return self.expected, self.lower, self.upper, self.error, self.p

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm, or None."""
        return self.alarms[0] if self.alarms else None

    @cached_property
    def forecast(self) -> Forecast:
        """The horizon that begins after this reading, computed when it is asked for."""
        return self._forecast()

    def __repr__(self) -> str:
        return (
            f"Pushed(expected={self.expected}, lower={self.lower}, upper={self.upper}, p={self.p}, alarm={self.alarm})"
        )


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
        A `Forecaster` that mixes (`forecaster_for` makes one); its `dt` is the usual step.
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
    >>> from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
    >>> stream = ForecastStream(forecaster_for(24 * 60.0, dt=60.0))
    >>> for minute in range(600):
    ...     pushed = stream.push(np.sin(minute / 9), time=60.0 * minute)
    >>> bool(abs(pushed.expected - np.sin(599 / 9)) < 0.05)
    True
    >>> stream.push(7.0, time=60.0 * 600).alarm.kind
    'error of one reading'
    """

    def __init__(
        self,
        forecaster: Forecaster,
        channels: int | None = None,
        rate: float = 1.0,
        coverage: float = 0.95,
        late: Late = "refuse",
        detector: Detector | None = None,
    ) -> None:
        if not isinstance(forecaster, Forecaster):
            raise TypeError(f"forecaster={shorten(forecaster)}; pass one made by forecaster_for(horizon).")
        if not isinstance(coverage, float) or not 0 < coverage < 1:
            raise ValueError(f"coverage={shorten(coverage)}; pass a number between 0 and 1, for example 0.95.")
        if late not in get_args(Late):
            raise ValueError(f"late={shorten(late)}; pass one of {get_args(Late)}.")
        self.forecaster = forecaster
        self.channels = None if channels is None else whole_number("channels", channels)
        self.detector = Detector(rate=rate) if detector is None else detector
        self.rate, self.coverage, self.late = self.detector.rate, coverage, late
        count = self.channels or 1
        self._learnt: ForecasterState = forecaster.initial_state(channels)
        if self._learnt.mixture is None:
            raise ValueError("the forecaster does not mix; make one by forecaster_for(horizon), or with mixture=True.")
        self._provisional: ForecasterState | None = None
        self._watched: DetectorState = self.detector.initial_state(count)
        self._shared = False  # whether somebody else may hold what the detector knows
        self._newest = np.full(count, np.nan)
        self._reach = np.zeros((2, count))
        self._recent = np.full((RECENT, 6, count), np.nan)
        self._time: float | None = None
        self._timed: bool | None = None
        self._pending = False  # whether the newest reading is still to be learnt
        self.readings = 0
        self.skipped = 0

    # -- what it knows ------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float | None:
        """Of the newest reading, or what the stream has advanced to; None before the first."""
        return self._time

    @property
    def state(self) -> ForecasterState:
        """What was learnt, with the newest reading for one usual step; `explain` opens it up."""
        if not self._pending:
            return self._learnt
        if self._provisional is None:
            self._provisional = self._learn(self._learnt, self._newest, None)
        return self._provisional

    @property
    def forecast(self) -> Forecast:
        """What is expected of the horizon after the newest reading's usual step."""
        return self.forecaster.forecast(self.state)

    # -- what happens -------------------------------------------------------------------------------------------------

    def push(self, value: Value, time: float | None = None) -> Pushed | None:
        """Take in one reading; None if it came too late and such are skipped.

        Parameters
        ----------
        value
            A number, or one per channel; None or NaN where it is missing.
        time
            When it was taken, in the unit of `dt`; leave it out in a stream of equal steps.
        """
        given = self._checked_value(value)
        elapsed = self._elapsed(time)
        if elapsed is not None and self._is_late(elapsed):
            if self.late == "skip":
                self.skipped += 1
                return None
            raise ValueError(
                f"time={time} is not after {self._time}, the time of the reading before; time only runs forwards: "
                f"sort the readings, or build the stream with late='skip'."
            )
        moment = None if time is None else float(time)
        return self._push_next(given, elapsed, moment) or self._push(given, elapsed, moment)

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
        values
            (time,) or (time, channels); NaN where one is missing.
        times
            Of each, in the unit of `dt`; leave them out in a stream of equal steps.

        Examples
        --------
        >>> from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
        >>> stream = ForecastStream(forecaster_for(6.0))
        >>> pushed = stream.push_many(np.sin(np.arange(500) / 5))
        >>> pushed.expected.shape, stream.readings, bool(abs(pushed.expected[-1] - np.sin(499 / 5)) < 0.05)
        ((500,), 500, True)
        """
        given = self._checked_values(values)
        moments = self._checked_times(times, len(given))
        kept = self._in_time(moments, len(given))
        count = len(self._newest)
        told = np.full((5, len(given), count), np.nan)  # expected, lower, upper, error, p
        alarms: list[Alarm] = []
        places = np.flatnonzero(kept)
        rows = np.ascontiguousarray(given[places])
        clock = None if moments is None else moments[places]
        at = 0
        while at < len(rows):
            length = self._length_of_block(rows, clock, at)
            block = slice(at, at + length)
            found = self._push_block(rows[block], None if clock is None else clock[block]) if length > 1 else None
            if found is None:
                time = None if clock is None else float(clock[at])
                one = self._push(rows[at], self._elapsed(time), time)
                found = np.stack([np.atleast_1d(part) for part in one.parts])[:, None]
                alarms += one.alarms
            told[:, places[at : at + found.shape[1]]] = found
            at += found.shape[1]
        self.skipped += int((~kept).sum())
        expected, lower, upper, error, p = told[:, :, 0] if self.channels is None else told
        number = self.readings
        return Pushed(expected, lower, upper, error, p, tuple(alarms), lambda: self._forecast_at(number))

    def judge(self, value: Value, time: float | None = None) -> Pushed:
        """What a reading would mean if it came now; nothing is taken in, and no alarm is given.

        Parameters
        ----------
        value, time
            As of `push`; a time that has passed is refused.

        Examples
        --------
        >>> from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
        >>> stream = ForecastStream(forecaster_for(6.0))
        >>> _ = stream.push_many(np.sin(np.arange(500) / 5))
        >>> bool(stream.judge(9.0).p < 0.001 < stream.judge(np.sin(100)).p), stream.readings
        (True, 500)
        """
        given = self._checked_value(value)
        elapsed = self._elapsed(time)
        if elapsed is not None and self._is_late(elapsed):
            raise ValueError(f"time={time} is not after {self._time}, the time of the newest reading.")
        _, _, told, _, surprise = self._judged(given, elapsed)
        number = self.readings
        parts: Any = self._told(*told, surprise.p[0])
        return Pushed(*parts, alarms=(), forecast=lambda: self._forecast_at(number))

    def advance(self, time: float) -> None:
        """Nothing came until `time`: the newest reading held for its usual step, and then there was silence."""
        elapsed = self._elapsed(time)
        if elapsed is None:
            raise ValueError("the stream has not begun; push a reading first.")
        if elapsed < 0:
            raise ValueError(f"time={time} is before {self._time}; time only runs forwards.")
        if elapsed == 0:
            return
        step = self.forecaster.dt
        learnt, left = self._learnt, elapsed
        if self._pending:
            learnt = self._learn(learnt, self._newest, min(elapsed, step))
            left -= min(elapsed, step)
        if left > step * _SAME:
            learnt = self._after_silence(learnt, left)
        self._learnt, self._provisional, self._pending = learnt, None, False
        self._time = float(time)

    # -- saving -------------------------------------------------------------------------------------------------------

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("forecaster", "channels", "rate", "coverage", "late", "detector")
        return {name: getattr(self, name) for name in names}

    def state_dict(self) -> dict[str, Any]:
        """All that the stream has come to know, its clock included."""
        self._shared = True
        return {
            "learnt": self._learnt,
            "watched": self._watched,
            "newest": self._newest,
            "reach": self._reach,
            "recent": self._recent.copy(),
            "time": self._time,
            "timed": self._timed,
            "pending": self._pending,
            "readings": self.readings,
            "skipped": self.skipped,
        }

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another stream of the same configuration stood; what does not fit is refused."""
        wanted = self.state_dict()
        if set(known) != set(wanted):
            raise ValueError(
                f"a stream knows {sorted(wanted)}, given {sorted(known)}; pass what state_dict() returned."
            )
        if not isinstance(known["learnt"], ForecasterState) or not isinstance(known["watched"], DetectorState):
            raise TypeError("learnt and watched are not states of a forecaster and a detector; pass a state_dict().")
        if known["learnt"].channels != self._learnt.channels or known["watched"].channels != self._watched.channels:
            raise ValueError(
                f"the state has {known['learnt'].channels} channels, and this stream {self._learnt.channels}; "
                f"load into a stream of the same configuration."
            )
        shapes = {name: np.shape(array) for name, array in vars(known["watched"]).items()}
        if shapes != {name: np.shape(array) for name, array in vars(self._watched).items()}:
            raise ValueError(
                "what the detector knew has another shape: it looked at other features, or another version of hippozoo "
                "wrote it; begin a new stream."
            )
        self._learnt, self._watched, self._provisional, self._shared = known["learnt"], known["watched"], None, True
        self._newest, self._reach = np.array(known["newest"], float), np.array(known["reach"], float)
        self._recent = np.array(known["recent"], float)
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

    # -- parts --------------------------------------------------------------------------------------------------------

    def _checked_value(self, value: Any) -> np.ndarray:
        if type(value) is float and self.channels is None:  # most readings by far, and faster
            size = abs(value)
            if mixing.SMALLEST <= size <= mixing.LARGEST or size == 0.0:
                return np.array([value])
        count = len(self._newest)
        if value is None:
            return np.full(count, np.nan)
        given = np.asarray(value)
        if given.dtype.kind == "O":
            given = np.array([math.nan if one is None else one for one in np.atleast_1d(given)])
        if given.dtype.kind not in "iuf":
            raise TypeError(f"value={shorten(value)} is not a number; pass numbers, or None for a missing reading.")
        if given.dtype.kind in "iu":
            real_array("value", given)  # refuses whole numbers that would be rounded
        shape = () if self.channels is None else (count,)
        if given.shape != shape:
            raise ValueError(
                f"value has shape {given.shape}, but this stream takes {shape or 'single numbers'}; "
                f"for vectors build ForecastStream(forecaster, channels=…)."
            )
        array = np.atleast_1d(given).astype(float)
        self._check_size(array[None], value)
        return array

    def _check_size(self, rows: np.ndarray, value: Any) -> None:
        """Refuse what could not be learnt with the next reading: then it would be too late."""
        sizes = np.abs(rows)
        if (sizes > mixing.LARGEST).any():
            worst = float(rows[sizes > mixing.LARGEST][0])
            what = f"value={shorten(value)} is" if np.ndim(value) == 0 else f"values hold {worst:g}, which is"
            raise ValueError(
                f"{what} infinite or too large; pass numbers below {mixing.LARGEST:g}, or None (NaN in an array) "
                f"where one is missing."
            )
        if ((sizes > 0) & (sizes < mixing.SMALLEST)).any():
            held = np.where(np.isnan(self._newest), self._learnt.held, self._newest) if self._pending else None
            held = self._learnt.held if held is None else held
            for row in sizes:
                largest = np.nanmax(row, initial=0.0)
                if 0 < largest < mixing.SMALLEST and not (np.abs(held) >= mixing.SMALLEST).any():
                    raise ValueError(
                        f"no number is above {largest:g}, and squares of numbers below {mixing.SMALLEST:g} vanish; "
                        f"multiply the readings by a power of ten first."
                    )
                held = np.where(np.isnan(row), held, row)

    def _checked_values(self, values: Any) -> np.ndarray:
        """(time, channels), NaN where one is missing."""
        given = np.asarray(values)
        if given.dtype.kind == "O":
            given = np.array([math.nan if one is None else one for one in given.ravel()]).reshape(given.shape)
        if given.dtype.kind not in "iuf":
            raise TypeError(f"values have dtype {given.dtype}; pass numbers, NaN where one is missing.")
        if given.dtype.kind in "iu":
            real_array("values", given)
        expected = (len(self._newest),) if self.channels is not None else ()
        if given.ndim != 1 + len(expected) or given.shape[1:] != expected:
            wanted = "(time,)" if self.channels is None else f"(time, {self.channels})"
            raise ValueError(f"values have shape {given.shape}, but this stream takes {wanted}; pass that.")
        rows = np.array(given, float).reshape(len(given), len(self._newest))
        self._check_size(rows, values)
        return rows

    def _checked_times(self, times: Any, count: int) -> np.ndarray | None:
        self._demand_alike(times is not None)
        if times is None:
            return None
        moments = real_array("times", times)
        if moments.shape != (count,):
            raise ValueError(f"times have shape {moments.shape}, and there are {count} readings; pass one for each.")
        return moments

    def _in_time(self, moments: np.ndarray | None, count: int) -> np.ndarray:
        """Which readings come after all before them."""
        if moments is None or not count:
            return np.ones(count, bool)
        begin = -math.inf if self._time is None else self._time
        if not self._pending:  # nothing came before that time; at that time something may
            begin = math.nextafter(begin, -math.inf)
        before = np.maximum.accumulate(np.append(begin, moments[:-1]))
        kept = moments > before
        if self.late == "refuse" and not kept.all():
            at = int(kept.argmin())
            raise ValueError(
                f"times[{at}]={moments[at]} is not after {before[at]}, the time of the reading before; time only runs "
                f"forwards: sort the readings, or build the stream with late='skip'."
            )
        return kept

    def _elapsed(self, time: Any) -> float | None:
        """Time since the newest reading; None for the first."""
        self._demand_alike(time is not None)
        if time is None:
            return None if not self.readings else float(self.forecaster.dt)
        if type(time) is not float or not math.isfinite(time):
            present = real_array("time", time)
            if present.ndim:
                raise ValueError(f"time={shorten(time)}; pass one finite number.")
            time = float(present)
        return None if self._time is None else time - self._time

    def _is_late(self, elapsed: float) -> bool:
        return elapsed < 0 or (elapsed == 0 and self._pending)

    def _demand_alike(self, timed: bool) -> None:
        if self._timed is not None and self._timed != timed:
            told = "with a time" if self._timed else "without a time"
            raise ValueError(f"readings came {told} so far; push all of them alike.")

    def _after(self, elapsed: float | None) -> ForecasterState:
        """What is learnt once the newest reading has held for so long."""
        if elapsed is None or not self._pending:
            if elapsed is None or elapsed == 0 or not self.readings:
                return self._learnt
            return self._after_silence(self._learnt, elapsed)
        usual = float(self.forecaster.dt)
        if abs(elapsed - usual) <= _SAME * usual:
            return self.state
        if elapsed > _GAP * usual:
            return self._after_silence(self.state, elapsed - usual)
        return self._learn(self._learnt, self._newest, elapsed)

    def _after_silence(self, state: ForecasterState, passed: float) -> ForecasterState:
        """What is known after so long without a reading."""
        usual = float(self.forecaster.dt)
        longest = usual * max(_LONGEST_SILENCE, 2 * self.forecaster.mixer.silence)
        if passed > longest:
            passed = longest + (math.fmod(passed, usual) if math.isfinite(passed) else 0.0)
        return self._learn(state, np.full_like(self._newest, np.nan), passed)

    def _learn(self, state: ForecasterState, value: np.ndarray, dt: float | None) -> ForecasterState:
        usual = float(self.forecaster.dt)
        step = None if dt is None or abs(dt - usual) <= _SAME * usual else dt
        given: Any = value if self.channels is not None else (None if math.isnan(value[0]) else float(value[0]))
        return self.forecaster.learn_one(state, given, step)

    def _forecast_at(self, readings: int) -> Forecast:
        if readings != self.readings:
            raise RuntimeError("the stream has moved on; ask for pushed.forecast before the next push.")
        return self.forecast

    # -- one reading --------------------------------------------------------------------------------------------------

    def _push(self, given: np.ndarray, elapsed: float | None, time: float | None) -> Pushed:
        """Take in a reading that was checked."""
        learnt, self._reach, told, self._watched, surprise = self._judged(given, elapsed)
        self._moved(learnt, given, time)
        self._remember(given[None], None if time is None else np.array([time]), *told)
        self.readings += 1
        alarms = self._alarms(surprise, learnt, time) if surprise.alarm.any() else ()
        number = self.readings
        parts: Any = self._told(*told, surprise.p[0])
        return Pushed(*parts, alarms=alarms, forecast=lambda: self._forecast_at(number))

    def _push_next(self, given: np.ndarray, elapsed: float | None, time: float | None) -> Pushed | None:
        """The same for what comes most often, a single number after the usual step; None where it is not that."""
        usual = self.forecaster.dt
        if self.channels is not None or not self._pending or elapsed is None or self._renews(self.readings):
            return None
        if elapsed != usual and not abs(elapsed - usual) <= _SAME * usual:
            return None
        value = float(given[0])
        learnt = self.state
        told = mixing.expected_next(self.forecaster, learnt)
        if told is None or value != value:
            return None
        mean, size = told
        if not (1e-290 < size < math.inf and -math.inf < mean < math.inf):
            return None
        above, below = self._reach[:, 0].tolist()
        lower, upper = mean - size * below, mean + size * above
        error = min(max((value - mean) / size, -1e6), 1e6)
        if self._shared:
            self._watched, self._shared = self._watched.copy(), False
        p, kind, strange, alarm = self.detector.watch_here(self._watched, value, error)
        self._moved(learnt, given, time)
        number = self.readings
        self._recent[number % RECENT, :, 0] = (number if time is None else time, value, mean, lower, upper, error)
        self.readings = number = number + 1
        alarms: tuple[Alarm, ...] = ()
        if alarm:
            row = Surprise(np.array([[p]]), np.array([[alarm]]), np.array([[kind]]), np.array([[strange]]))
            alarms = self._alarms(row, learnt, time)
        return Pushed(mean, lower, upper, error, p, alarms, lambda: self._forecast_at(number))

    def _judged(self, given: np.ndarray, elapsed: float | None) -> tuple[Any, ...]:
        """What is learnt before a reading, how far bands reach, what is said of it, and the detector after it."""
        learnt = self._after(elapsed)
        forecast: Any = self.forecaster.forecast(learnt)
        mean, size = forecast.next_reading()
        reach = forecast.next_reach((1 - self.coverage) / 2) if self._renews(self.readings) else self._reach
        lower, upper, errors = _compared(given, mean, size, reach)
        watched, surprise = self.detector.watch_rows(self._watched, given[None], errors[None])
        return learnt, reach, (mean, lower, upper, errors), watched, surprise

    def _told(self, *parts: np.ndarray) -> tuple[Any, ...]:
        """Single numbers where the stream is one of these."""
        return tuple(float(one[0]) for one in parts) if self.channels is None else parts

    @staticmethod
    def _renews(number: int) -> bool:
        return number % (_RENEWED if number < _LATER else _RENEWED_LATER) == 0

    def _moved(self, learnt: ForecasterState, newest: np.ndarray, time: float | None) -> None:
        self._learnt, self._provisional, self._newest, self._pending = learnt, None, newest, True
        if time is not None:
            self._time = time
        self._timed = time is not None

    def _remember(self, values: np.ndarray, times: np.ndarray | None, *told: np.ndarray) -> None:
        """What an alarm tells of the readings before it; a ring by their numbers."""
        if len(values) == 1:  # the same, faster
            place = self._recent[self.readings % RECENT]
            place[0] = self.readings if times is None else times[0]
            place[1], place[2], place[3], place[4], place[5] = values[0], *told
            return
        numbers = self.readings + np.arange(len(values))
        clock = numbers if times is None else times
        places = numbers % RECENT
        self._recent[places, 0] = clock[:, None]
        for column, part in enumerate((values, *told), start=1):
            self._recent[places, column] = part

    def _alarms(self, surprise: Surprise, learnt: ForecasterState, time: float | None) -> tuple[Alarm, ...]:
        number, mixer, mixture = self.readings - 1, self.forecaster.mixer, learnt.mixture
        assert mixture is not None
        order = (number + 1 + np.arange(RECENT)) % RECENT
        recent = self._recent[order][-min(RECENT, self.readings) :]
        usual, shares = self.detector.usual(self._watched), mixer.shares(mixture)[:, 0]
        lags = max([RECENT, *(season + 1 for season in mixer.seasons)])
        found = []
        for c in np.flatnonzero(surprise.alarm[0]).tolist():
            by: dict[str, float] = {}
            for name, share in zip(mixer.names, shares[c].tolist(), strict=True):
                by[name] = by.get(name, 0.0) + share
            kind = int(surprise.kind[0, c])
            _, value, expected, lower, upper, _ = recent[-1, :, c].tolist()
            found.append(
                Alarm(
                    channel=c, number=number, time=time, p=float(surprise.p[0, c]), kind=self.detector.kinds[kind],
                    size=float(surprise.size[0, c]), readings=self.detector.length(kind), value=value,
                    expected=expected, lower=lower, upper=upper, usual=(float(usual[0, c]), float(usual[1, c])),
                    by=dict(sorted(by.items(), key=lambda one: -one[1])),
                    weights=history_weights(mixer, mixture, c, lags), recent=recent[:, :, c],
                )
            )  # fmt: skip
        return tuple(found)

    # -- several readings ---------------------------------------------------------------------------------------------

    def _length_of_block(self, rows: np.ndarray, clock: np.ndarray | None, at: int) -> int:
        """How many of the rows from `at` on can be learnt in one go; 1 where each must be taken by itself."""
        if (
            not self._pending
            or self._renews(self.readings)
            or not mixing.issue_every_cell(self.forecaster, self._learnt)
        ):
            return 1
        step = _RENEWED if self.readings < _LATER else _RENEWED_LATER
        end = min(at + _RENEWED, at + step - self.readings % step, len(rows))
        # What is learnt are the newest reading and all rows but the last one.
        cells = np.concatenate([self._newest[None], rows[at : end - 1]])
        sizes = np.abs(cells)
        plain = (np.isnan(cells) | (cells == 0) | ((sizes >= mixing.SMALLEST) & (sizes <= mixing.LARGEST))).all(axis=1)
        plain &= ~np.isnan(cells).all(axis=1)
        if clock is not None:
            usual = float(self.forecaster.dt)
            steps = np.diff(clock[at:end], prepend=math.nan if self._time is None else self._time)
            plain &= np.abs(steps - usual) <= _SAME * usual
        return max(len(plain) if plain.all() else int(plain.argmin()), 1)

    def _push_block(self, rows: np.ndarray, clock: np.ndarray | None) -> np.ndarray | None:
        """What is said of these readings; None, and nothing has happened, where one of them gives an alarm first."""
        cells = np.concatenate([self._newest[None], rows[:-1]])
        begun = self._learnt
        learnt, told = mixing.several_taken_in(self.forecaster, begun, cells)
        mean, size = told[:, 0], told[:, 1]
        bound = self.forecaster.lower
        if bound is not None:
            mean = np.maximum(mean, bound)
        else:
            counts = mixing.counts_only(begun, cells)
            mean = np.where(counts, np.maximum(mean, 0.0), mean)
        lower, upper, errors = _compared(rows, mean, size, self._reach)
        watched, surprise = self.detector.watch_rows(self._watched, rows, errors)
        if surprise.alarm.any():
            first = int(surprise.alarm.any(axis=1).argmax())
            return self._push_block(rows[:first], None if clock is None else clock[:first]) if first > 1 else None
        self._watched = watched
        self._moved(learnt, rows[-1], None if clock is None else float(clock[-1]))
        self._remember(rows, clock, mean, lower, upper, errors)
        self.readings += len(rows)
        return np.stack([mean, lower, upper, errors, surprise.p])


def _compared(given: np.ndarray, mean: np.ndarray, size: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, ...]:
    """The band, and how far off the mean was in units of the error expected."""
    if given.shape == (1,):  # one number: the same, and faster without arrays
        value, centre, unit = float(given[0]), float(mean[0]), float(size[0])
        if math.isfinite(unit) and unit > 1e-290 and math.isfinite(centre):
            error = np.array([min(max((value - centre) / unit, -1e6), 1e6) if value == value else math.nan])
            return mean - unit * reach[1], mean + unit * reach[0], error
    lower, upper = mean - size * reach[1], mean + size * reach[0]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        errors = np.where(np.isfinite(size) & (size > 0), (given - mean) / size, np.nan)
    return lower, upper, np.minimum(np.maximum(errors, -1e6), 1e6)
