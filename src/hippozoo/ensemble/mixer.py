"""An ensemble of experts, weighted by how well each has done; pure: a `Mixture` goes in and comes out.

Time runs in cells of `dt`. In every cell each pending forecast is compared with the value that came, at every lead; an
expert counts by the sixth power of one over its error, of which the last four horizons matter most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from operator import attrgetter

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.ensemble._kernels import Issuing, Work, advance, expert_weights, forecast_now, read_issued
from hippozoo.ensemble.cleaner import FIRST_CELLS, early_outliers
from hippozoo.ensemble.moments import Moments, lend, merge_moments
from hippozoo.ensemble.one_pass import MAP_RENEWAL, OnePass
from hippozoo.ensemble.plan import Planner
from hippozoo.ensemble.records import CELL, Channel, open_channels, open_map
from hippozoo.ensemble.ridge import solve
from hippozoo.ensemble.state import Issued, Mixture, Rolled

__all__ = ["Mixer"]

# What is learnt, and stays when samples are only followed, beside all errors and scores.
_LEARNT = (
    ("cleaner", ("pairs",)), ("brake", ("moved", "moves", "lately", "lately_weight")),
    ("scale.step", ("sum", "weight")), ("scale.leads", ("errors", "expected", "loss")),
)  # fmt: skip
# Numbers of all channels that are rolled at once, at most, and forecasts at least.
_ROLLED, _LEAST_ROLLED = 1_000_000, 8


class Mixer(Planner):
    """Learns and forecasts by an ensemble; pure: a `Mixture` goes in and comes out."""

    @cached_property
    def work(self) -> Work:
        """Room for the compiled loop to work in; it holds Python's lock, so that no two of them run at once."""
        return Work.of(self.plan)

    @cached_property
    def _silent(self) -> Issuing:
        """For cells whose forecasts are not written down."""
        return Issuing.of(self.plan, 1)

    def begin(self, channels: int) -> Mixture:
        """Nothing seen, nothing learnt."""
        C, H = channels, self.horizon
        cells = self.before + H + MAP_RENEWAL + 2
        return Mixture(
            live=np.zeros((C, self.plan.parts[-1])),
            log=np.zeros((C, cells * (CELL.itemsize // 8))),
            leverage=np.zeros((C, cells, len(self.kinds))),
            features=np.zeros((1, cells, 1 + len(self.seasons), self.extra)),
            now=self.before,
            cell=0,
            tip=np.zeros(1, np.int64),
            delayed=np.zeros((C, len(self.systems), self.width)),
            ages=np.zeros((C, 2)),
            paired=0,
            moments=Moments(np.zeros((C, Moments.size(self.plan)))),
            mapped=Moments.none(C),
            seen=0,
            renewal=max(H + 8, 2 * H),
        )

    @cached_property
    def _layout(self) -> tuple[int, ...]:
        return _shapes(self.begin(1))

    def _check(self, mixture: Mixture) -> None:
        """Refuse a state of another forecaster, or of an older version: the compiled loops would read beyond it."""
        found, needed = _shapes(mixture), self._layout
        if found != needed:
            raise ValueError(
                f"this state holds {found[0]} numbers a channel, and this forecaster needs {needed[0]}: it is another "
                f"forecaster's, or was saved by an older version; begin with initial_state and learn the series again."
            )

    def open(self, mixture: Mixture) -> Channel:
        """The numbers of all channels by names: records have a channel axis first."""
        return open_channels(mixture.live, self.plan)

    def advance(
        self,
        mixture: Mixture,
        values: Float[np.ndarray, "cells channels"],
        observed: Bool[np.ndarray, "cells channels"],
        *,
        learning: bool = True,
        expected: Float[np.ndarray, "cells two channels"] | None = None,
        features: Float[np.ndarray, "cells views numbers"] | None = None,
    ) -> Mixture:
        """The mixture after these cells too: the one way in.

        Where nothing was observed the value is not read. Without `learning`, memories follow and maps and scores stay.
        `expected` takes mean and absolute error expected after each cell, where all issue; `features` are what inputs
        say after each.
        """
        self._check(mixture)
        first = FIRST_CELLS - mixture.cell
        if learning and 0 <= first < len(values):
            if first:
                told = (None if one is None else one[:first] for one in (expected, features))
                mixture = self._advance(mixture, values[:first], observed[:first], True, *told)
            mixture = self._without_early_outliers(mixture)
            values, observed = values[first:], observed[first:]
            expected, features = (None if one is None else one[first:] for one in (expected, features))
        return self._advance(mixture, values, observed, learning, expected, features)

    def _without_early_outliers(self, mixture: Mixture) -> Mixture:
        """The same after its first cells, learnt anew where there were outliers among them."""
        cells = slice(mixture.now - FIRST_CELLS, mixture.now)
        log = mixture.cells[:, cells]
        seen = log["surprise"] >= 0
        outliers = np.stack([early_outliers(*one) for one in zip(log["value"], seen, strict=True)])
        if not self.guard or not outliers.any():
            return mixture
        rest, features = (seen & ~outliers).T, mixture.features[0, cells]
        values = np.where(rest, log["value"].T, 0.0)
        anew = self._advance(self.begin(len(mixture.live)), values, rest, True, None, features)
        return replace(anew, offset=mixture.offset)

    def _advance(
        self,
        mixture: Mixture,
        values: np.ndarray,
        observed: np.ndarray,
        learning: bool,
        expected: np.ndarray | None,
        features: np.ndarray | None,
    ) -> Mixture:
        """The mixture after these cells, all of them before or after the end of the first ones."""
        count = len(values)
        if not count:
            return mixture
        issuing = self._silent if expected is None else self._silent._replace(expected=expected)
        fits = (
            mixture.tip[0] == mixture.cell
            and mixture.now + count <= mixture.leverage.shape[1]
            and mixture.seen + count < mixture.renewal
            and learning
        )
        if not fits:
            after = OnePass(self, mixture, count, issuing, learning=learning).run(values, observed, features).finish()
            if not learning:
                self._copy_learnt(mixture, after)
            return after
        # The same, faster, for cells that fit into the logs and before maps are due.
        now, cell = mixture.now, mixture.cell
        mixture.tip[0] = cell + count
        live = mixture.live.copy()
        if features is not None:
            mixture.features[0, now : now + count] = features
        maps = self.maps(mixture)
        advance(
            values, observed, live, mixture.log, mixture.leverage, mixture.features, now, cell, maps, self.plan,
            self.work, issuing,
        )  # fmt: skip
        seen = 1 if count == 1 and observed.any() else int(observed.any(axis=1).sum())
        moved = object.__new__(Mixture)  # `replace` would cost more than the sample itself
        moved.__dict__.update(mixture.__dict__)
        moved.__dict__.update(live=live, now=now + count, cell=cell + count, seen=mixture.seen + seen)
        return moved

    def roll(
        self,
        mixture: Mixture,
        values: Float[np.ndarray, "cells channels"],
        observed: Bool[np.ndarray, "cells channels"],
        features: Float[np.ndarray, "cells views numbers"] | None = None,
    ) -> Iterator[tuple[Mixture, Rolled]]:
        """The same as `advance`, piece by piece, with the forecasts that were issued on the way."""
        channels, begin = len(mixture.live), 0
        numbers = channels * self.horizon * self.plan.experts
        piece = self.stride * max(_LEAST_ROLLED, min(MAP_RENEWAL, _ROLLED // numbers))
        while begin < len(values):
            end = min(begin + piece, len(values))
            if mixture.cell < FIRST_CELLS:
                end = min(end, begin + FIRST_CELLS - mixture.cell)
            elif mixture.cell == FIRST_CELLS:
                mixture = self._without_early_outliers(mixture)
            here = slice(begin, end)
            issuing = Issuing.of(self.plan, channels, origins=(end - begin) // self.stride + 1)
            one_pass = OnePass(self, mixture, end - begin, issuing, learning=True)
            one_pass.run(values[here], observed[here], None if features is None else features[here])
            mixture, count = one_pass.finish(), one_pass.issued
            mean, experts = (one[:count].swapaxes(0, 1) for one in (issuing.mean, issuing.experts))
            yield mixture, Rolled(issuing.origins[:count] + 1, mean, experts)
            begin = end

    def issue(self, mixture: Mixture) -> Issued:
        """The forecast from the present."""
        self._check(mixture)
        shape = len(mixture.live), self.horizon
        found, last = Issued(np.zeros(shape), np.zeros(shape), np.zeros((*shape, self.plan.experts))), mixture.cell - 1
        if mixture.cell and not read_issued(mixture.live, last, self.plan, *found):
            # What is issued is counted, and asking must not change a state.
            live, leverage = mixture.live.copy(), mixture.leverage[:, : mixture.now].copy()
            maps = self.maps(mixture)
            forecast_now(
                live, mixture.log, leverage, mixture.features, mixture.now - 1, last, maps, self.plan, self.work, *found
            )
        return found

    def weights(self, mixture: Mixture) -> Float[np.ndarray, "channels leads experts"]:
        """How much each expert counts at each lead; the last value takes what the brake takes from the rest."""
        found = np.empty((len(mixture.live), self.horizon, self.plan.experts))
        expert_weights(mixture.live, self.plan, self.work, found)
        if self.guard and self.simple:
            # What was forecast before a reading that is in doubt has not been drawn to it.
            trust = np.where(self.open(mixture).doubt.last["surprise"][:, 0] > 0, 1.0, mixture.brake["trust"])
            left = (trust * mixture.brake["share"])[:, None, None]
            found *= left
            found[:, :, 0] += 1 - left[:, :, 0]
        return found

    def merge(self, mixture: Mixture, other: Mixture) -> Mixture:
        """`mixture`, with what `other` has learnt from a separate series; its present, errors and calibration stay.

        Moments add up, as those of all do. Errors and the distribution of surprises belong to a stream and are not
        added: two sensors of different noise would get the bands of neither. A stream that has none yet takes those
        of the other.
        """
        shift = other.cleaner["reference"] - mixture.cleaner["reference"]
        found = Moments(np.empty_like(mixture.moments.numbers))
        both = (one.moments.kinds(self.plan) for one in (mixture, other))
        for kind, ours, theirs, into in zip(self.kinds, *both, found.kinds(self.plan), strict=True):
            if kind[1] == "none":  # values are kept relative to the first one of each stream
                mean_x = theirs.mean_x.copy()
                mean_x[:, 0] += shift
                theirs = theirs._replace(mean_x=mean_x, mean_y=theirs.mean_y + shift[:, None])
            for mine, one in zip(into, merge_moments(ours, theirs), strict=True):
                mine[...] = one
        merged = replace(mixture, live=mixture.live.copy(), moments=found, mapped=Moments.none(len(shift)))
        merged.cleaner["pairs"] += other.cleaner["pairs"]
        return merged

    def with_learnt(self, mixture: Mixture, known: Mixture) -> Mixture:
        """`mixture`, forecasting by the maps, weights and errors of `known`."""
        found = replace(mixture, live=mixture.live.copy(), tip=np.array([-1]))
        self._copy_learnt(known, found)
        self.open(found).pending.origins["number"] = 0
        if not mixture.cell:
            found.cleaner["reference"] = 0.0
        maps = self.maps(known)
        if mixture.cell:
            maps = maps.copy()
            shift = known.cleaner["reference"] - found.cleaner["reference"]
            for n, (_, anchor, _) in enumerate(self.kinds):
                for row, by in zip(maps, shift if anchor == "none" else (), strict=False):
                    one = open_map.py_func(row, n, self.plan)
                    one.means[0] += by
                    one.constants[:] += by
        mapped = Moments(known.moments.numbers)
        mapped.maps.append(maps)
        return replace(found, mapped=mapped)

    def _copy_learnt(self, known: Mixture, found: Mixture) -> None:
        """Write what one has learnt over what the other has, whose numbers nobody else has seen."""
        of, to = self.open(known), self.open(found)
        for part, names in _LEARNT:
            here, there = attrgetter(part)(to), attrgetter(part)(of)
            for name in names:
                here[name] = there[name]
        to.errors[...], to.scale.phase[...] = of.errors, of.scale.phase
        for here, there in zip(to.scores, of.scores, strict=True):
            here[...] = there

    def maps(self, mixture: Mixture | OnePass) -> Float[np.ndarray, "channels numbers"]:
        """The maps in use, with what channels lend each other; solved once. `records.open_map` reads them."""
        moments = mixture.moments if mixture.mapped.is_none else mixture.mapped
        if not moments.maps:
            found = np.zeros((len(moments.numbers), self.plan.maps_at[-1]))
            for n, own in enumerate(moments.kinds(self.plan)):
                # In a panel, what inputs do is learnt by each series: they have no size in common with the others.
                is_alone = self.together == "panel" and self.views[n] >= 0
                lent = own if is_alone else lend(own, self.together)
                solve(lent, n, self.plan, self.ridges, self._blocks[n], found)
            moments.maps.append(found)
        return moments.maps[0]

    @cached_property
    def _blocks(self) -> tuple[tuple[slice, ...], ...]:
        """Of every kind of map: the numbers of its memory, and those of each input."""
        found = []
        for (memory, _, _), view in zip(self.kinds, self.views, strict=True):
            order = self.systems[memory].order
            beside = self.inputs.blocks if self.inputs is not None and view >= 0 else ()
            found.append((slice(0, order), *(slice(order + one.start, order + one.stop) for one in beside)))
        return tuple(found)


def _shapes(mixture: Mixture) -> tuple[int, ...]:
    """What the compiled loops take for granted."""
    arrays = (mixture.live, mixture.log, mixture.leverage, mixture.features, mixture.moments.numbers)
    return tuple(one.shape[-1] for one in arrays)
