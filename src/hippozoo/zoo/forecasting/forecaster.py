"""Streaming forecasts: three memories, one pass, a linear map from the past to the future."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo.forecasts.forecaster import OnlineForecaster, Signal, check_choice, checked_signal
from hippozoo.forecasts.leads import lead_basis, usual_order
from hippozoo.forecasts.settings import as_season, several, usual_histories
from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem, LegT
from hippozoo.zoo.forecasting.candidates import Anchor, Candidate, Solver, Together
from hippozoo.zoo.forecasting.forecast import GaussianForecast
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.one_pass import BLOCK, OnePass, merged_states
from hippozoo.zoo.forecasting.regression import ForecastMap, checked_metric
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["Forecaster", "forecaster_with_candidates"]

Delay = Literal["exact", "endpoint"]


@dataclass(frozen=True, eq=False)
class Forecaster(OnlineForecaster[ForecasterState]):
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
    lower
        A bound that values cannot fall below.

    Examples
    --------
    >>> from hippozoo.systems import LegT
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
    lower: float | int | None = None

    def __post_init__(self) -> None:
        self._check_arguments(Anchor, Together)
        check_choice("delay", self.delay, Delay)
        for rank in self.ranks:
            if rank is not None:
                whole_number("rank", rank, why="a forecast reads at least one number of the past")
        if not self.ranks:
            raise ValueError("rank=(): pass a whole number, None, or a tuple of candidates.")
        if not isinstance(self.warmup, Real) or not 0 <= self.warmup < math.inf:
            raise ValueError(f"warmup={shorten(self.warmup)}: a time in your unit; pass a finite number >= 0.")
        if self.future_order is None:
            object.__setattr__(self, "future_order", usual_order(self.horizon, self.dt))
        order = whole_number("future_order", self.future_order, why="the future needs at least one coefficient")
        if self.future_metric is not None:
            object.__setattr__(self, "future_metric", checked_metric(self.future_metric, order))

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The ranks to choose from."""
        return several(self.rank)

    @property
    def ridges(self) -> tuple[float | int, ...]:
        """The ridges to choose from."""
        return several(self.ridge)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors to choose from."""
        return several(self.anchor)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every way to forecast that is tried."""
        return tuple(
            Candidate(*one) for one in product(range(len(self.histories)), self.anchors, self.ranks, self.ridges)
        )

    @cached_property
    def future(self) -> LegT:
        """System 1: the basis in which recent past and future are written."""
        assert self.future_order is not None  # __post_init__ has filled it in
        return LegT(self.future_order, self.horizon)

    @cached_property
    def solver(self) -> Solver:
        """How maps are made of statistics."""
        return Solver(
            self.candidates,
            tuple(product(range(len(self.histories)), self.anchors)),
            self.histories,
            self.future,
            self.dt,
            self.together,
            self.intercept,
            self.future_metric,
        )

    @cached_property
    def one_pass(self) -> OnePass:
        """How samples are taken in."""
        pasts = tuple(Memory(system, self.dt) for system in self.histories)
        endpoint = self.delay == "endpoint"
        return OnePass(Memory(self.future, self.dt), pasts, self.solver, endpoint, self.forgetting, self.warmup)

    def _begin(self, channels: int, *, single: bool) -> ForecasterState:
        return self.one_pass.initial_state(channels, single=single)

    def _take_in(self, state: ForecasterState, signal: Any, dt: Any, mask: Any, *, learning: bool) -> ForecasterState:
        """By blocks, so that a long signal takes no more memory than a short one."""
        values, steps, observed = checked_signal(state, signal, dt, mask, self.dt)
        if self.delay == "endpoint" and not (steps == self.dt).all():
            raise ValueError("delay='endpoint' knows equal steps only; leave dt= out, or use delay='exact'.")
        moved = self.one_pass.take_in(state, values, steps, observed, learning=learning)
        return moved if learning else replace(moved, validation=state.validation)

    def _merge(self, state: ForecasterState, other: ForecasterState) -> ForecasterState:
        return merged_states(state, other)

    def _shapes(self, state: ForecasterState) -> list[tuple[int, ...]]:
        learnt = [moments.yx.shape for group in state.learnt for moments in group]
        return [(state.channels,), state.validation.errors.shape, *learnt]

    def scores(self, state: ForecasterState) -> Float[np.ndarray, "groups candidates"]:
        """Mean squared error over the horizon of every candidate, on data it had not learnt from; NaN before any."""
        return self.solver.scores(state)

    def until_each_validated(self, state: ForecasterState) -> Float[np.ndarray, " channels"]:
        """How much more must be observed before bands are measured on unseen data: all channels wait for the last one.

        Until then forecasts are held towards simple ones, and bands are those of the simple ones, widened
        (`hippozoo.zoo.forecasting.early`). Gaps do not count.
        """
        return np.full(state.channels, self.one_pass.until_validated(state))

    def silence(self, state: ForecasterState) -> Float[np.ndarray, " channels"]:
        """How long ago the last sample of each channel ended."""
        return state.silent

    def chosen(self, state: ForecasterState) -> tuple[Candidate, ...]:
        """The candidate that each group forecasts by; the first one as long as nothing could be compared."""
        scores = np.nan_to_num(self.scores(state), nan=np.inf)
        # While a signal stands still all candidates are right, and rounding is no reason to leave the first.
        scores = np.maximum(scores, self.solver.rounding(state)[:, None])
        return tuple(self.candidates[int(np.argmin(row))] for row in scores)

    def maps(self, state: ForecasterState, candidate: Candidate | None = None) -> tuple[ForecastMap, ...]:
        """The map of each group, by the chosen candidate or by the one given.

        Until its first forecasts were compared with what came (`until_validated`) a group's map is held towards simple
        forecasts.
        """
        return self.solver.maps(state, self._candidates(state, candidate))

    def moments(self, state: ForecasterState, candidate: Candidate) -> tuple[Moments, ...]:
        """The statistics that a candidate's maps are made of, for each group."""
        place = self.solver.learnt_as.index((candidate.history, candidate.anchor))
        return tuple(group[place] for group in state.learnt)

    def forecast(self, state: ForecasterState, candidate: Candidate | None = None) -> GaussianForecast:
        """What the state expects of the horizon that begins now.

        Before anything was learnt this is the last value, with an infinite variance.
        """
        candidates = self._candidates(state, candidate)
        maps = self.maps(state, candidate)
        pasts = tuple(past[None] for past in state.aligned)
        coefficients = self.solver.apply(maps, candidates, pasts, state.held[None])[0]
        covariance = self.solver.covariance(state, maps, candidates, coefficients)
        unlearnt = np.repeat([not group[0].weight for group in state.learnt], state.channels // len(state.learnt))
        coefficients[unlearnt] = state.held[unlearnt, None] * (np.arange(self.future.order) == 0)
        covariance[unlearnt] = np.diag(np.where(np.arange(self.future.order) == 0, np.inf, 0.0))
        detail, by = state.detail.variance, self.solver.made_by(candidates, state.channels)
        found = GaussianForecast(self.future, coefficients, covariance, self.dt, detail, self.lower, by)
        return found.channel(0) if state.single else found

    def past(self, state: ForecasterState, history: int) -> Float[np.ndarray, "channels order"]:
        """System 3: the coefficients of one history system up to the present."""
        return state.aligned[history]

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
        >>> from hippozoo.systems import LegT
        >>> forecaster = Forecaster(LegT(16, 30.0), horizon=4.0)
        >>> signal = np.cos(np.arange(400) / 3)
        >>> state = forecaster.learn(forecaster.initial_state(), signal)
        >>> ahead = forecaster.replay(state, signal, 2.5)  # the third sample to come
        >>> bool(np.abs(ahead[100:-3] - signal[103:]).max() < 0.02)
        True
        """
        values, _, _ = checked_signal(state, signal, None, None, self.dt)
        leads = real_array("lead", lead)
        basis = lead_basis(self.future, leads.ravel())
        candidates, maps = self._candidates(state, candidate), self.maps(state, candidate)
        used, memories = {one.history for one in candidates}, self.one_pass.pasts
        pasts = [np.outer(values[:1], np.eye(system.order)[0]) for system in self.histories]
        answers = np.empty((*values.shape, len(basis)))
        for begin in range(0, len(values), BLOCK):
            block = values[begin : begin + BLOCK]
            scans = [memories[h].scan(block, pasts[h]) if h in used else pasts[h][None] for h in range(len(pasts))]
            pasts = [scan[-1] for scan in scans]
            answers[begin : begin + BLOCK] = self.solver.apply(maps, candidates, tuple(scans), block) @ basis.T
        answers = answers.reshape(*values.shape, *leads.shape)
        return answers[:, 0] if state.single else answers

    def _candidates(self, state: ForecasterState, candidate: Candidate | None) -> tuple[Candidate, ...]:
        if candidate is None:
            return self.chosen(state)
        if candidate not in self.candidates:
            raise ValueError(
                f"{candidate} is not among the candidates of this forecaster; pass one of its .candidates."
            )
        return (candidate,) * len(state.learnt)


def forecaster_with_candidates(
    horizon: float | int,
    dt: float | int = 1.0,
    season: float | int | Sequence[float | int] | None = None,
    **choices: Any,
) -> Forecaster:
    """A `Forecaster` over `horizon` that chooses among histories, anchors and ridges by validation.

    Histories are about two and eight horizons long, and two seasons of each period. For forecasts that are at least as
    good as simple ones, also of short and of troubled streams, see `hippozoo.ensemble.forecaster_for`; this one has a
    rank, a metric, joint channels, and one map that `explain` opens up.

    Parameters
    ----------
    horizon, dt
        As of `Forecaster`.
    season
        A period that the data may have, in the same unit, or several of them (a day and a week).
    choices
        Any argument of `Forecaster`, in place of what is chosen here.

    Examples
    --------
    >>> forecaster = forecaster_with_candidates(24, season=24, rank=4)
    >>> [system.timescale for system in forecaster.histories], len(forecaster.candidates)
    ([48.0, 192.0], 12)
    """
    reach, step = (positive_number(name, value) for name, value in (("horizon", horizon), ("dt", dt)))
    given = as_season(season)
    periods = () if given is None else several(given)
    seasons = [2 * positive_number("season", one, why="a period, in your time unit") for one in periods]
    settings: dict[str, Any] = {
        "history": usual_histories(reach, step, 96, *seasons),
        "anchor": ("last", "none"),
        "ridge": (1e-1, 1e-3, 1e-5),
    }
    return Forecaster(horizon=reach, dt=step, **(settings | choices))
