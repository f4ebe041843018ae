"""What streams, clusters, estimators and commands may ask of any forecaster and of its state."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.forecasts.forecast import Forecast

__all__ = ["ForecasterLike", "StateLike"]


@runtime_checkable
class StateLike(Protocol):
    """What a forecaster carries along; it is never changed, each sample gives a new one."""

    @property
    def single(self) -> bool:
        """Whether samples are single numbers, without a channel axis."""
        ...

    @property
    def time(self) -> float:
        """The present: how much time has passed since the beginning."""
        ...

    @property
    def seen(self) -> float:
        """How much of it was observed, in any channel."""
        ...

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        ...

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from, counted by their weight."""
        ...

    @property
    def begun(self) -> Bool[np.ndarray, " channels"]:
        """Which channels have had their first sample."""
        ...

    @property
    def held(self) -> Float[np.ndarray, " channels"]:
        """The last value seen in each channel."""
        ...


State = TypeVar("State", bound=StateLike)


@runtime_checkable
class ForecasterLike(Protocol[State]):
    """Learns a stream in one pass and forecasts it; pure: the state goes in and comes out."""

    @property
    def horizon(self) -> float | int:
        """How far it forecasts, in the user's time unit."""
        ...

    @property
    def dt(self) -> float | int:
        """Time between samples."""
        ...

    def initial_state(self, channels: int | None = None) -> State:
        """Nothing seen, nothing learnt."""
        ...

    def learn(self, state: State, signal: Any, dt: Any = None, mask: Any = None) -> State:
        """The state after these samples too."""
        ...

    def learn_one(self, state: State, value: Any, dt: float | None = None) -> State:
        """The state after one more sample."""
        ...

    def follow(self, state: State, signal: Any, dt: Any = None, mask: Any = None) -> State:
        """The present moves on, what was learnt stays."""
        ...

    def merge(self, state: State, other: State) -> State:
        """`state`, with what `other` has learnt from a separate series."""
        ...

    def forecast(self, state: State) -> Forecast:
        """What is expected of the horizon that begins now."""
        ...

    def until_validated(self, state: State) -> float:
        """How much more must be observed before the bands of all channels are measured; 0 if they are."""
        ...

    def until_each_validated(self, state: State) -> Float[np.ndarray, " channels"]:
        """The same for each channel."""
        ...

    def silence(self, state: State) -> Float[np.ndarray, " channels"]:
        """How long ago the last sample of each channel ended."""
        ...
