"""What was found, why, and a picture of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hippozoo._internal.immutable import Immutable
from hippozoo.memory import Memory
from hippozoo.suggestion.measure import Question, power_below
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale import MultiscaleMemory, smallest_memory

__all__ = ["Suggestion", "Trial"]


@dataclass(frozen=True)
class Trial:
    """A memory that was tried: its system, and its rms error in units of the signal's standard deviation.

    >>> from hippozoo.systems import LegT
    >>> Trial(LegT(order=8, timescale=2.0), error=0.05).system.order
    8
    """

    system: HippoSystem
    error: float


@dataclass(frozen=True, eq=False)
class Suggestion(Immutable):
    """A memory for a signal, with what was tried on the way.

    >>> from hippozoo import suggest
    >>> found = suggest(np.sin(np.arange(3000) / 10), horizon=100.0, budget=24)
    >>> found.system.order <= 24, found.report().splitlines()[0].startswith("Take")
    (True, True)
    """

    system: HippoSystem  # with order and timescale
    error: float  # rms, in units of the signal's standard deviation
    met: bool  # whether that is as accurate as was asked
    wanted: float | None  # the error that was allowed, and how many numbers there may be
    budget: int | None
    question: Question  # signal, horizon, and how much each lag counts
    trials: tuple[Trial, ...]  # every memory that was tried

    @property
    def memory(self) -> Memory:
        """The memory, ready to run."""
        return Memory(self.system, dt=self.question.dt)

    def over_horizons(self, longest: float, excess: float = 0.05) -> MultiscaleMemory:
        """One memory for all horizons from this one to `longest`, each about as accurate for its own scale.

        The smallest bank whose errors are at most `excess` above those of plain memories of the suggested order
        (`hippozoo.zoo.multiscale.smallest_memory`).
        """
        return smallest_memory(replace(self.system, timescale=self.question.horizon), longest, excess, self.question.dt)

    def report(self) -> str:
        """The answer and its reasons, in sentences."""
        question, kinds = self.question, dict.fromkeys(type(one.system) for one in self.trials)
        samples = question.horizon / question.dt
        lines = [
            f"Take {self.system!r}: {self.system.order} numbers for the last {question.horizon:g} "
            f"({samples:.0f} samples).",
            f"Its rms error is {self.error:.3g} of the signal's standard deviation, measured on the signal.",
        ]
        if self.wanted is not None and not self.met:
            lines.append(
                f"That is more than the {self.wanted:g} that was asked for: the signal is too fine for "
                f"{self.budget or 256} numbers. Ask for a shorter horizon, smooth the signal, or allow more."
            )
        frequency, share = power_below(question.signal, question.dt)
        fine = float(frequency[min(np.searchsorted(share, 0.95), len(frequency) - 1)])
        lines.append(
            f"95 % of the signal's variance lies below {fine:.3g} cycles per unit of time: "
            f"{fine * question.horizon:.1f} waves in the horizon. A window needs about three numbers for each."
        )
        others = [self._smallest(kind) for kind in kinds if kind is not type(self.system)]
        if others:
            lines.append(f"The others: {', '.join(others)}.")
        return "\n".join(lines)

    def _smallest(self, kind: type[HippoSystem]) -> str:
        """The smallest order of a kind that is accurate enough, or its best error: "Leg-S needs 12"."""
        name = f"{kind.__name__[:3]}-{kind.__name__[3:]}"
        mine = [one for one in self.trials if type(one.system) is kind]
        good = [one.system.order for one in mine if self.wanted is not None and one.error <= self.wanted]
        best = min(mine, key=lambda one: one.error)
        return f"{name} needs {min(good)}" if good else f"{name} {best.error:.2g} with {best.system.order}"

    def plot(self, axes: Any = None) -> Any:
        """Why: errors by order for each system, the error at each lag, and where the signal's variance lies.

        Draws on three `axes`, new ones by default, and returns them.
        """
        from hippozoo.suggestion.plots import plot_suggestion

        return plot_suggestion(self, axes)
