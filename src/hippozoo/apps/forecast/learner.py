"""Rows go in, and a forecast comes out: columns that learn alike are learnt together, and each is judged by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.apps.forecast.grid import Grid, grid_for
from hippozoo.apps.forecast.group import Choices, Group, Together, groups_for
from hippozoo.apps.forecast.inputs import BLOCK, Beside, InputNames
from hippozoo.apps.forecast.times import seconds_of
from hippozoo.ensemble import EnsembleForecaster, EnsembleState
from hippozoo.tables import Rows

__all__ = ["Choices", "Group", "Learner", "Together", "usual_horizon"]

# Steps that are forecast where nobody says how many; of a short table one in so many of its steps.
USUAL_HORIZON, _HORIZONS = 96, 8
# Steps of the past that a picture may show.
_MOST_SHOWN = 4000
# Of more inputs than this it is not asked what each buys: every question is a back-test of its own.
_MOST_LEFT_OUT = 6


def usual_horizon(steps: int) -> int:
    """What nobody asked for otherwise: short enough to be learnt and judged."""
    return max(1, min(USUAL_HORIZON, steps // _HORIZONS))


@dataclass
class Learner:
    """Takes rows in and learns them; `groups` hold what was learnt."""

    columns: tuple[str, ...]
    dates: bool
    source: str  # for messages
    choices: Choices
    grid: Grid
    horizon: int
    groups: list[Group]
    lowest: np.ndarray
    highest: np.ndarray
    recent: np.ndarray  # the last steps, for pictures
    rows: int = 0
    missing: int = 0  # values among the steps
    learnt: bool = False  # whether anything could be
    beside: Beside | None = None
    # The same rows without all inputs (under "") and, of several, without each: what inputs buy.
    without: dict[str, Learner] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        columns: tuple[str, ...],
        dates: bool,
        source: str,
        choices: Choices,
        first: Rows,
        future: Rows | None = None,
    ) -> Learner:
        """A learner for rows like the first ones, which say how long steps are and what seasons there are.

        The values of inputs stand after the columns in each row; `future` are rows after all that come.
        """
        if choices.every is not None and first.times is None:
            raise ValueError(
                f"every={choices.every} is a length of time, and the rows have no times; name their column with "
                f"--time, or omit --every."
            )
        beside = Beside(choices.inputs, len(columns)) if choices.inputs else None
        if beside is not None:
            first = beside.present(first)
        every = choices.every if not isinstance(choices.every, str) else seconds_of("every", choices.every)
        grid = grid_for(first, every, dates, source)
        opening = grid.place(first)
        # The step that is still open counts: without it, 36 months would not be three years.
        whole = np.concatenate([opening, grid.last()]) if grid.last().size else opening
        horizon = _horizon(choices.horizon, len(whole), grid)
        if choices.horizon is not None:
            choices = replace(choices, horizon=horizon)
        elif beside is not None and choices.inputs.known:
            # What is known of the future says how far the forecast can go.
            look = replace(beside)
            if future is not None:
                look.add_future(future, grid.last_time)
            horizon = min(horizon, len(look.ahead(grid)) or horizon)
        whole, nothing = whole[:, : len(columns)], np.full(len(columns), np.inf)
        groups = groups_for(choices, horizon, whole, grid)
        found = cls(columns, dates, source, choices, grid, horizon, groups, nothing, -nothing, whole[:0])
        found.rows, found.beside = len(first.values), beside
        for label, fewer in _without(choices):
            part = _fewer(first, choices.inputs, fewer.inputs)
            found.without[label] = cls.begin(columns, dates, source, replace(fewer, horizon=horizon), part)
        found._learn(opening)
        return found

    def take_in(self, rows: Rows) -> None:
        """More rows."""
        if self.beside is not None:
            rows = self.beside.present(rows)
        if not len(rows.values):
            return
        for one in self.without.values():
            one.take_in(_fewer(rows, self.choices.inputs, one.choices.inputs))
        values = self.grid.place(rows)
        self.rows += len(rows.values)
        self._learn(values)

    def add_future(self, rows: Rows) -> None:
        """Rows after all others, which hold inputs alone; what does not come after them is passed over."""
        if (rows.times is None) != (self.grid.step is None):
            raise ValueError("the rows of the future have times and the others have none, or the other way round.")
        if self.beside is not None:
            self.beside.add_future(rows, self.grid.last_time)

    def copy(self) -> Learner:
        """Another one that goes on by itself."""
        return replace(
            self,
            grid=replace(self.grid),
            groups=[replace(group, test=group.test.copy()) for group in self.groups],
            beside=None if self.beside is None else replace(self.beside),
            without={label: one.copy() for label, one in self.without.items()},
        )

    def finish(self) -> Learner:
        """The same with the last step, which another row could still have joined; this one can go on."""
        done = self.copy()
        ahead = None if done.beside is None else done.beside.over_horizon(done.grid, self.horizon, self.source)
        rest = done.grid.flush()
        if rest.size:
            done._learn(rest)
        if done.beside is not None and ahead is not None and done.beside.names.ahead:
            done._tell(ahead, np.empty((0, len(done.beside.names.past))))
            done._learn_steps(done.beside.waiting)
            done.beside.waiting = done.beside.waiting[:0]
        for label, one in done.without.items():
            future = None if done.beside is None else done.beside.future
            if one.beside is not None and future is not None:
                one.beside.future = _fewer(future, self.choices.inputs, one.choices.inputs)
            done.without[label] = one.finish()
        return done

    def _learn(self, values: np.ndarray) -> None:
        size = BLOCK if self.beside is not None else max(len(values), 1)
        for begin in range(0, len(values), size):
            self._learn_block(values[begin : begin + size])

    def _learn_block(self, values: np.ndarray) -> None:
        if self.beside is not None:
            self._tell(*self.beside.inputs_of(values, self.grid))
            values = values[:, : len(self.columns)]
        self.missing += int(np.isnan(values).sum())
        self.lowest = np.fmin(self.lowest, np.fmin.reduce(values, axis=0, initial=np.inf))
        self.highest = np.fmax(self.highest, np.fmax.reduce(values, axis=0, initial=-np.inf))
        # Pictures may need ten forecasts, or two seasons.
        shown = min(max(11 * self.horizon, 2 * max(self.seasons, default=1), 48), _MOST_SHOWN)
        self.recent = np.concatenate([self.recent, values])[-shown:]
        if self.beside is not None and self.beside.names.ahead:
            # A step can be learnt once its inputs are known over the horizon.
            waiting = np.concatenate([self.beside.waiting, values])
            end = max(len(waiting) - self.horizon, 0)
            values, self.beside.waiting = waiting[:end], waiting[end:]
        self._learn_steps(values)

    def _tell(self, known: np.ndarray, past: np.ndarray) -> None:
        """More rows of the inputs."""
        for group in self.groups:
            forecaster = cast("EnsembleForecaster", group.forecaster)
            group.state = forecaster.tell(cast("EnsembleState", group.state), known, past)

    def _learn_steps(self, values: np.ndarray) -> None:
        if not len(values):
            return
        if self.choices.together == "independent":
            self.groups = [part for group in self.groups for part in group.split(values[:, list(group.columns)])]
        for group in self.groups:
            group.learn(np.ascontiguousarray(values[:, list(group.columns)]))
        self.learnt = self.learnt or any(group.state.pairs > 0 for group in self.groups)

    @property
    def seasons(self) -> tuple[int, ...]:
        """The periods that were found or given in any column, in steps."""
        return tuple(sorted({season for group in self.groups for season in group.test.seasons}))

    def by_column(self) -> list[tuple[Group, int]]:
        """For each column its group, and its place in it."""
        found: dict[int, tuple[Group, int]] = {}
        for group in self.groups:
            found |= {column: (group, place) for place, column in enumerate(group.columns)}
        return [found[column] for column in range(len(self.columns))]


def _without(choices: Choices) -> Iterator[tuple[str, Choices]]:
    """What is left where all inputs, or each of several, are left out; without bands."""
    if not choices.inputs or not choices.has_bands:
        return
    yield "", replace(choices, inputs=InputNames(), has_bands=False)
    if 1 < len(choices.inputs.labels) <= _MOST_LEFT_OUT:
        for label in choices.inputs.labels:
            yield label, replace(choices, inputs=choices.inputs.without(label), has_bands=False)


def _fewer(rows: Rows, inputs: InputNames, fewer: InputNames) -> Rows:
    """The same rows with fewer inputs after the columns."""
    columns = rows.values.shape[1] - len(inputs.columns)
    places = [columns + place for place, name in enumerate(inputs.columns) if name in fewer.columns]
    return Rows(rows.first, rows.times, rows.values[:, [*range(columns), *places]], rows.offsets)


def _horizon(asked: Any, steps: int, grid: Grid) -> int:
    if asked is None:
        return usual_horizon(steps)
    if isinstance(asked, str) and asked.strip().isdigit():
        asked = int(asked)
    if isinstance(asked, (int, np.integer)) and not isinstance(asked, (bool, np.timedelta64)):
        return whole_number("horizon", asked, why="how many steps to forecast")
    if isinstance(asked, float):
        raise TypeError(f"horizon={asked}: how many steps to forecast; pass a whole number, or a text as '2 days'.")
    found = grid.steps_in(asked)
    if found is None or abs(found - round(found)) > 1e-6 or round(found) < 1:
        step = grid.describe_step()
        whole = f"a step is {step}" if grid.dates and step else "the rows have no dates"
        raise ValueError(f"horizon={shorten(asked)}: {whole}; pass a whole number of steps, as horizon=24.")
    return round(found)
