"""Lines of text as rows of sensors: how they are read, and which time moves the watermark."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hippozoo.monitor import Plan
from hippozoo.scale.flink.keyed import Settings, trouble_line
from hippozoo.scale.flink.sensor import pack_row
from hippozoo.tables.infer import LOOKED_AT, infer_from_lines
from hippozoo.tables.records import Line
from hippozoo.tables.schema import Header, Reading, Schema
from hippozoo.tables.trouble import Trouble

__all__ = ["LineReader", "Row", "infer_settings"]

# A time that is so many usual steps ahead of all before it moves the watermark only if the next row is as late.
_AHEAD = 20


class Row(NamedTuple):
    """What a line gives: its sensor, its event time in milliseconds, the packed row; or, with no row, what to say."""

    sensor: str
    stamp: int
    row: bytes
    said: str


@dataclass
class LineReader:
    """Reads lines one by one.

    Examples
    --------
    >>> lines = ["sensor,time,flow", "a,0,1.5", "b,0,2.5", "a,60,high"]
    >>> schema, settings = infer_settings(lines, "pumps.csv", ("sensor",), Plan(horizon=1))
    >>> reader = LineReader(schema, settings)
    >>> [(row.sensor, row.stamp, row.said[:12]) for line in lines for row in reader.read(line)]
    [('a', 0, ''), ('b', 0, ''), ('a', 60000, '{"trouble": '), ('a', 60000, '')]
    """

    schema: Schema
    settings: Settings
    _latest: int | None = field(init=False, default=None)
    _ahead: int | None = field(init=False, default=None)

    def read(self, text: str) -> Iterator[Row]:
        """The row of a line, and what is wrong with it."""
        found = self.schema.read(Line(0, text))
        if isinstance(found, Header):
            # Every file has one; another one would change how only some of the lines are read.
            found = None if found.names == self.schema.names else found.trouble
        if isinstance(found, Trouble):
            yield Row("", self._latest or 0, b"", trouble_line("", found))
        if not isinstance(found, Reading) or found.time is None:
            return
        stamp = self._stamp(self.settings.milliseconds(found.time))
        for trouble in found.troubles:
            yield Row(found.series, stamp, b"", trouble_line(found.series, trouble))
        yield Row(found.series, stamp, pack_row(found), "")

    def _stamp(self, time: int) -> int:
        """The event time of a row: one wrong date of one sensor must not make all others late."""
        limit = self.settings.milliseconds(_AHEAD * self.settings.hint) if math.isfinite(self.settings.hint) else None
        if self._latest is None or limit is None or time <= self._latest + limit:
            self._ahead = None
        elif self._ahead is None or abs(time - self._ahead) > limit:
            self._ahead = time
            return self._latest
        self._latest = time if self._latest is None else max(time, self._latest)
        return time


def infer_settings(
    lines: Sequence[str],
    source: str,
    panel: Sequence[str],
    plan: Plan,
    columns: Sequence[str] = (),
    time: str | None = None,
) -> tuple[Schema, Settings]:
    """How a source is read and watched, from its first lines, as `hippozoo watch --panel` finds out.

    Parameters
    ----------
    lines, source
        The first lines, and its name for messages.
    panel
        The columns that name the sensor of each row.
    plan
        What each monitor is asked to do; the number of channels is found.
    columns, time
        Which to read; found if left out.

    Examples
    --------
    >>> schema, settings = infer_settings(
    ...     ["sensor,time,flow", "a,0,1.5", "b,0,2", "a,60,2.5", "b,60,3"], "pumps.csv", ["sensor"], Plan()
    ... )
    >>> schema.columns, settings.hint, settings.dates
    (('flow',), 60.0, False)
    """
    first = [Line(number + 1, text) for number, text in enumerate(lines)]
    schema = infer_from_lines(first, source, columns, time, series=panel).schema
    if schema.time is None:
        raise ValueError(
            f"{source} has no column of times, and without times there is no event time; name it with --time."
        )
    times: dict[str, list[float]] = {}
    for line in first:
        found = schema.read(line)
        if isinstance(found, Reading) and found.time is not None:
            times.setdefault(found.series, []).append(found.time)
    steps = [after - before for some in times.values() for before, after in itertools.pairwise(some) if after > before]
    hint = plan.every or (statistics.median(steps) if len(steps) > 1 else math.inf)
    plan = replace(plan, channels=len(schema.columns))
    return schema, Settings(plan, schema.columns, schema.dates, hint)


def first_lines(path: Path) -> list[str]:
    r"""Lines that show how a file, or the files of a folder, are read."""
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith((".", "_")))
        if not files:
            raise FileNotFoundError(f"{path} holds no file yet; name one that shows how lines are read with --like.")
        path = files[0]
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return [line.rstrip("\r\n") for line in itertools.islice(file, LOOKED_AT)]
