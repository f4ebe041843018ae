"""Holt's exponential smoothing with a damped trend, slow and quick ones side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan
from hippozoo.memory import response

# Gain of the level, gain of the trend, and damping per cell of each. Of four that were chosen before 2026-11, two are
# left: the others earned nothing on the last horizons of training values (ADR 0026).
SMOOTHING = np.array([(0.8, 0.2, 0.9), (0.5, 0.05, 0.97)])


class State(NamedTuple):
    """Of a channel, one number for each smoothing: level, trend, and both before suspected outliers."""

    level: Any
    trend: Any
    level_before: Any
    trend_before: Any


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return ("damped trend",) * len(SMOOTHING)


def size(plan: Plan) -> int:
    """How many numbers a channel keeps."""
    return 4 * len(SMOOTHING)


@compiled(inner=True, inline="always")
def opened(own, count):
    """The state in a channel's own numbers."""
    return State(own[:count], own[count : 2 * count], own[2 * count : 3 * count], own[3 * count : 4 * count])


@compiled(inner=True, inline="always")
def update(own, sample, past, plan, work):
    """Take in a value; after outliers go on from before them."""
    if not sample.is_observed:
        return
    state = opened(own, len(SMOOTHING))
    for d in range(len(SMOOTHING)):
        gain, trend_gain, damping = SMOOTHING[d, 0], SMOOTHING[d, 1], SMOOTHING[d, 2]
        if sample.begins > 0:
            state.level[d], state.trend[d] = sample.value, 0.0
        if sample.suspicion > 0:
            state.level_before[d], state.trend_before[d] = state.level[d], state.trend[d]
        elif sample.suspicion < 0:
            state.level[d], state.trend[d] = state.level_before[d], state.trend_before[d]
        level, trend = state.level[d], state.trend[d]
        before = level + damping * trend
        state.level[d] = before + gain * (sample.value - before)
        state.trend[d] = damping * trend + gain * trend_gain * (sample.value - before)


@compiled(inner=True, inline="always")
def forecast(own, past, maps, plan, work, at):
    """The level, and what is left of the trend."""
    state = opened(own, len(SMOOTHING))
    for d in range(len(SMOOTHING)):
        level, trend, damping = state.level[d], state.trend[d], SMOOTHING[d, 2]
        reach = damping
        total = 0.0
        for k in range(plan.horizon):
            total += reach
            reach *= damping
            work.forecasts[at + d, k] = level + trend * total
    return at + len(SMOOTHING)


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    rows = []
    for gain, trend_gain, damping in SMOOTHING:
        step = np.array([[1 - gain, (1 - gain) * damping], [-gain * trend_gain, damping - gain * trend_gain * damping]])
        taps = response(step, np.array([[gain, gain * trend_gain]]), count)[:, 0]
        rows.append(taps @ np.array([1.0, damping]))
    return rows
