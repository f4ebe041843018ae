"""A memory in motion: one sample, a block, a whole sequence, a merge; the state goes in and comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from jaxtyping import Bool, Float

from hippozoo._arguments import positive_number, real_array, shorten, whole_number
from hippozoo._immutable import Immutable
from hippozoo.discretise import LONGEST_STEP, Method, checked_steps, discretise
from hippozoo.memory.constant_step import ConstantStep
from hippozoo.memory.missing import hold_missing
from hippozoo.memory.varying_step import BilinearStep, ExactStep
from hippozoo.systems import HippoSystem

__all__ = ["Memory"]

Signal = Float[np.ndarray, "time"] | Float[np.ndarray, "time channels"]
State = Float[np.ndarray, "order"] | Float[np.ndarray, "channels order"]
States = Float[np.ndarray, "time order"] | Float[np.ndarray, "time channels order"]

_DTYPES = ("float64", "float32")
# The O(order) bilinear sweep beats matrix products from here on (benchmarks/README.md).
_SWEEP_CHANNELS = 4
_SWEEP_ORDER = 128
# Samples whose states are held at once where only what is read from them is asked for.
_PIECE = 4096


@dataclass(frozen=True)
class Memory(Immutable):
    """Remembers a stream through a system; pure: nothing is stored here, the state is yours.

    After sample t the state's present is t + 1 (in units of `dt`): sample t - j fills the cell of lags
    [j, j + 1) * dt. A signal is (time,) or (time, channels); its states are (time, order) or
    (time, channels, order). All modes (`step`, `scan`, `final`, `readout`, `merge`) agree to rounding;
    `verify` measures it on your own data.

    Parameters
    ----------
    system
        What is remembered, and how.
    dt
        Time between two samples, in the unit of the system's timescale.
    method
        ``"zoh"``: exact for samples that hold until the next one. ``"bilinear"``: approximate, and O(order) per
        sample for many channels or high orders.
    dtype
        Precision of the state, ``"float64"`` or ``"float32"``. Matrices are built in float64 in any case.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = Memory(LegT(order=32, timescale=100.0), dt=1.0)
    >>> signal = np.sin(np.arange(500) / 20)
    >>> state = memory.final(signal)
    >>> lags = np.array([10.5, 50.5, 90.5])  # centres of the cells of the samples 10, 50 and 90 steps back
    >>> bool(np.abs(memory.reconstruct(state, lags) - signal[[-11, -51, -91]]).max() < 0.02)
    True
    """

    system: HippoSystem
    dt: float = 1.0
    method: Method = "zoh"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if not isinstance(self.system, HippoSystem):
            raise TypeError(
                f"system={shorten(self.system)} is not a time-invariant system; pass one of hippozoo.systems, "
                f"for example LegT(order=64, timescale=100.0)."
            )
        object.__setattr__(self, "dt", positive_number("dt", self.dt, why="time only runs forwards"))
        if self.method not in get_args(Method):
            raise ValueError(f"method={shorten(self.method)} is unknown; pass 'zoh' (exact) or 'bilinear'.")
        try:
            name = np.dtype(self.dtype).name
        except TypeError:
            name = None
        if name not in _DTYPES:
            raise ValueError(f"dtype={shorten(self.dtype)}: a state is kept in 'float64' or 'float32'; pass one.")
        object.__setattr__(self, "dtype", name)

    # -- the modes --------------------------------------------------------------------------------------------------

    def initial_state(self, channels: int | None = None) -> State:
        """The memory of nothing: all coefficients zero, (order,) or (channels, order).

        Examples
        --------
        >>> from hippozoo.systems import LegS
        >>> Memory(LegS(order=4)).initial_state(channels=2).shape
        (2, 4)
        """
        if channels is None:
            return np.zeros(self.system.order, self.dtype)
        return np.zeros((whole_number("channels", channels), self.system.order), self.dtype)

    def step(self, state: State, sample: Any, dt: float | None = None) -> State:
        """The state after one more sample, held for `dt` (default: the memory's own).

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=3, timescale=2.0))
        >>> state = memory.initial_state()
        >>> for sample in (1.0, 1.0, 1.0, 1.0):
        ...     state = memory.step(state, sample)
        >>> bool(np.allclose(memory.step(state, 1.0, dt=0.3), [1, 0, 0], atol=0.01))
        True
        """
        value = real_array("sample", sample, self.dtype, what_to_do=_MISSING_STEP)
        if value.ndim > 1:
            raise ValueError(f"sample has shape {value.shape}; pass one number, or one per channel: (channels,).")
        before = self._checked_state(state, value.shape)
        if dt is None:
            return self._constant.step(before, value)
        step = positive_number("dt", dt, why="time only runs forwards")
        if step == self.dt:
            return self._constant.step(before, value)
        rows, _ = as_channels(value[None])
        after = self._varying.scan(rows, self._in_timescales(np.array([step])), np.atleast_2d(before))[0]
        return after.astype(self.dtype).reshape(before.shape)

    def scan(
        self,
        signal: Signal,
        state: State | None = None,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
        held: Float[np.ndarray, "channels"] | float = 0.0,
    ) -> States:
        """The state after every sample.

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

        Examples
        --------
        >>> from hippozoo.systems import LegS
        >>> memory = Memory(LegS(order=4, timescale=10.0))
        >>> memory.scan(np.ones((50, 3))).shape
        (50, 3, 4)
        """
        values, before, steps = self._checked(signal, state, dt, mask, held)
        if steps is None:
            return self._constant_scan(values, before)
        rows, single = as_channels(values)
        states = self._varying.scan(rows, steps, np.atleast_2d(before)).astype(self.dtype, copy=False)
        return states[:, 0] if single else states

    def final(
        self,
        signal: Signal,
        state: State | None = None,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
        held: Float[np.ndarray, "channels"] | float = 0.0,
    ) -> State:
        """The state after the last sample, much faster than `scan`; the arguments are the same.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=8, timescale=30.0))
        >>> signal = np.cos(np.arange(100) / 7)
        >>> bool(np.allclose(memory.final(signal), memory.scan(signal)[-1]))
        True
        """
        values, before, steps = self._checked(signal, state, dt, mask, held)
        if steps is None:
            return self._constant.final(values, before)
        rows, single = as_channels(values)
        after = self._varying.final(rows, steps, np.atleast_2d(before)).astype(self.dtype)
        return after[0] if single else after

    def readout(
        self,
        signal: Signal,
        weights: Float[np.ndarray, "order"] | Float[np.ndarray, "order outputs"],
        state: State | None = None,
        dt: Float[np.ndarray, "time"] | float | None = None,
        mask: Bool[np.ndarray, "..."] | None = None,
        held: Float[np.ndarray, "channels"] | float = 0.0,
    ) -> Float[np.ndarray, "time *channels_and_outputs"]:
        """``scan(signal) @ weights`` without holding the states: linear readouts of a long signal.

        At high orders a long signal goes through Fourier transforms. Rounding, 1e-16 in either dtype, is then relative
        to the largest sample that stands within reach of an output, before or after it.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=16, timescale=40.0))
        >>> ago_20 = memory.system.basis(20.0)  # reads the value 20 units ago
        >>> signal = np.sin(np.arange(300) / 15)
        >>> memory.readout(signal, ago_20).shape
        (300,)
        """
        values, before, steps = self._checked(signal, state, dt, mask, held)
        matrix = real_array("weights", weights)
        if matrix.ndim not in (1, 2) or matrix.shape[0] != self.system.order:
            raise ValueError(
                f"weights has shape {matrix.shape}, but the state has {self.system.order} coefficients; "
                f"pass ({self.system.order},) or ({self.system.order}, outputs)."
            )
        columns = matrix.reshape(self.system.order, -1)
        if steps is None:
            outputs = self._constant.readout(values, before, columns)
        else:
            outputs = self._varying_readout(values, steps, before, columns)
        return outputs[..., 0] if matrix.ndim == 1 else outputs

    def merge(
        self,
        left: Float[np.ndarray, "*leading order"],
        right: Float[np.ndarray, "*leading order"],
        elapsed: float,
    ) -> Float[np.ndarray, "*leading order"]:
        """`left`, then what `right` saw (from a memory of nothing) during its `elapsed` units of time.

        Exact, so that a long signal can be remembered in pieces, in any place and order. Before the coefficients the
        states may have any axes: channels, sequences, both.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=8, timescale=30.0))
        >>> signal = np.cos(np.arange(100) / 7)
        >>> merged = memory.merge(memory.final(signal[:60]), memory.final(signal[60:]), elapsed=40.0)
        >>> bool(np.allclose(merged, memory.final(signal)))
        True
        """
        shape = np.shape(left)[:-1]
        before = self._checked_state(left, shape, "left")
        after = self._checked_state(right, shape, "right")
        duration = positive_number("elapsed", elapsed, why="the time that `right` has seen")
        if self.method == "zoh":
            faded = self._exact.forget(before.reshape(-1, self.system.order), float(self._in_timescales(duration)))
        else:
            steps = round(duration / self.dt)
            if steps < 1 or not math.isclose(steps * self.dt, duration, rel_tol=1e-9):
                raise ValueError(
                    f"elapsed={elapsed} is not a whole number of steps dt={self.dt}; the bilinear rule only knows "
                    f"whole steps: pass a multiple of dt, or use method='zoh'."
                )
            faded = before @ np.linalg.matrix_power(self._constant.A_d, steps).T
        return (faded.reshape(before.shape) + after).astype(self.dtype)

    def reconstruct(self, state: State, lags: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "..."]:
        """What the state remembers of the signal at each lag, in your time unit; lag 0 is the present.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=8, timescale=30.0))
        >>> state = memory.final(np.full(90, 2.5))
        >>> memory.reconstruct(state, np.array([0.0, 15.0, 30.0])).round(3).tolist()
        [2.5, 2.5, 2.5]
        """
        return self.system.reconstruct(state, lags)

    def verify(self, signal: Signal) -> float:
        """The largest disagreement between all the modes on your own signal, relative to the largest coefficient.

        The plain loop ``state = A_d @ state + b_d * sample`` is what the others are measured against. Expect 1e-14 to
        1e-11 in float64, growing with the order, and 1e-6 in float32.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> memory = Memory(LegT(order=16, timescale=30.0))
        >>> bool(memory.verify(np.random.default_rng(0).normal(size=200)) < 1e-12)
        True
        """
        values, start, _ = self._checked(signal, None, None, None, 0.0)
        A_d, b_d = self._constant.A_d, self._constant.b_d
        loop = np.empty((*values.shape, self.system.order))
        state = start.astype(np.float64)
        for t, sample in enumerate(values):
            state = loop[t] = state @ A_d.T + np.multiply.outer(sample, b_d)
        stepped = start
        for sample in values:
            stepped = self.step(stepped, sample)
        half = (len(values) + 1) // 2
        first, second = values[:half], values[half:]
        steps = np.full(len(values), self.dt)
        # A lag functional at the middle of the memory: it meets all coefficients.
        weights = self.system.basis(self.system.timescale / 2)
        found = [
            (self.scan(values), loop),
            (self.final(values), loop[-1]),
            (stepped, loop[-1]),
            (self.scan(values, dt=steps), loop),
            (self.final(values, dt=steps), loop[-1]),
            (self.readout(values, weights) / np.abs(weights).max(), loop @ weights / np.abs(weights).max()),
        ]
        if len(second):
            resumed = self.final(first)
            elapsed = len(second) * self.dt
            found += [
                (self.scan(second, resumed), loop[half:]),
                (self.final(second, resumed), loop[-1]),
                (self.merge(resumed, self.final(second), elapsed), loop[-1]),
            ]
        largest = max(float(np.abs(loop).max()), np.finfo(np.float64).tiny)
        return max(float(np.abs(ours - plain).max()) for ours, plain in found) / largest

    # -- engines ----------------------------------------------------------------------------------------------------

    @cached_property
    def _constant(self) -> ConstantStep:
        A_d, b_d = discretise(self.system, self.dt, self.method)
        return ConstantStep(A_d, b_d, np.dtype(self.dtype))

    @cached_property
    def _exact(self) -> ExactStep:
        return ExactStep(self.system)

    @cached_property
    def _varying(self) -> ExactStep | BilinearStep:
        return self._exact if self.method == "zoh" else BilinearStep(self.system)

    def _constant_scan(self, values: np.ndarray, before: np.ndarray) -> np.ndarray:
        channels = values.shape[1] if values.ndim == 2 else 1
        sweep = isinstance(self._varying, BilinearStep) and self.system.structure is not None
        if sweep and (channels >= _SWEEP_CHANNELS or self.system.order >= _SWEEP_ORDER):
            rows, single = as_channels(values)
            steps = np.full(len(values), self._in_timescales(self.dt))
            states = self._varying.scan(rows, steps, np.atleast_2d(before)).astype(self.dtype, copy=False)
            return states[:, 0] if single else states
        return self._constant.scan(values, before)

    def _varying_readout(
        self,
        values: np.ndarray,
        steps: np.ndarray,
        before: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        rows, single = as_channels(values)
        outputs = np.empty((*rows.shape, weights.shape[1]), self.dtype)
        state = np.atleast_2d(before)
        for begin in range(0, len(rows), _PIECE):
            states = self._varying.scan(rows[begin : begin + _PIECE], steps[begin : begin + _PIECE], state)
            outputs[begin : begin + _PIECE] = states @ weights
            state = states[-1]
        return outputs[:, 0] if single else outputs

    # -- the door ---------------------------------------------------------------------------------------------------

    def _checked(
        self, signal: Any, state: Any, dt: Any, mask: Any, held: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Signal without gaps, state to start from, and steps in timescales (None where they are all `self.dt`)."""
        if mask is not None:
            signal = hold_missing(signal, mask, held)
        values = real_array("signal", signal, self.dtype, what_to_do=_MISSING_ADVICE)
        if values.ndim not in (1, 2):
            raise ValueError(f"signal has shape {values.shape}; pass (time,) or (time, channels).")
        if values.size == 0:
            raise ValueError(f"signal has shape {values.shape} and holds no sample; pass at least one.")
        if state is None:
            before = self.initial_state(values.shape[1] if values.ndim == 2 else None)
        else:
            before = self._checked_state(state, values.shape[1:])
        if dt is None:
            return values, before, None
        steps = checked_steps(dt)
        if steps.shape not in ((), values.shape[:1]):
            raise ValueError(
                f"dt has shape {steps.shape}, but the signal has {len(values)} samples; pass one number, or one "
                f"per sample: ({len(values)},)."
            )
        if steps.ndim == 0 and steps == self.dt:
            return values, before, None
        return values, before, np.broadcast_to(self._in_timescales(steps), values.shape[:1])

    def _in_timescales(self, steps: np.ndarray | float) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.divide(steps, self.system.timescale), LONGEST_STEP))

    def _checked_state(self, state: Any, leading: tuple[int, ...], name: str = "state") -> np.ndarray:
        array = real_array(name, state, self.dtype)
        expected = (*leading, self.system.order)
        if array.shape != expected:
            raise ValueError(
                f"{name} has shape {array.shape}, expected {expected}: {self.system.order} coefficients"
                + (" per channel" if leading else "")
                + "; begin with memory.initial_state(channels) or pass the state this memory returned."
            )
        return array


_MISSING_ADVICE = "For missing samples pass mask= (True where there is a sample), or use Stream."
_MISSING_STEP = "For a missing sample pass the last value again, which holds until there is another; Stream does so."


def as_channels(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """The signal as (time, channels), and whether it came as (time,)."""
    return (values[:, None], True) if values.ndim == 1 else (values, False)
