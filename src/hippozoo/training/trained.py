"""What a training run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Look", "Trained"]

Ending = Literal["steps", "patience", "stop_at", "diverged"]


@dataclass(frozen=True)
class Look:
    """One look at the validation data.

    Parameters
    ----------
    step
        Gradient steps taken before it.
    loss
        Mean training loss since the look before.
    validation
        Validation loss; the training loss where there is no validation.
    """

    step: int
    loss: float
    validation: float


@dataclass(frozen=True)
class Trained:
    """How a run went; the model itself has been changed, and holds the weights of `best_step`.

    Parameters
    ----------
    ending
        Why it ended: all ``"steps"`` taken, ``"patience"`` lost, ``"stop_at"`` reached, or ``"diverged"``: a loss or a
        gradient was not finite. The model then has the best weights from before, or those it started with.
    steps
        Gradient steps taken.
    best_step, best_loss
        Where the validation loss was smallest, and what it was; infinite if there was none.
    looks
        All looks at the validation data, in order.
    seconds
        Spent on it, in all sittings.
    state
        What a truncated run carried from chunk to chunk, after the last one.
    """

    ending: Ending
    steps: int
    best_step: int
    best_loss: float
    looks: tuple[Look, ...]
    seconds: float
    state: Any = field(default=None, compare=False, repr=False)
