"""What a run found: a table of forecasts, numbers, and a verdict on every column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from hippozoo.apps.forecast.backtest import season_rival
from hippozoo.apps.forecast.bought import InputGain, gains_of
from hippozoo.apps.forecast.comparison import Comparison, pool
from hippozoo.apps.forecast.run import ForecastRun
from hippozoo.apps.forecast.verdict import Verdict, judge
from hippozoo.apps.forecast.words import say_expert

__all__ = ["Findings", "Verdicts", "forecast_columns", "summarise", "verdicts"]

# A smaller share of an error is none.
_NOTHING = 0.005
# A smaller share of a forecast is not said.
_SAID = 0.02
_SIMPLE = {
    "last value": "the last value",
    "mean": "the mean",
    "drift": "the drift",
    "damped trend": "the damped trend",
}


class Verdicts(Mapping[str, Verdict]):
    """The verdict on each column, by its name; `pooled` is that on all of them together.

    Examples
    --------
    >>> print(Verdicts({"load": Verdict("better", "better than last week by 31 % ± 4")}))
    load: better than last week by 31 % ± 4
    """

    def __init__(self, found: Mapping[str, Verdict], pooled: Verdict | None = None) -> None:
        self._found, self.pooled = dict(found), pooled

    def __getitem__(self, column: str) -> Verdict:
        return self._found[column]

    def __iter__(self) -> Any:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        lines = [f"{name}: {one.sentence}" for name, one in self._found.items()]
        if self.pooled is not None:
            lines.append(f"all {len(self)} columns together: {self.pooled.sentence}")
        return "\n".join(lines)


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
    def comparisons(self) -> list[Comparison | None]:
        """Errors of all methods on the same origins, for each column."""
        return [group.test.compare(place) for group, place in self.run.learner.by_column()]

    @cached_property
    def rival_names(self) -> dict[str, str]:
        """What to call each simple forecast."""
        seasons = zip(self.run.seasons, self.run.season_names, strict=True)
        return _SIMPLE | {season_rival(one): name for one, name in seasons}

    @cached_property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made of, and the share of each, largest first."""
        return list(self.run.forecast.by)

    @cached_property
    def made_of(self) -> list[list[str]]:
        """The same in words."""
        grid = self.run.learner.grid
        return [
            [f"{say_expert(one, grid)}: {share:.0%}" for one, share in by.items() if share >= _SAID] for by in self.by
        ]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """One for each column."""
        return [judge(one, self.rival_names, by) for one, by in zip(self.comparisons, self.by, strict=True)]

    @cached_property
    def pooled(self) -> Verdict | None:
        """That on all columns together; None of one column, or where nothing can be pooled."""
        found = pool(self.comparisons)
        return None if found is None else judge(found, self.rival_names, {})

    @cached_property
    def origins(self) -> int:
        """Forecasts that were judged, of the column with most of them."""
        return max((one.origins for one in self.comparisons if one is not None), default=0)

    @cached_property
    def simple(self) -> dict[int, np.ndarray]:
        """What the simple forecast gives, for columns in which it was the better one, by their places."""
        found = {}
        for place, (verdict, (group, channel)) in enumerate(
            zip(self.verdicts, self.run.learner.by_column(), strict=True)
        ):
            is_better = verdict.kind == "worse" or (verdict.better_by or 0.0) <= -_NOTHING
            if verdict.rival is not None and is_better:
                found[place] = group.simple(channel, verdict.rival)
        return found

    @cached_property
    def gains(self) -> list[dict[str, InputGain]]:
        """What inputs buy, for each column."""
        return gains_of(self.run.learner)

    @cached_property
    def lags(self) -> list[int]:
        """Steps from an input to what is forecast, over which the effect of inputs is drawn."""
        lags = (gain.lags for gains in self.gains for gain in gains.values() if len(gain.lags))
        return next(lags, np.empty(0, np.int64)).tolist()

    @cached_property
    def notes(self) -> list[str]:
        """What was skipped, what looks wrong, and which rival could not be compared."""
        missed: dict[str, str] = {}
        for one in self.comparisons:
            missed |= {} if one is None else {name: why for name, why in one.left_out.items() if name not in missed}
        return [
            *self.run.notes,
            *(f"{self.rival_names[one]} is not among the rivals: {why}" for one, why in missed.items()),
        ]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All of it in numbers; None where a figure is unknown."""
        run, grid = self.run, self.run.learner.grid
        named = list(enumerate(run.columns))
        places = run.learner.by_column()
        longest = {"steps": grid.longest_gap, "before_row": grid.row_after_longest_gap}
        # By column, because columns have units of their own.
        return {
            "rows": run.learner.rows,
            "steps": run.steps,
            "missing": run.learner.missing,
            "gaps": grid.gaps,
            "longest_gap": longest if grid.gaps else None,
            "notes": self.notes,
            "time": run.time,
            "step": grid.describe_step(),
            "left_out": dict(run.left_out),
            "seasons": {name: list(places[c][0].test.seasons) for c, name in named},
            "horizon": run.horizon,
            "rows_until_validated": run.rows_until_validated,
            "origins": self.origins,
            "verdict": {name: asdict(self.verdicts[c]) for c, name in named},
            "pooled_verdict": None if self.pooled is None else asdict(self.pooled),
            "mean_absolute_error": {name: _errors(self.comparisons[c]) for c, name in named},
            "coverage": {name: places[c][0].test.coverage(places[c][1]) for c, name in named},
            "inputs": {
                name: {
                    label or "all": {
                        "sentence": gain.sentence,
                        "better_by": gain.better_by,
                        "standard_error": gain.standard_error,
                        "size": gain.size,
                        "lags": gain.lags.tolist(),
                        "kernel": gain.kernel.tolist(),
                    }
                    for label, gain in self.gains[c].items()
                }
                for c, name in named
            }
            if run.learner.choices.inputs
            else {},
            "made_of": {name: self.made_of[c] for c, name in named},
            "by": {
                name: {one: round(share, 4) for one, share in self.by[c].items() if share >= 0.005} for c, name in named
            },
        }


def forecast_columns(found: Findings, quantiles: Sequence[float] = ()) -> dict[str, Any]:
    """The forecast as columns of equal length, one row per column and step: the same in every format.

    ``column``, ``step``, ``time`` (with times), ``mean``, ``lower_80``, ``upper_80`` and so on for each coverage, and
    ``quantile_90`` and so on for each quantile. ``simple`` is there where a simple forecast did better in the back-test
    of some column, with its numbers for these columns.
    """
    run = found.run
    leads, count = run.forecast.leads(), run.horizon
    columns: dict[str, Any] = {
        "column": [name for name in run.columns for _ in range(count)],
        "step": np.tile(np.arange(1, count + 1), len(run.columns)),
    }
    if run.times is not None:
        columns["time"] = list(run.times) * len(run.columns)
    columns["mean"] = run.forecast.mean(leads).ravel()
    for share in run.coverages:
        lower, upper = run.forecast.band(leads, share)
        columns |= {f"lower_{share * 100:g}": lower.ravel(), f"upper_{share * 100:g}": upper.ravel()}
    for share in quantiles:
        columns[f"quantile_{share * 100:g}"] = run.forecast.quantile(leads, share).ravel()
    if found.simple:
        nothing = np.full(count, np.nan)
        columns["simple"] = np.concatenate([found.simple.get(c, nothing) for c in range(len(run.columns))])
    return columns


def verdicts(run: ForecastRun) -> list[Verdict]:
    r"""One verdict for each column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.apps.forecast import forecast_table
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
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.apps.forecast import forecast_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "load.csv"
    ...     _ = file.write_text("load\n" + "".join(f"{n % 7}\n" for n in range(200)))
    ...     run = forecast_table(file, horizon=3)
    >>> summarise(run)["rows"]
    200
    """
    return Findings(run).summary


def _errors(comparison: Comparison | None) -> dict[str, float | None]:
    if comparison is None:
        return {}
    return {name: error if np.isfinite(error) else None for name, error in comparison.means().items()}
