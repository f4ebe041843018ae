"""The numbers of a page, for its script: shared times once, and for every column as few bytes as will do."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from hippozoo.apps.forecast.comparison import FORECAST
from hippozoo.apps.forecast.run import ForecastRun

__all__ = ["methods_of", "page_data"]

# The main picture shows so many horizons of the past, and the one below it so many forecasts.
_HORIZONS, _FORECASTS = 3, 10
_LEAST_PAST = 12
# A page with many columns thins out what it draws: steps ahead, steps of the past, and errors.
_MANY = 8
_AHEAD, _PAST, _ERRORS = 96, 120, 24


def methods_of(run: ForecastRun) -> list[str]:
    """The forecast and all rivals of any column."""
    names = [name for one in run.comparisons if one is not None for name in one.errors]
    return sorted(dict.fromkeys(names), key=lambda name: name != FORECAST)


def page_data(run: ForecastRun) -> dict[str, Any]:
    """What the script of the page draws."""
    horizon, many = run.horizon, len(run.columns) > _MANY
    recent = len(run.recent)
    past = min(recent, max(_HORIZONS * horizon, _LEAST_PAST), _PAST if many else recent)
    leads = np.arange(horizon)
    if many and horizon > _AHEAD:
        leads = np.unique(np.linspace(0, horizon - 1, _AHEAD).round().astype(int))
    numbers, words = _times(run)
    order = [*range(recent - past, recent), *(recent + leads).tolist()]
    mean = run.forecast.samples()
    bands = [run.forecast.band(share) for share in run.coverages]
    at = np.unique(np.linspace(0, horizon - 1, min(horizon, _ERRORS if many else horizon)).round().astype(int))
    back = min(recent, (_FORECASTS + 1) * horizon)
    thin = max(1, math.ceil(back / _PAST)) if many else 1
    methods, columns = methods_of(run), []
    for c, (name, (group, place)) in enumerate(zip(run.columns, run.learner.by_column(), strict=True)):
        verdict, by, comparison = run.verdicts[c], run.by[c], run.comparisons[c]
        rows = [mean[c, leads], *(side[c, leads] for band in bands for side in band)]
        nothing = np.full(horizon, np.nan)
        errors = {} if comparison is None else comparison.by_lead
        columns.append(
            {
                "name": name,
                "verdict": verdict.sentence,
                "bands": _held(group.test.coverage(place)),
                "by": _by(run.made_of[c], len(by)),
                "inputs": [
                    [label or "all inputs", gain.sentence, _text(gain.size), _packed(gain.kernel)]
                    for label, gain in run.gains[c].items()
                    if label or len(run.gains[c]) > 2
                ],
                "past": _packed(run.recent[recent - past :, c]),
                "ahead": [_packed(row) for row in rows],
                "errors": [_packed(errors.get(one, nothing)[at]) for one in methods],
                "back": _packed(run.recent[recent - back :: thin, c]),
                "made": [
                    [start, _packed(made[place, ::thin])]
                    for origin, made in group.test.past
                    if (start := origin - (run.steps - back)) >= 0 and origin + horizon <= run.steps
                ][-_FORECASTS:],
            }
        )
    return {
        "x": [round(float(one), 6) for one in numbers[order]],
        "when": [words[one] for one in order],
        "past": past,
        "shares": [f"{share * 100:g} %" for share in run.coverages],
        "steps": (at + 1).tolist(),
        "back": [round(float(one), 6) for one in numbers[recent - back : recent]],
        "thin": thin,
        "lags": run.lags,
        "columns": columns,
    }


def _times(run: ForecastRun) -> tuple[np.ndarray, list[str]]:
    """Of the recent steps and of those to come: numbers (dates in milliseconds), and words."""
    if run.positions is None:
        numbers = np.arange(1 - len(run.recent), run.horizon + 1).astype(float)
        return numbers, [f"{number:+.0f} steps" for number in numbers]
    dates = run.learner.grid.dates
    words = list(run.learner.grid.write(run.positions))
    if dates and all(word.endswith(" 00:00:00") for word in words):
        words = [word.removesuffix(" 00:00:00") for word in words]
    return run.positions * 1000 if dates else run.positions, words


def _held(coverage: dict[str, float | None]) -> str:
    held = [f"{band.replace('%', ' %')} band: {share:.1%}" for band, share in coverage.items() if share is not None]
    return f"Values inside the bands of past forecasts: {'; '.join(held)}." if held else ""


def _by(made_of: list[str], count: int) -> str:
    """What it is made of, the largest shares first."""
    more = "; and others with less" if count > len(made_of) or len(made_of) > 4 else ""
    return f"Made of {'; '.join(made_of[:4])}{more}." if made_of else ""


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _packed(values: np.ndarray) -> str:
    """Numbers of four bytes, as text."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()
