"""From rows with times to evenly spaced steps, chunk by chunk, and back to the times of steps to come."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hippozoo._internal.arguments import positive_number
from hippozoo.apps.forecast.calendar import Months, Weekdays, months_for, weekdays_for
from hippozoo.apps.forecast.times import parse_duration, say_duration, write_dates, write_numbers
from hippozoo.tables import Place, Rows, TableError, Trouble

__all__ = ["Grid", "grid_for", "usual_periods"]

# Steps within this share of a whole number of steps are on the grid.
_JITTER = 0.2
# A longer gap is a wrong time more often than a gap, and would fill the memory.
_LONGEST_GAP = 10_000_000
_DAY, _WEEK, _YEAR = 86_400.0, 604_800.0, 365.2425 * 86_400.0


def usual_periods(step: float) -> tuple[float, ...]:
    """The periods, in steps of so many seconds, that clock and calendar suggest.

    >>> usual_periods(3600.0)[:2]
    (24.0, 168.0)
    """
    periods = (length / step for length in (_DAY, _WEEK, _YEAR))
    # A period that no whole number of steps fills is none, but for the year.
    return tuple(one for one in periods if one > 1.9 and (abs(one - round(one)) < 1e-6 or one > 50))


@dataclass
class Grid:
    """Rows on evenly spaced steps: gaps become missing rows, rows that share a step are averaged.

    Without times every row is a step. Where times are nearly regular a row is as many steps after the one before as its
    time says, rounded; where they are not, steps count from the first time. Calendar months, and days that leave out
    weekends, are steps of their own.

    >>> rows = Rows(1, np.array([0.0, 1.0, 2.0, 3.0]), np.array([[1.0], [3.0], [5.0], [7.0]]))
    >>> grid = grid_for(rows, every=2)
    >>> np.concatenate([grid.place(rows), grid.flush()])[:, 0].tolist(), grid.write(grid.positions(0, 2))
    ([2.0, 6.0], ('4', '6'))
    """

    step: float | None
    regular: bool = True
    dates: bool = False
    calendar: Months | Weekdays | None = None
    source: str = "the table"
    start: float = math.nan
    last_time: float = math.nan
    last_offset: float | None = None
    last_step: int = -1
    gaps: int = 0
    first_gap: str = ""
    longest_gap: int = 0
    row_after_longest_gap: int = 0
    open_sum: np.ndarray | None = None
    open_count: np.ndarray | None = None

    def place(self, rows: Rows) -> np.ndarray:
        """The values of all steps that are complete, (steps, columns), NaN where missing."""
        if rows.times is None or self.step is None:
            return rows.values
        steps = self._steps(rows)
        return self._fill(rows, steps)

    def last(self) -> np.ndarray:
        """The last step as far as it is known: another row may join it. Empty if none is open."""
        if self.open_sum is None or self.open_count is None:
            return np.empty((0, 0))
        return self._mean(self.open_sum[None], self.open_count[None])

    def flush(self) -> np.ndarray:
        """The last step, once no row can join it."""
        values = self.last()
        self.open_sum = self.open_count = None
        return values

    def write(self, times: np.ndarray, offset: float | None = None) -> tuple[str, ...]:
        """Times of the local clock as text, with its `offset` from UTC where one is given."""
        return write_dates(times, offset) if self.dates else write_numbers(times)

    def describe_step(self) -> str | None:
        """What a step is, in words; None without times."""
        if self.step is None:
            return None
        if self.calendar is not None:
            return str(self.calendar)
        return say_duration(self.step) if self.dates else f"{self.step:g} in the unit of the times"

    def duration(self, steps: int) -> float | None:
        """How many seconds so many steps take; None where nobody knows. Months count as a twelfth of a year."""
        if self.step is None or not self.dates:
            return None
        if isinstance(self.calendar, Months):
            return steps * self.calendar.each * _YEAR / 12
        if isinstance(self.calendar, Weekdays):
            return steps * _WEEK / len(self.calendar.days)
        return steps * self.step

    def steps_in(self, given: Any) -> float | None:
        """How many steps a length of time such as "2 days" has; None where the steps have no such length."""
        count, unit = parse_duration("horizon", given)
        if not self.dates or self.step is None:
            return None
        if isinstance(self.calendar, Months) or unit == "month":
            return count / self.calendar.each if isinstance(self.calendar, Months) and unit == "month" else None
        length = self.duration(1)
        return None if length is None else count / length

    def ahead(self, count: int) -> tuple[np.ndarray, bool]:
        """The next steps as numbers (without times 1, 2, …), and whether these are seconds of the local clock."""
        steps = np.arange(1, count + 1)
        if self.step is None:
            return steps.astype(float), False
        times = self.times_of(self.last_step + steps)
        return (times, True) if self.calendar is not None else (times - (self.last_offset or 0.0), False)

    def usual_periods(self) -> tuple[float, ...] | None:
        """The periods that clock and calendar suggest, in steps; None without dates."""
        step = self.duration(1)
        return None if step is None else usual_periods(step)

    def positions(self, before: int, ahead: int) -> np.ndarray | None:
        """The times of the last `before` steps and of the next `ahead` ones, as numbers; None without times."""
        if self.step is None:
            return None
        return self.times_of(self.last_step + np.arange(1 - before, ahead + 1))

    def times_of(self, steps: np.ndarray) -> np.ndarray:
        """When these steps begin by the local clock, counted from the first one; as numbers."""
        assert self.step is not None
        if self.calendar is not None:
            return self.calendar.time(steps)
        # On a regular grid steps follow the rows, on others the rows fall into steps that count from the first time.
        begin, counted = (self.last_time, steps - self.last_step) if self.regular else (self.start, steps)
        return begin + counted * self.step + (self.last_offset or 0.0)

    def _steps(self, rows: Rows) -> np.ndarray:
        times, step = rows.times, self.step
        assert times is not None
        assert step is not None
        if math.isnan(self.start):
            self.start = self.last_time = float(times[0])
            self.last_step = 0
        if self.calendar is not None:
            steps = self.calendar.step(_local(rows))
        elif self.regular:
            ahead = np.maximum(np.rint(np.diff(times, prepend=self.last_time) / step), 1).astype(int)
            if self.open_sum is None:
                ahead[0] = 0  # the very first row
            steps = self.last_step + np.cumsum(ahead)
        else:
            rounding = 1e-9 + 4 * np.spacing(np.abs(times).max()) / step
            steps = np.floor((times - self.start) / step + rounding).astype(int)
        self.last_time = float(times[-1])
        self.last_offset = None if rows.offsets is None else float(rows.offsets[-1])
        return steps

    def _fill(self, rows: Rows, steps: np.ndarray) -> np.ndarray:
        columns = rows.values.shape[1]
        begin = self.last_step
        jumps = np.diff(steps, prepend=self.last_step)
        if (jumps > _LONGEST_GAP).any():
            at = int((jumps > _LONGEST_GAP).argmax())
            place = Place(self.source, row=rows.first + at)
            raise TableError(Trouble("long gap", place, f"{jumps[at]:,}", more=(self.step,)))
        if (jumps > 1).any():
            if not self.gaps:
                self.first_gap = f"row {rows.first + int((jumps > 1).argmax())}"
            self.gaps += int((jumps > 1).sum())
            if jumps.max() > self.longest_gap:
                self.longest_gap, self.row_after_longest_gap = int(jumps.max()), rows.first + int(jumps.argmax())
        sums, counts = np.zeros((steps[-1] - begin + 1, columns)), np.zeros((steps[-1] - begin + 1, columns))
        if self.open_sum is not None and self.open_count is not None:
            sums[0], counts[0] = self.open_sum, self.open_count
        seen = np.isfinite(rows.values)
        np.add.at(sums, steps - begin, np.where(seen, rows.values, 0.0))
        np.add.at(counts, steps - begin, seen.astype(float))
        self.last_step, self.open_sum, self.open_count = int(steps[-1]), sums[-1], counts[-1]
        return self._mean(sums[:-1], counts[:-1])

    @staticmethod
    def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def grid_for(first: Rows, every: float | int | None, dates: bool = False, source: str = "the table") -> Grid:
    """The grid that fits the first rows, or has the step that was asked for."""
    if first.times is None:
        return Grid(None)
    apart = np.diff(first.times)
    if every is not None:
        step = positive_number("every", every, why="the length of a step")
    elif not len(apart):
        return Grid(None)
    else:
        step = _short(float(np.median(apart)), 4 * float(np.spacing(np.abs(first.times).max())))
        local = _local(first)
        if dates and (calendar := months_for(local) or weekdays_for(local, first.offsets)):
            return Grid(step, dates=dates, calendar=calendar, source=source)
    shares = apart / step
    whole = np.maximum(np.rint(shares), 1)
    regular = bool((np.abs(shares - whole) <= _JITTER * whole).mean() > 0.99) if len(shares) else True
    # A step that was asked for is meant: rows may jitter around its multiples, but not run away from them.
    if every is not None and abs((shares - whole).sum()) > 0.5:
        regular = False
    return Grid(step, regular, dates, source=source)


def _local(rows: Rows) -> np.ndarray:
    assert rows.times is not None
    return rows.times if rows.offsets is None else rows.times + rows.offsets


def _short(number: float, tolerance: float) -> float:
    """The shortest decimal this near: times a tenth apart are 0.10000000000000142 apart at 60."""
    rounded = (float(f"{number:.{digits}g}") for digits in range(1, 17))
    return next((one for one in rounded if abs(one - number) <= tolerance), number)
