"""Everything that was found out about a table: forecasts, verdicts, errors and notes, each worked out once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.apps.forecast.comparison import Comparison, Verdict, judge, pool
from hippozoo.apps.forecast.input_gains import InputGain, gains_of
from hippozoo.apps.forecast.learner import Learner
from hippozoo.apps.forecast.notes import RIVALS, notes_on, say_expert, too_few, until_validated
from hippozoo.apps.forecast.times import say_last
from hippozoo.ensemble import EnsembleForecast
from hippozoo.tables.frames import Clock, write_frame
from hippozoo.tables.trouble import unusable
from hippozoo.zoo.forecasting import Forecast

__all__ = ["ForecastRun", "TableForecast", "Verdicts", "forecast_columns", "forecast_frame", "forecast_records"]

# A smaller share of an error is none; a smaller share of a forecast is not named.
_NOTHING, _NAMED = 0.005, 0.02

Answer = Float[np.ndarray, "columns steps"]


class Lean(NamedTuple):
    """To which simple forecast a column leans, how far from 0 to 1, and by how much the mean of each step moves."""

    rival: str
    weight: float
    moved: np.ndarray


class TableForecast:
    """Forecasts of the columns of a table, which were learnt in groups, step by step.

    Where the back-test says clearly that a simple forecast is better, the forecast leans to it, and so do its bands.
    """

    def __init__(self, learner: Learner) -> None:
        self.parts: list[Forecast] = [group.forecaster.forecast(group.state) for group in learner.groups]
        # For each column its group, and its place in it.
        self.places: list[tuple[int, int]] = []
        self.leans: dict[int, Lean] = {}
        numbers = {id(group): number for number, group in enumerate(learner.groups)}
        for column, (group, place) in enumerate(learner.by_column()):
            self.places.append((numbers[id(group)], place))
            part, comparison = self.parts[numbers[id(group)]], group.test.compare(place)
            rival, weight = ("", 0.0) if comparison is None else comparison.lean()
            # A simple forecast stands on the last value: not on one that may be an outlier.
            is_doubted = isinstance(part, EnsembleForecast) and part.doubted[place] > 0
            if weight > 0 and not is_doubted:
                moved = weight * (group.simple(place, rival) - part.mean(part.leads())[place])
                self.leans[column] = Lean(rival, weight, moved)

    def _gather(self, ask: Callable[[Forecast], np.ndarray]) -> Answer:
        """Answers of all groups by column, each moved as far as its column leans."""
        answers = [ask(one) for one in self.parts]
        found = np.stack([answers[number][place] for number, place in self.places])
        for column, lean in self.leans.items():
            number, place = self.places[column]
            one, part = found[column] + lean.moved, self.parts[number]
            found[column] = part.channel(place).bounded(one) if isinstance(part, EnsembleForecast) else one
        return found

    def samples(self) -> Answer:
        """The expected value of each step, columns first."""
        return self._gather(lambda one: one.mean(one.leads()))

    def quantile(self, probability: float) -> Answer:
        """The value that a column stays below with this probability."""
        return self._gather(lambda one: one.quantile(one.leads(), probability))

    def band(self, coverage: float) -> tuple[Answer, Answer]:
        """The two ends of a band that holds this share of values."""
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    @cached_property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made by, and the share of each, largest first."""
        made, found = [part.by for part in self.parts], []
        for column, (number, place) in enumerate(self.places):
            shares = dict(made[number][place]) if place < len(made[number]) else {}
            if lean := self.leans.get(column):
                shares = {name: (1 - lean.weight) * share for name, share in shares.items()}
                shares[lean.rival] = shares.get(lean.rival, 0.0) + lean.weight
            found.append(dict(sorted(shares.items(), key=lambda one: -one[1])))
        return found


class Verdicts(dict[str, Verdict]):
    """The verdict on each column, by its name; `pooled` is that on all of them together."""

    pooled: Verdict | None = None

    def __repr__(self) -> str:
        lines = [f"{name}: {one.sentence}" for name, one in self.items()]
        if self.pooled is not None:
            lines.append(f"all {len(self)} columns together: {self.pooled.sentence}")
        return "\n".join(lines)


class ForecastRun:
    """Everything that was found out about a table.

    The learner has taken in its last step; `time` is the column of times, `left_out` are the columns that hold no
    numbers, and `said` is what the reader noted.
    """

    def __init__(
        self, learner: Learner, name: str, time: str | None, left_out: Mapping[str, str], said: Sequence[str] = ()
    ) -> None:
        self.learner, self.name, self.time, self.left_out, self.said = learner, name, time, left_out, said
        self.columns, self.horizon, self.seasons = learner.columns, learner.horizon, learner.seasons
        self.coverages = tuple(map(float, learner.choices.coverages))
        self.steps = round(learner.groups[0].state.time)
        begun = [bool(group.state.begun[place]) for group, place in learner.by_column()]
        empty = ", ".join(repr(one) for one, some in zip(learner.columns, begun, strict=True) if not some)
        if empty:
            raise unusable(learner.source, f"column {empty} contains no number; omit it")
        if not learner.learnt:
            raise unusable(learner.source, too_few(self.steps, learner.horizon))
        # For pictures: the last steps, (steps, columns), and when they and those to come are: in seconds of the local
        # clock or as numbers. The times to come as text. None without times.
        self.recent = learner.recent
        self.positions = learner.grid.positions(len(self.recent), self.horizon)
        self.times = None
        if self.positions is not None:
            self.times = learner.grid.write(self.positions[len(self.recent) :], learner.grid.last_offset)

    @cached_property
    def forecast(self) -> TableForecast:
        """What comes next."""
        return TableForecast(self.learner)

    @property
    def by(self) -> list[dict[str, float]]:
        """What the forecast of each column is made of, and the share of each, largest first."""
        return self.forecast.by

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
        return RIVALS | {f"season {one}": say_last(one, grid.duration(one)) for one in self.seasons}

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
                name: {} if (found := self.comparisons[c]) is None else _finite(found.means()) for c, name in named
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


def _finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


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


def forecast_frame(
    run: ForecastRun, clock: Clock, series: Mapping[str, Sequence[Any]] | None = None, quantiles: Sequence[float] = ()
) -> Any:
    """The forecast as a frame, with times as the clock has them; a long table keeps its columns of names."""
    columns, count = forecast_columns(run, quantiles), run.horizon
    ahead, is_local = run.learner.grid.ahead(count)
    if is_local and clock.zone == "UTC" and run.learner.grid.last_offset is not None:
        ahead, is_local = ahead - run.learner.grid.last_offset, False
    times = clock.times(ahead, is_local=is_local)
    named = {name: [one for one in keys for _ in range(count)] for name, keys in (series or {}).items()}
    first = {**(named or {"column": columns["column"]}), "step": columns["step"]}
    rest = {name: one for name, one in columns.items() if name not in ("column", "step", "time")}
    return write_frame(clock, {**first, "time": np.tile(times, len(run.columns)), **rest})


def forecast_records(run: ForecastRun) -> list[dict[str, Any]]:
    """One object per column and step; None where a number is unknown."""
    columns = {
        name: [
            None if isinstance(one, float) and not math.isfinite(one) else one for one in np.asarray(column).tolist()
        ]
        for name, column in forecast_columns(run).items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
