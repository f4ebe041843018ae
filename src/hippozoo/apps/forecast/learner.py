"""Rows go in, and a forecast comes out: columns that learn alike are learnt together, and each is judged by itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.apps.forecast.backtest import COVERAGES, BackTest
from hippozoo.apps.forecast.beside import BLOCK, Beside, InputNames
from hippozoo.apps.forecast.grid import Grid, grid_for
from hippozoo.apps.forecast.times import seconds_of
from hippozoo.ensemble import EnsembleForecaster, EnsembleState, find_seasons, forecaster_for
from hippozoo.ensemble.state import Rolled
from hippozoo.tables import Rows
from hippozoo.zoo.forecasting import Forecast, ForecasterLike, StateLike, forecaster_with_candidates

__all__ = ["Choices", "Group", "Learner", "usual_horizon"]

Together = Literal["independent", "joint", "panel"]
# Steps that are forecast where nobody says how many; of a short table one in so many of its steps.
USUAL_HORIZON, _HORIZONS = 96, 8
# Columns that are learnt at once, where each learns by itself.
_AT_ONCE = 48
# Steps of the past that a picture may show.
_MOST_SHOWN = 4000
# Of more inputs than this it is not asked what each buys: every question is a back-test of its own.
_MOST_LEFT_OUT = 6


@dataclass(frozen=True)
class Choices:
    """What was asked for.

    Parameters
    ----------
    horizon
        Steps, or a length of time such as ``"2 days"``; None for the usual number.
    every
        Length of a step, in seconds (dates) or in the unit of the times, or as ``"1 hour"``; None for the usual
        distance of two rows.
    season
        Periods in steps; None to find those of each column; 1 for none.
    coverages
        Shares of values inside the bands.
    lower, upper
        Bounds that values cannot cross.
    together
        ``"independent"``, ``"joint"`` or ``"panel"``.
    inputs
        Columns that help and are not forecast.
    has_bands
        Whether bands are judged too.

    Examples
    --------
    >>> Choices(horizon=24, coverages=(0.95, 0.8, 0.8)).coverages
    (0.8, 0.95)
    """

    horizon: int | str | Any = None
    every: float | int | str | None = None
    season: int | Sequence[int] | None = None
    coverages: Sequence[float | int] = COVERAGES
    lower: float | int | None = None
    upper: float | int | None = None
    together: Together = "independent"
    inputs: InputNames = field(default_factory=InputNames)
    has_bands: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.horizon, int):
            whole_number("horizon", self.horizon, why="how many steps to forecast")
        for one in self.coverages:
            if not 0 < one < 1:
                raise ValueError(
                    f"coverage={one}: the share of values inside a band; pass a number between 0 and 1, for example "
                    f"0.95."
                )
        object.__setattr__(self, "coverages", tuple(sorted(set(self.coverages))))
        if self.together not in ("independent", "joint", "panel"):
            raise ValueError(f"together={self.together!r} is unknown; pass independent, joint or panel.")
        if self.together == "joint" and self.upper is not None:
            raise ValueError("together='joint' takes no upper bound; omit one of them.")
        if self.together == "joint" and self.inputs:
            raise ValueError("together='joint' takes no inputs (known, past, country); omit one of them.")


def usual_horizon(steps: int) -> int:
    """What nobody asked for otherwise: short enough to be learnt and judged.

    Examples
    --------
    >>> usual_horizon(80), usual_horizon(100_000)
    (10, 96)
    """
    return max(1, min(USUAL_HORIZON, steps // _HORIZONS))


@dataclass
class Group:
    """Columns that share a forecaster and whose values have come, and were missing, at the same steps so far.

    Parameters
    ----------
    columns
        Their places in the table.
    forecaster, state
        What has learnt them, and what was learnt.
    test
        How forecasts did on the way.
    beside, beside_state
        Where the forecaster has no simple experts: an ensemble that has, for the rivals of the back-test.
    """

    columns: tuple[int, ...]
    forecaster: ForecasterLike[Any]
    state: StateLike
    test: BackTest
    beside: EnsembleForecaster | None = None
    beside_state: EnsembleState | None = None

    def learn(self, values: np.ndarray) -> None:
        """Learn the next steps, (steps, columns), and test forecasts on the way."""
        begin, mask = 0, np.isfinite(values)
        while begin < len(values):
            end = begin + self.test.steps_until_bands(mask[begin:])
            self._learn_piece(values[begin:end], mask[begin:end])
            if self.test.bands_are_due():
                self._issue_bands()
            begin = end

    def _learn_piece(self, values: np.ndarray, mask: np.ndarray) -> None:
        if isinstance(self.forecaster, EnsembleForecaster):
            begin, started = 0, round(self.state.time)
            for state, rolled in self.forecaster.roll(cast("EnsembleState", self.state), values, mask):
                self.state, end = state, round(state.time) - started
                self.test.take_in(values[begin:end], rolled)
                begin = end
            return
        self.state = self.forecaster.learn(self.state, values, mask=mask)
        assert self.beside is not None
        assert self.beside_state is not None
        self.beside_state = self.beside.learn(self.beside_state, values, mask=mask)
        self.test.take_in(values)

    def _issue_bands(self) -> None:
        forecast = self.forecaster.forecast(self.state)
        if self.beside is not None and self.beside_state is not None:
            # No forecasts were read off on the way: those whose bands are judged stand for them.
            issued = self.beside.forecast(self.beside_state).issued
            mean = forecast.mean(forecast.leads(self.test.horizon))
            origin = np.array([self.test.steps])
            self.test.take_in(np.empty((0, len(self.columns))), Rolled(origin, mean[:, None], issued.experts[:, None]))
        self.test.add_bands(forecast)

    def forecast(self) -> Forecast:
        """What comes next."""
        return self.forecaster.forecast(self.state)

    def simple(self, channel: int, rival: str) -> np.ndarray:
        """What a rival of the back-test forecasts; of several of one name the mean."""
        state = self.state if self.beside_state is None else self.beside_state
        maker = self.forecaster if self.beside is None else self.beside
        issued = cast("EnsembleForecaster", maker).forecast(cast("EnsembleState", state)).issued
        places = [place for place, name in enumerate(self.test.names) if name == rival]
        return issued.experts[channel][:, places].mean(axis=1)

    def split(self, values: np.ndarray) -> Iterator[Group]:
        """Groups whose values come, and are missing, at the same of the next steps."""
        known = np.isfinite(values)
        patterns: dict[bytes, list[int]] = {}
        for place in range(len(self.columns)):
            patterns.setdefault(np.packbits(known[:, place]).tobytes(), []).append(place)
        if len(patterns) == 1:
            yield self
            return
        state = cast("EnsembleState", self.state)
        for places in patterns.values():
            chosen = np.array(places)
            yield Group(
                tuple(self.columns[place] for place in places),
                self.forecaster,
                replace(state, mixture=state.mixture.channels(chosen)),
                self.test.columns(places),
            )

    def copy(self) -> Group:
        """Another one that goes on by itself."""
        return replace(self, test=self.test.copy())


@dataclass
class Learner:
    """Takes rows in and learns them; `groups` hold what was learnt.

    Parameters
    ----------
    columns, dates, source
        Names of the columns, whether times are dates, and where the rows come from, for messages.
    choices
        What was asked for.
    grid
        Steps from rows.
    horizon
        Steps ahead.
    groups
        Columns by how they are learnt.
    rows, missing, lowest, highest, learnt, recent
        Rows so far, values missing among the steps, ranges of the columns, whether anything could be learnt, and the
        last steps for pictures.
    beside
        What is known of inputs; None without any.
    without
        Learners of the same rows without all inputs (under "") and, of several, without each: what inputs buy.
    """

    columns: tuple[str, ...]
    dates: bool
    source: str
    choices: Choices
    grid: Grid
    horizon: int
    groups: list[Group]
    lowest: np.ndarray
    highest: np.ndarray
    recent: np.ndarray
    rows: int = 0
    missing: int = 0
    learnt: bool = False
    beside: Beside | None = None
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
            look = beside.copy()
            if future is not None:
                look.add_future(future, grid.last_time)
            horizon = min(horizon, len(look.ahead(grid)) or horizon)
        found = cls(
            columns,
            dates,
            source,
            choices,
            grid,
            horizon,
            _groups(choices, horizon, whole[:, : len(columns)], grid),
            lowest=np.full(len(columns), np.inf),
            highest=np.full(len(columns), -np.inf),
            recent=whole[:0, : len(columns)],
            rows=len(first.values),
            beside=beside,
        )
        for label, fewer in _without(choices):
            part = _fewer(first, len(columns), choices.inputs, fewer.inputs)
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
            one.take_in(_fewer(rows, len(self.columns), self.choices.inputs, one.choices.inputs))
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
            groups=[group.copy() for group in self.groups],
            beside=None if self.beside is None else self.beside.copy(),
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
            if one.beside is not None and done.beside is not None and done.beside.future is not None:
                one.beside.future = _fewer(
                    done.beside.future, len(self.columns), self.choices.inputs, one.choices.inputs
                )
            done.without[label] = one.finish()
        return done

    def _learn(self, values: np.ndarray) -> None:
        for begin in range(0, len(values), BLOCK if self.beside is not None else len(values) or 1):
            self._learn_block(values[begin : begin + BLOCK] if self.beside is not None else values)

    def _learn_block(self, values: np.ndarray) -> None:
        if self.beside is not None:
            known, past = self.beside.told(values, self.grid)
            self._tell(known, past)
            values = values[:, : len(self.columns)]
        self.missing += int(np.isnan(values).sum())
        self.lowest = np.fmin(self.lowest, np.fmin.reduce(values, axis=0, initial=np.inf))
        self.highest = np.fmax(self.highest, np.fmax.reduce(values, axis=0, initial=-np.inf))
        self.recent = np.concatenate([self.recent, values])[-self._shown() :]
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

    def _shown(self) -> int:
        """Steps of the past that pictures may need: ten forecasts, or two seasons."""
        longest = max((1, *(season for group in self.groups for season in group.test.seasons)))
        return min(max(11 * self.horizon, 2 * longest, 48), _MOST_SHOWN)

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


def _fewer(rows: Rows, columns: int, inputs: InputNames, fewer: InputNames) -> Rows:
    """The same rows with fewer inputs after the columns."""
    places = [columns + place for place, name in enumerate(inputs.columns) if name in fewer.columns]
    return Rows(rows.first, rows.times, rows.values[:, [*range(columns), *places]], rows.offsets)


def _horizon(asked: Any, steps: int, grid: Grid) -> int:
    if asked is None:
        return usual_horizon(steps)
    if isinstance(asked, (int, np.integer)) and not isinstance(asked, (bool, np.timedelta64)):
        return whole_number("horizon", asked, why="how many steps to forecast")
    if isinstance(asked, float):
        raise TypeError(f"horizon={asked}: how many steps to forecast; pass a whole number, or a text as '2 days'.")
    if isinstance(asked, str) and asked.strip().isdigit():
        return whole_number("horizon", int(asked), why="how many steps to forecast")
    found = grid.steps_in(asked)
    if found is None or abs(found - round(found)) > 1e-6 or round(found) < 1:
        step = grid.describe_step()
        whole = f"a step is {step}" if grid.dates and step else "the rows have no dates"
        raise ValueError(f"horizon={shorten(asked)}: {whole}; pass a whole number of steps, as horizon=24.")
    return round(found)


def _groups(choices: Choices, horizon: int, opening: np.ndarray, grid: Grid) -> list[Group]:
    """One group for each way to learn; columns that learn by themselves are grouped by their seasons."""
    count, together = opening.shape[1], choices.together
    if together == "independent" and choices.season is None:
        usual = grid.usual_periods()
        seasons = [_find(opening[:, c], usual) for c in range(count)]
    else:
        seasons = [
            _given(choices.season) if choices.season is not None else _find(opening, grid.usual_periods())
        ] * count
    alike: dict[tuple[int, ...], list[int]] = {}
    for column, one in enumerate(seasons):
        alike.setdefault(one, []).append(column)
    most = _AT_ONCE if together == "independent" else count
    return [
        _group(choices, horizon, found, tuple(columns[first : first + most]))
        for found, columns in alike.items()
        for first in range(0, len(columns), most)
    ]


def _find(values: np.ndarray, usual: tuple[float, ...] | None) -> tuple[int, ...]:
    return find_seasons(values) if usual is None else find_seasons(values, usual=usual)


def _given(season: int | Sequence[int]) -> tuple[int, ...]:
    several = (season,) if isinstance(season, int) else tuple(season)
    return tuple(sorted({one for one in (whole_number("season", each) for each in several) if one > 1}))


def _group(choices: Choices, horizon: int, seasons: tuple[int, ...], columns: tuple[int, ...]) -> Group:
    bounds: dict[str, Any] = {"lower": choices.lower}
    # Joint columns belong to one map; all else is forecast by an ensemble.
    if choices.together == "joint":
        forecaster = forecaster_with_candidates(float(horizon), season=seasons or None, together="joint", **bounds)
        beside = forecaster_for(float(horizon), season=seasons or None, **bounds)
        beside_state = beside.initial_state(len(columns))
    else:
        together = "panel" if choices.together == "panel" else "independent"
        forecaster = forecaster_for(
            float(horizon),
            season=seasons or None,
            together=together,
            upper=choices.upper,
            known=choices.inputs.ahead,
            past=len(choices.inputs.past),
            **bounds,
        )
        beside, beside_state = None, None
    names = (beside or cast("EnsembleForecaster", forecaster)).mixer.names
    test = BackTest.begin(horizon, names, seasons, len(columns), tuple(map(float, choices.coverages)))
    if not choices.has_bands:
        test.due = sys.maxsize
    return Group(columns, forecaster, forecaster.initial_state(len(columns)), test, beside, beside_state)
