"""Data frames in and out, of pandas, polars and pyarrow, through narwhals (the extra ``frames``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import is_installed, needs
from hippozoo.tables import Place, Rows, Table, Trouble
from hippozoo.tables.frame_times import Clock, read_times, stacked_by, table_clock
from hippozoo.tables.numbers import LARGEST
from hippozoo.tables.panel import spread

__all__ = ["Clock", "FrameTable", "is_frame", "read_frame", "table_clock", "write_frame"]

#: Libraries whose frames are read and written.
LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """A frame as a table of one chunk: what times are called, and of a long frame the names of each column's series."""

    clock: Clock = field(default_factory=lambda: Clock(""))
    series: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


def is_frame(data: Any) -> bool:
    """Whether it is a frame or series of pandas, polars or pyarrow."""
    return type(data).__module__.partition(".")[0] in LIBRARIES


def read_frame(
    data: Any,
    columns: Sequence[str] = (),
    time: str | None = None,
    series: Sequence[str] = (),
    inputs: Sequence[str] = (),
) -> FrameTable:
    """Numbers and times of a frame, a series or an array, as of `hippozoo.forecast`; `inputs` stand after the columns.

    >>> import pandas as pd
    >>> load = pd.Series([5.0, None, 7.0], pd.date_range("2024-01-01", periods=3, freq="h"), name="load")
    >>> table = read_frame(load)
    >>> rows, _ = next(table.chunks)
    >>> table.columns, rows.values[:, 0].tolist(), np.diff(rows.times).tolist()
    (('load',), [5.0, nan, 7.0], [3600.0, 3600.0])
    """
    if not is_frame(data):
        if time is not None or series:
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
    _check_names((*columns, *([time] if time is not None else []), *series, *inputs), names)
    free = [name for name in names if name not in (*columns, *series, *inputs)]
    found = read_times(nw, frame, free, time, index, _library(data), series)
    if not series and (apart := stacked_by(nw, frame, free, found)):
        raise ValueError(
            f"the frame stacks several series, told apart by {', '.join(map(repr, apart))}; pass "
            f"series={(apart[0] if len(apart) == 1 else list(apart))!r}."
        )
    chosen = list(columns) or [name for name in free if name not in found.columns]
    values, left_out = _read_values(nw, frame, chosen, named=bool(columns))
    kept = tuple(name for name in chosen if name not in left_out)
    if inputs:
        values = np.column_stack([values, _read_values(nw, frame, list(inputs), named=True, inputs=True)[0]])
    rows, clock, known = Rows(1, found.moments, values, found.offsets), found.clock, {}
    if not series:
        _check_order(found.moments, clock)
    else:
        if len(kept) != 1:
            raise ValueError(
                f"{len(kept)} columns hold numbers ({', '.join(map(repr, kept[:20]))}); a long frame has one: name it "
                f"with columns=."
            )
        rows, keys = _spread([frame[name].to_list() for name in series], series, rows, clock, inputs)
        kept = tuple(" / ".join(map(str, key)) for key in keys)
        known = {name: tuple(key[n] for key in keys) for n, name in enumerate(series)}
        clock = clock if rows.times is not None else replace(clock, first=float(len(rows.values)), each=1.0)
    dates = clock.kind in ("dates", "days", "periods")
    reasons = {name: Trouble("unusable", Place(column=name), why) for name, why in left_out.items()}
    notes = [Trouble("unusable", given=note) for note in found.notes]
    return FrameTable(kept, dates, 1, iter([(rows, 1)]), reasons, found.name, notes, clock, known)


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _check_names(asked: Sequence[str], names: Sequence[str]) -> None:
    for name in asked:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, names[:20]))}.")


def _read_array(data: Any, columns: Sequence[str], inputs: Sequence[str]) -> FrameTable:
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
    _check_names(inputs, names)
    kept = tuple(name for name in names if name not in inputs)
    if inputs:
        values = values[:, [names.index(name) for name in (*kept, *inputs)]]
    return FrameTable(kept, False, 1, iter([(Rows(1, None, values), 1)]), clock=Clock("", first=len(values)))


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


def _check_order(moments: np.ndarray | None, clock: Clock) -> None:
    if moments is None or not (late := np.flatnonzero(np.diff(moments) <= 0)).size:
        return
    at = int(late[0]) + 1
    said = _said(moments[at], clock)
    if moments[at] < moments[at - 1]:
        raise ValueError(f"row {at}, {said}, is earlier than the row before it; sort the frame by time first.")
    raise ValueError(
        f"row {at}, {said}, has the same time as the row before it; keep one row per time, or name the column that "
        f"tells several series apart with series=."
    )


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
    wrong = np.abs(values) > LARGEST
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        beyond = "" if np.isinf(values[row, column]) else f", beyond {LARGEST:g}"
        raise ValueError(
            f"row {row}, column {names[column]!r} is {values[row, column]}{beyond}; correct it, pass NaN where a value "
            f"is missing, or divide the column by a constant."
        )


def _spread(
    labels: list[list[Any]], ids: Sequence[str], rows: Rows, clock: Clock, inputs: Sequence[str]
) -> tuple[Rows, tuple[tuple[Any, ...], ...]]:
    """The rows of a long frame with a column for each series, and the names of these."""
    keys = list(zip(*labels, strict=True))
    for row, key in enumerate(keys):
        if any(one is None or one != one for one in key):
            raise ValueError(f"row {row} names no series in {', '.join(map(repr, ids))}; fill in its name.")
    wide, series, wrong = spread(keys, rows)
    if wrong is None:
        return wide, series
    kind, at, number = wrong
    if kind == "series again":
        assert rows.times is not None
        raise ValueError(
            f"row {at}: series {' / '.join(map(str, keys[at]))} has had a row at "
            f"{_said(float(rows.times[at]), clock)} before; keep one row per series and time."
        )
    raise ValueError(
        f"row {at}: {inputs[number]!r} is {rows.values[at, 1 + number]:g}, and not what another series has at the same "
        f"time; an input is one for all series: forecast each by itself, or leave the input out."
    )


def write_frame(clock: Clock, columns: Mapping[str, Any]) -> Any:
    """A frame of these columns in the library of the clock; ``time`` holds what `Clock.times` gave.

    >>> frame = write_frame(Clock("pandas", "dates", "ns", "Europe/Berlin"), {"time": np.array([0], "datetime64[us]")})
    >>> str(frame["time"][0])
    '1970-01-01 01:00:00+01:00'
    """
    nw = needs("narwhals", extra="frames", feature="a forecast as a data frame")
    library = clock.library or _usual_library()
    frame = nw.from_dict(dict(columns), backend=library)
    if "time" not in columns:
        return frame.to_native()
    column = nw.col("time")
    if library == "pandas" and clock.kind in ("dates", "periods"):
        native = frame.to_native()
        times = native["time"]
        if clock.zone:
            times = times.dt.tz_localize("UTC").dt.tz_convert(clock.zone)
        native["time"] = times.dt.to_period(clock.freq) if clock.kind == "periods" else times.dt.as_unit(clock.unit)
        return native
    if clock.kind in ("dates", "days"):
        if clock.zone:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(clock.zone)
        is_midnight = not (columns["time"].astype("int64") % 86_400_000_000).any()
        whole = clock.kind == "days" and is_midnight
        column = column.cast(nw.Date) if whole else column.cast(nw.Datetime(clock.unit, clock.zone))
        frame = frame.with_columns(column)
    return frame.to_native()


def _usual_library() -> str:
    """The library for forecasts of what is no frame: the first one that is installed."""
    found = next((one for one in LIBRARIES if is_installed(one)), None)
    if found is None:
        needs("pandas", extra="data", feature="a forecast as a data frame")
    return str(found)
