"""What came beside what was expected: the band, and the error in units of the error expected."""

from __future__ import annotations

import math
from typing import no_type_check

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.cleaner import CLEANER

__all__ = [
    "ERROR",
    "EXPECTED",
    "LOWER",
    "MOST_AT_ONCE",
    "P_VALUE",
    "SAID",
    "UPPER",
    "compare",
    "read_next",
    "until_renewal",
]

# What a stream says of a reading, in this order.
EXPECTED, LOWER, UPPER, ERROR, P_VALUE = range(5)
SAID = 5
# Errors beyond so many expected ones are as strange as that.
_MOST = 1e6
_CLEANER = CLEANER.itemsize // 8

# The widths of bands are looked up anew after so many readings, and after more of them once many are known: counted
# from the first, so that it does not depend on how readings come or on restarts.
_RENEWED, _RENEWED_LATER, _LATER = 64, 512, 1024
# Readings that are compared in one go.
MOST_AT_ONCE = 64


def until_renewal(readings: int) -> int:
    """How many readings come before the widths of bands are looked up anew; 0 if that is now.

    Examples
    --------
    >>> until_renewal(0), until_renewal(1), until_renewal(1100)
    (0, 63, 436)
    """
    return -readings % (_RENEWED if readings < _LATER else _RENEWED_LATER)


@compiled()
@no_type_check
def compare(rows, expected, reach, said):
    """Fill in (said, time, channels) but for the p-values.

    Parameters
    ----------
    rows
        What came, (time, channels); NaN where it is missing.
    expected
        (time, 2, channels): mean and expected absolute error.
    reach
        (2, channels): how far above and below the mean a band reaches, in expected errors.
    said
        (SAID, time, channels), written into.
    """
    for t in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            mean, size = expected[t, 0, c], expected[t, 1, c]
            error = np.nan
            if math.isfinite(size) and size > 0:
                error = (rows[t, c] - mean) / size
                if error > _MOST:
                    error = _MOST
                elif error < -_MOST:
                    error = -_MOST
            said[EXPECTED, t, c] = mean
            said[LOWER, t, c] = mean - size * reach[1, c]
            said[UPPER, t, c] = mean + size * reach[0, c]
            said[ERROR, t, c] = error


@compiled()
@no_type_check
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
