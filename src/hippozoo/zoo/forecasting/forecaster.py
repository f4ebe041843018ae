"""Streaming forecasts: three memories, one pass, a linear map from the past to the future."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._arguments import positive_number, real_array, shorten, whole_number
from hippozoo._immutable import Immutable
from hippozoo.discretise import checked_steps
from hippozoo.memory import Memory, hold_missing
from hippozoo.systems import HippoSystem, LegT
from hippozoo.zoo.forecasting import mixing
from hippozoo.zoo.forecasting.candidates import Anchor, Candidate, Solver, without_level
from hippozoo.zoo.forecasting.channel_start import begin_channels, rows_that_begin, wait_for_a_sample
from hippozoo.zoo.forecasting.delay import DelayLine
from hippozoo.zoo.forecasting.detail import Detail, cell_count, missed_detail
from hippozoo.zoo.forecasting.early_uncertainty import EarlyUncertainty
from hippozoo.zoo.forecasting.forecast import Forecast
from hippozoo.zoo.forecasting.future import lead_basis
from hippozoo.zoo.forecasting.gaps import cross_gap, long_gaps
from hippozoo.zoo.forecasting.grouping import Together, group_count, group_pairs
from hippozoo.zoo.forecasting.mixing import check_mixture, mixer_of
from hippozoo.zoo.forecasting.mixture import Mixer
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.pairs import Pairs, move, observed_time
from hippozoo.zoo.forecasting.regression import ForecastMap
from hippozoo.zoo.forecasting.small_sample import SmallSampleShrinkage
from hippozoo.zoo.forecasting.state import ForecasterState, Learnt, Validation

__all__ = ["Forecaster", "faded", "merged"]

Signal = Float[np.ndarray, "time"] | Float[np.ndarray, "time channels"]
Delay = Literal["exact", "endpoint"]

# Rows per block: large enough for the matrix products, small enough for the cache of two cores.
_BLOCK = 4096
# Each stretch of validation is this share of what was observed before it, and halves the weight of older errors: a
# map of the first hours says little about one of the whole year.
_GROWTH = 0.25
_FADE = 0.5


@dataclass(frozen=True, eq=False)
class Forecaster(Immutable):
    r"""Learns in one pass to forecast a stream over a horizon; pure: the state goes in and comes out.

    *System 1* (Leg-T over the horizon) remembers the recent past [t - H, t]; *System 2* the past before t - H;
    *System 3* is System 2 up to the present. The linear map that best gives System 1 from System 2 is learnt from
    running second-order statistics; applied to System 3 it gives the coming horizon, as a function of lead.
    Learning in pieces, of any length, equals learning in one go.

    Before its first sample a channel is taken to have been constant at it. Missing samples hold the last value seen,
    and a future that was partly missing counts by the share that was observed. After a gap longer than the horizon and
    twice the longest window (ten timescales of a fading memory) a channel begins anew, keeping what was learnt.

    Parameters
    ----------
    history
        System 2 and 3; several to choose from, as a tuple.
    horizon
        How far to forecast, in the user's time unit.
    dt
        Time between samples, unless samples bring their own.
    rank
        Through how many numbers the past may speak, d in the paper; None for no limit, several as a tuple.
    ridge
        Holds the map back, in units of the mean variance of a coefficient (see `reduced_rank`); several as a tuple.
        Candidates (history, anchor, rank, ridge) run side by side over the whole stream, and a forecast uses the one
        whose forecasts have lately been best on data they had not seen.
    future_order
        Coefficients of System 1; by default eight per sample of the horizon, 16 at least and 64 at most.
    anchor
        ``"none"``: learn values. ``"last"``: learn differences from the last value, so that a forecast follows the
        level of the signal wherever it goes, and a ridge draws it towards persistence. Both, as a tuple, to choose.
    together
        ``"independent"``: each channel learns by itself. ``"shared"``: one map for all channels, learnt from all.
        ``"joint"``: each channel is forecast from the past of all.
    delay
        ``"exact"``: System 2 sees what System 1 has let go. ``"endpoint"``: it sees System 1's own reading of it, as in
        the paper, which smooths it (erratum 10); steps must be equal then.
    intercept
        Whether the mean is learnt too, or taken to be zero.
    forgetting
        Time in which what was learnt fades to 1/e, for data that drift; None to remember everything equally.
    warmup
        How much of a past System 2 must have seen before a pair is learnt from.
    future_metric
        W, how errors count (see `future_metric`); all leads alike by default.
    mixture
        Mix all candidates by how well each has done, in place of choosing the best one; simple forecasts (last value,
        mean, drift, damped trend, a season repeated) are among them. See `Mixer`. It needs full rank, and channels that
        learn ``"independent"``\ ly, ``"shared"`` or as a ``"panel"``: series of one kind that differ in size, where a
        short one borrows what the others have taught.
    simple
        Whether simple forecasts are among the mixed; without them maps are mixed alone.
    season
        Periods, in the user's time unit; they need a mixture. ``anchor="season"`` learns differences from the value
        one season ago.
    guard
        Hold the mixture back after a surprise, far out, and when a sensor is stuck; pairs with a surprise in their
        future count less.
    calibrated
        Bands follow the errors that were made, at every lead, and how wild the stream is at present; Gaussian else.
    lower
        A bound that values cannot fall below; whole-number counts have 0 by themselves.

    Examples
    --------
    >>> signal = np.sin(np.arange(3000) / 5) + 0.1 * np.random.default_rng(0).normal(size=3000)
    >>> forecaster = Forecaster(LegT(order=32, timescale=64.0), horizon=16.0, rank=4, ridge=1e-4)
    >>> state = forecaster.learn(forecaster.initial_state(), signal)
    >>> forecast = forecaster.forecast(state)
    >>> bool(np.abs(forecast.samples() - np.sin(np.arange(3000, 3016) / 5)).max() < 0.1)
    True
    >>> lower, upper = forecast.band(10.3, coverage=0.8)  # any lead, and how sure
    >>> bool(0.1 < upper - lower < 0.4)
    True

    References
    ----------
    Paper, section "Forecasting HiPPO" and appendix "Forecast-Induced History Geometry".
    """

    history: HippoSystem | tuple[HippoSystem, ...]
    horizon: float | int
    dt: float | int = 1.0
    rank: int | tuple[int | None, ...] | None = None
    ridge: float | int | tuple[float | int, ...] = 1e-6
    future_order: int | None = None
    anchor: Anchor | tuple[Anchor, ...] = "none"
    together: Together = "independent"
    delay: Delay = "exact"
    intercept: bool = True
    forgetting: float | int | None = None
    warmup: float | int = 0.0
    future_metric: Float[np.ndarray, "order order"] | None = None
    mixture: bool = False
    simple: bool = True
    season: float | int | tuple[float | int, ...] | None = None
    guard: bool = False
    calibrated: bool = False
    lower: float | int | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for system in self.histories:
            if not isinstance(system, HippoSystem):
                raise TypeError(
                    f"history={shorten(self.history)}: pass a system of hippozoo.systems, for example "
                    f"LegT(order=64, timescale=100.0), or a tuple of such."
                )
        if not self.histories:
            raise ValueError("history=(): there is no past to forecast from; pass at least one system.")
        put("horizon", positive_number("horizon", self.horizon, why="how far to forecast, in your time unit"))
        put("dt", positive_number("dt", self.dt, why="time only runs forwards"))
        for name, allowed in (("together", Together), ("delay", Delay)):
            if getattr(self, name) not in get_args(allowed):
                raise ValueError(f"{name}={shorten(getattr(self, name))} is unknown; pass one of {get_args(allowed)}.")
        if not self.anchors or any(one not in get_args(Anchor) for one in self.anchors):
            raise ValueError(f"anchor={shorten(self.anchor)} is unknown; pass one of {get_args(Anchor)}, or several.")
        for rank in self.ranks:
            if rank is not None:
                whole_number("rank", rank, why="a forecast reads at least one number of the past")
        for ridge in self.ridges:
            if isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= ridge < math.inf:
                raise ValueError(f"ridge={shorten(ridge)}: a ridge holds the map back; pass a finite number >= 0.")
        if not self.ranks or not self.ridges:
            raise ValueError("rank and ridge need one value at least; pass a number, or a tuple of candidates.")
        if self.forgetting is not None:
            put("forgetting", positive_number("forgetting", self.forgetting, why="a time, in your time unit"))
        if not isinstance(self.warmup, Real) or not 0 <= self.warmup < math.inf:
            raise ValueError(f"warmup={shorten(self.warmup)}: a time in your unit; pass a finite number >= 0.")
        if self.future_order is None:
            put("future_order", min(64, max(16, 8 * math.ceil(self.horizon / self.dt))))
        order = whole_number("future_order", self.future_order, why="the future needs at least one coefficient")
        if self.future_metric is not None:
            metric = real_array("future_metric", self.future_metric)
            if metric.shape != (order, order):
                raise ValueError(
                    f"future_metric has shape {metric.shape}, expected {(order, order)}; "
                    f"make it by future_metric(forecaster.future, weight)."
                )
            _check_metric(metric)
            put("future_metric", metric)
        check_mixture(self)

    # -- configuration, read ----------------------------------------------------------------------------------------

    @property
    def histories(self) -> tuple[HippoSystem, ...]:
        """The history systems to choose from."""
        return self.history if isinstance(self.history, tuple) else (self.history,)

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The ranks to choose from."""
        return self.rank if isinstance(self.rank, tuple) else (self.rank,)

    @property
    def ridges(self) -> tuple[float | int, ...]:
        """The ridges to choose from."""
        return self.ridge if isinstance(self.ridge, tuple) else (self.ridge,)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors to choose from."""
        return self.anchor if isinstance(self.anchor, tuple) else (self.anchor,)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every way to forecast that is tried."""
        return tuple(
            Candidate(*one) for one in product(range(len(self.histories)), self.anchors, self.ranks, self.ridges)
        )

    @property
    def seasons(self) -> tuple[float | int, ...]:
        """The periods that are known."""
        if self.season is None:
            return ()
        return self.season if isinstance(self.season, tuple) else (self.season,)

    @cached_property
    def mixer(self) -> Mixer:
        """The machinery of a mixture."""
        return mixer_of(self)

    @cached_property
    def future(self) -> LegT:
        """System 1: the basis in which recent past and future are written."""
        assert self.future_order is not None  # __post_init__ has filled it in
        return LegT(self.future_order, self.horizon)

    @cached_property
    def _recent(self) -> Memory:
        return Memory(self.future, self.dt)

    @cached_property
    def _pasts(self) -> tuple[Memory, ...]:
        return tuple(Memory(system, self.dt) for system in self.histories)

    @cached_property
    def _longest_silence(self) -> float:
        """After a longer one nothing is left in any memory but the last value before it."""
        reach = (2 * one.window if math.isfinite(one.window) else 10 * one.timescale for one in self.histories)
        return self.horizon + max(reach)

    @cached_property
    def _solver(self) -> Solver:
        return Solver(
            self.candidates,
            tuple(product(range(len(self.histories)), self.anchors)),
            tuple(system.order for system in self.histories),
            tuple(system.basis(0.0) for system in self.histories),
            tuple(_mean_reading(system, self.horizon) for system in self.histories),
            self.future.order,
            EarlyUncertainty(self.future.order, self.dt / self.horizon),
            SmallSampleShrinkage(self.dt / self.horizon),
            self.together,
            self.intercept,
            self.future_metric,
        )

    # -- learning ---------------------------------------------------------------------------------------------------

    def initial_state(self, channels: int | None = None) -> ForecasterState:
        """Nothing seen, nothing learnt; for single numbers, or for vectors of `channels`.

        Examples
        --------
        >>> Forecaster(LegT(8, 20.0), horizon=4.0).initial_state(channels=3).channels
        3
        """
        count = 1 if channels is None else whole_number("channels", channels)
        if self.mixture:
            return mixing.initial_state(self, count, single=channels is None)
        nothing = np.zeros(count)
        joined = count if self.together == "joint" else 1
        outputs = joined * self.future.order
        kinds = self._solver.learnt_as
        empty = tuple(Moments.empty(joined * self.histories[h].order, outputs, joined) for h, _ in kinds)
        learnt = (empty,) * group_count(self.together, count)
        return ForecasterState(
            single=channels is None,
            time=0.0,
            seen=0.0,
            begun=np.zeros(count, bool),
            age=nothing,
            silent=nothing,
            held=nothing,
            recent=self._recent.initial_state(count),
            delayed=tuple(memory.initial_state(count) for memory in self._pasts),
            aligned=tuple(memory.initial_state(count) for memory in self._pasts),
            line=DelayLine.constant(nothing, self.horizon, self.dt),
            learnt=learnt,
            validation=Validation(
                self._next_boundary(2 * self.horizon + self.warmup),
                learnt,
                learnt,
                learnt,
                np.zeros((len(learnt), len(self.candidates), outputs, outputs)),
                np.zeros(len(learnt)),
            ),
            detail=Detail(np.zeros((count, cell_count(self.horizon, self.dt))), np.zeros(count)),
        )

    def learn(
        self,
        state: ForecasterState,
        signal: Signal,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
    ) -> ForecasterState:
        """The state after these samples too; by blocks, so that a long signal takes no more memory than a short one.

        An empty array, such as a chunk in which nothing came, changes nothing.

        Parameters
        ----------
        state
            Where to go on.
        signal
            (time,) or (time, channels), as the state was begun.
        dt
            How long each sample holds: one number, or one per sample.
        mask
            True where there is a sample; of the signal's shape, or (time,).

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> signal = np.cos(np.arange(200) / 3)
        >>> state = forecaster.learn(forecaster.initial_state(), signal)
        >>> pieces = forecaster.learn(forecaster.learn(forecaster.initial_state(), signal[:77]), signal[77:])
        >>> bool(np.allclose(state.learnt[0][0].yx, pieces.learnt[0][0].yx))
        True
        """
        checked = self._checked(state, signal, dt, mask)
        if state.mixture is not None:
            return mixing.taken_in(self, state, *checked, learning=True)
        return self._taken_in(state, *checked, learning=True)

    def learn_one(
        self, state: ForecasterState, value: float | Float[np.ndarray, " channels"] | None, dt: float | None = None
    ) -> ForecasterState:
        """The state after one more sample: a number, a vector of the channels, or None (NaN in a vector) if missing.

        The same as `learn` of an array of length one, without its cost.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0, mixture=True)
        >>> state = forecaster.initial_state()
        >>> for value in np.cos(np.arange(300) / 3):
        ...     state = forecaster.learn_one(state, value)
        >>> bool(abs(forecaster.forecast(state).mean(0.5) - np.cos(100)) < 0.1)
        True
        """
        if state.mixture is not None and dt is None and not state.mixture.offset:
            return mixing.one_taken_in(self, state, value)
        given = np.full(state.channels, np.nan) if value is None else np.atleast_1d(np.asarray(value, float))
        row = given[None, 0] if state.single else given[None]
        seen = ~np.isnan(row)
        return self.learn(state, row if seen.all() else np.where(seen, row, 0.0), dt, None if seen.all() else seen)

    def follow(
        self,
        state: ForecasterState,
        signal: Signal,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
    ) -> ForecasterState:
        """Take samples in without learning from them: the present moves on, what was learnt stays.

        The arguments are those of `learn`.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> state = forecaster.learn(forecaster.initial_state(), np.cos(np.arange(200) / 3))
        >>> later = forecaster.follow(state, np.cos(np.arange(200, 250) / 3))
        >>> later.time, later.pairs == state.pairs
        (250.0, True)
        """
        checked = self._checked(state, signal, dt, mask)
        if state.mixture is not None:
            return mixing.taken_in(self, state, *checked, learning=False)
        moved = self._taken_in(state, *checked, learning=False)
        return replace(moved, validation=state.validation)

    def merge(self, state: ForecasterState, other: ForecasterState) -> ForecasterState:
        """`state`, with what `other` has learnt from a separate series added to it.

        For pieces of one series hand the state over instead: the pairs across the cut would be missing.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> one = forecaster.learn(forecaster.initial_state(), np.cos(np.arange(100) / 3))
        >>> two = forecaster.learn(forecaster.initial_state(), np.sin(np.arange(150) / 4))
        >>> forecaster.merge(one, two).pairs == one.pairs + two.pairs
        True
        """
        if _shapes(state) != _shapes(other):
            raise ValueError(
                f"states of {state.channels} and {other.channels} channels, or of different forecasters, do not merge; "
                f"learn both with the same forecaster and the same channels."
            )
        if state.mixture is not None and other.mixture is not None:
            return replace(state, mixture=self.mixer.merge(state.mixture, other.mixture))
        mine, theirs = state.validation, other.validation
        validation = replace(
            mine,
            learnt_then=merged(mine.learnt_then, theirs.learnt_then),
            learnt_before=merged(mine.learnt_before, theirs.learnt_before),
            errors=mine.errors + theirs.errors,
            weight=mine.weight + theirs.weight,
        )
        learnt, detail = merged(state.learnt, other.learnt), state.detail.merge(other.detail)
        return replace(state, learnt=learnt, validation=validation, detail=detail)

    # -- forecasting ------------------------------------------------------------------------------------------------

    def scores(self, state: ForecasterState) -> Float[np.ndarray, "groups candidates"]:
        """Mean squared error over the horizon of every candidate, on data it had not learnt from; NaN before any.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0, ridge=(1e-6, 1.0))
        >>> state = forecaster.learn(forecaster.initial_state(), np.cos(np.arange(300) / 3))
        >>> scores = forecaster.scores(state)
        >>> scores.shape, bool(scores[0, 0] < scores[0, 1])
        ((1, 2), True)
        """
        return self._solver.scores(state) if state.mixture is None else mixing.scores(self, state)

    def until_validated(self, state: ForecasterState) -> float:
        """How much more must be observed before the bands of all channels are measured on unseen data; 0 if they are.

        Until then forecasts are held towards simple ones (`SmallSampleShrinkage`), and bands are those of the simple
        ones, widened (`EarlyUncertainty`). A mixture counts until every lead was compared 32 times. Gaps do not count.

        Examples
        --------
        >>> forecaster, wave = Forecaster(LegT(8, 20.0), horizon=4.0), np.cos(np.arange(23) / 3)
        >>> state = forecaster.learn(forecaster.initial_state(), wave[:10])
        >>> forecaster.until_validated(state)
        13.0
        >>> forecaster.until_validated(forecaster.learn(state, wave[10:]))
        0.0
        """
        if state.mixture is not None:
            return mixing.until_validated(self, state)
        validation = state.validation
        # Not begun, or too young for a pair of a past and its future: the first pair is still to come.
        missing = self.horizon + self.warmup - np.where(state.begun, state.age, 0.0)
        oldest = {"independent": missing, "shared": [missing.min()], "joint": [missing.max()]}[self.together]
        ends = [state.seen]
        for g in np.flatnonzero(validation.weight == 0):
            first, end = state.seen + max(float(oldest[g]), 0.0), validation.boundary
            then, before = (bool(one[g][0].weight) for one in (validation.learnt_then, validation.learnt_before))
            while not then or first >= end:
                then, before, end = before, first < end, self._next_boundary(end + self.dt / 2)
            ends.append(end)
        return math.ceil((max(ends) - state.seen) / self.dt - 1e-9) * self.dt

    def chosen(self, state: ForecasterState) -> tuple[Candidate, ...]:
        """The candidate that each group forecasts by; the first one as long as nothing could be compared."""
        scores = np.nan_to_num(self.scores(state), nan=np.inf)
        if state.mixture is not None:
            return tuple(self.candidates[int(np.argmin(row))] for row in scores)
        # While a signal stands still all candidates are right, and rounding is no reason to leave the first.
        scores = np.maximum(scores, self._solver.rounding(state)[:, None])
        return tuple(self.candidates[int(np.argmin(row))] for row in scores)

    def maps(self, state: ForecasterState, candidate: Candidate | None = None) -> tuple[ForecastMap, ...]:
        """The map of each group, by the chosen candidate or by the one given.

        Until its first forecasts were compared with what came (`until_validated`) a group's map is held towards simple
        forecasts: see `SmallSampleShrinkage`.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0, rank=2)
        >>> state = forecaster.learn(forecaster.initial_state(), np.cos(np.arange(300) / 3))
        >>> forecaster.maps(state)[0].rank
        2
        """
        chosen = self._candidates(state, candidate)
        return self._solver.maps(state, chosen) if state.mixture is None else mixing.maps(self, state, chosen)

    def moments(self, state: ForecasterState, candidate: Candidate) -> tuple[Moments, ...]:
        """The statistics that a candidate's maps are made of, for each group.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> state = forecaster.learn(forecaster.initial_state(), np.cos(np.arange(300) / 3))
        >>> forecaster.moments(state, forecaster.candidates[0])[0].weight
        296.0
        """
        if state.mixture is not None:
            return tuple(mixing.moments(self, state, candidate, c) for c in range(state.channels))
        place = self._solver.learnt_as.index((candidate.history, candidate.anchor))
        return tuple(group[place] for group in state.learnt)

    def forecast(self, state: ForecasterState, candidate: Candidate | None = None) -> Forecast:
        """What the state expects of the horizon that begins now.

        Before anything was learnt this is the last value, with an infinite variance.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> state = forecaster.learn(forecaster.initial_state(2), np.ones((300, 2)) * [5.0, 7.0])
        >>> forecaster.forecast(state).samples(2).round(3).tolist()
        [[5.0, 5.0], [7.0, 7.0]]
        """
        if state.mixture is not None and candidate is None:
            return mixing.forecast(self, state)
        candidates = self._candidates(state, candidate)
        maps = self.maps(state, candidate)
        if state.mixture is not None:
            raise ValueError("a mixture forecasts by all of its candidates; leave candidate= out, or mixture=True.")
        pasts = tuple(past[None] for past in state.aligned)
        coefficients = self._solver.apply(maps, candidates, pasts, state.held[None])[0]
        covariance = self._solver.covariance(state, maps, candidates, coefficients)
        unlearnt = np.repeat([not group[0].weight for group in state.learnt], state.channels // len(state.learnt))
        coefficients[unlearnt] = state.held[unlearnt, None] * (np.arange(self.future.order) == 0)
        covariance[unlearnt] = np.diag(np.where(np.arange(self.future.order) == 0, np.inf, 0.0))
        detail, by = state.detail.variance, self._made_by(state, candidates)
        if state.single:
            return Forecast(self.future, coefficients[0], covariance[0], self.dt, detail[0], self.lower, by)
        return Forecast(self.future, coefficients, covariance, self.dt, detail, self.lower, by)

    def _made_by(self, state: ForecasterState, chosen: tuple[Candidate, ...]) -> tuple[dict[str, float], ...]:
        """The one map that each channel is forecast by, and why nothing is mixed, in words."""
        why = "together='joint'" if self.together == "joint" else "rank=" if self.ranks != (None,) else "mixture=False"
        found = []
        for c in range(state.channels):
            one = chosen[min(c, len(chosen) - 1)]
            base = {"last": "last value", "none": "mean"}[one.anchor]
            whose = " of all channels" if self.together == "joint" else ""
            window = f"{self.histories[one.history].timescale:g}"
            found.append({f"one map of {window}{whose} on {base}, no mixture ({why})": 1.0})
        return tuple(found)

    def past(self, state: ForecasterState, history: int) -> Float[np.ndarray, "channels order"]:
        """System 3: the coefficients of one history system up to the present.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
        >>> state = forecaster.learn(forecaster.initial_state(), np.ones(100))
        >>> forecaster.past(state, 0).round(6)[0, :3].tolist()
        [1.0, 0.0, 0.0]
        """
        return state.aligned[history] if state.mixture is None else mixing.past(self, state, history)

    def replay(
        self,
        state: ForecasterState,
        signal: Signal,
        lead: Float[np.ndarray, "*leads"] | float,
        candidate: Candidate | None = None,
    ) -> Float[np.ndarray, "time *channels_and_leads"]:
        """Forecasts issued after every sample of another signal, by what `state` has learnt; nothing is learnt.

        The signal is a stream of its own that begins with its first sample; steps are `dt`.

        Examples
        --------
        >>> forecaster = Forecaster(LegT(16, 30.0), horizon=4.0)
        >>> signal = np.cos(np.arange(400) / 3)
        >>> state = forecaster.learn(forecaster.initial_state(), signal)
        >>> ahead = forecaster.replay(state, signal, 2.5)  # the third sample to come
        >>> bool(np.abs(ahead[100:-3] - signal[103:]).max() < 0.02)
        True
        """
        values, _, _ = self._checked(state, signal, None, None)
        leads = real_array("lead", lead)
        if state.mixture is not None:
            return mixing.replay(self, state, values, leads)
        basis = lead_basis(self.future, leads.ravel())
        candidates, maps = self._candidates(state, candidate), self.maps(state, candidate)
        used = {one.history for one in candidates}
        pasts = [np.outer(values[:1], np.eye(system.order)[0]) for system in self.histories]
        answers = np.empty((*values.shape, len(basis)))
        for begin in range(0, len(values), _BLOCK):
            block = values[begin : begin + _BLOCK]
            scans = [self._pasts[h].scan(block, pasts[h]) if h in used else pasts[h][None] for h in range(len(pasts))]
            pasts = [scan[-1] for scan in scans]
            answers[begin : begin + _BLOCK] = self._solver.apply(maps, candidates, tuple(scans), block) @ basis.T
        answers = answers.reshape(*values.shape, *leads.shape)
        return answers[:, 0] if state.single else answers

    # -- block by block ---------------------------------------------------------------------------------------------

    def _taken_in(
        self, state: ForecasterState, values: np.ndarray, steps: np.ndarray, observed: np.ndarray, *, learning: bool
    ) -> ForecasterState:
        """The state after these samples; without learning, what was learnt stays, and only the next boundary moves."""
        state, begin = wait_for_a_sample(state, steps, observed)
        # System 1's own reading of the past, which the endpoint is, is not constant when the past is.
        gaps = {} if self.delay == "endpoint" else long_gaps(state, steps, observed, self.horizon + self.dt)
        while begin < len(values):
            state = begin_channels(state, values[begin], observed[begin], self._longest_silence)
            if begin in gaps and not state.line.observed.any():
                duration = float(steps[begin : gaps[begin]].sum())
                moved = cross_gap(state, self._recent, self._pasts, duration)
                state = self._fade(moved, duration) if learning else moved
                begin = gaps[begin]
                continue
            end = self._block_end(state, steps, observed, begin)
            end = min([end, *(one for one in gaps if one > begin)])
            block = values[begin:end], steps[begin:end], observed[begin:end]
            endpoint = self.delay == "endpoint"
            moved, pairs = move(state, self._recent, self._pasts, *block, endpoint=endpoint, warmup=self.warmup)
            state = self._learn_block(state, moved, pairs, *block[:2]) if learning else moved
            if state.seen >= state.validation.boundary:
                # Blocks end where those of learning do, so that memories are the same to the last digit.
                state = self._validate(state) if learning else self._with_next_boundary(state)
            begin = end
        return state

    def _learn_block(
        self, state: ForecasterState, moved: ForecasterState, pairs: Pairs, values: np.ndarray, steps: np.ndarray
    ) -> ForecasterState:
        """The state that a block has moved, with what its pairs teach."""
        weights, kept = pairs.weights, 1.0
        if self.forgetting is not None:
            ago = np.cumsum(steps[::-1])[::-1] - steps
            weights = weights * np.exp(-ago / self.forgetting)[:, None]
            kept = math.exp(-float(steps.sum()) / self.forgetting)
        fresh: list[list[Moments]] = [[] for _ in state.learnt]
        for h, anchor in self._solver.learnt_as:
            base = pairs.levels if anchor == "last" else np.zeros_like(pairs.levels)
            x, y = without_level(pairs.pasts[h], base), without_level(pairs.futures, base)
            grouped = group_pairs(self.together, x, y, weights, pairs.levels)
            for group, (xs, ys, w, levels) in zip(fresh, grouped, strict=True):
                group.append(Moments.empty(xs.shape[1], ys.shape[1], levels.shape[1]).add(xs, ys, w, levels))
        validation = replace(state.validation, stretch=merged(faded(state.validation.stretch, kept), fresh))
        content = np.concatenate([state.line.values, values])
        lengths = np.concatenate([state.line.durations, steps])
        # Only windows that were observed throughout can say what is missing from them.
        whole = weights[pairs.probes] * (pairs.covered[pairs.probes] > 1 - 1e-9)
        missed = missed_detail(content, lengths, pairs.begins, self.dt, pairs.readings, whole)
        return replace(
            moved,
            learnt=merged(faded(state.learnt, kept), fresh),
            validation=validation,
            detail=state.detail.merge(missed, kept),
        )

    def _fade(self, state: ForecasterState, duration: float) -> ForecasterState:
        """What is left of what was learnt after a time that teaches nothing."""
        if self.forgetting is None:
            return state
        kept = math.exp(-duration / self.forgetting)
        nothing = Detail(np.zeros_like(state.detail.squares), np.zeros_like(state.detail.weight))
        return replace(
            state,
            learnt=faded(state.learnt, kept),
            validation=replace(state.validation, stretch=faded(state.validation.stretch, kept)),
            detail=state.detail.merge(nothing, kept),
        )

    def _block_end(self, state: ForecasterState, steps: np.ndarray, observed: np.ndarray, begin: int) -> int:
        """A block ends at its full size, before a channel begins, and with the sample that completes a stretch."""
        end = min(begin + _BLOCK, len(steps))
        begins = rows_that_begin(state, steps[begin:end], observed[begin:end], self._longest_silence)[1:]
        if begins.any():
            end = begin + 1 + int(begins.argmax())
        # By the time that was observed: a gap makes no stretch longer, and is none.
        clock = state.seen + observed_time(steps[begin:end], observed[begin:end])
        return begin + min(end - begin, int(np.searchsorted(clock, state.validation.boundary)) + 1)

    # -- validation -------------------------------------------------------------------------------------------------

    def _next_boundary(self, seen: float) -> float:
        longest = math.inf if self.forgetting is None else max(self.forgetting, self.horizon)
        end = seen + max(self.horizon, min(_GROWTH * seen, longest))
        # Half a step off the samples, so that rounding of the clock decides nothing.
        return (math.floor(end / self.dt) + 0.5) * self.dt

    def _with_next_boundary(self, state: ForecasterState) -> ForecasterState:
        return replace(state, validation=replace(state.validation, boundary=self._next_boundary(state.seen)))

    def _validate(self, state: ForecasterState) -> ForecasterState:
        """Score what was known a horizon before the stretch on the stretch; then begin the next one."""
        before = state.validation
        errors, weight = before.errors * _FADE, before.weight * _FADE
        for g, (known, stretch) in enumerate(zip(before.learnt_then, before.stretch, strict=True)):
            if not known[0].weight or not stretch[0].weight:
                continue
            weight[g] += stretch[0].weight
            errors[g] += self._solver.errors(known, stretch, state.channels)
        nothing = tuple(tuple(one.faded(0.0) for one in group) for group in before.stretch)
        boundary = self._next_boundary(state.seen)
        return replace(
            state,
            validation=Validation(boundary, nothing, before.learnt_before, state.learnt, errors, weight),
        )

    def _candidates(self, state: ForecasterState, candidate: Candidate | None) -> tuple[Candidate, ...]:
        if candidate is None:
            return self.chosen(state)
        if candidate not in self.candidates:
            raise ValueError(
                f"{candidate} is not among the candidates of this forecaster; pass one of its .candidates."
            )
        return (candidate,) * len(state.learnt)

    # -- the door ---------------------------------------------------------------------------------------------------

    def _checked(
        self, state: ForecasterState, signal: Any, dt: Any, mask: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values without gaps, steps, and which values were observed; (time, channels) each but the steps."""
        given = np.asarray(signal)
        expected = "(time,)" if state.single else f"(time, {state.channels})"
        if given.ndim != (1 if state.single else 2) or (not state.single and given.shape[1] != state.channels):
            raise ValueError(
                f"signal has shape {given.shape}, but this state was begun for {expected}; pass that shape."
            )
        observed = np.ones(given.shape)
        if mask is not None:
            held = state.held[0] if state.single else state.held
            held_signal = hold_missing(signal, mask, held)
            observed[...] = mask if np.ndim(mask) == given.ndim else np.asarray(mask)[:, None]
            if isinstance(signal, np.ma.MaskedArray):
                observed[np.ma.getmaskarray(signal)] = 0.0
            signal = held_signal
        values = real_array(
            "signal", signal, what_to_do="For missing samples pass mask=, True where there is a sample."
        )
        steps = np.full(len(values), self.dt) if dt is None else checked_steps(dt)
        if steps.shape not in ((), values.shape[:1]):
            raise ValueError(
                f"dt has shape {steps.shape}, but the signal has {len(values)} samples; pass one number, or one each."
            )
        steps = np.ascontiguousarray(np.broadcast_to(steps, values.shape[:1]))
        if self.delay == "endpoint" and not (steps == self.dt).all():
            raise ValueError("delay='endpoint' knows equal steps only; leave dt= out, or use delay='exact'.")
        if state.mixture is not None:
            mixing.check_size(state, values)
        if state.single:
            return values[:, None], steps, observed[:, None]
        return values, steps, observed


def _shapes(state: ForecasterState) -> list[tuple[int, ...]]:
    """What two states must share to hold the same statistics."""
    if state.mixture is not None:
        return [(state.channels,), state.mixture.yx.shape, state.mixture.live.shape]
    learnt = [moments.yx.shape for group in state.learnt for moments in group]
    return [(state.channels,), state.validation.errors.shape, *learnt]


def _mean_reading(system: HippoSystem, span: float) -> np.ndarray:
    """The row that reads from a memory the mean over its last `span`, or over its window if that is shorter."""
    node, mass = np.polynomial.legendre.leggauss(max(64, system.order))
    return mass / 2 @ system.basis((node + 1) / 2 * min(span, system.window))


def _check_metric(metric: np.ndarray) -> None:
    """Squared lengths of errors: symmetric, never below zero, and somewhere above it."""
    scale = np.abs(metric).max()
    if not np.allclose(metric, metric.T, rtol=0.0, atol=1e-9 * scale):
        raise ValueError("future_metric is not symmetric; pass (M + M.T) / 2, or make it by future_metric(…).")
    lowest = float(np.linalg.eigvalsh(metric)[0])
    if scale == 0 or lowest < -1e-9 * scale:
        raise ValueError(
            f"future_metric has the eigenvalue {lowest:g}: it measures errors, so none may be below zero and one must "
            f"be above it; make it by future_metric(forecaster.future, weight)."
        )


def merged(left: Learnt, right: Any) -> Learnt:
    """The statistics of both, group by group and history by history."""
    return tuple(tuple(a.merge(b) for a, b in zip(one, two, strict=True)) for one, two in zip(left, right, strict=True))


def faded(learnt: Learnt, factor: float) -> Learnt:
    """The same statistics with `factor` of their weight."""
    return learnt if factor == 1 else tuple(tuple(one.faded(factor) for one in group) for group in learnt)
