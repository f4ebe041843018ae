"""A forecaster with a clock: readings are pushed as they come, and what was not expected is said."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo import checkpoint
from hippozoo._arguments import real_array, shorten, whole_number
from hippozoo.zoo.forecasting.alarms import Detector, DetectorState, Surprise
from hippozoo.zoo.forecasting.forecast import Forecast
from hippozoo.zoo.forecasting.forecaster import Forecaster
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["ForecastStream", "Pushed", "Alarm"]

Late = Literal["refuse", "skip"]
Value = float | int | Float[np.ndarray, " channels"] | Int[np.ndarray, " channels"] | list | tuple | None

# The widths of bands are looked up anew after so many readings: counted from the first, so that it does not depend on
# how readings come or on restarts.
_RENEWED = 64
# Two steps that differ by no more than this share of the usual one are the same.
_SAME = 1e-9


@dataclass(frozen=True)
class Alarm:
    """Why a reading is worth a look.

    Parameters
    ----------
    channel
        Which one, from 0.
    p
        How often, per reading, a quiet stream would begin to look at least so strange.
    kind
        What is strange: a level, the size or the drift of the forecast's errors, over how many readings.
    size
        How strange: in deviations of the stream for a level, in mean errors of the forecast for errors.
    readings
        Over how many readings it was taken: it may have begun so long ago.
    value, expected, lower, upper
        What came, what was expected, and the band it should have been in.
    """

    channel: int
    p: float
    kind: str
    size: float
    readings: int
    value: float
    expected: float
    lower: float
    upper: float

    def __str__(self) -> str:
        seen = f"{self.value:g} where {self.expected:g} was expected ({self.lower:g} to {self.upper:g})"
        return (
            f"{self.kind}: {self.size:.3g}; {seen}; a quiet stream looks so {1000 * self.p:.2g} times in 1,000 readings"
        )


class Pushed:
    """What a reading meant; each is one number, or one per channel.

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
    readings with their true durations. A missing reading (None, NaN) lets time pass.

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
        self._newest = np.full(count, np.nan)
        self._reach = np.zeros((2, count))
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
        if elapsed is not None and elapsed <= 0:
            if self.late == "skip":
                self.skipped += 1
                return None
            raise ValueError(
                f"time={time} is not after {self._time}, the time of the reading before; time only runs forwards: "
                f"sort the readings, or build the stream with late='skip'."
            )
        learnt = self._after(elapsed)
        forecast: Any = self.forecaster.forecast(learnt)
        mean, size = forecast.next_reading()
        if self.readings % _RENEWED == 0:
            self._reach = forecast.next_reach((1 - self.coverage) / 2)
        lower, upper = mean - size * self._reach[1], mean + size * self._reach[0]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            errors = np.where(np.isfinite(size) & (size > 0), (given - mean) / size, np.nan)
        errors = np.clip(errors, -1e6, 1e6)
        self._watched, surprise = self.detector.watch(self._watched, given[None], errors[None])
        self._learnt, self._provisional, self._newest, self._pending = learnt, None, given, True
        if time is not None:
            self._time = float(time)
        self._timed = time is not None
        self.readings += 1
        alarms = self._alarms(surprise, given, mean, lower, upper)
        number = self.readings
        expected, below, above, error, p = (
            float(one[0]) if self.channels is None else one for one in (mean, lower, upper, errors, surprise.p[0])
        )
        return Pushed(expected, below, above, error, p, alarms, lambda: self._forecast_at(number))

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
            learnt = self._learn(learnt, np.full_like(self._newest, np.nan), left)
        self._learnt, self._provisional, self._pending = learnt, None, False
        self._time = float(time)

    # -- saving -------------------------------------------------------------------------------------------------------

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("forecaster", "channels", "rate", "coverage", "late", "detector")
        return {name: getattr(self, name) for name in names}

    def state_dict(self) -> dict[str, Any]:
        """All that the stream has come to know, its clock included."""
        return {
            "learnt": self._learnt,
            "watched": self._watched,
            "newest": self._newest,
            "reach": self._reach,
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
        self._learnt, self._watched, self._provisional = known["learnt"], known["watched"], None
        self._newest, self._reach = np.array(known["newest"], float), np.array(known["reach"], float)
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
        count = len(self._newest)
        if value is None:
            return np.full(count, np.nan)
        given = np.asarray(value)
        if given.dtype.kind == "O":
            given = np.array([math.nan if one is None else one for one in np.atleast_1d(given)])
        if given.dtype.kind not in "iuf":
            raise TypeError(f"value={shorten(value)} is not a number; pass numbers, or None for a missing reading.")
        shape = () if self.channels is None else (count,)
        if given.shape != shape:
            raise ValueError(
                f"value has shape {given.shape}, but this stream takes {shape or 'single numbers'}; "
                f"for vectors build ForecastStream(forecaster, channels=…)."
            )
        array = np.atleast_1d(given).astype(float)
        if np.isinf(array).any():
            raise ValueError(f"value={shorten(value)} is infinite; pass finite numbers, or None if it is missing.")
        return array

    def _elapsed(self, time: Any) -> float | None:
        """Time since the newest reading; None for the first."""
        if self._timed is not None and self._timed != (time is not None):
            told = "with a time" if self._timed else "without a time"
            raise ValueError(f"readings came {told} so far; push all of them alike.")
        if time is None:
            return None if not self.readings else float(self.forecaster.dt)
        present = real_array("time", time)
        if present.ndim:
            raise ValueError(f"time={shorten(time)}; pass one finite number.")
        return None if self._time is None else float(present) - self._time

    def _after(self, elapsed: float | None) -> ForecasterState:
        """What is learnt once the newest reading has held for so long."""
        if elapsed is None or not self._pending:
            if elapsed is None or elapsed == 0 or not self.readings:
                return self._learnt
            return self._learn(self._learnt, np.full_like(self._newest, np.nan), elapsed)
        usual = float(self.forecaster.dt)
        if abs(elapsed - usual) <= _SAME * usual:
            return self.state
        return self._learn(self._learnt, self._newest, elapsed)

    def _learn(self, state: ForecasterState, value: np.ndarray, dt: float | None) -> ForecasterState:
        usual = float(self.forecaster.dt)
        step = None if dt is None or abs(dt - usual) <= _SAME * usual else dt
        given: Any = value if self.channels is not None else (None if math.isnan(value[0]) else float(value[0]))
        return self.forecaster.learn_one(state, given, step)

    def _forecast_at(self, readings: int) -> Forecast:
        if readings != self.readings:
            raise RuntimeError("the stream has moved on; ask for pushed.forecast before the next push.")
        return self.forecast

    def _alarms(
        self, surprise: Surprise, given: np.ndarray, mean: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[Alarm, ...]:
        marked: Bool[np.ndarray, " channels"] = surprise.alarm[0]
        if not marked.any():
            return ()
        return tuple(
            Alarm(
                int(c), float(surprise.p[0, c]), self.detector.kinds[surprise.kind[0, c]], float(surprise.size[0, c]),
                self.detector.length(int(surprise.kind[0, c])),
                float(given[c]), float(mean[c]), float(lower[c]), float(upper[c]),
            )
            for c in np.flatnonzero(marked)
        )  # fmt: skip
