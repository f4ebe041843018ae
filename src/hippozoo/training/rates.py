"""Choosing the learning rate on validation loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hippozoo._internal.arguments import positive_number
from hippozoo.training.trained import Trained

__all__ = ["RateChoice", "best_rate", "choose_rate"]


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


@dataclass(frozen=True)
class RateChoice:
    """The rate that was chosen, and how each rate did.

    Parameters
    ----------
    rate
        The chosen one.
    runs
        What every rate led to.
    """

    rate: float
    runs: dict[float, Trained]


def choose_rate(train_at: Callable[[float], Trained], rates: Iterable[float]) -> RateChoice:
    """Train once at every rate, and choose by the best validation loss. Never by anything measured on test data.

    In an experiment make each rate a unit of its own and call `best_rate` in ``more_units`` instead: units resume.

    Parameters
    ----------
    train_at
        Makes a fresh model (inside `seeded`) and trains it at the rate it is given.
    rates
        The rates to try.

    Examples
    --------
    >>> def train_at(rate):
    ...     return Trained("steps", 10, 10, best_loss=(rate - 0.01) ** 2, looks=(), seconds=0.0)
    >>> choose_rate(train_at, [0.001, 0.01, 0.1]).rate
    0.01
    """
    runs = {rate: train_at(rate) for rate in [positive_number("rates", rate) for rate in rates]}
    return RateChoice(best_rate({rate: run.best_loss for rate, run in runs.items()}), runs)
