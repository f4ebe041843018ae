"""Compiled loops of the mixture: one cell of every channel after the other; arrays in, arrays out, no checks.

All that is kept per channel between two renewals of its maps stands in one row of `live`, so that a new state is one
copy. `offsets` says what begins where (see `mixture.Layout`), and these are its places.
"""

from __future__ import annotations

import math
from typing import no_type_check

import numpy as np

from hippozoo._compiled import compiled

__all__ = [
    "BEGINNER_POWER",
    "HELD",
    "PLACES",
    "beginning",
    "drift_part",
    "issue",
    "look_ahead",
    "scan_pairs",
    "settled",
    "shares_of",
    "take_in",
    "workspace",
]

# Single numbers at the beginning of a row.
HELD, REF, FIRST, SUM, COUNT, WHOLE, RUN, LONGEST, TRUST, BEGUN, AGE, SILENT, LONG, LONG_W, FAST, FAST_W, MID, MID_W = (
    range(18)
)
# What the mixture expects of the next cell, before any guard, and the error to expect of it.
EXPECTED, EXPECTED_SIZE = 18, 19
# Pairs of a past and its future that are complete.
PAIRS = 20
# What the last complete origins have cost beside the last value; the errors of the last value, so far and lately, and
# of how many cells; and how much of the mixture is left beside the last value.
ACCOUNT, MOVED, MOVES, LATELY, LATELY_W, LEFT = 21, 22, 23, 24, 25, 26
# How far the level has come by surprises alone.
JUMPS = 27
# Of values in a row that lie far from what was expected: how many, what was expected of the first and the jumps before
# it, and what sizes of errors and costs of the last value would be without them.
WILD, FORESEEN_FIRST, JUMPS_BEFORE, TAME_LONG, TAME_FAST, TAME_MID, TAME_MOVED, TAME_LATELY = range(28, 36)
PLACES = 36
# Where the parts of a row begin: the order of `offsets`.
TRENDS, MEMORIES, PROFILE, SLOW, SLOW_W, RECENT, BASE, SINCE, SIZES, USUAL, LOSS, COUNTS, FOLLOW, TOP, TAME, BEFORE = (
    range(16)
)
# Columns of the log of cells. BACK: of how many cells before this one it has shown that they were outliers.
VALUE, SEEN, ODD, CLEAN, JUMPED, BACK, FORESEEN, LEVERAGE = range(8)
SCALES = 5  # ways to expect the size of an error
BINS = 64  # of the distribution of errors in units of the expected size, six to an octave
PER_OCTAVE = 6.0
LOWEST_OCTAVE = -3.0
LEAST_DRIFT = 8  # cells over which the recent drift is measured, two horizons if these are longer

# Time constants, in cells: how fast sizes of errors are forgotten.
_FAST, _MIDDLE, _LONG = 1 / 8, 1 / 32, 1 / 512
_RECENT = 1 / 3
# An error this many times its usual size is a surprise; from there on the last value is believed, not the mixture.
_SURPRISE = 8.0
# Before so many cells were seen nobody knows what is odd.
_CALM = 32
# A value is an outlier if its error is so many times the usual, and if values come back after so many cells at most;
# after more of them there was a step. What happens more often than once in sixty cells is no outlier: its errors would
# be part of the usual.
# Without a season none is ever forecast again, so that only absurd ones need to be known.
_OUTLIER, _ABSURD, _OUTLIERS = 32.0, 1000.0, 3
# After a gap errors grow as a random walk's do, up to so many horizons.
_LONGEST_GROWTH = 16.0
# The least error of all counts up to so many times its usual size.
_CAP = 4.0
# A past that is this far out, in units of the mean leverage, moves a map no more than one at this distance.
_FAR = 16.0
# What is left of the change since last season with every cell further ahead, where it fades.
FADE = 0.9
_ROUGHLY = 1e-12
# Errors made before so many horizons, and so many cells at least, were seen are those of a beginner: among all errors
# they count by this power of the share.
_BEGINNER_HORIZONS, _BEGINNER_CELLS = 8, 48
BEGINNER_POWER = 4
# The mixture may cost so many times what the last value does, and so many times its mean error so far on top, within
# about so many cells; beyond that it is drawn to the last value.
_TIMES_LAST, _CREDIT, _ACCOUNT_CELLS = 3.0, 2.0, 100.0
# Ways to expect a size are mixed by their likelihood over so many errors that tell something new.
_LIKELIHOOD = 24.0


@compiled()
@no_type_check
def _add_columns(sums, columns, x, count, size, lower):
    """Add a matrix times x, given by its columns; of a lower triangular one what lies below the diagonal.

    Several columns at a time, so that loops run over neighbours; each sum is added up in the order of the columns.
    """
    j = 0
    while not lower and j + 8 <= count:
        x0, x1, x2, x3, x4, x5, x6, x7 = x[j], x[j + 1], x[j + 2], x[j + 3], x[j + 4], x[j + 5], x[j + 6], x[j + 7]
        for i in range(size):
            half = sums[i] + columns[j, i] * x0 + columns[j + 1, i] * x1 + columns[j + 2, i] * x2
            half = half + columns[j + 3, i] * x3 + columns[j + 4, i] * x4 + columns[j + 5, i] * x5
            sums[i] = half + columns[j + 6, i] * x6 + columns[j + 7, i] * x7
        j += 8
    while j + 4 <= count:
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(j if lower else 0, size):
            half = sums[i] + columns[j, i] * x0 + columns[j + 1, i] * x1
            sums[i] = half + columns[j + 2, i] * x2 + columns[j + 3, i] * x3
        j += 4
    while j < count:
        xj = x[j]
        for i in range(j if lower else 0, size):
            sums[i] += columns[j, i] * xj
        j += 1


@compiled()
@no_type_check
def _outlying(log, place, now):
    """Whether the cells up to `now` have shown that the value of this one was an outlier."""
    found = False
    for j in range(1, min(_OUTLIERS, now - place) + 1):
        found = found or log[place + j, BACK] >= j
    return found


@compiled()
@no_type_check
def _settled(log, place, now):
    """The value of a cell; of an outlier what was expected in its place."""
    return log[place, FORESEEN] if _outlying(log, place, now) else log[place, VALUE]


@compiled()
@no_type_check
def settled(log, end, values):
    """The values of all cells before `end`, outliers replaced by what was expected in their place."""
    for place in range(end):
        values[place] = _settled(log, place, end - 1)


@compiled()
@no_type_check
def _step_memories(live, at, orders, inputs, A_T, b, y, differences, scratch):
    """Memories of the signal (input -1) and of its seasonal differences, one cell further."""
    width = A_T.shape[1]
    for m in range(len(orders)):
        q = orders[m]
        begin = at + m * width
        u = y if inputs[m] < 0 else differences[inputs[m]]
        for i in range(q):
            scratch[i] = b[m, i] * u
        _add_columns(scratch, A_T[m], live[begin : begin + q], q, q, False)
        for i in range(q):
            live[begin + i] = scratch[i]


@compiled()
@no_type_check
def _begin(live, offsets, value, anew):
    """The first sample of a channel, or the first after a long silence: its past was constant at it."""
    live[FIRST] = value
    if not anew:
        live[REF] = value
        live[WHOLE] = 1.0
        live[LONGEST] = 0.0
    live[HELD] = value
    live[BEGUN] = 1.0
    live[AGE] = 0.0
    live[RUN] = 0.0
    live[TRUST] = 1.0
    live[LEFT] = 1.0
    live[ACCOUNT] = 0.0
    live[WILD] = 0.0
    for i in range(offsets[TRENDS], offsets[MEMORIES], 2):
        live[i] = value
        live[i + 1] = 0.0


@compiled()
@no_type_check
def beginning(horizon):
    """The cells after which a new error counts in full."""
    return max(_BEGINNER_HORIZONS * horizon, _BEGINNER_CELLS)


@compiled()
@no_type_check
def _bin(size):
    """The bin of an error in units of the expected one."""
    if size <= 0.125:
        return 0
    place = int((math.log2(size) - LOWEST_OCTAVE) * PER_OCTAVE) + 1
    return min(place, BINS - 1)


@compiled(error_model="numpy")
@no_type_check
def _score(
    live, offsets, log, now, rows, origins, first_row, used, cell, value, horizon, stride, experts, decay, guard,
    errors, least, wild,
):  # fmt: skip
    """Compare every forecast that is under way with the value that came; `errors` and `least` are room to work in.

    Returns how odd the value is, and the most that the mixture has cost beside the last value since any origin. What
    a `wild` value adds to sizes can be taken back if the value was an outlier.
    """
    H = horizon
    due = experts + 4 + SCALES
    owed, highest, moved = 0.0, 0.0, 0.0
    account = live[ACCOUNT] * (1.0 - 1.0 / _ACCOUNT_CELLS)
    slow, weight, recent, base = offsets[SLOW], offsets[SLOW_W], offsets[RECENT], offsets[BASE]
    sizes, usual, loss, counts, follow = (
        offsets[SIZES],
        offsets[USUAL],
        offsets[LOSS],
        offsets[COUNTS],
        offsets[FOLLOW],
    )
    surprise = 0.0
    counted = min(live[AGE] / beginning(H), 1.0) ** BEGINNER_POWER
    # What nobody could foresee is no reason to prefer anybody: each forecast answers for what it adds to the
    # least error, and the least one itself counts up to a few times the usual.
    count = 0
    while used - count > first_row and cell - origins[used - 1 - count] - 1 < H:
        row = used - 1 - count
        k = cell - origins[row] - 1
        for e in range(experts):
            errors[e, count] = abs(value - rows[row, k, e])
        least[count] = np.inf
        count += 1
    for e in range(experts):
        for i in range(count):
            least[i] = errors[e, i] if errors[e, i] < least[i] else least[i]
    for i in range(count):
        row = used - 1 - i
        k = cell - origins[row] - 1
        believed = rows[row, k, experts + 3 + SCALES]
        sigma = rows[row, k, experts + 1 + SCALES]
        error = value - rows[row, k, experts]
        size = abs(error)
        w = live[weight + k]
        compared = w > 0
        z = 0.0
        if sigma > 0:
            z = error / sigma
            z = max(-1e6, min(1e6, z))
        elif size > 0 and compared:
            z = 1e6 if error > 0 else -1e6
        if k == 0:
            surprise = abs(z)
        if believed == 0 or (guard and _outlying(log, now - 1 - k, now)):
            # Issued in a gap, of which the lead says too little, or from an outlier: it tells of nothing to come.
            rows[row, k, experts + 2 + SCALES] = 0.0
            rows[row, k, due] = rows[row, k - 1, due] if k > 0 else 0.0
            continue
        keep_all = 1.0 - (1.0 - decay) * believed
        usual_least = live[base + k] / w if w > 0 else least[i]
        capped = min(least[i], _CAP * usual_least) if guard and usual_least > 0 else least[i]
        live[base + k] = live[base + k] * keep_all + believed * capped
        own, lowest = slow + k * experts, least[i]
        for e in range(experts):
            live[own + e] = live[own + e] * keep_all + believed * (abs(value - rows[row, k, e]) - lowest)
        if k == 0:
            for e in range(experts):
                live[recent + e] += _RECENT * ((abs(value - rows[row, k, e]) - lowest) - live[recent + e])
        live[weight + k] = w * keep_all + believed
        change = abs(value - log[now - 1 - k, VALUE]) * stride / H
        moved += change
        costs = size * stride / H - _TIMES_LAST * change + (rows[row, k - 1, due] if k > 0 else 0.0)
        rows[row, k, due] = costs
        if k == H - 1:
            account = max(account + costs, 0.0)
        else:
            owed += costs * (H / (k + 1))  # the leads to come will cost as much
            highest = max(highest, owed)
        # How large errors are, beside what each way expected, with a long memory.
        keep = 1.0 - _LONG
        plain = live[sizes + k]
        seen, first = live[usual + k * SCALES], rows[row, k, experts + 1]
        if plain > 0 and seen > 0 and first > 0:
            unit = plain / seen * first
            calm = min(size / unit, 50.0)
            for j in range(SCALES):
                s, known = rows[row, k, experts + 1 + j], live[usual + k * SCALES + j]
                if known > 0 and s > 0:
                    expected = plain / known * s
                    at = loss + k * SCALES + j
                    # The first way, and those that say the same, need no logarithm.
                    cost = calm if expected == unit else math.log(expected / unit) + min(size / expected, 50.0)
                    live[at] += (1.0 / 128.0) * (cost - live[at])
        for j in range(SCALES):
            place = usual + k * SCALES + j
            live[place] = live[place] * keep + rows[row, k, experts + 1 + j]
        live[sizes + k] = plain * keep + size
        if wild:
            live[offsets[TAME] + k] = live[offsets[TAME] + k] * keep + min(size, _SURPRISE * sigma)
        top = offsets[TOP] + 2 * k
        live[top] = max(live[top] * (1.0 - 0.5 * _LONG), size)
        live[top + 1] = live[top + 1] * keep + 1.0
        # Errors relative to the expected size, above and below, and how one lead goes on to the next.
        side = 0 if error >= 0 else 1
        if sigma > 0 or compared:
            live[counts + (k * 2 + side) * BINS + _bin(abs(z))] += counted
        short = max(-3.0, min(3.0, z))
        rows[row, k, experts + 2 + SCALES] = short
        if k > 0:
            before = rows[row, k - 1, experts + 2 + SCALES]
            live[follow + 2 * k] = live[follow + 2 * k] * keep + short * before
            live[follow + 2 * k + 1] = live[follow + 2 * k + 1] * keep + 0.5 * (short * short + before * before)
    live[ACCOUNT] = account
    if live[AGE] >= H:
        live[MOVED] += moved
        live[MOVES] += 1.0
        live[LATELY] = live[LATELY] * decay + moved
        live[LATELY_W] = live[LATELY_W] * decay + 1.0
        if wild:
            live[TAME_LATELY] *= decay
    return surprise, max(highest, owed + account)


@compiled(error_model="numpy")
@no_type_check
def _shares(live, offsets, horizon, experts, maps, ridges, guard, own, means, lines, shares):
    """Weights of all forecasts at every lead, forecasts first; returns at how many leads any was ever scored.

    They come from the mean errors at this lead (`own`, leads first) and over the whole horizon, and from what has just
    gone wrong: by how much the last errors were above the usual. The last `maps` times `ridges` forecasts are maps, of
    which none is used at a lead where it was never scored. `own`, `means` and `lines` are room to work in.
    """
    slow, weight, recent, base = offsets[SLOW], offsets[SLOW_W], offsets[RECENT], offsets[BASE]
    average, excess, least, total = means[0], means[1], lines[0], lines[1]
    for i in range(experts):
        average[i] = 0.0
    counted = 0.0
    for k in range(horizon):
        w = live[weight + k]
        if w > 0:
            counted += 1.0
            common, at = live[base + k], slow + k * experts
            for i in range(experts):
                own[k, i] = (common + live[at + i]) / w
            for i in range(experts):
                average[i] += own[k, i]
    for i in range(experts):
        average[i] /= max(counted, 1.0)
        usual = own[0, i] if live[weight] > 0 else 0.0
        excess[i] = max(live[recent + i] - 3.0 * usual, 0.0) if guard else 0.0
    for k in range(horizon):
        if not live[weight + k] > 0:
            for i in range(experts):
                own[k, i] = average[i]
        for i in range(experts):
            shares[i, k] = 0.5 * (own[k, i] + average[i]) + excess[i]
        least[k], total[k] = np.inf, 0.0
    # From here on neighbours are leads: loops run over them, and sums over forecasts keep their order.
    for i in range(experts):
        for k in range(horizon):
            least[k] = shares[i, k] if shares[i, k] < least[k] else least[k]
    for i in range(experts):
        for k in range(horizon):
            ratio = 1.0 if shares[i, k] <= least[k] else least[k] / shares[i, k]
            ratio *= ratio
            # The fourth power of the ratio of errors.
            shares[i, k] = ratio * ratio
    simple = experts - maps * ridges
    if simple > 0:
        for n in range(maps):
            young = min(max(int(live[offsets[SINCE] + n]) - 1, 0), horizon)
            for r in range(ridges):
                for k in range(young, horizon):
                    shares[simple + n * ridges + r, k] = 0.0
    for i in range(experts):
        for k in range(horizon):
            total[k] += shares[i, k]
    for k in range(horizon):
        if total[k] == 0:
            # The best one is a map that is too young: the simple ones stand in for it.
            for i in range(simple):
                shares[i, k] = 1.0
            total[k] = simple
    for i in range(experts):
        for k in range(horizon):
            shares[i, k] /= total[k]
    return counted


@compiled()
@no_type_check
def shares_of(live, offsets, guard, maps, ridges, found):
    """The weight of every forecast at every lead; the last value's is what a surprise leaves to it."""
    horizon, experts = found.shape
    shares = np.empty((experts, horizon))
    own, means, lines = np.empty((horizon, experts)), np.empty((2, experts)), np.empty((4, horizon))
    _shares(live, offsets, horizon, experts, maps, ridges, guard, own, means, lines, shares)
    found[:] = shares.T


@compiled()
@no_type_check
def drift_part(horizon, age):
    """The length of each of the three stretches whose drifts are compared; 0 where there are too few cells."""
    return int(min((max(2 * horizon, LEAST_DRIFT) + 2) // 3, max(age - 1.0, 0.0) // 3))


@compiled(error_model="numpy")
@no_type_check
def issue(
    live, offsets, log, now, row, cell, horizon, seasons, orders, inputs, kinds, anchors, smoothing,
    means, levers, freedom, maps, constants, solved, simple, guard, work,
):  # fmt: skip
    """Every forecast of one channel after cell `now` of its log, their mixture, and the size of its errors.

    `levers` and `maps` come with their columns first: (kinds, columns, rows), rows of maps being ridges times leads.
    `work` is a `workspace`: what is computed there has leads for neighbours, and a row has forecasts for neighbours.
    """
    bases, x, sums, told, shares, own, errors, lines = work
    H = horizon
    trends, D = offsets[TRENDS], len(smoothing)
    S, K, R = len(seasons), len(kinds), constants.shape[1]
    experts = rows_experts(D, S, K, R, simple)
    # In a gap the present is what was expected of it.
    held, age = log[now, VALUE], live[AGE]
    e = 0
    if simple:
        mean = live[REF] + (live[SUM] / live[COUNT] if live[COUNT] > 0 else 0.0)
        slope = (held - live[FIRST]) / max(live[AGE] - 1.0, 1.0)
        # The middle one of the drifts of three recent stretches: a step, which lies in one of them, is none.
        part = drift_part(H, live[AGE])
        lately = 0.0
        if part > 0:
            near, far = log[now - part, VALUE], log[now - 2 * part, VALUE]
            one, two, three = held - near, near - far, far - log[now - 3 * part, VALUE]
            lately = max(min(one, two), min(max(one, two), three)) / part
        for k in range(H):
            told[0, k] = held
            told[1, k] = mean
            told[2, k] = held + (k + 1) * slope
            told[3, k] = held + (k + 1) * lately
        for d in range(D):
            level, trend, phi = live[trends + 2 * d], live[trends + 2 * d + 1], smoothing[d, 2]
            reach = phi
            total = 0.0
            for k in range(H):
                total += reach
                reach *= phi
                told[4 + d, k] = level + trend * total
        e = 4 + D
    for s in range(S):
        m = seasons[s]
        known = age > m
        change = held - _settled(log, now - m, now) if known else 0.0
        jumps = log[now - m, JUMPED] if known else 0.0
        fade = 1.0
        for k in range(H):
            back = m * (k // m + 1)
            base = _settled(log, now + k + 1 - back, now) if known else held
            bases[s, k] = base
            if simple:
                fade *= FADE
                # A step that the value of last season has made already is not made again.
                made = log[now + k + 1 - back, JUMPED] - jumps if known else 0.0
                ahead = change - (min(max(made, 0.0), change) if change > 0 else max(min(made, 0.0), change))
                told[e + 3 * s, k] = base
                told[e + 3 * s + 1, k] = base + ahead
                told[e + 3 * s + 2, k] = base + ahead * fade
    if simple:
        e += 3 * S
    width = means.shape[1]
    worst = 0.0
    for n in range(K):
        m = kinds[n]
        q = orders[m]
        begin = offsets[MEMORIES] + m * width
        first = e + n * R
        if not solved[n] or (anchors[n] >= 2 and age <= seasons[anchors[n] - 2]):
            log[now, LEVERAGE + n] = 1.0
            live[offsets[SINCE] + n] = 0.0
            for r in range(R):
                for k in range(H):
                    told[first + r, k] = bases[anchors[n] - 2, k] if anchors[n] >= 2 else held
            continue
        live[offsets[SINCE] + n] += 1.0
        for i in range(q):
            x[i] = live[begin + i] - means[n, i]
        if anchors[n] == 1:
            x[0] -= held - live[REF]
        for i in range(q):
            sums[i] = 0.0
        _add_columns(sums, levers[n], x, q, q, True)
        lever = 0.0
        for i in range(q):
            lever += sums[i] * sums[i]
        lever = lever / max(freedom[n], _ROUGHLY)
        log[now, LEVERAGE + n] = lever
        worst = max(worst, lever)
        if guard and lever > _FAR:
            shrink = _FAR / lever
            for i in range(q):
                x[i] *= shrink
        for r in range(R):
            for k in range(H):
                sums[r * H + k] = constants[n, r, k]
        _add_columns(sums, maps[n], x, q, R * H, False)
        for r in range(R):
            one = told[first + r]
            if anchors[n] >= 2:
                for k in range(H):
                    one[k] = bases[anchors[n] - 2, k] + sums[r * H + k]
            else:
                base = held if anchors[n] == 1 else live[REF]
                for k in range(H):
                    one[k] = base + sums[r * H + k]
    counted = _shares(live, offsets, H, experts, K, R, guard, own, errors, lines, shares)
    trust, left = (live[TRUST], live[LEFT]) if guard else (1.0, 1.0)
    mixed, apart = lines[2], lines[3]
    for k in range(H):
        mixed[k], apart[k] = 0.0, 0.0
    for i in range(experts):
        for k in range(H):
            mixed[k] += shares[i, k] * told[i, k]
    for i in range(experts):
        for k in range(H):
            apart[k] += shares[i, k] * abs(told[i, k] - mixed[k])
    for k in range(H):
        for i in range(experts):
            row[k, i] = told[i, k]
    # Ways to expect the size of an error, and how they are at each lead.
    at = experts + 1
    slowly = live[LONG] / live[LONG_W] if live[LONG_W] > 0 else 0.0
    fast = live[FAST] / live[FAST_W] if live[FAST_W] > 0 else 0.0
    middle = live[MID] / live[MID_W] if live[MID_W] > 0 else 0.0
    live[EXPECTED] = mixed[0] if counted > 0 else held
    for k in range(H):
        expected = mixed[k] if counted > 0 else held
        pulled = held + trust * left * (expected - held)
        row[k, experts] = pulled
        row[k, at], row[k, at + 1], row[k, at + 2], row[k, at + 3] = slowly, fast, middle, slowly
        if S > 0 and age >= 2 * seasons[0]:
            row[k, at + 3] = live[offsets[PROFILE] + (cell + k + 1) % seasons[0]]
        row[k, at + 4] = apart[k] + abs(expected - pulled)
        size = expected_size(live, offsets, row, k, at)
        if left < 1.0 and live[LATELY_W] > 0:
            # What is drawn to the last value errs as that has lately: a random walk's share of it at this lead.
            size = max(size, (1.0 - left) * live[LATELY] / live[LATELY_W] * 1.5 * math.sqrt((k + 1.0) / H))
        row[k, at + SCALES] = size
        row[k, at + SCALES + 1] = 0.0
        row[k, at + SCALES + 2] = 0.0 if live[SILENT] > 0 else trust
        row[k, at + SCALES + 3] = 0.0
    if live[SILENT] > 0:
        _widen(live, row, H, at + SCALES, S)
    live[EXPECTED_SIZE] = row[0, at + SCALES]
    return worst


@compiled()
@no_type_check
def _widen(live, row, horizon, at, seasons):
    """In a gap a lead is longer than it says: the sizes of errors are those of leads from the last sample.

    Beyond the horizon they grow as a random walk's do; without a season the stream may by then be anywhere.
    """
    silent = int(live[SILENT])
    anywhere = 1.5 * live[MOVED] / live[MOVES] if seasons == 0 and live[MOVES] > 0 else 0.0
    last = row[horizon - 1, at]
    for k in range(horizon):
        lead = k + silent
        if lead < horizon:
            row[k, at] = max(row[k, at], row[lead, at])
        else:
            growth = math.sqrt(min((lead + 1.0) / horizon, _LONGEST_GROWTH))
            row[k, at] = max(row[k, at], max(last, anywhere) * growth)


@compiled()
@no_type_check
def _foreseen_in_gap(live, log, now, cell, rows, origins, first_row, used, horizon, experts, seasons, silence):
    """What to take for a value that is missing: the forecast from the last sample, then the season, then no change."""
    if live[SILENT] > silence:
        return live[REF] + (live[SUM] / live[COUNT] if live[COUNT] > 0 else 0.0)
    for row in range(used - 1, first_row - 1, -1):
        if origins[row] <= cell - live[SILENT]:
            k = cell - origins[row] - 1
            if k < horizon:
                return rows[row, k, experts]
            break
    for s in range(len(seasons) - 1, -1, -1):
        if live[AGE] > seasons[s]:
            return _settled(log, now - seasons[s], now - 1)
    return log[now - 1, VALUE]


@compiled()
@no_type_check
def _carry(live, place, kept, count, back):
    """Copy numbers to where they are kept, or back."""
    source, target = (kept, place) if back else (place, kept)
    for i in range(count):
        live[target + i] = live[source + i]


@compiled()
@no_type_check
def _carry_tame(live, offsets, horizon, back):
    """Keep how things were before values that lie far from what was expected; or take back what these have done."""
    _carry(live, LONG, TAME_LONG, 1, back)
    _carry(live, FAST, TAME_FAST, 1, back)
    _carry(live, MID, TAME_MID, 1, back)
    _carry(live, MOVED, TAME_MOVED, 1, back)
    _carry(live, LATELY, TAME_LATELY, 1, back)
    _carry(live, JUMPS, JUMPS_BEFORE, 1, back)
    _carry(live, offsets[SIZES], offsets[TAME], horizon, back)
    _carry(live, offsets[TRENDS], offsets[BEFORE], offsets[MEMORIES] - offsets[TRENDS], back)


@compiled()
@no_type_check
def _recurs(live, log, place, seasons, near):
    """Whether a season ago the value was about the same: then it is no outlier, but part of the season."""
    found = False
    for s in range(len(seasons)):
        if live[AGE] > seasons[s] + 1:
            found = found or abs(log[place, VALUE] - log[place - seasons[s], VALUE]) < near
    return found


@compiled()
@no_type_check
def rows_experts(D, S, K, R, simple):
    """How many forecasts stand side by side."""
    return (4 + D + 3 * S if simple else 0) + K * R


@compiled()
@no_type_check
def workspace(S, R, horizon, width, experts):
    """Room that `issue` and `_score` work in."""
    return (
        np.empty((S, horizon)),
        np.empty(width),
        np.empty(max(R * horizon, width)),
        np.empty((experts, horizon)),
        np.empty((experts, horizon)),
        np.empty((horizon, experts)),
        np.empty((2, experts)),
        np.empty((4, horizon)),
    )


@compiled(error_model="numpy")
@no_type_check
def expected_size(live, offsets, row, k, at):
    """The mean absolute error to expect at lead k: ways to expect it, by how well each has done."""
    usual, loss, plain = offsets[USUAL] + k * SCALES, offsets[LOSS] + k * SCALES, live[offsets[SIZES] + k]
    best = np.inf
    # A way that expected next to nothing beside what came, as forecasts do that differ by rounding, says nothing.
    least = _ROUGHLY * plain
    for j in range(SCALES):
        if live[usual + j] > least:
            best = min(best, live[loss + j])
    total = 0.0
    size = 0.0
    first = 1.0
    for j in range(SCALES):
        known = live[usual + j]
        if known > least:
            # The best way, and one that says the same as the first, need no exponential.
            if live[loss + j] == best:
                share = 1.0
            elif j > 0 and live[loss + j] == live[loss]:
                share = first
            else:
                share = math.exp(-_LIKELIHOOD * (live[loss + j] - best))
            if j == 0:
                first = share
            total += share
            size += share * (plain / known) * row[k, at + j]
    # Before any error at this lead is known: those of one step, growing as a random walk's do.
    return size / total if total > 0 else row[k, at] * math.sqrt(k + 1.0)


@compiled()
@no_type_check
def _one_cell(
    live, offsets, log, now, cell, value, seen, rows, origins, first_row, used, horizon, experts, decay, forget,
    guard, seasons, orders, inputs, A_T, b, smoothing, silence, differences, work, stride,
):  # fmt: skip
    """One channel takes in one cell; forecasts that are under way are scored first."""
    if live[BEGUN] == 0.0:
        if not seen:
            return
        _begin(live, offsets, value, False)
    elif seen and live[SILENT] > silence:
        _begin(live, offsets, value, True)
        width = A_T.shape[1]
        for i in range(len(orders) * width):
            live[offsets[MEMORIES] + i] = 0.0
        for m in range(len(orders)):
            # A constant past fills the first coefficient and no other.
            if inputs[m] < 0:
                live[offsets[MEMORIES] + m * width] = value - live[REF]
    odd = 0.0
    clean = live[HELD]
    log[now, BACK], log[now, FORESEEN] = 0.0, 0.0
    if seen:
        at_hand = used > first_row and origins[used - 1] == cell - 1
        apart = abs(value - live[EXPECTED])
        most = _SURPRISE * live[EXPECTED_SIZE]
        cut = guard and live[AGE] > _CALM and at_hand and apart > most
        if live[WILD] > 0:
            gone = 0.5 * abs(log[now - 1, VALUE] - live[FORESEEN_FIRST])
            if abs(value - live[FORESEEN_FIRST]) < gone:
                if not _recurs(live, log, now - 1, seasons, gone):
                    log[now, BACK] = live[WILD]
                    _carry_tame(live, offsets, horizon, True)
                    cut = False
                live[WILD] = 0.0
            else:
                live[WILD] = live[WILD] + 1.0 if live[WILD] < _OUTLIERS else 0.0
        elif cut and most > 0 and apart * _SURPRISE > (_OUTLIER if len(seasons) > 0 else _ABSURD) * most:
            _carry_tame(live, offsets, horizon, False)
            live[FORESEEN_FIRST] = live[EXPECTED]
            live[WILD] = 1.0
        wild = live[WILD] > 0
        log[now, FORESEEN] = live[FORESEEN_FIRST] if wild else 0.0
        odd, owed = _score(
            live, offsets, log, now, rows, origins, first_row, used, cell, value, horizon, stride, experts, decay,
            guard, work[3], work[7][0], wild,
        )  # fmt: skip
        live[LEFT] = 1.0
        if live[MOVES] > 0:
            credit = _CREDIT * live[MOVED] / live[MOVES]
            if owed > credit:
                live[LEFT] = (credit / owed) ** 4
        if log[now, BACK] > 0:
            odd = 0.0  # odd was the value before, and the forecast that was made from it
        elif at_hand and live[SILENT] == 0:
            size = abs(value - rows[used - 1, 0, experts])
            if wild:
                tame = min(size, most)
                live[TAME_LONG] = live[TAME_LONG] * (1 - _LONG) + tame
                live[TAME_FAST] = live[TAME_FAST] * (1 - _FAST) + tame
                live[TAME_MID] = live[TAME_MID] * (1 - _MIDDLE) + tame
            live[LONG] = live[LONG] * (1 - _LONG) + size
            live[LONG_W] = live[LONG_W] * (1 - _LONG) + 1.0
            live[FAST] = live[FAST] * (1 - _FAST) + size
            live[FAST_W] = live[FAST_W] * (1 - _FAST) + 1.0
            live[MID] = live[MID] * (1 - _MIDDLE) + size
            live[MID_W] = live[MID_W] * (1 - _MIDDLE) + 1.0
            if len(seasons) > 0:
                at = offsets[PROFILE] + cell % seasons[0]
                # What happened once, a year ago, says little of this year.
                usual = live[LONG] / live[LONG_W]
                told = min(size, min(_SURPRISE * usual, most) if wild else _SURPRISE * usual) if guard else size
                live[at] = told if live[AGE] < 2 * seasons[0] and live[at] == 0 else live[at] + 0.2 * (told - live[at])
        trust = 1.0
        if odd > _SURPRISE:
            trust = (_SURPRISE / odd) ** 2
        if live[SILENT] > 0 and len(seasons) == 0 and guard:
            # Memories hold what was expected of a long gap, not what was.
            trust = min(trust, (horizon / (horizon + live[SILENT])) ** 2)
        # A value that repeats longer than it ever has is a sensor that is stuck, or a signal that came to rest.
        if value == live[HELD] and live[AGE] > 0:
            live[RUN] += 1.0
        else:
            live[LONGEST] = max(live[LONGEST] * (1 - 1e-3), live[RUN])
            live[RUN] = 0.0
        limit = 2 * live[LONGEST] + 2
        if live[RUN] > limit:
            trust = min(trust, (limit / live[RUN]) ** 8)
        live[TRUST] = trust
        if value != math.floor(value) or value < 0:
            live[WHOLE] = 0.0
        live[HELD] = value
        live[SILENT] = 0.0
        # An outlier moves mean and memories no more than a surprise does. A step is one for two cells: then the
        # mixture has followed it.
        counted = value
        if cut:
            live[JUMPS] += value - live[EXPECTED]
            counted = live[EXPECTED] + (value - live[EXPECTED]) * (most / apart)
        if wild and live[WILD] > 1:
            counted = log[now - 1, CLEAN]  # nobody knows yet whether this is a step
        clean = counted
        live[SUM] = live[SUM] * forget + (counted - live[REF])
        live[COUNT] = live[COUNT] * forget + 1.0
        trends = offsets[TRENDS]
        for d in range(len(smoothing)):
            level, trend = live[trends + 2 * d], live[trends + 2 * d + 1]
            a, beta, phi = smoothing[d, 0], smoothing[d, 1], smoothing[d, 2]
            before = level + phi * trend
            live[trends + 2 * d] = before + a * (value - before)
            live[trends + 2 * d + 1] = phi * trend + a * beta * (value - before)
    else:
        live[SILENT] += 1.0
        live[WILD] = 0.0
        clean = _foreseen_in_gap(
            live, log, now, cell, rows, origins, first_row, used, horizon, experts, seasons, silence
        )
        for row in range(used - 1, first_row - 1, -1):
            k = cell - origins[row] - 1
            if k >= horizon:
                break
            rows[row, k, experts + 2 + SCALES] = 0.0
            rows[row, k, experts + 4 + SCALES] = rows[row, k - 1, experts + 4 + SCALES] if k > 0 else 0.0
            if k == horizon - 1:
                live[ACCOUNT] = max(live[ACCOUNT] + rows[row, k, experts + 4 + SCALES], 0.0)
    if live[AGE] > 0 or seen:
        live[AGE] += 1.0
    if seen and live[AGE] > horizon:
        live[PAIRS] += 1.0
    log[now, VALUE] = live[HELD] if seen else clean
    log[now, CLEAN] = clean
    log[now, JUMPED] = live[JUMPS]
    log[now, SEEN] = 1.0 if seen else 0.0
    log[now, ODD] = odd
    if live[SILENT] > silence:
        # Nothing is left in any memory of what was before: the stream may be anywhere, on average at its mean.
        width = A_T.shape[1]
        for m in range(len(orders)):
            begin = offsets[MEMORIES] + m * width
            for i in range(orders[m]):
                live[begin + i] = 0.0
            if inputs[m] < 0:
                live[begin] = clean - live[REF]
        return
    for s in range(len(seasons)):
        differences[s] = clean - log[now - seasons[s], CLEAN] if live[AGE] > seasons[s] else 0.0
    _step_memories(live, offsets[MEMORIES], orders, inputs, A_T, b, clean - live[REF], differences, work[2])


@compiled()
@no_type_check
def take_in(
    values, seen, live, offsets, log, now, cell, rows, origins, first_row, used, horizon, stride, decay, forget,
    seasons, orders, inputs, A_T, b, smoothing, silence, kinds, anchors, means, levers, freedom, maps, constants,
    solved, simple, guard,
):  # fmt: skip
    """Cells of all channels, as many as the logs have room for: rows issued so far, and the cells that were taken."""
    T, C = values.shape
    D, S, K, R = len(smoothing), len(seasons), len(kinds), constants.shape[2]
    experts = rows_experts(D, S, K, R, simple)
    width = A_T.shape[1]
    work = workspace(S, R, horizon, width, experts)
    differences = np.zeros(S)
    for t in range(T):
        while first_row < used and cell - origins[first_row] - 1 >= horizon:
            first_row += 1
        for c in range(C):
            _one_cell(
                live[c], offsets, log[c], now, cell, values[t, c], seen[t, c], rows[c], origins, first_row, used,
                horizon, experts, decay, forget, guard, seasons, orders, inputs, A_T, b, smoothing, silence,
                differences, work, stride,
            )  # fmt: skip
        awake = False
        for c in range(C):
            awake = awake or live[c, SILENT] <= silence
        if awake and cell % stride == 0:
            for c in range(C):
                issue(
                    live[c], offsets, log[c], now, rows[c, used], cell, horizon, seasons, orders, inputs, kinds,
                    anchors, smoothing, means[c], levers[c], freedom[c], maps[c], constants[c], solved[c], simple,
                    guard, work,
                )  # fmt: skip
            origins[used] = cell
            used += 1
        now += 1
        cell += 1
    return first_row, used


@compiled()
@no_type_check
def scan_pairs(
    delayed, log, begin, count, ages, ref, seasons, orders, inputs, A_T, b, silence, states, age, differences, scratch
):
    """The memories of one channel after each of `count` cells of its log, from those before them."""
    width = A_T.shape[1]
    for t in range(count):
        now = begin + t
        value = log[now, CLEAN]
        if log[now, SEEN] > 0 and ages[1] > silence:
            ages[0] = 0.0
            for i in range(len(orders) * width):
                delayed[i] = 0.0
            for m in range(len(orders)):
                if inputs[m] < 0:
                    delayed[m * width] = value - ref
        if log[now, SEEN] > 0:
            ages[1] = 0.0
        else:
            ages[1] += 1.0
        if ages[0] > 0 or log[now, SEEN] > 0:
            ages[0] += 1.0
        for s in range(len(seasons)):
            differences[s] = value - log[now - seasons[s], CLEAN] if ages[0] > seasons[s] else 0.0
        if ages[0] > 0:
            _step_memories(delayed, 0, orders, inputs, A_T, b, value - ref, differences, scratch)
        age[t] = ages[0]
        for i in range(len(orders) * width):
            states[t, i] = delayed[i]


@compiled()
@no_type_check
def look_ahead(log, values, begin, futures, share, odd):
    """The futures of the cells from `begin` on, the share of each that was seen, and how odd its oddest value was."""
    count, horizon = futures.shape
    for t in range(count):
        seen, oddest = 0.0, -np.inf
        for k in range(horizon):
            futures[t, k] = values[begin + 1 + t + k]
            seen += log[begin + 1 + t + k, SEEN]
            oddest = max(oddest, log[begin + 1 + t + k, ODD])
        share[t], odd[t] = seen / horizon, oddest
