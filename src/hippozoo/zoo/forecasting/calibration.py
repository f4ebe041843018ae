"""Errors in units of their expected size: how often one is so large, learnt online, with an estimate of the tail.

Counts stand in bins of |error| / expected size, six to an octave, for every lead and either side. What few errors of
one lead cannot say is lent by all leads together, and what these cannot say by errors as heavy as most are. Beyond the
outermost tenth a generalised Pareto tail takes over, whose shape is learnt from all leads.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from jaxtyping import Float
from scipy import stats

from hippozoo.zoo.forecasting._kernels import BINS, LOWEST_OCTAVE, PER_OCTAVE

__all__ = ["Calibration", "bin_edges"]

# Errors that all leads lend to one, and errors of the usual shape that are lent to all.
_LENT, _USUAL = 40.0, 20.0
# The share of errors, on both sides together, that the tail is fitted to.
_TAIL = 0.1
# Shapes of tails that are tried, and which are likely beforehand.
_SHAPES = np.linspace(-0.2, 0.6, 17)
_LIKELY, _SPREAD = 0.1, 0.12


@cache
def bin_edges() -> Float[np.ndarray, " edges"]:
    """The edges of the bins, in expected sizes; the last bin is open."""
    return np.concatenate([[0.0], 2.0 ** (LOWEST_OCTAVE + np.arange(BINS - 1) / PER_OCTAVE), [np.inf]])


@cache
def usual_shape() -> Float[np.ndarray, " bins"]:
    """Shares of the bins for errors of Student's t with five degrees of freedom and a mean size of 1."""
    heavy = stats.t(6)
    return np.diff(2 * heavy.cdf(bin_edges() * float(heavy.expect(abs))) - 1)


class Calibration:
    """The distribution of errors of one channel, at every lead.

    Parameters
    ----------
    counts
        Of errors by lead, side (above, below) and bin.

    Examples
    --------
    Before any error was seen they are taken to be a little heavier than Gaussian.

    >>> calibration = Calibration(np.zeros((1, 2, BINS)))
    >>> bool(1.8 < calibration.reach(0.025)[0, 0] < 2.6 * 1.25)
    True
    """

    def __init__(self, counts: Float[np.ndarray, "leads sides bins"]) -> None:
        total = counts.sum(axis=(0, 1))
        leads = max(len(counts), 1)
        # Neighbouring leads tell of the same errors: so many leads count as their root.
        pooled = total / math.sqrt(leads) + _USUAL * usual_shape()
        self.pooled = pooled / pooled.sum()
        self.shape = _tail_shape(pooled)
        self.counts = counts + 0.5 * _LENT * self.pooled

    def reach(self, tail: float, leads: slice = slice(None)) -> Float[np.ndarray, "leads sides"]:
        """How far out, in expected sizes, an error lies beyond which there are this share of all, on either side."""
        edges = bin_edges()
        counts = self.counts[leads]
        total = counts.sum(axis=(1, 2))
        beyond = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] / total[:, None, None]
        inside = min(_TAIL / 2, 1.0)
        body = _crossing(beyond, edges, np.full(counts.shape[:2], max(tail, inside)))
        if tail >= inside:
            return body
        excess = _mean_excess(counts, body)
        scale, xi = excess * (1 - self.shape), self.shape
        # Sides may hold less than their half.
        ratio = inside / tail
        grown = math.log(ratio) if abs(xi) < 1e-6 else (ratio**xi - 1) / xi
        return body + scale * grown


def _mean_excess(counts: np.ndarray, threshold: Float[np.ndarray, "leads sides"]) -> Float[np.ndarray, "leads sides"]:
    """How far errors beyond the threshold lie beyond it on average; a few wild ones count as thrice the scale."""
    return np.stack([[_excess(counts[k, side], threshold[k, side]) for side in range(2)] for k in range(len(counts))])


def _middles() -> np.ndarray:
    edges = bin_edges()
    return np.append(0.5 * (edges[:-2] + edges[1:-1]), edges[-2] * 1.1)


def _excess(counts: np.ndarray, threshold: float) -> float:
    """The mean excess over a threshold, from counts in bins."""
    edges = bin_edges()
    lower, upper = np.maximum(edges[:-1], threshold), np.append(edges[1:-1], edges[-2] * 1.2)
    share = np.clip((upper - lower) / (upper - edges[:-1]), 0.0, 1.0)
    weight = counts * share
    total = weight.sum()
    if total <= 0:
        return 0.3 * threshold
    distance = np.minimum(0.5 * (lower + upper) - threshold, 8 * max(threshold, 1.0))
    return float(weight @ np.maximum(distance, 0.0) / total)


def _crossing(beyond: np.ndarray, edges: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the share beyond falls to what is wanted, by straight lines between the edges."""
    bins = beyond.shape[-1]
    # The outermost bin whose share beyond its lower edge still is at least the one wanted.
    place = np.maximum((beyond >= wanted[..., None]).sum(axis=-1) - 1, 0)
    here = np.take_along_axis(beyond, place[..., None], -1)[..., 0]
    after = np.take_along_axis(
        np.concatenate([beyond, np.zeros((*beyond.shape[:-1], 1))], -1), place[..., None] + 1, -1
    )[..., 0]
    lower = edges[place]
    upper = np.where(place + 1 < bins, edges[np.minimum(place + 1, bins - 1)], lower * 1.2)
    part = np.clip((here - wanted) / np.where(here > after, here - after, 1.0), 0.0, 1.0)
    return lower + part * (upper - lower)


def _tail_shape(pooled: Float[np.ndarray, " bins"]) -> float:
    """The shape of the generalised Pareto tail that the counts beyond their outermost tenth speak for."""
    edges, total = bin_edges(), pooled.sum()
    beyond = np.cumsum(pooled[::-1])[::-1] / total
    threshold = float(_crossing(beyond[None], edges, np.array([_TAIL]))[0])
    lower, upper = np.maximum(edges[:-1], threshold), edges[1:]
    inner = np.append(edges[1:-1], edges[-2] * 1.2)
    weight = pooled * np.clip((inner - lower) / (inner - edges[:-1]), 0.0, 1.0)
    excess = _excess(pooled, threshold)
    if excess <= 0 or weight.sum() <= 0:
        return _LIKELY
    used = weight > 0
    begin, end = (lower[used] - threshold) / excess, (upper[used] - threshold) / excess
    best = np.empty(len(_SHAPES))
    for i, xi in enumerate(_SHAPES):
        mass = _survival(begin, xi) - _survival(end, xi)
        best[i] = weight[used] @ np.log(np.maximum(mass, 1e-12)) - 0.5 * ((xi - _LIKELY) / _SPREAD) ** 2
    shares = np.exp(best - best.max())
    return float(shares @ _SHAPES / shares.sum())


def _survival(excess: np.ndarray, xi: float) -> np.ndarray:
    """The share beyond, of a generalised Pareto distribution of mean 1."""
    scale = 1 - xi
    if abs(xi) < 1e-6:
        return np.exp(-excess)
    with np.errstate(over="ignore"):
        return np.maximum(1 + xi * excess / scale, 0.0) ** (-1 / xi)
