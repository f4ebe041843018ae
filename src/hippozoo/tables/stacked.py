"""Whether a table stacks several series, and which columns tell them apart."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

from hippozoo.tables.date_parts import whole_numbers
from hippozoo.tables.numbers import Cells, is_missing, read_number

__all__ = ["panel_option", "stacked_series", "stacked_without_times"]

# Of so few rows nobody can tell; and blocks of fewer rows are words that come again by chance.
_FEWEST, _FEWEST_IN_BLOCK = 6, 4
# With more different times for each row, rows are late and not stacked.
_REPEATED = 0.75


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
