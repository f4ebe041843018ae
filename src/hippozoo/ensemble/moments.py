"""What maps are learnt from: moments of pairs of a past and its future, read off the log.

Moments of a kind of map are the weight of its pairs, the means of past and future, and their centred products. They add
up, so that learning takes one pass, and channels can share them or lend each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hippozoo import checkpoint
from hippozoo._internal.compiled import compiled
from hippozoo._internal.immutable import Immutable
from hippozoo.ensemble.cleaner import settled_value
from hippozoo.ensemble.experts.ridge_map import HIGH_LEVERAGE, LAST, MEAN, SEASON, reset_memories, step_memories
from hippozoo.ensemble.records import CELL, Plan

__all__ = [
    "FEWEST_PAIRS",
    "KindMoments",
    "Moments",
    "lend",
    "merge_moments",
    "moments_of_pairs",
    "symmetric",
    "triangle",
]

# A pair counts less if a value of its future was a surprise of more than so many expected errors.
_SURPRISE = 20.0
# Pairs before there is a map.
FEWEST_PAIRS = 4
# What a panel lends to each of its series counts as so many pairs.
_PANEL_PAIRS = 500.0


class KindMoments(NamedTuple):
    """Moments of one kind of map: pasts, and the futures relative to what the map corrects."""

    weight: Float[np.ndarray, " channels"]
    mean_x: Float[np.ndarray, "channels width"]
    mean_y: Float[np.ndarray, "channels leads"]
    xx: Float[np.ndarray, "channels triangle"]  # the lower triangle, row by row
    yx: Float[np.ndarray, "channels leads width"]


@dataclass(frozen=True, eq=False)
class Moments(Immutable):
    """Moments of all kinds of map, one row per channel: one kind after the other, each as in `KindMoments`."""

    numbers: Float[np.ndarray, "channels numbers"]

    @staticmethod
    def size(plan: Plan) -> int:
        """Numbers of a channel."""
        return sum(sum(_lengths(q, plan.horizon)) for q in plan.widths.tolist())

    @staticmethod
    def none(channels: int) -> Moments:
        """No moments; of two shapes, so that `checkpoint.load_state` takes the width of a state's for free."""
        return Moments(np.zeros((channels, min(channels, 2))))

    @property
    def is_none(self) -> bool:
        """Whether there are none."""
        return self.numbers.shape[1] <= 2

    @cached_property
    def maps(self) -> list[np.ndarray]:
        """The maps of these moments once `Mixer.maps` has solved them: they follow from them, and are not saved."""
        return []

    def kinds(self, plan: Plan) -> list[KindMoments]:
        """Views of the numbers, kind by kind."""
        found, end, C, H = [], 0, len(self.numbers), plan.horizon
        for q in plan.widths.tolist():
            ends = end + np.cumsum(_lengths(q, H))
            weight, mean_x, mean_y, xx, yx = np.split(self.numbers[:, end : ends[-1]], ends[:-1] - end, axis=1)
            found.append(KindMoments(weight[:, 0], mean_x, mean_y, xx, yx.reshape(C, H, q)))
            end = int(ends[-1])
        return found

    def channels(self, which: slice | Int[np.ndarray, " some"]) -> Moments:
        """Some of the channels, with the maps they have: channels that learn together share more than moments."""
        found = Moments(self.numbers[which])
        found.maps.extend(one[which] for one in self.maps)
        return found


checkpoint.register(Moments, name="hippozoo.ensemble.moments.Moments")


def _lengths(width: int, leads: int) -> tuple[int, ...]:
    """Numbers of each part of `KindMoments`."""
    return 1, width, leads, width * (width + 1) // 2, leads * width


@cache
def triangle(width: int) -> tuple[Int[np.ndarray, " triangle"], Int[np.ndarray, " triangle"]]:
    """Row and column of every number of a lower triangle."""
    return np.tril_indices(width)


def symmetric(xx: Float[np.ndarray, "channels triangle"], width: int) -> Float[np.ndarray, "channels width width"]:
    """The matrices of which these are the lower triangles."""
    found, (row, column) = np.empty((len(xx), width, width)), triangle(width)
    found[:, row, column] = found[:, column, row] = xx
    return found


def diagonal(xx: Float[np.ndarray, "channels triangle"], width: int) -> Float[np.ndarray, "channels width"]:
    """The diagonal of matrices given by their lower triangles."""
    place = np.arange(width)
    return np.take(xx, place * (place + 3) // 2, axis=1)


class Pairs(NamedTuple):
    """Pairs of a channel, one per cell."""

    values: Any  # of all cells of the log, outliers replaced
    room: Any  # to work in
    states: Any  # of the memories after the cell
    age: Any  # of the channel
    futures: Any  # the cells that follow
    observed: Any  # the share of them that was measured
    surprise: Any  # the largest among them


@compiled(tuples={"plan": Plan, "pairs": Pairs}, _nrt=False, error_model="numpy")
def _read_pairs(log, now, begin, memories, ages, reference, plan, pairs):
    """Pairs of one channel from cell `begin` of its log on; memories and ages move on."""
    room = pairs.room
    for place in range(now):
        pairs.values[place] = settled_value(log, place, now - 1)
    for t in range(len(pairs.age)):
        here = begin + t
        level, is_observed = log[here].learnt - reference, log[here].surprise >= 0
        if is_observed and ages[1] > plan.silence:
            ages[0] = 0.0
            reset_memories(memories, level, plan.inputs)
        ages[1] = 0.0 if is_observed else ages[1] + 1.0
        if ages[0] > 0 or is_observed:
            ages[0] += 1.0
            step_memories(memories, level, log, here, ages[0], plan, room)
        pairs.age[t] = ages[0]
        for m in range(memories.shape[0]):
            for i in range(memories.shape[1]):
                pairs.states[t, m, i] = memories[m, i]
        _read_future(log, here, pairs, t)


@compiled(inner=True)
def _read_future(log, here, pairs, t):
    """The cells after `here`, into pair t."""
    horizon = pairs.futures.shape[1]
    observed, surprise = 0.0, -np.inf
    for k in range(horizon):
        pairs.futures[t, k] = pairs.values[here + 1 + k]
        observed += 1.0 if log[here + 1 + k].surprise >= 0 else 0.0
        surprise = max(surprise, log[here + 1 + k].surprise)
    pairs.observed[t], pairs.surprise[t] = observed / horizon, surprise


def moments_of_pairs(
    plan: Plan,
    logs: Float[np.ndarray, "channels log_numbers"],
    leverages: Float[np.ndarray, "channels cells kinds"],
    now: int,
    begin: int,
    memories: Float[np.ndarray, "channels memories width"],
    ages: Float[np.ndarray, "channels two"],
    reference: Float[np.ndarray, " channels"],
    count: int,
    features: Float[np.ndarray, "cells views numbers"],
) -> list[KindMoments]:
    """Moments of the pairs of `count` cells of the logs, from `begin` on; memories and ages move on with them."""
    C, H, M, q = len(logs), plan.horizon, *plan.b.shape
    pairs = Pairs(
        np.zeros(leverages.shape[:2]),
        np.empty((C, q)),
        np.zeros((C, count, M, q)),
        np.zeros((C, count)),
        np.empty((C, count, H)),
        *np.zeros((2, C, count)),
    )
    for c in range(C):
        of_channel = Pairs(*(one[c] for one in pairs))
        _read_pairs(logs[c].view(CELL), now, begin, memories[c], ages[c], reference[c], plan, of_channel)
    weights = pairs.observed * (pairs.age > 0)
    if plan.guard:
        weights = weights * np.minimum(1.0, _SURPRISE / np.maximum(pairs.surprise, _SURPRISE))
    here = slice(begin, begin + count)
    present, centred, found = pairs.values[:, here], {}, []
    for n, (memory, anchor) in enumerate(zip(plan.memory_of.tolist(), plan.anchors.tolist(), strict=True)):
        x = pairs.states[:, :, memory, : plan.orders[memory]].copy()
        if plan.views[n] >= 0:
            beside = features[here, plan.views[n]]
            x = np.concatenate([x, np.broadcast_to(beside, (C, *beside.shape))], axis=2)
        leverage = leverages[:, here, n]
        is_near = not plan.guard or bool((leverage <= HIGH_LEVERAGE).all())
        w = weights if is_near else weights * np.minimum(1.0, HIGH_LEVERAGE / np.maximum(leverage, HIGH_LEVERAGE))
        if anchor == LAST:
            x[:, :, 0] -= present - reference[:, None]
        if is_near and anchor in centred:  # memories differ, futures and their weights do not
            w, total, part, mean_y, y = centred[anchor]
        else:
            y, w = _relative(plan, pairs, begin, reference, anchor, w)
            total = w.sum(axis=1)
            part = w / np.where(total > 0, total, 1.0)[:, None]
            mean_y = np.einsum("cb,cbk->ck", part, y)
            y -= mean_y[:, None]
            if is_near:
                centred[anchor] = w, total, part, mean_y, y
        mean_x = np.einsum("cb,cbi->ci", part, x)
        x -= mean_x[:, None]
        xw = (x * w[:, :, None]).transpose(0, 2, 1)
        rows, columns = triangle(x.shape[2])
        found.append(KindMoments(total, mean_x, mean_y, (xw @ x)[:, rows, columns], (xw @ y).transpose(0, 2, 1)))
    return found


def _relative(
    plan: Plan, pairs: Pairs, begin: int, reference: np.ndarray, anchor: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Futures relative to what a map corrects, and their weights."""
    count, H = pairs.futures.shape[1:]
    if anchor == LAST:
        return pairs.futures - pairs.values[:, begin : begin + count, None], weights
    if anchor == MEAN:
        return pairs.futures - reference[:, None, None], weights
    m, k = int(plan.seasons[anchor - SEASON]), np.arange(H)
    place = begin + np.arange(count)[:, None] + k + 1 - m * (k // m + 1)
    return pairs.futures - pairs.values[:, place], weights * (pairs.age > m)


def merge_moments(left: KindMoments, right: KindMoments) -> KindMoments:
    """Moments of both sets of pairs together."""
    weight = left.weight + right.weight
    share = right.weight / np.where(weight > 0, weight, 1.0)
    dx, dy = right.mean_x - left.mean_x, right.mean_y - left.mean_y
    between, (row, column) = left.weight * share, triangle(dx.shape[1])
    return KindMoments(
        weight,
        left.mean_x + share[:, None] * dx,
        left.mean_y + share[:, None] * dy,
        left.xx + right.xx + between[:, None] * (dx[:, row] * dx[:, column]),
        left.yx + right.yx + between[:, None, None] * (dy[:, :, None] * dx[:, None]),
    )


def lend(moments: KindMoments, together: str) -> KindMoments:
    """The moments of every channel, with what the others lend: all of it if shared, a part of it in a panel.

    In a panel each series is divided by its size (the root of the mean variance of a coefficient); then every series
    gets the mean of all, counted as so many pairs, so that its own say more the longer it is.
    """
    if together == "independent":
        return moments
    weight, mean_x, mean_y, xx, yx = moments
    if together == "shared":
        total = KindMoments(*(one[:1] for one in moments))
        for c in range(1, len(weight)):
            total = merge_moments(total, KindMoments(*(one[c : c + 1] for one in moments)))
        return KindMoments(*(np.broadcast_to(one, (len(weight), *one.shape[1:])) for one in total))
    size = np.sqrt(np.einsum("cii->c", symmetric(xx, mean_x.shape[1])) / np.maximum(weight, 1e-300))
    known = (size > 0) & (weight >= FEWEST_PAIRS)
    unit = np.where(known, size, 1.0)[:, None] ** 2
    # Series count alike, whatever their length: none is to speak for all.
    part = np.where(known, 1.0 / np.maximum(weight, 1e-300), 0.0)[:, None]
    count = max(int(known.sum()), 1)
    # A series without pairs of its own has no size to give the others' back in.
    lent = np.where(known, _PANEL_PAIRS, 0.0)
    scaled = lent[:, None] * unit

    def with_mean(one: np.ndarray) -> np.ndarray:
        flat = one.reshape(len(one), -1)
        return (flat + scaled * (((flat / unit) * part).sum(axis=0) / count)).reshape(one.shape)

    return KindMoments(weight + lent, mean_x, mean_y, with_mean(xx), with_mean(yx))
