"""Data frames in and out: rows of numbers with their times, and forecasts in the library that the rows came in.

pandas, polars and pyarrow are read and written through narwhals (the extra ``frames``). Everything else works with
arrays: `read_frame` gives them, and `write_frame` takes them back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs
from hippozoo.ensemble.clock import LIBRARIES, Clock, table_clock, write_frame
from hippozoo.tables import Rows
from hippozoo.tables.panel import shared_by_row

__all__ = ["Clock", "FrameRows", "is_frame", "read_frame", "table_clock", "write_frame"]

_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?)?$")


@dataclass(frozen=True, eq=False)
class FrameRows:
    """A frame that was read.

    Parameters
    ----------
    columns, rows
        Names and numbers; see `hippozoo.tables.Rows`.
    time, dates
        The column of times, if there is one, and whether they are dates.
    clock
        What times are called.
    series
        Of a long frame: the columns that name the series, and for each of `columns` these names.
    left_out
        The columns that nobody named and that hold no numbers, and why.

    The values of inputs stand after those of `columns` in each row.
    """

    columns: tuple[str, ...]
    rows: Rows
    time: str | None
    dates: bool
    clock: Clock
    series: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def is_frame(data: Any) -> bool:
    """Whether it is a frame or series of pandas, polars or pyarrow.

    Examples
    --------
    >>> is_frame(np.zeros(3))
    False
    """
    return type(data).__module__.partition(".")[0] in LIBRARIES


def read_frame(
    data: Any,
    columns: Sequence[str] = (),
    time: str | None = None,
    series: str | Sequence[str] | None = None,
    inputs: Sequence[str] = (),
) -> FrameRows:
    """Numbers and times of a frame, a series or an array; all is checked, and nothing is copied that need not be.

    Parameters
    ----------
    data
        A frame or series of pandas, polars or pyarrow; or an array, (time,) or (time, columns). NaN means missing.
    columns
        The columns of numbers; by default all.
    time
        The column of times. By default a DatetimeIndex or PeriodIndex, or the only column of datetimes.
    series
        Of a long frame: the column, or columns, that name the series of each row.
    inputs
        Further columns of numbers; a long frame has the same for all series.

    Examples
    --------
    >>> import pandas as pd
    >>> load = pd.Series([5.0, None, 7.0], pd.date_range("2024-01-01", periods=3, freq="h"), name="load")
    >>> found = read_frame(load)
    >>> found.columns, found.rows.values[:, 0].tolist(), np.diff(found.rows.times).tolist()
    (('load',), [5.0, nan, 7.0], [3600.0, 3600.0])
    """
    if not is_frame(data):
        if time is not None or series is not None:
            raise ValueError("time= and series= name columns, and an array has none; pass a frame.")
        return _read_array(data, columns, inputs)
    nw = needs("narwhals", extra="frames", feature="a forecast of a data frame")
    if hasattr(data, "collect") and not hasattr(data, "to_numpy"):
        raise TypeError("data is a lazy frame; call .collect() on it first.")
    native, index = _with_index(data)
    names = [str(name) for name in getattr(native, "columns", ())]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns are called {twice!r}; rename one of them.")
    frame = nw.from_native(native, eager_only=True)
    if not len(frame):
        raise ValueError("the frame is empty; pass one with rows.")
    names = [str(name) for name in frame.columns]
    ids = () if series is None else (series,) if isinstance(series, str) else tuple(series)
    for name in (*columns, *([time] if time is not None else []), *ids, *inputs):
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, names[:20]))}.")
    free = [name for name in names if name not in (*columns, *ids, *inputs)]
    time, clock, moments, offsets = _read_times(nw, frame, free, time, index, _library(data))
    dates = clock.kind in ("dates", "days", "periods")
    chosen = list(columns) or [name for name in free if name != time]
    values, left_out = _read_values(nw, frame, chosen, named=bool(columns))
    kept = tuple(name for name in chosen if name not in left_out)
    if inputs:
        values = np.column_stack([values, _read_values(nw, frame, list(inputs), named=True, inputs=True)[0]])
    if ids:
        if len(kept) != 1:
            raise ValueError(
                f"{len(kept)} columns hold numbers ({', '.join(map(repr, kept[:20]))}); a long frame has one: name it "
                f"with columns=."
            )
        labels = [frame[name].to_list() for name in ids]
        return _spread(
            labels,
            ids,
            values,
            moments,
            offsets,
            FrameRows(kept, Rows(1, None, values), time, dates, clock, left_out=left_out),
            inputs,
        )
    _check_order(moments, clock, series_too=True)
    return FrameRows(kept, Rows(1, moments, values, offsets), time, dates, clock, left_out=left_out)


# -- reading --------------------------------------------------------------------------------------------------------


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _read_array(data: Any, columns: Sequence[str], inputs: Sequence[str]) -> FrameRows:
    try:
        values = np.asarray(data, float)
    except (TypeError, ValueError):
        raise TypeError(
            f"data={shorten(data)}: pass a data frame, a series, an array of numbers, or the path of a table."
        ) from None
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(f"data has shape {values.shape}, expected (time,) or (time, columns) with rows.")
    values = values[:, None] if values.ndim == 1 else values
    names = tuple(columns) or (("value",) if values.shape[1] == 1 else tuple(map(str, range(values.shape[1]))))
    if len(names) != values.shape[1]:
        raise ValueError(f"columns= names {len(names)} columns, and data has {values.shape[1]}.")
    _check_finite(values, names)
    for name in inputs:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, names[:20]))}.")
    kept = tuple(name for name in names if name not in inputs)
    if inputs:
        values = values[:, [names.index(name) for name in (*kept, *inputs)]]
    return FrameRows(kept, Rows(1, None, values), None, False, Clock("", first=len(values)))


def _with_index(data: Any) -> tuple[Any, Any]:
    """A frame without its index, and the index of a frame that has one."""
    is_series = not hasattr(data, "columns") and not hasattr(data, "column_names")
    if _library(data) != "pandas":
        return (data.to_frame() if is_series else data), None
    index = data.index
    if getattr(index, "nlevels", 1) > 1:
        raise ValueError(
            f"the index has {index.nlevels} levels; call .reset_index() and name the column of times with time= and "
            f"those that tell series apart with series=."
        )
    frame = data.to_frame("value" if data.name is None else str(data.name)) if is_series else data
    return frame.rename(columns=str), index


def _read_times(
    nw: Any, frame: Any, names: list[str], time: str | None, index: Any, library: str
) -> tuple[str | None, Clock, Any, Any]:
    """The column of times, the clock, and times and offsets in seconds."""
    if time is None and index is not None and type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        native = index.to_series()
        return (None if index.name is None else str(index.name)), *_moments(nw, native, "the index", library)
    if time is None:
        found = [n for n in names if _holds_times(nw, frame[n])] or [n for n in names if _iso(nw, frame[n]) is not None]
        if len(found) > 1:
            raise ValueError(f"{' and '.join(map(repr, found[:5]))} all hold times; name one of them with time=.")
        time = found[0] if found else None
    if time is not None:
        return time, *_moments(nw, frame[time].to_native(), f"column {time!r}", library)
    first, each = float(len(frame)), 1.0
    if index is not None and index.dtype.kind in "iuf" and len(index) > 1:
        steps = np.diff(index.to_numpy(float))
        if steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-9):
            first, each = float(index[-1] + steps[0]), float(steps[0])
    return None, Clock(library, first=first, each=each), None, None


def _holds_times(nw: Any, column: Any) -> bool:
    kind = str(getattr(column.to_native(), "dtype", ""))
    return column.dtype in (nw.Datetime, nw.Date) or kind.startswith(("period[", "datetime64["))


def _iso(nw: Any, column: Any) -> np.ndarray | None:
    """Texts such as 2024-01-31 12:00 as datetime64; None where one is something else."""
    if column.dtype != nw.String:
        return None
    texts = column.to_list()
    if not all(text is not None and _ISO.match(text) for text in texts):
        return None
    return np.array([text.replace(" ", "T") for text in texts], "datetime64[us]")


def _moments(nw: Any, native: Any, what: str, library: str) -> tuple[Clock, np.ndarray, np.ndarray | None]:
    column = nw.from_native(native, series_only=True)
    kind = str(getattr(native, "dtype", ""))
    if kind.startswith("period["):
        native = native.dt.to_timestamp()
    if kind.startswith(("period[", "datetime64[")):  # pandas; narwhals does not know all names of zones
        zone = native.dt.tz
        _check_known(native.isna().to_numpy(), what)
        moments, local = (_micros(one) for one in (native, native if zone is None else native.dt.tz_localize(None)))
        if kind.startswith("period["):
            return Clock(library, "periods", freq=kind[len("period[") : -1]), moments / 1e6, None
        clock = Clock(library, "dates", native.dt.unit, None if zone is None else str(zone))
        return clock, moments / 1e6, None if zone is None else (local - moments) / 1e6
    if column.dtype == nw.Date:
        column, clock = column.cast(nw.Datetime("us")), Clock(library, "days")
    elif column.dtype == nw.Datetime:
        clock = Clock(library, "dates", column.dtype.time_unit, column.dtype.time_zone)
    elif column.dtype.is_numeric():
        numbers = column.cast(nw.Float64).to_numpy().astype(float)
        _check_known(np.isnan(numbers), what)
        return Clock(library, "numbers"), numbers, None
    else:
        texts = _iso(nw, column)
        if texts is None:
            raise TypeError(
                f"{what} holds {column.dtype}, for example {shorten(column[0])}, and no times; convert it first "
                f"(pandas.to_datetime, polars str.to_datetime), or name another column with time=."
            )
        return Clock(library, "dates"), texts.astype("int64") / 1e6, None
    _check_known(column.is_null().to_numpy(), what)
    moments = column.dt.timestamp("us").to_numpy().astype("int64")
    if clock.zone is None:
        return clock, moments / 1e6, None
    local = column.dt.replace_time_zone(None).dt.timestamp("us").to_numpy().astype("int64")
    return clock, moments / 1e6, (local - moments) / 1e6


def _micros(native: Any) -> np.ndarray:
    """Microseconds since 1970 of a pandas series, in UTC where it has a zone."""
    if native.dt.tz is not None:
        native = native.dt.tz_convert("UTC").dt.tz_localize(None)
    return native.to_numpy().astype("datetime64[us]").astype("int64")


def _check_known(missing: np.ndarray, what: str) -> None:
    if missing.any():
        raise ValueError(f"{what} has no time in row {int(missing.argmax())}; drop the row, or fill in its time.")


def _check_order(moments: np.ndarray | None, clock: Clock, *, series_too: bool) -> None:
    if moments is None or not (late := np.flatnonzero(np.diff(moments) <= 0)).size:
        return
    at = int(late[0]) + 1
    said = _said(moments[at], clock)
    if moments[at] < moments[at - 1]:
        raise ValueError(f"row {at}, {said}, is earlier than the row before it; sort the frame by time first.")
    advice = ", or name the column that tells several series apart with series=" if series_too else ""
    raise ValueError(f"row {at}, {said}, has the same time as the row before it; keep one row per time{advice}.")


def _said(moment: float, clock: Clock) -> str:
    if clock.kind == "numbers":
        return f"time {moment:g}"
    return str(np.datetime64(round(moment * 1e6), "us")).replace("T", " ").removesuffix(".000000") + (
        " UTC" if clock.zone else ""
    )


def _read_values(
    nw: Any, frame: Any, names: list[str], *, named: bool, inputs: bool = False
) -> tuple[np.ndarray, dict[str, str]]:
    """(rows, columns) of the columns of numbers, and why the others are left out."""
    left_out: dict[str, str] = {}
    for name in names:
        kind = frame[name].dtype
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)):
            left_out[name] = f"it holds {str(kind).partition('(')[0].lower()} values and no numbers"
    if named and left_out:
        name, why = next(iter(left_out.items()))
        if inputs:
            raise TypeError(
                f"column {name!r} cannot be an input: {why}; make a column of 0 and 1 for each word, for example by "
                f"pandas.get_dummies."
            )
        raise TypeError(f"column {name!r} cannot be forecast: {why}; name columns of numbers.")
    kept, parts = [name for name in names if name not in left_out], []
    if kept and all(frame[name].dtype == nw.Float64 for name in kept):
        values = np.asarray(frame.select(kept).to_numpy(), float)
    else:
        for name in list(kept):
            try:
                parts.append(np.asarray(frame[name].cast(nw.Float64).to_numpy(), float))
            except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
                if named:
                    raise TypeError(f"column {name!r} holds something that is no number ({error}).") from None
                left_out[name] = "it holds something that is no number"
        kept = [name for name in kept if name not in left_out]
        values = np.column_stack(parts) if parts else np.empty((len(frame), 0))
    if not kept:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in list(left_out.items())[:5])
        raise ValueError(f"no column holds numbers{': ' + reasons if reasons else ''}; pass a frame with one.")
    _check_finite(values, kept)
    return values, left_out


def _check_finite(values: np.ndarray, names: Sequence[str]) -> None:
    wrong = np.isinf(values)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"row {row}, column {names[column]!r} is {values[row, column]}; pass NaN where a value is missing."
        )


def _spread(
    labels: list[list[Any]],
    ids: tuple[str, ...],
    values: np.ndarray,
    moments: np.ndarray | None,
    offsets: np.ndarray | None,
    found: FrameRows,
    inputs: Sequence[str],
) -> FrameRows:
    """One column for each series of a long frame, then the inputs; without times, series end together."""
    keys = list(zip(*labels, strict=True))
    for row, key in enumerate(keys):
        if any(one is None or one != one for one in key):
            raise ValueError(f"row {row} names no series in {', '.join(map(repr, ids))}; fill in its name.")
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    column = np.array([places[key] for key in keys])
    if moments is None:
        left = np.bincount(column, minlength=len(places))
        counted = np.zeros(len(places), int)
        row = np.empty(len(keys), int)
        for at, one in enumerate(column.tolist()):
            row[at] = left.max() - left[one] + counted[one]
            counted[one] += 1
        times, count = None, int(left.max())
    else:
        times, row = np.unique(moments, return_inverse=True)
        count = len(times)
        twice = np.flatnonzero(np.bincount(row * len(places) + column, minlength=count * len(places)) > 1)
        if twice.size:
            at = np.flatnonzero(row * len(places) + column == twice[0])[1]
            raise ValueError(
                f"row {int(at)}: series {' / '.join(map(str, keys[at]))} has had a row at "
                f"{_said(float(moments[at]), found.clock)} before; keep one row per series and time."
            )
    wide = np.full((count, len(places)), np.nan)
    wide[row, column] = values[:, 0]
    if inputs:
        shared, wrong = shared_by_row(row, values[:, 1:])
        if wrong is not None:
            at, name = wrong[0], inputs[wrong[1]]
            raise ValueError(
                f"row {at}: {name!r} is {values[at, 1 + wrong[1]]:g}, and not what another series has at the same "
                f"time; an input is one for all series: forecast each by itself, or leave the input out."
            )
        wide = np.concatenate([wide, shared], axis=1)
    if offsets is not None:
        first = np.unique(moments, return_index=True)[1] if moments is not None else []
        offsets = offsets[first]
    names = tuple(" / ".join(map(str, key)) for key in places)
    clock = found.clock if moments is not None else replace(found.clock, first=float(count), each=1.0)
    series = {name: tuple(key[n] for key in places) for n, name in enumerate(ids)}
    return replace(found, columns=names, rows=Rows(1, times, wide, offsets), clock=clock, series=series)
