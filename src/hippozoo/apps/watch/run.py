"""The work of a watch: lines in, batches committed, alarms told; after a crash it goes on as if there had been none."""

from __future__ import annotations

import json
import signal
import time as clock
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import FullDiskError
from hippozoo.apps.watch.incidents import Incidents, Told, told_alarm, told_as_one, told_end
from hippozoo.apps.watch.intake import Intake
from hippozoo.apps.watch.lines import CHUNK, STANDARD_INPUT, Lines
from hippozoo.apps.watch.opening import PAUSE, Opened, Opening, records_of
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Alarm, Batch, Event, Status
from hippozoo.apps.watch.requests import apply_request
from hippozoo.apps.watch.sensors import Fact
from hippozoo.apps.watch.settings import Settings, rules_from
from hippozoo.monitor import write_time
from hippozoo.tables.records import Line
from hippozoo.tables.trouble import Place, Trouble, word

__all__ = ["Settings", "Status", "Watch"]

_FULL_DISK_PAUSE = 5.0
# Lines that are committed together, unless somebody says how many; and values, since all of them wait in memory.
_BATCH, _MOST_VALUES = 1024, 1 << 16
# After so many readings, of many sensors some of each and at most so many, it is looked whether some send nothing: by
# their number, so that a restart changes nothing; while a source is followed also every so many seconds.
_TICK, _OF_EACH, _LONGEST_TICK, _TICK_SECONDS = 1024, 32, 1 << 16, 1.0


@dataclass(eq=False)
class Watch:
    """One run of the command, from opening to the end of the source or a signal.

    Parameters
    ----------
    settings, out
        What to do, and the database.
    tell
        Called with each line for standard output, after its commit; None if nobody can hear it: the next run tells.
    warn
        Called with sentences for people.
    all_readings
        Whether every reading is told, not only alarms.
    status, rebuilt, beat
        Called now and then: with how it is doing, with how many readings of how many have been replayed, and as a sign
        of life.
    stdin, source
        What to read for ``"-"``; what opens a source that is neither a file nor standard input.
    sinks
        Others that are told of alarms and ends once they are committed; each has `start`, `tell` and `close`.
    """

    settings: Settings
    out: Path
    tell: Callable[[str], Any] | None
    warn: Callable[[str], Any]
    _: KW_ONLY
    all_readings: bool = False
    status: Callable[[Status], Any] = lambda status: None
    rebuilt: Callable[[int, int], Any] = lambda done, total: None
    stdin: Any = None
    sinks: Sequence[Any] = ()
    source: Callable[[Any], Any] | None = None
    beat: Callable[[], Any] = lambda: None
    _stop: bool = field(default=False, init=False)
    _warned: Counter[str] = field(default_factory=Counter, init=False)

    def run(self) -> Status:
        """Watch until the source ends, or until SIGTERM or Ctrl-C; what was read by then is committed."""
        with self._signals(), Opening(self).open() as opened, ExitStack() as at_work:
            for sink in self.sinks:
                at_work.callback(sink.close)
                sink.start(self.out, self.warn)
            # What is acknowledged is not sent again, even if the machine goes down.
            opened.store.durable = self.source is not None
            return _Run(self, opened).go_on()

    def stopped(self) -> bool:
        """Whether to stop; asked wherever something takes long."""
        self.beat()
        return self._stop

    @property
    def name(self) -> str:
        """What messages call the source."""
        return "standard input" if self.settings.source == STANDARD_INPUT else self.settings.source

    def open_source(self, place: Any = None) -> Any:
        """The lines of the source, from a place on."""
        if self.source is not None:
            return self.source(place)
        return Lines(self.settings.source, place, follow=self.settings.follow, stdin=self.stdin)

    def say(self, trouble: Trouble) -> None:
        """Each kind of trouble once, and that there are more; all of them are in the database."""
        self._warned[trouble.kind] += 1
        if self._warned[trouble.kind] == 1:
            self.warn(word(trouble, stream=True))
        elif self._warned[trouble.kind] == 2:
            more = f"From here on such lines are only noted, in the table troubles of {self.out}."
            self.warn(f"{word(trouble, stream=True)} {more}")

    def until_written(self, write: Callable[[], Any]) -> None:
        """Write; while the disk is full or fails, wait and say so."""
        while True:
            try:
                write()
                return
            except FullDiskError as error:
                self.warn(f"{error} Waiting, and trying again; nothing is lost.")
                if self.stopped():
                    raise
                clock.sleep(_FULL_DISK_PAUSE)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(*_: Any) -> None:
            self._stop = True

        before: dict[int, Any] = {}
        with suppress(ValueError):  # not in the main thread: somebody else handles signals
            before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Run:
    """A watch that is open, while it goes on."""

    def __init__(self, watch: Watch, opened: Opened) -> None:
        self.watch, self.settings, self.opened = watch, watch.settings, opened
        self.store, self.lines, self.schema, self.sensors = opened.store, opened.lines, opened.schema, opened.sensors
        self.progress = self.store.progress
        dates = self.schema.dates
        self.written = partial(write_time, dates=True) if dates else lambda moment, offset: moment
        self.intake = Intake(
            self.schema, self.sensors, opened.hint, self.settings.strict, opened.sent_before,
            lambda: self.lines.sent_again, self.written,
        )  # fmt: skip
        self.incidents = Incidents(self.store, self.sensors.labels, partial(write_time, dates=dates), opened.hint)
        self.alarms, self.last_alarm = self.store.count_alarms()
        self._pending: list[Told] = []
        self._begun = self._arrived = clock.monotonic()
        self._looked = self._shown = 0.0
        self._at_start = self.progress.readings

    # -- going on -----------------------------------------------------------------------------------------------------

    def go_on(self) -> Status:
        """Until the source ends, or until told to stop."""
        self._say_if_begun_anew()
        if not self._resume():
            return self._status()
        self._tell_what_was_not_told()
        waiting, torn = records_of(self.opened.first, self.schema, ended=self.lines.ended)
        self._begun = clock.monotonic()
        while True:
            size = self.settings.batch or self._usual_batch()
            self.lines.chunk = max(CHUNK, 32 * size)
            if not waiting:
                waiting = self.lines.read()
                if self._say_if_begun_anew():
                    torn = []
                waiting, torn = records_of([*torn, *waiting], self.schema, ended=self.lines.ended)
            piece, waiting = waiting[:size], waiting[size:]
            self._do_what_was_asked()
            if piece:
                self._arrived = clock.monotonic()
                self._take(piece)
            else:
                self._tell()
            if not waiting and self.settings.follow:
                self._look_for_silence()
            if clock.monotonic() - self._shown > 0.5:
                self._shown = clock.monotonic()
                self.watch.status(self._status())
            if self.watch.stopped() or (not piece and not torn and self.lines.ended):
                break
            if not piece:
                self.lines.wait(PAUSE)
        self._end()
        return self._status()

    def _usual_batch(self) -> int:
        """How many lines are committed together: fewer where each has many columns, more of many sensors."""
        lines = _tick(len(self.sensors)) if self.schema.series else _BATCH
        return min(lines, max(_MOST_VALUES // len(self.schema.columns), _OF_EACH))

    def _resume(self) -> bool:
        """Bring the sensor of a source that has one only to where it was; False if told to stop on the way."""
        sensors = list(self.sensors.by_name.values())
        if not self.schema.series:
            self.sensors.watch = self.watch
            self.sensors.written = lambda moment: self.written(moment, self.progress.offset)
            if any(self.sensors.monitor(one).readings < one.readings for one in sensors):
                return False
        elif sensors and self.store.state(sensors[0].number) is None:
            self.watch.warn("states are rebuilt from the readings as their sensors send.")
        if self.sensors.plan.rules != self.opened.rules:
            self.sensors.change_rules(self.opened.rules)
        return True

    def _take(self, piece: list[Line]) -> None:
        """Push the readings of some lines and commit what came of it; cut where silence is looked for."""
        while piece:
            before = self.progress.readings
            tick = _tick(len(self.sensors))
            until = before // tick * tick + tick if self.schema.series else None
            taken = self.intake.take(piece, self.progress, until)
            some, piece = piece[: taken.lines], piece[taken.lines :]
            for trouble in taken.troubles:
                self.watch.say(trouble)
            place = self.lines.place_after(some[-1]) if some else taken.progress.place
            batch = Batch(replace(taken.progress, place=place), troubles=taken.troubles)
            facts = self.sensors.push(taken.rows, batch)
            tick = _tick(len(self.sensors))  # there may be more by now, and never fewer
            if self.schema.series and batch.progress.readings // tick > before // tick:
                facts += self.sensors.tick(batch.progress.time or 0.0, some[-1].number, batch)
            self._commit(batch, facts)
            if some:
                self.lines.acknowledge(some[-1])
            if taken.refused is not None:
                where = taken.refused.place._replace(source=self.watch.name)
                raise WatchError(word(taken.refused._replace(place=where), strict=True))

    def _commit(self, batch: Batch, facts: Sequence[Fact] = ()) -> None:
        told = self.incidents.take(facts, batch)
        self.watch.until_written(lambda: self.store.commit(batch, self.settings.keep))
        self.progress = batch.progress
        leads = [one[0] for one in told if not isinstance(one, Event)]
        self.alarms += len(leads)
        self.last_alarm = leads[-1].time if leads else self.last_alarm
        self._tell_readings(batch)
        self._pending += told
        self._tell(batch.progress.time if self.schema.series else None)

    def _look_for_silence(self) -> None:
        """While a source is followed, by the wall clock, too: it goes on from the last reading."""
        moment = clock.monotonic()
        if self.progress.time is None or moment - self._looked < _TICK_SECONDS:
            return
        self._looked = moment
        now = self.progress.time + (moment - self._arrived if self.schema.dates else 0.0)
        if any(now > sensor.due for sensor in self.sensors.by_name.values()):
            batch = Batch(self.progress)
            self._commit(batch, self.sensors.tick(now, 0, batch))

    def _do_what_was_asked(self) -> None:
        for number, request in self.store.requests():
            outcome = apply_request(self.store, number, request)
            self.watch.warn(f"as was asked: {outcome}.")
            self.incidents.mutes = self.store.mutes()
            for known in self.store.events("ended IS NULL"):
                if known.id in self.incidents.open:
                    self.incidents.open[known.id].acknowledged = known.acknowledged
            rules = rules_from(self.store.settings)
            if rules != self.sensors.plan.rules:
                self.sensors.change_rules(rules)

    def _end(self) -> None:
        """What is left to be said and done, and the states, at the end of the source."""
        self._do_what_was_asked()
        self._tell()
        if self.lines.torn is not None:
            text = f"line {self.lines.torn} of {self.watch.name} has no end yet, so it may be half written: it is left"
            self.watch.warn(f"{text} for the next run (if it is whole, end it with a newline).")
        for sensor in self.sensors.by_name.values():
            if sensor.clock.held is not None:
                line, moment, _, offset = sensor.clock.held
                last, usual = sensor.clock.time or 0.0, sensor.usual or self.opened.hint
                more = ((moment - last) / usual, self.written(last, offset))
                held = Trouble("held", Place(line=line), self.written(moment, offset), more=more)
                self.watch.warn(word(held, stream=True))
        for states in self.sensors.final_states():
            self._commit(Batch(self.progress, states=states))
        self.store.demand_there()

    def _status(self) -> Status:
        progress, dates, follow = self.progress, self.schema.dates, self.settings.follow
        lag = clock.time() - progress.time if dates and follow and progress.time is not None else None
        per_second = (progress.readings - self._at_start) / max(clock.monotonic() - self._begun, 1e-9)
        return Status(
            **vars(progress), alarms=self.alarms, per_second=per_second, dates=dates, lag=lag,
            last_alarm=self.last_alarm, sensors=len(self.sensors), open_events=len(self.incidents.open),
        )  # fmt: skip

    def _say_if_begun_anew(self) -> bool:
        if not self.lines.begun_anew:
            return False
        self.watch.warn(f"{self.settings.source} {self.lines.begun_anew}; it is read from its beginning.")
        self.lines.begun_anew = None
        return True

    # -- telling ------------------------------------------------------------------------------------------------------

    def _tell_readings(self, batch: Batch) -> None:
        if not self.watch.all_readings or self.watch.tell is None:
            return
        for one in batch.readings:
            when = self.written(one.time, batch.progress.offset)
            named = {"column": self.sensors.labels[one.channel][0], "time": when}
            self.watch.tell(json.dumps({"reading": one._asdict() | named}))

    def _tell_what_was_not_told(self) -> None:
        alarms = self.store.untold()
        self._pending += [told_as_one(alarms, one.id) for one in alarms if one.lead == one.id and one.told == 0]
        self._pending += self.store.events("ended IS NOT NULL AND told = 0")
        self._tell()

    def _tell(self, now: float | None = None) -> None:
        """Tell alarms and ends of events; each once, and again only after a crash between telling and noting it.

        With `now`, only what is before it: until then, other sensors may still join an alarm.
        """
        count = len(self._pending)
        if now is not None:
            may_grow = (k for k, one in enumerate(self._pending) if not isinstance(one, Event) and one[0].time >= now)
            count = next(may_grow, count)
        told, self._pending = self._pending[:count], self._pending[count:]
        lines: list[dict[str, Any]] = []
        leads: list[Alarm] = []
        ended: list[Event] = []
        labels = self.sensors.labels
        for one in told:
            if isinstance(one, Event):
                if not one.told:
                    lines.append({"end": told_end(one, labels, self.written, self.progress.offset)})
                    ended.append(one)
            elif not one[0].told:
                group = self.incidents.group_of(one[0]) or one
                lines.append({"alarm": told_alarm(group, labels, self.written)})
                leads.append(one[0])
        if not lines:
            return
        for sink in self.watch.sinks:
            self.watch.until_written(partial(sink.tell, lines))
        if self.watch.tell is None:
            return
        for line in lines:
            self.watch.tell(json.dumps(line))
        self.incidents.note_told(leads)
        self.watch.until_written(lambda: self.store.tell(leads, ended))


def _tick(sensors: int) -> int:
    """After how many readings it is looked whether some sensor sends nothing; each divides the next."""
    wanted = min(_OF_EACH * sensors, _LONGEST_TICK)
    return _TICK << max((wanted - 1) // _TICK, 0).bit_length()
