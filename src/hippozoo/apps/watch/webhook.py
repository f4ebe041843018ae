"""A web hook: each alarm is posted to an address, and the address, which may hold a secret, is never shown."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hippozoo.apps.watch.outbox import UndeliveredError
from hippozoo.apps.watch.problem import WatchError, read_secret

__all__ = ["FORMS", "Webhook"]

_TIMEOUT = 10.0  # seconds, for all of a delivery
# The recipient has understood, and does not want it: the same would be refused again.
_REFUSALS = frozenset({400, 406, 413, 415, 422})
_MARKS = {"minor": "⚠️", "major": "🟠", "critical": "🔴"}


def _as_slack(line: dict[str, Any]) -> dict[str, Any]:
    """A text for people; also what Mattermost and Rocket.Chat take."""
    told = line.get("alarm") or line["end"]
    text = str(told["sentence"])
    for mark, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(mark, escaped)
    mark = _MARKS.get(told["severity"], "⚠️") if "alarm" in line else "✅"
    number = f" (alarm {told['id']})" if "alarm" in line else ""
    return {"text": f"{mark} {text}{number}"}


#: What is posted of an alarm: all of it, or a text.
FORMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"json": dict, "slack": _as_slack}


class Webhook:
    """Posts alarms to a URL, or to that in ``@FILE``: TLS is verified, redirects are not followed.

    Examples
    --------
    >>> Webhook("https://hooks.example.com/services/T0/B0/secret", "slack").where
    'https://hooks.example.com'
    """

    kind = "webhook"

    def __init__(self, url: str, form: str = "json") -> None:
        if form not in FORMS:
            raise WatchError(f"--webhook-form {form} is unknown; pass {' or '.join(FORMS)}.")
        self._encode = FORMS[form]
        if url.startswith("@"):
            url = read_secret(Path(url[1:]), "--webhook")
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname or ""
            host.encode("idna")
        except (ValueError, UnicodeError):
            parts, port, host = urlsplit(""), None, ""
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if parts.scheme not in ("http", "https") or not host or not target.isascii() or not target.isprintable():
            raise WatchError("--webhook: pass a URL such as https://host/path, or @FILE with a file that holds one.")
        self._secure, self._host, self._port = parts.scheme == "https", host, port
        self._target = target.replace(" ", "%20")
        shown = f"[{host}]" if ":" in host else host
        self.where = f"{parts.scheme}://{shown}{'' if port is None else f':{port}'}"
        self._headers = {"Content-Type": "application/json", "User-Agent": "hippozoo"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"

    def encode(self, line: dict[str, Any]) -> str:
        """The body."""
        return json.dumps(self._encode(line), ensure_ascii=False)

    def deliver(self, key: str, body: str) -> None:
        """Post it; anything but an answer of 2xx within ten seconds is a failure."""
        if self._secure:
            connection: HTTPConnection = HTTPSConnection(
                self._host, self._port, timeout=_TIMEOUT, context=ssl.create_default_context()
            )
        else:
            connection = HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        # A time-out of the connection is one of each piece: somebody who sends a byte at a time would never reach it.
        late = threading.Event()
        alarm = threading.Timer(_TIMEOUT, _cut, [late, connection])
        alarm.daemon = True
        alarm.start()
        try:
            connection.connect()
            alarm.args = [late, connection.sock]  # the connection lets it go with the answer
            connection.request("POST", self._target, body.encode(), self._headers | {"Idempotency-Key": key})
            response = connection.getresponse()
            response.read(1024)
            if late.is_set():  # what was read may be half of an answer
                raise TimeoutError
        except (OSError, HTTPException) as error:
            raise UndeliveredError(_reason(error)) from None
        finally:
            alarm.cancel()
            connection.close()
        if 200 <= response.status < 300:
            return
        if 300 <= response.status < 400:
            raise UndeliveredError(f"it answered {response.status}, and redirects are not followed")
        pause = response.getheader("Retry-After", "")
        raise UndeliveredError(
            f"it answered {response.status}",
            pause=float(pause) if pause.isdecimal() else None,
            refused=response.status in _REFUSALS,
        )

    def close(self) -> None:
        """Every delivery has a connection of its own."""


def _cut(late: threading.Event, found: Any) -> None:
    late.set()
    sock = found if isinstance(found, socket.socket) else found.sock
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    """Why, in words that cannot hold the address."""
    if isinstance(error, TimeoutError):
        return f"no answer in {_TIMEOUT:g} seconds"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
