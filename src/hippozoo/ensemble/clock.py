"""What a frame calls its times, and frames with these times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from hippozoo._internal.extras import is_installed, needs

__all__ = ["LIBRARIES", "Clock", "table_clock", "usual_library", "write_frame"]

#: Libraries whose frames are read and written.
LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class Clock:
    """What a frame calls its times, so that a forecast can go on with them.

    Parameters
    ----------
    library
        ``"pandas"``, ``"polars"`` or ``"pyarrow"``; empty for the first one that is installed.
    kind
        ``"dates"``: datetimes, ``"days"``: dates without a time of day, ``"periods"``: pandas periods, ``"numbers"``: a
        column of numbers, ``"rows"``: the rows count.
    unit, zone
        Of datetimes.
    freq
        Of periods.
    first, each
        Of rows: what the next one is called, and how far apart they are.

    Examples
    --------
    >>> Clock("pandas", "rows", first=100).times(np.array([1.0, 2.0]), is_local=False)
    array([100, 101])
    """

    library: str
    kind: str = "rows"
    unit: str = "us"
    zone: str | None = None
    freq: str = ""
    first: float | int = 0
    each: float | int = 1

    def after(self, rows: int) -> Clock:
        """The clock after so many more rows, where the rows count."""
        return replace(self, first=self.first + rows * self.each)

    def times(self, ahead: np.ndarray, *, is_local: bool) -> np.ndarray:
        """Times of steps to come as arrays: datetime64 (in UTC where there is a zone) or numbers.

        Parameters
        ----------
        ahead
            Seconds since 1970, numbers, or where the rows count 1, 2, 3, ….
        is_local
            Whether seconds are those of the local clock; a time that a clock skips or repeats is the first one.
        """
        if self.kind == "rows":
            times = self.first + (ahead - 1) * self.each
            return times.astype(int) if float(self.each).is_integer() and float(self.first).is_integer() else times
        if self.kind == "numbers":
            return ahead.astype(int) if (ahead == np.floor(ahead)).all() else ahead
        if self.zone and is_local:
            ahead = np.array([_from_local(one, self.zone) for one in ahead.tolist()])
        return np.rint(ahead * 1e6).astype("int64").astype("datetime64[us]")


def write_frame(clock: Clock, columns: Mapping[str, Any]) -> Any:
    """A frame of these columns in the library of the clock; ``time`` holds what `Clock.times` gave.

    Examples
    --------
    >>> frame = write_frame(Clock("pandas", "dates", "ns", "Europe/Berlin"), {"time": np.array([0], "datetime64[us]")})
    >>> str(frame["time"][0])
    '1970-01-01 01:00:00+01:00'
    """
    nw = needs("narwhals", extra="frames", feature="a forecast as a data frame")
    library = clock.library or usual_library()
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


def table_clock(dates: bool, time: str | None, rows: int, has_zone: bool) -> Clock:
    """The clock of a file: dates are in UTC where they name a zone.

    Examples
    --------
    >>> table_clock(dates=True, time="when", rows=100, has_zone=False).kind
    'dates'
    """
    kind = "dates" if dates else "rows" if time is None else "numbers"
    return Clock("", kind, zone="UTC" if has_zone else None, first=rows)


def usual_library() -> str:
    """The library for forecasts of what is no frame: the first one that is installed."""
    found = next((one for one in LIBRARIES if is_installed(one)), None)
    if found is None:
        needs("pandas", extra="data", feature="a forecast as a data frame")
    return str(found)


def _from_local(local: float, zone: str) -> float:
    """Seconds since 1970 of a local time; fixed offsets such as UTC+02:00 are zones too."""
    moment = datetime.fromtimestamp(local, UTC).replace(tzinfo=_zone(zone))
    return moment.timestamp()


def _zone(name: str) -> Any:
    if fixed := re.fullmatch(r"(?:UTC)?([+-])(\d{2}):?(\d{2})", name):
        sign, hours, minutes = fixed.groups()
        return datetime.strptime(f"{sign}{hours}{minutes}", "%z").tzinfo
    return ZoneInfo(name)
