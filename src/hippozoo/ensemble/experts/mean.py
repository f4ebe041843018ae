"""The mean of all values so far, winsorised; the cleaner keeps it, since a long gap ends there too."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import mean_of
from hippozoo.ensemble.records import Maps, Past, Plan


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("mean",)


@compiled(inner=True, inline="always")
def forecast(own, past, maps, plan, work, at):
    """The mean at every lead."""
    mean = mean_of(past.cleaner[0])
    for k in range(plan.horizon):
        work.forecasts[at, k] = mean
    return at + 1


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    lags, cleaner = np.arange(count), past.cleaner[0]
    return [np.where(lags < cleaner["age"], plan.keep**lags / max(cleaner["count"], 1.0), 0.0)]
