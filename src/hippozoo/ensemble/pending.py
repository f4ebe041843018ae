"""Forecasts that wait for their values: for each lead a ring, as long as that lead is pending.

A forecast k cells ahead is pending for k cells, so a ring by lead takes half the room of rows of whole forecasts, and
what is over is written over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import is_outlier

# One lead of a forecast.
LEAD = np.dtype(
    [
        ("mean", float),  # of the ensemble, and its expected absolute error
        ("size", float),
        ("seasonal", float),  # two of the ways to expect an error (see `scale`)
        ("spread", float),
    ]
)
# A forecast.
ORIGIN = np.dtype(
    [
        ("number", float),  # of the cell after which it was made, from 1 on; 0 for none
        ("long", float),  # the other ways to expect an error, the same at all leads
        ("short", float),
        ("middle", float),
        ("trust", float),  # how far its origin was believed; 0 in a gap
        ("z", float),  # the last error in expected sizes, clipped
        ("cost", float),  # what it has cost so far beside the last value
    ]
)
# A forecast of the present cell: its lead, its places in `Pending.origins` and `Pending.leads`, and how much it counts.
DUE = np.dtype([("lead", np.int64), ("place", np.int64), ("slot", np.int64), ("trust", float)])


class Pending(NamedTuple):
    """The forecasts of a channel."""

    origins: Any  # a ring of `ORIGIN`
    leads: Any  # records of `LEAD`, one ring after the other
    experts: Any  # what each expert forecast, likewise


def slots(horizon: int, stride: int) -> Int[np.ndarray, " leads_and_one"]:
    """Where the ring of each lead begins, and the end, if forecasts are issued after every `stride` cells."""
    return np.cumsum(np.append(0, np.arange(horizon) // stride + 1))


@compiled(inner=True, inline="always")
def place_of(pending, origin, plan):
    """The place of the forecast that was issued after cell `origin`; -1 if there is none."""
    place = origin // plan.stride % len(pending.origins)
    return place if origin >= 0 and pending.origins[place].number == origin + 1 else -1


@compiled(inner=True, inline="always")
def slot_of(origin, lead, plan):
    """The place of one of its leads."""
    return plan.slots[lead] + origin // plan.stride % (lead // plan.stride + 1)


@compiled(inner=True)
def find_due(pending, log, clock, plan, due):
    """List the forecasts of the present cell, the newest first; returns how many there are.

    One issued in a gap, of which the lead says too little, or from an outlier, tells of nothing to come.
    """
    count, origin = 0, (clock.cell - 1) // plan.stride * plan.stride
    while origin >= 0 and clock.cell - origin <= plan.horizon:
        place, k = place_of(pending, origin, plan), clock.cell - origin - 1
        if place >= 0:
            here = due[count]
            here.lead, here.place, here.slot = k, place, slot_of(origin, k, plan)
            here.trust = pending.origins[place].trust
            if plan.guard and is_outlier(log, clock.now - 1 - k, clock.now):
                here.trust = 0.0
            count += 1
        origin -= plan.stride
    return count


@compiled(inner=True)
def keep(pending, origin, leads, forecasts, plan):
    """Keep what was issued after cell `origin`: `leads`, and the `forecasts` of all experts, (experts, leads)."""
    E = len(forecasts)
    for k in range(plan.horizon):
        slot = slot_of(origin, k, plan)
        here = pending.leads[slot]
        here.mean, here.size, here.seasonal, here.spread = (
            leads[k].mean,
            leads[k].size,
            leads[k].seasonal,
            leads[k].spread,
        )
        for e in range(E):
            pending.experts[slot * E + e] = forecasts[e, k]
