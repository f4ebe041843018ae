"""What a database of a watch holds, as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hippozoo.apps.watch.lines import Place
from hippozoo.tables.trouble import Trouble

__all__ = ["Alarm", "Batch", "Channel", "Event", "Kept", "Progress", "Sensor", "State", "Status"]


@dataclass(frozen=True)
class Progress:
    """How far a watch has come."""

    place: Place = field(default_factory=Place)  # in the source
    readings: int = 0  # of all sensors
    time: float | None = None  # the latest of a reading
    late: int = 0  # rows whose time was not after the last
    left_out: int = 0  # rows that were no readings
    names: tuple[str, ...] | None = None  # of the last header in the middle of the source
    offset: float | None = None  # seconds that the clock of the source is ahead of UTC, where it names a zone


@dataclass(frozen=True)
class Status(Progress):
    """How a watch is doing, for the line on stderr; `lag` is how long ago the last reading was taken, in seconds."""

    alarms: int = 0
    per_second: float = 0.0
    dates: bool = False
    lag: float | None = None
    last_alarm: float | None = None
    sensors: int = 1
    open_events: int = 0


class Kept(NamedTuple):
    """One column of a reading, with what was expected before it came."""

    number: int
    channel: int
    time: float
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    p: float | None


class Channel(NamedTuple):
    """A column of a sensor, and whether it is watched."""

    channel: int
    name: str
    sensor: int = 0
    watched: bool = True


class Sensor(NamedTuple):
    """A sensor; the name is empty where there is only one, the clock is plain JSON."""

    sensor: int
    name: str
    readings: int
    clock: dict[str, Any]


class State(NamedTuple):
    """The bytes of a monitor, the next reading's number, and the first one's where older readings are gone."""

    sensor: int
    number: int
    state: bytes
    first: int = 0


@dataclass(frozen=True)
class Alarm:
    """An alarm of one column; the fields are the columns of its table."""

    id: int
    number: int
    channel: int
    time: float
    p: float
    value: float | None
    expected: float | None
    lower: float | None
    upper: float | None
    explanation: dict[str, Any]
    told: int = 0  # 1 told, 2 muted
    event: int | None = None
    lead: int | None = None  # the alarm that is told for it, its own or that of another column at the same time
    severity: str = ""
    sentence: str = ""
    again: str = ""  # why it was told within a silence
    key: str = ""  # the same whenever the same alarm is found
    offset: float | None = None


@dataclass
class Event:
    """Something that happened, over one column or many; the fields are the columns of its table."""

    id: int
    begun: float
    alarmed: float = 0.0  # time of its first alarm
    ended: float | None = None
    channels: list[int] = field(default_factory=list)  # all that had a part in it
    open: dict[int, int] = field(default_factory=dict)  # those where it is on, and the reading it began with
    severity: str = "minor"  # the highest so far
    acknowledged: float | None = None  # by the wall clock
    told: int = 0  # its end: 1 told, 2 not to be told


@dataclass
class Batch:
    """What is committed together; of a sensor or a state that comes twice the last one counts."""

    progress: Progress
    readings: list[Kept] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
