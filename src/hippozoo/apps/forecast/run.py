"""Everything that was found out about a table: forecasts, verdicts, errors and notes, each worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hippozoo.apps.forecast.backtest import season_rival
from hippozoo.apps.forecast.comparison import Comparison, Verdict, judge, pool
from hippozoo.apps.forecast.input_gains import InputGain, gains_of
from hippozoo.apps.forecast.learner import Learner
from hippozoo.apps.forecast.notes import notes_on, too_few, until_validated
from hippozoo.apps.forecast.table_forecast import TableForecast
from hippozoo.apps.forecast.times import say_last
from hippozoo.apps.forecast.words import RIVALS, say_expert
from hippozoo.tables.trouble import unusable

__all__ = ["ForecastRun", "Verdicts", "forecast_columns"]

# A smaller share of an error is none; a smaller share of a forecast is not named.
_NOTHING, _NAMED = 0.005, 0.02


class Verdicts(dict[str, Verdict]):
    """The verdict on each column, by its name; `pooled` is that on all of them together."""

    pooled: Verdict | None = None

    def __repr__(self) -> str:
        lines = [f"{name}: {one.sentence}" for name, one in self.items()]
        if self.pooled is not None:
            lines.append(f"all {len(self)} columns together: {self.pooled.sentence}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastRun:
    """Everything that was found out about a table."""

    learner: Learner  # its last step included
    name: str
    time: str | None  # column of the times
    left_out: Mapping[str, str]  # columns that nobody named and that hold no numbers, and why
    said: Sequence[str] = ()  # what the reader noted of the table

    def __post_init__(self) -> None:
        learner = self.learner
        begun = [bool(group.state.begun[place]) for group, place in learner.by_column()]
        empty = ", ".join(repr(one) for one, some in zip(learner.columns, begun, strict=True) if not some)
        if empty:
            raise unusable(learner.source, f"column {empty} contains no number; omit it")
        if not learner.learnt:
            raise unusable(learner.source, too_few(self.steps, learner.horizon))

    @cached_property
    def forecast(self) -> TableForecast:
        """What comes next."""
        return TableForecast(self.learner)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were forecast."""
        return self.learner.columns

    @property
    def horizon(self) -> int:
        """Steps ahead."""
        return self.learner.horizon

    @property
    def coverages(self) -> tuple[float, ...]:
        """Bands that are given and judged."""
        return tuple(map(float, self.learner.choices.coverages))

    @property
    def steps(self) -> int:
        """Steps that the rows fill."""
        return round(self.learner.groups[0].state.time)

    @property
    def recent(self) -> np.ndarray:
        """The last steps, (steps, columns), for pictures."""
        return self.learner.recent

    @property
    def times(self) -> tuple[str, ...] | None:
        """The times of the steps that are forecast, as text; None without times."""
        return self.learner.grid.times_after(self.horizon)

    @property
    def positions(self) -> np.ndarray | None:
        """The times of the `recent` steps and of those that are forecast, in seconds of the local clock or as numbers.

        None without times.
        """
        return self.learner.grid.positions(len(self.recent), self.horizon)

    @property
    def seasons(self) -> tuple[int, ...]:
        """The periods that were found or given in any column, in steps."""
        return self.learner.seasons

    @property
    def rows_until_validated(self) -> int:
        """How many more rows are needed until all bands are measured; 0 if they are."""
        return max(until_validated(self.learner).values(), default=0)

    @cached_property
    def comparisons(self) -> list[Comparison | None]:
        """Errors of all methods on the same origins, for each column."""
        return [group.test.compare(place) for group, place in self.learner.by_column()]

    @cached_property
    def rival_names(self) -> dict[str, str]:
        """What to call each simple forecast: a season by what stands one period back ("last week")."""
        grid = self.learner.grid
        return RIVALS | {season_rival(one): say_last(one, grid.duration(one)) for one in self.seasons}

    @property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made of, and the share of each, largest first."""
        return self.forecast.by

    @cached_property
    def made_of(self) -> list[list[str]]:
        """The same in words."""
        grid = self.learner.grid
        return [
            [f"{say_expert(one, grid)}: {share:.0%}" for one, share in by.items() if share >= _NAMED] for by in self.by
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
        for place, (verdict, (group, channel)) in enumerate(zip(self.verdicts, self.learner.by_column(), strict=True)):
            is_better = verdict.kind == "worse" or (verdict.better_by or 0.0) <= -_NOTHING
            if verdict.rival is not None and is_better:
                found[place] = group.simple(channel, verdict.rival)
        return found

    @cached_property
    def gains(self) -> list[dict[str, InputGain]]:
        """What inputs buy, for each column."""
        return gains_of(self.learner)

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
            *self.said,
            *notes_on(self.learner),
            *(f"{self.rival_names[one]} is not among the rivals: {why}" for one, why in missed.items()),
        ]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All of it in numbers; None where a figure is unknown."""
        grid = self.learner.grid
        named = list(enumerate(self.columns))
        places = self.learner.by_column()
        longest = {"steps": grid.longest_gap, "before_row": grid.row_after_longest_gap}
        # By column, because columns have units of their own.
        return {
            "rows": self.learner.rows,
            "steps": self.steps,
            "missing": self.learner.missing,
            "gaps": grid.gaps,
            "longest_gap": longest if grid.gaps else None,
            "notes": self.notes,
            "time": self.time,
            "step": grid.describe_step(),
            "left_out": dict(self.left_out),
            "seasons": {name: list(places[c][0].test.seasons) for c, name in named},
            "horizon": self.horizon,
            "rows_until_validated": self.rows_until_validated,
            "origins": self.origins,
            "verdict": {name: asdict(self.verdicts[c]) for c, name in named},
            "pooled_verdict": None if self.pooled is None else asdict(self.pooled),
            "mean_absolute_error": {
                name: {} if (found := self.comparisons[c]) is None else found.finite_means() for c, name in named
            },
            "coverage": {name: places[c][0].test.coverage(places[c][1]) for c, name in named},
            "inputs": {
                name: {label or "all": gain.as_numbers() for label, gain in self.gains[c].items()} for c, name in named
            }
            if self.learner.choices.inputs
            else {},
            "made_of": {name: self.made_of[c] for c, name in named},
            "by": {
                name: {one: round(share, 4) for one, share in self.by[c].items() if share >= 0.005} for c, name in named
            },
        }


def forecast_columns(run: ForecastRun, quantiles: Sequence[float] = ()) -> dict[str, Any]:
    """The forecast as columns of equal length, one row per column and step: the same in every format.

    ``column``, ``step``, ``time`` (with times), ``mean``, ``lower_80``, ``upper_80`` and so on for each coverage, and
    ``quantile_90`` and so on for each quantile. ``simple`` is there where a simple forecast did better in the back-test
    of some column, with its numbers for these columns.
    """
    count = run.horizon
    columns: dict[str, Any] = {
        "column": [name for name in run.columns for _ in range(count)],
        "step": np.tile(np.arange(1, count + 1), len(run.columns)),
    }
    if run.times is not None:
        columns["time"] = list(run.times) * len(run.columns)
    columns["mean"] = run.forecast.samples().ravel()
    for share in run.coverages:
        lower, upper = run.forecast.band(share)
        columns |= {f"lower_{share * 100:g}": lower.ravel(), f"upper_{share * 100:g}": upper.ravel()}
    for share in quantiles:
        columns[f"quantile_{share * 100:g}"] = run.forecast.quantile(share).ravel()
    if run.simple:
        nothing = np.full(count, np.nan)
        columns["simple"] = np.concatenate([run.simple.get(c, nothing) for c in range(len(run.columns))])
    return columns
