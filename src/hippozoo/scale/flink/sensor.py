"""What is kept of one key: the clock and the monitor of a sensor, and its rows, as bytes of our own."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hippozoo.monitor import Clock, Monitor, Outcome, Plan
from hippozoo.monitor.monitor import OPENING, usual_step
from hippozoo.tables.schema import Reading
from hippozoo.tables.trouble import Trouble

__all__ = ["Sensor", "pack_row", "time_of_row", "unpack_row"]

# How a snapshot begins: a mark, and a version that is raised with every change of what follows.
_MARK, _VERSION = b"hippozoo sensor", 1
_LENGTH = struct.Struct("<I")


def pack_row(reading: Reading) -> bytes:
    """A row as bytes: time, offset of its zone, values; doubles, little-endian."""
    offset = math.nan if reading.offset is None else reading.offset
    return struct.pack(f"<{2 + len(reading.values)}d", reading.time, offset, *reading.values)


def unpack_row(row: bytes, sensor: str = "") -> Reading:
    """The reading that was packed."""
    time, offset, *values = struct.unpack(f"<{len(row) // 8}d", row)
    return Reading(0, time, tuple(values), (), None if math.isnan(offset) else offset, sensor)


def time_of_row(row: bytes) -> float:
    """The time of a packed row."""
    return struct.unpack_from("<d", row)[0]


class Sensor:
    """The clock and the monitor of one sensor."""

    def __init__(self, plan: Plan, hint: float = math.inf) -> None:
        self.plan, self.hint = plan, hint
        self.clock, self.monitor = Clock(), Monitor(plan)
        self.offset: float | None = None

    def take(
        self,
        rows: Iterable[bytes],
        name: str = "",
        written: Callable[[float, float | None], Any] = lambda moment, offset: moment,
    ) -> tuple[Outcome, list[Trouble]]:
        """Take in packed rows, in the order in which they come; and what is to be said of those that are no reading."""
        taken: list[Reading] = []
        troubles: list[Trouble] = []
        opening = [time for time, _ in self.monitor.waiting]
        for row in rows:
            readings, said = self.clock.take(unpack_row(row, name), self._usual(opening), written)
            taken += readings
            troubles += said
            opening += [one.time for one in readings if one.time is not None][: OPENING - len(opening)]
        if taken:
            self.offset = taken[-1].offset
        times = np.array([one.time for one in taken], float)
        values = np.array([one.values for one in taken], float).reshape(len(taken), self.plan.channels)
        return (self.monitor.push(times, values) if taken else self.monitor.tick(-math.inf)), troubles

    def _usual(self, opening: list[float]) -> float:
        """The usual step, as far as it is known; by the first readings, however they are cut into batches."""
        if self.monitor.usual is not None:
            return self.monitor.usual
        return usual_step(opening) if len(opening) >= OPENING else self.hint

    def to_bytes(self) -> bytes:
        """All that it knows: a mark, a version, the clock as JSON, and the monitor's own bytes."""
        known = json.dumps({"plan": _asked(self.plan), "clock": self.clock.as_dict(), "offset": self.offset}).encode()
        return _MARK + bytes([_VERSION]) + _LENGTH.pack(len(known)) + known + self.monitor.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, plan: Plan, hint: float = math.inf) -> Sensor:
        """The sensor that was kept; its rules may be other ones by now."""
        start = len(_MARK) + 1
        if data[: len(_MARK)] != _MARK or data[len(_MARK) : start] != bytes([_VERSION]):
            raise ValueError(
                "another version of hippozoo wrote this state: go on with that version, or start without a checkpoint "
                "and read the source from its beginning."
            )
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        known = json.loads(data[start : start + length])
        if known["plan"] != _asked(plan):
            raise ValueError(
                f"this state was written with (channels, horizon, season, step)={tuple(known['plan'])}, and now they "
                f"are {tuple(_asked(plan))}: pass the same, or start without a checkpoint."
            )
        found = cls(plan, hint)
        found.clock, found.offset = Clock.from_dict(known["clock"]), known["offset"]
        found.monitor = Monitor.from_bytes(data[start + length :], plan)
        return found


def _asked(plan: Plan) -> list[Any]:
    return [plan.channels, plan.horizon, plan.season, plan.every]
