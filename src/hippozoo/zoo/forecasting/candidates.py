"""Ways to forecast, side by side: from statistics to maps, from maps to futures, and how well they did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from hippozoo.systems import HippoSystem, LegT
from hippozoo.zoo.forecasting.early import early_covariance, shrunk_map
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, reduced_rank
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["Anchor", "Candidate", "Solver", "Together", "group_count", "group_pairs", "without_level"]

Anchor = Literal["none", "last"]
# How channels learn: each by itself, all one map, or each from the past of all.
Together = Literal["independent", "shared", "joint"]


@dataclass(frozen=True)
class Candidate:
    """One way to forecast: which history system (by its number), which anchor, what rank, what ridge.

    Examples
    --------
    >>> Candidate(history=0, rank=4, ridge=1e-4)
    Candidate(history=0, anchor='none', rank=4, ridge=0.0001)
    """

    history: int = 0
    anchor: Anchor = "none"
    rank: int | None = None
    ridge: float | int = 0.0


@dataclass(frozen=True, eq=False)
class Solver:
    """Turns what was learnt into forecasts, for candidates of one forecaster."""

    candidates: tuple[Candidate, ...]
    learnt_as: tuple[tuple[int, Anchor], ...]  # the kinds of statistics that are kept: (history, anchor)
    histories: tuple[HippoSystem, ...]
    future: LegT  # System 1
    dt: float | int
    together: Together
    intercept: bool
    future_metric: Float[np.ndarray, "order order"] | None

    def solve(self, group: tuple[Moments, ...], candidate: Candidate, channels: int) -> ForecastMap:
        """The map of one group by one candidate."""
        moments = group[self._place(candidate)]
        metric, scale = self._units(moments, candidate, channels)
        return reduced_rank(moments, candidate.rank, candidate.ridge, metric, self.intercept, scale)

    def solve_early(self, group: tuple[Moments, ...], candidate: Candidate, channels: int) -> ForecastMap:
        """The same as long as no forecast of the group was compared with what came."""
        moments = group[self._place(candidate)]
        if not moments.weight:
            return self.solve(group, candidate, channels)
        metric, scale = self._units(moments, candidate, channels)
        side_by_side = channels if self.together == "joint" else 1
        # A constant fills the first coefficient.
        simple = [np.outer(np.eye(self.future_order)[0], row) for row in self._simple(candidate)]
        simple = [np.kron(np.eye(side_by_side), one) for one in simple]
        how = candidate.rank, candidate.ridge, metric, self.intercept, scale
        sharing = channels if self.together == "shared" else 1
        return shrunk_map(moments, simple, self._share, *how, channels=side_by_side, sharing=sharing)

    def maps(self, state: ForecasterState, chosen: tuple[Candidate, ...]) -> tuple[ForecastMap, ...]:
        """The map of each group by its candidate."""
        return tuple(
            (self.solve if weight else self.solve_early)(group, one, state.channels)
            for group, one, weight in zip(state.learnt, chosen, state.validation.weight, strict=True)
        )

    def errors(
        self, known: tuple[Moments, ...], stretch: tuple[Moments, ...], channels: int
    ) -> Float[np.ndarray, "candidates outputs outputs"]:
        """Sums of products of errors that each candidate makes on `stretch`, knowing `known`."""
        return np.stack(
            [
                stretch[self._place(one)].errors_of(fitted.forecast_map, fitted.intercept)
                for one in self.candidates
                for fitted in [self.solve(known, one, channels)]
            ]
        )

    def scores(self, state: ForecasterState) -> Float[np.ndarray, "groups candidates"]:
        """Mean squared errors on unseen data; NaN where there were none."""
        validation = state.validation
        scores = np.full(validation.errors.shape[:2], np.nan)
        for g in np.flatnonzero(validation.weight):
            metric = self._group_metric(state.learnt[g], state.channels)
            totals = np.einsum("ij,cji->c", metric, validation.errors[g])
            scores[g] = totals * self.future_order / (validation.weight[g] * np.trace(metric))
        return scores

    def rounding(self, state: ForecasterState) -> Float[np.ndarray, " groups"]:
        """Up to here scores are rounding: candidates below it are equally good."""
        found = np.empty(len(state.learnt))
        for g, group in enumerate(state.learnt):
            rounding = group[0].rounding
            share = np.diag(self._group_metric(group, state.channels)).reshape(len(rounding), -1).sum(axis=1)
            found[g] = rounding @ share / share.sum()
        return found

    def covariance(
        self,
        state: ForecasterState,
        maps: tuple[ForecastMap, ...],
        chosen: tuple[Candidate, ...],
        coefficients: Float[np.ndarray, "channels order"],
    ) -> Float[np.ndarray, "channels order order"]:
        """Of the errors of the forecast `coefficients`: on unseen data where there were some, else with caution."""
        order, channels = self.future_order, state.channels
        covariance = np.empty((channels, order, order))
        for g, (fitted, candidate) in enumerate(zip(maps, chosen, strict=True)):
            weight = state.validation.weight[g]
            if not weight:
                for c, cautious in self._cautious(state, g, fitted, candidate, coefficients):
                    covariance[c] = cautious
                continue
            errors = state.validation.errors[g, self.candidates.index(candidate)] / weight
            if self.together == "joint":
                blocks = errors.reshape(channels, order, channels, order)
                covariance[:] = blocks[np.arange(channels), :, np.arange(channels)]
            elif self.together == "shared":
                covariance[:] = errors
            else:
                covariance[g] = errors
        return covariance

    def _cautious(
        self,
        state: ForecasterState,
        g: int,
        fitted: ForecastMap,
        candidate: Candidate,
        coefficients: Float[np.ndarray, "channels order"],
    ) -> Iterator[tuple[int, Float[np.ndarray, "order order"]]]:
        """The channels of group g, and the covariance of the errors of each, as long as no stretch was scored."""
        place, inputs = self._place(candidate), self.histories[candidate.history].order
        known, stretch = (one[g] for one in (state.validation.learnt_then, state.validation.stretch))
        errors, weight = None, stretch[place].weight
        if known[place].weight and weight:
            then = self.solve_early(known, candidate, state.channels)
            errors = stretch[place].errors_of(then.forecast_map, then.intercept) / weight
        simple, first = self._simple(candidate), np.eye(self.future_order)[0]
        for c in [g] if self.together == "independent" else range(state.channels):
            moments, residual, scored = state.learnt[g][place], fitted.residual, errors
            if self.together == "joint":
                x, y = (slice(c * size, (c + 1) * size) for size in (inputs, self.future_order))
                moments, residual = moments.part(x, y), residual[y, y]
                scored = None if errors is None else errors[y, y]
            level = state.held[c] if candidate.anchor == "last" else 0.0
            past = without_level(state.aligned[candidate.history][c][None], np.array([level]))[0]
            levels = [level + row @ past for row in simple]
            departures = [coefficients[c] - level * first for level in levels]
            kept = None if scored is None else (scored, weight)
            sharing = state.channels if self.together == "shared" else 1
            known_by = residual, fitted.freedom, simple, departures, kept, sharing
            yield c, early_covariance(moments, self._share, *known_by)

    def apply(
        self,
        maps: tuple[ForecastMap, ...],
        chosen: tuple[Candidate, ...],
        pasts: tuple[Float[np.ndarray, "_ channels _"], ...],
        held: Float[np.ndarray, "time channels"],
    ) -> Float[np.ndarray, "time channels outputs"]:
        """Expected coefficients of the future after each of these pasts, whose last values are `held`."""
        time, channels = held.shape
        answers = np.empty((time, channels, self.future_order))
        for g, (fitted, candidate) in enumerate(zip(maps, chosen, strict=True)):
            group = slice(g, g + 1) if self.together == "independent" else slice(None)
            levels = held[:, group] if candidate.anchor == "last" else np.zeros_like(held[:, group])
            rows = _group_rows(self.together, without_level(pasts[candidate.history][:, group], levels))
            found = rows @ fitted.forecast_map.T + fitted.intercept
            answers[:, group] = found.reshape(time, -1, self.future_order)
            answers[:, group, 0] += levels
        return answers

    def made_by(self, chosen: tuple[Candidate, ...], channels: int) -> tuple[dict[str, float], ...]:
        """The one map that each channel is forecast by, in words."""
        found = []
        for c in range(channels):
            one = chosen[min(c, len(chosen) - 1)]
            base = {"last": "last value", "none": "mean"}[one.anchor]
            whose = " of all channels" if self.together == "joint" else ""
            found.append({f"one map of {self.histories[one.history].timescale:g}{whose} on {base}": 1.0})
        return tuple(found)

    def _simple(self, candidate: Candidate) -> list[Float[np.ndarray, " inputs"]]:
        """To go on with the last value, or with the mean of the last horizon: rows that read them from a past."""
        system = self.histories[candidate.history]
        latest = np.zeros(system.order) if candidate.anchor == "last" else system.basis(0.0)
        return [latest, self._lately[candidate.history]]

    @cached_property
    def _lately(self) -> tuple[Float[np.ndarray, " _"], ...]:
        """How to read the mean of the last horizon from each history, or of its window if that is shorter."""
        found = []
        for system in self.histories:
            node, mass = np.polynomial.legendre.leggauss(max(64, system.order))
            found.append(mass / 2 @ system.basis((node + 1) / 2 * min(self.future.timescale, system.window)))
        return tuple(found)

    @property
    def future_order(self) -> int:
        """Coefficients of System 1."""
        return self.future.order

    @property
    def _share(self) -> float:
        """Of the horizon, that one step takes."""
        return self.dt / self.future.timescale

    def _units(
        self, moments: Moments, candidate: Candidate, channels: int
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """How errors count, and by what each coefficient of x is divided; joint channels have units of their own."""
        if self.together != "joint":
            return self.future_metric, None
        scales = _channel_scales(self.together, moments, channels)
        return self._metric(scales), np.repeat(scales, self.histories[candidate.history].order)

    def _place(self, candidate: Candidate) -> int:
        return self.learnt_as.index((candidate.history, candidate.anchor))

    def _group_metric(self, group: tuple[Moments, ...], channels: int) -> np.ndarray:
        return self._metric(_channel_scales(self.together, group[0], channels))

    def _metric(self, scales: np.ndarray) -> np.ndarray:
        metric = np.eye(self.future_order) if self.future_metric is None else self.future_metric
        return np.kron(np.diag(1 / scales**2), metric) if self.together == "joint" else metric


def without_level(
    coefficients: Float[np.ndarray, "*time channels order"], levels: Float[np.ndarray, "*time channels"]
) -> Float[np.ndarray, "*time channels order"]:
    """The coefficients of a signal less a constant: only the first one changes."""
    if not levels.any():
        return coefficients
    changed = coefficients.copy()
    changed[..., 0] -= levels
    return changed


def group_count(together: Together, channels: int) -> int:
    """How many maps there are."""
    return channels if together == "independent" else 1


def group_pairs(
    together: Together,
    x: Float[np.ndarray, "time channels inputs"],
    y: Float[np.ndarray, "time channels outputs"],
    weights: Float[np.ndarray, "time channels"],
    levels: Float[np.ndarray, "time channels"],
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs that each map learns from: (x, y, weights, levels) per group."""
    if together == "independent":
        return [(x[:, c], y[:, c], weights[:, c], levels[:, c : c + 1]) for c in range(x.shape[1])]
    if together == "shared":
        return [(x.reshape(-1, x.shape[2]), y.reshape(-1, y.shape[2]), weights.reshape(-1), levels.reshape(-1, 1))]
    # A pair of all channels counts where every channel has begun, by what was observed on average.
    counted = np.where((weights > 0).all(axis=1), weights.mean(axis=1), 0.0)
    return [(x.reshape(len(x), -1), y.reshape(len(y), -1), counted, levels)]


def _group_rows(together: Together, x: Float[np.ndarray, "*time channels inputs"]) -> np.ndarray:
    """Inputs of the maps: (…, channels, inputs), or (…, 1, channels * inputs) where one map reads all channels."""
    return x.reshape(*x.shape[:-2], 1, -1) if together == "joint" else x


def _channel_scales(together: Together, moments: Moments, channels: int) -> Float[np.ndarray, " channels"]:
    """The size of each channel, so that a map of several treats volts and kilovolts alike; ones where it is one."""
    if together != "joint":
        return np.ones(channels)
    variance = np.diag(moments.yy).reshape(channels, -1).sum(axis=1) / max(moments.weight, 1e-300)
    # A channel that stood still has no size: that of its rounding would make it the loudest.
    return np.sqrt(np.where(variance > moments.rounding, variance, 1.0))
