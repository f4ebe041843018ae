"""The last reading was a surprise: an outlier, or a level shift? Until the next one tells, both are forecast.

As an outlier: what was forecast before it. As a level shift: the same, shifted by its error. The odds are those that
the stream has taught. The mean is the more likely of the two, and a band holds both.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import WARMUP
from hippozoo.ensemble.pending import slot_of

# State of a channel.
DOUBT = np.dtype(
    [
        ("surprise", float),  # error of the reading in doubt, in expected ones; 0 if none is
        ("cell", float),  # after which both were forecast
        ("returned", float),  # surprises after which the next reading was as before, and those after which it was not
        ("stayed", float),
    ]
)
# A lead: both forecasts, and the absolute error to expect of each.
LEAD_DOUBT = np.dtype([("outlier", float), ("shift", float), ("outlier_size", float), ("shift_size", float)])

# An error of so many expected ones is doubted. Chosen on seeds 0 to 9 of tests/troubled_streams.py.
_DOUBTED = 6.0
# Before anything was taught, outliers and level shifts count as so many; the former are a little more frequent.
_PRIOR = (1.2, 0.8)
# What is left of a lesson after the next one: the last ten or so count.
_KEPT = 0.9


class Doubt(NamedTuple):
    """State of a channel: one record of `DOUBT`, and one of `LEAD_DOUBT` for each lead."""

    last: Any
    leads: Any


@compiled(inner=True, inline="always")
def odds_of_outlier(returned, stayed):
    """The probability that the reading in doubt is an outlier."""
    return (returned + _PRIOR[0]) / (returned + stayed + _PRIOR[0] + _PRIOR[1])


@compiled(inner=True, inline="always")
def step_error(doubt, value, mean, cell):
    """The error of one step; after a doubted reading that of the better forecast, since the other was no error."""
    if doubt.last[0].surprise == 0:
        return abs(value - mean)
    ahead = _ahead(doubt, cell)
    return min(abs(value - ahead.outlier), abs(value - ahead.shift))


@compiled(inner=True, inline="always")
def _ahead(doubt, cell):
    """Both forecasts of a cell."""
    return doubt.leads[min(cell - int(doubt.last[0].cell) - 1, len(doubt.leads) - 1)]


@compiled(inner=True, inline="always")
def update(doubt, cleaner, value, surprise, log, pending, due, clock, plan):
    """A value has come: it settles what was in doubt, or is doubted itself."""
    last = doubt.last[0]
    if last.surprise > 0:
        ahead = _ahead(doubt, clock.cell)
        is_back = abs(value - ahead.outlier) < abs(value - ahead.shift)
        last.returned = last.returned * _KEPT + (1.0 if is_back else 0.0)
        last.stayed = last.stayed * _KEPT + (0.0 if is_back else 1.0)
        last.surprise = 0.0
    elif surprise > _DOUBTED and plan.guard and cleaner.age > WARMUP:
        last.surprise, last.cell = surprise, clock.cell
        _forecast_both(doubt.leads, cleaner, value, log, pending, due[0].lead + 1, clock, plan)


@compiled(inner=True, inline="always")
def _season_ago(now, lead, season):
    """Where the log holds the value one season before a lead, or several seasons."""
    return now + lead + 1 - season * (max(lead, 0) // season + 1)


@compiled(inner=True)
def _forecast_both(leads, cleaner, value, log, pending, passed, clock, plan):
    """From the newest forecast, `passed` cells ago; beyond its horizon it goes on as last season, or as it ended."""
    H, origin = plan.horizon, clock.cell - passed
    present = pending.leads[slot_of(origin, passed - 1, plan)]
    last = pending.leads[slot_of(origin, H - 1, plan)]
    error, size = value - present.mean, present.size
    slope = last.mean - pending.leads[slot_of(origin, H - 2, plan)].mean if H > 1 else 0.0
    m = plan.seasons[0] if len(plan.seasons) > 0 else 0
    for k in range(H):
        ahead, lead = leads[k], min(k + passed, H - 1)
        before, beyond = pending.leads[slot_of(origin, lead, plan)], k + passed - lead
        change = beyond * slope
        if beyond > 0 and 0 < m < cleaner.age:
            there, here = _season_ago(clock.now, k, m), _season_ago(clock.now, H - passed - 1, m)
            change = (log[there].value if there < clock.now else present.mean) - log[here].value
        ahead.outlier = before.mean + change
        ahead.shift = ahead.outlier + error
        ahead.outlier_size = before.size
        ahead.shift_size = math.sqrt(before.size**2 + size**2)


@compiled(inner=True, inline="always")
def apply(doubt, leads, cell):
    """The more likely of both in place of what was forecast, and the error to expect if it is the other."""
    last, H = doubt.last[0], len(leads)
    if last.surprise == 0:
        return
    odds, passed = odds_of_outlier(last.returned, last.stayed), cell - int(last.cell)
    for k in range(H):
        both = doubt.leads[min(k + passed, H - 1)]
        apart = abs(both.shift - both.outlier)
        if odds >= 0.5:
            leads[k].mean = both.outlier
            leads[k].size = odds * both.outlier_size + (1.0 - odds) * max(apart, both.shift_size)
        else:
            leads[k].mean = both.shift
            leads[k].size = (1.0 - odds) * both.shift_size + odds * max(apart, both.outlier_size)
