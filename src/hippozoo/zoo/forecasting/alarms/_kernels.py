"""Compiled loops of the detector: one reading of every channel after the other; arrays in and out, no checks."""

from __future__ import annotations

import math
from typing import no_type_check

import numpy as np

from hippozoo._compiled import compiled

__all__ = ["BINS", "LEVELS", "NUMBERS", "RING", "watch", "watch_one"]

# Single numbers of a channel: readings seen, fading mean and variance of the values, weights of the histograms and of
# the counts, where the rings stand, readings since the last alarm, readings since the beginning, and the unit of all
# weights: instead of letting thousands of old counts fade with every reading, each new one counts for more.
SEEN, MEAN, VARIANCE, WEIGHT, COUNTED, AT, SINCE, CLOCK, UNIT = range(9)
NUMBERS = 9
_LARGEST_UNIT = 1e6
RING = 64  # at least the longest window

# Histograms of the features: bins of equal ratio.
PER_OCTAVE = 16.0
LOWEST_OCTAVE = -10.0
BINS = 22 * 16
# Levels of the combined strangeness at which alarms are counted.
LEVEL_STEP = 0.05
LEVELS = 200

# A value counts for so many deviations at the most: in its level, in the running mean, in the errors.
_LEVEL_CLIP, _MEAN_CLIP, _ERROR_CLIP = 8.0, 6.0, 3.0
_STEADY = 30  # readings before the mean is guarded against outliers
# Above this share of its past a feature's distribution is a power law, with a prior worth some exceedances.
_TOP, _FEWEST = 0.05, 10.0
_TAIL_PRIOR, _TAIL_WEIGHT = 0.25, 5.0
_SLOPE = 1 / math.log(10.0)
_SMALLEST = 1e-30
# A single error, and a calm, have to be ten times as rare as the others: streams are full of lone outliers and rests.
_HANDICAP = 1.0
# Errors below this share of the forecast's deviation are all alike: as calm as can be.
_CALMEST = 1e-3


@compiled()
@no_type_check
def _bin(feature):
    if not feature > 0.0:
        return 0
    place = int((math.log2(feature) - LOWEST_OCTAVE) * PER_OCTAVE)
    return min(max(place, 0), BINS - 1)


@compiled()
@no_type_check
def _strangeness(counts, weight, unit, feature):
    """-log10 of the share of its past that a feature exceeds; beyond the top share by a power law."""
    wanted = max(_TOP * weight, _FEWEST * unit)
    above, edge, logs = 0.0, BINS - 1, 0.0
    for i in range(BINS - 1, -1, -1):
        if above + counts[i] > wanted:
            break
        above += counts[i]
        edge = i
        logs += counts[i] * (i + 0.5)
    place = _bin(feature)
    if place < edge or above == 0.0:
        more = above + 0.5 * counts[place]
        for i in range(place + 1, edge):
            more += counts[i]
        share = (more + unit) / (weight + unit)
    else:
        octave = math.log(2.0) / PER_OCTAVE
        mean_excess = (logs / above - edge) * octave
        prior = _TAIL_WEIGHT * unit
        inverse = (mean_excess * above + _TAIL_PRIOR * prior) / (above + prior)
        excess = max((math.log2(feature) - LOWEST_OCTAVE) * PER_OCTAVE - edge, 0.0) * octave
        share = (above + unit) / (weight + unit) * math.exp(-excess / inverse)
    return -math.log10(max(share, _SMALLEST))


@compiled()
@no_type_check
def _rarity(counts, counted, unit, quiet, prior, enough, combined):
    """How many alarms per reading a threshold at `combined` would have given; beyond the few, by their slope.

    `quiet` is what a quiet stream would have given during the readings that the prior is worth.
    """
    edge = LEVELS - 1
    excess = 0.0
    base = counts[edge] / unit + quiet[edge]
    while edge > 0 and base < enough:
        excess += base * LEVEL_STEP
        edge -= 1
        base = counts[edge] / unit + quiet[edge]
    if combined <= edge * LEVEL_STEP:
        level = min(int(combined / LEVEL_STEP), LEVELS - 1)
        found = counts[level] / unit + quiet[level]
    else:
        scale = (excess + _TAIL_WEIGHT * _SLOPE) / (base + _TAIL_WEIGHT)
        found = base * math.exp(-(combined - edge * LEVEL_STEP) / scale)
    return min(max(found / (counted / unit + prior), _SMALLEST), 1.0)


@compiled()
@no_type_check
def watch_one(
    value, error, own, rings, histograms, counts, last, windows, error_window, forgetting, memory, silence, warmup,
    quiet, prior, enough, threshold,
):  # fmt: skip
    """One channel takes in one reading: p, the feature that was strangest, its size, and whether to give an alarm."""
    own[CLOCK] += 1.0
    own[SINCE] += 1.0
    p, strangest, size, alarm = 1.0, -1, 0.0, False
    if math.isnan(value):
        return p, strangest, size, alarm
    features = np.empty(len(windows) + 4)
    deviation = math.sqrt(own[VARIANCE])
    level = 0.0
    if deviation > 0.0:
        level = min(max((value - own[MEAN]) / deviation, -_LEVEL_CLIP), _LEVEL_CLIP)
    shock = 0.0 if math.isnan(error) else min(max(error, -_ERROR_CLIP), _ERROR_CLIP)
    at = int(own[AT])
    rings[0, at], rings[1, at] = level, shock
    seen = int(own[SEEN]) + 1
    for j in range(len(windows)):
        length = min(windows[j], seen)
        total = 0.0
        for i in range(length):
            total += rings[0, (at - i) % RING]
        features[j] = abs(total) / length
    length = min(error_window, seen)
    total, squares = 0.0, 0.0
    for i in range(length):
        one = rings[1, (at - i) % RING]
        total += one
        squares += one * one
    spread = math.sqrt(squares / length)
    features[len(windows)] = spread
    features[len(windows) + 1] = abs(total) / math.sqrt(length)
    features[len(windows) + 2] = 1.0 / (spread + _CALMEST)
    features[len(windows) + 3] = 0.0 if math.isnan(error) else abs(error)

    unit = own[UNIT]
    if own[WEIGHT] >= warmup * unit:
        combined = 0.0
        for j in range(len(features)):
            one = _strangeness(histograms[j], own[WEIGHT], unit, features[j])
            if j >= len(features) - 2:
                one -= _HANDICAP
            if one > combined:
                combined, strangest = one, j
        p = _rarity(counts, own[COUNTED], unit, quiet, prior, enough, combined)
        if strangest >= 0:
            size = features[strangest]
        if p <= threshold and own[SINCE] > silence:
            alarm = True
            own[SINCE] = 0.0
        own[COUNTED] += unit
        for i in range(min(int(combined / LEVEL_STEP), LEVELS - 1) + 1):
            if own[CLOCK] - last[i] > silence:
                counts[i] += unit
                last[i] = own[CLOCK]
    for j in range(len(features)):
        histograms[j, _bin(features[j])] += unit
    own[WEIGHT] += unit
    own[UNIT] = unit * math.exp(1.0 / memory)
    if own[UNIT] > _LARGEST_UNIT:
        for total in (histograms.reshape(-1), counts):
            total /= own[UNIT]
        own[WEIGHT] /= own[UNIT]
        own[COUNTED] /= own[UNIT]
        own[UNIT] = 1.0

    if seen > _STEADY and deviation > 0.0:
        reach = _MEAN_CLIP * deviation
        value = min(max(value, own[MEAN] - reach), own[MEAN] + reach)
    step = max(1.0 / seen, 1.0 / forgetting)
    change = value - own[MEAN] if seen > 1 else 0.0
    own[MEAN] = own[MEAN] + step * change if seen > 1 else value
    own[VARIANCE] = (1.0 - step) * (own[VARIANCE] + step * change * change)
    own[SEEN], own[AT] = seen, (at + 1) % RING
    return p, strangest, size, alarm


@compiled()
@no_type_check
def watch(
    values, errors, numbers, rings, histograms, counts, last, windows, error_window, forgetting, memory, silence,
    warmup, quiet, prior, enough, threshold, p, kind, size, alarm,
):  # fmt: skip
    """Take in readings (time, channels); fill p, the feature that was strangest, its length in readings, and alarms."""
    for t in range(len(values)):
        for c in range(values.shape[1]):
            p[t, c], kind[t, c], size[t, c], alarm[t, c] = watch_one(
                values[t, c], errors[t, c], numbers[c], rings[c], histograms[c], counts[c], last[c], windows,
                error_window, forgetting, memory, silence, warmup, quiet, prior, enough, threshold,
            )  # fmt: skip
