"""From rows with times to evenly spaced steps, chunk by chunk."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hippozoo._arguments import positive_number
from hippozoo.tasks.tables import Rows

__all__ = ["Grid", "grid_for"]

# Steps within this share of a whole number of steps are on the grid.
_JITTER = 0.2


@dataclass
class Grid:
    """Rows on evenly spaced steps: gaps become missing rows, rows that share a step are averaged.

    Without times every row is a step. Where times are nearly regular (months are) a row is as many steps after the
    one before as its time says, rounded; where they are not, steps count from the first time.
    """

    step: float | None
    regular: bool = True
    start: float = math.nan
    last_time: float = math.nan
    last_step: int = -1
    gaps: int = 0
    first_gap: str = ""
    open_sum: np.ndarray | None = None
    open_count: np.ndarray | None = None

    def place(self, rows: Rows) -> np.ndarray:
        """The values of all steps that are complete, (steps, columns), NaN where missing."""
        if rows.times is None or self.step is None:
            return rows.values
        steps = self._steps(rows)
        return self._fill(rows, steps)

    def flush(self) -> np.ndarray:
        """The last step, once no row can join it."""
        if self.open_sum is None or self.open_count is None:
            return np.empty((0, 0))
        values = self._mean(self.open_sum[None], self.open_count[None])
        self.open_sum = self.open_count = None
        return values

    def _steps(self, rows: Rows) -> np.ndarray:
        times, step = rows.times, self.step
        assert times is not None
        assert step is not None
        if math.isnan(self.start):
            self.start = self.last_time = float(times[0])
            self.last_step = 0
        if self.regular:
            ahead = np.maximum(np.rint(np.diff(times, prepend=self.last_time) / step), 1).astype(int)
            if self.open_sum is None:
                ahead[0] = 0  # the very first row
            steps = self.last_step + np.cumsum(ahead)
        else:
            steps = np.floor((times - self.start) / step + 1e-9).astype(int)
        self.last_time = float(times[-1])
        return steps

    def _fill(self, rows: Rows, steps: np.ndarray) -> np.ndarray:
        columns = rows.values.shape[1]
        begin = self.last_step
        jumps = np.diff(steps, prepend=self.last_step)
        if (jumps > 1).any():
            if not self.gaps:
                self.first_gap = f"row {rows.first + int((jumps > 1).argmax())}"
            self.gaps += int((jumps > 1).sum())
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


def grid_for(first: Rows, every: float | int | None) -> Grid:
    """The grid that fits the first rows, or has the step that was asked for."""
    if first.times is None:
        return Grid(None)
    if every is not None:
        step = positive_number("every", every, why="the length of a step")
    elif len(first.times) < 2:
        return Grid(None)
    else:
        step = float(np.median(np.diff(first.times)))
    shares = np.diff(first.times) / step
    whole = np.maximum(np.rint(shares), 1)
    regular = bool((np.abs(shares - whole) <= _JITTER * whole).mean() > 0.99) if len(shares) else True
    return Grid(step, regular)
