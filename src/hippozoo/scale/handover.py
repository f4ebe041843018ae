"""Learning in separate places: pieces of one series, and many series of a panel at once.

*Pieces.* The present is handed over first: a piece learns from the present in which the piece before it ends, and from
nothing else. Statistics then add up in the order of time, and every stretch is validated where it ends, by what was
known then: the same as learning in one go.

*Panels.* One map for all series needs their statistics only, which add up in any order. It is validated across series:
the map of one half is scored on the other, by its statistics, so that no series is read twice.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.forecasts.forecaster import ForecasterLike
from hippozoo.zoo.forecasting.forecaster import Forecaster
from hippozoo.zoo.forecasting.one_pass import faded, merged
from hippozoo.zoo.forecasting.state import Detail, ForecasterState

# -- pieces of one series -------------------------------------------------------------------------------------------


def nothing_learnt(forecaster: Forecaster, state: ForecasterState) -> ForecasterState:
    """The same present, with nothing learnt and no stretch to validate."""
    empty = forecaster.initial_state(None if state.single else state.channels)
    validation = replace(empty.validation, boundary=math.inf)
    return replace(state, learnt=empty.learnt, validation=validation, detail=empty.detail)


def continued(forecaster: Forecaster, state: ForecasterState, piece: ForecasterState) -> ForecasterState:
    """`state`, and then a `piece` that began at its present with `nothing_learnt`; no stretch may end inside it."""
    kept = 1.0
    if forecaster.forgetting is not None:
        kept = math.exp(-(piece.time - state.time) / forecaster.forgetting)
    stretch = merged(faded(state.validation.stretch, kept), piece.learnt)
    moved = replace(
        piece,
        learnt=merged(faded(state.learnt, kept), piece.learnt),
        validation=replace(state.validation, stretch=stretch),
        detail=state.detail.merge(piece.detail, kept),
    )
    return forecaster.one_pass.validate(moved) if moved.seen >= moved.validation.boundary else moved


def stretch_ends(forecaster: Forecaster, rows: int) -> list[int]:
    """After which of `rows` rows a stretch ends, where none is missing and all steps are equal."""
    ends, boundary, dt = [], forecaster.initial_state().validation.boundary, float(forecaster.dt)
    while boundary <= rows * dt:
        ends.append(math.ceil(boundary / dt))
        boundary = forecaster.one_pass.next_boundary(ends[-1] * dt)
    return ends


def rows_before_handover(forecaster: ForecasterLike[Any]) -> int:
    """The least number of rows before the present can be handed over: they fill the delay line."""
    return math.ceil(forecaster.horizon / forecaster.dt * (1 + 1e-9)) + 1


def present_after(
    forecaster: Forecaster,
    rows: int,
    tail: Float[np.ndarray, "rows channels"],
    recent: Float[np.ndarray, "channels outputs"],
    delayed: tuple[Float[np.ndarray, "channels _"], ...],
    aligned: tuple[Float[np.ndarray, "channels _"], ...],
) -> ForecasterState:
    """The present after so many rows of equal steps without gaps, put together from its parts; nothing is learnt.

    `tail` holds the last `rows_before_handover` rows; `recent`, `delayed` and `aligned` are systems 1, 2 and 3.
    """
    followed = forecaster.follow(forecaster.initial_state(tail.shape[1]), tail)
    time = rows * float(forecaster.dt)
    moved = replace(
        followed,
        time=time,
        seen=time,
        age=np.full(tail.shape[1], time),
        recent=recent,
        delayed=delayed,
        aligned=aligned,
    )
    return nothing_learnt(forecaster, moved)


# -- panels ---------------------------------------------------------------------------------------------------------


def _shared(forecaster: Forecaster) -> Forecaster:
    return forecaster if forecaster.together == "shared" else replace(forecaster, together="shared")


def pooled(
    forecaster: Forecaster,
    values: Float[np.ndarray, "time series"],
    mask: Bool[np.ndarray, "time series"] | None = None,
    dt: Float[np.ndarray, " time"] | float | None = None,
) -> ForecasterState:
    """What series of one length teach one map for all of them; their statistics add up, and no stretch is validated.

    The state is one of a single series, and its present is that of the first.
    """
    many = _shared(forecaster)
    state = many.learn(nothing_learnt(many, many.initial_state(values.shape[1])), values, dt, mask)
    first = forecaster.learn(
        nothing_learnt(forecaster, forecaster.initial_state()),
        values[:, 0],
        dt,
        None if mask is None else mask[:, 0],
    )
    detail = Detail(state.detail.squares.sum(axis=0)[None], state.detail.weight.sum()[None])
    return replace(first, learnt=state.learnt, detail=detail)


def cross_validated(forecaster: Forecaster, one: ForecasterState, other: ForecasterState) -> ForecasterState:
    """Two halves of a panel together, the map of each scored on the other; bands and candidates follow from that."""
    both = forecaster.merge(one, other)
    validation, solver = both.validation, forecaster.solver
    errors, weight = np.zeros_like(validation.errors), np.zeros_like(validation.weight)
    for known, unseen in ((one, other), (other, one)):
        for g, (theirs, here) in enumerate(zip(known.learnt, unseen.learnt, strict=True)):
            if theirs[0].weight and here[0].weight:
                errors[g] += solver.errors(theirs, here, 1)
                weight[g] += here[0].weight
    return replace(both, validation=replace(validation, errors=errors, weight=weight))


def with_learnt(forecaster: Forecaster, learnt: ForecasterState, series: int) -> tuple[Forecaster, ForecasterState]:
    """A forecaster and a state of so many series, about to begin, that know what one state has learnt."""
    many = _shared(forecaster)
    state = many.initial_state(series)
    detail = Detail(np.repeat(learnt.detail.squares, series, axis=0), np.repeat(learnt.detail.weight, series))
    return many, replace(state, learnt=learnt.learnt, validation=learnt.validation, detail=detail)
