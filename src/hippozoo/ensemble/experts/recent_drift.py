"""The drift of late: the median of the drifts of three recent stretches, so that one level shift is no drift."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan, weights_at

# Cells over which it is measured; two horizons if these are longer.
LEAST_CELLS = 8


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("recent drift",)


@compiled(inner=True, inline="always")
def stretch(horizon, age):
    """Cells of each of the three stretches; 0 where there are too few."""
    return int(min((max(2 * horizon, LEAST_CELLS) + 2) // 3, max(age - 1.0, 0.0) // 3))


@compiled(inner=True, inline="always")
def forecast(own, past, maps, plan, work, at):
    """The last value, and the median change per cell of three stretches."""
    log, now = past.log, past.now
    cells = stretch(plan.horizon, past.cleaner[0].age)
    slope = 0.0
    if cells > 0:
        near, far = log[now - cells].value, log[now - 2 * cells].value
        first, second, third = past.held - near, near - far, far - log[now - 3 * cells].value
        slope = max(min(first, second), min(max(first, second), third)) / cells
    for k in range(plan.horizon):
        work.forecasts[at, k] = past.held + (k + 1) * slope
    return at + 1


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    cells = stretch.py_func(plan.horizon, float(past.cleaner[0]["age"]))
    weights = weights_at(count, {0: 1.0})
    if cells:
        values = past.log["value"][past.now - cells * np.arange(4)]
        middle = int(np.argsort(values[:-1] - values[1:], kind="stable")[1])
        weights += weights_at(count, {middle * cells: 1.0 / cells})
        weights -= weights_at(count, {(middle + 1) * cells: 1.0 / cells})
    return [weights]
