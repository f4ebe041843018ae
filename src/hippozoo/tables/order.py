"""Where times do not rise, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hippozoo.tables.stacked import panel_option

__all__ = ["order_problem"]

_DAY, _HOUR = 86_400.0, 3600.0
_STACKED = "if the table stacks several series, "


def order_problem(
    times: np.ndarray, before: np.ndarray, *, wall_clock: bool = False, series: Sequence[str] = ()
) -> tuple[int, str, str] | None:
    """The first time that is not later than the one before it, the kind of trouble and what to do; None if all rise.

    `before` are the last times, at most two, before these; a `wall_clock` names no zone, and its dates come again when
    clocks are put back; `series` are columns that tell rows of the same time apart.

    >>> order_problem(np.array([5.0, 6.0, 1.0, 7.0]), before=np.array([4.0]))
    (2, 'earlier time', 'the next row goes on after the one before; correct its time, or delete the row')
    """
    known = np.concatenate([before, times])
    steps = np.diff(known)
    late = np.flatnonzero(steps <= 0) + 1
    if not len(late):
        return None
    at = int(late[0])
    stacked = _STACKED + (
        f"which {', '.join(map(repr, series))} tells apart, pass {panel_option(series)}"
        if series
        else "name the column that tells them apart with --panel, or give each a column of its own"
    )
    kind = "same time" if steps[at - 1] == 0 else "earlier time"
    if wall_clock and _clocks_put_back(known, late):
        advice = (
            "if clocks were put back here, write times with their offset, as 2024-10-27 02:00+02:00, or in UTC; "
            "else keep one row per time"
        )
    elif kind == "same time":
        advice = f"keep one row per time, or, {stacked}"
    else:
        advice = _advice_on_going_back(known, at, stacked)
    return at - len(before), kind, advice


def _clocks_put_back(known: np.ndarray, late: np.ndarray) -> bool:
    """Whether one hour comes twice, early on a Sunday, and nothing else within half a day."""
    now, ago = known[late[0]], known[late[0] - 1]
    early_on_sunday = (np.floor(now / _DAY) + 4) % 7 == 0 and now % _DAY < 4 * _HOUR  # 1970 began on a Thursday
    near = np.abs(known[late] - now) < _DAY / 2
    return bool(early_on_sunday and ago - now < _HOUR and near.sum() == 1)


def _advice_on_going_back(known: np.ndarray, at: int, stacked: str) -> str:
    after = known[at + 1 :]
    if (np.diff(known) < 0).all() and len(known) > 2:
        return "the rows run backwards: sort them by time, the oldest first"
    if len(after) and after[0] > known[at - 1]:
        # A row before all others would be sorted to the front, and what follows it would be one long gap.
        advice = "correct its time, or delete the row"
        if known[at] > known[0]:
            advice = "correct its time, or sort the rows by time if it came late"
        return f"the next row goes on after the one before; {advice}"
    if at > 1 and known[at] > known[at - 2] and len(after) and after.max() < known[at - 1]:
        return "so are all after it: correct the time of the row before, or delete that row"
    return f"sort the rows by time, or, {stacked}"
