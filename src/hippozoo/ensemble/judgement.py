"""What a stream says of a reading: what was expected, the band, the error in units of the expected one, the p-value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.alarm import RECENT, Alarm
from hippozoo.ensemble.detector import DetectorState, Surprise
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.state import EnsembleState

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
    """How many readings come before the widths of bands are looked up anew; 0 if that is now."""
    return -readings % (_RENEWED if readings < _LATER else _RENEWED_LATER)


@compiled()
def compare(rows, expected, reach, said):
    """Fill in what is said, (SAID, time, channels), but for the p-values.

    `rows` came, NaN where one is missing; `expected` are mean and absolute error, (time, 2, channels); `reach` says how
    far above and below the mean a band reaches, in expected errors, (2, channels).
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


@dataclass(eq=False)
class Pushed:
    """What a reading meant; each is one number, or one per channel. Of several readings, time comes first.

    Parameters
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
    make_forecast
        Called where `forecast` is asked for.
    """

    expected: Any
    lower: Any
    upper: Any
    error: Any
    p: Any
    alarms: tuple[Alarm, ...]
    make_forecast: Callable[[], EnsembleForecast] = field(repr=False)

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
        return self.make_forecast()


class RecentReadings:
    """A ring by the numbers of the readings: time (or number), value, expected, lower, upper and error."""

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
