"""From a file to a learner: which columns are read, and how the rows of the future join them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from hippozoo.apps.forecast.beside import InputNames, join_rows
from hippozoo.apps.forecast.learner import Choices, Learner
from hippozoo.apps.forecast.run import ForecastRun
from hippozoo.tables import CHUNK_ROWS, Place, Rows, Table, TableError, Trouble, read_panel, read_table, reason, word
from hippozoo.tables.trouble import KINDS

__all__ = ["Reading", "as_future", "future_of_table", "learn_table", "run_of_table", "say_notes"]


@dataclass(frozen=True)
class Reading:
    """How a file is read: as of `hippozoo.tables.read_table`; `panel` names its series, `inputs` are read too."""

    columns: tuple[str, ...] = ()
    time: str | None = None
    rows_are_steps: bool = False
    panel: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if self.rows_are_steps and self.time is not None:
            raise ValueError(f"time={self.time!r} and rows_are_steps=True exclude each other; pass one of them.")

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
    return ForecastRun(learner=learner.finish(), name=name, time=table.time, left_out=left_out, said=notes)


def say_notes(table: Table) -> tuple[dict[str, str], list[str]]:
    """Why columns are left out, and what the reader noted, in words."""
    notes = []
    for one in table.notes:
        # The file is named elsewhere; where a sentence would have no subject, it is the table.
        has_subject = one.place.column or not KINDS[one.kind][0].startswith(" ")
        place = one.place._replace(source="" if has_subject else "the table")
        notes.append(word(one._replace(place=place)).removesuffix("."))
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
