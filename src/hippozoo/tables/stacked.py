"""Where times do not rise: whether a table stacks several series, which columns tell them apart, what else to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np

from hippozoo.tables.numbers import Cells, is_missing, read_number, whole_numbers

__all__ = ["order_problem", "panel_option", "stacked_series", "stacked_without_times"]

# Of so few rows nobody can tell; and blocks of fewer rows are words that come again by chance.
_FEWEST, _FEWEST_IN_BLOCK = 6, 4
# With more different times for each row, rows are late and not stacked.
_REPEATED = 0.75
_DAY, _HOUR = 86_400.0, 3600.0


def stacked_series(times: Sequence[Any], cells: Mapping[str, Cells], names: Sequence[str]) -> tuple[str, ...]:
    """The columns that tell rows of the same time apart: few names that come again, and each only once at a time.

    Names are words more often than numbers, and measured numbers may differ at every time by chance.

    >>> stacked_series([0, 0, 1, 1, 2, 2], {"shop": list("ababab"), "sold": list("123456")}, ["shop", "sold"])
    ('shop',)
    """
    if len(set(times)) > _REPEATED * len(times):
        return ()
    for some in _candidates(cells, names):
        keys = list(zip(*(cells[name] for name in some), strict=True))
        if 1 < len(set(keys)) <= len(keys) / 2 and len(set(zip(times, keys, strict=True))) == len(keys):
            return some
    return ()


def stacked_without_times(cells: Mapping[str, Cells], names: Sequence[str]) -> tuple[tuple[str, ...], bool] | None:
    """The columns that tell series apart where rows have no times that can be read, and whether that is certain.

    It is where some other column runs through the same values in every series; it may be where words come in blocks of
    one length, each block once.

    >>> cells = {"shop": ["a"] * 4 + ["b"] * 4, "when": ["I", "II", "III", "IV"] * 2}
    >>> stacked_without_times(cells, ["shop", "when"])
    (('shop',), True)
    """
    rows = len(cells[names[0]]) if names else 0
    if rows < _FEWEST:
        return None
    blocks: tuple[str, ...] | None = None
    for some in _candidates(cells, names, whole=False):
        keys = list(zip(*(map(str, cells[name]) for name in some), strict=True))
        if not 1 < len(set(keys)) <= rows / 2:
            continue
        if any(other not in some and _runs_again(keys, cells[other]) for other in names):
            return some, True
        if blocks is None and len(some) == 1 and _are_blocks(keys):
            blocks = some
    return None if blocks is None else (blocks, False)


def _are_blocks(keys: Sequence[Any]) -> bool:
    """Whether each key comes once, in a block as long as all others; the last of many may have been cut."""
    blocks = [(key, len(list(block))) for key, block in groupby(keys)]
    lengths = [length for _, length in blocks]
    once = len({key for key, _ in blocks}) == len(blocks)
    whole = lengths if len(lengths) < 3 else lengths[:-1]
    return once and len(set(whole)) == 1 and lengths[-1] <= whole[0] and whole[0] >= _FEWEST_IN_BLOCK


def panel_option(names: Sequence[str]) -> str:
    """How to say that these columns name the series."""
    return " ".join(f"--panel {shlex.quote(name)}" for name in names)


def _candidates(cells: Mapping[str, Cells], names: Sequence[str], *, whole: bool = True) -> Iterator[tuple[str, ...]]:
    """One column of words, then of whole numbers, then two and more of words."""
    words = [name for name in names if _are_words(cells[name])]
    yield from ((name,) for name in words)
    if whole:
        yield from ((name,) for name in names if name not in words and whole_numbers(cells[name]) is not None)
    for count in range(2, min(len(words), 4) + 1):
        yield from combinations(words, count)


def _are_words(cells: Cells) -> bool:
    filled = [cell for cell in cells[:50] if not is_missing(cell)]
    return bool(filled) and all(isinstance(cell, str) and read_number(cell) is None for cell in filled)


def _runs_again(keys: Sequence[Any], cells: Cells) -> bool:
    """Whether a column runs through the same different values in every series, in the same order."""
    if not _are_words(cells) and whole_numbers(cells) is None:
        return False
    runs: dict[Any, list[Any]] = {}
    for key, cell in zip(keys, cells, strict=True):
        runs.setdefault(key, []).append(cell)
    longest = max(runs.values(), key=len)
    if len(longest) < _FEWEST_IN_BLOCK or len(set(longest)) < len(longest):
        return False
    place = {cell: k for k, cell in enumerate(longest)}
    whole = [run for run in runs.values() if len(run) > 1]
    if len(whole) < 2:
        return False
    places = [[place.get(cell, -1) for cell in run] for run in whole]
    return all(run == sorted(set(run)) and run[0] >= 0 for run in places)


def order_problem(
    times: np.ndarray, before: np.ndarray, cells: Mapping[str, Cells], *, wall_clock: bool = False
) -> tuple[int, str, str] | None:
    """The first time that is not later than the one before it, the kind of trouble and what to do; None if all rise.

    `before` are the last times, at most two, before these; `cells` are other columns, which may tell stacked series
    apart; a `wall_clock` names no zone, and its dates come again when clocks are put back.

    >>> order_problem(np.array([5.0, 6.0, 1.0, 7.0]), np.array([4.0]), {})
    (2, 'earlier time', 'the next row goes on after the one before; correct its time, or delete the row')
    """
    known = np.concatenate([before, times])
    steps = np.diff(known)
    late = np.flatnonzero(steps <= 0) + 1
    if not len(late):
        return None
    at, series = int(late[0]), stacked_series(times.tolist(), cells, list(cells))
    stacked = "if the table stacks several series, " + (
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
