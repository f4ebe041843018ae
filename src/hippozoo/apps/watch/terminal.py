"""The command's own work: lines on standard output, a status line and sentences on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hippozoo.apps.watch.destinations import Destinations
from hippozoo.apps.watch.notify import heartbeat
from hippozoo.apps.watch.run import Settings, Status, Watch
from hippozoo.monitor import write_time

__all__ = ["run_watch", "status_line"]


def run_watch(
    settings: Settings,
    out: Path,
    *,
    all_readings: bool,
    complain: Callable[[str], Any],
    elsewhere: Destinations | None = None,
) -> None:
    """Watch until the end of the source or a signal; say at the end what came of it."""
    from rich.console import Console

    console = Console(stderr=True)
    shown = console.status("starting") if console.is_terminal else None

    stdout: Any = sys.stdout  # None where it was closed

    def tell(line: str) -> None:
        stdout.write(line + "\n")
        stdout.flush()

    def show_rebuilding(done: int, total: int) -> None:
        if shown is not None:
            shown.update(f"rebuilding the state: {done:,} of {total:,} readings")

    def show(status: Status) -> None:
        if shown is not None:
            shown.update(status_line(status))

    elsewhere = elsewhere or Destinations()
    settings, source = elsewhere.source(settings, out, complain)
    watch = Watch(
        settings, out, None if stdout is None else tell, complain, all_readings=all_readings, status=show,
        rebuilt=show_rebuilding, sinks=elsewhere.sinks(out), source=source, beat=heartbeat(),
    )  # fmt: skip
    if stdout is None:
        complain(f"standard output is closed; alarms are kept in {out}, and printed by the next run that has one.")
    if shown is None:
        complain(f"{status_line(watch.run())}; in {out}.")
        return
    with shown:
        status = watch.run()
    complain(f"{status_line(status)}; in {out}.")


def status_line(status: Status) -> str:
    """How a watch is doing, in one line.

    Examples
    --------
    >>> status_line(Status(12_000, 3, 1, 0, per_second=2500.0, time=86400.0, dates=True, lag=4.2, last_alarm=3600.0))
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
