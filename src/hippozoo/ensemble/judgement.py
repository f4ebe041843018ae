"""What a stream says of a reading: what was expected, the band, the error in units of the expected one, the p-value."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.alarm import RECENT, Alarm
from hippozoo.ensemble.detector import DetectorState, Surprise
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.state import EnsembleState

__all__ = [
    "ERROR",
    "EXPECTED",
    "LOWER",
    "MOST_AT_ONCE",
    "P_VALUE",
    "SAID",
    "UPPER",
    "Judged",
    "Pushed",
    "RecentReadings",
    "compare",
    "until_renewal",
]

# What a stream says of a reading, in this order.
EXPECTED, LOWER, UPPER, ERROR, P_VALUE = range(5)
SAID = 5
# Errors beyond so many expected ones are as strange as that.
_MOST = 1e6

# The widths of bands are looked up anew after so many readings, and after more of them once many are known: counted
# from the first, so that it does not depend on how readings come or on restarts.
_RENEWED, _RENEWED_LATER, _LATER = 64, 512, 1024
# Readings that are compared in one go.
MOST_AT_ONCE = 64


def until_renewal(readings: int) -> int:
    """How many readings come before the widths of bands are looked up anew; 0 if that is now.

    Examples
    --------
    >>> until_renewal(0), until_renewal(1), until_renewal(1100)
    (0, 63, 436)
    """
    return -readings % (_RENEWED if readings < _LATER else _RENEWED_LATER)


@compiled()
@no_type_check
def compare(rows, expected, reach, said):
    """Fill in (said, time, channels) but for the p-values.

    Parameters
    ----------
    rows
        What came, (time, channels); NaN where it is missing.
    expected
        (time, 2, channels): mean and expected absolute error.
    reach
        (2, channels): how far above and below the mean a band reaches, in expected errors.
    said
        (SAID, time, channels), written into.
    """
    for t in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            mean, size = expected[t, 0, c], expected[t, 1, c]
            error = np.nan
            if math.isfinite(size) and size > 0:
                error = (rows[t, c] - mean) / size
                if error > _MOST:
                    error = _MOST
                elif error < -_MOST:
                    error = -_MOST
            said[EXPECTED, t, c] = mean
            said[LOWER, t, c] = mean - size * reach[1, c]
            said[UPPER, t, c] = mean + size * reach[0, c]
            said[ERROR, t, c] = error


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


class RecentReadings:
    """A ring by the numbers of the readings: time (or number), value, expected, lower, upper and error.

    Parameters
    ----------
    channels
        How many are read side by side.

    Examples
    --------
    >>> recent = RecentReadings(channels=1)
    >>> recent.add(0, np.ones((3, 1)), None, np.zeros((5, 3, 1)))
    >>> recent.last(3)[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, channels: int) -> None:
        self.ring = np.full((RECENT, 6, channels), np.nan)

    def add(
        self,
        first: int,
        rows: Float[np.ndarray, "time channels"],
        clock: Float[np.ndarray, " time"] | None,
        said: Float[np.ndarray, "said time channels"],
    ) -> None:
        """Take in readings, the number of the first being `first`, and what was said of them."""
        if len(rows) == 1:  # the same, faster
            place = self.ring[first % RECENT]
            place[0], place[1], place[2:] = first if clock is None else clock[0], rows[0], said[:P_VALUE, 0]
            return
        numbers = first + np.arange(len(rows))
        places = numbers % RECENT
        self.ring[places, 0] = (numbers if clock is None else clock)[:, None]
        self.ring[places, 1] = rows
        self.ring[places, 2:] = said[:P_VALUE].transpose(1, 0, 2)

    def last(self, readings: int) -> Float[np.ndarray, "recent six channels"]:
        """The newest of so many readings, in the order of time."""
        order = (readings + np.arange(RECENT)) % RECENT
        return self.ring[order][-min(RECENT, readings) :]
