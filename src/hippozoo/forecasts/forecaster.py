"""What both forecasters share: their arguments, how samples come in, and how states merge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Generic, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import checked_steps
from hippozoo.forecasts.forecast import Forecast
from hippozoo.forecasts.settings import several
from hippozoo.memory import hold_missing
from hippozoo.systems import HippoSystem

__all__ = [
    "ForecasterLike", "OnlineForecaster", "Signal", "StateLike", "check_bound", "check_choice", "checked_signal",
    "row_of",
]  # fmt: skip

Signal = Float[np.ndarray, "time"] | Float[np.ndarray, "time channels"]


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


class OnlineForecaster(Immutable, ABC, Generic[State]):
    """Learns a stream in one pass; pure: the state goes in and comes out.

    >>> from hippozoo.ensemble import forecaster_for
    >>> forecaster, signal = forecaster_for(4), np.cos(np.arange(200) / 3)
    >>> whole = forecaster.learn(forecaster.initial_state(), signal)
    >>> pieces = forecaster.learn(forecaster.learn(forecaster.initial_state(), signal[:77]), signal[77:])
    >>> bool((forecaster.forecast(whole).samples() == forecaster.forecast(pieces).samples()).all())
    True
    >>> later = forecaster.follow(whole, signal[:50])
    >>> later.time, later.pairs == whole.pairs, forecaster.learn_one(whole, None).time
    (250.0, True, 201.0)
    >>> forecaster.merge(whole, later).pairs == 2 * whole.pairs
    True
    """

    # Fields of both, in an order of their own.
    history: HippoSystem | tuple[HippoSystem, ...]
    horizon: float | int
    dt: float | int
    ridge: float | int | tuple[float | int, ...]
    anchor: Any
    together: Any
    forgetting: float | int | None
    lower: float | int | None

    def _check_arguments(self, anchors: Any, together: Any) -> None:
        """Refuse what means nothing, and keep numbers as numbers; `anchors` and `together` are the Literals allowed."""
        numbers = {
            "horizon": positive_number("horizon", self.horizon, why="how far to forecast, in your time unit"),
            "dt": positive_number("dt", self.dt, why="time only runs forwards"),
        }
        if self.forgetting is not None:
            numbers["forgetting"] = positive_number("forgetting", self.forgetting, why="a time, in your time unit")
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        for system in self.histories:
            if not isinstance(system, HippoSystem):
                raise TypeError(
                    f"history={shorten(self.history)}: pass a system of hippozoo.systems, for example "
                    f"LegT(order=64, timescale=100.0), or a tuple of such."
                )
        if not self.histories:
            raise ValueError("history=(): there is no past to forecast from; pass at least one system.")
        check_choice("together", self.together, together)
        if not several(self.anchor) or any(one not in get_args(anchors) for one in several(self.anchor)):
            raise ValueError(f"anchor={shorten(self.anchor)} is unknown; pass one of {get_args(anchors)}, or several.")
        for one in several(self.ridge):
            if isinstance(one, bool) or not isinstance(one, Real) or not 0 <= float(one) < math.inf:
                raise ValueError(f"ridge={shorten(one)}: a ridge holds the map back; pass a finite number >= 0.")
        if not several(self.ridge):
            raise ValueError("ridge=(): pass a number, or a tuple of candidates.")
        check_bound("lower", self.lower, "falls below")

    @property
    def histories(self) -> tuple[HippoSystem, ...]:
        """The systems that remember the past."""
        return several(self.history)

    @abstractmethod
    def _begin(self, channels: int, *, single: bool) -> State: ...

    @abstractmethod
    def _take_in(self, state: State, signal: Any, dt: Any, mask: Any, *, learning: bool) -> State: ...

    @abstractmethod
    def _merge(self, state: State, other: State) -> State: ...

    @abstractmethod
    def _shapes(self, state: State) -> list[tuple[int, ...]]:
        """What two states must share to hold the same statistics."""

    def initial_state(self, channels: int | None = None) -> State:
        """Nothing seen, nothing learnt; for single numbers, or for vectors of `channels`."""
        count = 1 if channels is None else whole_number("channels", channels)
        return self._begin(count, single=channels is None)

    def learn(
        self,
        state: State,
        signal: Signal,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
    ) -> State:
        """The state after these samples too. An empty array, such as a chunk in which nothing came, changes nothing.

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
        """
        return self._take_in(state, signal, dt, mask, learning=True)

    def learn_one(
        self, state: State, value: float | Float[np.ndarray, " channels"] | None, dt: float | None = None
    ) -> State:
        """The state after one more sample: a number, a vector of the channels, or None (NaN in a vector) if missing.

        The same as `learn` of an array of length one.
        """
        row, mask = row_of(state, value)
        return self.learn(state, row, dt, mask)

    def follow(
        self,
        state: State,
        signal: Signal,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
    ) -> State:
        """Take samples in without learning from them: the present moves on, what was learnt stays.

        The arguments are those of `learn`.
        """
        return self._take_in(state, signal, dt, mask, learning=False)

    def merge(self, state: State, other: State) -> State:
        """`state`, with what `other` has learnt from a separate series added to it.

        For pieces of one series hand the state over instead: the pairs across the cut would be missing.
        """
        if self._shapes(state) != self._shapes(other):
            raise ValueError(
                f"states of {state.channels} and {other.channels} channels, or of different forecasters, do not merge; "
                f"learn both with the same forecaster and the same channels."
            )
        return self._merge(state, other)

    def until_validated(self, state: State) -> float:
        """How much more must be observed before the bands of all channels are measured; 0 if they are."""
        return float(self.until_each_validated(state).max())

    @abstractmethod
    def until_each_validated(self, state: State) -> Float[np.ndarray, " channels"]:
        """The same for each channel."""

    @abstractmethod
    def forecast(self, state: State) -> Forecast:
        """What is expected of the horizon that begins now."""

    @abstractmethod
    def silence(self, state: State) -> Float[np.ndarray, " channels"]:
        """How long ago the last sample of each channel ended."""


#: What streams, clusters, estimators and commands ask for: either forecaster.
ForecasterLike = OnlineForecaster


def check_choice(name: str, given: Any, allowed: Any) -> None:
    """One value of a Literal."""
    if given not in get_args(allowed):
        raise ValueError(f"{name}={shorten(given)} is unknown; pass one of {get_args(allowed)}.")


def check_bound(name: str, bound: Any, how: str) -> None:
    """A bound that no value crosses, or None."""
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, Real) or math.isnan(bound)):
        raise ValueError(f"{name}={shorten(bound)}; pass a number that no value {how}, or None.")


def checked_signal(
    state: StateLike, signal: Any, dt: Any, mask: Any, usual: float | int
) -> tuple[Float[np.ndarray, "time channels"], Float[np.ndarray, " time"], Float[np.ndarray, "time channels"]]:
    """Values without gaps, steps (`usual` ones by default), and 1 where a value was observed.

    Where one is missing stands the last one before it.
    """
    given = np.asarray(signal)
    expected = "(time,)" if state.single else f"(time, {state.channels})"
    if given.ndim != (1 if state.single else 2) or (not state.single and given.shape[1] != state.channels):
        raise ValueError(f"signal has shape {given.shape}, but this state was begun for {expected}; pass that shape.")
    observed = np.ones(given.shape)
    if mask is not None:
        held = state.held[0] if state.single else state.held
        held_signal = hold_missing(signal, mask, held)
        observed[...] = mask if np.ndim(mask) == given.ndim else np.asarray(mask)[:, None]
        if isinstance(signal, np.ma.MaskedArray):
            observed[np.ma.getmaskarray(signal)] = 0.0
        signal = held_signal
    values = real_array("signal", signal, what_to_do="For missing samples pass mask=, True where there is a sample.")
    steps = np.full(len(values), usual) if dt is None else checked_steps(dt)
    if steps.shape not in ((), values.shape[:1]):
        raise ValueError(
            f"dt has shape {steps.shape}, but the signal has {len(values)} samples; pass one number, or one each."
        )
    steps = np.ascontiguousarray(np.broadcast_to(steps, values.shape[:1]))
    if state.single:
        return values[:, None], steps, observed[:, None]
    return values, steps, observed


def row_of(state: StateLike, value: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """One sample (None, or NaN in a vector, where it is missing) as a signal of length one, and its mask."""
    given = np.full(state.channels, np.nan) if value is None else np.atleast_1d(np.asarray(value, float))
    row = given[None, 0] if state.single else given[None]
    seen = ~np.isnan(row)
    return (row, None) if seen.all() else (np.where(seen, row, 0.0), seen)
