"""Ridge regression from moments: the maps of an ensemble."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs

from hippozoo._internal.immutable import read_only
from hippozoo.ensemble.moments import FEWEST_PAIRS, KindMoments, diagonal, triangle
from hippozoo.ensemble.records import Plan, open_map

__all__ = ["solve"]

# Of a symmetric, positive matrix the solution; of a triangular one the inverse.
_posv, _trtri = get_lapack_funcs(("posv", "trtri"), dtype=np.float64)
# The least ridge of a map, and of the leverage, in units of the mean variance of a coefficient.
_LEAST_RIDGE, _LEVERAGE_RIDGE = 1e-9, 1e-3
# An input whose variance is below this is constant.
_DEAD = 1e-20


def solve(
    moments: KindMoments,
    n: int,
    plan: Plan,
    ridges: tuple[float, ...],
    blocks: tuple[slice, ...],
    maps: Float[np.ndarray, "channels numbers"],
) -> None:
    """Ridge regressions of kind `n` of map, of all channels, into rows of zeros; see `records.open_map`.

    Ridges are in units of the mean variance of a coefficient, the largest first. `blocks` are the numbers of the memory
    and of each input. Inputs are scaled to the variance of a coefficient of the memory, so that a ridge shrinks all of
    them alike, whatever their units; an input that is constant has no weight.
    """
    H, order = plan.horizon, moments.mean_x.shape[1]
    xx, yx, scale = moments.xx, moments.yx, np.ones(moments.mean_x.shape)
    row, column = triangle(order)
    if len(blocks) > 1:
        variance = diagonal(xx, order)
        own = variance[:, blocks[0]].mean(axis=1)
        for block in blocks[1:]:
            mean = variance[:, block].mean(axis=1)
            is_alive = mean > _DEAD * np.maximum(np.abs(moments.mean_x[:, block]).max(axis=1), 1.0)
            scale[:, block] = np.where(is_alive, np.sqrt(own / np.where(is_alive, mean, 1.0)), 0.0)[:, None]
        xx, yx = xx * (scale[:, row] * scale[:, column]), yx * scale[:, None]
    size = diagonal(xx, order).sum(axis=1) / order
    eye, least = _eye(order), max(ridges[0], _LEVERAGE_RIDGE)
    for c, weight in enumerate(moments.weight):
        found = open_map.py_func(maps[c], n, plan)
        found.means[:], found.freedom[:] = moments.mean_x[c], 1.0
        if not (size[c] > 0 and weight >= FEWEST_PAIRS):
            continue
        found.solved[:], found.constants[:] = 1.0, moments.mean_y[c]
        unit, across = np.zeros((order, order)), yx[c].T / size[c]
        unit[row, column] = xx[c] / size[c]
        for r, ridge in enumerate(ridges):
            found.columns[:, r * H : (r + 1) * H] = _solution(unit + max(ridge, _LEAST_RIDGE) * eye, across)
        inverse = _trtri(np.linalg.cholesky(unit + least * eye), lower=1)[0]
        found.freedom[:] = order - least * (inverse**2).sum()
        found.whitening[:] = (inverse / np.sqrt(size[c] / weight)).T
        if len(blocks) > 1:
            found.columns[:] *= scale[c, :, None]
            found.whitening[:] *= scale[c, :, None]


@cache
def _eye(order: int) -> np.ndarray:
    return read_only(np.eye(order))


def _solution(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """For a symmetric, positive matrix, by its lower triangle; by elimination where rounding left it not positive."""
    _, found, failed = _posv(lower, right, lower=1)
    return np.linalg.solve(lower + np.tril(lower, -1).T, right) if failed else found
