"""Compiled loops of the detector: one reading of every channel after the other; arrays in and out, no checks."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble._past_states import BINS, COEFFICIENTS, NUMBER, keep, look_up, median, move, rank

__all__ = [
    "BINS",
    "CHANNEL",
    "COEFFICIENTS",
    "LEVELS",
    "LEVEL_STEP",
    "LONGEST",
    "Channels",
    "Said",
    "Settings",
    "watch",
]

# Single numbers of a channel.
CHANNEL = np.dtype(
    [
        ("clock", float),  # readings since the beginning, missing ones included
        ("seen", float),  # readings that were there
        ("missing", float),  # readings missing since the last one
        ("skipped", float),  # steps of time that passed without a reading, beyond the clock
        ("unbroken", float),  # readings since the beginning or the last gap
        ("last", float),  # the last reading
        ("centre", float),  # where values are taken from, and their unit
        ("spread", float),
        ("change", float),  # mean size of a change, of the last `memory` readings
        ("season", float),  # readings in a cycle; 0 while none is found
        ("unit", float),  # of all weights: instead of letting old counts fade, each new one counts for more
        ("counted", float),  # weight of the readings that levels were counted in
        ("since", float),  # readings since the last alarm
        ("strangest", float),  # of the memories, in this reading
    ]
)
_NUMBERS = CHANNEL.itemsize // 8
ERRORS, SHAPE, LEVEL, SPREAD, CYCLE, TOGETHER = range(6)  # the memories, in the order of `detector.KINDS`
LONGEST = 300  # readings that are kept, so the longest cycle that can be found
# Levels of the combined strangeness at which alarms are counted.
LEVEL_STEP, LEVELS = 0.1, 100
_LARGEST_UNIT, _SMALLEST = 1e6, 1e-30
_MARGIN = 0.1  # a later memory is told only if it is stranger by so much than those before it
# More readings than this missing in a row are a gap: memories begin anew, unless there is one all the time.
_GAP = 3
# After so many readings centre and spread are taken, again after four times as many, and a cycle is looked for.
_FIRST = 64
_USUAL = (24, 48, 96, 144, 168, 288)
_FARTHEST, _RIDGE = 8.0, 1e-3  # levels of columns count for so much at the most; what they differ by at the least


@compiled(inner=True)
def _is_power_of_four(number):
    while number >= 4.0:
        number /= 4.0
    return number == 1.0


# Of a detector; `quiet` is what a quiet stream gives at each level during the `prior` readings.
Settings = namedtuple(
    "Settings", "transitions inputs sizes lengths silence memory warmup quiet prior slope power threshold"
)
# The arrays of a `DetectorState`.
Channels = namedtuple("Channels", "numbers states stores histograms counts last ring lags profile mean precision")
# What is said of each reading, (time, channels); see `Surprise`.
Said = namedtuple("Said", "p alarm kind size direction neighbour")


@compiled(inner=True)
def _scaled(own, value):
    return math.asinh((value - own.centre) / own.spread)


@compiled(inner=True)
def _scale_anew(own, ring, states, stores, settings, work):
    """Centre and spread of the readings that are kept, if they were off; then the memories of values begin anew."""
    count = int(min(own.seen, LONGEST))
    for i in range(count):
        value, k = ring[i], i
        while k > 0 and work[k - 1] > value:
            work[k] = work[k - 1]
            k -= 1
        work[k] = value
    centre, spread = work[count // 2], (work[(3 * count) // 4] - work[count // 4]) / 1.349
    if not spread > 0.0:
        for i in range(count):
            spread += abs(work[i] - centre) / count
    if not spread > 0.0:
        spread = 1e-3 * abs(centre) if centre != 0.0 else 1.0
    if own.spread > 0.0 and 0.25 < spread / own.spread < 4.0:
        return
    own.centre, own.spread = centre, spread
    for j in (SHAPE, LEVEL):
        stores[j, :, NUMBER] = -1.0
        for i in range(count):
            back = count - 1 - i
            value = _scaled(own, ring[int(own.clock - 1 - back) % LONGEST])
            move(states[j], j, value, settings, i == 0)
            if i >= settings.lengths[j]:
                _, _, distance, beside = look_up(stores[j], states[j], -1.0)
                keep(stores[j], states[j], own.clock - 1 - back, distance, beside)


@compiled(inner=True)
def _compare_lags(own, ring, lags, value):
    """Mean difference from the reading before by every lag; a cycle is a lag at which it is small."""
    at = int(own.clock) % LONGEST
    fade = max(1.0 / (own.seen + 1.0), 1.0 / 4096)
    for lag in range(1, int(min(own.unbroken, LONGEST - 1)) + 1):
        difference = abs(value - ring[at - lag if at >= lag else at - lag + LONGEST])
        lags[lag] += max(fade, 1.0 / (own.seen + 1.0 - lag)) * (difference - lags[lag])


@compiled(inner=True)
def _find_season(own, lags):
    """The lag with the deepest dip beyond a rise to the mean; 0 if it is not below three quarters of the mean."""
    most = int(min(own.seen / 2, LONGEST - 2))
    mean = 0.0
    for lag in range(1, most + 1):
        mean += lags[lag] / most
    risen, best, found = False, 0.75 * mean, 0
    for lag in range(2, most):
        risen = risen or lags[lag] >= mean
        if risen and lags[lag] < lags[lag - 1] and lags[lag] <= lags[lag + 1] and lags[lag] < best:
            best, found = 0.95 * lags[lag], lag
    for usual in _USUAL:  # a dip is broad, and clocks are exact
        if found and usual <= most and abs(found - usual) <= 0.03 * usual and lags[usual] < 1.1 * lags[found]:
            return usual
    return found


@compiled(inner=True)
def _renew_season(own, ring, lags, profile, states, stores):
    """Look for a cycle; one that is clearly better than the present one begins with the readings that are kept."""
    found, season = _find_season(own, lags), int(own.season)
    if found == season or (season and (not found or lags[found] > 0.9 * lags[season])):
        return
    own.season = found
    states[CYCLE] = 0.0
    stores[CYCLE, :, NUMBER] = -1.0
    for back in range(found, 0, -1):
        number = int(own.clock) - back
        profile[(number + int(own.skipped)) % found] = ring[number % LONGEST]


@compiled(inner=True)
def _cycle(own, lags, profile, value):
    """Distance from the profile of the cycle, in mean differences from cycle to cycle; the profile then follows."""
    season = int(own.season)
    place = int(own.clock + own.skipped) % season
    away = value - profile[place]
    profile[place] += 0.25 * away
    return math.asinh(away / lags[season]) if lags[season] > 0.0 else 0.0


@compiled(inner=True)
def _p_value(counts, own, settings, combined):
    """Alarms per reading that a threshold at `combined` would have given; beyond the highest one, by a slope."""
    edge = LEVELS - 1
    found = counts[edge] / own.unit + settings.quiet[edge]
    while edge > 0 and found < 1.0:
        edge -= 1
        found = counts[edge] / own.unit + settings.quiet[edge]
    level = min(int(combined / LEVEL_STEP), LEVELS - 1)
    if level <= edge:
        found = counts[level] / own.unit + settings.quiet[level]
    else:
        found *= math.exp(-(combined - edge * LEVEL_STEP) / settings.slope)
    return min(max(found / (own.counted / own.unit + settings.prior), _SMALLEST), 1.0)


@compiled(inner=True)
def _inputs(own, lags, profile, value, error, given):
    """What each memory takes in; NaN where it has nothing to take in."""
    given[ERRORS] = math.asinh(error) if own.seen >= _FIRST else math.nan  # forecasts begin badly
    given[SHAPE] = given[LEVEL] = _scaled(own, value) if own.spread > 0.0 else math.nan
    change, given[SPREAD] = abs(value - own.last), math.nan
    if own.unbroken > 0.0:
        own.change += max(1.0 / own.seen, 1e-3) * (change - own.change)
        given[SPREAD] = math.log(change + 0.05 * own.change) if own.change > 0.0 else math.nan
    given[CYCLE] = _cycle(own, lags, profile, value) if own.season > 0.0 else math.nan


@compiled(inner=True)
def _add(c, t, j, own, channels, settings, said):
    """How far memory j is from its nearest past state; strangeness is summed in `said.p`, and the strangest is told."""
    state, store, histogram = channels.states[c, j], channels.stores[c, j], channels.histograms[c, j]
    distance, place, among_all, beside = look_up(store, state, own.clock - settings.lengths[j])
    strange, number, ahead = 0.0, -1.0, 0.0
    if place >= 0:
        strange = rank(histogram, distance, own.unit)
        number, ahead = store[place, NUMBER], state[0] - store[place, 0]
    keep(store, state, own.clock, among_all, beside)
    said.p[t, c] += strange**settings.power
    if strange > own.strangest + _MARGIN:
        own.strangest, said.kind[t, c], said.neighbour[t, c] = strange, j, int(number)
        said.size[t, c] = distance / median(histogram)
        said.direction[t, c] = 1 if ahead > 0.0 else -1 if ahead < 0.0 else 0


@compiled(inner=True)
def _take_in(c, t, own, value, error, channels, settings, given, said):
    """One reading of one channel: move its memories, judge them, and follow the stream."""
    ring, lags, profile, states = channels.ring[c], channels.lags[c], channels.profile[c], channels.states[c]
    if (own.missing > _GAP and own.unbroken >= _FIRST) or own.seen == 0.0:
        own.unbroken, own.last = 0.0, value
    _inputs(own, lags, profile, value, error, given)
    for j in range(TOGETHER):
        if not math.isnan(given[j]):
            move(states[j], j, given[j], settings, own.unbroken == (1.0 if j == SPREAD else 0.0))
            if own.unbroken >= settings.lengths[j]:
                _add(c, t, j, own, channels, settings, said)
    own.last, own.missing = value, 0.0
    _compare_lags(own, ring, lags, value)
    own.unbroken += 1.0
    ring[int(own.clock) % LONGEST] = value
    own.seen += 1.0


@compiled(inner=True)
def _compare_columns(t, values, channels, settings, work, said):
    """How far each column's level is from what the levels of the others let expect; see `DetectorState`."""
    mean, precision, count = channels.mean, channels.precision, len(channels.mean)
    away, weighed = work[:count], work[count : 2 * count]
    square, seen = 0.0, np.inf
    for c in range(count):
        own = channels.numbers[c, :_NUMBERS].view(CHANNEL)[0]
        seen = min(seen, own.seen - _FIRST)
        away[c] = min(max(channels.states[c, SHAPE, 0] - mean[c], -_FARTHEST), _FARTHEST)
    if seen < 1.0:
        return
    for c in range(count):
        weighed[c] = 0.0
        for k in range(count):
            weighed[c] += precision[c, k] * away[k]
        square += weighed[c] * away[c]
    for c in range(count):
        own = channels.numbers[c, :_NUMBERS].view(CHANNEL)[0]
        if not math.isnan(values[t, c]):
            move(
                channels.states[c, TOGETHER], TOGETHER, math.asinh(weighed[c] / math.sqrt(precision[c, c])),
                settings, own.unbroken == 1.0,
            )  # fmt: skip
            if own.unbroken > settings.lengths[TOGETHER] and seen > 2.0 * count:
                _add(c, t, TOGETHER, own, channels, settings, said)
    rate = max(1.0 / (seen + 1.0), 1.0 / 2048)
    for c in range(count):
        mean[c] += rate * away[c]
        for k in range(count):
            precision[c, k] = (precision[c, k] - rate * weighed[c] * weighed[k] / (1.0 + rate * square)) / (1.0 - rate)
    # A ridge, one column after the other: columns that always agree would make the precision infinite.
    turn, extra = int(seen) % count, count * rate * _RIDGE
    for c in range(count):
        weighed[c] = precision[c, turn]
    for c in range(count):
        for k in range(count):
            precision[c, k] -= extra * weighed[c] * weighed[k] / (1.0 + extra * weighed[turn])


@compiled(inner=True)
def _conclude(c, t, own, channels, settings, said):
    """From strangeness to p, and whether to give an alarm; then what was seen is counted."""
    histograms, counts, last = channels.histograms[c], channels.counts[c], channels.last[c]
    combined = said.p[t, c] ** (1.0 / settings.power)
    said.p[t, c] = 1.0
    if own.seen > settings.warmup:
        p = _p_value(counts, own, settings, combined)
        said.p[t, c] = p
        if p <= settings.threshold and own.since > settings.silence:
            said.alarm[t, c] = True
            own.since = 0.0
        # At each level up to its own this reading would have been an alarm, unless one was before.
        own.counted += own.unit
        for i in range(min(int(combined / LEVEL_STEP), LEVELS - 1) + 1):
            if own.clock - last[i] > settings.silence:
                counts[i] += own.unit
                last[i] = own.clock
    else:
        said.kind[t, c], said.neighbour[t, c], said.size[t, c], said.direction[t, c] = -1, -1, 0.0, 0
    own.unit *= math.exp(1.0 / settings.memory)
    if own.unit > _LARGEST_UNIT:
        histograms /= own.unit
        counts /= own.unit
        own.counted /= own.unit
        own.unit = 1.0


@compiled(_nrt=False, error_model="numpy")
def watch(values, errors, channels, settings, given, work, said):
    """Take in readings, (time, channels), and say what each means; `given` and `work` are room to work in."""
    for t in range(values.shape[0]):
        for c in range(values.shape[1]):
            own = channels.numbers[c, :_NUMBERS].view(CHANNEL)[0]
            said.p[t, c], said.alarm[t, c], said.kind[t, c] = 0.0, False, -1
            said.size[t, c], said.direction[t, c], said.neighbour[t, c] = 0.0, 0, -1
            own.since += 1.0
            own.strangest = 0.0
            if math.isnan(values[t, c]):
                channels.ring[c, int(own.clock) % LONGEST] = own.last
                own.missing += 1.0
            else:
                _take_in(c, t, own, values[t, c], errors[t, c], channels, settings, given, said)
        if len(channels.mean) > 1:
            _compare_columns(t, values, channels, settings, work, said)
        for c in range(values.shape[1]):
            own = channels.numbers[c, :_NUMBERS].view(CHANNEL)[0]
            if math.isnan(values[t, c]):
                said.p[t, c] = 1.0
                own.clock += 1.0
                continue
            _conclude(c, t, own, channels, settings, said)
            own.clock += 1.0
            if own.seen >= _FIRST and _is_power_of_four(own.seen / _FIRST):
                _scale_anew(own, channels.ring[c], channels.states[c], channels.stores[c], settings, work)
            if own.seen >= 2 * _FIRST and own.seen % _FIRST == 0.0:
                _renew_season(
                    own, channels.ring[c], channels.lags[c], channels.profile[c], channels.states[c], channels.stores[c]
                )
