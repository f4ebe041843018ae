"""Errors in units of their expected size: how often one is so large, learnt online, with an estimate of the tail.

Counts stand in bins of |error| / expected size, six to an octave, for every lead and either side. What few errors of
one lead cannot say is lent by all leads together, and what these cannot say by errors as heavy as most are. Beyond the
outermost tenth a generalised Pareto tail takes over, whose shape is learnt from all leads.
"""

from __future__ import annotations

import math
from functools import cache, cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtr

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.scale import KEPT_LONG

__all__ = ["BINS", "ERRORS", "Calibration", "beginning", "bin_edges", "update"]

# Bins of |error| / expected size: so many to an octave, from this octave on.
BINS, PER_OCTAVE, LOWEST_OCTAVE = 64, 6.0, -3.0
# Errors made before so many horizons, and so many cells at least, were seen are those of a beginner: they count by
# this power of the share.
_BEGINNER_HORIZONS, _BEGINNER_CELLS, BEGINNER_POWER = 8, 48, 4
# Errors of neighbouring leads are compared up to so many expected sizes; none counts as larger than the second number.
_CLIPPED, _LARGEST = 3.0, 1e6

# Channels that are worked out at once.
_CHANNELS = 16
# Errors that all leads lend to one, and errors of the usual shape that are lent to all.
_LENT, _USUAL = 20.0, 4.0
# The share of errors, on both sides together, that the tail is fitted to.
_TAIL = 0.1
# A band is made for a rarer error than asked for, as if so many more had been seen, none of them so large; the more the
# rarer it is, as Student's t departs from a Gaussian: by z² (z² + 1) / 4, up to the rarest that was looked at.
_DOUBT, _DOUBT_OF_TAILS, _FEW, _RAREST = 1.5, 2.0, 4.0, 0.0005
# The power of the number of leads by which errors of all of them count less: 0 if each told something new, 1 if none.
_SAME = 0.5
# Shapes of tails that are tried, and which are likely beforehand.
_SHAPES = np.linspace(-0.2, 0.6, 17)
_LIKELY, _SPREAD = 0.1, 0.3
_TAIL_SCALES = np.array([0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05, 1.2, 1.4])
_DISTANCES = np.geomspace(1e-3, 1e4, 141)


# Errors at a lead.
ERRORS = np.dtype(
    [
        ("counts", float, (2, BINS)),  # above and below, by their size in expected ones
        ("product", float),  # sum of products of the errors at this lead and the one before, and of their mean squares
        ("square", float),
        ("largest", float),  # the largest absolute error, fading, and how many there were
        ("weight", float),
        ("rise", float),  # how far the signal has ever moved up over so many cells, and down
        ("fall", float),
    ]
)


@compiled(inner=True, inline="always")
def beginning(horizon):
    """The cells after which a new error counts in full."""
    return max(_BEGINNER_HORIZONS * horizon, _BEGINNER_CELLS)


@compiled(inner=True, inline="always")
def _bin(size):
    """The bin of an error in units of the expected one."""
    if size <= 0.125:
        return 0
    place = int((math.log2(size) - LOWEST_OCTAVE) * PER_OCTAVE) + 1
    return min(place, BINS - 1)


@compiled(inner=True, inline="always")
def standardise(error, size, is_scored):
    """An error in units of the expected size; beyond measure where none was expected, though errors are known."""
    if size > 0:
        return max(-_LARGEST, min(_LARGEST, error / size))
    if error != 0 and is_scored:
        return _LARGEST if error > 0 else -_LARGEST
    return 0.0


@compiled(inner=True)
def update(errors, log, now, pending, due, count, value, age, scored):
    """Count the error of every forecast of the present cell; returns the surprise, the size of the newest one's.

    `scored` are the records of `Scores.leads`, before these errors are scored.
    """
    horizon = len(errors)
    counted = min(age / beginning(horizon), 1.0) ** BEGINNER_POWER
    surprise = 0.0
    for i in range(count):
        k, origin = due[i].lead, pending.origins[due[i].place]
        ahead, here = pending.leads[due[i].slot], errors[k]
        error, is_scored = value - ahead.mean, scored[k].weight > 0
        z = standardise(error, ahead.size, is_scored)
        if i == 0:
            surprise = abs(z)
        if due[i].trust == 0:
            origin.z = 0.0
            continue
        change = value - log[now - 1 - k].value
        here.rise, here.fall = max(here.rise, change), max(here.fall, -change)
        here.largest = max(here.largest * (1.0 - 0.5 * KEPT_LONG), abs(error))
        here.weight = here.weight * (1.0 - KEPT_LONG) + 1.0
        if ahead.size > 0 or is_scored:
            here.counts[0 if error >= 0 else 1, _bin(abs(z))] += counted
        before, z = origin.z, max(-_CLIPPED, min(_CLIPPED, z))
        origin.z = z
        if k > 0:  # how the error at one lead follows that at the lead before
            here.product = here.product * (1.0 - KEPT_LONG) + z * before
            here.square = here.square * (1.0 - KEPT_LONG) + 0.5 * (z * z + before * before)
    return surprise


@cache
def bin_edges() -> Float[np.ndarray, " edges"]:
    """The edges of the bins, in expected sizes; the last bin is open."""
    return np.concatenate([[0.0], 2.0 ** (LOWEST_OCTAVE + np.arange(BINS - 1) / PER_OCTAVE), [np.inf]])


@cache
def _upper_edges() -> np.ndarray:
    """Upper edges, the last one a bin's width further out."""
    edges = bin_edges()
    return np.append(edges[1:-1], edges[-2] * 2 ** (1 / PER_OCTAVE))


@cache
def usual_shape() -> Float[np.ndarray, " bins"]:
    """Shares of the bins for errors of Student's t with six degrees of freedom and a mean size of 1."""
    # Not scipy.stats, which takes 40 MB and a second to load.
    mean_size = 2 * math.sqrt(6) * math.gamma(3.5) / (math.sqrt(math.pi) * math.gamma(3) * 5)
    return np.diff(2 * stdtr(6.0, bin_edges() * mean_size) - 1)


class Calibration:
    """The distribution of errors of every channel, at every lead, from counts by side (above, below) and bin.

    `alike` is the correlation of the error at each lead with that at the lead before. Until `beginning` errors of a
    lead were counted they count less: those of a mixture that had not seen much.

    Examples
    --------
    Before any error was seen they are taken to be a little heavier than Gaussian, and bands are wide.

    >>> calibration = Calibration(np.zeros((1, 1, 2, BINS)))
    >>> bool(1.96 * 1.25 < calibration.reach(0.025)[0, 0, 0] < 4.5)
    True
    """

    def __init__(
        self,
        counts: Float[np.ndarray, "channels leads sides bins"],
        alike: Float[np.ndarray, "channels leads"] | None = None,
        beginning: float | int = 0,
    ) -> None:
        if beginning > 0:
            counts = counts * _worth(counts.sum(axis=(2, 3)), float(beginning))[..., None, None]
        # Every value is compared at every lead: so many leads tell less than so many values.
        together = counts.sum(axis=(1, 2)) / counts.shape[1] ** _SAME + _USUAL * usual_shape()
        self.pooled = together
        shape = together / together.sum(axis=-1, keepdims=True)
        # Errors of neighbouring origins tell the same, the more the longer the lead, where one lead's error is like
        # that of the lead before: so many count as one.
        leads = np.arange(counts.shape[1])
        overlap = np.zeros(len(leads)) if alike is None else leads * np.maximum(alike, 0.0) ** 2
        told = counts / (1 + overlap)[..., None, None]
        self.counts = told + 0.5 * _LENT * shape[:, None, None]
        self._seen = told.sum(axis=(2, 3))[..., None]

    @cached_property
    def _tail_table(self) -> Float[np.ndarray, "channels distances"]:
        return _tail_survival(self.pooled)

    def reach(self, tail: float, leads: slice = slice(None)) -> Float[np.ndarray, "channels leads sides"]:
        """How far out, in expected sizes, an error lies beyond which there are this share of all, on either side."""
        counts, seen = self.counts[:, leads], self._seen[:, leads] + _FEW
        # Few errors, and a mixture that was chosen by them, are a little too good to be true.
        caution = seen / (seen + _doubt(tail))
        found = np.empty((*counts.shape[:2], 2))
        # Some channels at a time: all at once would take many times the memory of the counts.
        for first in range(0, len(counts), _CHANNELS):
            block = slice(first, first + _CHANNELS)
            found[block] = _reach(counts[block], self._tail_table[block], tail * caution[block] * np.ones(2))
        return found


def _doubt(tail: float) -> float:
    """How many more errors would have to be seen, none of them so large, before this share is believed."""
    square = float(ndtri(max(tail, _RAREST))) ** 2
    return _DOUBT + _DOUBT_OF_TAILS * square * (square + 1) / 4


def _worth(total: Float[np.ndarray, "channels leads"], beginning: float) -> Float[np.ndarray, "channels leads"]:
    """How many independent errors the weights of a stream are worth, for each of their sum.

    Weights grow as (n / beginning)⁴ up to 1. A sum S of them, whose squares add up to Q, is worth S² / Q.
    """
    once, twice = BEGINNER_POWER + 1, 2 * BEGINNER_POWER + 1
    grown = beginning / once
    share = (np.minimum(total / grown, 1.0)) ** (1 / once)
    squares = share**twice * beginning / twice + np.maximum(total - grown, 0.0)
    return total / np.where(squares > 0, squares, 1.0)


def _reach(counts: np.ndarray, tails: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the share of errors beyond is the one wanted, by counts and, beyond the outermost tenth, by tails."""
    beyond = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] / counts.sum(axis=(2, 3))[..., None, None]
    inside = _TAIL / 2
    body = _crossing(beyond, np.maximum(wanted, inside))
    if (wanted >= inside).all():
        return body
    rarer = np.log(np.minimum(wanted / inside, 1.0))
    found = np.empty(rarer.shape)
    for c, row in enumerate(tails):
        found[c] = np.exp(np.interp(-rarer[c], -np.log(row), np.log(_DISTANCES)))
    return np.where(wanted < inside, body + _excess(counts, body) * found, body)


def _excess(counts: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """The mean excess over a threshold, from counts in bins; a few wild ones count as eight thresholds."""
    edges, upper = bin_edges(), _upper_edges()
    lower = np.maximum(edges[:-1], threshold[..., None])
    weight = counts * np.clip((upper - lower) / (upper - edges[:-1]), 0.0, 1.0)
    middle = np.maximum(0.5 * (lower + upper) - threshold[..., None], 0.0)
    distance = np.minimum(middle, 8 * np.maximum(threshold, 1.0)[..., None])
    total = weight.sum(axis=-1)
    found = (weight * distance).sum(axis=-1) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, found, 0.3 * threshold)


def _crossing(beyond: np.ndarray, wanted: np.ndarray | float) -> np.ndarray:
    """Where the share beyond falls to what is wanted, by straight lines between the edges."""
    edges, upper_edges = bin_edges(), _upper_edges()
    # The outermost bin whose share beyond its lower edge still is at least the one wanted.
    wanted = np.broadcast_to(wanted, beyond.shape[:-1])
    place = np.maximum((beyond >= wanted[..., None]).sum(axis=-1) - 1, 0)
    after = np.concatenate([beyond[..., 1:], np.zeros((*beyond.shape[:-1], 1))], axis=-1)
    here, there = (np.take_along_axis(one, place[..., None], -1)[..., 0] for one in (beyond, after))
    lower, upper = edges[place], upper_edges[place]
    part = np.clip((here - wanted) / np.where(here > there, here - there, 1.0), 0.0, 1.0)
    return lower + part * (upper - lower)


def _tail_survival(pooled: Float[np.ndarray, "channels bins"]) -> Float[np.ndarray, "channels distances"]:
    """How often an error beyond the outermost tenth lies further out than each distance, in mean excesses.

    Generalised Pareto tails of all shapes and scales, averaged by how well they explain the counts: what one tail that
    was picked by few errors leaves out is that another may be the true one.
    """
    edges, upper = bin_edges(), _upper_edges()
    beyond = np.cumsum(pooled[..., ::-1], axis=-1)[..., ::-1] / pooled.sum(axis=-1, keepdims=True)
    threshold = _crossing(beyond, _TAIL)
    lower = np.maximum(edges[:-1], threshold[:, None])
    weight = pooled * np.clip((upper - lower) / (upper - edges[:-1]), 0.0, 1.0)
    excess = _excess(pooled, threshold)[:, None]
    begin, end = (lower - threshold[:, None]) / excess, (np.maximum(edges[1:], lower) - threshold[:, None]) / excess
    likely = np.empty((len(_SHAPES), len(_TAIL_SCALES), len(pooled)))
    # All scales at once; without the first bins, which weigh nothing: in eights, so that sums keep their order.
    first = int((weight > 0).any(axis=0).argmax()) // 8 * 8
    ends = np.stack([begin, end])[:, None, :, first:] / _TAIL_SCALES[:, None, None]
    for i, xi in enumerate(_SHAPES):
        before, after = _survival(ends, xi)
        spoken = (weight[:, first:] * np.log(np.maximum(before - after, 1e-9))).sum(axis=-1)
        likely[i] = spoken - 0.5 * ((xi - _LIKELY) / _SPREAD) ** 2
    shares = np.exp(likely - likely.max(axis=(0, 1)))
    shares /= shares.sum(axis=(0, 1))
    return np.maximum(np.einsum("ijc,ijd->cd", shares, _survivals()), 1e-12)


@cache
def _survivals() -> np.ndarray:
    """Of every shape and scale, at every distance."""
    return np.stack([[_survival(_DISTANCES / scale, xi) for scale in _TAIL_SCALES] for xi in _SHAPES])


def _survival(excess: np.ndarray, xi: float) -> np.ndarray:
    """The share beyond, of a generalised Pareto distribution of scale 1."""
    if abs(xi) < 1e-6:
        return np.exp(-excess)
    with np.errstate(over="ignore", divide="ignore"):
        return np.maximum(1 + xi * excess, 0.0) ** (-1 / xi)
