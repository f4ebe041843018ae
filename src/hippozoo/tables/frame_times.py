"""The times of a frame: what it calls them, and where they are read from (index, datetimes, or texts)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.tables import TableError, reason
from hippozoo.tables.infer import LOOKED_AT, first_series
from hippozoo.tables.stacked import stacked_series, stacked_without_times
from hippozoo.tables.times import Times, find_times, is_part

__all__ = ["Clock", "FrameTimes", "read_times", "stacked_by", "table_clock"]


@dataclass(frozen=True)
class Clock:
    """What a frame calls its times, so that a forecast can go on with them.

    >>> Clock("pandas", "rows", first=100).times(np.array([1.0, 2.0]), is_local=False)
    array([100, 101])
    """

    library: str  # "pandas", "polars" or "pyarrow"; empty for the first one that is installed
    # "dates": datetimes, "days": dates without a time of day, "periods" of pandas, "numbers"; "rows": they are counted.
    kind: str = "rows"
    unit: str = "us"  # unit and zone of datetimes, frequency of periods
    zone: str | None = None
    freq: str = ""
    first: float | int = 0  # of rows: what the next one is called, and how far apart they are
    each: float | int = 1

    def after(self, rows: int) -> Clock:
        """The clock after so many more rows, where the rows count."""
        return replace(self, first=self.first + rows * self.each)

    def times(self, ahead: np.ndarray, *, is_local: bool) -> np.ndarray:
        """Times of steps to come as arrays: datetime64 (in UTC where there is a zone) or numbers.

        `ahead` are seconds since 1970, of the local clock if `is_local`; numbers; or where rows count 1, 2, 3, …. A
        time that a clock skips or repeats is the first one.
        """
        if self.kind == "rows":
            times = self.first + (ahead - 1) * self.each
            return times.astype(int) if float(self.each).is_integer() and float(self.first).is_integer() else times
        if self.kind == "numbers":
            return ahead.astype(int) if (ahead == np.floor(ahead)).all() else ahead
        if self.zone and is_local:
            ahead = np.array([_from_local(one, self.zone) for one in ahead.tolist()])
        return np.rint(ahead * 1e6).astype("int64").astype("datetime64[us]")


def table_clock(dates: bool, time: str | None, rows: int, has_zone: bool) -> Clock:
    """The clock of a file: dates are in UTC where they name a zone."""
    kind = "dates" if dates else "rows" if time is None else "numbers"
    return Clock("", kind, zone="UTC" if has_zone else None, first=rows)


class FrameTimes(NamedTuple):
    """The name of the times, their clock, seconds (None where rows count) and offsets, columns they are read from."""

    name: str | None
    clock: Clock
    moments: np.ndarray | None = None
    offsets: np.ndarray | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_times(
    nw: Any, frame: Any, names: list[str], time: str | None, index: Any, library: str, series: Sequence[str] = ()
) -> FrameTimes:
    """The times of a frame of narwhals (`nw`): of an `index` of pandas, of a column of datetimes, or of texts.

    `names` may hold them, and `time` does, if somebody has said so; `series` name the series of each row.
    """
    if time is None and type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        name = None if index.name is None else str(index.name)
        return FrameTimes(name, *_of_column(nw, index.to_series(), "the index", library))
    found = [time] if time is not None else [name for name in names if _holds_times(nw, frame[name])]
    if len(found) > 1:
        raise ValueError(f"{' and '.join(map(repr, found[:5]))} all hold times; name one of them with time=.")
    for name in found:
        if _holds_times(nw, frame[name]) or frame[name].dtype.is_numeric():
            return FrameTimes(name, *_of_column(nw, frame[name].to_native(), f"column {name!r}", library), (name,))
    cells = _cells(nw, frame, names) if time is None else {time: frame[time].to_list()}
    times, notes = _of_texts(cells, time, {name: frame[name].to_list() for name in series})
    if times is not None:
        return _read(times, cells, library)
    first, each = float(len(frame)), 1.0
    if index is not None and index.dtype.kind in "iuf" and len(index) > 1:
        steps = np.diff(index.to_numpy(float))
        if steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-9):
            first, each = float(index[-1] + steps[0]), float(steps[0])
    return FrameTimes(None, Clock(library, first=first, each=each), notes=notes)


def stacked_by(nw: Any, frame: Any, names: Sequence[str], found: FrameTimes) -> tuple[str, ...]:
    """The columns that tell several series apart, where the rows of a frame stack them."""
    if found.moments is not None and not (np.diff(found.moments) <= 0).any():
        return ()
    cells = _cells(nw, frame, [name for name in names if name not in found.columns])
    if found.moments is not None:
        return stacked_series(found.moments.tolist(), cells, list(cells))
    which, is_certain = stacked_without_times(cells, list(cells)) or ((), False)
    return which if is_certain else ()


def _cells(nw: Any, frame: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of words, of dates as Python has them, and of parts of dates; of others nothing is asked."""
    kinds = {name: frame[name].dtype for name in names}
    plain = (nw.String, nw.Object, nw.Categorical, nw.Enum, nw.Unknown)
    wanted = [name for name, kind in kinds.items() if kind in plain or (kind.is_integer() and is_part(name))]
    return {name: frame[name].to_list() for name in wanted}


def _of_texts(
    cells: Mapping[str, list[Any]], named: str | None, series: Mapping[str, list[Any]]
) -> tuple[Times | None, tuple[str, ...]]:
    """The times that columns of texts hold, as the reader of files finds them, and what was lost."""
    some = first_series({**series, **cells}, list(series)) if series else cells
    head = {name: column[:LOOKED_AT] for name, column in some.items()}
    try:
        found = find_times(head, list(cells), named, "", stream=False, whole=some)
    except TableError as error:
        trouble = error.trouble
        where = f"column {trouble.place.column!r}: " if trouble is not None and trouble.place.column else ""
        said = error if trouble is None else reason(trouble)
        raise ValueError(
            f"{where}{said}; convert it to datetimes first (pandas.to_datetime, polars str.to_datetime), or name "
            f"another column with time=."
        ) from None
    lost = [one for one in found.notes if one.kind == "times lost"]
    return found.times, tuple(f"column {one.place.column!r} {reason(one)}" for one in lost)


def _read(times: Times, cells: Mapping[str, list[Any]], library: str) -> FrameTimes:
    found = times.moments(cells)
    missing = np.array([moment is None for moment in found])
    if missing.any():
        row = int(missing.argmax())
        given = " ".join(str(cells[name][row]) for name in times.columns)
        raise ValueError(
            f"row {row}, {times.column!r}: {shorten(given)} is no time, or not written like those before; correct it, "
            f"or drop the row."
        )
    known = [moment for moment in found if moment is not None]
    offsets = [moment[1] for moment in known]
    zoned = [offset is not None for offset in offsets]
    if any(zoned) and not all(zoned):
        raise ValueError(
            f"{times.column!r}: row {zoned.index(False)} names no time zone, and others do; write all alike."
        )
    clock = Clock(library, "dates" if times.dates else "numbers", zone="UTC" if times.dates and any(zoned) else None)
    moments = np.array([moment[0] for moment in known], float)
    return FrameTimes(times.column, clock, moments, np.array(offsets, float) if any(zoned) else None, times.columns)


def _holds_times(nw: Any, column: Any) -> bool:
    kind = str(getattr(column.to_native(), "dtype", ""))
    return column.dtype in (nw.Datetime, nw.Date) or kind.startswith(("period[", "datetime64["))


def _of_column(nw: Any, native: Any, what: str, library: str) -> tuple[Clock, np.ndarray, np.ndarray | None]:
    """Clock, seconds and offsets of a column of datetimes, periods or numbers."""
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
    if column.dtype.is_numeric():
        numbers = column.cast(nw.Float64).to_numpy().astype(float)
        _check_known(np.isnan(numbers), what)
        return Clock(library, "numbers"), numbers, None
    if column.dtype == nw.Date:
        column, clock = column.cast(nw.Datetime("us")), Clock(library, "days")
    else:
        clock = Clock(library, "dates", column.dtype.time_unit, column.dtype.time_zone)
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


def _from_local(local: float, zone: str) -> float:
    """Seconds since 1970 of a local time; fixed offsets such as UTC+02:00 are zones too."""
    moment = datetime.fromtimestamp(local, UTC).replace(tzinfo=_zone(zone))
    return moment.timestamp()


def _zone(name: str) -> Any:
    if fixed := re.fullmatch(r"(?:UTC)?([+-])(\d{2}):?(\d{2})", name):
        sign, hours, minutes = fixed.groups()
        return datetime.strptime(f"{sign}{hours}{minutes}", "%z").tzinfo
    return ZoneInfo(name)
