"""Many forecasts at once, mixed by how well each has done: simple ones, and maps of memories that correct them.

Time runs in cells of `dt`. In every cell each forecast that is under way is compared with the value that came, at
every lead; a forecast counts by the fourth power of its past error, of which the last four horizons matter most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import get_lapack_funcs

from hippozoo._immutable import Immutable, read_only
from hippozoo.discretise import zero_order_hold
from hippozoo.systems import HippoSystem
from hippozoo.zoo.forecasting import _kernels as kernels

__all__ = ["FAR", "MAP_RENEWAL", "SMOOTHING", "Mixer", "Mixture"]

# Of a symmetric, positive matrix the solution; of a triangular one the inverse.
_posv, _trtri = get_lapack_funcs(("posv", "trtri"), dtype=np.float64)
_take_in: Any = kernels.take_in  # tables are handed over as they are, which no type checker can count
# Level, trend and damping of the trends that are tried: slow and quick ones.
SMOOTHING = np.array([(0.3, 0.1, 0.9), (0.8, 0.2, 0.9), (0.5, 0.05, 0.97), (0.2, 0.02, 0.98)])
# A map is renewed when what was seen has grown by this share, and after so many cells at the latest.
_RENEWAL_GROWTH = 1 / 8
MAP_RENEWAL = 256
# Rows of forecasts per horizon at most; a longer horizon issues every second, third, … cell.
_ROWS = 48
# Room for more rows before those that are over are cleared away: less of it where rows are large.
_SLACK, _LEAST_SLACK, _SLACK_NUMBERS = 48, 4, 1_000_000
_MOMENTS = ("weight", "mean_x", "mean_y", "xx", "yx")
_MAPS = ("means", "levers", "freedom", "maps", "constants", "solved")
# Channels whose pairs are worked out at once: a wide table takes no more memory than a narrow one.
_CHANNELS = 16
# The error of a pair's future beyond which the pair counts less.
_ODD = 20.0
FAR = 16.0
_LEAST_RIDGE = 1e-9
_FEWEST_PAIRS = 4
# What a panel lends to each of its series counts as so many pairs.
_PANEL_PAIRS = 500.0


@dataclass(frozen=True, eq=False)
class Mixture(Immutable):
    """All that the mixture of a forecaster carries along, channels first; see `Mixer`.

    Parameters
    ----------
    live
        What changes with every cell: one row per channel, laid out by `Mixer.offsets`.
    log, now, cell
        Values of the last cells (and whether they were seen, how odd, how far out); the next place in it, and the
        number of the next cell.
    rows, origins, first_row, used
        Forecasts that are under way, the cells after which they were issued, and which rows are in use.
    tip
        Up to which cell anybody has written into the logs: they only grow, and a state whose end is no longer the
        tip copies them before it goes on.
    delayed, ages, paired
        Memories as they were after the last cell whose future was learnt from, and the number of the next.
    weight, mean_x, mean_y, xx, yx
        Moments of every kind of map: pasts, and the futures relative to the anchor.
    means, levers, freedom, maps, constants, solved
        The maps that are in use.
    seen, renewal
        Cells with a sample, and at which number of them the maps are renewed next.
    offset
        Time since the end of the last cell; 0 where steps are equal.
    """

    live: Float[np.ndarray, "channels numbers"]
    log: Float[np.ndarray, "channels cells columns"]
    now: int
    cell: int
    rows: Float[np.ndarray, "channels rows leads forecasts"]
    origins: Int[np.ndarray, " rows"]
    first_row: int
    used: int
    tip: Int[np.ndarray, " one"]
    delayed: Float[np.ndarray, "channels memories"]
    ages: Float[np.ndarray, "channels two"]
    paired: int
    weight: Float[np.ndarray, "channels kinds"]
    mean_x: Float[np.ndarray, "channels kinds width"]
    mean_y: Float[np.ndarray, "channels kinds leads"]
    xx: Float[np.ndarray, "channels kinds width width"]
    yx: Float[np.ndarray, "channels kinds leads width"]
    means: Float[np.ndarray, "channels kinds width"]
    levers: Float[np.ndarray, "channels kinds width width"]
    freedom: Float[np.ndarray, "channels kinds"]
    maps: Float[np.ndarray, "channels kinds ridges leads width"]
    constants: Float[np.ndarray, "channels kinds ridges leads"]
    solved: Bool[np.ndarray, "channels kinds"]
    seen: int
    renewal: int
    offset: float = 0.0

    @cached_property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Levers and maps as the compiled loops read them; states between two renewals share them."""
        return _columns_first(self.levers, self.maps)

    def channels(self, which: slice) -> Mixture:
        """Some of the channels by themselves."""
        names = (
            "live", "log", "rows", "delayed", "ages", "weight", "mean_x", "mean_y", "xx", "yx", "means", "levers",
            "freedom", "maps", "constants", "solved",
        )  # fmt: skip
        # The logs are shared with the whole, which may go on: whoever continues from here copies them.
        parts = {name: getattr(self, name)[which] for name in names}
        return replace(self, tip=np.array([-1]), **parts)


@dataclass(frozen=True, eq=False)
class Mixer(Immutable):
    """Learns and forecasts by a mixture; pure: a `Mixture` goes in and comes out.

    Parameters
    ----------
    histories
        Windows over the signal.
    anchors
        What maps correct, of "last", "none" and "season".
    ridges
        Of the maps, the largest first.
    seasons
        In cells.
    horizon
        In cells.
    dt
        Time between samples.
    simple
        Whether simple forecasts are among the mixed.
    guard
        Whether surprises, pasts that are far out and sensors that are stuck hold the mixture back.
    forgetting
        In cells; None to remember everything equally.
    seasonal
        The memory of changes from season to season.
    together
        "independent", "shared" or "panel".
    """

    histories: tuple[HippoSystem, ...]
    anchors: tuple[str, ...]
    ridges: tuple[float, ...]
    seasons: tuple[int, ...]
    horizon: int
    dt: float
    simple: bool
    guard: bool
    forgetting: float | None
    seasonal: HippoSystem
    together: str = "independent"

    # -- tables -----------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> tuple[tuple[int, str, int], ...]:
        """(memory, anchor, season) of every kind of map; the season is -1 where there is none."""
        plain = [(h, one, -1) for h in range(len(self.histories)) for one in self.anchors if one != "season"]
        seasonal = [(len(self.histories) + s, "season", s) for s in range(len(self.seasons))]
        return (*plain, *(seasonal if "season" in self.anchors else ()))

    @cached_property
    def systems(self) -> tuple[HippoSystem, ...]:
        """The memories: of the signal, and of its change from season to season."""
        seasonal = len(self.seasons) if "season" in self.anchors else 0
        return (*self.histories, *[self.seasonal] * seasonal)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each of the mixed forecasts is called."""
        found: list[str] = []
        if self.simple:
            found += ["last value", "mean", "drift", "recent drift", *["damped trend"] * len(SMOOTHING)]
            for season in self.seasons:
                found += [f"season {season}", f"season {season} and level", f"season {season} and fading level"]
        for memory, anchor, s in self.kinds:
            window = f"{self.systems[memory].timescale:g}"
            base = {"last": "last value", "none": "mean", "season": f"season {self.seasons[s] if s >= 0 else 0}"}
            found += [f"map of {window} on {base[anchor]}"] * len(self.ridges)
        return tuple(found)

    @property
    def experts(self) -> int:
        """How many forecasts are mixed."""
        return len(self.names)

    @cached_property
    def width(self) -> int:
        """Coefficients of the largest memory."""
        return max(system.order for system in self.systems)

    @cached_property
    def offsets(self) -> Int[np.ndarray, " parts"]:
        """Where the parts of a row of `Mixture.live` begin."""
        H, E = self.horizon, self.experts
        sizes = [
            2 * len(SMOOTHING),
            len(self.systems) * self.width,
            self.seasons[0] if self.seasons else 0,
            H * E,
            H,
            E,
            H,
            len(self.kinds),
            H,
            H * kernels.SCALES,
            H * kernels.SCALES,
            2 * H * kernels.BINS,
            2 * H,
            2 * H,
            H,
            2 * len(SMOOTHING),
        ]
        return np.cumsum([kernels.PLACES, *sizes])

    @cached_property
    def stride(self) -> int:
        """Forecasts are kept to be scored from every so many cells; in time at every phase of the first season."""
        stride = math.ceil(self.horizon / _ROWS)
        while self.seasons and math.gcd(stride, int(self.seasons[0])) > 1:
            stride += 1
        return stride

    @cached_property
    def silence(self) -> float:
        """After so many cells without a sample nothing is left in any memory but the last value."""
        reach = (2 * one.window if math.isfinite(one.window) else 10 * one.timescale for one in self.systems)
        return float(self.horizon + max([*(one / self.dt for one in reach), *self.seasons]))

    @cached_property
    def decay(self) -> float:
        """What is left after a cell of the weight of an error: four horizons matter, fifty cells at least."""
        return math.exp(-1 / max(4 * self.horizon, 50))

    @cached_property
    def keep(self) -> float:
        """What is left after a cell of what the mean remembers."""
        return 1.0 if self.forgetting is None else math.exp(-1 / self.forgetting)

    @cached_property
    def _present(self) -> Int[np.ndarray, " places"]:
        """The places of `Mixture.live` that are learnt, and stay when samples are only followed."""
        first = int(self.offsets[kernels.PROFILE])
        moves = (kernels.MOVED, kernels.MOVES, kernels.LATELY, kernels.LATELY_W)
        alone = (*range(kernels.LONG, kernels.EXPECTED), kernels.PAIRS, *moves)
        return np.array([*alone, *range(first, int(self.offsets[kernels.TAME]))])

    @cached_property
    def _before(self) -> int:
        """Cells that must stay in the log: futures under way, a season before them, and what drifts are read off."""
        H = self.horizon
        return max(H + max(self.seasons, default=0), 2 * H + 3, kernels.LEAST_DRIFT + 3) + 1

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        """Seasons, orders, inputs (-1: the signal; else a season's changes), A_d transposed, b_d, and the rest."""
        width = self.width
        A_T, b = np.zeros((len(self.systems), width, width)), np.zeros((len(self.systems), width))
        for m, system in enumerate(self.systems):
            A_d, b_d = zero_order_hold(system, self.dt)
            A_T[m, : system.order, : system.order], b[m, : system.order] = A_d.T, b_d
        count = len(self.histories)
        inputs = np.array([-1] * count + list(range(len(self.systems) - count)))
        orders = np.array([system.order for system in self.systems])
        return np.array(self.seasons, dtype=np.int64), orders, inputs, A_T, b, SMOOTHING, self.silence

    @cached_property
    def _kind_tables(self) -> tuple[np.ndarray, np.ndarray]:
        codes = {"none": 0, "last": 1}
        anchors = [codes.get(anchor, 2 + s) for _, anchor, s in self.kinds]
        return np.array([m for m, _, _ in self.kinds], np.int64), np.array(anchors, np.int64)

    # -- states -----------------------------------------------------------------------------------------------------

    def begin(self, channels: int) -> Mixture:
        """Nothing seen, nothing learnt."""
        C, K, R, H, q = channels, len(self.kinds), len(self.ridges), self.horizon, self.width
        cells = self._before + H + MAP_RENEWAL + 2
        columns = self._layout[1]
        slack = max(_LEAST_SLACK, min(_SLACK, _SLACK_NUMBERS // (C * H * columns)))
        rows = math.ceil(H / self.stride) + 1 + slack
        return Mixture(
            live=np.zeros((C, int(self.offsets[-1]))),
            log=np.zeros((C, cells, kernels.LEVERAGE + K)),
            now=self._before,
            cell=0,
            rows=np.zeros((C, rows, H, columns)),
            origins=np.zeros(rows, np.int64),
            first_row=0,
            used=0,
            tip=np.zeros(1, np.int64),
            delayed=np.zeros((C, len(self.systems) * q)),
            ages=np.zeros((C, 2)),
            paired=0,
            weight=np.zeros((C, K)),
            mean_x=np.zeros((C, K, q)),
            mean_y=np.zeros((C, K, H)),
            xx=np.zeros((C, K, q, q)),
            yx=np.zeros((C, K, H, q)),
            means=np.zeros((C, K, q)),
            levers=np.zeros((C, K, q, q)).transpose(0, 1, 3, 2),
            freedom=np.ones((C, K)),
            maps=np.zeros((C, K, q, R, H)).transpose(0, 1, 3, 4, 2),
            constants=np.zeros((C, K, R, H)),
            solved=np.zeros((C, K), bool),
            seen=0,
            renewal=max(H + 8, 2 * H),
        )

    @cached_property
    def _layout(self) -> tuple[int, int, int]:
        """Numbers of a channel, of a row of forecasts, and of a cell of the log."""
        return int(self.offsets[-1]), self.experts + kernels.SCALES + 5, kernels.LEVERAGE + len(self.kinds)

    def _check(self, mixture: Mixture) -> None:
        """Refuse a state of another forecaster, or of an older version: the compiled loops would read beyond it."""
        found = (mixture.live.shape[1], mixture.rows.shape[3], mixture.log.shape[2])
        if found != self._layout:
            raise ValueError(
                f"this state holds {found[0]} numbers a channel and {found[1]} a forecast, and this forecaster needs "
                f"{self._layout[0]} and {self._layout[1]}: it is another forecaster's, or was saved by an older "
                f"version; begin with initial_state and learn the series again."
            )

    def learn(
        self,
        mixture: Mixture,
        values: Float[np.ndarray, "cells channels"],
        seen: Bool[np.ndarray, "cells channels"],
        *,
        learning: bool = True,
        told: Float[np.ndarray, "cells two channels"] | None = None,
    ) -> Mixture:
        """The mixture after these cells too; `told` takes mean and error expected after each, where all issue."""
        self._check(mixture)
        if not len(values):
            return mixture
        state = _Working(self, mixture, len(values), learning=learning)
        begin, counted = 0, np.cumsum(seen.any(axis=1))
        while begin < len(values):
            begin += state.skip_silence(seen, begin, counted)
            if begin == len(values):
                break
            room = state.room()
            base = int(counted[begin - 1]) if begin else 0
            due = int(np.searchsorted(counted, base + state.renewal - state.seen)) + 1 - begin
            count = min(room, due, len(values) - begin)
            state.take_in(values[begin : begin + count], seen[begin : begin + count])
            if told is not None:
                told[begin : begin + count] = state.latest(count)
            begin += count
            state.seen += int(counted[begin - 1]) - base
            if state.seen >= state.renewal:
                state.renew()
        found = state.finish(mixture)
        if not learning:
            kept = self._present
            found.live[:, kept] = mixture.live[:, kept]
        return found

    def learn_cell(
        self, mixture: Mixture, values: Float[np.ndarray, "one channels"], seen: Bool[np.ndarray, "one channels"]
    ) -> Mixture:
        """The same for one cell with a sample, without what only matters for several."""
        self._check(mixture)
        cell, now, used = mixture.cell, mixture.now, mixture.used
        log, rows, tip = mixture.log, mixture.rows, mixture.tip
        whole = tip[0] == cell and now < log.shape[1] and used < rows.shape[1] and mixture.seen + 1 < mixture.renewal
        if not whole:
            return self.learn(mixture, values, seen)
        live = mixture.live.copy()
        tip[0] = cell + 1
        levers, maps = mixture.columns
        first_row, used = _take_in(
            values, seen, live, self.offsets, log, now, cell, rows, mixture.origins, mixture.first_row, used,
            *self._constants, mixture.means, levers, mixture.freedom, maps, mixture.constants,
            mixture.solved, self.simple, self.guard,
        )  # fmt: skip
        moved = object.__new__(Mixture)
        inside = moved.__dict__
        inside.update(mixture.__dict__)
        inside["live"], inside["now"], inside["cell"] = live, now + 1, cell + 1
        inside["first_row"], inside["used"], inside["seen"] = first_row, used, mixture.seen + 1
        return moved

    @cached_property
    def _constants(self) -> tuple[Any, ...]:
        return (self.horizon, self.stride, self.decay, self.keep, *self.tables, *self._kind_tables)

    def issue(self, mixture: Mixture) -> Float[np.ndarray, "channels leads forecasts"]:
        """Every forecast from the present, their mixture and the size of its errors."""
        self._check(mixture)
        last = mixture.used - 1
        if mixture.used and mixture.origins[last] == mixture.cell - 1:
            return mixture.rows[:, last]
        H, E, S = self.horizon, self.experts, len(self.seasons)
        C = len(mixture.live)
        rows = np.zeros((C, *mixture.rows.shape[2:]))
        if not mixture.cell:
            return rows
        work = kernels.workspace(S, len(self.ridges), H, self.width, E)
        levers, maps = mixture.columns
        seasons, orders, inputs, _, _, smoothing, _ = self.tables
        # The log is written into at the present cell only, with the numbers that are there already.
        log = mixture.log[:, : mixture.now].copy()
        for c in range(C):
            kernels.issue(
                mixture.live[c], self.offsets, log[c], mixture.now - 1, rows[c], mixture.cell - 1, H, seasons, orders,
                inputs, *self._kind_tables, smoothing, mixture.means[c], levers[c], mixture.freedom[c],
                maps[c], mixture.constants[c], mixture.solved[c], self.simple, self.guard, work,
            )  # fmt: skip
        return rows

    def shares(self, mixture: Mixture) -> Float[np.ndarray, "channels leads experts"]:
        """How much each forecast counts at each lead; after a surprise the last value takes what the rest lose."""
        found = np.zeros((len(mixture.live), self.horizon, self.experts))
        for c, live in enumerate(mixture.live):
            kernels.shares_of(live, self.offsets, self.guard, len(self.kinds), len(self.ridges), found[c])
            if self.guard and self.simple:
                left = live[kernels.TRUST] * live[kernels.LEFT]
                found[c] *= left
                found[c, :, 0] += 1 - left
        return found

    def merge(self, mixture: Mixture, other: Mixture) -> Mixture:
        """`mixture`, with what `other` has learnt from a separate series; its present, errors and calibration stay.

        Moments add up, as those of all do. Errors and the distribution of surprises belong to a stream and are not
        added: two sensors of different noise would get the bands of neither. A stream that has none yet takes those
        of the other.
        """
        parts = (mixture.weight, mixture.mean_x, mixture.mean_y, mixture.xx, mixture.yx)
        ref = (other.live[:, kernels.REF] - mixture.live[:, kernels.REF])[:, None]
        theirs = [other.weight, other.mean_x.copy(), other.mean_y.copy(), other.xx, other.yx]
        for n, (_, anchor, _) in enumerate(self.kinds):
            if anchor == "none":  # values are kept relative to the first one of each stream
                theirs[1][:, n, 0] += ref[:, 0]
                theirs[2][:, n] += ref
        weight, mean_x, mean_y, xx, yx = _merge_moments(parts, tuple(theirs))
        live = mixture.live.copy()
        live[:, kernels.PAIRS] += other.live[:, kernels.PAIRS]
        merged = replace(mixture, live=live, weight=weight, mean_x=mean_x, mean_y=mean_y, xx=xx, yx=yx)
        return self.solve(merged)

    def with_learnt(self, mixture: Mixture, known: Mixture) -> Mixture:
        """`mixture`, forecasting by the maps, weights and errors of `known`."""
        live = mixture.live.copy()
        live[:, self._present] = known.live[:, self._present]
        if not mixture.cell:
            live[:, kernels.REF] = 0.0
        shift = known.live[:, kernels.REF] - live[:, kernels.REF]
        means, constants = known.means.copy(), known.constants.copy()
        for n, (_, anchor, _) in enumerate(self.kinds):
            if anchor == "none" and mixture.cell:
                means[:, n, 0] += shift
                constants[:, n] += shift[:, None, None]
        return replace(
            mixture,
            live=live,
            means=means,
            levers=known.levers,
            freedom=known.freedom,
            maps=known.maps,
            constants=constants,
            solved=known.solved,
            first_row=0,
            used=0,
            tip=np.array([-1]),
        )

    def solve(self, mixture: Mixture) -> Mixture:
        """The same with maps of its moments."""
        means, levers, freedom, maps, constants, solved = self._solve(
            mixture.weight, mixture.mean_x, mixture.mean_y, mixture.xx, mixture.yx
        )
        return replace(
            mixture, means=means, levers=levers, freedom=freedom, maps=maps, constants=constants, solved=solved
        )

    def _solve(
        self,
        weight: np.ndarray,
        mean_x: np.ndarray,
        mean_y: np.ndarray,
        xx: np.ndarray,
        yx: np.ndarray,
        *own: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Ridge regressions of all channels, kind by kind; written into the arrays `own`, if there are any."""
        if self.together != "independent":
            weight, mean_x, mean_y, xx, yx = self._lent(weight, mean_x, mean_y, xx, yx)
        C, K, H, q = yx.shape
        R = len(self.ridges)
        if own:
            for one in own:
                one[...] = 0
        else:
            own = (
                np.zeros((C, K, q)),
                np.zeros((C, K, q, q)).transpose(0, 1, 3, 2),
                np.zeros((C, K)),
                np.zeros((C, K, q, R, H)).transpose(0, 1, 3, 4, 2),
                np.zeros((C, K, R, H)),
                np.zeros((C, K), bool),
            )
        means, levers, freedom, maps, constants, solved = own
        means[...], freedom[...] = mean_x, 1.0
        for first in range(0, C, _CHANNELS):
            block = slice(first, first + _CHANNELS)
            parts = (levers[block], freedom[block], maps[block], constants[block], solved[block])
            self._solve_some(weight[block], mean_y[block], xx[block], yx[block], *parts)
        return own

    def _solve_some(
        self,
        weight: np.ndarray,
        mean_y: np.ndarray,
        xx: np.ndarray,
        yx: np.ndarray,
        levers: np.ndarray,
        freedom: np.ndarray,
        maps: np.ndarray,
        constants: np.ndarray,
        solved: np.ndarray,
    ) -> None:
        """The same for some channels, written into the last five arguments."""
        for n, (memory, _, _) in enumerate(self.kinds):
            order = self.systems[memory].order
            cov = xx[:, n, :order, :order]
            size = np.trace(cov, axis1=1, axis2=2) / order
            good = np.flatnonzero((size > 0) & (weight[:, n] >= _FEWEST_PAIRS))
            if not len(good):
                continue
            solved[good, n] = True
            eye, least = _eye(order), max(self.ridges[0], 1e-3)
            for c in good:
                unit, across = cov[c] / size[c], yx[c, n, :, :order].T / size[c]
                for r, ridge in enumerate(self.ridges):
                    maps[c, n, r, :, :order] = _solved(unit + max(ridge, _LEAST_RIDGE) * eye, across).T
                    constants[c, n, r] = mean_y[c, n]
                lever = _trtri(np.linalg.cholesky(unit + least * eye), lower=1)[0]
                freedom[c, n] = order - least * (lever**2).sum()
                levers[c, n, :order, :order] = lever / np.sqrt(size[c] / weight[c, n])

    def _lent(
        self, weight: np.ndarray, mean_x: np.ndarray, mean_y: np.ndarray, xx: np.ndarray, yx: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The moments of every channel, with what the others lend: all of it if shared, a part of it in a panel.

        In a panel each series is divided by its size (the root of the mean variance of a coefficient); then every
        series gets the mean of all, counted as so many pairs, so that its own say more the longer it is.
        """
        if self.together == "shared":
            total = _pooled(weight, mean_x, mean_y, xx, yx)
            return tuple(np.broadcast_to(one, (len(weight), *one.shape[1:])).copy() for one in total)
        size = np.sqrt(np.einsum("ckii->ck", xx) / np.maximum(weight, 1e-300))
        known = (size > 0) & (weight >= _FEWEST_PAIRS)
        unit = np.where(known, size, 1.0)[..., None, None]
        # Series count alike, whatever their length: none is to speak for all.
        part = np.where(known, 1.0 / np.maximum(weight, 1e-300), 0.0)
        count = np.maximum(known.sum(axis=0), 1)
        mean_xx = ((xx / unit**2) * part[..., None, None]).sum(axis=0) / count[:, None, None]
        mean_yx = ((yx / unit**2) * part[..., None, None]).sum(axis=0) / count[:, None, None]
        lent = np.where(known, _PANEL_PAIRS, 0.0)[..., None, None] * unit**2
        # A series without pairs of its own has no size to give the others' back in.
        return (
            weight + np.where(known, _PANEL_PAIRS, 0.0),
            mean_x,
            mean_y,
            xx + lent * mean_xx,
            yx + lent * mean_yx,
        )


class _Working:
    """A mixture while cells are taken in: what changes is copied once, at the beginning."""

    def __init__(self, mixer: Mixer, mixture: Mixture, count: int, *, learning: bool) -> None:
        self.mixer, self.learning = mixer, learning
        self.live = mixture.live.copy()
        self.log, self.rows, self.origins, self.tip = mixture.log, mixture.rows, mixture.origins, mixture.tip
        self.shared = True  # whether states before may still look at the rows
        if int(mixture.tip[0]) != mixture.cell:
            # Somebody else went on from here.
            self.log, self.rows, self.origins = self.log.copy(), self.rows.copy(), self.origins.copy()
            self.tip, self.shared = np.array([mixture.cell]), False
        self.tip[0] = mixture.cell + count
        self.now, self.cell = mixture.now, mixture.cell
        self.first_row, self.used = mixture.first_row, mixture.used
        self.seen, self.renewal = mixture.seen, mixture.renewal
        self.renewed: dict[str, Any] = {}
        self.mixture = mixture

    def room(self) -> int:
        """How many cells fit into the logs."""
        if self.now >= self.log.shape[1]:
            self.absorb()
        free = self.rows.shape[1] - self.used
        if free == 0:
            kept = self.used - self.first_row
            under_way = slice(self.first_row, self.used)
            rows, origins = np.empty_like(self.rows) if self.shared else self.rows, self.origins[under_way].copy()
            for mine, theirs in zip(rows, self.rows, strict=True):
                mine[:kept] = theirs[under_way]
            self.rows, self.origins, self.shared = rows, np.resize(origins, len(self.origins)), False
            self.first_row, self.used = 0, kept
            self.tip = np.array([int(self.tip[0])])
            free = self.rows.shape[1] - kept
        return min(self.log.shape[1] - self.now, free * self.mixer.stride)

    def take_in(self, values: np.ndarray, seen: np.ndarray) -> None:
        mixer, now = self.mixer, self.renewed
        base = self.mixture
        levers, maps = _columns_first(now.get("levers", base.levers), now.get("maps", base.maps))
        self.first_row, self.used = _take_in(
            values, seen, self.live, mixer.offsets, self.log, self.now, self.cell, self.rows, self.origins,
            self.first_row, self.used, *mixer._constants, now.get("means", base.means), levers,
            now.get("freedom", base.freedom), maps, now.get("constants", base.constants),
            now.get("solved", base.solved), mixer.simple, mixer.guard,
        )  # fmt: skip
        self.now += len(values)
        self.cell += len(values)

    def latest(self, count: int) -> np.ndarray:
        """What the last `count` rows expect of the cell after them: mean and size of the error."""
        mean = self.mixer.experts
        rows = self.rows[:, self.used - count : self.used, 0]
        return np.stack([rows[..., mean], rows[..., mean + 1 + kernels.SCALES]]).transpose(2, 0, 1)

    def renew(self) -> None:
        """New maps from all pairs that are complete; and when to do so next."""
        self.absorb()
        grown = max(1, min(MAP_RENEWAL, int(self.seen * _RENEWAL_GROWTH)))
        self.renewal = self.seen + grown
        if self.learning:
            moments = [self.renewed.get(name, getattr(self.mixture, name)) for name in _MOMENTS]
            # Maps that this call has made itself are written over; nobody else has seen them.
            own = [self.renewed[name] for name in _MAPS if name in self.renewed]
            found = self.mixer._solve(*moments, *own)
            self.renewed |= dict(zip(_MAPS, found, strict=True))

    def absorb(self) -> None:
        """Learn the pairs whose futures are complete, and make room in the log."""
        mixer, old = self.mixer, self.mixture
        H = mixer.horizon
        paired = self.renewed.get("paired", old.paired)
        count = self.cell - H - paired
        if count > 0:
            delayed = self.renewed.get("delayed", old.delayed).copy()
            ages = self.renewed.get("ages", old.ages).copy()
            begin = self.now - (self.cell - paired)
            self._learn_pairs(delayed, ages, begin, count)
            self.renewed |= {"delayed": delayed, "ages": ages, "paired": self.cell - H}
        keep = mixer._before
        log = np.zeros_like(self.log)
        log[:, :keep] = self.log[:, self.now - keep : self.now]
        self.log, self.now = log, keep
        self.tip = np.array([int(self.tip[0])])

    def _learn_pairs(self, delayed: np.ndarray, ages: np.ndarray, begin: int, count: int) -> None:
        """Add the pairs of these cells of the log to what is known; the memories move on to the last of them.

        Channels are taken by blocks, and written over what this call has made itself: a table of many columns needs
        little more memory than its state.
        """
        before = [self.renewed.get(name, getattr(self.mixture, name)) for name in _MOMENTS]
        after = [self.renewed.get(name, np.empty(0)) for name in _MOMENTS]
        if self.learning and "yx" not in self.renewed:
            after = [np.empty_like(one) for one in before]
        kept = 1.0 if self.mixer.forgetting is None else math.exp(-count / self.mixer.forgetting)
        for first in range(0, len(self.live), _CHANNELS):
            block = slice(first, first + _CHANNELS)
            pairs = self._pairs_of(block, delayed[block], ages[block], begin, count)
            if self.learning:
                weight, mean_x, mean_y, xx, yx = (one[block] for one in before)
                known = (
                    (weight * kept, mean_x, mean_y, xx * kept, yx * kept)
                    if kept < 1
                    else (weight, mean_x, mean_y, xx, yx)
                )
                for mine, found in zip(after, _merge_moments(known, pairs), strict=True):
                    mine[block] = found
        if self.learning:
            self.renewed |= dict(zip(_MOMENTS, after, strict=True))

    def _pairs_of(
        self, block: slice, delayed: np.ndarray, ages: np.ndarray, begin: int, count: int
    ) -> tuple[np.ndarray, ...]:
        """Moments of the pairs of some channels."""
        mixer, log = self.mixer, self.log[block]
        C, H, q, K = len(log), mixer.horizon, mixer.width, len(mixer.kinds)
        seasons, orders, inputs, A_T, b, _, silence = mixer.tables
        states = np.zeros((C, count, len(mixer.systems) * q))
        age, share, odd, futures = *np.zeros((3, C, count)), np.empty((C, count, H))
        scratch, differences = np.zeros(q), np.zeros(len(seasons))
        refs = self.live[block, kernels.REF]
        values = np.zeros(log.shape[:2])
        for c in range(C):
            kernels.settled(log[c], self.now, values[c])
            kernels.scan_pairs(
                delayed[c], log[c], begin, count, ages[c], refs[c], seasons, orders, inputs, A_T, b, silence,
                states[c], age[c], differences, scratch,
            )  # fmt: skip
            kernels.look_ahead(log[c], values[c], begin, futures[c], share[c], odd[c])
        here, present = log[:, begin : begin + count], values[:, begin : begin + count]
        weights = share * (age > 0)
        if mixer.guard:
            weights = weights * np.minimum(1.0, _ODD / np.maximum(odd, _ODD))
        weight, mean_x, mean_y = np.zeros((C, K)), np.zeros((C, K, q)), np.zeros((C, K, H))
        xx, yx = np.zeros((C, K, q, q)), np.zeros((C, K, H, q))
        centred: dict[tuple[str, int], tuple[np.ndarray, ...]] = {}
        for n, (memory, anchor, s) in enumerate(mixer.kinds):
            order = orders[memory]
            x = states[:, :, memory * q : memory * q + order].copy()
            far = here[:, :, kernels.LEVERAGE + n]
            near = not mixer.guard or bool((far <= FAR).all())
            w = weights if near else weights * np.minimum(1.0, FAR / np.maximum(far, FAR))
            if anchor == "last":
                x[:, :, 0] -= present - refs[:, None]
            if near and (anchor, s) in centred:  # memories differ, futures and their weights do not
                w, total, part, my, y = centred[anchor, s]
            else:
                if anchor == "last":
                    y = futures - present[:, :, None]
                elif anchor == "none":
                    y = futures - refs[:, None, None]
                else:
                    m = mixer.seasons[s]
                    k = np.arange(H)
                    place = begin + np.arange(count)[:, None] + k + 1 - m * (k // m + 1)
                    y = futures - values[:, place]
                    w = w * (age > m)
                total = w.sum(axis=1)
                part = w / np.where(total > 0, total, 1.0)[:, None]
                my = np.einsum("cb,cbk->ck", part, y)
                y -= my[:, None]
                if near:
                    centred[anchor, s] = w, total, part, my, y
            mx = np.einsum("cb,cbi->ci", part, x)
            x -= mx[:, None]
            xw = (x * w[:, :, None]).transpose(0, 2, 1)
            weight[:, n], mean_x[:, n, :order], mean_y[:, n] = total, mx, my
            xx[:, n, :order, :order] = xw @ x
            yx[:, n, :, :order] = (xw @ y).transpose(0, 2, 1)
        return weight, mean_x, mean_y, xx, yx

    def skip_silence(self, seen: np.ndarray, begin: int, counted: np.ndarray) -> int:
        """Cross a long gap at once, where nothing changes any more: how many cells of it."""
        if not self.cell or (self.live[:, kernels.SILENT] <= self.mixer.silence).any():
            return 0
        before = int(counted[begin - 1]) if begin else 0
        count = int(np.searchsorted(counted, before + 1)) - begin
        if count <= 2 * self.log.shape[1]:
            return 0
        self.absorb()
        begun = self.live[:, kernels.BEGUN] > 0
        self.live[:, kernels.SILENT] += count * begun
        self.live[:, kernels.AGE] += count * begun
        # As the compiled loop does cell by cell: after so long a silence the stream is at its mean.
        count_of = self.live[:, kernels.COUNT]
        mean = self.live[:, kernels.REF] + self.live[:, kernels.SUM] / np.where(count_of > 0, count_of, 1.0)
        self.log[:, :, kernels.VALUE] = mean[:, None]
        self.log[:, :, kernels.CLEAN] = mean[:, None]
        self.log[:, :, kernels.BACK] = 0.0
        self.log[:, :, kernels.JUMPED] = self.live[:, kernels.JUMPS, None]
        self.log[:, :, kernels.SEEN] = 0.0
        self.cell += count
        ages = self.renewed["ages"] if "ages" in self.renewed else self.mixture.ages.copy()
        ages += count * begun[:, None]
        self.renewed |= {"ages": ages, "paired": self.renewed.get("paired", self.mixture.paired) + count}
        self.first_row = self.used
        return count

    def finish(self, before: Mixture) -> Mixture:
        self.tip[0] = self.cell
        return replace(
            before,
            live=self.live,
            log=self.log,
            now=self.now,
            cell=self.cell,
            rows=self.rows,
            origins=self.origins,
            first_row=self.first_row,
            used=self.used,
            tip=self.tip,
            seen=self.seen,
            renewal=self.renewal,
            **self.renewed,
        )


@cache
def _eye(order: int) -> np.ndarray:
    return read_only(np.eye(order))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution for a symmetric, positive matrix; by elimination where rounding has left it not quite positive."""
    _, found, failed = _posv(matrix, right, lower=1)
    return np.linalg.solve(matrix, right) if failed else found


def _columns_first(levers: np.ndarray, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as the compiled loops read them; they lie so in memory, unless they were read from a file."""
    C, K, R, H, q = maps.shape
    columns = np.ascontiguousarray(maps.transpose(0, 1, 4, 2, 3)).reshape(C, K, q, R * H)
    return np.ascontiguousarray(levers.transpose(0, 1, 3, 2)), columns


def _merge_moments(left: tuple[np.ndarray, ...], right: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Weights, means and centred products of both sets of pairs together."""
    weight = left[0] + right[0]
    share = right[0] / np.where(weight > 0, weight, 1.0)
    dx, dy = right[1] - left[1], right[2] - left[2]
    between = (left[0] * share)[..., None, None]
    return (
        weight,
        left[1] + share[..., None] * dx,
        left[2] + share[..., None] * dy,
        left[3] + right[3] + between * (dx[..., :, None] * dx[..., None, :]),
        left[4] + right[4] + between * (dy[..., :, None] * dx[..., None, :]),
    )


def _pooled(*moments: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of all channels together; the first axis stays, with length 1."""
    total = tuple(one[:1] for one in moments)
    for c in range(1, len(moments[0])):
        total = _merge_moments(total, tuple(one[c : c + 1] for one in moments))
    return total
