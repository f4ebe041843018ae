"""Lines as readings of their sensors: which are late, far ahead or none, and what is to be said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hippozoo.apps.watch.records import Progress
from hippozoo.apps.watch.sensors import LiveSensor, Row, Sensors
from hippozoo.tables.records import Line
from hippozoo.tables.schema import Header, Reading, Schema
from hippozoo.tables.trouble import Trouble

__all__ = ["Intake", "Taken"]

# Rows that are no readings, though they could be read.
_LEFT_OUT = frozenset({"ahead", "beyond"})


class Taken(NamedTuple):
    """What came of some lines: rows by sensor, progress, troubles; how many were taken, and why it stops."""

    rows: dict[str, list[Row]]
    progress: Progress
    troubles: list[Trouble]
    lines: int
    refused: Trouble | None


@dataclass
class Intake:
    """Takes in lines: reads them once, sorts out what is late, far ahead or no reading, and counts."""

    schema: Schema
    sensors: Sensors
    hint: float  # what the usual step of a sensor is taken to be while it is not known
    strict: bool  # whether to stop at the first trouble
    sent_before: dict[str, float]  # rows up to this time of each sensor come again, and count as nothing
    sent_again: Callable[[], int]  # up to which line that is so for sure; 0 where nobody knows
    written: Callable[[float, float | None], Any]  # how times are written in sentences

    def __post_init__(self) -> None:
        self._catching_up = set(self.sent_before)

    def take(self, lines: Sequence[Line], progress: Progress, until: int | None = None) -> Taken:
        """Read lines that come next, up to the one with which there are `until` readings; clocks go on."""
        rows: dict[str, list[Row]] = {}
        troubles: list[Trouble] = []
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
                sensor = self.sensors.find(row.series)
                before = replace(sensor.clock) if self.strict else None
                taken, said = self._next(row, sensor, readings)
                if said and before is not None:
                    left_out += self._refuse(sensor, said[0], before)
            elif not self._catching_up:
                trouble = row.trouble if isinstance(row, Header) else row
                said = [] if trouble is None else [trouble]
            if said and self.strict:
                refused = said[0]
                break
            if said:
                left_out += 1 if isinstance(row, Trouble) else sum(one.kind in _LEFT_OUT for one in said)
                late += sum(one.kind == "late" for one in said)
                troubles += said
            if isinstance(row, Header) and row.trouble is not None:
                names, schema = row.names, replace(schema, names=row.names)
            for one in taken:
                rows.setdefault(one.series, []).append(Row(one, line.number))
                readings += 1
                if one.time is not None:
                    time = one.time if time is None or one.time > time else time
                    offset = one.offset
            if self.schema.time is None and taken:
                time = float(readings - 1)
            count += 1
        after = replace(
            progress, readings=readings, late=late, left_out=left_out, time=time, names=names, offset=offset
        )
        return Taken(rows, after, troubles, count, refused)

    def _next(self, row: Reading, sensor: LiveSensor, readings: int) -> tuple[list[Reading], list[Trouble]]:
        """The readings that one row gives, and what is said of it."""
        if row.time is None:
            sensor.clock.time = float(readings)
            return [row], list(row.troubles)
        if row.series in self._catching_up:
            if row.time <= self.sent_before.get(row.series, -math.inf):
                return [], []
            self._catching_up.discard(row.series)
        usual = sensor.usual or self.hint
        taken, said = sensor.clock.take(row, usual, self.written, again=row.series in self.sent_before)
        if sensor.usual is None:
            sensor.look_for_step([one.time for one in taken if one.time is not None])
        return taken, said

    def _refuse(self, sensor: LiveSensor, why: Trouble, before: Any) -> int:
        """Go back to before a row, which is read again once it is corrected; how many rows are left out for good."""
        # What was held is left out before anybody could correct it.
        ahead = why.kind == "ahead"
        if ahead:
            before.held, before.left_out = None, before.left_out + 1
        sensor.clock = before
        if before.time is None:
            del self.sensors.by_name[sensor.name]
        return int(ahead)
