"""Which column holds the times, where nobody has named it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.tables.numbers import Numbers
from hippozoo.tables.problem import TableError
from hippozoo.tables.times import holds_dates, times_for

__all__ = ["time_column"]


def time_column(pandas: Any, path: Path, frame: Any, names: list[str], numbers: Numbers) -> str | None:
    """The one column of dates, or the one of them that rises; None where no column holds dates."""
    # A date that is the same in all rows, as that of an export, is no time of the rows.
    dates = [
        name
        for name in names
        if holds_dates(pandas, path, name, frame[name], numbers) and (len(frame) == 1 or frame[name].nunique() > 1)
    ]
    if len(dates) <= 1:
        return dates[0] if dates else None
    rising = [name for name in dates if _rises(pandas, path, frame[name], name, numbers)]
    if len(rising) == 1:
        return rising[0]
    which, how = (rising, "hold dates that rise") if rising else (dates, "hold dates, and none rises from row to row")
    raise TableError(
        f"{path}: the columns {', '.join(map(repr, which[:20]))} {how}; name the one of the times with --time, or pass "
        f"--no-time to take the rows as even steps."
    )


def _rises(pandas: Any, path: Path, cells: Any, name: str, numbers: Numbers) -> bool:
    try:
        times, _ = times_for(pandas, path, name, cells, numbers).read(cells, 1)
    except TableError:
        return False
    return bool((np.diff(times) > 0).all())
