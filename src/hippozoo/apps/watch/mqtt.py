"""MQTT: the messages of a topic as lines to be read, and alarms that are published.

A message is acknowledged once what came of it is committed, in a session that the broker keeps: what was sent while the
watch was down, or was not committed, comes again.
"""

from __future__ import annotations

import hashlib
import json
import math
import socket
import ssl
import threading
import time as clock
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hippozoo._internal.extras import needs
from hippozoo.apps.watch.lines import Lines, Place
from hippozoo.apps.watch.outbox import UndeliveredError
from hippozoo.apps.watch.problem import WatchError, read_secret
from hippozoo.tables.records import LONGEST, Line

__all__ = ["Broker", "MqttAlarms", "MqttLines", "client_name", "read_credentials"]

_TIMEOUT = 10.0
_LONGEST_PAUSE = 60  # seconds between two tries to connect
# Messages that wait for the watch; then the broker waits. And those that are remembered in case they come again.
_MOST_WAITING, _REMEMBERED = 10_000, 10_000
_PIECE = 2000
_CLOCKS = ("time", "timestamp", "ts", "date", "datetime")


class Broker(NamedTuple):
    """A topic of a broker.

    Examples
    --------
    >>> Broker.parse("mqtt://plant.example/pumps/+/flow")
    Broker(secure=False, host='plant.example', port=1883, topic='pumps/+/flow')
    """

    secure: bool
    host: str
    port: int
    topic: str

    @classmethod
    def parse(cls, url: str, *, publish: bool = False) -> Broker:
        """From ``mqtt://host:port/topic``, or ``mqtts://`` for TLS; a topic to publish to has no wildcards."""
        scheme, _, rest = url.partition("://")
        place, _, topic = rest.partition("/")
        if "@" in place:
            raise WatchError("an MQTT URL holds no user and password, since it is kept; pass --mqtt-credentials FILE.")
        try:
            parts = urlsplit(f"//{place}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if scheme not in ("mqtt", "mqtts") or not host or not topic:
            raise WatchError(f"{url!r}: pass mqtt://host/topic or mqtts://host:port/topic.")
        levels = topic.split("/")
        wild = any("+" in one or "#" in one for one in levels)
        amiss = any(("+" in one or "#" in one) and len(one) > 1 for one in levels) or "#" in levels[:-1]
        if amiss or (publish and wild) or "\x00" in topic or len(topic.encode()) > 65_535:
            what = "a topic to publish to has no wildcards" if publish and wild else "no topic looks like this"
            raise WatchError(f"{url!r}: {what}; a level is a name, or + in a subscription, and the last one may be #.")
        return cls(scheme == "mqtts", host, port or (8883 if scheme == "mqtts" else 1883), topic)

    @property
    def where(self) -> str:
        """The broker, for people."""
        return f"mqtt{'s' * self.secure}://{self.host}:{self.port}"

    @property
    def is_wild(self) -> bool:
        """Whether it is many topics."""
        return "+" in self.topic.split("/") or self.topic.endswith("#")


def read_credentials(file: Path | None) -> tuple[str, str] | None:
    """User and password from a file that holds ``user:password``."""
    if file is None:
        return None
    user, mark, password = read_secret(file, "--mqtt-credentials").partition(":")
    if not mark or not user:
        raise WatchError(f"{file}, the file of --mqtt-credentials, should hold one line: user:password.")
    return user, password


def _make_client(broker: Broker, name: str, credentials: tuple[str, str] | None, **settings: Any) -> Any:
    """A client that is not connected; always the same name, by which the broker knows its session."""
    needs("paho.mqtt", extra="mqtt", feature="watch --mqtt")
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2, name, **settings)
    client.reconnect_delay_set(1, _LONGEST_PAUSE)
    client.connect_timeout = _TIMEOUT
    if credentials is not None:
        client.username_pw_set(*credentials)
    if broker.secure:
        client.tls_set_context(ssl.create_default_context())
    return client


def client_name(out: Path, what: str) -> str:
    """Which client of a broker a watch is: that of its database, on this machine."""
    return f"hippozoo-{hashlib.sha256(f'{socket.gethostname()}:{out.absolute()}'.encode()).hexdigest()[:12]}-{what}"


class MqttAlarms:
    """A recipient of an outbox: publishes alarms to a topic, at least once (QoS 1)."""

    kind = "mqtt"

    def __init__(self, broker: Broker, name: str, credentials: tuple[str, str] | None = None) -> None:
        needs("paho.mqtt", extra="mqtt", feature="watch --mqtt-alarms")  # said here, and not by a thread
        self.broker, self.where = broker, broker.where
        self._make = lambda: _make_client(broker, name, credentials)
        self._connected: Any = None

    def encode(self, line: dict[str, Any]) -> str:
        """The payload."""
        return json.dumps(line)

    def deliver(self, key: str, body: str) -> None:
        """Publish it, and wait for the broker's answer."""
        why = f"no answer in {_TIMEOUT:g} seconds"
        try:
            if self._connected is None:
                self._connected = self._connect()
            sent = self._connected.publish(self.broker.topic, body, qos=1)
            sent.wait_for_publish(_TIMEOUT)
            if sent.is_published():
                return
        except (OSError, ValueError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
        self.close()
        raise UndeliveredError(why)

    def _connect(self) -> Any:
        client, answer = self._make(), threading.Event()
        refused: list[str] = []

        def on_connect(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            refused.extend([str(reason)] if reason.is_failure else [])
            answer.set()

        client.on_connect = on_connect
        client.connect(self.broker.host, self.broker.port, keepalive=60)
        client.loop_start()
        if answer.wait(_TIMEOUT) and not refused:
            return client
        client.loop_stop()
        raise UndeliveredError(f"the broker refuses the connection ({refused[0]})" if refused else "it does not answer")

    def close(self) -> None:
        """Let the connection go; what is not published is published again by another one."""
        client, self._connected = self._connected, None
        if client is not None:
            client.disconnect()
            client.loop_stop()


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
        self._client = _make_client(broker, name, credentials, clean_session=False, manual_ack=True)
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
        content = _read_object(message.payload, self._column)
        if content is None:  # as it is, for the trouble that it makes
            text = " ".join(message.payload.decode("utf-8", errors="replace").split())
        else:
            if not any(name in content for name in self._clocks):
                arrived = datetime.fromtimestamp(message.arrived, UTC).isoformat(timespec="microseconds")
                content = {"time": arrived} | content
            text = json.dumps(content | {"topic": message.topic} if self.broker.is_wild else content)
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
            content = _read_object(found.payload, self._column) if message.retain else None
            if message.retain and not any(name in (content or ()) for name in self._clocks):
                client.ack(found.mid, found.qos)
                return
            self._news.wait_for(lambda: len(self._inbox) < _MOST_WAITING or not self._is_open)
            self._inbox.append(found)
            self._news.notify_all()


def _read_object(payload: bytes, column: str) -> dict[str, Any] | None:
    """What a payload holds: a JSON object, or a number under the name of a column; None if it is neither."""
    text = payload.decode("utf-8", errors="replace")
    try:
        number = float(text)
        return {column: number if math.isfinite(number) else None}
    except ValueError:
        pass
    try:
        content = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
