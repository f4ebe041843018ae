"""The compiled loop of events: one reading of every channel after the other, so that pieces of any length agree."""

from __future__ import annotations

import math

import numpy as np

from hippozoo._internal.compiled import compiled

__all__ = ["BACK", "ENDED", "EVENT", "GAPS", "LONGER", "MISSING", "USUAL_GAPS", "follow"]

GAPS = 8
# Of each channel.
EVENT = np.dtype(
    [
        ("open", float),  # whether an event is on
        ("begun", float),  # number and time of the reading with which it began
        ("begun_time", float),
        ("told", float),  # number and time of the last alarm that was told
        ("told_time", float),
        ("rarest", float),  # the smallest p-value told since the last silence
        ("kinds", float),  # kinds and directions told since then, one bit each
        ("ways", float),
        ("strange", float),  # number of the last strange reading
        ("calm", float),  # time of the first reading after it
        ("count", float),  # strange readings of the event
        ("normal", float),  # time of the first reading after the last one that was off
        ("was_off", float),  # whether the last reading was off
        ("usual_run", float),  # readings up to the last one that were neither off nor far from what is usual
        ("returned", float),  # whether there have been enough of these since the last alarm
        ("after_gap", float),  # number of the first reading after the last gap
        ("mean", float),  # of values outside events, with their variance and number
        ("variance", float),
        ("values", float),
        ("seen", float),  # time of the last value
        ("absent", float),  # whether it has been told that there are no data
        ("low", float),  # the lowest and highest value, and the largest error, each with its time
        ("low_time", float),
        ("high", float),
        ("high_time", float),
        ("error", float),
        ("error_time", float),
        ("error_value", float),
        ("gaps", float, (GAPS,)),  # lengths of the last gaps
    ]
)
_WIDTH = EVENT.itemsize // 8
# What a reading has ended or noticed, as bits.
ENDED, MISSING, BACK = 1, 2, 4
# Gaps that have come so often are usual, up to this factor.
USUAL_GAPS, LONGER = 3, 1.5


@compiled(inner=True)
def _longest_usual(gaps):
    """The length of gap that has come often enough to be usual; 0 without one."""
    best = 0.0
    for i in range(GAPS):
        as_long = 0
        for j in range(GAPS):
            if gaps[j] >= gaps[i]:
                as_long += 1
        if as_long >= USUAL_GAPS and gaps[i] > best:
            best = gaps[i]
    return LONGER * best


@compiled(inner=True)
def _data(own, value, time, number, limits, marks, when):
    """Note that a value came, or that none has for too long."""
    gap, no_data, warmup = limits
    passed = time - own.seen
    limit = max(no_data, _longest_usual(own.gaps))
    if own.absent == 0.0 and number >= warmup and passed > limit:
        if own.open == 0.0:
            own.open, own.begun, own.begun_time, own.count = 1.0, number, own.seen, 0.0
        own.absent = 1.0
        marks |= MISSING
        when[1], when[2] = own.seen, own.seen + limit
    if math.isnan(value):
        return marks
    if passed > gap:
        for i in range(GAPS - 1):
            own.gaps[i] = own.gaps[i + 1]
        own.gaps[GAPS - 1] = passed
    if own.absent > 0.0:
        own.absent, own.open = 0.0, 0.0
        marks |= BACK
        when[3] = own.begun
    own.seen = time
    return marks


@compiled(inner=True)
def _events(own, value, p, error, time, number, bounds, marks, when):
    """Note a strange reading; end an event after which enough came that were not.

    Where values have not come back to what was usual, that takes longer: then another level has become usual.
    """
    strange, off_error, back, usual, longer, returned = bounds
    off = abs(error) > off_error
    near = abs(value - own.mean) <= usual * math.sqrt(own.variance)
    if not math.isnan(value):
        own.usual_run = own.usual_run + 1.0 if near and not off else 0.0
        if own.usual_run >= returned:
            own.returned = 1.0
    if off or (own.was_off > 0.0 and not math.isnan(error)):
        own.normal, own.was_off = time, 1.0 if off else 0.0
    if p <= strange:
        own.strange, own.calm = number, np.nan
        own.count += 1.0
        return marks
    if math.isnan(own.calm):
        own.calm = time
    if own.open == 0.0 or own.absent > 0.0 or math.isnan(value):
        return marks
    if number - own.strange >= (back if near else longer):
        own.open = 0.0
        # A window stays strange when its readings are not: all is normal after the last that was off.
        when[0] = own.normal if own.normal > own.begun_time else own.calm
        when[4] = own.begun
        marks |= ENDED
    return marks


@compiled(inner=True)
def _remember(own, value, error, time, forgetting):
    """What is usual, and the extremes so far."""
    if math.isnan(value):
        return
    if own.open == 0.0:
        own.values = min(own.values + 1.0, forgetting)
        change = value - own.mean
        own.mean += change / own.values
        own.variance += (change * (value - own.mean) - own.variance) / own.values
    if value < own.low:
        own.low, own.low_time = value, time
    if value > own.high:
        own.high, own.high_time = value, time
    if abs(error) > own.error:
        own.error, own.error_time, own.error_value = abs(error), time, value


@compiled(error_model="numpy")
def follow(events, rows, error, p, times, first, limits, bounds, forgetting, marks, when):
    """Take in readings, (time, channels); what each ends or notices goes to `marks`, with its times to `when`.

    Parameters
    ----------
    events
        (channels, width), of `EVENT`; written over.
    rows, error, p
        (time, channels): values, errors in units of the expected one, p-values.
    times, first
        Of the readings, and the number of the first.
    limits
        A step that is a gap; how long there may be no data; how many readings come before that is known.
    bounds
        The p-value of a strange reading, the error of one that is off, how many quiet ones end an event, within how
        many deviations of what is usual, how many do elsewhere, and after how many usual ones a relapse is news.
    forgetting
        Readings over which what is usual is forgotten.
    marks, when
        (time, channels) and (time, channels, 5), written into: since when all is normal, since when there are no data
        and when that is too long, the beginning of the event that data end, and of the one that has ended.
    """
    for t in range(rows.shape[0]):
        number = float(first + t)
        for c in range(rows.shape[1]):
            own = events[c, :_WIDTH].view(EVENT)[0]
            found = _data(own, rows[t, c], times[t], number, limits, 0, when[t, c])
            found = _events(own, rows[t, c], p[t, c], error[t, c], times[t], number, bounds, found, when[t, c])
            _remember(own, rows[t, c], error[t, c], times[t], forgetting)
            marks[t, c] = found
