"""The last value."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan, weights_at


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("last value",)


@compiled(inner=True, inline="always")
def forecast(own, past, maps, plan, work, at):
    """The last value at every lead."""
    for k in range(plan.horizon):
        work.forecasts[at, k] = past.held
    return at + 1


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    return [weights_at(count, {0: 1.0})]
