"""A memory in motion: one sample, a block, a whole sequence, a merge; the state goes in and comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten
from hippozoo.discretise import LONGEST_STEP, Method, discretise
from hippozoo.memory.base import Held, Mask, PureMemory, Signal, Steps
from hippozoo.memory.constant_step import ConstantStep
from hippozoo.memory.varying_step import BilinearStep, ExactStep
from hippozoo.systems import HippoSystem

__all__ = ["Memory"]

State = Float[np.ndarray, "order"] | Float[np.ndarray, "channels order"]

# The O(order) bilinear sweep beats matrix products from here on (benchmarks/README.md).
_SWEEP_CHANNELS = 4
_SWEEP_ORDER = 128
# Samples whose states are held at once where only what is read from them is asked for.
_PIECE = 4096


@dataclass(frozen=True)
class Memory(PureMemory):
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
        self._check_fields("LegT(order=64, timescale=100.0)")
        if self.method not in get_args(Method):
            raise ValueError(f"method={shorten(self.method)} is unknown; pass 'zoh' (exact) or 'bilinear'.")

    # -- the modes --------------------------------------------------------------------------------------------------

    def readout(
        self,
        signal: Signal,
        weights: Float[np.ndarray, "order"] | Float[np.ndarray, "order outputs"],
        state: State | None = None,
        dt: Steps | None = None,
        mask: Mask = None,
        held: Held = 0.0,
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
            outputs = self._varying_readout(values, self._in_timescales(steps), before, columns)
        return outputs[..., 0] if matrix.ndim == 1 else outputs

    def reconstruct(self, state: State, lags: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "..."]:
        """What the state remembers of the signal at each lag, in your time unit; lag 0 is the present.

        A fading memory, Leg-S or Lag-T, answers at every lag; ask it within a few timescales, because beyond them its
        weight is nearly nil and the answer says nothing about the signal. See the notes of its system.
        """
        return self.system.reconstruct(state, lags)

    # -- engines ----------------------------------------------------------------------------------------------------

    @cached_property
    def _shape(self) -> tuple[int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (self.system.order,)

    def _step(self, state: np.ndarray, sample: np.ndarray, duration: float | None) -> np.ndarray:
        if duration is None:
            return self._constant.step(state, sample)
        steps = np.array([min(duration / self.system.timescale, LONGEST_STEP)])
        after = self._varying.scan(sample.reshape(1, -1), steps, state.reshape(-1, self.system.order))
        return after.astype(self.dtype, copy=False).reshape(state.shape)

    def _scan(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        channels = values.shape[1] if values.ndim == 2 else 1
        if durations is None:
            sweep = isinstance(self._varying, BilinearStep) and self.system.structure is not None
            if not sweep or (channels < _SWEEP_CHANNELS and self.system.order < _SWEEP_ORDER):
                return self._constant.scan(values, state)
            durations = np.full(len(values), self.dt)
        rows, single = as_channels(values)
        states = self._varying.scan(rows, self._in_timescales(durations), np.atleast_2d(state))
        states = states.astype(self.dtype, copy=False)
        return states[:, 0] if single else states

    def _final(self, values: np.ndarray, state: np.ndarray, durations: np.ndarray | None) -> np.ndarray:
        if durations is None:
            return self._constant.final(values, state)
        rows, single = as_channels(values)
        after = self._varying.final(rows, self._in_timescales(durations), np.atleast_2d(state)).astype(self.dtype)
        return after[0] if single else after

    def _faded(self, states: np.ndarray, duration: float) -> np.ndarray:
        if self.method == "zoh":
            return self._exact.forget(states, float(self._in_timescales(duration)))
        steps = round(duration / self.dt)
        if steps < 1 or not math.isclose(steps * self.dt, duration, rel_tol=1e-9):
            raise ValueError(
                f"elapsed={duration} is not a whole number of steps dt={self.dt}; the bilinear rule only knows "
                f"whole steps: pass a multiple of dt, or use method='zoh'."
            )
        return states @ np.linalg.matrix_power(self._constant.A_d, steps).T

    def _by_definition(self, values: np.ndarray) -> np.ndarray:
        A_d, b_d = self._constant.A_d, self._constant.b_d
        loop = np.empty((*values.shape, self.system.order))
        state = np.zeros(loop.shape[1:])
        for t, sample in enumerate(values):
            state = loop[t] = state @ A_d.T + np.multiply.outer(sample, b_d)
        return loop

    def _further_modes(self, values: np.ndarray, plain: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        # A lag functional at the middle of the memory: it meets all coefficients.
        weights = self.system.basis(self.system.timescale / 2)
        largest = np.abs(weights).max()
        return [(self.readout(values, weights) / largest, plain @ weights / largest)]

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

    def _varying_readout(
        self, values: np.ndarray, steps: np.ndarray, before: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        rows, single = as_channels(values)
        outputs = np.empty((*rows.shape, weights.shape[1]), self.dtype)
        state = np.atleast_2d(before)
        for begin in range(0, len(rows), _PIECE):
            states = self._varying.scan(rows[begin : begin + _PIECE], steps[begin : begin + _PIECE], state)
            outputs[begin : begin + _PIECE] = states @ weights
            state = states[-1]
        return outputs[:, 0] if single else outputs

    def _in_timescales(self, steps: np.ndarray | float) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.divide(steps, self.system.timescale), LONGEST_STEP))


def as_channels(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """The signal as (time, channels), and whether it came as (time,)."""
    return (values[:, None], True) if values.ndim == 1 else (values, False)
