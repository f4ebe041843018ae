"""Holt and Winters' exponential smoothing: a level, a damped trend, and the mean of the last few seasons around them.

It follows the first season. The value one season ago repeats its noise; the mean of several does not, which is what
counts where there are few seasons.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan, weights_at

# Gain of the level, gain of the trend, damping per cell, and gain of the season of each. Chosen on the last horizons of
# the training values of M1, M4 and ETT.
SMOOTHING = np.array([(0.2, 0.02, 0.98, 0.2), (0.3, 0.1, 0.9, 0.3), (0.5, 0.05, 0.97, 0.3)])


class State(NamedTuple):
    """Of a channel and a smoothing: level, trend, and how far each phase of the season is from the level."""

    level: Any
    trend: Any
    season: Any


def _season(plan: Plan) -> int:
    return int(plan.seasons[0]) if len(plan.seasons) else 0


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    return (f"trend and mean of seasons {_season(plan)}",) * len(SMOOTHING) if _season(plan) else ()


def size(plan: Plan) -> int:
    """How many numbers a channel keeps."""
    return (2 + _season(plan)) * len(SMOOTHING) if _season(plan) else 0


@compiled(inner=True, inline="always")
def opened(own, d, m):
    """The state of one smoothing in a channel's own numbers."""
    begin = d * (2 + m)
    return State(own[begin : begin + 1], own[begin + 1 : begin + 2], own[begin + 2 : begin + 2 + m])


@compiled(inner=True)
def update(own, sample, past, plan, work):
    """Take in the cleaned value; the first season gives the first level and the first seasonal pattern."""
    if len(plan.seasons) == 0:
        return
    m, age = plan.seasons[0], int(past.cleaner[0].age)
    phase, seen = (age - 1) % m, (age - 1) // m
    for d in range(len(SMOOTHING)):
        gain, trend_gain, damping, seasonal_gain = SMOOTHING[d]
        state = opened(own, d, m)
        if seen == 0:
            state.season[phase] = sample.learnt
            if age == m:
                state.level[0], state.trend[0] = state.season.sum() / m, 0.0
                for j in range(m):
                    state.season[j] -= state.level[0]
            continue
        trend = damping * state.trend[0]
        level = state.level[0] + trend
        error = sample.learnt - level - state.season[phase] if sample.is_observed else 0.0
        state.level[0], state.trend[0] = level + gain * error, trend + gain * trend_gain * error
        state.season[phase] += max(seasonal_gain, 1.0 / (seen + 1)) * (1.0 - gain) * error


@compiled(inner=True)
def forecast(own, past, maps, plan, work, at):
    """The level, what is left of the trend, and the season; the last value before a season was seen."""
    if len(plan.seasons) == 0:
        return at
    m, age = plan.seasons[0], int(past.cleaner[0].age)
    for d in range(len(SMOOTHING)):
        state, damping = opened(own, d, m), SMOOTHING[d, 2]
        reach, total = damping, 0.0
        for k in range(plan.horizon):
            total += reach
            reach *= damping
            season = state.season[(age + k) % m]
            work.forecasts[at + d, k] = state.level[0] + state.trend[0] * total + season if age >= m else past.held
    return at + len(SMOOTHING)


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first, after many seasons."""
    rows, m = [], _season(plan)
    for gain, trend_gain, damping, seasonal_gain in SMOOTHING if m else ():
        if past.cleaner[0]["age"] < m:
            rows.append(weights_at(count, {0: 1.0}))
            continue
        level = trend = 0.0
        season, weights, value = np.zeros(m), np.zeros(count), 1.0
        for lag in range(count):  # what a single value of 1 leaves behind
            error = value - level - damping * trend - season[lag % m]
            level += damping * trend + gain * error
            trend = damping * trend + gain * trend_gain * error
            season[lag % m] += seasonal_gain * (1 - gain) * error
            weights[lag], value = level + damping * trend + season[(lag + 1) % m], 0.0
        rows.append(weights)
    return rows
