"""What a database of a watch holds, as plain records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hippozoo.apps.watch.lines import Place
from hippozoo.tables.trouble import Trouble

__all__ = ["Alarm", "Batch", "Channel", "Event", "Kept", "Progress", "Sensor", "State"]


@dataclass(frozen=True)
class Progress:
    """How far a watch has come.

    Parameters
    ----------
    place
        In the source.
    readings
        Taken in so far, of all sensors.
    time
        The latest time of a reading; None before the first.
    late
        Rows that were skipped because their time was not after the last.
    left_out
        Rows that were no readings.
    names
        The columns as the last header in the middle of the source named them; None if there was none.
    offset
        How many seconds the clock of the source is ahead of UTC; None where it names no zone.
    """

    place: Place = field(default_factory=Place)
    readings: int = 0
    time: float | None = None
    late: int = 0
    left_out: int = 0
    names: tuple[str, ...] | None = None
    offset: float | None = None


class Kept(NamedTuple):
    """A reading as the database holds it, one column of it: number, channel, time, value, what was expected, and p."""

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
    """A sensor: its name (empty where there is one only), its readings so far, its clock and what waits, as JSON."""

    sensor: int
    name: str
    readings: int
    clock: dict[str, Any]


class State(NamedTuple):
    """A state of a sensor that was kept.

    Parameters
    ----------
    sensor
        Whose.
    number
        The next reading's.
    state
        A `Monitor`, as bytes.
    first
        The reading that it began with; above 0 where it was rebuilt and older readings had gone.
    """

    sensor: int
    number: int
    state: bytes
    first: int = 0


@dataclass(frozen=True)
class Alarm:
    """An alarm of one column.

    Parameters
    ----------
    id, number, channel, time, p, value, expected, lower, upper
        Which, and what was read and expected.
    explanation
        Whatever the detector says about it, as plain JSON.
    event
        The event that it belongs to.
    lead
        The alarm that is told for it: its own id, or that of one in another column at the same time.
    severity, sentence, again
        How severe it is, in words for people, and why it was told within a silence.
    key
        A name that is the same whenever the same alarm is found.
    offset
        Of the clock of its source.
    told
        0 to be told, 1 told, 2 not told because its column is muted.
    """

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
    told: int = 0
    event: int | None = None
    lead: int | None = None
    severity: str = ""
    sentence: str = ""
    again: str = ""
    key: str = ""
    offset: float | None = None


@dataclass
class Event:
    """Something that happened, over one column or many.

    Parameters
    ----------
    id
        Its number.
    begun, alarmed, ended
        Times: its beginning, its first alarm, and its end; None while it is on.
    channels
        All columns that had a part in it.
    open
        Those in which it is still on, with the number of the reading with which it began there.
    severity
        The highest so far.
    acknowledged
        When somebody said that they know, by the wall clock; None if nobody did.
    told
        Whether its end has been told: 0 to be told, 1 told, 2 not to be told.
    """

    id: int
    begun: float
    alarmed: float = 0.0
    ended: float | None = None
    channels: list[int] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)
    severity: str = "minor"
    acknowledged: float | None = None
    told: int = 0


@dataclass
class Batch:
    """What is committed together."""

    progress: Progress
    readings: Sequence[Kept] = ()
    alarms: Sequence[Alarm] = ()
    events: Sequence[Event] = ()
    troubles: Sequence[Trouble] = ()
    sensors: Sequence[Sensor] = ()
    channels: Sequence[Channel] = ()
    states: Sequence[State] = ()
