"""The messages of an MQTT topic as lines to be read.

A message is acknowledged once what came of it is committed, in a session that the broker keeps: what was sent while the
watch was down, or was not committed, comes again.
"""

from __future__ import annotations

import json
import math
import threading
import time as clock
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hippozoo.apps.watch.lines import Lines, Place
from hippozoo.apps.watch.mqtt import Broker, make_client
from hippozoo.tables.records import LONGEST, Line

__all__ = ["MqttLines"]

# Messages that wait for the watch; then the broker waits. And those that are remembered in case they come again.
_MOST_WAITING, _REMEMBERED = 10_000, 10_000
_PIECE = 2000
_CLOCKS = ("time", "timestamp", "ts", "date", "datetime")


class _Message(NamedTuple):
    mid: int
    qos: int
    topic: str
    payload: bytes
    arrived: float
    session: int

    @property
    def known_by(self) -> tuple[int, int, str, bytes]:
        return self.session, self.mid, self.topic, self.payload


class MqttLines(Lines):
    """The messages of a topic as JSON lines, in place of `Lines`.

    A payload is a number or a JSON object; where it has no time (`time`, or one of the usual names) it takes that of
    its arrival. With wildcards each line names its topic.
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        place: Place | None,
        credentials: tuple[str, str] | None,
        warn: Callable[[str], Any],
        time: str | None = None,
    ) -> None:
        self.broker, self.warn = broker, warn
        self.source, self.place, self.follow = broker.where, place or Place(), True
        self.ended, self.begun_anew = False, None
        self._clocks = (time,) if time else _CLOCKS
        self._column = "value" if broker.is_wild else broker.topic.rsplit("/", 1)[-1] or "value"
        self._number, self._last, self._session = self.place.number, 0.0, 0
        self._begun = self._number > 0
        self._inbox: deque[_Message] = deque()
        self._news, self._is_open = threading.Condition(), True
        self._taken: dict[int, _Message] = {}  # by line, until it is committed
        self._done: OrderedDict[tuple[int, int, str, bytes], None] = OrderedDict()
        self._said: str | None = None
        self._lost: str | None = None  # what is wrong; "" if nothing is, None before anything is known
        self._client = make_client(broker, name, credentials, clean_session=False, manual_ack=True)
        self._client.on_connect, self._client.on_connect_fail = self._on_connect, self._on_connect_fail
        self._client.on_disconnect, self._client.on_subscribe = self._on_disconnect, self._on_subscribe
        self._client.on_message = self._on_message

    def __enter__(self) -> MqttLines:
        self._client.connect_async(self.broker.host, self.broker.port, keepalive=60)
        self._client.loop_start()
        return self

    def close(self) -> None:
        """Let the connection go; the broker keeps the session."""
        with self._news:
            self._is_open = False
            self._news.notify_all()
        self._client.disconnect()
        self._client.loop_stop()

    # -- what a watch asks of its source ------------------------------------------------------------------------------

    @property
    def torn(self) -> None:
        """Messages come whole."""

    @property
    def sent_again(self) -> int:
        """Nobody knows which messages come again; they are dropped by their time."""
        return 0

    def read(self) -> list[Line]:
        """The messages that have come."""
        self._say()
        some: dict[int, _Message] = {}
        with self._news:
            while self._inbox and len(some) < _PIECE:
                self._number += 1
                some[self._number] = self._taken[self._number] = self._inbox.popleft()
            self._news.notify_all()
        return [line for number, message in some.items() if (line := self._line(number, message)) is not None]

    def wait(self, seconds: float) -> None:
        """Rest until a message has come, for so long at the most."""
        with self._news:
            self._news.wait_for(lambda: self._inbox, seconds)

    def place_after(self, line: Line) -> Place:
        """Where to go on: the broker knows, and lines are counted."""
        return Place(0, line.number)

    def acknowledge(self, line: Line) -> None:
        """What was read up to this line is committed: tell the broker, in the order in which messages came."""
        with self._news:
            done = [self._taken.pop(number) for number in list(self._taken) if number <= line.number]
        for message in done:
            self._settle(message)

    def _settle(self, message: _Message) -> None:
        if not message.qos:
            return
        with self._news:
            self._done[message.known_by] = None
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        # In a session that the broker has forgotten, the number may be that of another message by now.
        if message.session == self._session:
            self._client.ack(message.mid, message.qos)

    def _line(self, number: int, message: _Message) -> Line | None:
        text = _as_line(message, self._column, self._clocks, with_topic=self.broker.is_wild)
        if not self._begun and not text.startswith("{"):
            self.warn(f"a message on {message.topic} is neither a number nor a JSON object; it is left out.")
            with self._news:
                del self._taken[number]
            self._settle(message)
            return None
        self._begun, size = True, len(text)
        return Line(number, text) if size <= LONGEST else Line(number, "", 0, size)

    def _say(self) -> None:
        """What is wrong, once, and once that it is not any more."""
        lost = self._lost
        if lost is None or lost == self._said:
            return
        where = self.broker.where
        self.warn(f"{where}: {lost}; it is tried again." if lost else f"{where}: connected.")
        self._said = lost

    # -- what the thread of the client calls --------------------------------------------------------------------------

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._lost = f"the broker refuses the connection ({reason})"
            return
        if not flags.session_present:
            self._session += 1
        client.subscribe(self.broker.topic, qos=1)

    def _on_subscribe(self, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        refused = any(one.is_failure for one in reasons)
        self._lost = f"the broker refuses a subscription to {self.broker.topic}" if refused else ""

    def _on_connect_fail(self, client: Any, data: Any) -> None:
        self._lost = self._lost or "the broker cannot be reached"

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure and not self._lost:
            self._lost = "the connection to the broker is lost"

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        now = self._last = max(clock.time(), self._last + 1e-6)
        found = _Message(message.mid, message.qos, message.topic, bytes(message.payload), now, self._session)
        with self._news:
            if message.dup and any(found.known_by == one.known_by for one in (*self._taken.values(), *self._inbox)):
                return  # the first one is at work, and is acknowledged by the same number
            if message.dup and found.known_by in self._done:
                client.ack(found.mid, found.qos)
                return
            # What a broker retains was sent at some time before; without its time it says nothing.
            if message.retain and _has_no_time(found.payload, self._clocks):
                client.ack(found.mid, found.qos)
                return
            self._news.wait_for(lambda: len(self._inbox) < _MOST_WAITING or not self._is_open)
            self._inbox.append(found)
            self._news.notify_all()


def _as_line(message: _Message, column: str, clocks: tuple[str, ...], *, with_topic: bool) -> str:
    """A message as a line of JSON; as it is, if it is neither a number nor an object."""
    text = " ".join(message.payload.decode("utf-8", errors="replace").split())
    content = _content(text)
    if isinstance(content, float):
        content = {column: content if math.isfinite(content) else None}
    if not isinstance(content, dict):
        return text
    if not any(name in content for name in clocks):
        content = {"time": datetime.fromtimestamp(message.arrived, UTC).isoformat(timespec="microseconds")} | content
    return json.dumps(content | {"topic": message.topic} if with_topic else content)


def _content(text: str) -> Any:
    """What a payload holds: a number, or JSON; None if it is neither."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return None


def _has_no_time(payload: bytes, clocks: tuple[str, ...]) -> bool:
    content = _content(payload.decode("utf-8", errors="replace"))
    return not isinstance(content, dict) or not any(name in content for name in clocks)
