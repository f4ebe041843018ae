"""Plain words for what a forecast is made of, and for the terms of its page."""

from __future__ import annotations

import re

from hippozoo.apps.forecast.grid import Grid
from hippozoo.apps.forecast.times import say_last

__all__ = ["GLOSSARY", "RIVALS", "say_expert"]

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
