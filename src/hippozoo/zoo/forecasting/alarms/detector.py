"""A detector that says how often a quiet stream would look as strange, and whether that is worth an alarm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo._arguments import positive_number, real_array, shorten, whole_number
from hippozoo._immutable import Immutable
from hippozoo.zoo.forecasting.alarms import _kernels as kernels

__all__ = ["Detector", "DetectorState", "Surprise"]

Readings = Float[np.ndarray, " time"] | Float[np.ndarray, "time channels"]


@dataclass(frozen=True, eq=False)
class DetectorState:
    """What a detector knows about a stream; as arrays, of one size for ever.

    Parameters
    ----------
    single
        Whether readings are single numbers; arrays have a channel axis of length 1 then.
    numbers
        Readings seen, running mean and variance, weights and clocks.
    rings
        The latest levels and errors.
    histograms
        How large each feature was, fading.
    counts, last
        For each level of strangeness: how many alarms it would have given, and when the last.
    """

    single: bool
    numbers: Float[np.ndarray, "channels numbers"]
    rings: Float[np.ndarray, "channels 2 ring"]
    histograms: Float[np.ndarray, "channels features bins"]
    counts: Float[np.ndarray, "channels levels"]
    last: Float[np.ndarray, "channels levels"]

    @property
    def channels(self) -> int:
        """How many streams are watched side by side."""
        return len(self.numbers)

    def copy(self) -> DetectorState:
        """The same, for somebody who writes into it."""
        arrays = (self.numbers, self.rings, self.histograms, self.counts, self.last)
        return DetectorState(self.single, *[one.copy() for one in arrays])


@dataclass(frozen=True, eq=False)
class Surprise:
    """What a detector says about readings; one number per reading, or (time, channels).

    Parameters
    ----------
    p
        How often, per reading, a quiet stream would begin to look at least so strange; 1 while little is known.
    alarm
        Whether that is rarer than the rate asked for, and no alarm was given lately.
    kind
        What was strangest: the place in `Detector.kinds`; -1 for nothing.
    size
        How large that was: in deviations of the stream for a level, in deviations of the forecast for errors, and one
        over that for a calm.
    """

    p: Float[np.ndarray, "*readings"]
    alarm: Bool[np.ndarray, "*readings"]
    kind: Int[np.ndarray, "*readings"]
    size: Float[np.ndarray, "*readings"]

    @property
    def score(self) -> Float[np.ndarray, "*readings"]:
        """1 - p: near 1 where a reading is strange."""
        return 1.0 - self.p


@dataclass(frozen=True, eq=False)
class Detector(Immutable):
    r"""Turns readings and the errors of their forecasts into alarms whose rate is the one asked for.

    A spike, a change of level, of spread or of rhythm, a sensor that is stuck: all show in one of a few features. These
    are the mean of the last 3, 12 and 48 values against the stream's own mean and spread, the size, the drift and the
    calm of the last 24 errors of the forecast, and the last error by itself (the last two have to be ten times as
    rare). Each is compared with its own past (a fading
    histogram with a power-law tail), and the strangest counts. Then the detector asks: if alarms were given at this
    strangeness, how many would there have been so far? That number per reading is :math:`p`, and an alarm is given
    where :math:`p \le` `rate` / 1000. So on a quiet stream, about `rate` alarms come in 1,000 readings,
    whatever its distribution. After an alarm there is silence for a while.

    Pure: the state goes in and comes out. No labels, nothing to tune by hand.

    Parameters
    ----------
    rate
        Alarms wanted per 1,000 readings of a quiet stream.
    silence
        Readings after an alarm in which none is given.
    windows
        Readings over which levels are taken.
    error_window
        Readings over which errors are taken.
    forgetting
        Readings in which the stream's mean and spread are forgotten to 1/e.
    memory
        Readings in which what is usual is forgotten to 1/e: an old regime counts no more.
    warmup
        Readings before anything can be called strange.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(size=3000)
    >>> values[2000:2006] += 6.0
    >>> detector = Detector(rate=1.0)
    >>> state, surprise = detector.watch(detector.initial_state(), values, errors=values)
    >>> np.flatnonzero(surprise.alarm[1500:]).tolist()
    [500]
    >>> detector.kinds[surprise.kind[2000]]
    'error of one reading'
    """

    rate: float | int = 1.0
    silence: int = 150
    windows: tuple[int, ...] = (3, 12, 48)
    error_window: int = 24
    forgetting: float | int = 4000.0
    memory: float | int = 10_000.0
    warmup: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, Real) or not 0 < self.rate < 1000:
            raise ValueError(f"rate={shorten(self.rate)}: alarms per 1,000 readings; pass a number between 0 and 1000.")
        whole_number("silence", self.silence, why="readings after an alarm in which none is given")
        whole_number("warmup", self.warmup, why="readings before anything can be strange")
        for window in (*self.windows, self.error_window):
            if whole_number("window", window, why="readings") > kernels.RING:
                raise ValueError(f"window={window}: windows are short; pass at most {kernels.RING} readings.")
        if not self.windows:
            raise ValueError("windows=(): pass one length in readings at least, for example (3, 12, 48).")
        for name in ("forgetting", "memory"):
            positive_number(name, getattr(self, name), why="a number of readings")

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What can be strange, in words; `Surprise.kind` is a place here."""
        levels = tuple(f"level over {window} readings" for window in self.windows)
        over = f"over {self.error_window} readings"
        errors = tuple(f"{what} of the forecast's errors {over}" for what in ("size", "drift", "calm"))
        return (*levels, *errors, "error of one reading")

    @cached_property
    def _quiet(self) -> np.ndarray:
        """Alarms at each level during the readings that the prior is worth."""
        level = np.arange(kernels.LEVELS) * kernels.LEVEL_STEP
        return _PRIOR * np.minimum(1.0 / self.silence, _RATIO * 10.0**-level)

    def length(self, kind: int) -> int:
        """Over how many readings a kind looks back: a strange reading may have begun so long ago."""
        if kind == len(self.kinds) - 1:
            return 1
        return self.windows[kind] if 0 <= kind < len(self.windows) else self.error_window

    def initial_state(self, channels: int | None = None) -> DetectorState:
        """Nothing seen; for single numbers, or for `channels` side by side."""
        count = 1 if channels is None else whole_number("channels", channels)
        numbers = np.zeros((count, kernels.NUMBERS))
        numbers[:, kernels.SINCE], numbers[:, kernels.UNIT] = np.inf, 1.0
        return DetectorState(
            channels is None,
            numbers,
            np.zeros((count, 2, kernels.RING)),
            np.zeros((count, len(self.kinds), kernels.BINS)),
            np.zeros((count, kernels.LEVELS)),
            np.full((count, kernels.LEVELS), -np.inf),
        )

    def watch(self, state: DetectorState, values: Readings, errors: Readings) -> tuple[DetectorState, Surprise]:
        """Take in readings; NaN is a missing one. In pieces of any length the answer is the same, bit for bit.

        Parameters
        ----------
        state
            Where to go on.
        values
            (time,) or (time, channels), as the state was begun.
        errors
            Value minus forecast, in units of the forecast's deviation; NaN where there was no forecast.
        """
        seen, missed = (self._checked(name, given, state) for name, given in (("values", values), ("errors", errors)))
        if seen.shape != missed.shape:
            raise ValueError(
                f"values have shape {np.shape(values)} and errors {np.shape(errors)}; pass one error each."
            )
        after, surprise = self.watch_rows(state, seen, missed)
        if state.single:
            surprise = Surprise(surprise.p[:, 0], surprise.alarm[:, 0], surprise.kind[:, 0], surprise.size[:, 0])
        return after, surprise

    def watch_rows(
        self,
        state: DetectorState,
        values: Float[np.ndarray, "time channels"],
        errors: Float[np.ndarray, "time channels"],
    ) -> tuple[DetectorState, Surprise]:
        """`watch` for those who have checked what they pass: contiguous float64, channels in any case."""
        after = state.copy()
        p, size = np.empty(values.shape), np.empty(values.shape)
        kind, alarm = np.empty(values.shape, np.int64), np.empty(values.shape, bool)
        kernels.watch(
            values, errors, after.numbers, after.rings, after.histograms, after.counts, after.last, *self._settings,
            p, kind, size, alarm,
        )  # fmt: skip
        return after, Surprise(p, alarm, kind, size)

    def watch_here(self, state: DetectorState, value: float, error: float) -> tuple[float, int, float, bool]:
        """`watch` for one reading of one channel by those who own the state: it is written over, and no other returned.

        What is returned are p, kind, size and alarm.
        """
        return kernels.watch_one(
            value, error, state.numbers[0], state.rings[0], state.histograms[0], state.counts[0], state.last[0],
            *self._settings,
        )  # fmt: skip

    def usual(self, state: DetectorState) -> Float[np.ndarray, "two channels"]:
        """The stream's own mean and deviation, as fading as `forgetting` says: what a level is compared with."""
        return np.stack([state.numbers[:, kernels.MEAN], np.sqrt(state.numbers[:, kernels.VARIANCE])])

    @cached_property
    def _settings(self) -> tuple[Any, ...]:
        numbers = (float(self.forgetting), float(self.memory), float(self.silence), float(self.warmup))
        return (
            np.array(self.windows), self.error_window, *numbers, self._quiet, _PRIOR, _ENOUGH, self.rate / 1000.0,
        )  # fmt: skip

    @staticmethod
    def _checked(name: str, given: Any, state: DetectorState) -> np.ndarray:
        array = np.asarray(given)
        finite = np.where(np.isnan(array), 0.0, array) if array.dtype.kind == "f" else array
        real_array(name, finite, what_to_do="NaN is a missing reading.")
        wanted = "(time,)" if state.single else f"(time, {state.channels})"
        if array.ndim != 2 - state.single or (not state.single and array.shape[1] != state.channels):
            raise ValueError(f"{name} have shape {array.shape}, expected {wanted}, as the state was begun.")
        array = array.astype(float)
        return np.ascontiguousarray(array[:, None] if state.single else array)


# What is known before a stream has shown it: as if so many readings of a quiet stream had been counted, whose
# strangeness is that of p-values thinned by the clusters that windows make. The share is that of white noise.
_PRIOR, _RATIO = 1000.0, 0.4
# Beyond the level that has given so many alarms, the number goes on by its slope: what has come is counted.
_ENOUGH = 1.0
