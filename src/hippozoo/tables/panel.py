"""A table that stacks several series, told apart by a column of names, as one column for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._arguments import shorten
from hippozoo.tables.csv_file import open_csv
from hippozoo.tables.numbers import Numbers, why_no_numbers
from hippozoo.tables.parquet_file import open_parquet
from hippozoo.tables.problem import TableError
from hippozoo.tables.table import CHUNK_ROWS, import_pandas
from hippozoo.tables.times import holds_dates, times_for
from hippozoo.tables.truths import as_numbers, holds_truths

__all__ = ["spread_panel"]


def spread_panel(
    path: str | Path, series: str, column: str | None, time: str | None, wide: Path
) -> tuple[tuple[str, ...], str | None]:
    r"""Write a stacked table as a wide CSV file; give the names of its series, and the column of times.

    With times, a row of the wide table is a time; without, series are aligned at their ends.

    Parameters
    ----------
    path
        The stacked table, as of `read_table`.
    series
        The column that names the series of each row.
    column
        The column of numbers; None if there is only one.
    time
        The column of times; None for the column of dates, if there is one.
    wide
        The file to write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, wide = Path(folder) / "stacked.csv", Path(folder) / "wide.csv"
    ...     _ = path.write_text("shop,sold\na,1\na,2\nb,7\n")
    ...     found = spread_panel(path, "shop", None, None, wide)
    ...     print(wide.read_text().split())
    ['a,b', '1.0,', '2.0,7.0']
    >>> found
    (('a', 'b'), None)
    """
    pandas, path = import_pandas(), Path(path)
    if not path.is_file():
        raise TableError(f"{path}: there is no such file; check the path.")
    if path.suffix.lower() in (".parquet", ".pq"):
        separator, frames = ",", open_parquet(path, CHUNK_ROWS)
    else:
        separator, frames = open_csv(pandas, path, CHUNK_ROWS, [])
    parts = [frame for frame, _ in frames]
    if not parts:
        raise TableError(f"{path} has a header and no rows; pass a table with rows.")
    frame = pandas.concat(parts, ignore_index=True)
    names = [str(name) for name in frame.columns]
    for name in (series, column, time):
        if name is not None and name not in names:
            raise TableError(f"{path} has no column {name!r}; it has {', '.join(map(repr, names[:20]))}.")
    frame = as_numbers(frame, [name for name in names if name != series and holds_truths(frame[name])])
    numbers = Numbers(pandas, path, separator)
    rest = [name for name in names if name not in (series, column)]
    if time is None:
        dates = [name for name in rest if holds_dates(pandas, path, name, frame[name], numbers)]
        time = dates[0] if len(dates) == 1 else None
    if column is None:
        fitting = [n for n in rest if n != time and not why_no_numbers(pandas, frame[n], separator)]
        if len(fitting) != 1:
            raise TableError(
                f"{path} has {len(fitting)} columns of numbers beside {series!r}"
                f"{': ' + ', '.join(map(repr, fitting[:20])) if fitting else ''}; name one with --column."
            )
        column = fitting[0]
    labels = frame[series].astype(str).str.strip()
    if (labels == "").any() or frame[series].isna().any():
        row = int(((labels == "") | frame[series].isna()).to_numpy().argmax()) + 1
        raise TableError(f"{path}, row {row}, column {series!r} is empty; name the series of every row.")
    values = numbers.read(frame[column], column, 1)
    return _spread(pandas, path, labels, values, None if time is None else frame[time], time, numbers, wide)


def _spread(
    pandas: Any,
    path: Path,
    labels: Any,
    values: np.ndarray,
    cells: Any,
    time: str | None,
    numbers: Numbers,
    wide: Path,
) -> tuple[tuple[str, ...], str | None]:
    tall = pandas.DataFrame({"label": labels, "value": values})
    if cells is None:
        tall["place"] = tall.groupby("label").cumcount(ascending=False) * -1
    else:
        tall["place"] = times_for(pandas, path, str(time), cells, numbers).read(cells, 1)[0]
        twice = tall.duplicated(["label", "place"]).to_numpy()
        if twice.any():
            at = int(twice.argmax())
            raise TableError(
                f"{path}, row {at + 1}: series {shorten(str(labels.iloc[at]))} has had a row at "
                f"{shorten(str(cells.iloc[at]))} before; keep one row per series and time."
            )
    order = tuple(dict.fromkeys(labels.tolist()))
    spread = tall.pivot(index="place", columns="label", values="value").sort_index()[list(order)]
    if cells is not None:
        words = dict(zip(tall["place"].tolist(), cells.astype(str).tolist(), strict=True))
        while time in order:
            time = f"{time} "
        spread.insert(0, time, [words[place] for place in spread.index])
    spread.to_csv(wide, index=False)
    return order, time
