"""What a stream says of a reading."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hippozoo.ensemble.alarm import Alarm
from hippozoo.ensemble.detector import DetectorState, Surprise
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.state import EnsembleState

__all__ = ["Judged", "Pushed"]


class Judged(NamedTuple):
    """What readings mean: the state before the last of them, how far bands reach, and the detector after them."""

    learnt: EnsembleState
    reach: np.ndarray
    said: np.ndarray  # expected, lower, upper, error and p-value, each (time, channels)
    watched: DetectorState
    surprise: Surprise


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
        forecast: Callable[[], EnsembleForecast],
    ) -> None:
        self.expected, self.lower, self.upper, self.error, self.p = expected, lower, upper, error, p
        self.alarms = alarms
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
    def forecast(self) -> EnsembleForecast:
        """The horizon that begins after this reading, computed when it is asked for."""
        return self._forecast()

    def __repr__(self) -> str:
        return (
            f"Pushed(expected={self.expected}, lower={self.lower}, upper={self.upper}, p={self.p}, alarm={self.alarm})"
        )
