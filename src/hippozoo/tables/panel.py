"""A table that stacks several series, told apart by columns of names, as one column for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables.schema import series_label
from hippozoo.tables.table import CHUNK_ROWS, Rows, Table, open_table, read_rows
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["read_panel", "spread"]


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

    With times, a row of the wide table is a time; without, series are aligned at their ends. `path`, `time`,
    `chunk_rows` and `find_time` are those of `read_table`.

    Parameters
    ----------
    series, column
        The columns that name the series of each row, and the one of numbers; None if there is only one.
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
    chosen = [] if column is None else [column]
    found, pieces = open_table(
        path, chosen, time, chunk_rows, find_time=find_time, source=source, series=series, inputs=inputs
    )
    targets = [name for name in found.schema.columns if name not in inputs]
    if len(targets) != 1:
        names = ", ".join(map(repr, targets[:20]))
        more = (f"{', '.join(map(repr, series))}: {names}",)
        raise TableError(Trouble("panel numbers", Place(source), len(targets), more=more))
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
    rows = Rows.joined(parts)
    wide, columns, wrong = spread(labels, rows)
    if wrong is not None:
        kind, at, number = wrong
        raise TableError(_trouble(kind, Place(source, row=at + 1), rows, at, number, labels[at], inputs))
    total = len(wide.values)
    ends = ((k, min(k + chunk_rows, total)) for k in range(0, total, chunk_rows))
    chunks = ((wide.part(begin, end), size * end // total) for begin, end in ends)
    return Table(columns, schema.dates, size, chunks, found.left_out, schema.time, found.notes)


def _trouble(kind: str, place: Place, rows: Rows, at: int, number: int, label: str, inputs: Sequence[str]) -> Trouble:
    if kind == "series differ":
        return Trouble(kind, place._replace(column=inputs[number]), f"{rows.values[at, 1 + number]:g}")
    when: Any = "" if rows.times is None else rows.times[at]
    if rows.times is not None and abs(when) > 1e8:
        when = np.datetime64(int(when), "s")
    return Trouble(kind, place, str(when), more=(shorten(label),))


def spread(labels: Sequence[Any], rows: Rows) -> tuple[Rows, tuple[Any, ...], tuple[str, int, int] | None]:
    """One column for each series, then the inputs, which stand after the first value of each row.

    A row is a time; without times, series are aligned at their ends. Also the series in their order, and what is
    wrong, if anything: the kind of trouble, the place of its row, and the number of its input.
    """
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    names, series, values = tuple(order), np.array([order[label] for label in labels]), rows.values
    if rows.times is None:
        lengths = np.bincount(series)
        row = np.empty(len(series), int)
        row[np.argsort(series, kind="stable")] = np.arange(len(series)) - np.repeat(
            np.cumsum(lengths) - lengths, lengths
        )
        times, row = None, row + lengths.max() - lengths[series]
    else:
        times, row = np.unique(rows.times, return_inverse=True)
    _, first = np.unique(row * len(order) + series, return_index=True)
    if len(first) < len(series):
        return rows, names, ("series again", int(np.setdiff1d(np.arange(len(series)), first)[0]), 0)
    wide = np.full((int(row.max()) + 1, len(order) + values.shape[1] - 1), np.nan)
    wide[row, series] = values[:, 0]
    for number, given in enumerate(values[:, 1:].T):
        shared, known = wide[:, len(order) + number], np.isfinite(given)
        shared[row[known]] = given[known]
        differ = np.flatnonzero(known & (shared[row] != given))
        if len(differ):
            return rows, names, ("series differ", int(differ[0]), number)
    offsets = None
    if rows.offsets is not None and times is not None:
        offsets = np.empty(len(times))
        offsets[row] = rows.offsets
    return Rows(1, times, wide, offsets), names, None
