"""One pass over many cells: logs fill up, pairs become complete, and maps are renewed on the way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from hippozoo.ensemble._kernels import Arrays, advance
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.moments import Moments, merge_moments, moments_of_pairs
from hippozoo.ensemble.records import Clock
from hippozoo.ensemble.ridge import Solved
from hippozoo.ensemble.state import Mixture, fields_of, with_rows

if TYPE_CHECKING:
    from hippozoo.ensemble.mixer import Mixer

__all__ = ["MAP_RENEWAL", "OnePass", "expected_after"]

# A map is renewed when what was seen has grown by this share, and after so many cells at the latest.
_RENEWAL_GROWTH, MAP_RENEWAL = 1 / 8, 256
# Channels whose pairs are worked out at once: a wide table takes no more memory than a narrow one.
_CHANNELS = 16


def expected_after(arrays: Arrays, used: int, count: int) -> Float[np.ndarray, "count two channels"]:
    """What the last `count` forecasts expect of the cell after them: mean and absolute error."""
    rows = arrays.leads[:, used - count : used, 0].T
    return np.stack([rows["mean"], rows["size"]], axis=1)


class OnePass:
    """A mixture while it takes in `count` cells; what changes is copied once, at the beginning.

    Where it is not `learning`, memories follow and maps stay. With `rows`, there is room for so many forecasts, and
    those that are over stay until the end.
    """

    def __init__(self, mixer: Mixer, mixture: Mixture, count: int, *, learning: bool, rows: int = 0) -> None:
        self.mixer, self.mixture, self.learning = mixer, mixture, learning
        self.arrays: Arrays = mixture.arrays._replace(live=mixture.live.copy())
        self.tip = mixture.tip
        if int(mixture.tip[0]) != mixture.cell:
            # Somebody else went on from here.
            live, *rest = self.arrays
            self.arrays = Arrays(live, *(one.copy() for one in rest))
            self.tip = np.array([mixture.cell])
        self.tip[0] = mixture.cell + count
        self.now, self.cell = mixture.now, mixture.cell
        self.first_row, self.used = mixture.first_row, mixture.used
        if rows:
            self._keep_rows(rows)
        self.seen, self.renewal = mixture.seen, mixture.renewal
        self.renewed: dict[str, Any] = {}

    def _get(self, name: str) -> Any:
        return self.renewed.get(name, getattr(self.mixture, name))

    @property
    def _cleaner(self) -> np.ndarray:
        return self.arrays.live[:, : CLEANER.itemsize // 8].view(CLEANER)[:, 0]

    def run(
        self, values: np.ndarray, observed: np.ndarray, expected: np.ndarray | None, features: np.ndarray | None
    ) -> OnePass:
        """Take in all cells; `expected` takes what is expected after each."""
        begin, counted = 0, np.cumsum(observed.any(axis=1))
        while begin < len(values):
            begin += self._skip_silence(begin, counted)
            if begin == len(values):
                break
            room = self._room(len(values) - begin)
            base = int(counted[begin - 1]) if begin else 0
            due = int(np.searchsorted(counted, base + self.renewal - self.seen)) + 1 - begin
            end = begin + min(room, due, len(values) - begin)
            self._advance(values[begin:end], observed[begin:end], None if features is None else features[begin:end])
            if expected is not None:
                expected[begin:end] = expected_after(self.arrays, self.used, end - begin)
            begin = end
            self.seen += int(counted[end - 1]) - base
            if self.seen >= self.renewal:
                self._renew()
        return self

    def _room(self, wanted: int) -> int:
        """How many cells fit into the logs; makes room for so many, or for many of them, where there is none."""
        if self.now >= self.arrays.log.shape[1]:
            self._absorb()
        free, stride = len(self.arrays.origins) - self.used, self.mixer.stride
        if free == 0:
            kept = self.used - self.first_row
            self._keep_rows(max(self.mixer.rows, kept + min(wanted // stride + 1, MAP_RENEWAL)))
            free = len(self.arrays.origins) - kept
        return min(self.arrays.log.shape[1] - self.now, free * stride)

    @property
    def _own_maps(self) -> Solved | None:
        """Maps that this pass has made itself; nobody else has seen them."""
        return Solved(*(self.renewed[name] for name in Solved._fields)) if "maps" in self.renewed else None

    def _advance(self, values: np.ndarray, observed: np.ndarray, features: np.ndarray | None) -> None:
        """Take in cells for which there is room."""
        if features is not None:
            self.arrays.features[0, self.now : self.now + len(values)] = features
        maps = self._own_maps or self.mixture.solution
        clock = Clock(self.now, self.cell, self.first_row, self.used)
        values = np.ascontiguousarray(values)
        self.first_row, self.used = advance(
            values, observed, self.arrays, clock, maps, self.mixer.plan, self.mixer.work
        )
        self.now += len(values)
        self.cell += len(values)

    def _renew(self) -> None:
        """New maps from all pairs that are complete; and when to do so next."""
        self._absorb()
        grown = max(1, min(MAP_RENEWAL, int(self.seen * _RENEWAL_GROWTH)))
        self.renewal = self.seen + grown
        if self.learning:
            moments = Moments(*(self._get(name) for name in Moments._fields))
            self.renewed |= self.mixer.solve(moments, self._own_maps)._asdict()

    def _absorb(self) -> None:
        """Learn the pairs whose futures are complete, and make room in the log."""
        paired, H = self._get("paired"), self.mixer.horizon
        count = self.cell - H - paired
        if count > 0:
            delayed, ages = self._get("delayed").copy(), self._get("ages").copy()
            self._learn_pairs(delayed, ages, self.now - (self.cell - paired), count)
            self.renewed |= {"delayed": delayed, "ages": ages, "paired": self.cell - H}
        keep, moved = self.mixer.before, {}
        for name in ("log", "leverage", "features"):
            old = getattr(self.arrays, name)
            moved[name] = np.zeros_like(old)
            moved[name][:, :keep] = old[:, self.now - keep : self.now]
        self.arrays, self.now = self.arrays._replace(**moved), keep
        self.tip = np.array([int(self.tip[0])])

    def _learn_pairs(self, delayed: np.ndarray, ages: np.ndarray, begin: int, count: int) -> None:
        """Add the pairs of these cells of the log to what is known; the memories move on to the last of them.

        Channels are taken by blocks, and written over what this call has made itself: a table of many columns needs
        little more memory than its state.
        """
        before = Moments(*(self._get(name) for name in Moments._fields))
        after = before
        if self.learning and "yx" not in self.renewed:
            after = Moments(*(np.empty_like(one) for one in before))
        forgetting = self.mixer.forgetting
        kept = 1.0 if forgetting is None else math.exp(-count / forgetting)
        for first in range(0, len(self.arrays.live), _CHANNELS):
            block = slice(first, first + _CHANNELS)
            reference = self._cleaner["reference"][block]
            pairs = moments_of_pairs(
                self.mixer.plan, self.arrays.log[block], self.arrays.leverage[block], self.now, begin, delayed[block],
                ages[block], reference, count, self.arrays.features[0],
            )  # fmt: skip
            if self.learning:
                known = Moments(*(one[block] for one in before))
                if kept < 1:
                    known = known._replace(weight=known.weight * kept, xx=known.xx * kept, yx=known.yx * kept)
                for mine, found in zip(after, merge_moments(known, pairs), strict=True):
                    mine[block] = found
        if self.learning:
            self.renewed |= after._asdict()

    def _skip_silence(self, begin: int, counted: np.ndarray) -> int:
        """Cross a long gap at once, where nothing changes any more: how many cells of it."""
        cleaner = self._cleaner
        if not self.cell or self.mixer.extra or (cleaner["silent"] <= self.mixer.silence).any():
            return 0
        before = int(counted[begin - 1]) if begin else 0
        count = int(np.searchsorted(counted, before + 1)) - begin
        if count <= 2 * self.arrays.log.shape[1]:
            return 0
        self._absorb()
        begun = cleaner["is_begun"] > 0
        cleaner["silent"] += count * begun
        cleaner["age"] += count * begun
        # As the compiled loop does cell by cell: after so long a silence the stream is at its mean.
        weight = cleaner["count"]
        mean = cleaner["reference"] + cleaner["total"] / np.where(weight > 0, weight, 1.0)
        for name, value in {"value": mean, "learnt": mean, "shift": cleaner["shift"]}.items():
            self.arrays.log[name] = value[:, None]
        for name in ("returned", "observed"):
            self.arrays.log[name] = 0.0
        self.cell += count
        ages = self.renewed["ages"] if "ages" in self.renewed else self.mixture.ages.copy()
        ages += count * begun[:, None]
        self.renewed |= {"ages": ages, "paired": self._get("paired") + count}
        self.first_row = self.used
        return count

    def _keep_rows(self, rows: int) -> None:
        """Pending forecasts in arrays of their own, with so many rows."""
        in_use = slice(self.first_row, self.used)
        self.arrays = with_rows(self.arrays, in_use, rows)
        self.first_row, self.used = 0, in_use.stop - in_use.start

    def finish(self) -> Mixture:
        """The mixture after all cells."""
        self.tip[0] = self.cell
        if len(self.arrays.origins) != self.mixer.rows:
            self._keep_rows(self.mixer.rows)
        return replace(
            self.mixture,
            **fields_of(self.arrays),
            now=self.now,
            cell=self.cell,
            first_row=self.first_row,
            used=self.used,
            tip=self.tip,
            seen=self.seen,
            renewal=self.renewal,
            **self.renewed,
        )
