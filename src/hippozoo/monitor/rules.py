"""What counts as an alarm: how rare, after how long a silence, and after how long without data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

__all__ = ["NEVER", "Rules", "Silence", "parse_duration"]

NEVER = math.inf
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)?\s*")


@dataclass(frozen=True)
class Silence:
    """How long after an alarm another one of its kind is not told: so many readings, or so many seconds.

    Examples
    --------
    >>> Silence.parse("12"), Silence.parse("2h")
    (Silence(readings=12, seconds=None), Silence(readings=0, seconds=7200.0))
    """

    readings: int = 150
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Silence:
        """From what a person writes: 12 readings, or 2h."""
        length, unit = parse_duration(text)
        if unit:
            return cls(0, length)
        if length != int(length):
            raise ValueError(f"{text!r}: a silence is a number of readings, or a time such as 30min or 2h.")
        return cls(int(length))

    def __str__(self) -> str:
        return str(self.readings) if self.seconds is None else f"{self.seconds:g}s"


def parse_duration(text: str) -> tuple[float, bool]:
    """A number, and whether it is one of seconds.

    Examples
    --------
    >>> parse_duration("2h"), parse_duration("12"), parse_duration("1.5 min")
    ((7200.0, True), (12.0, False), (90.0, True))
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no length of time; pass a number of readings, or a time such as 30min, 2h or 1d."
        )
    number, unit = float(found[1]), found[2]
    return (number * _UNITS[unit], True) if unit else (number, False)


@dataclass(frozen=True)
class Rules:
    """When an alarm is told.

    Parameters
    ----------
    rate
        Alarms wanted per 1,000 readings of a quiet stream.
    silence
        How long after an alarm only one that is ten times rarer, of another kind, or in the other direction is told.
    no_data
        After how many usual steps without a value that is an alarm itself; `NEVER` for none.

    Examples
    --------
    >>> Rules(rate=2.0).threshold
    0.002
    """

    rate: float = 1.0
    silence: Silence = field(default_factory=Silence)
    no_data: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1000:
            raise ValueError(f"rate={self.rate}: alarms per 1,000 readings; pass a number between 0 and 1000.")
        if not self.no_data > 1:
            raise ValueError(f"no_data={self.no_data}: usual steps without a value; pass more than 1.")

    @property
    def threshold(self) -> float:
        """The p-value at which a reading is an alarm."""
        return self.rate / 1000.0
