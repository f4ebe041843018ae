"""One pass over a stream, block by block: memories move on, pairs are learnt, and every stretch is validated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.leads import cell_count
from hippozoo.memory import Memory
from hippozoo.zoo.forecasting.candidates import Solver, group_count, group_pairs, without_level
from hippozoo.zoo.forecasting.gaps import begin_channels, cross_gap, long_gaps, rows_that_begin, wait_for_a_sample
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.pairs import Pairs, missed_detail, move, observed_time
from hippozoo.zoo.forecasting.state import DelayLine, Detail, ForecasterState, Learnt, Validation

__all__ = ["BLOCK", "OnePass", "faded", "merged", "merged_states"]

# Rows per block: large enough for the matrix products, small enough for the cache of two cores.
BLOCK = 4096
# Each stretch of validation is this share of what was observed before it, and halves the weight of older errors: a
# map of the first hours says little about one of the whole year.
_GROWTH = 0.25
_FADE = 0.5


@dataclass(frozen=True, eq=False)
class OnePass:
    """How a forecaster takes samples in; pure: the state goes in and comes out."""

    recent: Memory  # System 1
    pasts: tuple[Memory, ...]  # the memories of System 2 and 3
    solver: Solver  # maps from statistics, to be scored on every stretch
    endpoint: bool  # whether System 2 sees System 1's own reading of its far end, in place of the exact delay
    forgetting: float | int | None
    warmup: float | int

    @property
    def _horizon(self) -> float:
        return self.recent.system.timescale

    @property
    def _longest_silence(self) -> float:
        """After a longer one nothing is left in any memory but the last value before it."""
        systems = [memory.system for memory in self.pasts]
        reach = (2 * one.window if math.isfinite(one.window) else 10 * one.timescale for one in systems)
        return self._horizon + max(reach)

    def initial_state(self, count: int, *, single: bool) -> ForecasterState:
        """Nothing seen, nothing learnt, of `count` channels."""
        solver, nothing = self.solver, np.zeros(count)
        joined = count if solver.together == "joint" else 1
        outputs = joined * solver.future_order
        empty = tuple(Moments.empty(joined * solver.histories[h].order, outputs, joined) for h, _ in solver.learnt_as)
        learnt = (empty,) * group_count(solver.together, count)
        errors = np.zeros((len(learnt), len(solver.candidates), outputs, outputs))
        boundary = self.next_boundary(2 * self._horizon + self.warmup)
        return ForecasterState(
            single=single,
            time=0.0,
            seen=0.0,
            begun=np.zeros(count, bool),
            age=nothing,
            silent=nothing,
            held=nothing,
            recent=self.recent.initial_state(count),
            delayed=tuple(memory.initial_state(count) for memory in self.pasts),
            aligned=tuple(memory.initial_state(count) for memory in self.pasts),
            line=DelayLine.constant(nothing, self._horizon, self.recent.dt),
            learnt=learnt,
            validation=Validation(boundary, learnt, learnt, learnt, errors, np.zeros(len(learnt))),
            detail=Detail(np.zeros((count, cell_count(self._horizon, self.recent.dt))), np.zeros(count)),
        )

    def take_in(
        self,
        state: ForecasterState,
        values: Float[np.ndarray, "time channels"],
        steps: Float[np.ndarray, " time"],
        observed: Float[np.ndarray, "time channels"],
        *,
        learning: bool,
    ) -> ForecasterState:
        """The state after these samples; without learning, what was learnt stays, and only the next boundary moves."""
        state, begin = wait_for_a_sample(state, steps, observed)
        # System 1's own reading of the past, which the endpoint is, is not constant when the past is.
        gaps = {} if self.endpoint else long_gaps(state, steps, observed, self._horizon + self.recent.dt)
        while begin < len(values):
            state = begin_channels(state, values[begin], observed[begin], self._longest_silence)
            if begin in gaps and not state.line.observed.any():
                duration = float(steps[begin : gaps[begin]].sum())
                moved = cross_gap(state, self.recent, self.pasts, duration)
                state = self._fade(moved, duration) if learning else moved
                begin = gaps[begin]
                continue
            end = self._block_end(state, steps, observed, begin)
            end = min([end, *(one for one in gaps if one > begin)])
            block = values[begin:end], steps[begin:end], observed[begin:end]
            moved, pairs = move(state, self.recent, self.pasts, *block, endpoint=self.endpoint, warmup=self.warmup)
            state = self._learn_block(state, moved, pairs, *block[:2]) if learning else moved
            if state.seen >= state.validation.boundary:
                # Blocks end where those of learning do, so that memories are the same to the last digit.
                state = self.validate(state) if learning else self._with_next_boundary(state)
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
        for h, anchor in self.solver.learnt_as:
            base = pairs.levels if anchor == "last" else np.zeros_like(pairs.levels)
            x, y = without_level(pairs.pasts[h], base), without_level(pairs.futures, base)
            grouped = group_pairs(self.solver.together, x, y, weights, pairs.levels)
            for group, (xs, ys, w, levels) in zip(fresh, grouped, strict=True):
                group.append(Moments.empty(xs.shape[1], ys.shape[1], levels.shape[1]).add(xs, ys, w, levels))
        validation = replace(state.validation, stretch=merged(faded(state.validation.stretch, kept), fresh))
        content = np.concatenate([state.line.values, values])
        lengths = np.concatenate([state.line.durations, steps])
        # Only windows that were observed throughout can say what is missing from them.
        whole = weights[pairs.probes] * (pairs.covered[pairs.probes] > 1 - 1e-9)
        missed = missed_detail(content, lengths, pairs.begins, self.recent.dt, pairs.readings, whole)
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
        end = min(begin + BLOCK, len(steps))
        begins = rows_that_begin(state, steps[begin:end], observed[begin:end], self._longest_silence)[1:]
        if begins.any():
            end = begin + 1 + int(begins.argmax())
        # By the time that was observed: a gap makes no stretch longer, and is none.
        clock = state.seen + observed_time(steps[begin:end], observed[begin:end])
        return begin + min(end - begin, int(np.searchsorted(clock, state.validation.boundary)) + 1)

    def next_boundary(self, seen: float) -> float:
        """When the stretch that begins now is over, by the time that was observed."""
        horizon, dt = self._horizon, self.recent.dt
        longest = math.inf if self.forgetting is None else max(self.forgetting, horizon)
        end = seen + max(horizon, min(_GROWTH * seen, longest))
        # Half a step off the samples, so that rounding of the clock decides nothing.
        return (math.floor(end / dt) + 0.5) * dt

    def _with_next_boundary(self, state: ForecasterState) -> ForecasterState:
        return replace(state, validation=replace(state.validation, boundary=self.next_boundary(state.seen)))

    def validate(self, state: ForecasterState) -> ForecasterState:
        """Score what was known a horizon before the stretch on the stretch; then begin the next one."""
        before = state.validation
        errors, weight = before.errors * _FADE, before.weight * _FADE
        for g, (known, stretch) in enumerate(zip(before.learnt_then, before.stretch, strict=True)):
            if not known[0].weight or not stretch[0].weight:
                continue
            weight[g] += stretch[0].weight
            errors[g] += self.solver.errors(known, stretch, state.channels)
        nothing = tuple(tuple(one.faded(0.0) for one in group) for group in before.stretch)
        boundary = self.next_boundary(state.seen)
        return replace(
            state,
            validation=Validation(boundary, nothing, before.learnt_before, state.learnt, errors, weight),
        )

    def until_validated(self, state: ForecasterState) -> float:
        """How much more must be observed before every group was scored on a stretch."""
        validation, dt = state.validation, self.recent.dt
        # Not begun, or too young for a pair of a past and its future: the first pair is still to come.
        missing = self._horizon + self.warmup - np.where(state.begun, state.age, 0.0)
        oldest = {"independent": missing, "shared": [missing.min()], "joint": [missing.max()]}[self.solver.together]
        ends = [state.seen]
        for g in np.flatnonzero(validation.weight == 0):
            first, end = state.seen + max(float(oldest[g]), 0.0), validation.boundary
            then, before = (bool(one[g][0].weight) for one in (validation.learnt_then, validation.learnt_before))
            while not then or first >= end:
                then, before, end = before, first < end, self.next_boundary(end + dt / 2)
            ends.append(end)
        return math.ceil((max(ends) - state.seen) / dt - 1e-9) * dt


def merged(left: Learnt, right: Any) -> Learnt:
    """The statistics of both, group by group and history by history."""
    return tuple(tuple(a.merge(b) for a, b in zip(one, two, strict=True)) for one, two in zip(left, right, strict=True))


def faded(learnt: Learnt, factor: float) -> Learnt:
    """The same statistics with `factor` of their weight."""
    return learnt if factor == 1 else tuple(tuple(one.faded(factor) for one in group) for group in learnt)


def merged_states(state: ForecasterState, other: ForecasterState) -> ForecasterState:
    """`state`, with the statistics of `other` added to its own; the present stays."""
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
