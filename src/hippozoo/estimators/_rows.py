"""Rows of pandas: which could have been there, and where they end as a checkpoint can hold it, in numbers and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from hippozoo.tables.numbers import LARGEST

__all__ = ["check_rows", "described_rows", "few_rows", "restored_rows", "spacing_of", "with_missing_rows"]

# More rows than this missing at once are rather an index that counts something else, such as nanoseconds.
_MOST_MISSING = 1_000_000


def check_rows(y: pd.DataFrame) -> None:
    """Refuse two rows for one step, and values that are infinite or nearly so."""
    if not y.index.is_unique:
        raise ValueError(
            f"the index has {y.index[y.index.duplicated()][0]} more than once; keep one row for each step, for example "
            "y[~y.index.duplicated()]."
        )
    wrong = np.abs(y.to_numpy(dtype=float)) > LARGEST
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"the value at {y.index[row]} in column {y.columns[column]!r} is infinite or too large; pass numbers below "
            f"{LARGEST:g}, or NaN where one is missing."
        )


def spacing_of(index: pd.Index, *others: Any) -> Any:
    """From one row to the next: a frequency, 1 for integers, None where the index does not say.

    `others` may have a ``freq`` if the index has none: sktime infers one for its cutoff where all rows are there, and a
    horizon may bring one.

    >>> spacing_of(pd.period_range("2024-01", periods=3, freq="3M")), spacing_of(pd.Index([3, 4, 9]))
    (<3 * MonthEnds>, 1)
    """
    if not isinstance(index, (pd.PeriodIndex, pd.DatetimeIndex)):
        return 1 if index.dtype.kind in "iu" else None
    found = next((one.freq for one in (index, *others) if getattr(one, "freq", None) is not None), None)
    return None if found is None else to_offset(found)


def with_missing_rows(y: pd.DataFrame, begin: Any, spacing: Any) -> pd.DataFrame:
    """Rows at every step from `begin` on, or after it, of NaN where y has none; a `spacing` of None leaves them as they
    are.

    >>> y = pd.DataFrame({"load": [1.0, 2.0]}, index=[7, 9])
    >>> with_missing_rows(y, begin=5, spacing=1).load.to_dict()
    {6: nan, 7: 1.0, 8: nan, 9: 2.0}
    """
    if spacing is None:
        return y
    end = y.index[-1]
    count = _count(y.index, begin, end, spacing)
    if count - len(y) > _MOST_MISSING:
        raise ValueError(
            f"from {begin} to {end} there are {count:.3g} steps of {_words(spacing)}, but only {len(y)} rows; give the "
            "rows an index that counts their steps, for example y.reset_index(drop=True), or call fit to begin anew."
        )
    if isinstance(y.index, pd.PeriodIndex):
        steps = pd.period_range(begin, end, freq=spacing)
    elif isinstance(y.index, pd.DatetimeIndex):
        steps = pd.date_range(begin, end, freq=spacing)
    else:
        steps = pd.RangeIndex(begin, end + 1)
    off = ~y.index.isin(steps)
    if off.any():
        raise ValueError(
            f"the row at {y.index[off][0]} lies between the steps of {_words(spacing)} that follow {begin}; move it to "
            "one of them, or call fit to begin anew."
        )
    return y.reindex(steps if y.index[0] == begin else steps[1:])


def _count(index: pd.Index, begin: Any, end: Any, spacing: Any) -> float:
    """About how many steps, without making them."""
    if isinstance(index, pd.PeriodIndex):
        return (end.ordinal - begin.ordinal) / spacing.n
    if isinstance(index, pd.DatetimeIndex):
        return (end - begin) / (begin + spacing - begin)
    return float(end - begin)


def _words(spacing: Any) -> str:
    return "1" if spacing == 1 else f"freq={spacing.freqstr!r}"


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
