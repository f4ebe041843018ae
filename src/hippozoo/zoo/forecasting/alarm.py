"""An alarm that says what it saw: what was expected, what came, since when, and from which past it was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RECENT", "Alarm"]

# So many readings before an alarm are told with it.
RECENT = 96
# Columns of `Alarm.recent`.
TIME, VALUE, EXPECTED, LOWER, UPPER, ERROR = range(6)


@dataclass(frozen=True, eq=False)
class Alarm:
    """Why a reading is worth a look.

    Parameters
    ----------
    channel
        Which one, from 0.
    number, time
        Of the reading: from 0, and the one that was pushed with it; None in a stream of equal steps.
    p
        How often, per reading, a quiet stream would begin to look at least so strange.
    kind
        What is strange: a level, the size, the drift or the calm of the forecast's errors, over how many readings.
    size
        How strange: in deviations of the stream for a level, in mean errors of the forecast for errors; of a calm, how
        many times smaller they are.
    readings
        Over how many readings it was taken.
    value, expected, lower, upper
        What came, what was expected, and the band it should have been in.
    usual
        Mean and deviation of the stream of late, with which levels are compared.
    by
        What the expectation was made by, and the share of each, largest first.
    weights
        How much each reading before this one, newest first, counts in what was expected.
    recent
        The last readings, this one last: time (or number), value, expected, lower, upper and error in units of the
        expected one.

    Examples
    --------
    >>> from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
    >>> stream = ForecastStream(forecaster_for(6.0))
    >>> values = np.sin(np.arange(800) / 5)
    >>> values[700:] += 4.0
    >>> alarm = next(pushed.alarm for pushed in map(stream.push, values) if pushed.alarm)
    >>> alarm.number, alarm.since
    (700, 700)
    """

    channel: int
    number: int
    time: float | None
    p: float
    kind: str
    size: float
    readings: int
    value: float
    expected: float
    lower: float
    upper: float
    usual: tuple[float, float]
    by: dict[str, float]
    weights: Float[np.ndarray, " lags"]
    recent: Float[np.ndarray, "recent six"]

    @cached_property
    def since(self) -> int:
        """The number of the reading with which it most likely began: where what followed is least like the usual.

        By maximum likelihood, among the readings that are told with the alarm: of a change of the mean for a level or
        a drift, of the size for the size and the calm of errors.
        """
        change = "calm" if "calm" in self.kind else "size" if "size" in self.kind else "mean"
        return self.number - _most_likely_length(self._strange(), change) + 1

    @property
    def since_time(self) -> float:
        """When it most likely began; the number of the reading in a stream of equal steps."""
        return float(self.recent[len(self.recent) - 1 - (self.number - self.since), TIME])

    def _strange(self) -> np.ndarray:
        """The recent readings, newest first, in units in which usual ones have a size of about one."""
        if self.readings == 1:
            return self.recent[-1:, ERROR]
        if "level" not in self.kind:
            return self.recent[::-1, ERROR]
        mean, deviation = self.usual
        return (self.recent[::-1, VALUE] - mean) / (deviation or 1.0)

    def __str__(self) -> str:
        seen = f"{self.value:g} where {self.expected:g} was expected ({self.lower:g} to {self.upper:g})"
        usual = f"{self.usual[0]:.3g} with deviations of {self.usual[1]:.2g} is usual"
        began = self.number - self.since
        parts = [
            f"{self.kind}: {self.size:.3g}",
            usual if "level" in self.kind else "",
            seen,
            f"most likely since {began} readings before" if began else "",
            f"a quiet stream looks so {1000 * self.p:.2g} times in 1,000 readings",
        ]
        return "; ".join(part for part in parts if part)

    def plot(self, figure: Figure | None = None) -> Figure:
        """What came and what was expected, since when, and below it the past that the expectation came from.

        Parameters
        ----------
        figure
            Where to draw; a new one if left out.
        """
        from hippozoo.zoo.forecasting.plots import plot_alarm

        return plot_alarm(self, figure)


def _most_likely_length(strange: np.ndarray, change: Literal["mean", "size", "calm"]) -> int:
    """How many of the newest readings look as if they came from another stream than the usual one."""
    known = np.isfinite(strange)
    counted = np.maximum(np.cumsum(known), 1)
    if change != "mean":  # errors of a mean size of one, against those of their own mean size
        mean = np.cumsum(np.where(known, np.abs(strange), 0.0)) / counted
        mean = np.clip(mean, 1.0, 1e6) if change == "size" else np.clip(mean, 1e-6, 1.0)
        gained = counted * (mean - 1.0 - np.log(mean))
    else:
        clipped = np.where(known, np.clip(strange, -8.0, 8.0), 0.0)
        gained = np.cumsum(clipped) ** 2 / counted
    gained = np.where(known, gained, -math.inf)
    return int(np.argmax(gained)) + 1 if known.any() else 1
