"""What a run found: a table of forecasts, numbers, and a verdict on every column."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._files import write_whole
from hippozoo.forecast_command.backtest import season_rival
from hippozoo.forecast_command.run import ForecastRun
from hippozoo.forecast_command.verdict import Verdict, judge

__all__ = ["made_by", "rival_names", "summarise", "verdicts", "write_csv"]


def write_csv(run: ForecastRun, path: Path) -> None:
    """One line per column and step: time, mean and bands."""
    leads = run.forecast.leads()
    mean = run.forecast.mean(leads)
    bands = {share: run.forecast.band(leads, share) for share in run.backtest.coverages}
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    ends = [f"{side}_{share * 100:g}" for share in bands for side in ("lower", "upper")]
    writer.writerow(["column", "step", *(["time"] if run.times else []), "mean", *ends])
    for c, name in enumerate(run.columns):
        for k in range(len(leads)):
            numbers = [mean[c, k], *(band[side][c, k] for band in bands.values() for side in (0, 1))]
            moment = [run.times[k]] if run.times else []
            # The shortest text that gives the very number back: on a large level all digits are needed.
            writer.writerow([name, k + 1, *moment, *(repr(float(number)) for number in numbers)])
    write_whole(path, file.getvalue().encode())


def rival_names(run: ForecastRun) -> dict[str, str]:
    """What to call each simple forecast."""
    seasons = {season_rival(one): name for one, name in zip(run.seasons, run.season_names, strict=True)}
    return {"last value": "the last value", "mean": "the mean", "drift": "the drift"} | seasons


def made_by(run: ForecastRun) -> list[dict[str, float]]:
    """What the forecast of each column is made of, and the share of each, largest first."""
    by = run.forecast.by
    return [dict(by[c]) if c < len(by) else {} for c in range(len(run.columns))]


def verdicts(run: ForecastRun) -> list[Verdict]:
    """One for each column."""
    comparison, names = run.backtest.compare(), rival_names(run)
    return [judge(comparison, c, run.backtest.horizon, names, by) for c, by in enumerate(made_by(run))]


def summarise(run: ForecastRun) -> dict[str, Any]:
    """What was found, in numbers; None where a figure is unknown."""
    comparison = run.backtest.compare()
    errors = {} if comparison is None else comparison.by_column()
    return {
        "rows": run.rows,
        "steps": run.steps,
        "missing": run.missing,
        "gaps": run.gaps,
        "longest_gap": {"steps": run.longest_gap, "before_row": run.row_after_longest_gap} if run.gaps else None,
        "notes": [*run.notes, *_not_compared(run)],
        "time": run.time,
        "step": run.step_name,
        "left_out": dict(run.left_out),
        "seasons": list(run.seasons),
        "horizon": run.backtest.horizon,
        "rows_until_validated": round(run.forecaster.until_validated(run.state)),
        "origins": 0 if comparison is None else len(comparison.steps),
        # By column, because columns have units of their own.
        "verdict": {
            name: {
                "kind": one.kind,
                "sentence": one.sentence,
                "rival": one.rival,
                "better_by": one.better_by,
                "standard_error": one.standard_error,
            }
            for name, one in zip(run.columns, verdicts(run), strict=True)
        },
        "mean_absolute_error": {
            name: {method: _number(one[c]) for method, one in errors.items()} for c, name in enumerate(run.columns)
        },
        "coverage": {name: run.backtest.coverage(c) for c, name in enumerate(run.columns)},
        "by": {
            name: {one: round(share, 4) for one, share in by.items() if share >= 0.005}
            for name, by in zip(run.columns, made_by(run), strict=True)
        },
    }


def _not_compared(run: ForecastRun) -> list[str]:
    comparison, names = run.backtest.compare(), rival_names(run)
    if comparison is None:
        return []
    return [f"{names[one]} is not among the rivals: {why}" for one, why in comparison.left_out.items()]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
