"""Steps of whole calendar months, which no number of seconds measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Months", "months_for"]

_DAY = 86_400.0


@dataclass(frozen=True)
class Months:
    """Steps of so many calendar months, each at the same day and time of its month, or at its end where it is shorter.

    Parameters
    ----------
    start
        The month of step 0, in months since January 1970.
    each
        Months per step.
    day
        Day of the month, from 1.
    clock
        Seconds into the day.

    Examples
    --------
    >>> month_ends = Months(start=0, each=1, day=31, clock=0.0)
    >>> month_ends.time(np.arange(3)).astype("datetime64[s]").astype("datetime64[D]").astype(str).tolist()
    ['1970-01-31', '1970-02-28', '1970-03-31']
    """

    start: int
    each: int
    day: int
    clock: float

    def step(self, times: np.ndarray) -> np.ndarray:
        """The step in which each time lies."""
        month, _, _ = _parts(times)
        return (month - self.start) // self.each

    def time(self, steps: np.ndarray) -> np.ndarray:
        """The time of each step, in seconds since 1970."""
        month = self.start + steps * self.each
        day = np.minimum(self.day, _length(month)) - 1
        return (_first_day(month) + day) * _DAY + self.clock

    def __str__(self) -> str:
        return {1: "one month", 3: "one quarter", 12: "one year"}.get(self.each, f"{self.each} months")


def months_for(times: np.ndarray) -> Months | None:
    """The calendar months on which all times lie, if they lie on such; quarters and years are months too.

    Parameters
    ----------
    times
        Local times, in seconds since 1970, rising.

    Examples
    --------
    >>> quarters = np.array(["2024-01-15", "2024-04-15", "2024-07-15"], "datetime64[s]").astype(float)
    >>> months_for(quarters).each
    3
    >>> months_for(quarters + np.array([0.0, 0.0, 86_400.0])) is None
    True
    """
    month, day, clock = _parts(times)
    ahead = np.diff(month)
    if len(times) < 2 or (ahead < 1).any() or (clock != clock[0]).any():
        return None
    if (day != np.minimum(day.max(), _length(month))).any():
        return None
    return Months(int(month[0]), int(np.gcd.reduce(ahead)), int(day.max()), float(clock[0]))


def _parts(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Month since 1970, day of the month, and seconds into the day."""
    days = np.floor(times / _DAY).astype("int64")
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    return month, days - _first_day(month) + 1, times - days * _DAY


def _first_day(month: np.ndarray) -> np.ndarray:
    return np.asarray(month, "int64").astype("datetime64[M]").astype("datetime64[D]").astype("int64")


def _length(month: np.ndarray) -> np.ndarray:
    return _first_day(np.asarray(month) + 1) - _first_day(month)
