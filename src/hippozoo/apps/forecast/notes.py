"""What is said beside a forecast: what it is made of, what was shortened, what is missing, what looks wrong."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from hippozoo.apps.forecast.backtest import WARM_UP
from hippozoo.apps.forecast.grid import Grid
from hippozoo.apps.forecast.learner import USUAL_HORIZON, Group, Learner, usual_horizon
from hippozoo.apps.forecast.times import say_last
from hippozoo.ensemble import forecaster_for

__all__ = ["GLOSSARY", "RIVALS", "notes_on", "say_expert", "too_few", "until_validated"]

#: Simple forecasts as rivals in a verdict.
RIVALS = {
    "last value": "the last value",
    "mean": "the mean",
    "drift": "the drift",
    "damped trend": "the damped trend",
}
# The same, and others, as parts of a forecast.
_SIMPLE = {
    "last value": "the last value",
    "mean": "the mean of all values",
    "drift": "the line from the first to the last value",
    "recent drift": "the line through the last values",
    "damped trend": "damped trends",
}

#: The terms of the page, as its readers meet them.
GLOSSARY = {
    "step": "The time between two forecast values; usually the time between two rows.",
    "horizon": "How many steps ahead are forecast.",
    "back-test": "Forecasts made on the way through the table, each from the rows before it alone, and compared with "
    "the rows that followed.",
    "mean absolute error": "The average distance between forecast and value, in the unit of the column.",
    "simple forecast": "One that needs no model: the last value, the mean, a trend, or the last season repeated. A "
    "forecast that does not beat it is not worth its trouble.",
    "± (standard error)": "How far a percentage may be off by chance. About two of these are the usual doubt.",
    "band": "A range that should hold a given share of the values to come, for example 80 of 100.",
    "season": "A pattern that repeats after a fixed number of steps, such as a day of 24 hours.",
    "ridge map": "A linear model that corrects a simple forecast from the remembered past.",
    "weight": "The share that a method has in the forecast. Methods earn it by small errors of late.",
}

# Below it no horizon is worth proposing.
_FEW = 4
# The first forecast that is judged is made after three horizons, and one more must come.
_JUDGED = WARM_UP + 1
# Columns that a note names.
_NAMED = 5
# A last value so many usual errors from what was expected is an outlier; a smaller share of it is rounding.
_FAR, _ROUNDING = 10.0, 1e-6


def notes_on(learner: Learner) -> Iterator[str]:
    """All that is to be said of what was learnt."""
    steps = round(learner.groups[0].state.time)
    yield from _shortened(learner, steps)
    if learner.choices.together == "joint":
        yield (
            "--together joint uses one linear map of all columns, without simple experts, without a guard after level "
            "shifts, and with Gaussian bands; compare its verdict with the default"
        )
    yield from _long_gap(learner.grid, learner.rows)
    yield from _outlier_at_the_end(learner)
    for one in learner.seasons:
        if steps < 2 * one:
            yield f"the season of {one:,} steps has no effect yet: it needs {2 * one:,}, and the table has {steps:,}"
    yield from _beyond_bounds(learner)
    yield from _not_validated(learner)
    yield from _ended(learner)


def until_validated(learner: Learner) -> dict[str, int]:
    """How many more rows each column needs until its bands are measured, of those that need some."""
    found = {}
    for column, (name, (group, place)) in enumerate(zip(learner.columns, learner.by_column(), strict=True)):
        waiting = round(float(group.forecaster.until_each_validated(group.state)[place]))
        if waiting and not (learner.lowest[column] == learner.highest[column] and _has_no_width(learner, group, place)):
            found[name] = waiting
    return found


def _has_no_width(learner: Learner, group: Group, place: int) -> bool:
    """A constant makes no errors, and its bands have no width: there is nothing to measure."""
    forecast = group.forecaster.forecast(group.state)
    low, high = forecast.band(forecast.leads(), max(learner.choices.coverages))
    return bool((low[place] == high[place]).all())


def _shortened(learner: Learner, steps: int) -> Iterator[str]:
    if learner.choices.horizon is not None:
        return
    horizon, known = learner.horizon, learner.choices.inputs.known
    ahead = f"{horizon} step{'s' if horizon > 1 else ''} ahead"
    if known and horizon < usual_horizon(steps):
        yield f"{ahead}, as far as {' and '.join(known)} is known"
    elif horizon < USUAL_HORIZON:
        yield f"{ahead}, an eighth of the table, so that the forecast can be back-tested; set --horizon to change it"


def _beyond_bounds(learner: Learner) -> Iterator[str]:
    """A bound that values have crossed is none."""
    lower, upper = learner.choices.lower, learner.choices.upper
    for name, low, high in zip(learner.columns, learner.lowest.tolist(), learner.highest.tolist(), strict=True):
        for option, bound, end, beyond, words in (
            ("--lower", lower, low, lower is not None and low < lower, ("below", "lowest", "most")),
            ("--upper", upper, high, upper is not None and high > upper, ("above", "highest", "least")),
        ):
            if beyond:
                yield (
                    f"{name} has values {words[0]} {option} {bound:g} (the {words[1]} is {end:g}), but its forecast "
                    f"and bands are cut at {bound:g}; omit {option}, or pass at {words[2]} {end:g}"
                )


def _long_gap(grid: Grid, rows: int) -> Iterator[str]:
    """A gap longer than all that was seen is a wrong time more often than a gap."""
    if grid.longest_gap > rows:
        row = grid.row_after_longest_gap
        yield (
            f"row {row} is {grid.longest_gap:,} steps after row {row - 1}, and the table has {rows:,} rows; are the "
            f"times of both right?"
        )


def _outlier_at_the_end(learner: Learner) -> Iterator[str]:
    """A last value far from what was expected: the hour, or the month, may not be over."""
    outliers = []
    for name, (group, place) in zip(learner.columns, learner.by_column(), strict=True):
        found = group.test.last_surprise(place)
        if found is None:
            continue
        value, expected, usual = found
        away = abs(value - expected)
        if away > _FAR * usual and away > _ROUNDING * abs(expected):
            size = f"{away / usual:,.0f} usual errors" if usual > 0 else "far"
            outliers.append(
                f"{name!r}, {value:g}, is {size} {'below' if value < expected else 'above'} the {expected:.4g} expected"
            )
    if outliers:
        more = f", and so are {len(outliers) - _NAMED} more columns" if len(outliers) > _NAMED else ""
        yield (f"the last value of {', of '.join(outliers[:_NAMED])}{more}; if that row is not complete, delete it")


def _not_validated(learner: Learner) -> Iterator[str]:
    missing = until_validated(learner)
    if missing:
        most = max(missing.values())
        rows = "1 more row is" if most == 1 else f"{most} more rows are"
        named = [repr(name) for name in missing]
        if len(named) > _NAMED:
            named = [*named[:_NAMED], f"{len(named) - _NAMED} more columns"]
        listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
        # Where it is all of them, names would only make it longer.
        which = "" if len(missing) == len(learner.columns) else f" of {listed}"
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
    # How many steps are needed grows with the horizon.
    longest = bisect_right(range(1, steps), steps, key=_steps_to_validate)
    validated = f", and bands are validated up to {longest}" if longest else ""
    return (
        f"{what} too few to learn a horizon of {horizon}; pass a --horizon of at most {steps - 1} (it is judged up to "
        f"{steps // _JUDGED}{validated}), or more rows"
    )


def _steps_to_validate(horizon: int) -> int:
    forecaster = forecaster_for(float(horizon))
    return round(forecaster.until_validated(forecaster.initial_state()))


def say_expert(name: str, grid: Grid) -> str:
    """What an expert is, in words; names that are not known stay as they are.

    >>> hours = Grid(3600.0, dates=True)
    >>> say_expert("map of 192 on last value", hours)
    'a ridge map of the last 192 hours, from the last value'
    >>> say_expert("season 24 and level", hours)
    'yesterday, moved to the present level'
    >>> say_expert("trend and mean of seasons 24", hours)
    'a damped trend with the mean of past seasons of 24 hours'
    """
    if name in _SIMPLE:
        return _SIMPLE[name]
    if found := re.fullmatch(r"map of ([\d.e+]+)( and inputs)? on (?:(mean|last value)|season (\d+))", name):
        window, inputs, base, season = found.groups()
        last = f"the last {_span(float(window), grid)}{inputs or ''}"
        if base is not None:
            return f"a ridge map of {last}, from the {base}"
        return f"a ridge map of {last}, from {_season(season, grid)}"
    if found := re.fullmatch(r"trend and mean of seasons (\d+)", name):
        return f"a damped trend with the mean of past seasons of {_span(float(found[1]), grid)}"
    if found := re.fullmatch(r"season (\d+)( and level| and fading level)?", name):
        how = {None: " repeated", " and level": ", moved to the present level"}
        return f"{_season(found[1], grid)}{how.get(found[2], ', moved to the present level for a while')}"
    return name


def _season(period: str, grid: Grid) -> str:
    return say_last(int(period), grid.duration(int(period)))


def _span(steps: float, grid: Grid) -> str:
    """So many steps in the unit of one."""
    step = grid.describe_step() or ""
    unit = step.removeprefix("one ") + "s" if grid.dates and step.startswith("one ") else "steps"
    return f"{steps:,.0f} {unit}"
