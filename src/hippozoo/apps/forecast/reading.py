"""From a file to a learner: which columns are read, and how the rows of the future join them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.apps.forecast.inputs import InputNames
from hippozoo.apps.forecast.learner import Choices, Learner
from hippozoo.apps.forecast.run import ForecastRun
from hippozoo.tables import CHUNK_ROWS, Rows, Table, TableError, read_panel, read_table, reason, word
from hippozoo.tables.frames import is_frame, read_frame
from hippozoo.tables.trouble import KINDS, unusable

__all__ = ["Reading", "future_rows", "learn_table", "run_of_table", "say_notes"]


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
                raise unusable(str(path), said)
        both = [name for name in columns if name in self.inputs]
        if both:
            raise ValueError(f"column {both[0]!r} is to be forecast and an input too; name it once.")
        table = read_table(path, (*columns, *self.inputs), self.time, self.chunk_rows, find_time=find_time)
        return replace(table, columns=tuple(columns), left_out=left_out)


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
    future: Any = None,
) -> tuple[Learner, Table]:
    """The learner of a file, which more rows can join, and the table it was read from."""
    table = reading.open(path)
    ahead = None
    if future is not None:
        time = reading.time if isinstance(future, (str, Path)) else table.time
        ahead = future_rows(future, replace(reading, time=time), choices.inputs, len(table.columns))
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


def future_rows(data: Any, reading: Reading, inputs: InputNames, targets: int) -> Rows:
    """Known inputs after the end of the data, from a file, a frame or an array, with nothing in all other columns."""
    if not inputs.known:
        raise ValueError(f"future={shorten(data)} holds inputs, and none is named; name them with --known (known=).")
    if isinstance(data, (str, os.PathLike)):
        find_time = not reading.rows_are_steps
        table = read_table(Path(data), inputs.known, reading.time, reading.chunk_rows, find_time=find_time)
        rows = Rows.joined([one for one, _ in _chunks(table, inputs)])
    elif is_frame(data):
        has_time = reading.time is not None and reading.time in list(map(str, getattr(data, "columns", ())))
        rows = read_frame(data, inputs.known, reading.time if has_time else None).rows
    else:
        rows = read_frame(data).rows
        if rows.values.shape[1] != len(inputs.known):
            raise ValueError(
                f"future= has {rows.values.shape[1]} columns, and {len(inputs.known)} are known over the horizon "
                f"({', '.join(map(repr, inputs.known))}); pass one column for each."
            )
    values = np.full((len(rows.values), targets + len(inputs.columns)), np.nan)
    values[:, targets : targets + len(inputs.known)] = rows.values
    return Rows(rows.first, rows.times, values, rows.offsets)
