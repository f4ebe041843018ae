"""Learn a table in one pass and forecast what comes next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from hippozoo._arguments import whole_number
from hippozoo.forecast_command.backtest import COVERAGES, BackTest
from hippozoo.forecast_command.durations import say_last
from hippozoo.forecast_command.grid import Grid, grid_for
from hippozoo.tables import CHUNK_ROWS, Rows, Table, TableError, read_table
from hippozoo.zoo.forecasting import Forecast, Forecaster, ForecasterState, find_seasons, forecaster_for
from hippozoo.zoo.forecasting.mixed_forecast import MixedForecast

__all__ = ["ForecastRun", "forecast_table"]

# Steps that are forecast where nobody says how many; of a short table one in so many of its steps.
_USUAL_HORIZON, _HORIZONS = 96, 8
# Below it no horizon is worth proposing.
_FEW = 4
# The first forecast that is judged is made after three horizons, and one more must come.
_JUDGED = 4
# Columns beyond which a table is wide.
_WIDE = 16
# Columns that are learnt at once, where each learns by itself.
_AT_ONCE = 48
# Columns that a note names.
_NAMED = 5
# Steps of the past that a picture may show.
_MOST_SHOWN = 4000


@dataclass(frozen=True, eq=False)
class ForecastRun:
    """Everything that was found out about a table.

    Parameters
    ----------
    columns
        The columns that were forecast.
    rows, steps, missing, gaps
        Rows read, steps they fill, values missing among them, and gaps in the times.
    left_out
        The columns that nobody named and that hold no numbers, and why.
    time
        The column of times; None if rows are steps.
    step
        Time between steps, in seconds or in the unit of the time column (of calendar months, the usual one); None
        without times.
    step_name
        The same in words.
    times
        The times of the steps that are forecast, as text; None without times.
    positions
        The times of the `recent` steps and of those that are forecast, as numbers (dates: seconds since 1970 by the
        local clock); None without times.
    dates
        Whether times are dates.
    seasons, season_names
        The periods that were found or given, in steps, and what stands one period back, in words ("last week").
    forecaster, states
        What was learnt: one state, or of a wide table, whose columns learn by themselves, one for every so many.
    forecast
        What comes next.
    backtest
        How forecasts did on the way.
    recent
        The last steps, for pictures.
    longest_gap, row_after_longest_gap
        How many steps the row after the longest gap is after the one before it, and its number; 0 without gaps.
    until_validated
        How many more rows each column needs until its bands are measured, of those that need some.
    notes
        What was skipped, and what looks wrong.
    """

    columns: tuple[str, ...]
    rows: int
    steps: int
    missing: int
    gaps: int
    first_gap: str
    left_out: Mapping[str, str]
    time: str | None
    step: float | None
    step_name: str | None
    times: tuple[str, ...] | None
    positions: np.ndarray | None
    dates: bool
    seasons: tuple[int, ...]
    season_names: tuple[str, ...]
    forecaster: Forecaster
    states: tuple[ForecasterState, ...]
    forecast: Forecast
    backtest: BackTest
    recent: np.ndarray
    longest_gap: int
    row_after_longest_gap: int
    until_validated: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def state(self) -> ForecasterState:
        """What was learnt, of a table that is not wide."""
        if len(self.states) != 1:
            raise ValueError(
                f"{len(self.columns)} columns were learnt in {len(self.states)} groups to save memory; take `states`."
            )
        return next(iter(self.states))

    @property
    def rows_until_validated(self) -> int:
        """How many more rows are needed until all bands are measured; 0 if they are."""
        return max(self.until_validated.values(), default=0)


def forecast_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    horizon: int | None = None,
    every: float | int | None = None,
    season: int | Sequence[int] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    progress: Callable[[float], None] = lambda fraction: None,
    *,
    rows_are_steps: bool = False,
    coverages: Sequence[float | int] = COVERAGES,
    lower: float | int | None = None,
    together: Literal["independent", "joint", "panel"] = "independent",
) -> ForecastRun:
    r"""Read, check and learn a table in one pass; forecast the `horizon` steps after its end.

    Parameters
    ----------
    path, columns, chunk_rows
        As of `hippozoo.tables.read_table`.
    time
        The column of times; by default the column of dates, if there is one.
    horizon
        Steps to forecast; by default 96, or an eighth of the steps of a shorter table, so that forecasts can be judged
        with an error bar.
    every
        The length of a step, in seconds (dates) or in the unit of the time column; by default the usual distance of
        two rows.
    season
        A period in steps, or several; by default those that `find_seasons` finds in the first chunk. 1 for none.
    progress
        Called with the share of the file that was read.
    rows_are_steps
        Take the rows as even steps, also where a column holds dates.
    coverages
        The bands to give, as shares of values inside.
    lower
        A bound that no value can fall below, such as 0 for counts.
    together
        ``"joint"``: forecast each column from the past of all; ``"independent"``: from its own; ``"panel"``: from its
        own, by what all have taught: columns of one kind that differ in size.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wave.csv"
    ...     rows = "\n".join(str(np.sin(t / 4)) for t in range(800))
    ...     _ = path.write_text("wave\n" + rows)
    ...     run = forecast_table(path, horizon=12)
    >>> bool(np.abs(run.forecast.samples()[0] - np.sin(np.arange(800, 812) / 4)).max() < 0.1)
    True
    """
    if horizon is not None:
        whole_number("horizon", horizon, why="how many steps to forecast")
    if rows_are_steps and time is not None:
        raise ValueError(f"time={time!r} and rows_are_steps=True exclude each other; pass one of them.")
    bands = _coverages(coverages)
    table = read_table(path, columns, time, chunk_rows, find_time=not rows_are_steps)
    if every is not None and table.time is None:
        raise ValueError(
            f"every={every} is a length of time, and the rows have no times; name their column with --time, or leave "
            f"--every out."
        )
    first, read = next(table.chunks)
    grid = grid_for(first, every, table.dates, str(path))
    opening = grid.place(first)
    steps_ahead = _usual_horizon(len(opening)) if horizon is None else horizon
    seasons = _seasons(season, opening, grid)
    forecaster = forecaster_for(float(steps_ahead), season=seasons or None, lower=lower, together=together)
    groups = _groups(len(table.columns), together)
    states = [forecaster.initial_state(group.stop - group.start) for group in groups]
    # Origins half a horizon apart overlap, and the error bars know it; in a wide table each one costs too much.
    stride = steps_ahead if len(table.columns) > _WIDE else max(1, steps_ahead // 2)
    test = BackTest(steps_ahead, seasons, stride, due=(_JUDGED - 1) * steps_ahead, coverages=bands)
    shown = min(max(4 * steps_ahead, 2 * max((1, *seasons)), 48), _MOST_SHOWN)
    recent, rows, missing, seen = opening[:0], 0, 0, 0
    lowest, highest, learnt = np.full(len(table.columns), np.inf), np.full(len(table.columns), -np.inf), False
    for values, count, done in _chunks(table, grid, opening, first, read):
        rows += count
        missing += int(np.isnan(values).sum())
        lowest = np.fmin(lowest, np.fmin.reduce(values, axis=0, initial=np.inf))
        highest = np.fmax(highest, np.fmax.reduce(values, axis=0, initial=-np.inf))
        seen = _learn(forecaster, groups, states, test, values, seen)
        learnt = learnt or _pairs(states) > 0  # after a long gap a channel begins anew
        recent = np.concatenate([recent, values])[-shown:]
        progress(min(done / table.size, 1.0))
    begun, steps = np.concatenate([state.begun for state in states]), round(states[0].time)
    if not begun.all():
        empty = ", ".join(repr(table.columns[c]) for c in np.flatnonzero(~begun))
        raise TableError(f"{path}: column {empty} holds no number; leave it out.")
    if not learnt:
        raise TableError(f"{path}: {_too_few(steps, steps_ahead)}")
    forecast = _forecast(forecaster, states)
    waiting = np.array(_until_validated(forecaster, states))
    if waiting.any():
        # A constant makes no errors, and its bands have no width: there is nothing to measure.
        lower_end, upper_end = forecast.band(forecast.leads(), max(bands))
        waiting[(highest == lowest) & (upper_end == lower_end).all(axis=1)] = 0
    missing_rows = {name: count for name, count in zip(table.columns, waiting.tolist(), strict=True) if count}
    return ForecastRun(
        table.columns,
        rows,
        steps,
        missing,
        grid.gaps,
        grid.first_gap,
        table.left_out,
        table.time,
        grid.step,
        grid.describe_step(),
        grid.times_after(steps_ahead),
        grid.positions(len(recent), steps_ahead),
        grid.dates,
        seasons,
        tuple(say_last(one, grid.duration(one)) for one in seasons),
        forecaster,
        tuple(states),
        forecast,
        test,
        recent,
        grid.longest_gap,
        grid.row_after_longest_gap,
        missing_rows,
        (
            *table.notes,
            *_shortened(horizon, steps_ahead),
            *_one_map(together),
            *_doubts(grid, rows),
            *_too_long(seasons, steps),
            *_below(table.columns, lowest, lower),
            *_not_validated(missing_rows, len(table.columns)),
            *_ended(table.columns, states, float(forecaster.dt)),
        ),
    )


def _usual_horizon(steps: int) -> int:
    """What nobody asked for otherwise: short enough to be learnt and judged."""
    return max(1, min(_USUAL_HORIZON, steps // _HORIZONS))


def _shortened(asked: int | None, horizon: int) -> Iterator[str]:
    if asked is None and horizon < _USUAL_HORIZON:
        yield (
            f"{horizon} step{'s' if horizon > 1 else ''} ahead, an eighth of the table, so that the forecast can be "
            f"judged; --horizon asks for more or fewer"
        )


def _one_map(together: str) -> Iterator[str]:
    if together == "joint":
        yield (
            "--together joint forecasts by one map of all columns: simple forecasts are not mixed in, nothing guards "
            "it after a step, and bands are Gaussian; compare its verdict with the one without it"
        )


def _seasons(given: int | Sequence[int] | None, opening: np.ndarray, grid: Grid) -> tuple[int, ...]:
    if given is None:
        usual = grid.usual_periods()
        # Without the step that is still open, 36 months would not be three years.
        if (last := grid.last()).size:
            opening = np.concatenate([opening, last])
        return find_seasons(opening) if usual is None else find_seasons(opening, usual=usual)
    several = (given,) if isinstance(given, int) else tuple(given)
    return tuple(sorted({one for one in (whole_number("season", each) for each in several) if one > 1}))


def _coverages(given: Sequence[float | int]) -> tuple[float, ...]:
    for one in given:
        if not 0 < one < 1:
            raise ValueError(
                f"coverage={one}: the share of values inside a band; pass a number between 0 and 1, for example 0.95."
            )
    return tuple(sorted(set(given)))


def _too_long(seasons: tuple[int, ...], steps: int) -> Iterator[str]:
    """A season that has not come twice cannot have any effect."""
    for one in seasons:
        if steps < 2 * one:
            yield f"the season of {one:,} steps has no effect yet: it needs {2 * one:,}, and the table has {steps:,}"


def _below(columns: tuple[str, ...], lowest: np.ndarray, lower: float | int | None) -> Iterator[str]:
    """A bound that values have crossed is none."""
    for name, value in zip(columns, lowest.tolist(), strict=True):
        if lower is not None and value < lower:
            yield (
                f"{name} has values below --lower {lower:g} (the lowest is {value:g}), but its forecast and bands are "
                f"cut at {lower:g}; leave --lower out, or pass one of at most {value:g}"
            )


def _doubts(grid: Grid, rows: int) -> Iterator[str]:
    """A gap longer than all that was seen is a wrong time more often than a gap."""
    if grid.longest_gap > rows:
        row = grid.row_after_longest_gap
        yield (
            f"row {row} is {grid.longest_gap:,} steps after row {row - 1}, and the table has {rows:,} rows; are the "
            f"times of both right?"
        )


def _until_validated(forecaster: Forecaster, states: Sequence[ForecasterState]) -> list[int]:
    """How many more rows each column needs until its bands are measured."""
    missing: list[int] = []
    for state in states:
        mixture = state.mixture
        if mixture is None:  # one map of all columns
            missing += [round(forecaster.until_validated(state))] * state.channels
            continue
        if not forecaster.until_validated(state):
            missing += [0] * state.channels
            continue
        for channel in range(state.channels):
            alone = mixture.channels(slice(channel, channel + 1))
            missing.append(round(forecaster.until_validated(state.moved(alone, state.time, state.seen, forecaster.dt))))
    return missing


def _not_validated(missing: Mapping[str, int], columns: int) -> Iterator[str]:
    if missing:
        most = max(missing.values())
        rows = "1 more row is" if most == 1 else f"{most} more rows are"
        named = [repr(name) for name in missing]
        if len(named) > _NAMED:
            named = [*named[:_NAMED], f"{len(named) - _NAMED} more columns"]
        # Where it is all of them, names would only make it longer.
        which = "" if len(missing) == columns else f" of {_listed(named)}"
        yield f"bands{which} are not validated yet: {rows} needed; until then they are wide"


def _ended(columns: Sequence[str], states: Sequence[ForecasterState], dt: float) -> Iterator[str]:
    """A column that ended before the table: its forecast begins that much earlier."""
    silent = np.concatenate([state.silent * state.begun for state in states]) / dt
    late = [(name, round(steps)) for name, steps in zip(columns, silent.tolist(), strict=True) if round(steps) > 1]
    for name, steps in late[:_NAMED]:
        yield f"{name!r} has had no value for {steps:,} steps: it is forecast from the last one on, and bands are wider"
    if len(late) > _NAMED:
        yield f"{len(late) - _NAMED} more columns have had no value for two steps or more"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _too_few(steps: int, horizon: int) -> str:
    what = "1 step is" if steps == 1 else f"{steps} steps are"
    if steps < _FEW:
        return (
            f"{what} too few to learn from; pass a table of at least {horizon + 1} rows for a horizon of {horizon}, "
            f"{_JUDGED * horizon} to have it judged, {_steps_to_validate(horizon)} for validated bands."
        )
    if horizon < steps:
        return (
            f"between its gaps, {what} too few to learn a horizon of {horizon}; pass a shorter --horizon or more rows."
        )
    validated = f", and bands are validated up to {_validated(steps)}" if _validated(steps) else ""
    return (
        f"{what} too few to learn a horizon of {horizon}; pass a --horizon of at most {steps - 1} (it is judged up to "
        f"{steps // _JUDGED}{validated}), or more rows."
    )


def _validated(steps: int) -> int:
    """The longest horizon whose bands so many steps validate."""
    # How many are needed grows with the horizon.
    return bisect_right(range(1, steps), steps, key=_steps_to_validate)


def _steps_to_validate(horizon: int) -> int:
    forecaster = forecaster_for(float(horizon))
    return round(forecaster.until_validated(forecaster.initial_state()))


def _chunks(
    table: Table, grid: Grid, opening: np.ndarray, first: Rows, read: int
) -> Iterator[tuple[np.ndarray, int, int]]:
    """Steps, the rows they came from, and bytes read."""
    yield opening, len(first.values), read
    for chunk, done in table.chunks:
        yield grid.place(chunk), len(chunk.values), done
    rest = grid.flush()
    if rest.size:
        yield rest, 0, table.size


def _groups(columns: int, together: str) -> list[slice]:
    """Columns that are learnt at once: all, or so many at a time, which takes less memory."""
    most = _AT_ONCE if together == "independent" else columns
    return [slice(first, min(first + most, columns)) for first in range(0, columns, most)]


def _pairs(states: Sequence[ForecasterState]) -> float:
    return sum(state.pairs for state in states)


def _forecast(forecaster: Forecaster, states: Sequence[ForecasterState]) -> Forecast:
    """What comes next, of all groups together."""
    found = [forecaster.forecast(state) for state in states]
    parts = [one for one in found if isinstance(one, MixedForecast)]
    return found[0] if len(found) == 1 else MixedForecast.joined(parts)


def _learn(
    forecaster: Forecaster,
    groups: Sequence[slice],
    states: list[ForecasterState],
    test: BackTest,
    values: np.ndarray,
    seen: int,
) -> int:
    """Learn these steps, and make the forecasts of the back-test where they are due; steps with a value so far."""
    begin, known = 0, np.isfinite(values)
    while begin < len(values):
        end = begin + test.steps_until_due(known[begin:], seen)
        piece, mask = values[begin:end], known[begin:end]
        for place, group in enumerate(groups):
            states[place] = forecaster.learn(states[place], piece[:, group], mask=mask[:, group])
        test.take_in(piece)
        seen += int(mask.any(axis=1).sum())
        if seen >= test.due and _pairs(states):
            held = np.concatenate([state.held for state in states])
            test.issue(_forecast(forecaster, states), held, round(states[0].time), seen)
        elif seen >= test.due:
            test.due += test.stride
        begin = end
    return seen
