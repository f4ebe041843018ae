"""What a run found: a table of forecasts, numbers, and a verdict on every column."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._files import write_whole
from hippozoo.forecast_command.backtest import Comparison, season_rival
from hippozoo.forecast_command.run import ForecastRun
from hippozoo.forecast_command.verdict import Verdict, judge

__all__ = ["Findings", "summarise", "verdicts", "write_csv"]


def write_csv(run: ForecastRun, path: Path) -> None:
    r"""One line per column and step: time, mean and bands.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.forecast_command import forecast_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "load.csv"
    ...     _ = file.write_text("load\n" + "".join(f"{n % 7}\n" for n in range(200)))
    ...     write_csv(forecast_table(file, horizon=3), Path(folder) / "forecast.csv")
    ...     len((Path(folder) / "forecast.csv").read_text().splitlines())
    4
    """
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


class Findings:
    """What a run found, each thing worked out once.

    Parameters
    ----------
    run
        The run.
    """

    def __init__(self, run: ForecastRun) -> None:
        self.run = run

    @cached_property
    def comparison(self) -> Comparison | None:
        """Errors of all methods on the same origins."""
        return self.run.backtest.compare()

    @cached_property
    def rival_names(self) -> dict[str, str]:
        """What to call each simple forecast."""
        seasons = zip(self.run.seasons, self.run.season_names, strict=True)
        simple = {
            "last value": "the last value",
            "mean": "the mean",
            "drift": "the drift",
            "damped trend": "the damped trend",
        }
        return simple | {season_rival(one): name for one, name in seasons}

    @cached_property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made of, and the share of each, largest first."""
        by = self.run.forecast.by
        return [dict(by[c]) if c < len(by) else {} for c in range(len(self.run.columns))]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """One for each column."""
        horizon, names = self.run.backtest.horizon, self.rival_names
        return [judge(self.comparison, c, horizon, names, by) for c, by in enumerate(self.by)]

    @cached_property
    def notes(self) -> list[str]:
        """What was skipped, what looks wrong, and which rival could not be compared."""
        left_out = {} if self.comparison is None else self.comparison.left_out
        missed = [f"{self.rival_names[one]} is not among the rivals: {why}" for one, why in left_out.items()]
        return [*self.run.notes, *missed]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All of it in numbers; None where a figure is unknown."""
        run, errors = self.run, {} if self.comparison is None else self.comparison.by_column
        named = list(enumerate(run.columns))
        # By column, because columns have units of their own.
        return {
            "rows": run.rows,
            "steps": run.steps,
            "missing": run.missing,
            "gaps": run.gaps,
            "longest_gap": {"steps": run.longest_gap, "before_row": run.row_after_longest_gap} if run.gaps else None,
            "notes": self.notes,
            "time": run.time,
            "step": run.step_name,
            "left_out": dict(run.left_out),
            "seasons": list(run.seasons),
            "horizon": run.backtest.horizon,
            "rows_until_validated": run.rows_until_validated,
            "origins": 0 if self.comparison is None else len(self.comparison.steps),
            "verdict": {name: asdict(self.verdicts[c]) for c, name in named},
            "mean_absolute_error": {
                name: {method: _number(one[c]) for method, one in errors.items()} for c, name in named
            },
            "coverage": {name: run.backtest.coverage(c) for c, name in named},
            "by": {
                name: {one: round(share, 4) for one, share in self.by[c].items() if share >= 0.005} for c, name in named
            },
        }


def verdicts(run: ForecastRun) -> list[Verdict]:
    r"""One verdict for each column.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.forecast_command import forecast_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "load.csv"
    ...     _ = file.write_text("load\n" + "".join(f"{n % 7}\n" for n in range(200)))
    ...     run = forecast_table(file, horizon=3)
    >>> len(verdicts(run))  # one for each column
    1
    """
    return Findings(run).verdicts


def summarise(run: ForecastRun) -> dict[str, Any]:
    r"""What was found, in numbers; None where a figure is unknown.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.forecast_command import forecast_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "load.csv"
    ...     _ = file.write_text("load\n" + "".join(f"{n % 7}\n" for n in range(200)))
    ...     run = forecast_table(file, horizon=3)
    >>> summarise(run)["rows"]
    200
    """
    return Findings(run).summary


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
