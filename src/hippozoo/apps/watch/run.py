"""The work of a watch: lines in, batches committed, alarms told; after a crash it goes on as if there had been none."""

from __future__ import annotations

import json
import signal
import time as clock
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.database import FullDiskError, label_of
from hippozoo.apps.watch.incidents import Incidents, Told, told_alarm, told_end
from hippozoo.apps.watch.intake import Intake
from hippozoo.apps.watch.lines import CHUNK, STANDARD_INPUT, Lines
from hippozoo.apps.watch.opening import PAUSE, Opened, Opening, records_of
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Alarm, Batch, Progress, Status
from hippozoo.apps.watch.requests import apply_request
from hippozoo.apps.watch.sensors import Pushed
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

    def __init__(
        self,
        settings: Settings,
        out: Path,
        tell: Callable[[str], Any] | None,
        warn: Callable[[str], Any],
        *,
        all_readings: bool = False,
        status: Callable[[Status], Any] | None = None,
        rebuilt: Callable[[int, int], Any] = lambda done, total: None,
        stdin: Any = None,
        sinks: Sequence[Any] = (),
        source: Callable[[Any], Any] | None = None,
        beat: Callable[[], Any] = lambda: None,
    ) -> None:
        self.settings, self.out = settings, out
        self.tell, self.warn, self.status, self.rebuilt = tell, warn, status, rebuilt
        self.all_readings, self.stdin, self.sinks = all_readings, stdin, sinks
        self.source, self.beat = source, beat
        self._stop = False
        self._warned: Counter[str] = Counter()
        self._name = "standard input" if settings.source == STANDARD_INPUT else settings.source

    def run(self) -> Status:
        """Watch until the source ends, or until SIGTERM or Ctrl-C; what was read by then is committed."""
        opening = Opening(self.settings, self.out, self.warn, self.stopped, self._source, self._name)
        with self._signals(), opening.open() as opened, ExitStack() as at_work:
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

    def _source(self, place: Any = None) -> Any:
        if self.source is not None:
            return self.source(place)
        return Lines(self.settings.source, place, follow=self.settings.follow, stdin=self.stdin)

    # -- saying -------------------------------------------------------------------------------------------------------

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

    # -- signals ------------------------------------------------------------------------------------------------------

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
        self.watch, self.settings = watch, watch.settings
        self.store, self.lines, self.schema = opened.store, opened.lines, opened.schema
        self.sensors, self.opened = opened.sensors, opened
        self.progress = self.store.progress
        dates = self.schema.dates
        self.written = lambda moment, offset: write_time(moment, offset, dates=dates) if dates else moment
        known = {name: one for name, one in self.sensors.usual.items() if one is not None}
        self.intake = Intake(
            self.schema, self.sensors.plan.every if self.schema.time is not None else 1.0, opened.hint,
            self.settings.strict, opened.sent_before, lambda: self.lines.sent_again, self.written, self.sensors.clocks,
            known, self.sensors.opening_times(),
        )  # fmt: skip
        self._channels = {one.channel: one for one in self.store.channels()}
        self._sensor_names = {one.sensor: one.name for one in self.store.sensors()}
        self.incidents = Incidents(self.store, self.label, partial(write_time, dates=dates), opened.hint)
        self._pending: list[Told] = []
        self._looked = 0.0
        self.alarms, self.last_alarm = self.store.count_told()
        self._arrived = clock.monotonic()

    def label(self, channel: int) -> tuple[str, str]:
        """What a column is called, and its sensor."""
        one = self._channels[channel]
        sensor = self._sensor_names.get(one.sensor, "")
        return label_of(one.name, sensor, len(self.schema.columns)), sensor

    # -- going on -----------------------------------------------------------------------------------------------------

    def go_on(self) -> Status:
        """Until the source ends, or until told to stop."""
        self._say_if_begun_anew()
        if not self._resume():
            return self._status(0.0)
        self._tell_what_was_not_told()
        waiting, torn = records_of(self.opened.first, self.schema, ended=self.lines.ended)
        begun, at_start, shown = clock.monotonic(), self.progress.readings, 0.0
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
            now = clock.monotonic()
            status = self._status((self.progress.readings - at_start) / max(now - begun, 1e-9))
            if now - shown > 0.5:
                shown = now
                if self.watch.status is not None:
                    self.watch.status(status)
            if self.watch.stopped() or (not piece and not torn and self.lines.ended):
                break
            if not piece:
                self.lines.wait(PAUSE)
        self._end()
        return self._status((self.progress.readings - at_start) / max(clock.monotonic() - begun, 1e-9))

    def _usual_batch(self) -> int:
        """How many lines are committed together: fewer where each has many columns, more of many sensors."""
        lines = _tick(len(self.sensors)) if self.schema.series else _BATCH
        return min(lines, max(_MOST_VALUES // len(self.schema.columns), _OF_EACH))

    def _resume(self) -> bool:
        """Bring the sensor of a source that has one only to where it was; False if told to stop on the way."""
        if not self.schema.series:
            self.sensors.listen(
                self.watch.warn, self.watch.rebuilt, self.watch.stopped,
                lambda moment: self.written(moment, self.progress.offset),
            )  # fmt: skip
            for sensor in list(self.sensors.names.values()):
                if self.sensors.monitor(sensor).readings < self.sensors.readings[sensor]:
                    return False
        elif self.sensors.names and not any(self.store.state(one) for one in list(self.sensors.names.values())[:1]):
            self.watch.warn("states are rebuilt from the readings as their sensors send.")
        if self.sensors.plan.rules != self.opened.rules:
            self.sensors.change_rules(self.opened.rules)
        return True

    def _take(self, piece: list[Line]) -> None:
        """Push the readings of some lines and commit what came of it; cut where silence is looked for."""
        while piece:
            before = self.progress
            tick = _tick(len(self.sensors))
            until = before.readings // tick * tick + tick if self.schema.series else None
            taken = self.intake.take(piece, before, until)
            some, piece = piece[: taken.lines], piece[taken.lines :]
            for trouble in taken.troubles:
                self.watch.say(trouble)
            pushed = self.sensors.push(taken.rows)
            progress = taken.progress
            place = progress.place if taken.last is None else self.lines.place_after(taken.last)
            progress = replace(progress, place=place)
            tick = _tick(len(self.sensors))  # there may be more by now, and never fewer
            if self.schema.series and progress.readings // tick > before.readings // tick:
                pushed = pushed.and_then(self.sensors.tick(progress.time or 0.0, some[-1].number))
            self._commit(pushed, progress, taken.troubles)
            if taken.last is not None:
                self.lines.acknowledge(taken.last)
            if taken.refused is not None:
                place = taken.refused.place._replace(source=self.watch._name)
                raise WatchError(word(taken.refused._replace(place=place), strict=True))

    def _commit(self, pushed: Pushed, progress: Progress, troubles: Sequence[Trouble] = ()) -> None:
        for one in pushed.channels:
            self._channels[one.channel] = one
        for one in pushed.sensors:
            self._sensor_names[one.sensor] = one.name
        self.incidents.columns = max(len(self._channels), 1)
        alarms, events, told = self.incidents.take(pushed.facts, progress.offset)
        sensors = list({one.sensor: one for one in pushed.sensors}.values())
        states = list({one.sensor: one for one in pushed.states}.values())
        batch = Batch(progress, pushed.kept, alarms, events, troubles, sensors, pushed.channels, states)
        self.watch.until_written(lambda: self.store.commit(batch, self.settings.keep))
        self.progress = progress
        leads = [one.what for one in told if isinstance(one.what, Alarm)]
        self.alarms += len(leads)
        self.last_alarm = leads[-1].time if leads else self.last_alarm
        self._tell_readings(batch)
        self._pending += told
        self._tell(progress.time if self.schema.series else None)

    def _look_for_silence(self) -> None:
        """While a source is followed, by the wall clock, too: it goes on from the last reading."""
        moment = clock.monotonic()
        if self.progress.time is None or moment - self._looked < _TICK_SECONDS:
            return
        self._looked = moment
        now = self.progress.time + (moment - self._arrived if self.schema.dates else 0.0)
        if any(now > due for due in self.sensors.due.values()):
            self._commit(self.sensors.tick(now, 0), self.progress)

    def _do_what_was_asked(self) -> None:
        for number, request in self.store.requests():
            outcome = apply_request(self.store, number, request)
            self.watch.warn(f"as was asked: {outcome}.")
            self.incidents.mutes = self.store.mutes()
            known = {event.id: event for event in self.store.open_events()}
            for event in self.incidents.open.values():
                if event.id in known:
                    event.acknowledged = known[event.id].acknowledged
            rules = rules_from(self.store.settings)
            if rules != self.sensors.plan.rules:
                self.sensors.change_rules(rules)

    def _end(self) -> None:
        """What is left to be said and done, and the states, at the end of the source."""
        self._do_what_was_asked()
        self._tell()
        if self.lines.torn is not None:
            text = f"line {self.lines.torn} of {self.watch._name} has no end yet, so it may be half written: it is left"
            self.watch.warn(f"{text} for the next run (if it is whole, end it with a newline).")
        for name, one in self.sensors.clocks.items():
            if one.held is not None:
                line, moment, _, offset = one.held
                last, usual = one.time or 0.0, self.sensors.usual.get(name) or self.opened.hint
                more = ((moment - last) / usual, self.written(last, offset))
                held = Trouble("held", Place(line=line), self.written(moment, offset), more=more)
                self.watch.warn(word(held, stream=True))
        for states in self.sensors.final_states():
            batch = Batch(self.progress, states=states)
            self.watch.until_written(lambda batch=batch: self.store.commit(batch, self.settings.keep))
        self.store.demand_there()

    def _status(self, per_second: float) -> Status:
        progress, dates = self.progress, self.schema.dates
        behind = clock.time() - progress.time if dates and progress.time is not None else None
        return Status(
            progress.readings, self.alarms, progress.late, progress.left_out, per_second, progress.time, dates,
            behind if self.settings.follow else None, self.last_alarm, progress.offset, len(self.sensors),
            len(self.incidents.open),
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
            self.watch.tell(
                json.dumps({"reading": one._asdict() | {"column": self.label(one.channel)[0], "time": when}})
            )

    def _tell_what_was_not_told(self) -> None:
        alarms = self.store.untold()
        for lead in (one for one in alarms if one.lead == one.id and one.told == 0):
            group = [one for one in alarms if one.lead == lead.id and one.told != 2]
            self._pending.append(Told(lead, sorted(group, key=lambda one: one.id != lead.id)))
        self._pending += [Told(one) for one in self.store.untold_ends()]
        self._tell()

    def _tell(self, now: float | None = None) -> None:
        """Tell alarms and ends of events; each once, and again only after a crash between telling and noting it.

        With `now`, only what is before it: until then, other sensors may still join an alarm.
        """
        count = len(self._pending)
        if now is not None:
            open_since = (
                k for k, one in enumerate(self._pending) if isinstance(one.what, Alarm) and one.what.time >= now
            )
            count = next(open_since, count)
        told, self._pending = self._pending[:count], self._pending[count:]
        lines, leads, ended = [], [], []
        for one in told:
            what = one.what
            if what.told:
                continue
            if isinstance(what, Alarm):
                group = self.incidents.group_of(what) or one.group
                lines.append({"alarm": told_alarm(group[0], group, self.label, self.written)})
                leads.append(what)
            else:
                lines.append({"end": told_end(what, self.label, self.written, self.progress.offset)})
                ended.append(what)
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
