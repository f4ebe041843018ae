"""Ridge maps of memories: what the past of a window says about the error of a simple forecast.

A map reads a memory of the signal, or of its change over a season, and corrects the last value, the mean or the value
one season ago. `ridge` learns the maps; here memories move on, and maps are applied. A past of high leverage moves a
forecast no more than one at the limit.
"""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.records import Maps, Past, Plan, open_map, weights_at
from hippozoo.memory import response

# A past of so many times the mean leverage is shrunk to it.
HIGH_LEVERAGE = 16.0
# The least degrees of freedom that a leverage is divided by.
_LEAST_FREEDOM = 1e-12
MEAN, LAST, SEASON = 0, 1, 2  # what a map corrects; season s is SEASON + s


def names(plan: Plan) -> tuple[str, ...]:
    """What the experts of this file are called."""
    found: list[str] = []
    for memory, anchor, view in zip(plan.memory_of.tolist(), plan.anchors.tolist(), plan.views.tolist(), strict=True):
        base = ("mean", "last value")[anchor] if anchor < SEASON else f"season {plan.seasons[anchor - SEASON]}"
        also = " and inputs" if view >= 0 else ""
        found += [f"map of {plan.timescales[memory]:g}{also} on {base}"] * plan.ridges
    return tuple(found)


def size(plan: Plan) -> int:
    """How many numbers a channel keeps: all memories, each as wide as the widest."""
    return plan.b.size


@compiled(inner=True)
def add_columns(sums, columns, x, count, size):
    """Add a matrix times x, given by its columns: several at a time, each sum added up in the order of the columns."""
    j = 0
    while j + 8 <= count:
        x0, x1, x2, x3, x4, x5, x6, x7 = x[j], x[j + 1], x[j + 2], x[j + 3], x[j + 4], x[j + 5], x[j + 6], x[j + 7]
        for i in range(size):
            half = sums[i] + columns[j, i] * x0 + columns[j + 1, i] * x1 + columns[j + 2, i] * x2
            half = half + columns[j + 3, i] * x3 + columns[j + 4, i] * x4 + columns[j + 5, i] * x5
            sums[i] = half + columns[j + 6, i] * x6 + columns[j + 7, i] * x7
        j += 8
    add_lower_columns(sums, columns, x, j, count, size, False)


@compiled(inner=True)
def add_lower_columns(sums, columns, x, first, count, size, is_lower):
    """The same from column `first` on, by fours; of a lower triangular matrix what lies below the diagonal."""
    j = first
    while j + 4 <= count:
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(j if is_lower else 0, size):
            half = sums[i] + columns[j, i] * x0 + columns[j + 1, i] * x1
            sums[i] = half + columns[j + 2, i] * x2 + columns[j + 3, i] * x3
        j += 4
    while j < count:
        xj = x[j]
        for i in range(j if is_lower else 0, size):
            sums[i] += columns[j, i] * xj
        j += 1


@compiled(inner=True, inline="always")
def reset_memories(memories, value, inputs):
    """A constant past fills the first coefficient of a memory of the signal, and nothing else."""
    for m in range(len(inputs)):
        for i in range(memories.shape[1]):
            memories[m, i] = 0.0
        if inputs[m] < 0:
            memories[m, 0] = value


@compiled(inner=True)
def step_memories(memories, value, log, now, age, plan, room):
    """All memories, one cell further; `value` is that of the signal, relative to the reference."""
    for m in range(len(plan.orders)):
        q, u = plan.orders[m], value
        if plan.inputs[m] >= 0:
            season = plan.seasons[plan.inputs[m]]
            u = log[now].learnt - log[now - season].learnt if age > season else 0.0
        for i in range(q):
            room[i] = plan.b[m, i] * u
        add_columns(room, plan.A_T[m], memories[m], q, q)
        for i in range(q):
            memories[m, i] = room[i]


@compiled(inner=True)
def update(own, sample, past, plan, work):
    """Memories one cell further; after a long silence the past is constant at the mean."""
    memories, cleaner = own.reshape(plan.b.shape), past.cleaner[0]
    if sample.begins > 1:
        reset_memories(memories, sample.value - cleaner.reference, plan.inputs)
    level = sample.learnt - cleaner.reference
    if cleaner.silent > plan.silence:
        reset_memories(memories, level, plan.inputs)
    else:
        step_memories(memories, level, past.log, past.now, cleaner.age, plan, work.sums)


@compiled(inner=True)
def forecast(own, past, maps, plan, work, at):
    """Every kind of map, each with all its ridges; without a map, what it would correct."""
    memories, cleaner, H, R = own.reshape(plan.b.shape), past.cleaner[0], plan.horizon, plan.ridges
    for n in range(len(plan.anchors)):
        anchor, q, one = plan.anchors[n], plan.widths[n], open_map(maps.numbers, n, plan)
        is_solved = one.solved[0] > 0 and not (anchor >= SEASON and cleaner.age <= plan.seasons[anchor - SEASON])
        base = cleaner.reference if is_solved and anchor == MEAN else past.held
        maps.leverage[past.now, n] = 1.0
        if is_solved:
            own_order = plan.orders[plan.memory_of[n]]
            for i in range(own_order):
                work.x[i] = memories[plan.memory_of[n], i] - one.means[i]
            if anchor == LAST:
                work.x[0] -= past.held - cleaner.reference
            for i in range(own_order, q):
                work.x[i] = maps.features[past.now, plan.views[n], i - own_order] - one.means[i]
            maps.leverage[past.now, n] = _shrink(work.x, work.sums, one.whitening, one.freedom[0], q, plan.guard)
            _apply(work.sums, one.constants, one.columns, work.x, q, R)
        for r in range(R):
            work.available[at] = is_solved
            for k in range(H):
                work.forecasts[at, k] = past.bases[anchor - SEASON, k] if anchor >= SEASON else base
                if is_solved:
                    work.forecasts[at, k] += work.sums[r * H + k]
            at += 1
    return at


@compiled(inner=True, inline="always")
def _shrink(x, sums, whitening, freedom, order, guard):
    """The leverage of a past in units of the mean; a past of high leverage is shrunk."""
    for i in range(order):
        sums[i] = 0.0
    add_lower_columns(sums, whitening, x, 0, order, order, True)
    leverage = 0.0
    for i in range(order):
        leverage += sums[i] * sums[i]
    leverage = leverage / max(freedom, _LEAST_FREEDOM)
    if guard and leverage > HIGH_LEVERAGE:
        shrink = HIGH_LEVERAGE / leverage
        for i in range(order):
            x[i] *= shrink
    return leverage


@compiled(inner=True, inline="always")
def _apply(sums, constants, columns, x, order, ridges):
    """Corrections by all ridges, one after the other."""
    R, H = ridges, len(constants)
    for r in range(R):
        for k in range(H):
            sums[r * H + k] = constants[k]
    add_columns(sums, columns, x, order, R * H)


def lag_weights(past: Past, maps: Maps, plan: Plan, count: int) -> list[np.ndarray]:
    """The weight of each past value in the forecast of one step, newest first."""
    age, rows = past.cleaner[0]["age"], []
    taps = [response(plan.A_T[m, :q, :q].T, plan.b[m, None, :q], count)[:, 0] for m, q in enumerate(plan.orders)]
    for n, (memory, anchor) in enumerate(zip(plan.memory_of, plan.anchors, strict=True)):
        season = int(plan.seasons[anchor - SEASON]) if anchor >= SEASON else 0
        is_known = anchor < SEASON or age > season
        base = {} if anchor == MEAN else {season - 1 if anchor >= SEASON and is_known else 0: 1.0}
        one = open_map.py_func(maps.numbers, n, plan)
        if not one.solved[0] or not is_known:
            rows += [weights_at(count, base or {0: 1.0})] * plan.ridges
            continue
        leverage = maps.leverage[past.now, n]
        shrink = HIGH_LEVERAGE / leverage if plan.guard and leverage > HIGH_LEVERAGE else 1.0
        for r in range(plan.ridges):
            row = one.columns[: plan.orders[memory], r * plan.horizon] * shrink
            own = taps[memory] @ row
            if anchor == LAST:  # the past is taken relative to the last value
                own[0] -= row[0]
            if plan.inputs[memory] >= 0:  # a memory of changes from season to season
                own[season:] -= (taps[memory] @ row)[: max(count - season, 0)]
            rows.append(own + weights_at(count, base))
    return rows
