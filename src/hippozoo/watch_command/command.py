"""The command's own work: lines on standard output, a status line and sentences on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hippozoo.watch_command.run import Settings, Status, Watch

__all__ = ["run_watch", "status_line"]


def run_watch(settings: Settings, out: Path, *, all_readings: bool, complain: Callable[[str], Any]) -> None:
    """Watch until the end of the source or a signal; say at the end what came of it."""
    from rich.console import Console

    console = Console(stderr=True)
    shown = console.status("starting") if console.is_terminal else None

    def tell(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def show(status: Status) -> None:
        if shown is not None:
            shown.update(status_line(status))

    watch = Watch(settings, out, tell, complain, all_readings=all_readings, status=show)
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
    >>> status_line(Status(12_000, 3, 1, 0, per_second=2500.0, time=86400.0, dates=True))
    '12,000 readings up to 1970-01-02 00:00:00, 2,500 a second, 3 alarms, 1 late'
    """
    upto = ""
    if status.time is not None:
        when = f"{datetime.fromtimestamp(status.time, UTC):%Y-%m-%d %H:%M:%S}" if status.dates else f"{status.time:g}"
        upto = f" up to {when}"
    parts = [f"{status.readings:,} readings{upto}", f"{status.per_second:,.0f} a second", f"{status.alarms:,} alarms"]
    parts += [f"{status.late:,} late"] if status.late else []
    parts += [f"{status.left_out:,} left out"] if status.left_out else []
    return ", ".join(parts)
