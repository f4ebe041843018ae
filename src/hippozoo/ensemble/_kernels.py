"""The compiled loop: cells of all channels are taken in, and forecasts issued after them.

`advance` is the only way in. Every cell: the cleaner decides which value is learnt, pending forecasts of the cell are
scored, the brake is set, and the experts move on. Then every expert forecasts, and the ensemble is their weighted mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble import brake as brakes
from hippozoo.ensemble import calibration, cleaner, doubt, pending, scale, scores
from hippozoo.ensemble.experts import forecast_all, update_all
from hippozoo.ensemble.experts.seasonal import fill_bases
from hippozoo.ensemble.pending import DUE, LEAD
from hippozoo.ensemble.records import CELL, Clock, Maps, Past, Plan, open_channel

__all__ = ["Issuing", "Work", "advance", "expert_weights", "forecast_now", "read_issued", "read_next"]


class Issuing(NamedTuple):
    """Where forecasts are written down as they are issued; arrays without a row take none."""

    expected: Any  # mean and absolute error of the next cell, (cells, 2, channels)
    origins: Any  # the cell after which each was issued
    mean: Any  # (origins, channels, leads)
    experts: Any  # (origins, channels, leads, experts)

    @staticmethod
    def of(plan: Plan, channels: int, cells: int = 0, origins: int = 0) -> Issuing:
        """Room for what is expected after so many cells, and for so many whole forecasts."""
        mean = np.empty((origins, channels, plan.horizon))
        return Issuing(
            np.empty((cells, 2, channels)), np.empty(origins, np.int64), mean, np.empty((*mean.shape, plan.experts))
        )


class Sample(NamedTuple):
    """A cell as experts see it."""

    value: float  # what was measured
    learnt: float  # the cleaned value
    is_observed: bool  # whether anything was measured
    begins: int  # 1 for the first value of a channel, 2 for the first after a long silence, else 0
    suspicion: int  # 1 for the first suspected outlier, -1 for the value after outliers, else 0


class Work(NamedTuple):
    """Room to work in: what it holds is of no use after a call."""

    bases: Any
    x: Any
    sums: Any
    forecasts: Any
    weights: Any
    own: Any
    average: Any
    late: Any
    least: Any
    total: Any
    mixed: Any
    apart: Any
    available: Any
    ways: Any
    leads: Any
    due: Any

    @staticmethod
    def of(plan: Plan) -> Work:
        """As much room as the plan needs."""
        H, E, width = plan.horizon, plan.experts, plan.b.shape[1] + plan.extra
        room = {
            "bases": (len(plan.seasons), H), "x": width, "sums": max(plan.ridges * H, width), "forecasts": (E, H),
            "weights": (E, H), "own": (H, E), "average": E, "late": E, "least": H, "total": H, "mixed": H, "apart": H,
            "available": E, "ways": scale.WAYS,
        }  # fmt: skip
        return Work(
            **{name: np.empty(shape) for name, shape in room.items()}, leads=np.empty(H, LEAD), due=np.empty(H, DUE)
        )


# What Python hands over as named tuples.
_TUPLES = {"plan": Plan, "work": Work}


@compiled(inner=True, inline="always")
def _observe(channel, log, clock, value, plan, work):
    """A value has come: score what was forecast of it; returns suspicion, surprise and the value that is learnt."""
    now, own, brake, issued = clock.now, channel.cleaner[0], channel.brake[0], channel.pending
    is_at_hand = pending.place_of(issued, clock.cell - 1, plan) >= 0
    is_surprise = cleaner.is_surprising(own, value, is_at_hand, plan.guard)
    suspicion = cleaner.find_suspect(own, log, now, value, is_surprise, plan.seasons)
    if suspicion > 0:
        scale.keep(channel.scale)
        brakes.keep(brake)
    elif suspicion < 0:
        scale.restore(channel.scale)
        brakes.restore(brake)
        is_surprise = False
    is_suspect = own.suspects > 0
    log[now].expected = own.expected_before if is_suspect else 0.0
    count, scored = pending.find_due(issued, log, clock, plan, work.due), channel.scores.leads
    surprise = calibration.update(channel.errors, log, now, issued, work.due, count, value, own.age, scored)
    scale.update(channel.scale, issued, work.due, count, value, int(own.suspects), work.ways)
    owed, moved = brakes.update(brake, log, now, issued, work.due, count, value, plan)
    scores.update(channel.scores, issued, work.due, count, value, plan.decay, plan.guard)
    brakes.set_share(brake, owed, moved, own.age, is_suspect, plan)
    if suspicion < 0:
        surprise = 0.0  # surprising was the value before, and the forecast that was made from it
    elif is_at_hand and own.silent == 0:
        error = doubt.step_error(channel.doubt, value, issued.leads[0].mean, clock.cell)
        scale.update_step(channel.scale, own, error, clock.cell, plan)
    doubt.update(channel.doubt, own, value, surprise, log, issued, work.due, clock, plan)
    brakes.set_trust(brake, own, value, surprise)
    return suspicion, surprise, cleaner.take_value(own, log, now, value, is_surprise, plan.keep)


@compiled(inner=True)
def _take_cell(channel, log, clock, value, is_observed, plan, work):
    """One channel takes in one cell."""
    now, own, cell = clock.now, channel.cleaner[0], log[clock.now]
    begins = 0
    if own.is_begun == 0.0:
        if not is_observed:
            cell.surprise = -1.0
            return
        begins = 1
    elif is_observed and own.silent > plan.silence:
        begins = 2
    if begins > 0:
        cleaner.start(own, value, begins == 2)
        channel.doubt.last[0].surprise = 0.0
        brakes.start(channel.brake[0], begins == 2)
    cell.returned, cell.expected = 0.0, 0.0
    suspicion, surprise = 0, -1.0
    if is_observed:
        suspicion, surprise, learnt = _observe(channel, log, clock, value, plan, work)
    else:
        count = pending.find_due(channel.pending, log, clock, plan, work.due)
        learnt = cleaner.fill_gap(own, log, channel.pending, work.due, count, now, plan)
        brakes.carry_costs(channel.brake[0], channel.pending, work.due, count, plan.horizon)
    if own.age > 0 or is_observed:
        own.age += 1.0
    if is_observed and own.age > plan.horizon:
        own.pairs += 1.0
    cell.value = value if is_observed else learnt
    cell.surprise, cell.learnt, cell.shift = surprise, learnt, own.shift
    sample = Sample(value, learnt, is_observed, begins, suspicion)
    update_all(channel.own, sample, Past(log, now, channel.cleaner, cell.value, work.bases), plan, work)


@compiled(inner=True)
def _issue(channel, log, clock, maps, plan, work):
    """Forecast from the present, into the room to work in; the scale of errors and the trust go with it."""
    own, brake, held = channel.cleaner[0], channel.brake[0], log[clock.now].value
    fill_bases(log, clock.now, held, own.age, plan.seasons, work.bases)
    for e in range(plan.experts):
        work.available[e] = 1.0
    forecast_all(channel.own, Past(log, clock.now, channel.cleaner, held, work.bases), maps, plan, work)
    scores.count_issued(channel.scores, work.available)
    scored = scores.weigh(channel.scores, work, plan.simple, plan.guard, work.weights)
    work.mixed[:], work.apart[:] = 0.0, 0.0
    for e in range(plan.experts):
        for k in range(plan.horizon):
            work.mixed[k] += work.weights[e, k] * work.forecasts[e, k]
    for e in range(plan.experts):
        for k in range(plan.horizon):
            work.apart[k] += work.weights[e, k] * abs(work.forecasts[e, k] - work.mixed[k])
    for k in range(plan.horizon):
        if not scored > 0:
            work.mixed[k] = held
    own.expected = work.mixed[0]
    for way in (scale.LONG, scale.SHORT, scale.MIDDLE):
        work.ways[way] = scale.mean_step(channel.scale, way)
    _issue_leads(channel, clock.cell, held, plan, work)
    doubt.apply(channel.doubt, work.leads, clock.cell)
    if own.silent > 0:
        scale.widen_in_gap(work.leads, int(own.silent), brakes.anywhere(brake) if len(plan.seasons) == 0 else 0.0)
    own.expected_error = work.leads[0].size


@compiled(inner=True, inline="always")
def _issue_leads(channel, cell, held, plan, work):
    """The braked mean and its expected error at every lead."""
    brake, ways, H = channel.brake[0], work.ways, plan.horizon
    trust, share = (brake.trust, brake.share) if plan.guard else (1.0, 1.0)
    is_seasonal = len(plan.seasons) > 0 and channel.cleaner[0].age >= 2 * plan.seasons[0]
    for k in range(H):
        mean = held + trust * share * (work.mixed[k] - held)
        ways[scale.SEASONAL] = ways[scale.LONG]
        if is_seasonal:
            ways[scale.SEASONAL] = channel.scale.phase[(cell + k + 1) % plan.seasons[0]]
        ways[scale.SPREAD] = work.apart[k] + abs(work.mixed[k] - mean)
        size = scale.expected_size(channel.scale, ways, k)
        if share < 1.0 and brake.lately_weight > 0:
            size = max(size, brakes.error_when_braked(brake, share, k, H))
        ahead = work.leads[k]
        ahead.mean, ahead.size = mean, size
        ahead.seasonal, ahead.spread = ways[scale.SEASONAL], ways[scale.SPREAD]


@compiled(inner=True)
def _keep(channel, cell, plan, work):
    """Keep what was issued until its values come."""
    brake, ways = channel.brake[0], work.ways
    origin = channel.pending.origins[cell // plan.stride % len(channel.pending.origins)]
    origin.number, origin.z, origin.cost = cell + 1, 0.0, 0.0
    origin.long, origin.short, origin.middle = ways[scale.LONG], ways[scale.SHORT], ways[scale.MIDDLE]
    origin.trust = 0.0 if channel.cleaner[0].silent > 0 else (brake.trust if plan.guard else 1.0)
    pending.keep(channel.pending, cell, work.leads, work.forecasts, plan)


@compiled(inner=True)
def _copy_issued(leads, forecasts, mean, experts):
    """Means of the ensemble and of all experts, (leads, experts)."""
    for k in range(len(mean)):
        mean[k] = leads[k].mean
        for e in range(len(forecasts)):
            experts[k, e] = forecasts[e, k]


@compiled(tuples=_TUPLES | {"issuing": Issuing}, _nrt=False, error_model="numpy")
def advance(values, observed, live, log, leverage, features, now, cell, maps, plan, work, issuing):
    """Take in cells of all channels, (cells, channels); returns how many forecasts were issued.

    `now` and `cell` are the place and the number of the first; `live` is written over, and the logs go on.
    """
    issued = 0
    for t in range(len(values)):
        clock = Clock(now + t, cell + t)
        is_awake = False
        for c in range(values.shape[1]):
            channel = open_channel(live[c], plan)
            _take_cell(channel, log[c].view(CELL), clock, values[t, c], observed[t, c], plan, work)
            is_awake = is_awake or channel.cleaner[0].silent <= plan.silence
        if not is_awake or clock.cell % plan.stride != 0:
            continue
        for c in range(values.shape[1]):
            channel = open_channel(live[c], plan)
            _issue(channel, log[c].view(CELL), clock, Maps(maps[c], leverage[c], features[0]), plan, work)
            _keep(channel, clock.cell, plan, work)
            if len(issuing.expected) > 0:
                issuing.expected[t, 0, c], issuing.expected[t, 1, c] = work.leads[0].mean, work.leads[0].size
            if len(issuing.origins) > 0:
                issuing.origins[issued] = clock.cell
                _copy_issued(work.leads, work.forecasts, issuing.mean[issued, c], issuing.experts[issued, c])
        issued += 1
    return issued


@compiled(tuples=_TUPLES, _nrt=False, error_model="numpy")
def forecast_now(live, log, leverage, features, now, cell, maps, plan, work, mean, size, experts):
    """Forecast from the present, for cells after which none was issued; writes over `live` and `leverage`."""
    for c in range(len(live)):
        channel, clock = open_channel(live[c], plan), Clock(now, cell)
        _issue(channel, log[c].view(CELL), clock, Maps(maps[c], leverage[c], features[0]), plan, work)
        _copy_issued(work.leads, work.forecasts, mean[c], experts[c])
        for k in range(plan.horizon):
            size[c, k] = work.leads[k].size


@compiled(tuples={"plan": Plan}, _nrt=False, error_model="numpy")
def read_issued(live, cell, plan, mean, size, experts):
    """The forecast that was issued after `cell`, as `forecast_now` gives it; False if there is none."""
    E = plan.experts
    for c in range(len(live)):
        issued = open_channel(live[c], plan).pending
        if pending.place_of(issued, cell, plan) < 0:
            return False
        for k in range(plan.horizon):
            slot = pending.slot_of(cell, k, plan)
            mean[c, k], size[c, k] = issued.leads[slot].mean, issued.leads[slot].size
            for e in range(E):
                experts[c, k, e] = issued.experts[slot * E + e]
    return True


@compiled(tuples=_TUPLES, _nrt=False, error_model="numpy")
def expert_weights(live, plan, work, found):
    """The weight of every expert, (channels, leads, experts), before the brake."""
    for c in range(len(live)):
        scores.weigh(open_channel(live[c], plan).scores, work, plan.simple, plan.guard, work.weights)
        for k in range(plan.horizon):
            for e in range(plan.experts):
                found[c, k, e] = work.weights[e, k]


@compiled(tuples={"plan": Plan}, _nrt=False, error_model="numpy")
def read_next(live, cell, lower, plan, expected):
    """Mean and expected absolute error of the next reading, (2, channels), from the forecast after `cell`.

    False where there is none, or where the size of an error is not known yet. `lower` is NaN where no bound was given;
    then counts have 0.
    """
    for c in range(len(live)):
        channel = open_channel(live[c], plan)
        if pending.place_of(channel.pending, cell, plan) < 0 or channel.scale.step[0].weight[scale.LONG] == 0:
            return False
        own, first, bound = channel.cleaner[0], channel.pending.leads[0], lower
        if bound != bound and own.is_begun > 0 and own.is_whole > 0:
            bound = 0.0
        expected[0, c], expected[1, c] = first.mean, first.size
        if bound == bound and first.mean < bound:
            expected[0, c] = bound
    return True
