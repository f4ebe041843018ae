"""The value one season ago: as it was, with the change of level since then, and with that change fading."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import settled_value
from hippozoo.ensemble.records import Maps, Past, Plan, weights_at

# What is left, with every cell further ahead, of the change of level since last season.
_FADE = 0.9


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    found: list[str] = []
    for season in plan.seasons.tolist():
        found += [f"season {season}", f"season {season} and level", f"season {season} and fading level"]
    return tuple(found)


@compiled(inner=True)
def fill_bases(log, now, held, age, seasons, bases):
    """The value one season before each lead, outliers replaced; the last value before a season was seen."""
    for s in range(len(seasons)):
        m = seasons[s]
        for k in range(bases.shape[1]):
            bases[s, k] = settled_value(log, now + k + 1 - m * (k // m + 1), now) if age > m else held


@compiled(inner=True, inline="always")
def _ahead(change, made):
    """The change of level still to be made: without a level shift that last season's value has made already."""
    return change - (min(max(made, 0.0), change) if change > 0 else max(min(made, 0.0), change))


@compiled(inner=True)
def forecast(own, past, maps, plan, work, at):
    """Three experts for each season."""
    log, now, age = past.log, past.now, past.cleaner[0].age
    for s in range(len(plan.seasons)):
        m = plan.seasons[s]
        is_known = age > m
        change = past.held - settled_value(log, now - m, now) if is_known else 0.0
        fade = 1.0
        for k in range(plan.horizon):
            fade *= _FADE
            made = log[now + k + 1 - m * (k // m + 1)].shift - log[now - m].shift if is_known else 0.0
            ahead = _ahead(change, made)
            work.forecasts[at, k] = past.bases[s, k]
            work.forecasts[at + 1, k] = past.bases[s, k] + ahead
            work.forecasts[at + 2, k] = past.bases[s, k] + ahead * fade
        at += 3
    return at


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    rows, age = [], past.cleaner[0]["age"]
    for season in plan.seasons.tolist():
        base, change = weights_at(count, {0: 1.0}), np.zeros(count)
        if age > season:
            base, change = weights_at(count, {season - 1: 1.0}), weights_at(count, {0: 1.0, season: -1.0})
        rows += [base, base + change, base + _FADE * change]
    return rows
