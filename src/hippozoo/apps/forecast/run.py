"""Learn a table in one pass and forecast what comes next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from hippozoo.apps.forecast.backtest import COVERAGES
from hippozoo.apps.forecast.beside import InputNames, join_rows
from hippozoo.apps.forecast.durations import say_last
from hippozoo.apps.forecast.learner import Choices, Learner, Together
from hippozoo.apps.forecast.notes import notes_on, too_few, until_validated
from hippozoo.apps.forecast.table_forecast import TableForecast
from hippozoo.tables import CHUNK_ROWS, Place, Rows, Table, TableError, Trouble, read_panel, read_table, reason, word

__all__ = ["ForecastRun", "forecast_table"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastRun:
    """Everything that was found out about a table.

    Parameters
    ----------
    learner
        What was learnt.
    forecast
        What comes next.
    name
        What the table is called.
    left_out
        The columns that nobody named and that hold no numbers, and why.
    time
        The column of times; None if rows are steps.
    until_validated
        How many more rows each column needs until its bands are measured, of those that need some.
    notes
        What was skipped, and what looks wrong.
    """

    learner: Learner
    forecast: TableForecast
    name: str
    left_out: Mapping[str, str]
    time: str | None
    until_validated: Mapping[str, int]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, learner: Learner, name: str, time: str | None, left_out: Mapping[str, str], notes: Sequence[str] = ()
    ) -> ForecastRun:
        """The run of a learner that has learnt all; refuses what could not be learnt."""
        begun = [bool(group.state.begun[place]) for group, place in learner.by_column()]
        if not all(begun):
            empty = ", ".join(repr(one) for one, some in zip(learner.columns, begun, strict=True) if not some)
            said = f"column {empty} contains no number; omit it"
            raise TableError(Trouble("unusable", Place(learner.source), said))
        if not learner.learnt:
            said = too_few(round(learner.groups[0].state.time), learner.horizon)
            raise TableError(Trouble("unusable", Place(learner.source), said))
        return cls(
            learner=learner,
            forecast=TableForecast.of(learner),
            name=name,
            left_out=dict(left_out),
            time=time,
            until_validated=until_validated(learner),
            notes=(*notes, *notes_on(learner)),
        )

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
    def step_name(self) -> str | None:
        """What a step is, in words; None without times."""
        return self.learner.grid.describe_step()

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
        """The times of the `recent` steps and of those that are forecast, as numbers; None without times.

        Dates are seconds since 1970 by the local clock.
        """
        return self.learner.grid.positions(len(self.recent), self.horizon)

    @property
    def seasons(self) -> tuple[int, ...]:
        """The periods that were found or given in any column, in steps."""
        return tuple(sorted({season for group in self.learner.groups for season in group.test.seasons}))

    @property
    def season_names(self) -> tuple[str, ...]:
        """What stands one period back, in words ("last week")."""
        return tuple(say_last(one, self.learner.grid.duration(one)) for one in self.seasons)

    @property
    def rows_until_validated(self) -> int:
        """How many more rows are needed until all bands are measured; 0 if they are."""
        return max(self.until_validated.values(), default=0)


def forecast_table(
    path: str | Path,
    columns: Sequence[str] = (),
    time: str | None = None,
    horizon: int | str | None = None,
    every: float | int | str | None = None,
    season: int | Sequence[int] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    progress: Callable[[float], None] = lambda fraction: None,
    *,
    rows_are_steps: bool = False,
    coverages: Sequence[float | int] = COVERAGES,
    lower: float | int | None = None,
    upper: float | int | None = None,
    together: Together = "independent",
    panel: Sequence[str] = (),
    inputs: InputNames | None = None,
    future: str | Path | None = None,
) -> ForecastRun:
    r"""Read, check and learn a table in one pass; forecast the `horizon` steps after its end.

    Parameters
    ----------
    path, columns, chunk_rows
        As of `hippozoo.tables.read_table`.
    time
        The column of times; by default the column of dates, if there is one.
    horizon
        Steps to forecast, or a length of time such as ``"2 days"``; by default 96, or an eighth of the steps of a
        shorter table, so that forecasts can be judged with an error bar.
    every
        The length of a step, in seconds (dates) or in the unit of the time column, or as ``"15 minutes"``; by default
        the usual distance of two rows.
    season
        A period in steps, or several; by default those that `find_seasons` finds in the first chunk of each column. 1
        for none.
    progress
        Called with the share of the file that was read.
    rows_are_steps
        Take the rows as even steps, also where a column holds dates.
    coverages
        The bands to give, as shares of values inside.
    lower, upper
        Bounds that no value can cross, such as 0 for counts.
    together
        ``"joint"``: forecast each column from the past of all; ``"independent"``: from its own; ``"panel"``: from its
        own, by what all have taught: columns of one kind that differ in size.
    panel
        The columns that name the series of each row, in a table that stacks several; then each series is a column, and
        `together` is ``"panel"``.
    inputs
        Columns that help and are not forecast.
    future
        A table of the inputs after the end of this one; by default its rows after the last value to forecast.

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
    if rows_are_steps and time is not None:
        raise ValueError(f"time={time!r} and rows_are_steps=True exclude each other; pass one of them.")
    names = InputNames() if inputs is None else inputs
    choices = Choices(horizon, every, season, coverages, lower, upper, "panel" if panel else together, names)
    reading = Reading(tuple(columns), time, rows_are_steps, tuple(panel), names.columns, chunk_rows)
    learner, table = learn_table(path, reading, choices, progress, future=future)
    return run_of_table(learner, table, Path(path).name)


@dataclass(frozen=True)
class Reading:
    """How a file is read; see `forecast_table`."""

    columns: tuple[str, ...] = ()
    time: str | None = None
    rows_are_steps: bool = False
    panel: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    chunk_rows: int = CHUNK_ROWS

    def open(self, path: str | Path) -> Table:
        """The table; inputs stand after its columns in each row."""
        find_time = not self.rows_are_steps
        if self.panel:
            column = self.columns[0] if self.columns else None
            return read_panel(
                path, self.panel, column, self.time, self.chunk_rows, find_time=find_time, inputs=self.inputs
            )
        if not self.inputs:
            return read_table(path, self.columns, self.time, self.chunk_rows, find_time=find_time)
        columns, left_out = self.columns, {}
        if not columns:
            looked = read_table(path, (), self.time, self.chunk_rows, find_time=find_time)
            columns = tuple(name for name in looked.columns if name not in self.inputs)
            left_out = {name: why for name, why in looked.left_out.items() if name not in self.inputs}
            if not columns:
                said = f"all its columns of numbers are inputs ({', '.join(self.inputs)}); leave one to forecast"
                raise TableError(Trouble("unusable", Place(str(path)), said))
        both = [name for name in columns if name in self.inputs]
        if both:
            raise ValueError(f"column {both[0]!r} is to be forecast and an input too; name it once.")
        table = read_table(path, (*columns, *self.inputs), self.time, self.chunk_rows, find_time=find_time)
        return replace(table, columns=tuple(columns), left_out=left_out)

    def open_future(self, path: str | Path, known: Sequence[str]) -> Table:
        """A table of the inputs alone."""
        return read_table(path, known, self.time, self.chunk_rows, find_time=not self.rows_are_steps)


def run_of_table(learner: Learner, table: Table, name: str) -> ForecastRun:
    """The run of a table that was learnt."""
    left_out, notes = say_notes(table)
    return ForecastRun.of(learner.finish(), name, table.time, left_out, notes)


def say_notes(table: Table) -> tuple[dict[str, str], list[str]]:
    """Why columns are left out, and what the reader noted, in words."""
    # The file is named elsewhere; where a sentence would have no subject, it is the table.
    named = [
        one._replace(place=one.place._replace(source="" if one.place.column else "the table")) for one in table.notes
    ]
    notes = [word(one).removesuffix(".") for one in named]
    return {column: reason(why) for column, why in table.left_out.items()}, notes


def learn_table(
    path: str | Path,
    reading: Reading,
    choices: Choices,
    progress: Callable[[float], None] = lambda fraction: None,
    *,
    future: str | Path | None = None,
) -> tuple[Learner, Table]:
    """The learner of a file, which more rows can join, and the table it was read from."""
    table = reading.open(path)
    ahead = None if future is None else future_of_table(future, reading, choices.inputs, len(table.columns))
    if choices.every is not None and table.time is None:
        raise ValueError(
            f"every={choices.every} is a length of time, and the rows have no times; name their column with --time, or "
            f"omit --every."
        )
    learner = None
    for rows, done in _chunks(table, choices.inputs):
        if learner is None:
            learner = Learner.begin(table.columns, table.dates, str(path), choices, rows, ahead)
        else:
            learner.take_in(rows)
        progress(min(done / max(table.size, 1), 1.0))
    assert learner is not None  # an empty table is refused by the reader
    if ahead is not None:
        learner.add_future(ahead)
    return learner, table


def _chunks(table: Table, inputs: InputNames) -> Iterator[tuple[Rows, int]]:
    """The rows; of a word among inputs it is said what to do."""
    try:
        yield from cast("Iterator[tuple[Rows, int]]", table.chunks)
    except TableError as error:
        trouble = error.trouble
        if trouble is None or trouble.kind != "not a number" or trouble.place.column not in inputs.columns:
            raise
        advice = "an input is a column of numbers: write one column of 0 and 1 for each word"
        raise TableError(trouble._replace(advice=advice)) from None


def future_of_table(path: str | Path, reading: Reading, inputs: InputNames, targets: int) -> Rows:
    """Rows of a table of inputs, with nothing in the columns to forecast."""
    if not inputs.known:
        raise ValueError(f"future={path} holds inputs, and none is named; name them with --known (known=).")
    table = reading.open_future(path, inputs.known)
    rows = [one for one, _ in _chunks(table, inputs)]
    whole = rows[0]
    for one in rows[1:]:
        whole = join_rows(whole, one)
    return as_future(whole, inputs, targets)


def as_future(rows: Rows, inputs: InputNames, targets: int) -> Rows:
    """Rows of known inputs, with nothing in all other columns."""
    values = np.full((len(rows.values), targets + len(inputs.columns)), np.nan)
    values[:, targets : targets + len(inputs.known)] = rows.values
    return Rows(rows.first, rows.times, values, rows.offsets)
