"""Steps of days by the local clock: some have 23 hours, and markets leave out days of the week."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Days", "Weekdays", "days_for", "weekdays_for"]

_DAY = 86_400.0
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# So many days show that a day of the week is left out, and is not missing by chance.
_SPAN = 14
# The share of rows that follow on the row before; the others come after holidays and gaps.
_FOLLOWING = 0.8


@dataclass(frozen=True)
class Weekdays:
    """One step for each day that falls on one of these days of the week.

    Parameters
    ----------
    start
        The day of step 0, in days since 1970.
    days
        Days of the week, Monday being 0, rising.
    clock
        Seconds into the day.

    Examples
    --------
    From a Thursday on:

    >>> business = Weekdays(start=0, days=(0, 1, 2, 3, 4), clock=0.0)
    >>> business.time(np.arange(3)).astype("datetime64[s]").astype("datetime64[D]").astype(str).tolist()
    ['1970-01-01', '1970-01-02', '1970-01-05']
    >>> str(business)
    'a day from Monday to Friday'
    """

    start: int
    days: tuple[int, ...]
    clock: float

    def step(self, times: np.ndarray) -> np.ndarray:
        """The step of each time; a day that is left out belongs to the one before it."""
        return self._count(np.floor(times / _DAY).astype("int64")) - self._count(np.array([self.start]))

    def time(self, steps: np.ndarray) -> np.ndarray:
        """The time of each step, in seconds since 1970."""
        week, place = np.divmod(steps + self._count(np.array([self.start])), len(self.days))
        return (7 * week + np.array(self.days)[place] - 3) * _DAY + self.clock

    def _count(self, day: np.ndarray) -> np.ndarray:
        week, weekday = np.divmod(day + 3, 7)  # 1970 began on a Thursday
        return week * len(self.days) + np.searchsorted(self.days, weekday, side="right") - 1

    def __str__(self) -> str:
        first, last = self.days[0], self.days[-1]
        if last - first == len(self.days) - 1 and len(self.days) > 2:
            return f"a day from {_NAMES[first]} to {_NAMES[last]}"
        return f"a {' or '.join(_NAMES[day] for day in self.days)}"


def weekdays_for(times: np.ndarray) -> Weekdays | None:
    """The days of the week on which all times lie, if they leave others out; gaps and holidays are no matter.

    Parameters
    ----------
    times
        Local times, in seconds since 1970, rising.

    Examples
    --------
    >>> daily = 86_400.0 * np.arange(30)
    >>> weekdays_for(daily) is None
    True
    >>> weekdays_for(daily[np.arange(30) % 7 < 5]).days  # from a Thursday to a Monday
    (0, 3, 4, 5, 6)
    """
    day = np.floor(times / _DAY).astype("int64")
    clock = times - day * _DAY
    days = tuple(np.unique((day + 3) % 7).tolist())
    if len(times) < 2 * len(days) or day[-1] - day[0] < _SPAN or not 2 <= len(days) < 7:
        return None
    found = Weekdays(int(day[0]), days, float(clock[0]))
    ahead = np.diff(found.step(times))
    if (clock != clock[0]).any() or (ahead < 1).any() or (ahead == 1).mean() < _FOLLOWING:
        return None
    return found


@dataclass(frozen=True)
class Days:
    """One step for every so many days, at the same time of day by the local clock.

    Parameters
    ----------
    start
        The day of step 0, in days since 1970.
    each
        Days per step.
    clock
        Seconds into the day.

    Examples
    --------
    >>> Days(start=0, each=7, clock=3600.0).time(np.arange(2)).tolist()
    [3600.0, 608400.0]
    """

    start: int
    each: int
    clock: float

    def step(self, times: np.ndarray) -> np.ndarray:
        """The step in which each time lies."""
        return (np.floor(times / _DAY).astype("int64") - self.start) // self.each

    def time(self, steps: np.ndarray) -> np.ndarray:
        """The time of each step, in seconds since 1970."""
        return (self.start + steps * self.each) * _DAY + self.clock

    def __str__(self) -> str:
        return "one day" if self.each == 1 else f"{self.each} days" if self.each != 7 else "one week"


def days_for(times: np.ndarray, offsets: np.ndarray | None) -> Days | None:
    """Whole days by the local clock, where summer time makes some of them shorter; None where no clock is put.

    Parameters
    ----------
    times
        Local times, in seconds since 1970, rising.
    offsets
        How many seconds they are ahead of UTC; None where nobody knows.

    Examples
    --------
    >>> days_for(86_400.0 * np.arange(30), np.where(np.arange(30) < 9, 3600.0, 7200.0)).each
    1
    >>> days_for(86_400.0 * np.arange(30), None) is None
    True
    """
    if offsets is None or len(times) < 2:
        return None
    day = np.floor(times / _DAY).astype("int64")
    ahead = np.diff(day)
    if (times - day * _DAY != times[0] % _DAY).any() or (ahead < 1).any():
        return None
    return Days(int(day[0]), int(np.gcd.reduce(ahead)), float(times[0] % _DAY))
