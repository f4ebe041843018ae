"""The expected size of an error: five ways to expect it, weighted by their likelihood at every lead.

Ways: the mean one-step error over about 512, 8 and 32 cells, the usual error at this phase of the first season, and how
far the experts are apart. Each way is scaled to the mean error at a lead, with a memory of 512 cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import SURPRISE

WAYS = 5
LONG, SHORT, MIDDLE, SEASONAL, SPREAD = range(WAYS)
# How fast one-step errors are forgotten, per cell; the long memory is that of the scale at every lead, too.
KEPT_LONG = 1 / 512
_FORGOTTEN = (KEPT_LONG, 1 / 8, 1 / 32)
# How fast the loss of a way, and the usual error at a phase of the season, are forgotten.
_LOSS, _PHASE = 1.0 / 128.0, 0.2
# Ways are weighted by their likelihood over so many errors that tell something new; the error of one of them, in its
# own units, counts up to so much.
_LIKELIHOOD, _LARGEST_LOSS = 24.0, 50.0
# A way that has expected less than this share of the errors, as experts do that differ by rounding, says nothing.
_ROUNDING = 1e-12
# After a gap errors grow as a random walk's do, up to so many horizons.
_LONGEST_GROWTH = 16.0


# One-step errors over about 512, 8 and 32 cells: sums, their weights, and the sums without suspected outliers.
STEP = np.dtype([("sum", float, 3), ("weight", float, 3), ("before", float, 3)])
# At a lead.
LEAD_SCALE = np.dtype(
    [
        ("errors", float),  # sum of errors, fading over 512 cells; the same without suspected outliers
        ("errors_before", float),
        ("expected", float, WAYS),  # sum of what each way expected, fading alike
        ("loss", float, WAYS),  # mean negative log-likelihood of each, as a Laplace distribution, beside the first
    ]
)


class Scale(NamedTuple):
    """State of a channel: one record of `STEP`, one of `LEAD_SCALE` for each lead, the usual error at each phase."""

    step: Any
    leads: Any
    phase: Any


@compiled(inner=True, inline="always")
def keep(scale):
    """Before a suspected outlier."""
    step = scale.step[0]
    for j in range(3):
        step.before[j] = step.sum[j]
    for k in range(len(scale.leads)):
        scale.leads[k].errors_before = scale.leads[k].errors


@compiled(inner=True, inline="always")
def restore(scale):
    """After outliers: as if they had been no more than surprises."""
    step = scale.step[0]
    for j in range(3):
        step.sum[j] = step.before[j]
    for k in range(len(scale.leads)):
        scale.leads[k].errors = scale.leads[k].errors_before


@compiled(inner=True, inline="always")
def mean_step(scale, way):
    """The mean one-step error by one of the first three ways."""
    step = scale.step[0]
    return step.sum[way] / step.weight[way] if step.weight[way] > 0 else 0.0


@compiled(inner=True)
def update(scale, pending, due, count, value, suspects, ways):
    """The error of every forecast of the present cell beside what each way had expected; `ways` is room to work in.

    Of `suspects` suspected outliers, this value being the last, forecasts after the first tell nothing.
    """
    kept = 1.0 - KEPT_LONG
    for i in range(count):
        if due[i].trust == 0:
            continue
        k, origin = due[i].lead, pending.origins[due[i].place]
        ahead, here = pending.leads[due[i].slot], scale.leads[k]
        ways[LONG], ways[SHORT], ways[MIDDLE] = origin.long, origin.short, origin.middle
        ways[SEASONAL], ways[SPREAD] = ahead.seasonal, ahead.spread
        size = abs(value - ahead.mean)
        _update_loss(here.loss, here.expected, here.errors, size, ways)
        for j in range(WAYS):
            here.expected[j] = here.expected[j] * kept + ways[j]
        here.errors = here.errors * kept + size
        if suspects > 0 and k >= suspects - 1:
            here.errors_before = here.errors_before * kept + min(size, SURPRISE * ahead.size)


@compiled(inner=True, inline="always")
def _update_loss(loss, expected, errors, size, ways):
    """Score the ways at one lead, each scaled to the mean error."""
    if not (errors > 0 and expected[LONG] > 0 and ways[LONG] > 0):
        return
    unit = errors / expected[LONG] * ways[LONG]
    plain = min(size / unit, _LARGEST_LOSS)
    for j in range(WAYS):
        if expected[j] > 0 and ways[j] > 0:
            own = errors / expected[j] * ways[j]
            # The first way, and those that say the same, need no logarithm.
            cost = plain if own == unit else math.log(own / unit) + min(size / own, _LARGEST_LOSS)
            loss[j] += _LOSS * (cost - loss[j])


@compiled(inner=True)
def update_step(scale, cleaner, size, cell, plan):
    """The error of one step; `size` is that of the braked forecast."""
    most, is_suspect, step = SURPRISE * cleaner.expected_error, cleaner.suspects > 0, scale.step[0]
    if is_suspect:
        for j in range(3):
            step.before[j] = step.before[j] * (1 - _FORGOTTEN[j]) + min(size, most)
    for j in range(3):
        step.sum[j] = step.sum[j] * (1 - _FORGOTTEN[j]) + size
        step.weight[j] = step.weight[j] * (1 - _FORGOTTEN[j]) + 1.0
    if len(plan.seasons) > 0:
        phase = cell % plan.seasons[0]
        winsorised = size
        if plan.guard:
            # What happened once, a year ago, says little of this year.
            largest = SURPRISE * (step.sum[LONG] / step.weight[LONG])
            winsorised = min(size, min(largest, most) if is_suspect else largest)
        usual = scale.phase[phase]
        is_new = cleaner.age < 2 * plan.seasons[0] and usual == 0
        scale.phase[phase] = winsorised if is_new else usual + _PHASE * (winsorised - usual)


@compiled(inner=True)
def expected_size(scale, ways, k):
    """The mean absolute error to expect at lead k: all ways, by how well each has done."""
    loss, expected, errors = scale.leads[k].loss, scale.leads[k].expected, scale.leads[k].errors
    least = _ROUNDING * errors
    best = np.inf
    for j in range(WAYS):
        if expected[j] > least:
            best = min(best, loss[j])
    total, size, first = 0.0, 0.0, 1.0
    for j in range(WAYS):
        if expected[j] > least:
            # The best way, and one that says the same as the first, need no exponential.
            if loss[j] == best:
                share = 1.0
            elif j > 0 and loss[j] == loss[0]:
                share = first
            else:
                share = math.exp(-_LIKELIHOOD * (loss[j] - best))
            if j == 0:
                first = share
            total += share
            size += share * (errors / expected[j]) * ways[j]
    # Before any error at this lead is known: those of one step, growing as a random walk's do.
    return size / total if total > 0 else ways[LONG] * math.sqrt(k + 1.0)


@compiled(inner=True)
def widen_in_gap(leads, silent, anywhere):
    """In a gap a lead is longer than it says: the expected errors are those of leads from the last value.

    Beyond the horizon they grow as a random walk's do; `anywhere` says how far the stream may be then; 0 with a season.
    """
    horizon = len(leads)
    last = leads[horizon - 1].size
    for k in range(horizon):
        lead = k + silent
        if lead < horizon:
            leads[k].size = max(leads[k].size, leads[lead].size)
        else:
            growth = math.sqrt(min((lead + 1.0) / horizon, _LONGEST_GROWTH))
            leads[k].size = max(leads[k].size, max(last, anywhere) * growth)
