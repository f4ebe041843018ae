"""What a training run is going to do: everything that decides its outcome besides model, data and loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hippozoo._internal.arguments import one_of, positive_number, whole_number

__all__ = ["Plan", "Schedule", "best_rate"]

Schedule = Literal["constant", "linear", "cosine"]


@dataclass(frozen=True)
class Plan:
    """How long, how fast, when to look at validation data, when to stop.

    Parameters
    ----------
    steps
        Most gradient steps that are taken.
    rate
        Learning rate, after the warm-up and before any decay.
    seed
        Of the data (`batch` gets a generator of its own for every step) and of whatever is random inside the model.
    weight_decay
        Of AdamW.
    clip
        Largest norm of the gradient of all parameters together; None leaves it as it is.
    warm_up
        Steps over which the rate rises from near zero.
    schedule
        What the rate does after the warm-up: ``"constant"``, or ``"linear"`` or ``"cosine"`` down to zero at `steps`.
    validate_every
        Steps from one look at the validation loss to the next; there is always one after the last step.
    patience
        Stop after this many looks in a row without a smaller validation loss; None never does.
    stop_at
        Stop as soon as the validation loss is at or below this.

    Examples
    --------
    >>> plan = Plan(steps=1000, rate=1e-3, warm_up=100, schedule="linear")
    >>> [round(plan.rate_at(step), 6) for step in (0, 99, 550, 999)]
    [1e-05, 0.001, 0.0005, 1e-06]
    """

    steps: int
    rate: float = 1e-3
    seed: int = 0
    weight_decay: float = 1e-4
    clip: float | None = 1.0
    warm_up: int = 0
    schedule: Schedule = "constant"
    validate_every: int = 250
    patience: int | None = None
    stop_at: float | None = None

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)
        positive_number("rate", self.rate)
        whole_number("seed", self.seed, minimum=0)
        if not (self.weight_decay >= 0 and math.isfinite(self.weight_decay)):
            raise ValueError(f"weight_decay={self.weight_decay}; pass a finite number >= 0.")
        if self.clip is not None:
            positive_number("clip", self.clip, why="it is the largest norm of a gradient; None for no limit")
        whole_number("warm_up", self.warm_up, minimum=0)
        one_of("schedule", self.schedule, get_args(Schedule))
        whole_number("validate_every", self.validate_every)
        if self.patience is not None:
            whole_number("patience", self.patience)
        if self.stop_at is not None and math.isnan(self.stop_at):
            raise ValueError(f"stop_at={self.stop_at}; pass a number, or None not to stop before the end.")

    def rate_at(self, step: int) -> float:
        """The learning rate of one step, counted from 0."""
        rising = min(1.0, (step + 1) / self.warm_up) if self.warm_up else 1.0
        done = max(0, step - self.warm_up) / max(1, self.steps - self.warm_up)
        falling = {"constant": 1.0, "linear": 1.0 - done, "cosine": (1.0 + math.cos(math.pi * done)) / 2}
        return self.rate * rising * falling[self.schedule]


def best_rate(validation: Mapping[float, float | None]) -> float:
    """The rate with the smallest validation loss; None, NaN and infinity stand for runs that diverged.

    Of equal losses the larger rate wins: it came there with room to spare, and is usually the faster one.

    Examples
    --------
    >>> best_rate({1e-3: 0.5, 3e-3: 0.2, 1e-2: None})
    0.003
    """
    if not validation:
        raise ValueError("no learning rates were given; pass at least one, such as {1e-3: 0.5}.")
    usable = {rate: loss for rate, loss in validation.items() if loss is not None and math.isfinite(loss)}
    if not usable:
        raise ValueError(f"every run diverged, at rates {sorted(validation)}; try smaller ones.")
    return min(usable, key=lambda rate: (usable[rate], -rate))
