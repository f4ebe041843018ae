"""How far a run is: loss and time left, a few times a second at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Progress", "report_to"]

OnProgress = Callable[["Progress"], None]
# More often than this nobody can read it.
SECONDS_BETWEEN = 0.25


@dataclass(frozen=True)
class Progress:
    """Where a run is.

    Parameters
    ----------
    step, steps
        Gradient steps taken, and the most that will be.
    loss
        Mean training loss since the last look at the validation data.
    validation
        The last validation loss, if there has been one.
    seconds_left
        If all steps are taken, at the pace of this sitting.

    Examples
    --------
    >>> str(Progress(step=250, steps=1000, loss=0.5, validation=0.25, seconds_left=75.0))
    'step 250 of 1000, loss 0.5, validation 0.25, 75 s left'
    """

    step: int
    steps: int
    loss: float
    validation: float | None
    seconds_left: float

    @property
    def fraction(self) -> float:
        """How much is done, 0 to 1."""
        return self.step / self.steps

    def __str__(self) -> str:
        validation = "" if self.validation is None else f", validation {self.validation:.4g}"
        text = f"step {self.step} of {self.steps}, loss {self.loss:.4g}{validation}"
        return f"{text}, {self.seconds_left:.0f} s left"


def report_to(progress: Callable[..., Any], begin: float = 0.0, end: float = 1.0) -> OnProgress:
    """Tell an experiment's ``context.progress(fraction, text)``; `begin` and `end` say which part of the unit this is.

    Examples
    --------
    >>> tell = report_to(lambda fraction, text: print(fraction, text), begin=0.5)
    >>> tell(Progress(step=5, steps=10, loss=0.1, validation=None, seconds_left=2.0))
    0.75 step 5 of 10, loss 0.1, 2 s left
    """
    return lambda now: progress(begin + (end - begin) * now.fraction, str(now))


class Pace:
    """Calls back now and then, with the time left at the pace so far."""

    def __init__(self, on_progress: OnProgress | None, first_step: int, steps: int) -> None:
        self.on_progress = on_progress
        self.first_step, self.steps = first_step, steps
        self.started = time.monotonic()
        self.last = 0.0

    def tell(self, step: int, loss: Callable[[], float], validation: float | None) -> None:
        """`step` steps have been taken; the loss is asked for only if somebody is told."""
        now = time.monotonic()
        if self.on_progress is None or (now - self.last < SECONDS_BETWEEN and step < self.steps):
            return
        self.last = now
        left = (now - self.started) / max(1, step - self.first_step) * (self.steps - step)
        self.on_progress(Progress(step, self.steps, loss(), validation, left))
