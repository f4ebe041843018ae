"""MQTT brokers: their addresses, clients, and alarms that are published."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import threading
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hippozoo._internal.extras import needs
from hippozoo.apps.watch.outbox import UndeliveredError
from hippozoo.apps.watch.problem import WatchError

__all__ = ["Broker", "MqttAlarms", "client_name", "make_client", "read_credentials"]

_TIMEOUT = 10.0
_LONGEST_PAUSE = 60  # seconds between two tries to connect


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
    try:
        user, mark, password = file.read_text(encoding="utf-8").strip().partition(":")
    except (OSError, UnicodeDecodeError) as error:
        raise WatchError(f"{file}, the file of --mqtt-credentials, cannot be read: {error}.") from None
    if not mark or not user:
        raise WatchError(f"{file}, the file of --mqtt-credentials, should hold one line: user:password.")
    return user, password


def make_client(broker: Broker, name: str, credentials: tuple[str, str] | None, **settings: Any) -> Any:
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
        self._make = lambda: make_client(broker, name, credentials)
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
