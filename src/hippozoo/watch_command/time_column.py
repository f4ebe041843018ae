"""Which column of a stream holds the times, and how they are written, from its first rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from hippozoo._arguments import shorten
from hippozoo.tables.date_parts import CLOCKS
from hippozoo.tables.numbers import Numbers
from hippozoo.tables.one_date import OneDate
from hippozoo.tables.problem import TableError
from hippozoo.tables.table import import_pandas
from hippozoo.tables.times import Kind, holds_dates, is_short_date, is_time_of_day, may_be_date, times_for
from hippozoo.watch_command.cells import is_missing, read_date, read_number
from hippozoo.watch_command.problem import WatchError

__all__ = ["Times", "find_times"]

# Columns that are called so hold the times, whatever they hold; others of CLOCKS if they rise.
_TIME_NAMES = ("time", "timestamp", "date", "datetime", "ts")
_LIKE_CLOCKS = CLOCKS | {"t"}
# A column of dates is that of the times if no larger share of its first rows, or no more than one, is no date.
_OTHERS = 0.1
# So many rows with the same step are a clock; so many seconds after 1970 (in 1973) are one however they rise.
_EVEN, _EPOCH = 8, 1e8
_ADVICE = "write dates as 2024-01-31 12:00, or name another column with --time"


@dataclass(frozen=True)
class Times:
    """How the times of a stream are written.

    Parameters
    ----------
    dates
        Whether they are dates; else they are numbers.
    written
        How dates are written that are not in ISO 8601: "day first", "month first", "dates" (in words), or a format of
        digits such as "%Y%m%d".

    Examples
    --------
    >>> Times(dates=True, written="day first").reader()("2.1.1970")
    86400.0
    """

    dates: bool
    written: str = ""

    def reader(self) -> Callable[[Any], float | None]:
        """A function from a cell to its time; None if the cell is none that can be reckoned with."""
        if not self.written:
            plain = read_date if self.dates else read_number

            def read_plain(cell: Any) -> float | None:
                moment = plain(cell)
                return moment if moment is not None and math.isfinite(moment) else None

            return read_plain
        in_digits = self.written.startswith("%")
        one = OneDate("digits", self.written) if in_digits else OneDate(cast(Kind, self.written))

        def read_written(cell: Any) -> float | None:
            # JSON has dates in digits as numbers, too.
            return one.read(str(cell)) if isinstance(cell, str) or type(cell) is int else None

        return read_written


def find_times(
    source: str,
    known: Sequence[str],
    examples: Sequence[dict[str, Any]],
    columns: Sequence[str],
    named: str | None,
    notes: list[str],
) -> tuple[str | None, Times]:
    """The column of the times and how they are written; None where rows have to be counted.

    It is the one that was named; or one that is called so; or the first that holds dates in nearly all rows, and rises
    if any does; or one that rises like a clock.
    """
    if named is not None:
        found = _times_in(source, named, examples)
        if isinstance(found, str):
            raise WatchError(f"{source}, column {named!r}: {found}; {_ADVICE}.")
        return named, found[0]
    free = [name for name in known if name not in columns]
    called_so = [name for name in free if name.strip().lower() in _TIME_NAMES]
    unreadable: dict[str, str] = {}
    for name in called_so:
        found = _times_in(source, name, examples)
        if not isinstance(found, str):
            return name, found[0]
        unreadable[name] = found
    some: list[str] = []
    dated: list[tuple[str, Times]] = []
    for name in free:
        if name in called_so:
            continue
        found = _dates_in(source, name, examples)
        if isinstance(found, str):
            unreadable[name] = found
        elif found is not None:
            times, count = found
            if len(examples) - count > max(1, _OTHERS * len(examples)):
                why = f"holds dates in {count} of its first {len(examples)} rows"
            elif len(examples) > 1 and len({str(one.get(name)) for one in examples}) == 1:
                why = "holds the same date in all of its first rows"
            else:
                dated.append((name, times))
                continue
            some.append(
                f"column {name!r} {why} and is not taken for the times: readings are numbered. If it holds the times, "
                f"pass --time {name}."
            )
    rising = [one for one in dated if _rises(*one, examples)]
    # Whole numbers that may be dates and do not rise are numbers.
    for one in rising or [one for one in dated if not one[1].written.startswith("%")]:
        return one
    clock = _clock_in(free, examples, notes)
    if clock is not None:
        return clock, Times(dates=False)
    for name, why in unreadable.items():
        if name.strip().lower() in _LIKE_CLOCKS:
            raise WatchError(f"{source}, column {name!r}: {why}; {_ADVICE}.")
        some.append(
            f"column {name!r} may hold the times, but {why}: readings are numbered. If it does, write dates "
            f"as 2024-01-31 12:00, begin another --out and pass --time {name}."
        )
    notes += some
    return None, Times(dates=False)


def _times_in(source: str, name: str, examples: Sequence[dict[str, Any]]) -> tuple[Times, int] | str:
    """How the times are written in a column that is that of the times, and in how many rows; or why they are none."""
    found = _dates_in(source, name, examples)
    if found is not None:
        return found
    cells = [cell for one in examples if not is_missing(cell := one.get(name))]
    numbers = sum(read_number(cell) is not None for cell in cells)
    if examples and not cells:
        return f"its first {len(examples)} rows hold no time"
    if not cells or numbers:
        return Times(dates=False), numbers
    return f"{shorten(cells[0])} is no number and no date"


def _dates_in(source: str, name: str, examples: Sequence[dict[str, Any]]) -> tuple[Times, int] | str | None:
    """How dates are written in most cells of a column, and in how many; why they cannot be read; None without dates."""
    cells = [cell for one in examples if not is_missing(cell := one.get(name))]
    numbers = [cell for cell in cells if read_number(cell) is not None]
    iso = sum(read_date(cell) is not None for cell in cells) - sum(read_date(cell) is not None for cell in numbers)
    if 2 * iso > len(cells):
        return Times(dates=True), iso
    if 2 * len(numbers) > len(cells):
        texts = [str(cell).strip() for cell in numbers]
        if not may_be_date(texts[0]) or not re.fullmatch(r"\d+", texts[0]):
            return None  # most columns of numbers, and pandas need not be loaded
        texts = [text for text in texts if len(text) == len(texts[0])]
    else:
        texts = [cell.strip() for cell in cells if isinstance(cell, str) and read_number(cell) is None]
        clocks = [text for text in texts if is_time_of_day(text)]
        if 2 * len(clocks) > len(cells):
            return f"{shorten(clocks[0])} is a time of day without a date"
        # What is no date must not decide how the others are written.
        short = [text for text in texts if is_short_date(text)]
        texts = short if 2 * len(short) > len(cells) else [text for text in texts if may_be_date(text)]
    if 2 * len(texts) <= len(cells):
        return None
    try:
        pandas = import_pandas()
    except ImportError as error:
        return f"{shorten(texts[0])} may be a date, and without pandas only those such as 2024-01-31 are read ({error})"
    column, path = pandas.Series(texts, dtype=str), Path(source)
    as_numbers = Numbers(pandas, path, ",")
    if not holds_dates(pandas, path, name, column, as_numbers):
        return None
    try:
        found = times_for(pandas, path, name, column, as_numbers)
    except TableError as error:
        return _reason(error)
    return Times(dates=True, written=found.digits or found.kind), int(found.parse(column).notna().sum())


def _rises(name: str, times: Times, examples: Sequence[dict[str, Any]]) -> bool:
    """Whether most rows come after the one before."""
    read = times.reader()
    moments = [moment for one in examples if (moment := read(one.get(name))) is not None]
    later = sum(before < after for before, after in pairwise(moments))
    return len(moments) < 2 or 2 * later > len(moments) - 1


def _reason(error: TableError) -> str:
    """What is wrong with a cell, without its place (cells that are no dates were not counted) and the advice."""
    return str(error).split(": ", 1)[1].split(";")[0]


def _clock_in(free: Sequence[str], examples: Sequence[dict[str, Any]], notes: list[str]) -> str | None:
    """The first column of numbers that is called like a clock and rises like one."""
    for name in free:
        if name.strip().lower() not in _LIKE_CLOCKS:
            continue
        found = (read_number(one.get(name)) for one in examples)
        values = [value for value in found if value is not None and math.isfinite(value)]
        others = len(examples) - len(values)
        if len(values) < 3 or others > max(1, _OTHERS * len(examples)):
            continue
        steps = [after - before for before, after in pairwise(values)]
        if min(steps) <= 0:
            continue
        even = len(values) >= _EVEN and max(steps) - min(steps) <= 1e-6 * max(steps)
        if even or values[0] >= _EPOCH:
            notes.append(f"column {name!r} rises like a clock and is taken for the times; --column {name} watches it.")
            return name
        notes.append(
            f"column {name!r} rises in all of its first {len(values)} rows and is watched; if it holds the times, pass "
            f"--time {name}."
        )
    return None
