"""An alarm that says what it saw: what was expected, what came, since when, and from which past it was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from hippozoo.ensemble.detector import KINDS, Detector, DetectorState, Surprise
from hippozoo.ensemble.explanation import by_name, history_weights
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.state import Mixture

if TYPE_CHECKING:
    from hippozoo.plotting import Figure

__all__ = ["RECENT", "Alarm", "alarms_of"]

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
        How often, per reading, a normal stream would begin to look at least so strange.
    kind
        What is strange, of `KINDS`: a spike, a shape, a level, a spread, a cycle, or columns together.
    size
        How far its memory is from the nearest past one, in units of the median distance.
    direction
        1 where the present is above that past one (livelier, for a spread), -1 where it is below.
    neighbour
        The number of the reading whose past is the most similar; None where nothing is kept yet.
    readings
        Over how many readings that memory looks back.
    value, expected, lower, upper
        What came, what was expected, and the band it should have been in.
    usual
        Centre of the stream and its spread.
    by
        What the expectation was made by, and the share of each, largest first.
    weights
        How much each reading before this one, newest first, counts in what was expected.
    recent
        The last readings, this one last: time (or number), value, expected, lower, upper and error in units of the
        expected one.

    Examples
    --------
    >>> from hippozoo.ensemble import ForecastStream, forecaster_for
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
    direction: int
    neighbour: int | None
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

        By maximum likelihood, among the readings that are told with the alarm: of a change of the mean for a shape, a
        level or a cycle, and of the size of errors for a spread.
        """
        if self.kind == "spike":
            return self.number
        change = "mean" if self.kind != "spread" else "size" if self.direction > 0 else "calm"
        return self.number - _most_likely_length(self._strange(), change) + 1

    @property
    def since_time(self) -> float:
        """When it most likely began; the number of the reading in a stream of equal steps."""
        return float(self.recent[len(self.recent) - 1 - (self.number - self.since), TIME])

    def _strange(self) -> np.ndarray:
        """The recent readings, newest first, in units in which usual ones have a size of about one."""
        if self.kind in ("shape", "spread", "together"):
            return self.recent[::-1, ERROR]
        centre, spread = self.usual
        return (self.recent[::-1, VALUE] - centre) / (spread or 1.0)

    def __str__(self) -> str:
        began = self.number - self.since
        ago = (
            "" if self.neighbour is None else f"the most similar moment was {self.number - self.neighbour} readings ago"
        )
        parts = [
            f"{self._what()}, {self.size:.3g} times the usual distance from the past",
            ago,
            f"{self.value:g} where {self.expected:g} was expected ({self.lower:g} to {self.upper:g})",
            f"most likely since {began} readings before" if began else "",
            f"expected once in {1 / max(self.p, 1e-12):,.0f} readings of a normal stream",
        ]
        return "; ".join(part for part in parts if part)

    def _what(self) -> str:
        up = self.direction > 0
        over = f"of the last {self.readings} readings"
        return {
            "spike": f"spike {'up' if up else 'down'}",
            "shape": f"new shape {over}",
            "level": f"{'higher' if up else 'lower'} level {over}",
            "spread": f"{'more' if up else 'less'} change in the last {self.readings} readings",
            "cycle": f"{'above' if up else 'below'} the cycle in the last {self.readings} readings",
            "together": f"{'above' if up else 'below'} what the other columns let expect {over}",
        }[self.kind]

    def plot(self, figure: Figure | None = None) -> Figure:
        """What came and what was expected, since when, and below it the past that the expectation came from.

        Parameters
        ----------
        figure
            Where to draw; a new one if left out.
        """
        from hippozoo.ensemble.plots import plot_alarm

        return plot_alarm(self, figure)


def alarms_of(
    mixer: Mixer,
    mixture: Mixture,
    detector: Detector,
    watched: DetectorState,
    surprise: Surprise,
    recent: Float[np.ndarray, "recent six channels"],
    number: int,
    time: float | None,
) -> tuple[Alarm, ...]:
    """The alarms of the last reading that `surprise` tells of, one for each channel that gives one.

    By the mixture that expected it, as it was before, and by what the detector has `watched` after it; `recent` are the
    last readings, and `number` and `time` those of this one.
    """
    usual, shares = detector.usual(watched), mixer.weights(mixture)[:, 0]
    lags = max([RECENT, *(season + 1 for season in mixer.seasons)])
    found = []
    for c in np.flatnonzero(surprise.alarm[-1]).tolist():
        kind, neighbour = int(surprise.kind[-1, c]), int(surprise.neighbour[-1, c])
        _, value, expected, lower, upper, _ = recent[-1, :, c].tolist()
        found.append(
            Alarm(
                channel=c, number=number, time=time, p=float(surprise.p[-1, c]), kind=KINDS[kind],
                size=float(surprise.size[-1, c]), direction=int(surprise.direction[-1, c]),
                neighbour=None if neighbour < 0 else neighbour, readings=detector.length(kind), value=value,
                expected=expected, lower=lower, upper=upper, usual=(float(usual[0, c]), float(usual[1, c])),
                by=by_name(mixer, shares[c]), weights=history_weights(mixer, mixture, c, lags), recent=recent[:, :, c],
            )
        )  # fmt: skip
    return tuple(found)


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
