"""Where a table of rows ends, as a checkpoint can hold it: numbers and texts in place of pandas' own things."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.tseries.frequencies import to_offset

__all__ = ["described_rows", "few_rows", "restored_rows"]


def described_rows(cutoff: Any, seen: Any, spacing: Any) -> dict[str, Any]:
    """The last row as sktime keeps it, the last row that was learnt from, and the step between rows."""
    step = spacing if spacing is None or isinstance(spacing, int) else spacing.freqstr
    if isinstance(cutoff, pd.DatetimeIndex):
        kind, last, learnt = "datetime", cutoff.asi8[0], pd.DatetimeIndex([seen]).as_unit(cutoff.unit).asi8[0]
        more = {"unit": cutoff.unit, "zone": None if cutoff.tz is None else str(cutoff.tz), "freq": cutoff.freqstr}
    elif isinstance(cutoff, pd.PeriodIndex):
        kind, last, learnt, more = "period", cutoff.asi8[0], seen.ordinal, {"freq": cutoff.freqstr}
    else:
        kind, last, learnt, more = "number", cutoff[0], seen, {}
    return {"kind": kind, "cutoff": int(last), "seen": int(learnt), **more, "step": step}


def restored_rows(known: dict[str, Any]) -> tuple[pd.Index, Any, Any]:
    """What `described_rows` was given.

    >>> hour = pd.date_range("2024-03-01", periods=1, freq="h", tz="Europe/Rome")
    >>> cutoff, seen, spacing = restored_rows(described_rows(hour, hour[0], hour.freq))
    >>> cutoff.equals(hour), seen == hour[0], spacing
    (True, True, <Hour>)
    """
    step = known["step"]
    spacing = to_offset(step) if isinstance(step, str) else step
    if known["kind"] == "datetime":
        both = pd.DatetimeIndex(
            pd.array([known["cutoff"], known["seen"]], dtype="int64").astype(f"M8[{known['unit']}]")
        )
        if known["zone"] is not None:
            both = both.tz_localize("UTC").tz_convert(known["zone"])
        cutoff = pd.DatetimeIndex(both[:1], freq=known["freq"])
        return cutoff, both[1], spacing
    if known["kind"] == "period":
        both = pd.PeriodIndex.from_ordinals([known["cutoff"], known["seen"]], freq=known["freq"])
        return both[:1], both[1], spacing
    return pd.Index([known["cutoff"]]), known["seen"], spacing


def few_rows(cutoff: Any, spacing: Any) -> pd.Index:
    """Three rows, of which the last is this one."""
    last: Any = cutoff[0]
    if isinstance(cutoff, pd.DatetimeIndex):
        return pd.date_range(end=last, periods=3, freq=cutoff.freq or spacing or "D")
    if isinstance(cutoff, pd.PeriodIndex):
        return pd.period_range(end=last, periods=3, freq=cutoff.freq)
    return pd.RangeIndex(int(last) - 2, int(last) + 1)
