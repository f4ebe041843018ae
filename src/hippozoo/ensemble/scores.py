"""How well each expert has done: regret by lead, and the weights that follow from it.

An expert is scored by its regret, the absolute error beyond that of the best one in the same cell, so that common
shocks change no weight; the least error itself is averaged apart, winsorised. Both are exponentially weighted means.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled

# The least error counts up to so many times its mean.
_WINSORISED = 4.0
# How fast the latest regret of one step is followed, per cell: the last three or so.
_LATEST = 1 / 3
# Regret of late counts where it is beyond so many times the usual error.
_USUAL_ERRORS = 3.0


# At a lead: weight of the sums of regret, and the sum of the least errors.
LEAD_SCORE = np.dtype([("weight", float), ("least", float)])
# Of an expert: regret of one step, of the last few cells; and forecasts in a row that it was able to make.
EXPERT_SCORE = np.dtype([("latest", float), ("issued", float)])


class Scores(NamedTuple):
    """State of a channel."""

    leads: Any  # records of `LEAD_SCORE`
    experts: Any  # records of `EXPERT_SCORE`
    regret: Any  # sums of absolute errors beyond the least one, fading; experts at one lead after the other


@compiled(inner=True)
def update(scores, pending, due, count, value, decay, guard):
    """Score every forecast of the present cell; `due` lists them."""
    E = len(scores.experts)
    for i in range(count):
        trust = due[i].trust
        if trust == 0:
            continue
        k, forecasts = due[i].lead, pending.experts[due[i].slot * E : (due[i].slot + 1) * E]
        least = np.inf
        for e in range(E):
            error = abs(value - forecasts[e])
            least = error if error < least else least
        here, keep = scores.leads[k], 1.0 - (1.0 - decay) * trust
        usual = here.least / here.weight if here.weight > 0 else least
        winsorised = min(least, _WINSORISED * usual) if guard and usual > 0 else least
        here.least = here.least * keep + trust * winsorised
        regret = scores.regret[k * E : (k + 1) * E]
        for e in range(E):
            regret[e] = regret[e] * keep + trust * (abs(value - forecasts[e]) - least)
        if k == 0:
            for e in range(E):
                expert = scores.experts[e]
                expert.latest += _LATEST * ((abs(value - forecasts[e]) - least) - expert.latest)
        here.weight = here.weight * keep + trust


@compiled(inner=True, inline="always")
def count_issued(scores, available):
    """Note which experts were able to make a forecast."""
    for e in range(len(available)):
        scores.experts[e].issued = scores.experts[e].issued + 1.0 if available[e] else 0.0


@compiled(inner=True, inline="always")
def _mean_errors(scores, own, average):
    """Mean error of every expert at each lead, and over all leads that were ever scored; returns their number."""
    E = len(average)
    for e in range(E):
        average[e] = 0.0
    scored = 0.0
    for k in range(len(scores.leads)):
        w = scores.leads[k].weight
        if w > 0:
            scored += 1.0
            least = scores.leads[k].least
            for e in range(E):
                own[k, e] = (least + scores.regret[k * E + e]) / w
            for e in range(E):
                average[e] += own[k, e]
    for e in range(E):
        average[e] /= max(scored, 1.0)
    return scored


@compiled(inner=True)
def weigh(scores, work, simple, guard, weights):
    """Weights of all experts, (experts, leads): the sixth power of one over the error.

    The error is the mean of those at this lead and over all leads, and what the latest regret is beyond the usual.
    Maps, which follow the `simple` experts, have no weight at leads at which they were never scored. Returns at how
    many leads any expert was scored.
    """
    own, average, late, least, total = work.own, work.average, work.late, work.least, work.total
    scored = _mean_errors(scores, own, average)
    E, H = weights.shape
    for e in range(E):
        usual = own[0, e] if scores.leads[0].weight > 0 else 0.0
        late[e] = max(scores.experts[e].latest - _USUAL_ERRORS * usual, 0.0) if guard else 0.0
    for k in range(H):
        is_scored = scores.leads[k].weight > 0
        for e in range(E):
            weights[e, k] = 0.5 * ((own[k, e] if is_scored else average[e]) + average[e]) + late[e]
        least[k], total[k] = np.inf, 0.0
    _inverse_sixth_power(weights, least)
    if simple > 0:
        for e in range(simple, E):
            for k in range(min(max(int(scores.experts[e].issued) - 1, 0), H), H):
                weights[e, k] = 0.0
    _normalise(weights, total, simple)
    return scored


@compiled(inner=True, inline="always")
def _inverse_sixth_power(weights, least):
    """(least error / error)⁶ in place of errors; neighbours are leads, so that loops run over them."""
    E, H = weights.shape
    for e in range(E):
        for k in range(H):
            least[k] = weights[e, k] if weights[e, k] < least[k] else least[k]
    for e in range(E):
        for k in range(H):
            ratio = 1.0 if weights[e, k] <= least[k] else least[k] / weights[e, k]
            ratio *= ratio
            weights[e, k] = ratio * ratio * ratio


@compiled(inner=True, inline="always")
def _normalise(weights, total, simple):
    """Weights that sum to 1 at every lead; where only a map that is too young was good, simple experts share them."""
    E, H = weights.shape
    for e in range(E):
        for k in range(H):
            total[k] += weights[e, k]
    for k in range(H):
        if total[k] == 0:
            for e in range(simple):
                weights[e, k] = 1.0
            total[k] = simple
    for e in range(E):
        for k in range(H):
            weights[e, k] /= total[k]
