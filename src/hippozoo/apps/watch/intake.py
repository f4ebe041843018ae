"""Lines as readings of their sensors: which are late, far ahead or none, and what is to be said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hippozoo.apps.watch.records import Progress
from hippozoo.monitor import Clock
from hippozoo.monitor.monitor import OPENING, usual_step
from hippozoo.tables.records import Line
from hippozoo.tables.schema import Header, Reading, Schema
from hippozoo.tables.trouble import Trouble

__all__ = ["Intake", "Row", "Taken"]


class Row(NamedTuple):
    """A reading, and the line with which it came to be one."""

    reading: Reading
    cause: int


class Taken(NamedTuple):
    """What came of some lines: rows by sensor, progress, troubles; how many were taken, the last, and why it stops."""

    rows: dict[str, list[Row]]
    progress: Progress
    troubles: list[Trouble]
    lines: int
    last: Line | None
    refused: Trouble | None


@dataclass
class Intake:
    """Takes in lines: reads them once, sorts out what is late, far ahead or no reading, and counts."""

    schema: Schema
    every: float | None  # the usual step; None if each sensor has its own
    hint: float  # what that is taken to be while it is not known
    strict: bool  # whether to stop at the first trouble
    sent_before: dict[str, float]  # rows up to this time of each sensor come again, and count as nothing
    sent_again: Callable[[], int]  # up to which line that is so for sure; 0 where nobody knows
    written: Callable[[float, float | None], Any]  # how times are written in sentences
    clocks: dict[str, Clock]
    usual: dict[str, float]  # step of each sensor, once it is known; before that, the times of its first readings:
    opening: dict[str, list[float]]

    def __post_init__(self) -> None:
        self._catching_up = set(self.sent_before)

    def take(self, lines: Sequence[Line], progress: Progress, until: int | None = None) -> Taken:
        """Read lines that come next, up to the one with which there are `until` readings; clocks go on."""
        rows: dict[str, list[Row]] = {}
        troubles: list[Trouble] = []
        last: Line | None = None
        schema = self.schema if progress.names is None else replace(self.schema, names=progress.names)
        readings, late, left_out = progress.readings, progress.late, progress.left_out
        time, names, offset = progress.time, progress.names, progress.offset
        refused: Trouble | None = None
        count = 0
        sent_again = self.sent_again() if self._catching_up else 0
        for line in lines:
            if until is not None and readings >= until:
                break
            if 0 < sent_again < line.number:
                self._catching_up.clear()
            row = schema.read(line)
            taken: list[Reading] = []
            said: list[Trouble] = []
            if isinstance(row, Reading):
                clock = self.clocks.setdefault(row.series, Clock())
                before = replace(clock) if self.strict else None
                counted = clock.late, clock.left_out
                taken, said = self._next(row, clock, readings)
                if said and before is not None:
                    # What was held is left out before anybody could correct it; any other row is read again.
                    if said[0].kind == "ahead":
                        before.held, before.left_out = None, before.left_out + 1
                        left_out += 1
                    self.clocks[row.series] = before
                    refused = said[0]
                    break
                late, left_out = late + clock.late - counted[0], left_out + clock.left_out - counted[1]
            elif isinstance(row, Header):
                said = [] if self._catching_up or row.trouble is None else [row.trouble]
            elif isinstance(row, Trouble) and not self._catching_up:
                said = [row]
            if said and self.strict:
                refused = said[0]
                break
            if isinstance(row, Header) and row.trouble is not None:
                names, schema = row.names, replace(schema, names=row.names)
            if isinstance(row, Trouble) and said:
                left_out += 1
            for one in taken:
                rows.setdefault(one.series, []).append(Row(one, line.number))
                readings += 1
                if one.time is not None:
                    time = one.time if time is None or one.time > time else time
                    offset = one.offset
            if self.schema.time is None and taken:
                time = float(readings - 1)
            troubles += said
            last, count = line, count + 1
        after = replace(
            progress, readings=readings, late=late, left_out=left_out, time=time, names=names, offset=offset
        )
        return Taken(rows, after, troubles, count, last, refused)

    def _next(self, row: Reading, clock: Clock, readings: int) -> tuple[list[Reading], list[Trouble]]:
        """The readings that one row gives, and what is said of it."""
        if row.time is None:
            clock.time = float(readings)
            return [row], list(row.troubles)
        if row.series in self._catching_up:
            if row.time <= self.sent_before.get(row.series, -math.inf):
                return [], []
            self._catching_up.discard(row.series)
        usual = self.every or self.usual.get(row.series) or self.hint
        taken, said = clock.take(row, usual, self.written, again=row.series in self.sent_before)
        if self.every is None and row.series not in self.usual:
            self._look_for_step(row.series, taken)
        return taken, said

    def _look_for_step(self, sensor: str, taken: Sequence[Reading]) -> None:
        """As its monitor does, by the first readings of a sensor: line by line, so that batches change nothing."""
        times = self.opening.setdefault(sensor, [])
        times += [one.time for one in taken if one.time is not None]
        if len(times) >= OPENING:
            self.usual[sensor] = usual_step(times[:OPENING])
            del self.opening[sensor]
