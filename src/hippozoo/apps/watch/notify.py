"""Signs of life for systemd: ready, and still at work, from the loop that does the work."""

from __future__ import annotations

import os
import socket
import time as clock
from collections.abc import Callable

__all__ = ["heartbeat"]


def heartbeat() -> Callable[[], None]:
    """What to call while the work goes on, as often as one likes: tells systemd, if that asks (``Type=notify``).

    Examples
    --------
    >>> beat = heartbeat()
    >>> beat()  # without systemd, nothing
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return lambda: None
    if address.startswith("@"):  # a name that is no file
        address = "\0" + address[1:]
    watchdog = os.environ.get("WATCHDOG_USEC", "")
    every = float(watchdog) / 4e6 if watchdog.isdecimal() else 60.0
    last = -every

    def beat() -> None:
        nonlocal last
        now = clock.monotonic()
        if now - last < every:
            return
        message, last = ("READY=1\nWATCHDOG=1" if last < 0 else "WATCHDOG=1"), now
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.sendto(message.encode(), address)
        except OSError:
            pass  # systemd finds that out by itself

    return beat
