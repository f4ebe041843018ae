"""The mean of all values so far, winsorised; the cleaner keeps it, since a long gap ends there too."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import mean_of
from hippozoo.ensemble.known import Known

__all__ = ["forecast", "lag_weights", "names"]


def names(known: Known) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("mean",)


@compiled(inner=True, inline="always")
@no_type_check
def forecast(own, past, maps, plan, work, at):
    """The mean at every lead."""
    mean = mean_of(past.cleaner[0])
    for k in range(plan.horizon):
        work.forecasts[at, k] = mean
    return at + 1


def lag_weights(known: Known, channel: int, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    lags, cleaner = np.arange(count), known.channel(channel).cleaner[0]
    return [np.where(lags < cleaner["age"], known.plan.keep**lags / max(cleaner["count"], 1.0), 0.0)]
