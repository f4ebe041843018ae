"""Ridge regression from running moments: the maps of an ensemble, for each channel, shared or lent within a panel.

Moments of a kind of map are the weight of its pairs, the means of past and future, and their centred products.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import get_lapack_funcs

from hippozoo._internal.immutable import read_only

__all__ = ["FEWEST_PAIRS", "Moments", "Solved", "lend", "merge_moments", "solve"]

# Of a symmetric, positive matrix the solution; of a triangular one the inverse.
_posv, _trtri = get_lapack_funcs(("posv", "trtri"), dtype=np.float64)
# Channels that are worked out at once: a wide table takes no more memory than a narrow one.
_CHANNELS = 16
# The least ridge of a map, and of the leverage, in units of the mean variance of a coefficient.
_LEAST_RIDGE, _LEVERAGE_RIDGE = 1e-9, 1e-3
# An input whose variance is below this is constant.
_DEAD = 1e-20
# Pairs before there is a map. Chosen before 2026-11; see the ablation.
FEWEST_PAIRS = 4
# What a panel lends to each of its series counts as so many pairs. Chosen before 2026-11; see the ablation.
_PANEL_PAIRS = 500.0


class Moments(NamedTuple):
    """Of every channel and kind of map: pasts, and the futures relative to what the map corrects."""

    weight: Float[np.ndarray, "channels kinds"]
    mean_x: Float[np.ndarray, "channels kinds width"]
    mean_y: Float[np.ndarray, "channels kinds leads"]
    xx: Float[np.ndarray, "channels kinds width width"]
    yx: Float[np.ndarray, "channels kinds leads width"]


class Solved(NamedTuple):
    """The maps, with columns first, as the compiled loops read them.

    Parameters
    ----------
    means
        Of the pasts.
    whitening
        The inverse of the lower Cholesky factor of their covariance, by columns: it gives the leverage of a past.
    freedom
        Effective degrees of freedom, in whose units a leverage is.
    maps, constants
        By columns, (width, ridges times leads), and what is added.
    solved
        Whether there were enough pairs.
    """

    means: Float[np.ndarray, "channels kinds width"]
    whitening: Float[np.ndarray, "channels kinds width width"]
    freedom: Float[np.ndarray, "channels kinds"]
    maps: Float[np.ndarray, "channels kinds width ridges_leads"]
    constants: Float[np.ndarray, "channels kinds ridges leads"]
    solved: Bool[np.ndarray, "channels kinds"]

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


def merge_moments(left: Moments, right: Moments) -> Moments:
    """Moments of both sets of pairs together."""
    weight = left.weight + right.weight
    share = right.weight / np.where(weight > 0, weight, 1.0)
    dx, dy = right.mean_x - left.mean_x, right.mean_y - left.mean_y
    between = (left.weight * share)[..., None, None]
    return Moments(
        weight,
        left.mean_x + share[..., None] * dx,
        left.mean_y + share[..., None] * dy,
        left.xx + right.xx + between * (dx[..., :, None] * dx[..., None, :]),
        left.yx + right.yx + between * (dy[..., :, None] * dx[..., None, :]),
    )


def lend(moments: Moments, together: str) -> Moments:
    """The moments of every channel, with what the others lend: all of it if shared, a part of it in a panel.

    In a panel each series is divided by its size (the root of the mean variance of a coefficient); then every series
    gets the mean of all, counted as so many pairs, so that its own say more the longer it is.
    """
    if together == "independent":
        return moments
    weight, mean_x, mean_y, xx, yx = moments
    if together == "shared":
        total = Moments(*(one[:1] for one in moments))
        for c in range(1, len(weight)):
            total = merge_moments(total, Moments(*(one[c : c + 1] for one in moments)))
        return Moments(*(np.broadcast_to(one, (len(weight), *one.shape[1:])).copy() for one in total))
    size = np.sqrt(np.einsum("ckii->ck", xx) / np.maximum(weight, 1e-300))
    known = (size > 0) & (weight >= FEWEST_PAIRS)
    unit = np.where(known, size, 1.0)[..., None, None]
    # Series count alike, whatever their length: none is to speak for all.
    part = np.where(known, 1.0 / np.maximum(weight, 1e-300), 0.0)
    count = np.maximum(known.sum(axis=0), 1)
    mean_xx = ((xx / unit**2) * part[..., None, None]).sum(axis=0) / count[:, None, None]
    mean_yx = ((yx / unit**2) * part[..., None, None]).sum(axis=0) / count[:, None, None]
    # A series without pairs of its own has no size to give the others' back in.
    lent = np.where(known, _PANEL_PAIRS, 0.0)
    scaled = lent[..., None, None] * unit**2
    return Moments(weight + lent, mean_x, mean_y, xx + scaled * mean_xx, yx + scaled * mean_yx)


def solve(
    moments: Moments,
    orders: tuple[int, ...],
    ridges: tuple[float, ...],
    own: Solved | None = None,
    blocks: tuple[tuple[slice, ...], ...] = (),
) -> Solved:
    """Ridge regressions of all channels, kind by kind.

    Parameters
    ----------
    moments
        With what channels lend each other.
    orders
        Numbers that every kind reads.
    ridges
        The largest first, in units of the mean variance of a coefficient.
    own
        Arrays to write into, of one who owns them.
    blocks
        Of every kind: the numbers of its memory, and those of each input, which are scaled as the memory's are.
    """
    C, K, H, q = moments.yx.shape
    found = Solved.empty(C, K, q, len(ridges), H) if own is None else own
    for one in found:
        one[...] = 0
    found.means[...], found.freedom[...] = moments.mean_x, 1.0
    for first in range(0, C, _CHANNELS):
        block = slice(first, first + _CHANNELS)
        part, known = Solved(*(one[block] for one in found)), Moments(*(one[block] for one in moments))
        for n, order in enumerate(orders):
            if blocks and len(blocks[n]) > 1:
                _solve_beside_inputs(known, part, n, order, ridges, blocks[n])
            else:
                _solve_kind(known, part, n, order, ridges)
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
