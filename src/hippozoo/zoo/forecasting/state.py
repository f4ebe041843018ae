"""What a forecaster carries along: three systems, the delay line, what was learnt, and how forecasts did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.zoo.forecasting._kernels import AGE, BEGUN, HELD, PAIRS, SILENT
from hippozoo.zoo.forecasting.delay import DelayLine
from hippozoo.zoo.forecasting.detail import Detail
from hippozoo.zoo.forecasting.mixture import Mixture
from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["ForecasterState", "Validation"]

Learnt = tuple[tuple[Moments, ...], ...]
# Where a mixture keeps what a state says of its channels, and whether it is a time, which it counts in cells.
_READ_OFF = {"begun": (BEGUN, False), "age": (AGE, True), "silent": (SILENT, True), "held": (HELD, False)}


@dataclass(frozen=True, eq=False)
class Validation:
    """Forecasts scored on data they were not learnt from, stretch by stretch of the stream.

    Parameters
    ----------
    boundary
        When the present stretch ends, by the time that was observed.
    stretch
        Moments of the present stretch: [group][history].
    learnt_then
        What was known when the stretch before it began, one horizon or more before the present one: the maps that
        are scored on it.
    learnt_before
        What was known when the present stretch began.
    errors
        Sums of products of errors, for every group and candidate; each stretch halves what came before it.
    weight
        Their weight, for every group.
    """

    boundary: float
    stretch: Learnt
    learnt_then: Learnt
    learnt_before: Learnt
    errors: Float[np.ndarray, "groups candidates outputs outputs"]
    weight: Float[np.ndarray, " groups"]


@dataclass(frozen=True, eq=False)
class ForecasterState:
    """Everything a `Forecaster` needs to go on, as arrays; it is never changed, each step gives a new one.

    Parameters
    ----------
    single
        Whether samples are single numbers; arrays have a channel axis of length 1 then.
    time
        The present: how much time has passed since the beginning.
    seen
        How much of it was observed, in any channel: gaps do not count.
    begun, age
        Which channels have had their first sample, and how long ago.
    silent
        How long ago the last sample of each channel ended.
    held
        The last value seen in each channel.
    recent
        System 1, the past on [t - horizon, t].
    delayed
        System 2, the past before that, one array per history system.
    aligned
        System 3, the same systems as System 2 but up to the present.
    line
        What lies between System 2 and the present.
    learnt
        Second-order statistics: [group][history].
    validation
        How forecasts did on data they were not learnt from.
    detail
        What System 1 is too coarse to hold of the samples.
    mixture
        All that a forecaster with ``mixture=True`` carries along; of the above it keeps up the clock, the last values
        and System 3. None for any other.
    """

    single: bool
    time: float
    seen: float
    begun: Bool[np.ndarray, " channels"]
    age: Float[np.ndarray, " channels"]
    silent: Float[np.ndarray, " channels"]
    held: Float[np.ndarray, " channels"]
    recent: Float[np.ndarray, "channels outputs"]
    delayed: tuple[Float[np.ndarray, "channels _"], ...]
    aligned: tuple[Float[np.ndarray, "channels _"], ...]
    line: DelayLine
    learnt: Learnt
    validation: Validation
    detail: Detail
    mixture: Mixture | None = None

    def moved(self, mixture: Mixture, time: float, seen: float, dt: float) -> ForecasterState:
        """The state of a mixture that has gone on; `replace` would cost more than the sample itself."""
        found = object.__new__(ForecasterState)
        held = found.__dict__
        held.update(self.__dict__)
        held["time"], held["seen"], held["mixture"], held["_dt"] = time, seen, mixture, dt
        for name in _READ_OFF:
            held.pop(name, None)
        return found

    def __getattr__(self, name: str) -> Any:
        """What a mixture says of its channels, read off when it is asked for."""
        if name not in _READ_OFF or "_dt" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        place, timed = _READ_OFF[name]
        assert self.mixture is not None
        found = self.mixture.live[:, place]
        found = found > 0 if name == "begun" else found * self.__dict__["_dt"] if timed else found
        self.__dict__[name] = found
        return found

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        return len(self.held if self.mixture is None else self.mixture.live)

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from, counted by their weight."""
        if self.mixture is not None:
            # Those that are complete; they are summed up when maps are renewed.
            return float(self.mixture.live[:, PAIRS].sum())
        return sum(group[0].weight for group in self.learnt)
