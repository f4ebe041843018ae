"""Ridge regression from moments: the maps of an ensemble."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import get_lapack_funcs

from hippozoo._internal.immutable import read_only
from hippozoo.ensemble.moments import FEWEST_PAIRS, Moments

__all__ = ["Solved", "solve"]

# Of a symmetric, positive matrix the solution; of a triangular one the inverse.
_posv, _trtri = get_lapack_funcs(("posv", "trtri"), dtype=np.float64)
# The least ridge of a map, and of the leverage, in units of the mean variance of a coefficient.
_LEAST_RIDGE, _LEVERAGE_RIDGE = 1e-9, 1e-3
# An input whose variance is below this is constant.
_DEAD = 1e-20


class Solved(NamedTuple):
    """The maps, with columns first, as the compiled loops read them."""

    means: Float[np.ndarray, "channels kinds width"]  # of the pasts
    # The inverse of the lower Cholesky factor of their covariance, by columns: it gives the leverage of a past.
    whitening: Float[np.ndarray, "channels kinds width width"]
    freedom: Float[np.ndarray, "channels kinds"]  # effective degrees of freedom, the unit of a leverage
    maps: Float[np.ndarray, "channels kinds width ridges_leads"]
    constants: Float[np.ndarray, "channels kinds ridges leads"]  # what is added
    solved: Bool[np.ndarray, "channels kinds"]  # whether there were enough pairs

    @staticmethod
    def empty(channels: int, kinds: int, width: int, ridges: int, leads: int) -> Solved:
        """No map yet."""
        C, K, q = channels, kinds, width
        return Solved(
            np.zeros((C, K, q)),
            np.zeros((C, K, q, q)),
            np.ones((C, K)),
            np.zeros((C, K, q, ridges * leads)),
            np.zeros((C, K, ridges, leads)),
            np.zeros((C, K), bool),
        )


def solve(
    moments: Moments,
    orders: tuple[int, ...],
    ridges: tuple[float, ...],
    own: Solved | None = None,
    blocks: tuple[tuple[slice, ...], ...] = (),
) -> Solved:
    """Ridge regressions of all channels, kind by kind, written into `own` where somebody owns such arrays.

    `orders` says how many numbers every kind reads, and `blocks` which are those of its memory and of each input.
    Ridges are in units of the mean variance of a coefficient, the largest first.
    """
    C, K, H, q = moments.yx.shape
    found = Solved.empty(C, K, q, len(ridges), H) if own is None else own
    for one in found:
        one[...] = 0
    found.means[...], found.freedom[...] = moments.mean_x, 1.0
    for n, order in enumerate(orders):
        if blocks and len(blocks[n]) > 1:
            _solve_beside_inputs(moments, found, n, order, ridges, blocks[n])
        else:
            _solve_kind(moments, found, n, order, ridges)
    return found


def _solve_beside_inputs(
    moments: Moments, found: Solved, n: int, order: int, ridges: tuple[float, ...], blocks: tuple[slice, ...]
) -> None:
    """One kind of map that reads inputs too: each is scaled to the variance of a coefficient of the memory.

    So a ridge shrinks all of them alike, whatever their units; an input that is constant has no weight.
    """
    variance = np.einsum("cii->ci", moments.xx[:, n, :order, :order])
    own = variance[:, blocks[0]].mean(axis=1)
    scale = np.ones((len(variance), order))
    for block in blocks[1:]:
        mean = variance[:, block].mean(axis=1)
        is_alive = mean > _DEAD * np.maximum(np.abs(moments.mean_x[:, n, block]).max(axis=1), 1.0)
        scale[:, block] = np.where(is_alive, np.sqrt(own / np.where(is_alive, mean, 1.0)), 0.0)[:, None]
    xx, yx = moments.xx[:, n : n + 1].copy(), moments.yx[:, n : n + 1].copy()
    xx[:, 0, :order, :order] *= scale[:, :, None] * scale[:, None, :]
    yx[:, 0, :, :order] *= scale[:, None, :]
    one = Moments(*(part[:, n : n + 1] for part in moments))._replace(xx=xx, yx=yx)
    here = Solved(*(part[:, n : n + 1] for part in found))
    _solve_kind(one, here, 0, order, ridges)
    here.maps[:, 0, :order] *= scale[:, :, None]
    here.whitening[:, 0, :order, :order] *= scale[:, :, None]


def _solve_kind(moments: Moments, found: Solved, n: int, order: int, ridges: tuple[float, ...]) -> None:
    """One kind of map of some channels."""
    cov, weight, H = moments.xx[:, n, :order, :order], moments.weight[:, n], moments.yx.shape[2]
    size = np.trace(cov, axis1=1, axis2=2) / order
    good = np.flatnonzero((size > 0) & (weight >= FEWEST_PAIRS))
    found.solved[good, n] = True
    eye, least = _eye(order), max(ridges[0], _LEVERAGE_RIDGE)
    for c in good:
        unit, across = cov[c] / size[c], moments.yx[c, n, :, :order].T / size[c]
        for r, ridge in enumerate(ridges):
            found.maps[c, n, :order, r * H : (r + 1) * H] = _solution(unit + max(ridge, _LEAST_RIDGE) * eye, across)
            found.constants[c, n, r] = moments.mean_y[c, n]
        inverse = _trtri(np.linalg.cholesky(unit + least * eye), lower=1)[0]
        found.freedom[c, n] = order - least * (inverse**2).sum()
        found.whitening[c, n, :order, :order] = (inverse / np.sqrt(size[c] / weight[c])).T


@cache
def _eye(order: int) -> np.ndarray:
    return read_only(np.eye(order))


def _solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """For a symmetric, positive matrix; by elimination where rounding has left it not quite positive."""
    _, found, failed = _posv(matrix, right, lower=1)
    return np.linalg.solve(matrix, right) if failed else found
