"""An ensemble of experts, weighted by how well each has done; pure: a `Mixture` goes in and comes out.

Time runs in cells of `dt`. In every cell each pending forecast is compared with the value that came, at every lead; an
expert counts by the sixth power of one over its error, of which the last four horizons matter most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.ensemble._kernels import Work, advance, expert_weights, forecast_now
from hippozoo.ensemble.cleaner import FIRST_CELLS, early_outliers
from hippozoo.ensemble.moments import Moments, lend, merge_moments
from hippozoo.ensemble.one_pass import MAP_RENEWAL, OnePass, expected_after
from hippozoo.ensemble.plan import SLACK, Planner
from hippozoo.ensemble.records import CELL, LEAD, ROW, Channel, Clock, open_channels
from hippozoo.ensemble.ridge import Solved, solve
from hippozoo.ensemble.state import Issued, Mixture, Rolled, fields_of, with_rows

__all__ = ["Mixer"]

# What is learnt, and stays when samples are only followed, beside all errors and scores.
_LEARNT = (
    ("cleaner", ("pairs",)), ("brake", ("moved", "moves", "lately", "lately_weight")),
    ("scale.step", ("sum", "weight")), ("scale.leads", ("errors", "expected", "loss")),
)  # fmt: skip
# Numbers of all channels that are rolled at once, at most.
_ROLLED = 1_000_000


class Mixer(Planner):
    """Learns and forecasts by an ensemble; pure: a `Mixture` goes in and comes out."""

    @cached_property
    def work(self) -> Work:
        """Room for the compiled loop to work in; it holds Python's lock, so that no two of them run at once."""
        return Work.of(self.plan)

    def begin(self, channels: int) -> Mixture:
        """Nothing seen, nothing learnt."""
        C, K, R, H, q = channels, len(self.kinds), len(self.ridges), self.horizon, self.width + self.extra
        numbers, cell, lead, row, experts, _ = self._layout
        cells, rows = self.before + H + MAP_RENEWAL + 2, self.rows
        moments = Moments(*(np.zeros((C, K, *shape)) for shape in ((), (q,), (H,), (q, q), (H, q))))
        return Mixture(
            live=np.zeros((C, numbers)),
            log=np.zeros((C, cells, cell)),
            leverage=np.zeros((C, cells, K)),
            features=np.zeros((1, cells, 1 + len(self.seasons), self.extra)),
            now=self.before,
            cell=0,
            experts=np.zeros((C, rows, H, experts)),
            leads=np.zeros((C, rows, H, lead)),
            rows=np.zeros((C, rows, row)),
            origins=np.zeros(rows, np.int64),
            first_row=0,
            used=0,
            tip=np.zeros(1, np.int64),
            delayed=np.zeros((C, len(self.systems), self.width)),
            ages=np.zeros((C, 2)),
            paired=0,
            **moments._asdict(),
            **Solved.empty(C, K, q, R, H)._asdict(),
            seen=0,
            renewal=max(H + 8, 2 * H),
        )

    @cached_property
    def _layout(self) -> tuple[int, ...]:
        """Numbers of a channel, of a cell of the log, of a lead and a row of a forecast, experts, and of inputs."""
        return (
            int(self.plan.parts[-1]),
            *(one.itemsize // 8 for one in (CELL, LEAD, ROW)),
            self.plan.experts,
            self.extra,
        )

    def _check(self, mixture: Mixture) -> None:
        """Refuse a state of another forecaster, or of an older version: the compiled loops would read beyond it."""
        arrays = (mixture.live, mixture.log, mixture.leads, mixture.rows, mixture.experts, mixture.features)
        found = tuple(one.shape[-1] for one in arrays)
        if found != self._layout:
            raise ValueError(
                f"this state holds {found[0]} numbers a channel and {found[4]} experts, and this forecaster needs "
                f"{self._layout[0]} and {self._layout[4]}: it is another forecaster's, or was saved by an older "
                f"version; begin with initial_state and learn the series again."
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
        log = mixture.arrays.log[:, cells]
        seen = log["observed"] > 0
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
        fits = (
            mixture.tip[0] == mixture.cell
            and mixture.now + count <= mixture.log.shape[1]
            and count <= SLACK
            and mixture.seen + count < mixture.renewal
            and learning
        )
        if not fits:
            after = OnePass(self, mixture, count, learning=learning).run(values, observed, expected, features).finish()
            if not learning:
                self._copy_learnt(mixture, after)
            return after
        # The same, faster, for few cells that fit into the logs and before maps are due.
        mixture.tip[0] = mixture.cell + count
        moved = object.__new__(Mixture)  # `replace` would cost more than the sample itself
        inside = moved.__dict__
        inside.update(mixture.__dict__)
        arrays, first_row, used = mixture.arrays, mixture.first_row, mixture.used
        if used + count > len(arrays.origins):
            arrays = with_rows(arrays, slice(first_row, used), len(arrays.origins))
            inside.update(fields_of(arrays))
            first_row, used = 0, used - first_row
        live = mixture.live.copy()
        arrays = arrays._replace(live=live)
        if features is not None:
            arrays.features[0, mixture.now : mixture.now + count] = features
        clock = Clock(mixture.now, mixture.cell, first_row, used)
        first_row, used = advance(values, observed, arrays, clock, mixture.solution, self.plan, self.work)
        if expected is not None:
            expected[:] = expected_after(arrays, used, count)
        seen = 1 if count == 1 and observed.any() else int(observed.any(axis=1).sum())
        inside.update(
            live=live, arrays=arrays, now=mixture.now + count, cell=mixture.cell + count, first_row=first_row,
            used=used, seen=mixture.seen + seen,
        )  # fmt: skip
        return moved

    def roll(
        self,
        mixture: Mixture,
        values: Float[np.ndarray, "cells channels"],
        observed: Bool[np.ndarray, "cells channels"],
        features: Float[np.ndarray, "cells views numbers"] | None = None,
    ) -> Iterator[tuple[Mixture, Rolled]]:
        """The same as `advance`, piece by piece, with the forecasts that were issued on the way."""
        numbers = len(mixture.live) * self.horizon * self.plan.experts
        piece, begin = self.stride * max(SLACK, min(MAP_RENEWAL, _ROLLED // numbers)), 0
        while begin < len(values):
            end = min(begin + piece, len(values))
            if mixture.cell < FIRST_CELLS:
                end = min(end, begin + FIRST_CELLS - mixture.cell)
            elif mixture.cell == FIRST_CELLS:
                mixture = self._without_early_outliers(mixture)
            kept = mixture.used - mixture.first_row
            rows = kept + (end - begin) // self.stride + 2 + SLACK
            told = None if features is None else features[begin:end]
            one_pass = OnePass(self, mixture, end - begin, learning=True, rows=rows)
            one_pass.run(values[begin:end], observed[begin:end], None, told)
            arrays, new = one_pass.arrays, slice(kept, one_pass.used)
            mixture = one_pass.finish()
            yield mixture, Rolled(arrays.origins[new] + 1, arrays.leads["mean"][:, new], arrays.experts[:, new])
            begin = end

    def issue(self, mixture: Mixture) -> Issued:
        """The forecast from the present."""
        self._check(mixture)
        last, arrays = mixture.used - 1, mixture.arrays
        if mixture.used and mixture.origins[last] == mixture.cell - 1:
            return Issued(arrays.leads["mean"][:, last], arrays.leads["size"][:, last], mixture.experts[:, last])
        # What is issued is counted, and asking must not change a state.
        one = with_rows(arrays, slice(0, 0), 1)._replace(live=mixture.live.copy())
        if mixture.cell:
            one = one._replace(leverage=mixture.leverage[:, : mixture.now].copy())
            clock = Clock(mixture.now - 1, mixture.cell - 1, 0, 0)
            forecast_now(one, clock, mixture.solution, self.plan, self.work)
        return Issued(one.leads["mean"][:, 0], one.leads["size"][:, 0], one.experts[:, 0])

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
        shift = (other.cleaner["reference"] - mixture.cleaner["reference"])[:, None]
        theirs = other.moments._replace(mean_x=other.mean_x.copy(), mean_y=other.mean_y.copy())
        for n, (_, anchor, _) in enumerate(self.kinds):
            if anchor == "none":  # values are kept relative to the first one of each stream
                theirs.mean_x[:, n, 0] += shift[:, 0]
                theirs.mean_y[:, n] += shift
        moments = merge_moments(mixture.moments, theirs)
        merged = replace(mixture, live=mixture.live.copy(), **moments._asdict(), **self.solve(moments)._asdict())
        merged.cleaner["pairs"] += other.cleaner["pairs"]
        return merged

    def with_learnt(self, mixture: Mixture, known: Mixture) -> Mixture:
        """`mixture`, forecasting by the maps, weights and errors of `known`."""
        found = replace(mixture, live=mixture.live.copy(), first_row=0, used=0, tip=np.array([-1]))
        self._copy_learnt(known, found)
        if not mixture.cell:
            found.cleaner["reference"] = 0.0
        shift = known.cleaner["reference"] - found.cleaner["reference"]
        means, constants = known.means.copy(), known.constants.copy()
        for n, (_, anchor, _) in enumerate(self.kinds):
            if anchor == "none" and mixture.cell:
                means[:, n, 0] += shift
                constants[:, n] += shift[:, None, None]
        maps: dict[str, Any] = {name: getattr(known, name) for name in Solved._fields}
        return replace(found, **(maps | {"means": means, "constants": constants}))

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

    def solve(self, moments: Moments, own: Solved | None = None) -> Solved:
        """The maps of these moments, with what channels lend each other."""
        lent = lend(moments, self.together)
        if self.together == "panel" and self.extra:
            # What inputs do is learnt by each series: they have no size in common with the others.
            own_maps = np.array(self.views) >= 0
            lent = Moments(
                *(
                    np.where(own_maps.reshape(1, -1, *[1] * (mine.ndim - 2)), mine, one)
                    for mine, one in zip(moments, lent, strict=True)
                )
            )
        return solve(lent, self.orders, self.ridges, own, self._blocks)

    @cached_property
    def _blocks(self) -> tuple[tuple[slice, ...], ...]:
        """Of every kind of map: the numbers of its memory, and those of each input."""
        found = []
        for (memory, _, _), view in zip(self.kinds, self.views, strict=True):
            order = self.systems[memory].order
            beside = self.inputs.blocks if self.inputs is not None and view >= 0 else ()
            found.append((slice(0, order), *(slice(order + one.start, order + one.stop) for one in beside)))
        return tuple(found)
