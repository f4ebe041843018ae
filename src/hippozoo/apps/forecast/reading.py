"""From a file, a frame or an array to a table: which columns are read, and how the rows of the future join them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.apps.forecast.inputs import InputNames
from hippozoo.tables import CHUNK_ROWS, Rows, Table, TableError, read_panel, read_table
from hippozoo.tables.frames import is_frame, read_frame

__all__ = ["Reading", "chunks_of", "future_rows", "is_path"]


def is_path(data: Any) -> bool:
    """Whether it names a file."""
    return isinstance(data, (str, os.PathLike))


@dataclass(frozen=True)
class Reading:
    """How a table is read: as of `hippozoo.tables.read_table`; `panel` names its series, `inputs` are read too."""

    columns: tuple[str, ...] = ()
    time: str | None = None
    rows_are_steps: bool = False
    panel: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if self.rows_are_steps and self.time is not None:
            raise ValueError(f"time={self.time!r} and rows_are_steps=True exclude each other; pass one of them.")

    def open(self, data: Any) -> Table:
        """The table; inputs stand after its columns in each row."""
        if not is_path(data):
            return read_frame(data, self.columns, self.time, self.panel, self.inputs)
        both = [name for name in self.columns if name in self.inputs]
        if both and not self.panel:
            raise ValueError(f"column {both[0]!r} is to be forecast and an input too; name it once.")
        more: Any = {"find_time": not self.rows_are_steps, "inputs": self.inputs}
        if self.panel:
            column = self.columns[0] if self.columns else None
            return read_panel(Path(data), self.panel, column, self.time, self.chunk_rows, **more)
        return read_table(Path(data), self.columns, self.time, self.chunk_rows, **more)

    def at_time_of(self, frame: Any) -> Reading:
        """The same for a frame that may have its times elsewhere, as in its index."""
        has_time = self.time is not None and self.time in list(map(str, getattr(frame, "columns", ())))
        return self if has_time else replace(self, time=None)


def chunks_of(table: Table, inputs: InputNames) -> Iterator[tuple[Rows, int]]:
    """The rows; of a word among inputs it is said what to do."""
    try:
        yield from table.chunks
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
    if is_path(data) or is_frame(data):
        asked = replace(reading, columns=inputs.known, panel=(), inputs=())
        table = (asked if is_path(data) else asked.at_time_of(data)).open(data)
    else:
        table = read_frame(data)
        if len(table.columns) != len(inputs.known):
            raise ValueError(
                f"future= has {len(table.columns)} columns, and {len(inputs.known)} are known over the horizon "
                f"({', '.join(map(repr, inputs.known))}); pass one column for each."
            )
    rows = Rows.joined([one for one, _ in chunks_of(table, inputs)])
    values = np.full((len(rows.values), targets + len(inputs.columns)), np.nan)
    values[:, targets : targets + len(inputs.known)] = rows.values
    return Rows(rows.first, rows.times, values, rows.offsets)
