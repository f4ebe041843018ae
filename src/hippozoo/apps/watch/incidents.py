"""Alarms as events: those of many columns at the same time are one, which is told once, and so is its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hippozoo.apps.watch.records import Alarm, Batch, Event
from hippozoo.apps.watch.sensors import Fact
from hippozoo.apps.watch.store import Store
from hippozoo.monitor import SEVERITIES, Alert, Over, severity_of
from hippozoo.monitor.stream import NO_DATA

__all__ = ["Incidents", "Labels", "Told", "told_alarm", "told_as_one", "told_end"]

# Columns that join within so many usual steps are part of the same event, and are not told by themselves.
_JOIN = 3.0
_MUTED = 2  # in the place of whether an alarm was told
_LISTED = 8


Labels = Mapping[int, tuple[str, str]]
#: An alarm to tell, with those of other columns at the same time, or an event to tell the end of.
Told = list[Alarm] | Event


class Incidents:
    """Puts alarms of columns together to events, going on from what a database holds.

    Parameters
    ----------
    labels
        What each column, and its sensor, is called; columns may come to it.
    text
        How a time is written in sentences, with the offset of its zone.
    step
        The usual step, in the time of the source.
    """

    def __init__(self, store: Store, labels: Labels, text: Callable[..., str], step: float) -> None:
        self.labels, self.text, self.step = labels, text, step
        self.mutes = store.mutes()
        self.next_alarm = store.value("SELECT coalesce(max(id) + 1, 0) FROM alarms")
        self.next_event = store.value("SELECT coalesce(max(id) + 1, 0) FROM events")
        self.open = {event.id: event for event in store.events("ended IS NULL")}
        # Of each open event, its last alarms: those of several columns at one time.
        self._groups = {some[0].event: some for some in store.last_groups() if some[0].event is not None}

    def group_of(self, lead: Alarm) -> list[Alarm]:
        """The alarms that are told as one, as they are by now, the one that leads first; none if that is long ago."""
        return told_as_one(self._groups.get(-1 if lead.event is None else lead.event, []), lead.id)

    def note_told(self, leads: Sequence[Alarm]) -> None:
        """These have been told: what joins them from here on is not told again."""
        told = {one.id for one in leads}
        for group in self._groups.values():
            group[:] = [replace(one, told=one.told or 1) if one.id in told else one for one in group]

    def take(self, facts: Sequence[Fact], batch: Batch) -> list[Told]:
        """What is told of some facts, in order; the alarms and events that they make or change go to a batch."""
        alarms: dict[int, Alarm] = {}
        changed: dict[int, Event] = {}
        grown: dict[int, list[Alarm]] = {}  # by the id of its first alarm
        told: list[tuple[int, Event | None]] = []  # the first alarm of a group, or the event that has ended
        self._groups = {number: group for number, group in self._groups.items() if number in self.open}
        for fact in facts:
            what = fact.what
            if isinstance(what, Over):
                event = self._end(what)
                if event is not None:
                    changed[event.id] = event
                    told += [(-1, event)] if event.ended is not None else []
                continue
            event, joined = self._event(what)
            changed[event.id] = event
            before = event.severity
            alarm = self._alarm(what, event, batch.progress.offset)
            if joined and SEVERITIES.index(alarm.severity) <= SEVERITIES.index(before):
                alarms[alarm.id] = replace(alarm, lead=None, told=alarm.told or 1)
                continue
            group = self._groups.get(event.id)
            if group is None or group[0].time != alarm.time:
                group = self._groups[event.id] = []
            if all(one.told == _MUTED for one in group):
                told.append((group[0].id if group else alarm.id, None))
            group.append(alarm)
            grown[group[0].id] = group
        leads: dict[int, list[Alarm]] = {}
        for number, group in grown.items():
            leads[number] = self._lead(group, changed[group[0].event or 0])
            alarms |= {one.id: one for one in group}
        batch.alarms += [alarms[number] for number in sorted(alarms)]
        batch.events += changed.values()
        return [leads[number] if event is None else event for number, event in told]

    def _event(self, alert: Alert) -> tuple[Event, bool]:
        """The event that an alarm belongs to, and whether its column has joined it after it was told."""
        for event in self.open.values():
            if alert.channel in event.open:
                return event, False
        for event in self.open.values():
            late = alert.time - event.alarmed
            if 0 <= late <= _JOIN * self.step and event.open:
                event.open[alert.channel] = alert.event
                event.channels.append(alert.channel)
                return event, late > 0
        begun = alert.since_time if alert.kind == NO_DATA else alert.time
        event = Event(self.next_event, begun, alert.time, channels=[alert.channel], open={alert.channel: alert.event})
        self.next_event += 1
        self.open[event.id] = event
        return event, False

    def _end(self, over: Over) -> Event | None:
        """An event that has ended in a column; None where it is none that was told."""
        event = next((one for one in self.open.values() if over.channel in one.open), None)
        if event is None:
            return None
        del event.open[over.channel]
        if not event.open:
            event.ended = max(over.time, event.begun)
            long = (event.ended - event.begun) / max(self.step, 1e-300)
            self._raise(event, severity_of(0.0, int(long), len(event.channels), len(self.labels)))
            del self.open[event.id]
        return event

    def _alarm(self, alert: Alert, event: Event, offset: float | None) -> Alarm:
        number, self.next_alarm = self.next_alarm, self.next_alarm + 1
        column, sensor = self.labels[alert.channel]
        muted = self.mutes.get(alert.channel, -math.inf) > alert.time
        known = event.acknowledged is not None and alert.again == "still"
        told_as = _MUTED if muted or known else 0
        sentence, severity = alert.describe(column, lambda moment: self.text(moment, offset), len(self.labels))
        self._raise(event, severity)
        return Alarm(
            number, alert.number, alert.channel, alert.time, alert.p, alert.value, alert.expected, alert.lower,
            alert.upper, alert.explanation, told_as, event.id, number, severity, sentence, alert.again,
            alert.key(sensor), offset,
        )  # fmt: skip

    def _lead(self, group: list[Alarm], event: Event) -> list[Alarm]:
        """Tell alarms of several columns at one time as one: the first that is not muted leads, and lists them.

        Columns may join a group later, and it becomes what it would have been with all of them at once.
        """
        shown = [one for one in group if one.told != _MUTED] or group
        lead = shown[0]
        if lead.told != _MUTED:
            event.told = 0
        elif lead.time == event.alarmed:  # nobody has heard of it, so nobody needs to know that it is over
            event.told = _MUTED
        group[:] = [replace(one, lead=lead.id, told=one.told or int(one.id != lead.id)) for one in group]
        if len(shown) > 1:
            severity = severity_of(0.0, 1, len(shown), len(self.labels))
            severity = max([severity, *(one.severity for one in shown)], key=SEVERITIES.index)
            self._raise(event, severity)
            rarest = min(shown, key=lambda one: (one.p, one.id))
            names = _listed([self.labels[one.channel][0] for one in shown])
            text = f"{len(shown)} columns at once ({names}): {_own_sentence(rarest)}"
            own = lead.explanation | {"own_sentence": _own_sentence(lead)}
            place = next(k for k, one in enumerate(group) if one.id == lead.id)
            group[place] = replace(group[place], severity=severity, sentence=text, explanation=own)
        return told_as_one(group, lead.id)

    @staticmethod
    def _raise(event: Event, severity: str) -> None:
        event.severity = max(event.severity, severity, key=SEVERITIES.index)


def _own_sentence(alarm: Alarm) -> str:
    """What is said of its own column, where it leads others."""
    return alarm.explanation.get("own_sentence", alarm.sentence)


def told_as_one(group: Sequence[Alarm], lead: int) -> list[Alarm]:
    """The alarms of a group that are told as one: the one that leads, and those behind it that are not muted."""
    shown = [one for one in group if one.lead == lead and (one.id == lead or one.told != _MUTED)]
    return sorted(shown, key=lambda one: one.id != lead)


def told_alarm(group: Sequence[Alarm], labels: Labels, written: Any) -> dict[str, Any]:
    """An alarm as it is told on standard output, to a web hook and on pages."""
    lead = group[0]
    column, sensor = labels[lead.channel]
    found: dict[str, Any] = {
        "id": lead.id, "event": lead.event, "column": column, "time": written(lead.time, lead.offset),
    }  # fmt: skip
    for name in ("severity", "sentence", "number", "p", "value", "expected", "lower", "upper", "again", "key"):
        found[name] = getattr(lead, name)
    # Weights are for pictures.
    hidden = ("weights", "own_sentence")
    found["explanation"] = {name: value for name, value in lead.explanation.items() if name not in hidden}
    if sensor:
        found["sensor"] = sensor
    if len(group) > 1:
        found["columns"] = [
            {"column": labels[one.channel][0], "value": one.value, "expected": one.expected, "p": one.p}
            for one in group
        ]
    return found


def told_end(event: Event, labels: Labels, written: Any, offset: float | None) -> dict[str, Any]:
    """The end of an event as it is told."""
    names = [labels[channel][0] for channel in event.channels]
    ended = written(event.ended, offset)
    since = ended if isinstance(ended, str) else f"{ended:g}"
    return {
        "event": event.id,
        "columns": names,
        "begun": written(event.begun, offset),
        "ended": ended,
        "severity": event.severity,
        "sentence": f"{_listed(names)}: back to normal since {since}",
    }


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
