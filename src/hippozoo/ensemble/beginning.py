"""Outliers among the first readings, before any error is known by which they would be a surprise.

They are looked for once, after 64 cells. A stream that has any begins anew without them, as if they were missing.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["BEGINNING", "early_outliers"]

# Cells after which outliers are looked for.
BEGINNING = 64
# Values on either side that one is compared with; two outliers side by side do not move their median.
_NEIGHBOURS = 3
# A value so many usual distances from its neighbours is an outlier if it is the only one; a few are if they are absurd.
# Chosen on seeds 0 to 9 of tests/troubled_streams.py.
_FAR, _ABSURD, _FEW = 30.0, 1000.0, 3
# The share of distances, the largest ones, that say nothing of what is usual.
_TRIMMED = 0.1


def early_outliers(
    values: Float[np.ndarray, " cells"], observed: Bool[np.ndarray, " cells"]
) -> Bool[np.ndarray, " cells"]:
    """Which values are far from their neighbours, while those before and after them agree: no level shift.

    Examples
    --------
    >>> values = np.sin(np.arange(64.0))
    >>> values[20] = 9.9e99
    >>> np.flatnonzero(early_outliers(values, np.ones(64, bool))).tolist()
    [20]
    >>> early_outliers(np.where(np.arange(64) < 20, 0.0, 1e6), np.ones(64, bool)).any()
    np.False_
    """
    found, places = np.zeros(len(values), bool), np.flatnonzero(observed)
    if len(places) < BEGINNING // 2:
        return found
    x = values[places]
    around = np.stack([np.roll(x, shift) for shift in range(-_NEIGHBOURS, _NEIGHBOURS + 1) if shift])
    for edge in range(_NEIGHBOURS):  # the first and the last have neighbours on one side
        around[:, edge] = np.delete(x[: 2 * _NEIGHBOURS + 1], edge)
        around[:, -1 - edge] = np.delete(x[-2 * _NEIGHBOURS - 1 :], -1 - edge)
    distance = np.abs(x - np.median(around, axis=0))
    usual = float(np.sort(distance)[: int(len(x) * (1 - _TRIMMED))].mean())
    is_far = distance > _FAR * usual
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
        returns &= distance > _ABSURD * usual
    if returns.sum() <= _FEW:
        found[places[returns]] = True
    return found
