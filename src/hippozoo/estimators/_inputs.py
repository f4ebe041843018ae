"""Samples that wait until their inputs are known as far ahead as the forecast from them reaches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["Waiting", "forecasts_until", "quantile_of", "take_in", "up_to_now"]


class Waiting(NamedTuple):
    """Samples that are not taken in yet, NaN where missing, and which of them are to be learnt."""

    values: Float[np.ndarray, "rows channels"]
    learnt: Bool[np.ndarray, " rows"]

    @classmethod
    def none(cls, channels: int) -> Waiting:
        """Nothing waits."""
        return cls(np.empty((0, channels)), np.empty(0, bool))


def take_in(
    forecaster: Any,
    state: Any,
    waiting: Waiting,
    values: Float[np.ndarray, "rows channels"],
    known: Float[np.ndarray, "rows inputs"],
    *,
    learn: bool = True,
) -> tuple[Any, Waiting]:
    """The state after more samples with their inputs, and what waits then: the last ones, a horizon of them.

    >>> from hippozoo.ensemble import forecaster_for
    >>> forecaster, price = forecaster_for(4, known=1), np.random.default_rng(0).normal(size=(300, 1))
    >>> state, waiting = take_in(forecaster, forecaster.initial_state(1), Waiting.none(1), 3.0 * price, price)
    >>> len(waiting.values), state.time
    (4, 296.0)
    """
    state = forecaster.tell(state, known=known)
    whole = Waiting(
        np.concatenate([waiting.values, values]), np.concatenate([waiting.learnt, np.full(len(values), learn)])
    )
    ready = max(len(whole.values) - forecaster.mixer.horizon, 0)
    return _advance(forecaster, state, whole, ready), Waiting(whole.values[ready:], whole.learnt[ready:])


def up_to_now(forecaster: Any, state: Any, waiting: Waiting, ahead: Float[np.ndarray, "steps inputs"]) -> Any:
    """The state after all that waits, given the inputs of the steps to come; after these, the last ones hold."""
    steps, horizon = len(ahead), forecaster.mixer.horizon
    held = np.full((-steps % horizon + horizon, ahead.shape[1]), np.nan)
    known = np.concatenate([ahead, held])
    return _advance(forecaster, forecaster.tell(state, known=known), waiting, len(waiting.values))


def forecasts_until(forecaster: Any, state: Any, steps: int) -> list[Any]:
    """Forecasts one after the other, each from the forecasts before it, until so many steps are reached."""
    found, reached = [], 0
    while reached < steps:
        found.append(forecaster.forecast(state))
        samples = found[-1].samples()
        reached += samples.shape[-1]
        if reached < steps:
            state = forecaster.follow(state, samples.T)
    return found


def quantile_of(forecasts: Sequence[Any], probability: float) -> Float[np.ndarray, "*channels steps"]:
    """The value that each step stays below with this probability, of forecasts one after the other."""
    pieces, before = [], 0.0
    for forecast in forecasts:
        samples = forecast.samples()
        reach = np.zeros_like(samples)
        if probability != 0.5:
            reach = forecast.quantile(forecast.leads(), probability) - samples
        # What a forecast from forecasts does not know adds to what the one before it did not.
        reach = np.sign(probability - 0.5) * np.sqrt(reach**2 + before**2)
        pieces.append(forecast.bounded(samples + reach))
        before = reach[..., -1:]
    return np.concatenate(pieces, axis=-1)


def _advance(forecaster: Any, state: Any, waiting: Waiting, count: int) -> Any:
    cuts = [0, *(np.flatnonzero(np.diff(waiting.learnt[:count])) + 1).tolist(), count]
    for begin, end in pairwise(cuts):
        if begin == end:
            continue
        values = waiting.values[begin:end, 0] if state.single else waiting.values[begin:end]
        take = forecaster.learn if waiting.learnt[begin] else forecaster.follow
        state = take(state, values, mask=~np.isnan(values))
    return state
