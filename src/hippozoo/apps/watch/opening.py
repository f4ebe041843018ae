"""How a watch begins, or goes on: the source, how it is read, the settings, the database, and all sensors."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hippozoo._internal.files import demand_writable
from hippozoo.apps.watch.database import is_begun, reading, sound
from hippozoo.apps.watch.lines import STANDARD_INPUT, Lines
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.sensors import Sensors, demand_columns
from hippozoo.apps.watch.settings import (
    MOST_BYTES,
    adapt_size,
    arithmetic_of,
    asked_rules,
    check_size,
    held_bytes,
    rules_from,
    rules_to,
    say_too_many,
)
from hippozoo.apps.watch.store import Store
from hippozoo.monitor import Plan, Rules
from hippozoo.monitor.monitor import ORDER
from hippozoo.tables.infer import LOOKED_AT, Inferred, infer_from_lines
from hippozoo.tables.records import Line, join_quoted
from hippozoo.tables.schema import Reading, Schema
from hippozoo.tables.trouble import TableError, list_reasons, reason, word

__all__ = ["Opened", "Opening", "records_of"]

# From so many rows the usual step is found.
_FIRST_ROWS, _FEWEST_ROWS = 50, 3
PAUSE = 0.2
# Who acknowledges or looks whether a watch runs holds its lock for a moment.
PATIENCE = 1.0
# Lines that are read, at most, to see how many sensors there are.
_MOST_COUNTED = 100_000
# Where the first rows do not say which number of a date is the day, so many are asked at the most.
_MOST_LOOKED_AT = 50_000


@dataclass
class Opened:
    """A watch that can go on."""

    store: Store
    lines: Lines
    schema: Schema
    sensors: Sensors
    first: list[Line]
    hint: float  # the usual step of a sensor of which little is known
    sent_before: dict[str, float]
    rules: Rules  # those that are asked for; the sensors still have the ones before


class Opening:
    """Opens a watch, until it is left."""

    def __init__(self, watch: Any) -> None:
        self.watch, self.settings, self.out = watch, watch.settings, watch.out

    def open(self) -> AbstractContextManager[Opened]:
        """A new database, or one that is there."""
        demand_writable(self.out)
        return self._going_on() if is_begun(self.out) else self._beginning()

    # -- a new database -----------------------------------------------------------------------------------------------

    @contextmanager
    def _beginning(self) -> Iterator[Opened]:
        asked = self.settings
        with self.watch.open_source() as lines:
            first, inferred = self._inferred(lines)
            schema = inferred.schema
            hint = self._usual_step(first, schema)
            every = None if schema.series and asked.every is None else hint
            sensors = self._count_sensors(lines, first, schema) if schema.series else 1
            check_size(asked, len(schema.columns))
            horizon, order = adapt_size(asked, len(schema.columns), sensors)
            rules = asked_rules(asked, Rules(), hint)
            too_many = say_too_many(rules, hint)
            if too_many:
                raise WatchError(too_many)
            plan = Plan(len(schema.columns), horizon, asked.period, every, schema.time is not None, rules, order)
            known: dict[str, Any] = {"source": asked.source, "every": every, **_changeable(plan, schema, rules)}
            if asked.source != STANDARD_INPUT and "://" not in asked.source:
                known["path"] = os.path.abspath(asked.source)  # noqa: PTH100  (links may lead elsewhere one day)
            if order != ORDER:
                known["order"] = order
            if schema.series:
                known["hint"] = hint
            with Store(self.out, known, arithmetic_of(plan), PATIENCE) as store:
                self._say_inferred(inferred)
                self._say_size(plan, sensors)
                yield Opened(store, lines, schema, _sensors(store, plan, schema), first, hint, {}, rules)

    def _inferred(self, lines: Lines) -> tuple[list[Line], Inferred]:
        """The first lines and how to read them; where they leave a doubt, more of them, if more are there."""
        asked, found, wanted = self.settings, list[Line](), LOOKED_AT
        while True:
            self._first_lines(lines, found, wanted)
            try:
                return found, infer_from_lines(found, self.watch.name, asked.columns, asked.time, series=asked.panel)
            except TableError as error:
                unread = error.trouble is not None and error.trouble.kind == "times unread"
                if not unread or len(found) < wanted or wanted > _MOST_LOOKED_AT:
                    raise
            wanted *= 4

    def _first_lines(self, lines: Lines, found: list[Line], wanted: int) -> None:
        """Enough lines to see what the source holds; from one that grows they are waited for."""
        while len(found) < wanted and not lines.ended and not self.watch.stopped():
            more = lines.read()
            found += more
            if not more and not lines.ended:
                if len([line for line in found if line.text.strip()]) > _FEWEST_ROWS:
                    break
                lines.wait(PAUSE)

    def _count_sensors(self, lines: Lines, first: list[Line], schema: Schema) -> int:
        """How many sensors there are: lines are read on, as far as they are there, while they name new ones."""
        names: set[str] = set()
        some = first
        while True:
            before = len(names)
            names |= {one.series for one in self._readings(some, schema)}
            if not some or 2 * (len(names) - before) < len(some) or len(first) > _MOST_COUNTED:
                return len(names)
            some = lines.read()
            first += some

    def _say_size(self, plan: Plan, sensors: int) -> None:
        size = held_bytes(plan) * sensors
        many = f"{sensors:,} sensors so far" if self.settings.panel else f"{plan.channels:,} columns"
        fewer = "" if plan.order == ORDER else "with smaller histories, since there are many; pass --horizon for others"
        if self.settings.panel or fewer:
            steps = f"{plan.horizon} steps ahead" + f" {fewer}" * bool(fewer)
            self.watch.warn(
                f"{many}, {steps}: {size / sensors / plan.channels / 1e3:,.0f} kB for each column, "
                f"{size / 1e6:,.0f} MB in all."
            )

    def _say_inferred(self, inferred: Inferred) -> None:
        for note in inferred.notes:
            self.watch.warn(word(note))
        left_out = {name: reason(why) for name, why in inferred.left_out.items() if why.kind != "names series"}
        if left_out:
            self.watch.warn(f"not watched: {list_reasons(left_out)}.")

    def _readings(self, first: list[Line], schema: Schema) -> list[Reading]:
        records, _ = records_of(first, schema, ended=True)
        return [one for one in map(schema.read, records) if isinstance(one, Reading)]

    def _usual_step(self, first: list[Line], schema: Schema) -> float:
        if self.settings.every is not None:
            if not 0 < self.settings.every < math.inf:
                raise WatchError(f"--every {self.settings.every:g}: a step is longer than 0; pass its length.")
            return float(self.settings.every)
        if schema.time is None:
            return 1.0
        readings = self._readings(first if schema.series else first[: _FIRST_ROWS + 1], schema)
        times: dict[str, list[float]] = {}
        for one in readings:
            if one.time is not None:
                times.setdefault(one.series, []).append(one.time)
        steps = [after - before for some in times.values() for before, after in pairwise(some) if after > before]
        most = max(map(len, times.values()), default=0)
        if len(steps) >= _FEWEST_ROWS - 1:
            return float(statistics.median(steps))
        if most >= _FEWEST_ROWS:
            raise WatchError(
                f"{self.watch.name}: the times in column {schema.time!r} do not rise in the first {most} rows, so the "
                f"usual step between them cannot be seen; pass --every with its length, sort the rows by time, or name "
                f"another column with --time."
            )
        if schema.series:
            return 1.0
        raise WatchError(
            f"{self.watch.name} has too few rows with times to see the usual step between them; "
            f"pass --every with its length, or wait for more rows."
        )

    # -- a database that is there -------------------------------------------------------------------------------------

    @contextmanager
    def _going_on(self) -> Iterator[Opened]:
        asked = self.settings
        with reading(self.out) as database:
            found, inode = database.settings, database.progress.place.inode
        with sound(self.out):
            schema = Schema(**{name: _tupled(value) for name, value in found["layout"].items()})
            if not schema.separator or not all(isinstance(name, str) for name in schema.columns):
                raise TypeError("its layout makes no sense")
            every = None if found["every"] is None else float(found["every"])
            hint = float(found.get("hint", every or 1.0))
            known = rules_from(found)
        self._demand_same(schema, every, found, inode)
        rules = asked_rules(asked, known, every or hint)
        too_many = say_too_many(rules, every or hint)
        if too_many:
            self.watch.warn(too_many)
        check_size(asked, len(asked.columns or schema.columns))
        said = [f"{name} from {was} to {now}" for name, was, now in self._changes(found, schema, known, rules)]
        horizon = found["horizon"] if asked.horizon is None else asked.horizon
        season = found["season"] if asked.season is None else asked.period
        order, timed = int(found.get("order", ORDER)), schema.time is not None
        after = replace(schema, columns=asked.columns) if asked.columns else schema
        plan = Plan(len(after.columns), horizon, season, every, timed, known, order)
        with Store(self.out, None, arithmetic_of(plan), PATIENCE) as store:
            if asked.source == STANDARD_INPUT and schema.time is None and store.progress.readings:
                raise WatchError(
                    "standard input without times cannot be gone on with, since nothing says which rows are new; "
                    "add a column of times, or write to another --out."
                )
            if said:
                unknown = [name for name in after.columns if after.names and name not in after.names]
                if unknown:
                    known_names = ", ".join(map(repr, after.names))
                    raise WatchError(f"{self.watch.name} has no column {unknown[0]!r}; it has {known_names}.")
                with store.transaction():
                    store.change_columns(demand_columns(store.channels(), after.columns))
                    store.change(_changeable(plan, after, rules), said)
                self.watch.warn(f"changed {'; '.join(said)}.")
            store.sign(arithmetic_of(plan))
            sensors, sent = _sensors(store, plan, after), {}
            if asked.source == STANDARD_INPUT or "://" in asked.source:
                sent = {one.name: one.clock.time for one in sensors.by_name.values() if one.clock.time is not None}
            with self.watch.open_source(store.progress.place) as lines:
                yield Opened(store, lines, after, sensors, [], hint, sent, rules)

    def _changes(
        self, found: dict[str, Any], schema: Schema, known: Rules, rules: Rules
    ) -> Iterator[tuple[str, Any, Any]]:
        """What is asked for otherwise than it was."""
        asked = self.settings
        for name in ("rate", "silence", "no_data"):
            was, now = getattr(known, name), getattr(rules, name)
            if was != now:
                yield f"--{name.replace('_', '-')}", was, now
        if asked.horizon is not None and asked.horizon != found["horizon"]:
            yield "--horizon", found["horizon"], asked.horizon
        if asked.season is not None and asked.period != found["season"]:
            yield "--season", found["season"] or "none", asked.period or "none"
        if asked.columns and set(asked.columns) != set(schema.columns):
            yield "--column", ", ".join(schema.columns), ", ".join(asked.columns)

    def _demand_same(self, schema: Schema, every: float | None, found: dict[str, Any], inode: int) -> None:
        """What cannot be changed in a database must agree: its source, times and steps."""
        asked = self.settings
        if not self._is_same_source(found, inode):
            raise WatchError(
                f"{self.out} was made with source={found['source']!r}, and now it is {asked.source!r}; "
                f"use the same, or write to another --out."
            )
        for name, now, was in (
            ("--time", asked.time if asked.time is not None else schema.time, schema.time),
            ("--every", asked.every if asked.every is not None else every, every),
            ("--panel", ", ".join(asked.panel or schema.series), ", ".join(schema.series)),
        ):
            if now != was:
                raise WatchError(
                    f"{self.out} was made with {name} {was}, and now it is {now}; leave {name} out to go on as before, "
                    f"or write to another --out."
                )

    def _is_same_source(self, found: dict[str, Any], inode: int) -> bool:
        """Whether the source is the file that a database was begun with, whatever the path to it is now."""
        now, was = self.settings.source, found["source"]
        if now == was or STANDARD_INPUT in (now, was) or "://" in now + was:
            return now == was
        if Path(now).resolve() == Path(found.get("path", was)).resolve():
            return True
        # Before paths were kept whole, nobody knows where a relative one began; the file is known by its number then.
        return "path" not in found and Path(now).exists() and Path(now).stat().st_ino == inode


def _changeable(plan: Plan, schema: Schema, rules: Rules) -> dict[str, Any]:
    """The settings that a later run may change, as a database keeps them."""
    return {
        "horizon": plan.horizon, "season": plan.season, "columns": list(schema.columns), "layout": schema.as_settings(),
        **rules_to(rules),
    }  # fmt: skip


def _sensors(store: Store, plan: Plan, schema: Schema) -> Sensors:
    most = MOST_BYTES // held_bytes(plan) if schema.series else 10**9
    return Sensors(store, plan, schema.columns, most)


def records_of(lines: list[Line], schema: Schema, *, ended: bool) -> tuple[list[Line], list[Line]]:
    """Whole records, and the lines of one that is not whole yet."""
    return (lines, []) if schema.kind == "json" else join_quoted(lines, schema.separator, ended=ended)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
