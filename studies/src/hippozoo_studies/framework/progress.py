"""Telling a person how far a run is, on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from hippozoo_studies.framework.duration import duration_text


def unit_text(unit: dict[str, Any]) -> str:
    """A unit's key in one line.

    Examples
    --------
    >>> unit_text({"model": "lstm", "seed": 0})
    'model=lstm seed=0'
    """
    return " ".join(f"{name}={value}" for name, value in unit.items())


class Silence:
    """Progress for callers that want none; also the list of what there is to be told."""

    def start(self, name: str, total: int, done: int) -> None:
        """An experiment begins; `done` of its units are there already."""

    def working(self, unit: dict[str, Any], fraction: float, text: str) -> None:
        """A unit is under way."""

    def finished(self, unit: dict[str, Any], seconds: float) -> None:
        """A unit has been written down."""

    def grow(self, total: int, found: int = 0) -> None:
        """More units turned out to be needed; `found` of them are there already."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def stop(self) -> None:
        """The experiment has ended, in whatever way."""


class Terminal(Silence):
    """A bar with the time left on a terminal, one line per finished unit elsewhere.

    Parameters
    ----------
    console
        Where to write; stderr, so that stdout stays clean.
    clock
        Seconds, as in `time.monotonic`.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console or Console(stderr=True)
        self.clock = clock
        self.bar: Progress | None = None
        self.name = ""  # until something begins

    def start(self, name: str, total: int, done: int) -> None:
        """Show the bar, or remember what the lines need."""
        self.name, self.total, self.done, self.before = name, total, done, done
        self.started = self.last_line = self.clock()
        self.ends: float | None = None
        self.fractions: dict[str, float] = {}
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[count]}"),
                _TimeLeft(self),
                TextColumn("[dim]{task.fields[doing]}"),
                console=self.console,
                transient=True,
            )
            self.task = self.bar.add_task(name, total=total, completed=done, count="", doing="")
            self.bar.start()
        self._show("")

    def working(self, unit: dict[str, Any], fraction: float, text: str) -> None:
        """Move the bar by a part of a unit."""
        self.fractions[unit_text(unit)] = min(max(fraction, 0.0), 1.0)
        self._show(f"{unit_text(unit)} {text}".strip())

    def finished(self, unit: dict[str, Any], seconds: float) -> None:
        """Count one more unit."""
        self.fractions.pop(unit_text(unit), None)
        self.done += 1
        self._show("")
        if self.bar is None and unit:
            took = f"{unit_text(unit)} took {duration_text(seconds)}"
            self._line(f"{self._count()}{self.left(', {} left')}; {took}")

    def grow(self, total: int, found: int = 0) -> None:
        """Make the bar longer; what is there already took no time of this run."""
        self.total = total
        self.done += found
        self.before += found
        self._show("")

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._line(text)

    def stop(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _amount(self) -> float:
        return float(self.done + sum(self.fractions.values()))

    def _count(self) -> str:
        return f"{self.done} of {self.total} units" if self.total > 1 else f"{100 * self._amount():.0f} %"

    def _estimate(self) -> None:
        """When the last unit will end, if the rest takes as long for its part as what was done until now."""
        amount, now = self._amount(), self.clock()
        new = amount - self.before
        self.ends = now + (now - self.started) * (self.total - amount) / new if new > 0 else None

    def left(self, form: str = "{} left") -> str:
        """The time left; it runs down between two pieces of news."""
        if self.ends is None or self.done == self.total:
            return ""
        return form.format(duration_text(max(self.ends - self.clock(), 0.0)))

    def _show(self, doing: str) -> None:
        self._estimate()
        if self.bar is not None:
            self.bar.update(
                self.task,
                total=self.total,
                completed=self._amount(),
                count=self._count(),
                doing=doing,
            )
        elif doing and self.clock() - self.last_line > 30:
            self._line(f"{self._count()}{self.left(', {} left')}; {doing}")

    def _line(self, text: str) -> None:
        self.last_line = self.clock()
        self.console.print(f"{self.name}: {text}" if self.name else text, markup=False, highlight=False, soft_wrap=True)


class _TimeLeft(ProgressColumn):
    """Asks at every refresh of the bar, so that it runs down also within a long unit."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal

    def render(self, task: Task) -> Text:
        return Text(self.terminal.left())
