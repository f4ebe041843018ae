"""When and how far the ensemble falls back to the last value.

Three reasons: it has lately cost much more than the last value would have (`share`), the present is a surprise
(`trust`), or the value has not moved for longer than it ever has (`trust`).
"""

from __future__ import annotations

import math

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import SURPRISE

# State of a channel.
BRAKE = np.dtype(
    [
        ("trust", float),  # what is left of the ensemble after a surprise or a stuck sensor
        ("share", float),  # what is left of it after losses to the last value
        ("run", float),  # cells in which the value has not changed, and the longest such run, fading
        ("longest_run", float),
        ("cost", float),  # what complete forecasts have cost beyond the last value, fading
        ("moved", float),  # sum of mean absolute errors of the last value, over how many cells, before suspects
        ("moves", float),
        ("moved_before", float),
        ("lately", float),  # the same, fading; its weight, and what it was before suspects
        ("lately_weight", float),
        ("lately_before", float),
    ]
)

# The ensemble may cost so many times what the last value does, and so many of its mean errors on top, within about so
# many cells.
_TIMES_LAST, _CREDIT, _CELLS = 3.0, 2.0, 100.0
# How fast the longest run is forgotten, per cell that moves; beyond twice the longest, and two cells, one is too
# long.
_RUN_FORGOTTEN = 1e-3
# After a long gap the stream may be so many of its mean moves away; errors of the last value at a lead are so many
# times a random walk's share of its mean error over the horizon.
_ANYWHERE = 1.5


@compiled(inner=True, inline="always")
def start(brake, anew):
    """The first value of a channel, or the first after a long silence."""
    if not anew:
        brake.longest_run = 0.0
    brake.run = 0.0
    brake.trust = 1.0
    brake.share = 1.0
    brake.cost = 0.0


@compiled(inner=True, inline="always")
def keep(brake):
    """Before a suspected outlier."""
    brake.moved_before = brake.moved
    brake.lately_before = brake.lately


@compiled(inner=True, inline="always")
def restore(brake):
    """After outliers: as if they had not been."""
    brake.moved = brake.moved_before
    brake.lately = brake.lately_before


@compiled(inner=True)
def update(brake, log, now, pending, due, count, value, plan):
    """What every forecast of the present cell has cost beside the last value; returns the most they may come to."""
    H, stride = plan.horizon, plan.stride
    owed, highest, moved = 0.0, 0.0, 0.0
    cost = brake.cost * (1.0 - 1.0 / _CELLS)
    for i in range(count):
        k, origin = due[i].lead, pending.origins[due[i].place]
        if due[i].trust == 0:
            continue
        change = abs(value - log[now - 1 - k].value) * stride / H
        moved += change
        size = abs(value - pending.leads[due[i].slot].mean)
        costs = size * stride / H - _TIMES_LAST * change + origin.cost
        origin.cost = costs
        if k == H - 1:
            cost = max(cost + costs, 0.0)
        else:
            owed += costs * (H / (k + 1))  # the leads to come will cost as much
            highest = max(highest, owed)
    brake.cost = cost
    return max(highest, owed + cost), moved


@compiled(inner=True, inline="always")
def set_share(brake, owed, moved, age, is_suspect, plan):
    """How much of the ensemble is left beside the last value."""
    if age >= plan.horizon:
        brake.moved += moved
        brake.moves += 1.0
        brake.lately = brake.lately * plan.decay + moved
        brake.lately_weight = brake.lately_weight * plan.decay + 1.0
        if is_suspect:
            brake.lately_before *= plan.decay
    brake.share = 1.0
    if brake.moves > 0:
        credit = _CREDIT * brake.moved / brake.moves
        if owed > credit:
            brake.share = (credit / owed) ** 4


@compiled(inner=True, inline="always")
def anywhere(brake):
    """How far the stream may be after a long gap."""
    return _ANYWHERE * brake.moved / brake.moves if brake.moves > 0 else 0.0


@compiled(inner=True, inline="always")
def error_when_braked(brake, share, k, horizon):
    """The error to expect of what is drawn to the last value: as that has lately erred."""
    return (1.0 - share) * brake.lately / brake.lately_weight * _ANYWHERE * math.sqrt((k + 1.0) / horizon)


@compiled(inner=True, inline="always")
def carry_costs(brake, pending, due, count, horizon):
    """A cell without a value adds no cost; a forecast whose last lead it was is complete."""
    for i in range(count):
        origin = pending.origins[due[i].place]
        origin.z = 0.0
        if due[i].lead == horizon - 1:
            brake.cost = max(brake.cost + origin.cost, 0.0)


@compiled(inner=True, inline="always")
def set_trust(brake, cleaner, value, surprise):
    """How far the ensemble is believed after this value, before it is held."""
    trust = 1.0
    if surprise > SURPRISE:
        trust = (SURPRISE / surprise) ** 2
    if value == cleaner.last_value and cleaner.age > 0:
        brake.run += 1.0
    else:
        brake.longest_run = max(brake.longest_run * (1 - _RUN_FORGOTTEN), brake.run)
        brake.run = 0.0
    limit = 2 * brake.longest_run + 2
    if brake.run > limit:
        trust = min(trust, (limit / brake.run) ** 8)
    brake.trust = trust
