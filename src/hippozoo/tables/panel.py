"""A table that stacks several series, told apart by columns of names, as one column for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables.schema import series_label
from hippozoo.tables.table import CHUNK_ROWS, Rows, Table, open_table, read_rows
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["read_panel", "shared_by_row"]


def read_panel(
    path: str | Path,
    series: Sequence[str],
    column: str | None = None,
    time: str | None = None,
    chunk_rows: int = CHUNK_ROWS,
    *,
    find_time: bool = True,
    inputs: Sequence[str] = (),
) -> Table:
    r"""A stacked table as a wide one, with a column for each series.

    With times, a row of the wide table is a time; without, series are aligned at their ends.

    Parameters
    ----------
    path, time, chunk_rows, find_time
        As of `read_table`.
    series
        The columns that name the series of each row.
    column
        The column of numbers; None if there is only one.
    inputs
        Further columns of numbers, in which all series agree; they stand after the series in each row.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stacked.csv"
    ...     _ = path.write_text("shop,sold\na,1\na,2\nb,7\n")
    ...     table = read_panel(path, ["shop"])
    ...     rows, _ = next(table.chunks)
    >>> table.columns, rows.values.tolist()
    (('a', 'b'), [[1.0, nan], [2.0, 7.0]])
    """
    source, size = str(path), Path(path).stat().st_size if Path(path).exists() else 0
    chosen = [] if column is None else [column, *inputs]
    found, pieces = open_table(path, chosen, time, chunk_rows, find_time=find_time, source=source, series=series)
    targets = [name for name in found.schema.columns if name not in inputs]
    if len(targets) != 1:
        names = ", ".join(map(repr, targets[:20]))
        more = (f"{', '.join(map(repr, series))}: {names}",)
        raise TableError(Trouble("panel numbers", Place(source), len(targets), more=more))
    if inputs and column is None:
        chosen = [*targets, *inputs]
        found, pieces = open_table(path, chosen, time, chunk_rows, find_time=find_time, source=source, series=series)
    schema = found.schema
    labels: list[str] = []
    parts: list[Rows] = []
    for cells, _ in pieces:
        parts.append(read_rows(schema, cells, len(labels) + 1, source))
        named = [series_label(one) for one in zip(*(cells[name] for name in series), strict=True)]
        if not all(named):
            place = Place(source, row=len(labels) + 1 + named.index(""), column=series[0])
            raise TableError(Trouble("no series", place))
        labels += named
    order = {name: k for k, name in enumerate(dict.fromkeys(labels))}
    place = np.array([order[name] for name in labels])
    wide = _spread(place, Rows.joined(parts), labels, source, inputs)
    total = len(wide.values)
    ends = ((k, min(k + chunk_rows, total)) for k in range(0, total, chunk_rows))
    chunks = ((wide.part(begin, end), size * end // total) for begin, end in ends)
    return Table(tuple(order), schema.dates, size, chunks, found.left_out, schema.time, found.notes)


def _spread(series: np.ndarray, rows: Rows, labels: Sequence[str], source: str, inputs: Sequence[str]) -> Rows:
    """One row for each time, or counted from the end of each series; one column for each series, then the inputs."""
    times, values, count = rows.times, rows.values, int(series.max()) + 1
    if times is None:
        lengths = np.bincount(series, minlength=count)
        seen = np.zeros(count, int)
        place = np.empty(len(series), int)
        for k, one in enumerate(series.tolist()):
            place[k] = lengths.max() - lengths[one] + seen[one]
            seen[one] += 1
        clock = None
    else:
        clock, place = np.unique(times, return_inverse=True)
    _, first = np.unique(place * count + series, return_index=True)
    if len(first) < len(series):
        again = int(np.setdiff1d(np.arange(len(series)), first)[0])
        when = "" if times is None else times[again]
        if times is not None and abs(times[again]) > 1e8:
            when = np.datetime64(int(times[again]), "s")
        more = (shorten(labels[again]),)
        raise TableError(Trouble("series again", Place(source, row=again + 1), str(when), more=more))
    wide = np.full((int(place.max()) + 1, count), np.nan)
    wide[place, series] = values[:, 0]
    if inputs:
        shared, wrong = shared_by_row(place, values[:, 1:])
        if wrong is not None:
            at, column = wrong
            where = Place(source, row=at + 1, column=inputs[column])
            raise TableError(Trouble("series differ", where, f"{values[at, 1 + column]:g}"))
        wide = np.concatenate([wide, shared], axis=1)
    zones = None
    if rows.offsets is not None and clock is not None:
        zones = np.empty(len(clock))
        zones[place] = rows.offsets
    return Rows(1, clock, wide, zones)


def shared_by_row(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Values of each row, in which all that share it agree; and the place of the first that does not."""
    found = np.full((int(rows.max()) + 1, values.shape[1]), np.nan)
    known = np.isfinite(values)
    for column in range(values.shape[1]):
        found[rows[known[:, column]], column] = values[known[:, column], column]
    wrong = np.argwhere(known & (found[rows] != values))
    return found, (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) else None
