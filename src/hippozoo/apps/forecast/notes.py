"""What is said about a table beside its forecast: what was shortened, what is missing, what looks wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hippozoo.apps.forecast.backtest import WARM_UP
from hippozoo.apps.forecast.grid import Grid
from hippozoo.apps.forecast.learner import USUAL_HORIZON, Learner, usual_horizon
from hippozoo.ensemble import forecaster_for

__all__ = ["notes_on", "too_few", "until_validated"]

# Below it no horizon is worth proposing.
_FEW = 4
# The first forecast that is judged is made after three horizons, and one more must come.
_JUDGED = WARM_UP + 1
# Columns that a note names.
_NAMED = 5
# A last value so many usual errors from what was expected is odd; below this share of it the distance is rounding.
_ODD, _ROUNDING = 10.0, 1e-6


def notes_on(learner: Learner) -> Iterator[str]:
    """All that is to be said of what was learnt."""
    choices, columns, steps = learner.choices, learner.columns, round(learner.groups[0].state.time)
    seasons = sorted({season for group in learner.groups for season in group.test.seasons})
    yield from _shortened(choices.horizon, learner.horizon, steps, choices.inputs.known)
    yield from _one_map(choices.together)
    yield from _doubts(learner.grid, learner.rows)
    yield from _odd_last_row(learner)
    yield from _too_long(seasons, steps)
    yield from _beyond(columns, learner.lowest, learner.highest, choices.lower, choices.upper)
    yield from _not_validated(until_validated(learner), len(columns))
    yield from _ended(learner)


def until_validated(learner: Learner) -> dict[str, int]:
    """How many more rows each column needs until its bands are measured, of those that need some."""
    found = {}
    for name, (group, place) in zip(learner.columns, learner.by_column(), strict=True):
        waiting = round(float(group.forecaster.until_each_validated(group.state)[place]))
        if waiting:
            found[name] = waiting
    if found:
        # A constant makes no errors, and its bands have no width: there is nothing to measure.
        constant = [
            name
            for name, low, high in zip(learner.columns, learner.lowest, learner.highest, strict=True)
            if low == high
        ]
        for name in constant:
            group, place = learner.by_column()[learner.columns.index(name)]
            forecast = group.forecast()
            low, high = forecast.band(forecast.leads(), max(learner.choices.coverages))
            if (low[place] == high[place]).all():
                found.pop(name, None)
    return found


def _shortened(asked: object, horizon: int, steps: int, known: Sequence[str]) -> Iterator[str]:
    if asked is None and known and horizon < usual_horizon(steps):
        yield f"{horizon} step{'s' if horizon > 1 else ''} ahead, as far as {' and '.join(known)} is known"
    elif asked is None and horizon < USUAL_HORIZON:
        yield (
            f"{horizon} step{'s' if horizon > 1 else ''} ahead, an eighth of the table, so that the forecast can be "
            f"back-tested; set --horizon to change it"
        )


def _one_map(together: str) -> Iterator[str]:
    if together == "joint":
        yield (
            "--together joint uses one linear map of all columns, without simple experts, without a guard after level "
            "shifts, and with Gaussian bands; compare its verdict with the default"
        )


def _too_long(seasons: Sequence[int], steps: int) -> Iterator[str]:
    """A season that has not come twice cannot have any effect."""
    for one in seasons:
        if steps < 2 * one:
            yield f"the season of {one:,} steps has no effect yet: it needs {2 * one:,}, and the table has {steps:,}"


def _beyond(
    columns: tuple[str, ...],
    lowest: np.ndarray,
    highest: np.ndarray,
    lower: float | int | None,
    upper: float | int | None,
) -> Iterator[str]:
    """A bound that values have crossed is none."""
    for name, low, high in zip(columns, lowest.tolist(), highest.tolist(), strict=True):
        if lower is not None and low < lower:
            yield (
                f"{name} has values below --lower {lower:g} (the lowest is {low:g}), but its forecast and bands are "
                f"cut at {lower:g}; omit --lower, or pass at most {low:g}"
            )
        if upper is not None and high > upper:
            yield (
                f"{name} has values above --upper {upper:g} (the highest is {high:g}), but its forecast and bands are "
                f"cut at {upper:g}; omit --upper, or pass at least {high:g}"
            )


def _doubts(grid: Grid, rows: int) -> Iterator[str]:
    """A gap longer than all that was seen is a wrong time more often than a gap."""
    if grid.longest_gap > rows:
        row = grid.row_after_longest_gap
        yield (
            f"row {row} is {grid.longest_gap:,} steps after row {row - 1}, and the table has {rows:,} rows; are the "
            f"times of both right?"
        )


def _odd_last_row(learner: Learner) -> Iterator[str]:
    """A last value far from what was expected: the hour, or the month, may not be over."""
    odd = []
    for name, (group, place) in zip(learner.columns, learner.by_column(), strict=True):
        found = group.test.last_surprise(place)
        if found is None:
            continue
        value, expected, usual = found
        away = abs(value - expected)
        if away > _ODD * usual and away > _ROUNDING * abs(expected):
            size = f"{away / usual:,.0f} usual errors" if usual > 0 else "far"
            odd.append(
                f"{name!r}, {value:g}, is {size} {'below' if value < expected else 'above'} the {expected:.4g} expected"
            )
    if odd:
        more = f", and so are {len(odd) - _NAMED} more columns" if len(odd) > _NAMED else ""
        yield (f"the last value of {', of '.join(odd[:_NAMED])}{more}; if that row is not complete, delete it")


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


def _ended(learner: Learner) -> Iterator[str]:
    """A column that ended before the table: its forecast begins that much earlier."""
    late = []
    for name, (group, place) in zip(learner.columns, learner.by_column(), strict=True):
        silent = group.forecaster.silence(group.state)[place] * group.state.begun[place] / float(group.forecaster.dt)
        if round(silent) > 1:
            late.append((name, round(silent)))
    for name, steps in late[:_NAMED]:
        yield f"{name!r} has had no value for {steps:,} steps: it is forecast from the last one on, and bands are wider"
    if len(late) > _NAMED:
        yield f"{len(late) - _NAMED} more columns have had no value for two steps or more"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def too_few(steps: int, horizon: int) -> str:
    """Why so many steps cannot be learnt, and what would do."""
    what = "1 step is" if steps == 1 else f"{steps} steps are"
    if steps < _FEW:
        return (
            f"{what} too few to learn from; pass a table of at least {horizon + 1} rows for a horizon of {horizon}, "
            f"{_JUDGED * horizon} to have it judged, {_steps_to_validate(horizon)} for validated bands"
        )
    if horizon < steps:
        return (
            f"between its gaps, {what} too few to learn a horizon of {horizon}; pass a shorter --horizon or more rows"
        )
    validated = f", and bands are validated up to {_validated(steps)}" if _validated(steps) else ""
    return (
        f"{what} too few to learn a horizon of {horizon}; pass a --horizon of at most {steps - 1} (it is judged up to "
        f"{steps // _JUDGED}{validated}), or more rows"
    )


def _validated(steps: int) -> int:
    """The longest horizon whose bands so many steps validate."""
    # How many are needed grows with the horizon.
    return bisect_right(range(1, steps), steps, key=_steps_to_validate)


def _steps_to_validate(horizon: int) -> int:
    forecaster = forecaster_for(float(horizon))
    return round(forecaster.until_validated(forecaster.initial_state()))
