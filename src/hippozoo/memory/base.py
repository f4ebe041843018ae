"""What the memories of NumPy arrays share: the modes, and the door where arguments are checked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import checked_steps
from hippozoo.memory.missing import hold_missing
from hippozoo.systems import HippoSystem

__all__ = ["Held", "Mask", "PureMemory", "Signal", "Steps", "checked_durations", "checked_sample", "checked_signal"]

Signal = Float[np.ndarray, "time"] | Float[np.ndarray, "time channels"]
State = Float[np.ndarray, "*channels_and_coefficients"]
States = Float[np.ndarray, "time *channels_and_coefficients"]
#: How long samples hold: one number, or one per sample.
Steps = Float[np.ndarray, "time"] | float
Mask = Bool[np.ndarray, "..."] | None
#: The last value seen before a signal.
Held = Float[np.ndarray, "channels"] | float

_DTYPES = ("float64", "float32")


class PureMemory(Immutable, ABC):
    """A memory that stores nothing: the state goes in and comes out, and all modes agree to rounding.

    A memory of its own is a frozen dataclass with the fields `system`, `dt` and `dtype`; it says the `_shape` of a
    channel's state, and writes its engine: `_step`, `_scan`, `_final`, `_faded`, and `_by_definition` to `verify` by.
    """

    # Fields of the dataclasses that stand on it.
    system: HippoSystem
    dt: float
    dtype: str

    # -- what a memory writes ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, ...]:
        """The axes of one channel's state."""

    @property
    def _coefficients(self) -> str:
        """What the state of a channel holds, in messages."""
        return f"{self.system.order} coefficients"

    @abstractmethod
    def _step(self, state: np.ndarray, sample: np.ndarray, duration: float | None) -> np.ndarray:
        """The state after one sample, of one stream or of channels; without duration it holds for `dt`."""

    @abstractmethod
    def _scan(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        """The state after every sample."""

    @abstractmethod
    def _final(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        """The state after the last sample."""

    @abstractmethod
    def _faded(self, states: np.ndarray, duration: float) -> np.ndarray:
        """What is left of states after silence; (any number, *shape)."""

    @abstractmethod
    def _by_definition(self, values: np.ndarray) -> np.ndarray:
        """The state after every sample, slowly and plainly, in float64."""

    def _further_modes(self, values: np.ndarray, plain: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What else `verify` compares: what a mode gives, and what it should."""
        return []

    # -- the modes --------------------------------------------------------------------------------------------------

    def initial_state(self, channels: int | None = None) -> State:
        """The memory of nothing: all coefficients zero, with an axis of channels before them where asked for."""
        leading = () if channels is None else (whole_number("channels", channels),)
        return np.zeros((*leading, *self._shape), self.dtype)

    def step(self, state: State, sample: Any, dt: float | None = None) -> State:
        """The state after one more sample, held for `dt` (default: the memory's own)."""
        # What a stream does all day, without the general way's conversions; NaN compares as false.
        usual = isinstance(sample, float) and abs(sample) <= self._largest
        lasting = dt is None or (isinstance(dt, float) and 0 < dt < math.inf)
        if usual and lasting and self._is_ready(state, self._shape):
            duration = None if dt is None or dt == self.dt else float(dt)
            return self._step(state, np.array(sample, self._precision), duration)
        value = checked_sample(sample, self.dtype)
        before = self._checked_state(state, value.shape)
        duration = None if dt is None else positive_number("dt", dt, why="time only runs forwards")
        return self._step(before, value, None if duration == self.dt else duration)

    def scan(
        self, signal: Signal, state: State | None = None, dt: Steps | None = None, mask: Mask = None, held: Held = 0.0
    ) -> States:
        """The state after every sample; `final` is much faster where the last one will do.

        Parameters
        ----------
        signal
            (time,) or (time, channels).
        state
            Where to start; the memory of nothing by default.
        dt
            How long each sample holds: one number, or one per sample.
        mask
            True where there is a sample. In gaps time passes and the last value seen is held.
        held
            The last value seen before the signal, for a gap at its beginning.
        """
        return self._scan(*self._checked(signal, state, dt, mask, held))

    def final(
        self, signal: Signal, state: State | None = None, dt: Steps | None = None, mask: Mask = None, held: Held = 0.0
    ) -> State:
        """The state after the last sample, much faster than `scan`; the arguments are the same."""
        return self._final(*self._checked(signal, state, dt, mask, held))

    @abstractmethod
    def reconstruct(self, state: Any, lags: Any) -> np.ndarray:
        """What the state remembers at each lag."""

    def merge(self, left: State, right: State, elapsed: float) -> State:
        """`left`, then what `right` saw (from a memory of nothing) during its `elapsed` units of time.

        Exact, so that a long signal can be remembered in pieces, in any place and order. Before the coefficients the
        states may have any axes: channels, sequences, both.

        Examples
        --------
        >>> from hippozoo.memory import Memory
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=8, timescale=30.0))
        >>> signal = np.cos(np.arange(100) / 7)
        >>> merged = memory.merge(memory.final(signal[:60]), memory.final(signal[60:]), elapsed=40.0)
        >>> bool(np.allclose(merged, memory.final(signal)))
        True
        """
        leading = np.shape(left)[: -len(self._shape)]
        before = self._checked_state(left, leading, "left")
        after = self._checked_state(right, leading, "right")
        duration = positive_number("elapsed", elapsed, why="the time that `right` has seen")
        faded = self._faded(before.reshape(-1, *self._shape), duration)
        return (faded.reshape(before.shape) + after).astype(self.dtype)

    def verify(self, signal: Signal) -> float:
        """The largest disagreement between all the modes on your own signal, relative to the largest coefficient.

        They are measured against a plain loop over the samples. Expect 1e-14 to 1e-11 in float64, growing with the
        order, and 1e-6 in float32.
        """
        values, stepped, _ = self._checked(signal, None, None, None, 0.0)
        plain = self._by_definition(values)
        for sample in values:
            stepped = self.step(stepped, sample)
        half = (len(values) + 1) // 2
        first, second = values[:half], values[half:]
        steps = np.full(len(values), self.dt)
        found = [
            (self.scan(values), plain),
            (self.final(values), plain[-1]),
            (stepped, plain[-1]),
            (self.scan(values, dt=steps), plain),
            (self.final(values, dt=steps), plain[-1]),
            *self._further_modes(values, plain),
        ]
        if len(second):
            resumed, elapsed = self.final(first), len(second) * self.dt
            found += [
                (self.scan(second, resumed), plain[half:]),
                (self.final(second, resumed), plain[-1]),
                (self.merge(resumed, self.final(second), elapsed), plain[-1]),
            ]
        largest = max(float(np.abs(plain).max()), np.finfo(np.float64).tiny)
        return max(float(np.abs(ours - theirs).max()) for ours, theirs in found) / largest

    # -- the door ---------------------------------------------------------------------------------------------------

    def _check_fields(self, example: str) -> None:
        """System, dt and dtype as a constructor was given them."""
        if not isinstance(self.system, HippoSystem):
            raise TypeError(
                f"system={shorten(self.system)} is not a time-invariant system; pass one of hippozoo.systems, "
                f"for example {example}."
            )
        object.__setattr__(self, "dt", positive_number("dt", self.dt, why="time only runs forwards"))
        try:
            name = np.dtype(self.dtype).name
        except TypeError:
            name = None
        if name not in _DTYPES:
            raise ValueError(f"dtype={shorten(self.dtype)}: a state is kept in 'float64' or 'float32'; pass one.")
        object.__setattr__(self, "dtype", name)

    @cached_property
    def _precision(self) -> np.dtype:
        """`dtype` as NumPy compares it fastest."""
        return np.dtype(self.dtype)

    @cached_property
    def _largest(self) -> float:
        """What the state's precision can hold; no infinity and no NaN is at most that."""
        return float(np.finfo(self.dtype).max)

    def _checked(
        self, signal: Any, state: Any, dt: Any, mask: Any, held: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Signal without gaps, state to start from, and durations (None where they are all `self.dt`)."""
        values = checked_signal(signal, mask, held, self.dtype)
        if state is None:
            before = self.initial_state(values.shape[1] if values.ndim == 2 else None)
        else:
            before = self._checked_state(state, values.shape[1:])
        if dt is None:
            return values, before, None
        durations = checked_durations(dt, len(values))
        if durations.ndim == 0 and durations == self.dt:
            return values, before, None
        return values, before, np.broadcast_to(durations, values.shape[:1])

    def _is_ready(self, state: Any, expected: tuple[int, ...]) -> bool:
        """Whether a state needs neither conversion nor complaint."""
        return (
            type(state) is np.ndarray
            and state.shape == expected
            and state.dtype == self._precision
            and state.flags.c_contiguous
            and 0 not in np.isfinite(state).tobytes()  # a third of the time of `all`
        )

    def _checked_state(self, state: Any, leading: tuple[int, ...], name: str = "state") -> np.ndarray:
        expected = (*leading, *self._shape)
        if self._is_ready(state, expected):
            return state
        array = real_array(name, state, self.dtype)
        if array.shape != expected:
            raise ValueError(
                f"{name} has shape {array.shape}, expected {expected}: {self._coefficients}"
                + (" per channel" if leading else "")
                + "; begin with memory.initial_state(channels) or pass the state this memory returned."
            )
        return np.ascontiguousarray(array)


def checked_signal(signal: Any, mask: Any, held: Any, dtype: str = "float64") -> np.ndarray:
    """A finite signal of one or two axes without gaps."""
    if mask is not None:
        signal = hold_missing(signal, mask, held)
    advice = "For missing samples pass mask= (True where there is a sample), or use Stream."
    values = real_array("signal", signal, dtype, what_to_do=advice)
    if values.ndim not in (1, 2):
        raise ValueError(f"signal has shape {values.shape}; pass (time,) or (time, channels).")
    if values.size == 0:
        raise ValueError(f"signal has shape {values.shape} and holds no sample; pass at least one.")
    return values


def checked_sample(sample: Any, dtype: str = "float64") -> np.ndarray:
    """One finite number, or one per channel."""
    advice = "For a missing sample pass the last value again, which holds until there is another; Stream does so."
    value = real_array("sample", sample, dtype, what_to_do=advice)
    if value.ndim > 1:
        raise ValueError(f"sample has shape {value.shape}; pass one number, or one per channel: (channels,).")
    return value


def checked_durations(dt: Any, n_steps: int) -> np.ndarray:
    """How long samples hold: one number, or one per sample."""
    durations = checked_steps(dt)
    if durations.shape not in ((), (n_steps,)):
        raise ValueError(
            f"dt has shape {durations.shape}, but the signal has {n_steps} samples; pass one number, or one "
            f"per sample: ({n_steps},)."
        )
    return durations
