"""The calendar: steps that no number of seconds measures (months, days by the local clock), and public holidays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs

__all__ = ["Months", "Weekdays", "find_country", "holidays_in", "months_for", "weekdays_for"]

_DAY = 86_400.0
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# So many days show that a day of the week is left out, and is not missing by chance.
_SPAN = 14
# The share of rows that follow on the row before; the others come after holidays and gaps.
_FOLLOWING = 0.8
# Steps of more days than this hold several dates.
_LONG = 1.5


@dataclass(frozen=True)
class Months:
    """Steps of `each` calendar months from month `start` (since January 1970), at the same `day` and `clock` (seconds).

    In shorter months it is the last day.

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
    """The calendar months (also quarters and years) on which all local times lie, in seconds since 1970; None if none.

    >>> quarters = np.array(["2024-01-15", "2024-04-15", "2024-07-15"], "datetime64[s]").astype(float)
    >>> months_for(quarters).each, months_for(quarters + np.array([0.0, 0.0, 86_400.0]))
    (3, None)
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


@dataclass(frozen=True)
class Weekdays:
    """Steps of days from day `start` (since 1970) on these `days` of the week (Monday is 0), at `clock` seconds.

    >>> business = Weekdays(start=0, days=(0, 1, 2, 3, 4), clock=0.0)  # from a Thursday on
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
        days = np.floor(times / _DAY).astype("datetime64[D]")
        return np.busday_count(self._first, days + 1, weekmask=self._week) - 1

    def time(self, steps: np.ndarray) -> np.ndarray:
        """The time of each step, in seconds since 1970."""
        return np.busday_offset(self._first, steps, weekmask=self._week).astype("int64") * _DAY + self.clock

    @property
    def _first(self) -> np.datetime64:
        return np.datetime64(self.start, "D")

    @property
    def _week(self) -> list[bool]:
        return [day in self.days for day in range(7)]

    def __str__(self) -> str:
        if len(self.days) in (1, 7):
            return "one week" if len(self.days) == 1 else "one day"
        first, last = self.days[0], self.days[-1]
        if last - first == len(self.days) - 1 and len(self.days) > 2:
            return f"a day from {_NAMES[first]} to {_NAMES[last]}"
        return f"a {' or '.join(_NAMES[day] for day in self.days)}"


def weekdays_for(times: np.ndarray, offsets: np.ndarray | None = None) -> Weekdays | None:
    """The days of the week on which all local times lie, if they leave others out; gaps and holidays are no matter.

    Where times have `offsets` from UTC, days and weeks are days of the week too: summer time makes some of them
    shorter.

    >>> daily = 86_400.0 * np.arange(30)
    >>> weekdays_for(daily) is None, str(weekdays_for(daily, offsets=np.zeros(30)))
    (True, 'one day')
    >>> weekdays_for(daily[np.arange(30) % 7 < 5]).days  # from a Thursday to a Monday
    (0, 3, 4, 5, 6)
    """
    day = np.floor(times / _DAY).astype("int64")
    clock = times - day * _DAY
    days = tuple(np.unique((day + 3) % 7).tolist())
    whole = len(days) in (1, 7)
    if whole and offsets is None:
        return None
    if not whole and (len(times) < 2 * len(days) or day[-1] - day[0] < _SPAN):
        return None
    found = Weekdays(int(day[0]), days, float(clock[0]))
    ahead = np.diff(found.step(times))
    follow = (ahead == 1).mean() if len(ahead) else 0.0
    if (clock != clock[0]).any() or (ahead < 1).any() or follow < (0.5 if whole else _FOLLOWING):
        return None
    return found


def holidays_in(country: str, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether each step, in seconds of the local clock, falls on a holiday; of longer steps, how many fall into it.

    >>> noon = np.array([np.datetime64("2024-12-25T12:00", "s").astype(float)])
    >>> holidays_in("DE", noon, noon + 3600.0).tolist(), holidays_in("DE", noon, noon + 9 * 86400.0).tolist()
    ([1.0], [2.0])
    """
    edges = np.array([begins.min(), ends.max()]).astype("int64").astype("datetime64[s]").astype("datetime64[Y]")
    days = _holidays(country, *(edges.astype("int64") + 1970).tolist())
    if not len(days):
        return np.zeros(len(begins))
    if np.median(ends - begins) <= _LONG * _DAY:
        return np.isin(np.floor_divide(begins, _DAY), days).astype(float)
    return (np.searchsorted(days, ends / _DAY) - np.searchsorted(days, begins / _DAY)).astype(float)


@cache
def _holidays(country: str, first: int, last: int) -> np.ndarray:
    """Days since 1970 that are holidays, in these years."""
    found = find_country(country, range(first, last + 1))
    return np.array(sorted(np.datetime64(day).astype("datetime64[D]").astype("int64") for day in found), float)


def find_country(country: str, years: Any = ()) -> Any:
    """The holidays of a country, or of a part of one; refused where the package ``holidays`` does not know it."""
    package = needs("holidays", extra="holidays", feature="--country")
    code, _, part = str(country).strip().upper().partition("-")
    try:
        return package.country_holidays(code, subdiv=part or None, years=list(years))
    except (NotImplementedError, AttributeError, KeyError):
        known = package.list_supported_countries()
        if code in known and part:
            parts = ", ".join(known[code][:40]) or "none"
            raise ValueError(
                f"country={shorten(country)}: {code} has no part {part!r} in the package holidays; it has {parts}."
            ) from None
        raise ValueError(
            f"country={shorten(country)} is not known to the package holidays; pass two letters such as DE, or with a "
            f"part of the country, DE-BY."
        ) from None
