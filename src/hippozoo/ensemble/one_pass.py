"""One pass over many cells: logs fill up, pairs become complete, and maps are renewed on the way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hippozoo.ensemble._kernels import Issuing, advance
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.moments import KindMoments, Moments, merge_moments, moments_of_pairs
from hippozoo.ensemble.records import CELL
from hippozoo.ensemble.state import Mixture

if TYPE_CHECKING:
    from hippozoo.ensemble.mixer import Mixer

__all__ = ["MAP_RENEWAL", "OnePass"]

# A map is renewed when what was seen has grown by this share, and after so many cells at the latest.
_RENEWAL_GROWTH, MAP_RENEWAL = 1 / 8, 256
# Channels whose pairs are worked out at once: a wide table takes no more memory than a narrow one.
_CHANNELS = 16
_CELL = CELL.itemsize // 8


class OnePass:
    """A mixture while it takes in `count` cells; what changes is copied once, at the beginning.

    Where it is not `learning`, memories follow and maps stay. Forecasts are written down in `issuing`.
    """

    def __init__(self, mixer: Mixer, mixture: Mixture, count: int, issuing: Issuing, *, learning: bool) -> None:
        self.mixer, self.mixture, self.learning = mixer, mixture, learning
        self.issuing, self.issued = issuing, 0
        self.live, self.tip = mixture.live.copy(), mixture.tip
        self.log, self.leverage, self.features = mixture.log, mixture.leverage, mixture.features
        if int(mixture.tip[0]) != mixture.cell:
            # Somebody else went on from here.
            self.log, self.leverage, self.features = self.log.copy(), self.leverage.copy(), self.features.copy()
            self.tip = np.array([mixture.cell])
        self.tip[0] = mixture.cell + count
        self.now, self.cell = mixture.now, mixture.cell
        self.delayed, self.ages, self.paired = mixture.delayed, mixture.ages, mixture.paired
        self.moments, self.mapped = mixture.moments, mixture.mapped
        self.seen, self.renewal = mixture.seen, mixture.renewal

    @property
    def _cleaner(self) -> np.ndarray:
        return self.live[:, : CLEANER.itemsize // 8].view(CLEANER)[:, 0]

    def run(self, values: np.ndarray, observed: np.ndarray, features: np.ndarray | None) -> OnePass:
        """Take in all cells."""
        begin, counted = 0, np.cumsum(observed.any(axis=1))
        while begin < len(values):
            begin += self._skip_silence(begin, counted)
            if begin == len(values):
                break
            if self.now >= self.leverage.shape[1]:
                self._absorb()
            base = int(counted[begin - 1]) if begin else 0
            due = int(np.searchsorted(counted, base + self.renewal - self.seen)) + 1 - begin
            end = begin + min(self.leverage.shape[1] - self.now, due, len(values) - begin)
            if features is not None:
                self.features[0, self.now : self.now + end - begin] = features[begin:end]
            self._advance(np.ascontiguousarray(values[begin:end]), observed[begin:end], begin)
            begin = end
            self.seen += int(counted[end - 1]) - base
            if self.seen >= self.renewal:
                self._renew()
        return self

    def _advance(self, values: np.ndarray, observed: np.ndarray, begin: int) -> None:
        """Take in cells for which there is room, the first being number `begin` of this pass."""
        mixer, (expected, *whole) = self.mixer, self.issuing
        issuing = Issuing(expected[begin:], *(one[self.issued :] for one in whole))
        self.issued += advance(
            values, observed, self.live, self.log, self.leverage, self.features, self.now, self.cell,
            mixer.maps(self), mixer.plan, mixer.work, issuing,
        )  # fmt: skip
        self.now += len(values)
        self.cell += len(values)

    def _renew(self) -> None:
        """New maps from all pairs that are complete; and when to do so next."""
        self._absorb()
        self.renewal = self.seen + max(1, min(MAP_RENEWAL, int(self.seen * _RENEWAL_GROWTH)))
        if self.learning:
            self.mapped = Moments.none(len(self.live))
            self.mixer.maps(self)

    def _absorb(self) -> None:
        """Learn the pairs whose futures are complete, and make room in the log."""
        count = self.cell - self.mixer.horizon - self.paired
        if count > 0:
            self._learn_pairs(self.now - (self.cell - self.paired), count)
            self.paired += count
        keep = self.mixer.before
        self.log = _last(self.log, self.now * _CELL, keep * _CELL)
        self.leverage, self.features = (_last(one, self.now, keep) for one in (self.leverage, self.features))
        self.now, self.tip = keep, np.array([int(self.tip[0])])

    def _learn_pairs(self, begin: int, count: int) -> None:
        """Add the pairs of these cells of the log to what is known; the memories move on to the last of them.

        Channels are taken by blocks: a table of many columns needs little more memory than its state.
        """
        self.delayed, self.ages, plan = self.delayed.copy(), self.ages.copy(), self.mixer.plan
        forgetting = self.mixer.forgetting
        kept = 1.0 if forgetting is None else math.exp(-count / forgetting)
        after = Moments(np.empty_like(self.moments.numbers)) if self.learning else self.moments
        for first in range(0, len(self.live), _CHANNELS):
            block = slice(first, first + _CHANNELS)
            pairs = moments_of_pairs(
                plan, self.log[block], self.leverage[block], self.now, begin, self.delayed[block], self.ages[block],
                self._cleaner["reference"][block], count, self.features[0],
            )  # fmt: skip
            if not self.learning:
                continue
            for before, new, into in zip(self.moments.kinds(plan), pairs, after.kinds(plan), strict=True):
                known = KindMoments(*(one[block] for one in before))
                if kept < 1:
                    known = known._replace(weight=known.weight * kept, xx=known.xx * kept, yx=known.yx * kept)
                for mine, found in zip(into, merge_moments(known, new), strict=True):
                    mine[block] = found
        if self.learning:
            self.moments, self.mapped = after, self.moments if self.mapped.is_none else self.mapped

    def _skip_silence(self, begin: int, counted: np.ndarray) -> int:
        """Cross a long gap at once, where nothing changes any more: how many cells of it."""
        cleaner = self._cleaner
        if not self.cell or self.mixer.extra or (cleaner["silent"] <= self.mixer.silence).any():
            return 0
        before = int(counted[begin - 1]) if begin else 0
        count = int(np.searchsorted(counted, before + 1)) - begin
        if count <= 2 * self.leverage.shape[1]:
            return 0
        self._absorb()
        begun = cleaner["is_begun"] > 0
        cleaner["silent"] += count * begun
        cleaner["age"] += count * begun
        # As the compiled loop does cell by cell: after so long a silence the stream is at its mean.
        weight, log = cleaner["count"], self.log.view(CELL)
        mean = cleaner["reference"] + cleaner["total"] / np.where(weight > 0, weight, 1.0)
        for name, value in {"value": mean, "learnt": mean, "shift": cleaner["shift"]}.items():
            log[name] = value[:, None]
        log["returned"], log["surprise"] = 0.0, -1.0
        self.ages = self.ages + count * begun[:, None]
        self.cell += count
        self.paired += count
        return count

    def finish(self) -> Mixture:
        """The mixture after all cells."""
        self.tip[0] = self.cell
        names = ("live", "log", "leverage", "features", "now", "cell", "tip", "delayed", "ages", "paired", "moments",
                 "mapped", "seen", "renewal")  # fmt: skip
        return replace(self.mixture, **{name: getattr(self, name) for name in names})


def _last(log: np.ndarray, end: int, keep: int) -> np.ndarray:
    """A new log that begins with the last `keep` places before `end`."""
    found = np.zeros_like(log)
    found[:, :keep] = log[:, end - keep : end]
    return found
