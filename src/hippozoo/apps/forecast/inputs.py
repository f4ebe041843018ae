"""Inputs of a table on their way to the forecaster: rows of the future, and steps that wait for them.

An input that is known over the horizon stands in rows after the last value of the columns to forecast, or is worked out
from the calendar. A step is learnt once the inputs are known as far ahead as the forecast from it reaches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hippozoo.apps.forecast.calendar import find_country, holidays_in
from hippozoo.apps.forecast.grid import Grid
from hippozoo.tables import Rows
from hippozoo.tables.trouble import unusable

__all__ = ["Beside", "InputNames"]

# Rows whose inputs are learnt at once: features of more would fill the memory.
BLOCK = 4096


@dataclass(frozen=True)
class InputNames:
    """Columns that are not forecast but help: `known` over the horizon, or up to now (`past`); and holidays.

    >>> names = InputNames(known=("price",), past=("wind",), country="DE")
    >>> names.labels, names.ahead
    (('price', 'holidays of DE', 'wind'), 2)
    """

    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    country: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.known, *self.past):
            if (self.known + self.past).count(name) > 1:
                raise ValueError(f"the input {name!r} is named twice; name each once.")
        if self.country is not None:
            find_country(self.country)

    def __bool__(self) -> bool:
        return bool(self.known or self.past or self.country)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that are read from the table, after the columns to forecast."""
        return self.known + self.past

    @property
    def ahead(self) -> int:
        """How many are known over the horizon."""
        return len(self.known) + (self.country is not None)

    @property
    def labels(self) -> tuple[str, ...]:
        """All of them, as the forecaster takes them."""
        return (*self.known, *([f"holidays of {self.country}"] if self.country else []), *self.past)

    def without(self, label: str) -> InputNames:
        """All but one."""
        return InputNames(
            tuple(one for one in self.known if one != label),
            tuple(one for one in self.past if one != label),
            None if label == f"holidays of {self.country}" else self.country,
        )


@dataclass
class Beside:
    """What is known of inputs, which stand in each row after the `targets`, the columns to forecast.

    `future` are rows after the last value of these, and `waiting` steps that are not learnt yet, since their inputs are
    not known far enough.
    """

    names: InputNames
    targets: int
    future: Rows | None = None
    waiting: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    steps: int = 0

    def __post_init__(self) -> None:
        if not self.waiting.size:
            self.waiting = np.empty((0, self.targets))

    def present(self, rows: Rows) -> Rows:
        """The rows up to the last one with a value to forecast; those after it are kept for later."""
        if not self.names.known:
            return rows
        whole = rows if self.future is None else Rows.joined([self.future, rows])
        seen = np.flatnonzero(np.isfinite(whole.values[:, : self.targets]).any(axis=1))
        if not len(seen) and self.steps == 0 and self.future is None:
            return rows  # there is nothing to forecast, which is said elsewhere
        end = int(seen[-1]) + 1 if len(seen) else 0
        self.future = whole.part(end) if end < len(whole.values) else None
        return whole.part(0, end)

    def add_future(self, rows: Rows, last: float) -> None:
        """Rows with inputs alone, as far as they are after the `last` time; they replace what was known."""
        if rows.times is not None:
            rows = rows.part(int(np.searchsorted(rows.times, last, side="right")))
        if not len(rows.values):
            return
        if self.future is None:
            self.future = rows
        elif rows.times is None or self.future.times is None:
            self.future = Rows.joined([self.future, rows])
        else:
            before = int(np.searchsorted(self.future.times, rows.times[0]))
            self.future = Rows.joined([self.future.part(0, before), rows])

    def take_future(self, rows: int) -> Rows | None:
        """What is known of the future, for one who brings so many rows of the present; it is known no longer here."""
        found, self.future = self.future, None
        if found is not None and found.times is None:
            found = found.part(rows)
        return found

    def inputs_of(self, values: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the next steps: those known over the horizon, and those known up to now."""
        end = self.targets + len(self.names.known)
        known, past = values[:, self.targets : end], values[:, end:]
        if self.names.country:
            known = np.column_stack([known, self._holidays(self.steps + np.arange(len(values)), grid)])
        self.steps += len(values)
        return known, past

    def ahead(self, grid: Grid) -> np.ndarray:
        """Inputs of the steps after the present one, as far as they are known; the last step is still open."""
        rows = self.future
        if rows is None or not len(rows.values):
            return np.empty((0, len(self.names.known)))
        look = replace(grid)
        steps = look.place(rows)
        if look.last().size:
            steps = np.concatenate([steps, look.last()])[1:]
        return steps[:, self.targets : self.targets + len(self.names.known)]

    def over_horizon(self, grid: Grid, horizon: int, source: str) -> np.ndarray:
        """All inputs over the horizon; refused where one is missing."""
        found = self.ahead(grid)[:horizon]
        if self.names.known:
            missing = np.argwhere(np.isnan(found))
            if len(missing):
                step, column = missing[0].tolist()
                said = (
                    f"column {self.names.known[column]!r} has no value {_when(grid, step)}, and the forecast needs it; "
                    f"fill it in, or name the column with --with (past=), as one that is known up to now"
                )
                raise unusable(source, said)
            if len(found) < horizon:
                shorter = f", or forecast {len(found)} steps" if len(found) else ""
                said = (
                    f"{', '.join(map(repr, self.names.known))} must be known for {horizon} steps after the last value, "
                    f"and {'is not' if not len(found) else f'ends {len(found)} steps after it'}; add rows up to "
                    f"{_when(grid, horizon - 1).removeprefix('at ')} with the columns to forecast left empty, or pass "
                    f"them with --future (future=){shorter}"
                )
                raise unusable(source, said)
        if self.names.country:
            steps = grid.last_step + 1 + np.arange(horizon)
            free = self._holidays(steps, grid)
            found = np.column_stack([found, free]) if self.names.known else free[:, None]
        return found

    def _holidays(self, steps: np.ndarray, grid: Grid) -> np.ndarray:
        if not grid.dates or grid.step is None:
            raise ValueError(f"country={self.names.country}: holidays need dates, and the rows have none; omit it.")
        times = grid.times_of(np.append(steps, steps[-1:] + 1)) if len(steps) else np.empty(1)
        assert self.names.country is not None
        return holidays_in(self.names.country, times[:-1], times[1:])


def _when(grid: Grid, step: int) -> str:
    """When the step so many after the next one begins, in words."""
    if grid.step is None:
        return f"in row {step + 1} after the last"
    moment = grid.times_of(np.array([grid.last_step + 1 + step]))
    return f"at {grid.write(moment)[0]}"
