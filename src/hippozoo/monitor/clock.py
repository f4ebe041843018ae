"""Rows as they come: which are readings, in what order, and what is to be said of the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from hippozoo.tables.schema import Reading
from hippozoo.tables.trouble import Place, Trouble

__all__ = ["Clock"]

# After so many steps in a row that are longer or shorter than the usual one by this share, it is said to have changed.
_MANY_STEPS, _SAME_STEP = 20, 0.25
# A row that is so many usual steps ahead waits for the next one; one that is so many ahead is wrong whatever follows.
_AHEAD, _TOO_FAR = 20, 1e9
# After so many late rows in a row it is said what can be done.
_MANY_LATE = 20


@dataclass
class Clock:
    """The time of one sensor: takes rows in the order in which they come, sorts out what is late or far ahead.

    Examples
    --------
    >>> from hippozoo.tables.schema import Reading
    >>> clock = Clock()
    >>> for moment in (0.0, 60.0, 30.0, 120.0):
    ...     taken, said = clock.take(Reading(1, moment, (5.0,)), usual=60.0)
    ...     print([one.time for one in taken], [one.kind for one in said])
    [0.0] []
    [60.0] []
    [] ['late']
    [120.0] []
    """

    time: float | None = None  # of the last reading
    late: int = 0  # rows whose time was not after the last
    left_out: int = 0  # rows that were no readings
    unusual: int = 0  # steps in a row that were not the usual one, and when the first of them began
    unusual_since: float | None = None
    behind: int = 0  # rows in a row that were late
    # A row far ahead, until the next one says whether time goes on from there: line, time, values, offset of its zone.
    held: tuple[int, float, tuple[float | None, ...], float | None] | None = None

    def as_dict(self) -> dict[str, Any]:
        """What is kept of it, without what is as at the beginning."""
        known = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in known.items() if value not in (None, 0) or name == "time"}

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Clock:
        """The clock that was kept."""
        names = {one.name for one in fields(cls)} - {"held"}
        found = cls(**{name: value for name, value in known.items() if name in names})
        if known.get("held") is not None:
            line, time, values, *offset = known["held"]
            found.held = int(line), float(time), tuple(values), offset[0] if offset else None
        return found

    def take(
        self,
        row: Reading,
        usual: float,
        written: Callable[[float, float | None], Any] = lambda moment, offset: moment,
        *,
        again: bool = False,
    ) -> tuple[list[Reading], list[Trouble]]:
        """The readings that a row with a time gives, at most two, and what is to be said.

        `usual` is the usual step; `written` writes a time, with the offset of its zone, in a sentence; `again` says
        whether a row that is held may be sent again, as on standard input after a restart.
        """
        moment, last = row.time, self.time
        assert moment is not None
        if last is None:
            self.time = moment
            return [row], list(row.troubles)
        taken: list[Reading] = []
        said: list[Trouble] = []
        if self.held is not None:
            line, time, values, offset = self.held
            if moment > time:  # time goes on from there: it was a gap
                self.held = None
                said += self._step(line, last, time, usual)
                numbers = tuple(math.nan if one is None else one for one in values)
                taken, last = [Reading(line, time, numbers, (), offset, row.series)], time
            elif last < moment < time:  # time goes on before it
                more = (row.line, written(moment, row.offset))
                said.append(Trouble("ahead", Place(line=line), written(time, offset), more=more))
                self.held = None
                self.left_out += 1
        values = tuple(None if math.isnan(one) else one for one in row.values)
        if self.held is not None and moment == self.held[1]:
            if values == self.held[2] and again:
                return taken, said
            return taken, said + self._late(row, moment, written)
        if moment <= last:
            return taken, said + self._late(row, last, written)
        if moment - last > _TOO_FAR * usual:
            self.left_out += 1
            more = (_TOO_FAR, written(last, row.offset))
            return taken, [*said, Trouble("beyond", Place(line=row.line), written(moment, row.offset), more=more)]
        if moment - last > _AHEAD * usual:
            self.held = row.line, moment, values, row.offset
            return taken, [*said, *row.troubles]
        said += self._step(row.line, last, moment, usual)
        return [*taken, row], [*said, *row.troubles]

    def _late(self, row: Reading, last: float, written: Callable[[float, float | None], Any]) -> list[Trouble]:
        self.late += 1
        self.behind += 1
        place, since = Place(line=row.line), written(last, row.offset)
        said = [Trouble("late", place, written(row.time or 0.0, row.offset), more=(since,))]
        if self.behind == _MANY_LATE:
            said.append(Trouble("many late", place, self.behind, more=(since,)))
        return said

    def _step(self, line: int, last: float, moment: float, usual: float) -> list[Trouble]:
        """Go on to a moment; say so where steps have come to be others than usual."""
        self.time, self.behind = moment, 0
        if abs(moment - last - usual) <= _SAME_STEP * usual:
            self.unusual, self.unusual_since = 0, None
            return []
        self.unusual += 1
        since = last if self.unusual_since is None else self.unusual_since
        self.unusual_since = since
        step = (moment - since) / self.unusual
        if self.unusual != _MANY_STEPS or abs(step - usual) <= _SAME_STEP * usual:
            return []
        return [Trouble("other step", Place(line=line), self.unusual, more=(step, usual))]
