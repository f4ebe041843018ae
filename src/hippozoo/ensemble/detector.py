"""A detector that asks how far the present is from every past, and how often a normal stream is as far."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.ensemble import _detector_kernels as kernels
from hippozoo.systems import LegT

__all__ = ["KINDS", "Detector", "DetectorState", "Surprise"]

Readings = Float[np.ndarray, " time"] | Float[np.ndarray, "time channels"]

#: What can be strange: one error of the forecast, the shape of the last readings, their level, how much they change,
#: how far they are from where the cycle should be, or from what the other columns let expect.
KINDS = ("spike", "shape", "level", "spread", "cycle", "together")
# Readings that each memory looks back, and its coefficients. Chosen on the development half of `reproduce alarms`,
# where half and twice as many change its mean by less than a point.
_LENGTHS, _ORDERS = (2, 8, 24, 24, 48, 8), (2, 4, 4, 3, 4, 4)
# States that a memory keeps, of a stream alone and of one among others: 16 kB a column.
_ALONE, _AMONG_OTHERS, _MOST_TOGETHER = 80, 64, 64
# Strangeness is the length of the vector of -log10 p over the memories: between Fisher's sum and the smallest p alone.
# Chosen there too, among powers of 1, 1.25, 1.5, 1.75, 2 and 3.
_POWER = 2.0
# What is known before a stream has shown it: as if so many readings of a quiet stream had been counted, in which one
# alarm per reading comes at strangeness 0 and a tenth as many for each further unit. White noise, autoregressions,
# counts and heavy tails are so within a factor of three (4,000 readings, 25 runs each).
_PRIOR, _UNIT = 1000.0, 1.0


@dataclass(frozen=True, eq=False)
class DetectorState:
    """What a detector knows about a stream; as arrays, of one size for ever: 16 kB a channel.

    Parameters
    ----------
    single
        Whether readings are single numbers; arrays have a channel axis of length 1 then.
    numbers
        Clocks, the unit of the values, the cycle.
    states, stores
        What each memory holds now, and the past states that are kept, each with its distance from the next and the
        number of its reading.
    histograms
        How far from the nearest past state each memory was, fading.
    counts, last
        For each level of strangeness: how many alarms it would have given, and when the last.
    ring, lags, profile
        The last readings, how much they differ from those before by each lag, and the cycle.
    mean, precision
        Of the levels of all columns, and the inverse of their covariance; empty where columns are not compared.
    """

    single: bool
    numbers: Float[np.ndarray, "channels numbers"]
    states: Float[np.ndarray, "channels memories order"]
    stores: Float32[np.ndarray, "channels memories kept columns"]
    histograms: Float32[np.ndarray, "channels memories bins"]
    counts: Float32[np.ndarray, "channels levels"]
    last: Float32[np.ndarray, "channels levels"]
    ring: Float32[np.ndarray, "channels longest"]
    lags: Float32[np.ndarray, "channels longest"]
    profile: Float32[np.ndarray, "channels longest"]
    mean: Float[np.ndarray, " compared"]
    precision: Float[np.ndarray, "compared compared"]

    @property
    def channels(self) -> int:
        """How many streams are watched side by side."""
        return len(self.numbers)

    @property
    def season(self) -> Int[np.ndarray, " channels"]:
        """The cycle that was found in each, in readings; 0 where none was."""
        return self.numbers.view(kernels.CHANNEL)["season"][:, 0].astype(int)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All but `single`, in order."""
        return tuple(getattr(self, one.name) for one in fields(self)[1:])

    def copy(self) -> DetectorState:
        """The same, for somebody who writes into it."""
        return DetectorState(self.single, *[one.copy() for one in self.arrays])


class Surprise(NamedTuple):
    """What a detector says about readings; one number per reading, or (time, channels).

    Parameters
    ----------
    p
        How often, per reading, a normal stream would begin to look at least so strange; 1 while little is known.
    alarm
        Whether that is rarer than the rate asked for, and no alarm was given lately.
    kind
        What was strangest: the place in `KINDS`; -1 for nothing.
    size
        How far that memory is from the nearest past one, in units of the median distance.
    direction
        1 where the present is above that past one (livelier, for a spread), -1 where it is below.
    neighbour
        The number of the reading with that past; -1 where there is none.
    """

    p: Float[np.ndarray, "*readings"]
    alarm: Bool[np.ndarray, "*readings"]
    kind: Int[np.ndarray, "*readings"]
    size: Float[np.ndarray, "*readings"]
    direction: Int[np.ndarray, "*readings"]
    neighbour: Int[np.ndarray, "*readings"]

    @property
    def score(self) -> Float[np.ndarray, "*readings"]:
        """1 - p: near 1 where a reading is strange."""
        return 1.0 - self.p


@dataclass(frozen=True, eq=False)
class Detector(Immutable):
    r"""Turns readings and the errors of their forecasts into alarms whose rate is the one asked for.

    Five small memories follow a stream: of the last two errors of the forecast, of the last 8 and 24 readings, of how
    much 24 readings changed (on a logarithmic scale), and of how far 48 readings are from their cycle, which is found
    by itself. The longer ones are Leg-T memories of three or four coefficients. Each keeps 80 of its past states, those
    that are farthest apart, and asks how far the present state is from the nearest of them. The rank of that distance
    among all distances before gives a p-value :math:`p_j`, and :math:`\sqrt{\sum_j (\log_{10} p_j)^2}` is how strange
    the reading is. Then the detector asks: if alarms were given at this strangeness, how many would there have been so
    far? That number per reading is :math:`p`, and an alarm is given where :math:`p \le` `rate` / 1000. So on a quiet
    stream, about `rate` alarms come in 1,000 readings, whatever its distribution. After an alarm there is silence for a
    while. After a gap each memory waits until it is full again.

    Pure: the state goes in and comes out. No labels, nothing to tune by hand.

    Parameters
    ----------
    rate
        Alarms wanted per 1,000 readings of a quiet stream.
    silence
        Readings after an alarm in which none is given.
    memory
        Readings in which what is usual is forgotten to 1/e.
    warmup
        Readings before anything can be called strange.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(size=3000)
    >>> values[2000:2006] += 6.0
    >>> detector = Detector(rate=0.5)
    >>> state, surprise = detector.watch(detector.initial_state(), values, errors=values)
    >>> np.flatnonzero(surprise.alarm[1500:]).tolist()
    [500]
    >>> from hippozoo.ensemble.detector import KINDS
    >>> KINDS[surprise.kind[2002]], int(surprise.direction[2002])
    ('shape', 1)
    """

    rate: float | int = 1.0
    silence: int = 150
    memory: float | int = 10_000.0
    warmup: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, Real) or not 0 < self.rate < 1000:
            raise ValueError(f"rate={shorten(self.rate)}: alarms per 1,000 readings; pass a number between 0 and 1000.")
        whole_number("silence", self.silence, why="readings after an alarm in which none is given")
        whole_number("warmup", self.warmup, why="readings before anything can be strange")
        positive_number("memory", self.memory, why="a number of readings")

    def initial_state(self, channels: int | None = None) -> DetectorState:
        """Nothing seen; for single numbers, or for `channels` side by side."""
        count = 1 if channels is None else whole_number("channels", channels)
        numbers = np.zeros(count, kernels.CHANNEL)
        numbers["since"], numbers["unit"] = np.inf, 1.0
        compared = count if 1 < count <= _MOST_TOGETHER else 0
        memories, order = len(KINDS) - (not compared), kernels.COEFFICIENTS
        stores = np.zeros((count, memories, _AMONG_OTHERS if compared else _ALONE, order + 2), np.float32)
        stores[..., -1] = -1.0
        return DetectorState(
            channels is None,
            numbers.view(float).reshape(count, -1),
            np.zeros((count, memories, order)),
            stores,
            np.zeros((count, memories, kernels.BINS), np.float32),
            np.zeros((count, kernels.LEVELS), np.float32),
            np.full((count, kernels.LEVELS), -np.inf, np.float32),
            ring=np.zeros((count, kernels.LONGEST), np.float32),
            lags=np.zeros((count, kernels.LONGEST), np.float32),
            profile=np.zeros((count, kernels.LONGEST), np.float32),
            mean=np.zeros(compared),
            precision=np.eye(compared),
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
        after = state.copy()
        surprise = self.watch_rows(after, seen, missed)
        if state.single:
            surprise = Surprise(*(one[:, 0] for one in surprise))
        return after, surprise

    def watch_rows(
        self,
        state: DetectorState,
        values: Float[np.ndarray, "time channels"],
        errors: Float[np.ndarray, "time channels"],
    ) -> Surprise:
        """`watch` of contiguous float64 arrays that were checked, by the owner of the state, which is written over."""
        shape = values.shape
        kinds = (float, bool, np.int64, float, np.int64, np.int64)
        said = kernels.Said(*(np.empty(shape, kind) for kind in kinds))
        room = np.empty(len(KINDS)), np.empty(kernels.LONGEST)
        kernels.watch(values, errors, kernels.Channels(*state.arrays), self._settings, *room, said)
        return Surprise(*said)

    @staticmethod
    def skip(state: DetectorState, steps: int) -> None:
        """Let steps of time pass without a reading; by the owner of the state, which is written over."""
        numbers = state.numbers.view(kernels.CHANNEL)
        numbers["skipped"] += steps
        numbers["missing"] += steps

    def usual(self, state: DetectorState) -> Float[np.ndarray, "two channels"]:
        """The centre of the stream and its spread, which values are taken in."""
        numbers = state.numbers.view(kernels.CHANNEL)[:, 0]
        return np.stack([numbers["centre"], numbers["spread"]])

    @staticmethod
    def length(kind: int) -> int:
        """Over how many readings a kind looks back: a strange reading may have begun so long ago."""
        return _LENGTHS[kind] if kind > 0 else 1

    @cached_property
    def _settings(self) -> kernels.Settings:
        memories, order = len(KINDS), kernels.COEFFICIENTS
        transitions, inputs = np.zeros((memories, order, order)), np.zeros((memories, order))
        transitions[0, 1, 0] = inputs[0, 0] = 1.0  # the last error, and the one before it
        for j in range(1, memories):
            A_d, b_d = zero_order_hold(LegT(_ORDERS[j], float(_LENGTHS[j])), 1.0)
            transitions[j, : _ORDERS[j], : _ORDERS[j]], inputs[j, : _ORDERS[j]] = A_d, np.ravel(b_d)
        level = np.arange(kernels.LEVELS) * kernels.LEVEL_STEP
        return kernels.Settings(
            transitions, inputs, np.array(_ORDERS), np.array(_LENGTHS, float),
            silence=float(self.silence), memory=float(self.memory), warmup=float(self.warmup),
            quiet=_PRIOR * np.minimum(1.0 / self.silence, 10.0 ** (-level / _UNIT)), prior=_PRIOR,
            slope=_UNIT / math.log(10.0), power=_POWER, threshold=self.rate / 1000.0,
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
