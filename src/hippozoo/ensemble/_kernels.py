"""The compiled loop: cells of all channels are taken in, and forecasts issued after them.

`advance` is the only way in. Every cell: the cleaner decides which value is learnt, pending forecasts of the cell are
scored, the brake is set, and the experts move on. Then every expert forecasts, and the ensemble is their weighted mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble import brake as brakes
from hippozoo.ensemble import calibration, cleaner, doubt, scale, scores
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.experts import forecast_all, update_all
from hippozoo.ensemble.experts.seasonal import fill_bases
from hippozoo.ensemble.records import DUE, Clock, Maps, Past, Pending, Plan, open_channel
from hippozoo.ensemble.ridge import Solved

__all__ = ["Arrays", "Work", "advance", "expert_weights", "forecast_now", "read_next"]


class Arrays(NamedTuple):
    """All that changes, channels first; see `plan` for the names of what is inside."""

    live: Any
    log: Any
    leverage: Any
    features: Any
    experts: Any
    leads: Any
    rows: Any
    origins: Any


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
        return Work(**{name: np.empty(shape) for name, shape in room.items()}, due=np.empty(H, DUE))


_CLEANER = CLEANER.itemsize // 8
# What Python hands over as named tuples.
_TUPLES = {"state": Arrays, "clock": Clock, "maps": Solved, "plan": Plan, "work": Work}


@compiled(inner=True, inline="always")
def _place(pending, origin, plan):
    """Where the ring of `UNDER_WAY` holds what has come of a forecast."""
    return origin // plan.stride % len(pending.under_way)


@compiled(inner=True)
def _find_due(pending, log, clock, plan, due):
    """List the pending forecasts of the present cell, the newest first; returns how many there are.

    One issued in a gap, of which the lead says too little, or from an outlier, tells of nothing to come.
    """
    count = 0
    for row in range(clock.used - 1, clock.first - 1, -1):
        k = clock.cell - pending.origins[row] - 1
        if k >= plan.horizon:
            break
        here = due[count]
        here.row, here.lead, here.trust = row, k, pending.rows[row].trust
        here.place = _place(pending, pending.origins[row], plan)
        if plan.guard and cleaner.is_outlier(log, clock.now - 1 - k, clock.now):
            here.trust = 0.0
        count += 1
    return count


@compiled(inner=True, inline="always")
def _observe(channel, log, pending, clock, value, plan, work):
    """A value has come: score what was forecast of it; returns suspicion, surprise and the value that is learnt."""
    now, own, brake = clock.now, channel.cleaner[0], channel.brake[0]
    is_at_hand = clock.used > clock.first and pending.origins[clock.used - 1] == clock.cell - 1
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
    count = _find_due(pending, log, clock, plan, work.due)
    scored = channel.scores.leads
    surprise = calibration.update(channel.errors, log, now, pending, work.due, count, value, own.age, scored)
    scale.update(channel.scale, pending, work.due, count, value, int(own.suspects), work.ways)
    owed, moved = brakes.update(brake, log, now, pending, work.due, count, value, plan)
    scores.update(channel.scores, pending, work.due, count, value, plan.decay, plan.guard)
    brakes.set_share(brake, owed, moved, own.age, is_suspect, plan)
    if suspicion < 0:
        surprise = 0.0  # surprising was the value before, and the forecast that was made from it
    elif is_at_hand and own.silent == 0:
        error = doubt.step_error(channel.doubt, value, pending.leads[clock.used - 1, 0].mean, clock.cell)
        scale.update_step(channel.scale, own, error, clock.cell, plan)
    doubt.update(channel.doubt, own, value, surprise, log, pending, clock, plan)
    brakes.set_trust(brake, own, value, surprise)
    return suspicion, surprise, cleaner.take_value(own, log, now, value, is_surprise, plan.keep)


@compiled(inner=True)
def _take_cell(channel, log, pending, clock, value, is_observed, plan, work):
    """One channel takes in one cell."""
    now, own, cell = clock.now, channel.cleaner[0], log[clock.now]
    begins = 0
    if own.is_begun == 0.0:
        if not is_observed:
            return
        begins = 1
    elif is_observed and own.silent > plan.silence:
        begins = 2
    if begins > 0:
        cleaner.start(own, value, begins == 2)
        channel.doubt.last[0].surprise = 0.0
        brakes.start(channel.brake[0], begins == 2)
    cell.returned, cell.expected = 0.0, 0.0
    suspicion, surprise = 0, 0.0
    if is_observed:
        suspicion, surprise, learnt = _observe(channel, log, pending, clock, value, plan, work)
    else:
        learnt = cleaner.fill_gap(own, log, pending, clock, plan)
        brakes.carry_costs(channel.brake[0], pending, clock, plan)
    if own.age > 0 or is_observed:
        own.age += 1.0
    if is_observed and own.age > plan.horizon:
        own.pairs += 1.0
    cell.value = value if is_observed else learnt
    cell.observed = 1.0 if is_observed else 0.0
    cell.surprise, cell.learnt, cell.shift = surprise, learnt, own.shift
    sample = Sample(value, learnt, is_observed, begins, suspicion)
    update_all(channel.own, sample, Past(log, now, channel.cleaner, cell.value, work.bases), plan, work)


@compiled(inner=True)
def _issue(channel, log, pending, clock, maps, plan, work):
    """Forecast from the present into the next row of the pending ones."""
    own, brake, row, held = channel.cleaner[0], channel.brake[0], clock.used, log[clock.now].value
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
        for e in range(plan.experts):
            pending.experts[row, k, e] = work.forecasts[e, k]
    own.expected = work.mixed[0]
    origin, leads = pending.rows[row], pending.leads[row]
    origin.long = scale.mean_step(channel.scale, scale.LONG)
    origin.short = scale.mean_step(channel.scale, scale.SHORT)
    origin.middle = scale.mean_step(channel.scale, scale.MIDDLE)
    origin.trust = 0.0 if own.silent > 0 else (brake.trust if plan.guard else 1.0)
    under_way = pending.under_way[_place(pending, clock.cell, plan)]
    under_way.z, under_way.cost = 0.0, 0.0
    _issue_leads(channel, origin, leads, clock.cell, held, plan, work)
    doubt.apply(channel.doubt, leads, clock.cell)
    if own.silent > 0:
        scale.widen_in_gap(leads, int(own.silent), brakes.anywhere(brake) if len(plan.seasons) == 0 else 0.0)
    own.expected_error = leads[0].size


@compiled(inner=True, inline="always")
def _issue_leads(channel, origin, leads, cell, held, plan, work):
    """The braked mean and its expected error at every lead."""
    brake, ways, H = channel.brake[0], work.ways, plan.horizon
    trust, share = (brake.trust, brake.share) if plan.guard else (1.0, 1.0)
    ways[scale.LONG], ways[scale.SHORT], ways[scale.MIDDLE] = origin.long, origin.short, origin.middle
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
        ahead = leads[k]
        ahead.mean, ahead.size = mean, size
        ahead.seasonal, ahead.spread = ways[scale.SEASONAL], ways[scale.SPREAD]


@compiled(inner=True, inline="always")
def _of_channel(state, c, plan):
    """Channel, log and pending forecasts by names."""
    channel = open_channel(state.live[c], plan)
    pending = Pending(state.experts[c], state.leads[c], state.rows[c], state.origins, channel.under_way)
    return channel, state.log[c], pending


@compiled(inner=True, inline="always")
def _issue_all(state, clock, maps, plan, work):
    """A forecast of every channel."""
    for c in range(len(state.live)):
        channel, log, pending = _of_channel(state, c, plan)
        of_channel = Maps(
            maps.means[c], maps.whitening[c], maps.freedom[c], maps.maps[c], maps.constants[c], maps.solved[c],
            state.leverage[c], state.features[0],
        )  # fmt: skip
        _issue(channel, log, pending, clock, of_channel, plan, work)


@compiled(tuples=_TUPLES, _nrt=False, error_model="numpy")
def advance(values, observed, state, clock, maps, plan, work):
    """Take in cells of all channels, (cells, channels); returns the pending forecasts in use: first and next row."""
    first, used = clock.first, clock.used
    for t in range(len(values)):
        now, cell = clock.now + t, clock.cell + t
        while first < used and cell - state.origins[first] - 1 >= plan.horizon:
            first += 1
        is_awake = False
        for c in range(values.shape[1]):
            channel, log, pending = _of_channel(state, c, plan)
            present = Clock(now, cell, first, used)
            _take_cell(channel, log, pending, present, values[t, c], observed[t, c], plan, work)
            is_awake = is_awake or channel.cleaner[0].silent <= plan.silence
        if is_awake and cell % plan.stride == 0:
            _issue_all(state, Clock(now, cell, first, used), maps, plan, work)
            state.origins[used] = cell
            used += 1
    return first, used


@compiled(tuples=_TUPLES, _nrt=False, error_model="numpy")
def forecast_now(state, clock, maps, plan, work):
    """Forecast from the present into the next row of the pending ones; for cells after which none was issued."""
    _issue_all(state, clock, maps, plan, work)


@compiled(tuples={"plan": Plan, "work": Work}, _nrt=False, error_model="numpy")
def expert_weights(live, plan, work, found):
    """The weight of every expert, (channels, leads, experts), before the brake."""
    for c in range(len(live)):
        scores.weigh(open_channel(live[c], plan).scores, work, plan.simple, plan.guard, work.weights)
        for k in range(plan.horizon):
            for e in range(plan.experts):
                found[c, k, e] = work.weights[e, k]


@compiled()
def read_next(live, leads, last, known_place, lower, expected):
    """Mean and expected absolute error of the next reading, (2, channels), from the forecasts that were issued last.

    False where the size of an error is not known yet. `lower` is NaN where no bound was given; then counts have 0.
    """
    for c in range(live.shape[0]):
        if live[c, known_place] == 0:
            return False
        cleaner = live[c, :_CLEANER].view(CLEANER)[0]
        mean, bound = leads[c, last, 0].mean, lower
        if bound != bound and cleaner.is_begun > 0 and cleaner.is_whole > 0:
            bound = 0.0
        if bound == bound and mean < bound:
            mean = bound
        expected[0, c], expected[1, c] = mean, leads[c, last, 0].size
    return True
