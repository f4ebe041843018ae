"""The line from the first value through the last one."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan, weights_at


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("drift",)


@compiled(inner=True, inline="always")
def forecast(own, past, maps, plan, work, at):
    """The last value, and the mean change per cell since the first one."""
    cleaner = past.cleaner[0]
    slope = (past.held - cleaner.first_value) / max(cleaner.age - 1.0, 1.0)
    for k in range(plan.horizon):
        work.forecasts[at, k] = past.held + (k + 1) * slope
    return at + 1


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    steps = max(int(past.cleaner[0]["age"]) - 1, 1)
    return [weights_at(count, {0: 1.0 + 1.0 / steps}) - weights_at(count, {steps: 1.0 / steps})]
