"""Gaps and outliers: which value of a cell is learnt.

A value far from what was expected is winsorised before memories learn it. If the values after it return to what was
expected it was an outlier, and what it had done to the scale of errors, the brake and the trends is taken back; if they
stay, there was a level shift. A missing value is taken to be what was forecast of it. Outliers among the first cells
are looked for once; a stream that has any begins anew as if they were missing.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._internal.compiled import compiled

# State of a channel.
CLEANER = np.dtype(
    [
        ("last_value", float),  # the last one measured
        ("first_value", float),  # since the channel began, or began anew after a silence
        ("reference", float),  # the first one ever; memories and the mean are kept relative to it
        ("total", float),  # sum and weight of learnt values relative to the reference: their mean
        ("count", float),
        ("is_begun", float),
        ("age", float),  # cells since the first value
        ("silent", float),  # cells since the last value
        ("lowest", float),  # of all values
        ("highest", float),
        ("is_whole", float),  # 1 as long as all values are whole numbers from 0 on: counts
        ("pairs", float),  # of a past and its future, complete
        ("expected", float),  # of the next cell: the ensemble's mean before the brake, and its absolute error
        ("expected_error", float),
        ("suspects", float),  # values in a row that may be outliers
        ("expected_before", float),  # what was expected of the first of them
        ("shift", float),  # how far the level has come by surprises alone; and what it was before the suspects
        ("shift_before", float),
    ]
)

# An error of so many expected absolute errors is a surprise: beyond it values are winsorised, and the last value is
# believed rather than the ensemble.
SURPRISE = 8.0
# Cells before anything can be a surprise: nobody knows the usual error yet.
WARMUP = 32
# A suspected outlier has an error of so many expected ones. Without a season no outlier is ever forecast again, so
# that only absurd ones need to be known.
_OUTLIER, _ABSURD = 32.0, 1000.0
# Values return after so many cells at most; after more of them there was a level shift.
_LONGEST_OUTLIER = 3
# Cells after which outliers among the first ones are looked for.
FIRST_CELLS = 64
# Values on either side that one is compared with; two outliers side by side do not move their median.
_NEIGHBOURS = 3
# A value so many usual distances from its neighbours is an outlier if it is the only one; a few are if they are absurd.
# Chosen on seeds 0 to 9 of tests/troubled_streams.py.
_EARLY_FAR, _EARLY_ABSURD, _FEW_EARLY = 30.0, 1000.0, 3
# The share of distances, the largest ones, that say nothing of what is usual.
_TRIMMED = 0.1


@compiled(inner=True, inline="always")
def start(cleaner, value, anew):
    """The first value of a channel, or the first after a long silence: its past was constant at it."""
    cleaner.first_value = value
    if not anew:
        cleaner.reference = value
        cleaner.lowest, cleaner.highest = value, value
        cleaner.is_whole = 1.0
    cleaner.last_value = value
    cleaner.is_begun = 1.0
    cleaner.age = 0.0
    cleaner.suspects = 0.0


@compiled(inner=True)
def is_outlier(log, place, now):
    """Whether the cells up to `now` have shown that the value of this one was an outlier."""
    found = False
    for j in range(1, min(_LONGEST_OUTLIER, now - place) + 1):
        found = found or log[place + j].returned >= j
    return found


@compiled(inner=True)
def settled_value(log, place, now):
    """The value of a cell; of an outlier what was expected in its place."""
    return log[place].expected if is_outlier(log, place, now) else log[place].value


@compiled(inner=True)
def find_suspect(cleaner, log, now, value, is_surprise, seasons):
    """Count suspected outliers: 1 for the first of them, -1 for the value that shows they were outliers, else 0."""
    if cleaner.suspects > 0:
        if abs(value - cleaner.expected_before) < 0.5 * abs(log[now - 1].value - cleaner.expected_before):
            log[now].returned = cleaner.suspects
            cleaner.suspects, cleaner.shift = 0.0, cleaner.shift_before
            return -1
        cleaner.suspects = cleaner.suspects + 1.0 if cleaner.suspects < _LONGEST_OUTLIER else 0.0
        return 0
    apart, most = abs(value - cleaner.expected), SURPRISE * cleaner.expected_error
    if is_surprise and most > 0 and apart * SURPRISE > (_OUTLIER if len(seasons) > 0 else _ABSURD) * most:
        cleaner.expected_before, cleaner.shift_before = cleaner.expected, cleaner.shift
        cleaner.suspects = 1.0
        return 1
    return 0


@compiled(inner=True, inline="always")
def is_surprising(cleaner, value, at_hand, guard):
    """Whether a value is a surprise; `at_hand` says whether a forecast of it was made."""
    apart, most = abs(value - cleaner.expected), SURPRISE * cleaner.expected_error
    return guard and cleaner.age > WARMUP and at_hand and apart > most


@compiled(inner=True, inline="always")
def take_value(cleaner, log, now, value, is_surprise, keep):
    """Hold a value that was measured; returns the one that is learnt, winsorised if it is a surprise."""
    if value != math.floor(value) or value < 0:
        cleaner.is_whole = 0.0
    cleaner.lowest, cleaner.highest = min(cleaner.lowest, value), max(cleaner.highest, value)
    cleaner.last_value = value
    cleaner.silent = 0.0
    learnt = value
    if is_surprise:
        apart, most = abs(value - cleaner.expected), SURPRISE * cleaner.expected_error
        cleaner.shift += value - cleaner.expected
        learnt = cleaner.expected + (value - cleaner.expected) * (most / apart)
    if cleaner.suspects > 1:
        learnt = log[now - 1].learnt  # a level shift or outliers: the next cells will tell
    cleaner.total = cleaner.total * keep + (learnt - cleaner.reference)
    cleaner.count = cleaner.count * keep + 1.0
    return learnt


@compiled(inner=True, inline="always")
def mean_of(cleaner):
    """The mean of all values, winsorised."""
    return cleaner.reference + (cleaner.total / cleaner.count if cleaner.count > 0 else 0.0)


@compiled(inner=True)
def fill_gap(cleaner, log, pending, due, count, now, plan):
    """A cell without a value; returns what is taken for it.

    The forecast from the last value; beyond the horizon the season, then no change, after a silence the mean.
    """
    cleaner.silent += 1.0
    cleaner.suspects = 0.0
    if cleaner.silent > plan.silence:
        return mean_of(cleaner)
    for i in range(count):
        if due[i].lead + 1 >= cleaner.silent:
            return pending.leads[due[i].slot].mean
    for s in range(len(plan.seasons) - 1, -1, -1):
        if cleaner.age > plan.seasons[s]:
            return settled_value(log, now - plan.seasons[s], now - 1)
    return log[now - 1].value


def early_outliers(
    values: Float[np.ndarray, " cells"], observed: Bool[np.ndarray, " cells"]
) -> Bool[np.ndarray, " cells"]:
    """Which values are far from their neighbours, while those before and after them agree: no level shift."""
    found, places = np.zeros(len(values), bool), np.flatnonzero(observed)
    if len(places) < FIRST_CELLS // 2:
        return found
    x = values[places]
    around = np.stack([np.roll(x, shift) for shift in range(-_NEIGHBOURS, _NEIGHBOURS + 1) if shift])
    for edge in range(_NEIGHBOURS):  # the first and the last have neighbours on one side
        around[:, edge] = np.delete(x[: 2 * _NEIGHBOURS + 1], edge)
        around[:, -1 - edge] = np.delete(x[-2 * _NEIGHBOURS - 1 :], -1 - edge)
    distance = np.abs(x - np.median(around, axis=0))
    usual = float(np.sort(distance)[: int(len(x) * (1 - _TRIMMED))].mean())
    is_far = distance > _EARLY_FAR * usual
    near = np.flatnonzero(~is_far)
    if not is_far.any() or len(near) < 2:
        return found
    place = np.searchsorted(near, np.arange(len(x)))
    before, after = x[near[np.maximum(place - 1, 0)]], x[near[np.minimum(place, len(near) - 1)]]
    returns = (
        is_far
        & (place < len(near))
        & (np.abs(after - before) < 0.5 * np.minimum(np.abs(x - before), np.abs(x - after)))
    )
    if returns.sum() > 1:  # several alike may be what the stream does
        returns &= distance > _EARLY_ABSURD * usual
    if returns.sum() <= _FEW_EARLY:
        found[places[returns]] = True
    return found
