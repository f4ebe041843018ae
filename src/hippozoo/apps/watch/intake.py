"""Lines as readings of their sensors: which are late, far ahead or none, and what is to be said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
    """Takes in lines: reads them once, sorts out what is late, far ahead or no reading, and counts.

    Parameters
    ----------
    schema
        How lines are read.
    every
        The usual step; None if each sensor has its own.
    hint
        What it is taken to be while it is not known.
    strict
        Whether to stop at the first trouble.
    sent_before
        Rows up to this time of each sensor were sent before, and come again: they count as nothing.
    sent_again
        Up to which line that is so for sure, since the source is sent from its beginning; 0 where nobody knows.
    written
        How times are written in sentences.
    clocks, usual, opening
        Of each sensor: its clock, its usual step once that is known, and before that the times of its first readings.
    """

    schema: Schema
    every: float | None
    hint: float = 1.0
    strict: bool = False
    sent_before: dict[str, float] = field(default_factory=dict)
    sent_again: Callable[[], int] = lambda: 0
    written: Callable[[float, float | None], Any] = lambda moment, offset: moment
    clocks: dict[str, Clock] = field(default_factory=dict)
    usual: dict[str, float] = field(default_factory=dict)
    opening: dict[str, list[float]] = field(default_factory=dict)
    _catching_up: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._catching_up = set(self.sent_before)

    def clock(self, sensor: str) -> Clock:
        """The clock of a sensor; a new one's has not begun."""
        found = self.clocks.get(sensor)
        if found is None:
            found = self.clocks[sensor] = Clock()
        return found

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
                clock = self.clock(row.series)
                before = clock.copy() if self.strict else None
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
