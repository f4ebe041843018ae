"""The command's own work: what it reads and whom it tells, lines on standard output, a status line on stderr."""

from __future__ import annotations

import os
import socket
import sys
import time as clock
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hippozoo.apps.command_line import complain
from hippozoo.apps.watch.run import Settings, Status, Watch
from hippozoo.monitor import write_time

__all__ = ["Elsewhere", "heartbeat", "run_watch", "status_line"]


class Elsewhere(NamedTuple):
    """Where alarms go besides standard output, and where readings come from besides files."""

    webhook: str | None = None
    webhook_form: str = "json"
    textfile: Path | None = None
    mqtt: str | None = None
    mqtt_alarms: str | None = None
    mqtt_credentials: Path | None = None

    def sinks(self, out: Path) -> list[Any]:
        """Who is told of alarms."""
        from hippozoo.apps.watch.outbox import Outbox

        found: list[Any] = []
        if self.textfile is not None:  # the last one to be closed, so that it tells what came of the others
            from hippozoo.apps.watch.metrics import Textfile

            found.append(Textfile(self.textfile))
        if self.webhook is not None:
            from hippozoo.apps.watch.webhook import Webhook

            found.append(Outbox(Webhook(self.webhook, self.webhook_form)))
        if self.mqtt_alarms is not None:
            from hippozoo.apps.watch.mqtt import Broker, MqttAlarms, client_name, read_credentials

            broker = Broker.parse(self.mqtt_alarms, publish=True)
            found.append(
                Outbox(MqttAlarms(broker, client_name(out, "alarms"), read_credentials(self.mqtt_credentials)))
            )
        return found

    def source(
        self, settings: Settings, out: Path, warn: Callable[[str], Any]
    ) -> tuple[Settings, Callable[..., Any] | None]:
        """How to open the source, if it is no file; and the settings that go with it."""
        if self.mqtt is None:
            return settings, None
        from hippozoo.apps.watch.mqtt import Broker, MqttLines, client_name, read_credentials

        broker, credentials = Broker.parse(self.mqtt), read_credentials(self.mqtt_credentials)
        panel = settings.panel or (("topic",) if broker.is_wild else ())
        name = client_name(out, "readings")
        return (
            replace(settings, source=self.mqtt, follow=True, panel=panel),
            lambda place=None: MqttLines(broker, name, place, credentials, warn, settings.time),
        )


def run_watch(settings: Settings, out: Path, elsewhere: Elsewhere, *, all_readings: bool) -> None:
    """Watch until the end of the source or a signal; say at the end what came of it."""
    from rich.console import Console

    console = Console(stderr=True)
    shown = console.status("starting") if console.is_terminal else None
    stdout: Any = sys.stdout  # None where it was closed

    def tell(line: str) -> None:
        stdout.write(line + "\n")
        stdout.flush()

    def show(text: str) -> None:
        if shown is not None:
            shown.update(text)

    settings, source = elsewhere.source(settings, out, complain)
    watch = Watch(
        settings, out, None if stdout is None else tell, complain, all_readings=all_readings,
        status=lambda status: show(status_line(status)),
        rebuilt=lambda done, total: show(f"rebuilding the state: {done:,} of {total:,} readings"),
        sinks=elsewhere.sinks(out), source=source, beat=heartbeat(),
    )  # fmt: skip
    if stdout is None:
        complain(f"standard output is closed; alarms are kept in {out}, and printed by the next run that has one.")
    with shown or nullcontext():
        status = watch.run()
    complain(f"{status_line(status)}; in {out}.")


def status_line(status: Status) -> str:
    """How a watch is doing, in one line.

    Examples
    --------
    >>> known = {"readings": 12_000, "time": 86400.0, "late": 1, "alarms": 3, "dates": True}
    >>> status_line(Status(**known, per_second=2500.0, lag=4.2, last_alarm=3600.0))
    '12,000 readings up to 1970-01-02 00:00 (4 s ago), 2,500 a second, 3 alarms (last 1970-01-01 01:00), 1 late'
    """
    upto = "" if status.time is None else f" up to {_when(status.time, status)}"
    if status.lag is not None:
        upto += f" ({status.lag:,.0f} s ago)"
    last = "" if status.last_alarm is None else f" (last {_when(status.last_alarm, status)})"
    parts = [f"{status.readings:,} readings{upto}", f"{status.per_second:,.0f} a second"]
    parts += [f"{status.alarms:,} alarms{last}"]
    parts += [f"{status.sensors:,} sensors"] if status.sensors > 1 else []
    parts += [f"{status.late:,} late"] if status.late else []
    parts += [f"{status.left_out:,} left out"] if status.left_out else []
    return ", ".join(parts)


def _when(moment: float, status: Status) -> str:
    return write_time(moment, status.offset, dates=status.dates)


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
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(message.encode(), address)

    return beat
