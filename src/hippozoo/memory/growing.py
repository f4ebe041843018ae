"""The Leg-S of the 2020 HiPPO paper: a memory of the whole past whose window grows with the stream."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, overload

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number
from hippozoo._internal.immutable import read_only
from hippozoo.memory.base import Held, Mask, Signal, Steps, checked_durations, checked_sample, checked_signal
from hippozoo.polynomials import Legendre, shifted_legendre, shifted_legendre_integrals

__all__ = ["GrowingHistory", "GrowingMemory", "GrowingState"]

_SCAN_BLOCK = 32  # states computed side by side
_FINAL_BLOCK = 4096  # cells integrated side by side; bounds the memory that a long signal takes


@dataclass(frozen=True, eq=False)
class GrowingState:
    """What a growing memory knows: its coefficients, and how much time they cover.

    The coefficients are (order,) or (channels, order); `elapsed` is the time since the stream began.

    Examples
    --------
    >>> GrowingState(np.array([1.0, 0.0]), elapsed=3.0).elapsed
    3.0
    """

    coefficients: Float[np.ndarray, "*channels order"]
    elapsed: float

    def __post_init__(self) -> None:
        coefficients = real_array("coefficients", self.coefficients)
        if coefficients.ndim not in (1, 2) or not coefficients.size:
            raise ValueError(f"coefficients have shape {coefficients.shape}; pass (order,) or (channels, order).")
        elapsed = real_array("elapsed", self.elapsed)
        if elapsed.ndim or elapsed < 0:
            raise ValueError(f"elapsed={shorten(self.elapsed)} is no duration; pass one number >= 0.")
        if elapsed == 0 and coefficients.any():
            raise ValueError("elapsed=0, but there are coefficients; pass the time that they cover.")
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "elapsed", float(elapsed))


@dataclass(frozen=True, eq=False)
class GrowingHistory:
    """The states after every sample; ``history[t]`` is the :class:`GrowingState` after sample t, slices are histories.

    The coefficients are (time, order) or (time, channels, order); `elapsed` is the time since the stream began.

    Examples
    --------
    >>> history = GrowingMemory(order=4).scan(np.ones(10), dt=0.5)
    >>> len(history), history[-1].elapsed
    (10, 5.0)
    >>> history[2:4].elapsed.tolist()
    [1.5, 2.0]
    """

    coefficients: Float[np.ndarray, "time *channels order"]
    elapsed: Float[np.ndarray, "time"]

    def __len__(self) -> int:
        return len(self.elapsed)

    @overload
    def __getitem__(self, t: int) -> GrowingState: ...
    @overload
    def __getitem__(self, t: slice) -> GrowingHistory: ...
    def __getitem__(self, t: Any) -> GrowingState | GrowingHistory:
        if isinstance(t, slice):
            return GrowingHistory(self.coefficients[t], self.elapsed[t])
        if isinstance(t, bool) or not isinstance(t, (int, np.integer)):
            raise TypeError(f"history[{shorten(t)}]; pass one whole number, or a slice such as history[10:20].")
        return GrowingState(self.coefficients[t], float(self.elapsed[t]))


@dataclass(frozen=True)
class GrowingMemory:
    r"""Remembers the whole past of a stream, every part of it equally well, however long it gets.

    *Weight*: uniform over all that has passed. *Basis*: Legendre polynomials in lag / elapsed. *Present*: lag 0,
    where every basis function is positive. *Window*: the age of the stream. No timescale is needed: a stream
    played twice as slowly gives the same coefficients.

    This is HiPPO-LegS of 2020, :math:`s' = (A s + b f)/t` with the matrices of :class:`hippozoo.systems.LegS`. It is
    time-varying, so the state carries its clock. In the logarithm of time it is the time-invariant Leg-S, and
    here every mode is exact for samples that hold until the next one: while the window grows from :math:`t_0`
    to :math:`t_1`, the old coefficients move by a Gauss quadrature that makes no error, and the new sample adds an
    integral of Legendre polynomials.

    Pure, like :class:`hippozoo.memory.Memory`: states go in and come out.

    Parameters
    ----------
    order
        Number of coefficients kept.

    Examples
    --------
    The first coefficient is the mean of all that was seen.

    >>> memory = GrowingMemory(order=16)
    >>> state = memory.final(np.arange(1000.0))
    >>> float(state.coefficients[0].round(9)), state.elapsed
    (499.5, 1000.0)
    >>> memory.reconstruct(state, np.array([0.5, 500.5, 999.5])).round(1).tolist()  # samples 999, 499 and 0
    [999.0, 499.0, 0.0]

    References
    ----------
    Gu et al. (2020), HiPPO: Recurrent Memory with Optimal Polynomial Projections, theorem 2.
    """

    order: int

    def __post_init__(self) -> None:
        order = whole_number("order", self.order, why="a memory has at least one coefficient")
        object.__setattr__(self, "order", order)

    def initial_state(self, channels: int | None = None) -> GrowingState:
        """The memory of nothing, at time 0."""
        leading = () if channels is None else (whole_number("channels", channels),)
        return GrowingState(np.zeros((*leading, self.order)), 0.0)

    def step(self, state: GrowingState, sample: Any, dt: float = 1.0) -> GrowingState:
        """The state after one more sample, held for `dt`."""
        value = checked_sample(sample)
        duration = positive_number("dt", dt, why="time only runs forwards")
        before = self._checked_state(state, value.shape)
        elapsed = state.elapsed + duration
        fresh = duration / elapsed
        after = _moved(before, fresh, state.elapsed / elapsed)
        return GrowingState(after + value[..., None] * shifted_legendre_integrals(fresh, self.order), elapsed)

    def scan(
        self, signal: Signal, state: GrowingState | None = None, dt: Steps = 1.0, mask: Mask = None, held: Held = 0.0
    ) -> GrowingHistory:
        """The state after every sample; the arguments are those of `Memory.scan`."""
        values, before, clock = self._checked(signal, state, dt, mask, held)
        rows = values.reshape(len(values), -1)
        states = np.empty((*rows.shape, self.order))
        coefficients = np.atleast_2d(before)
        for begin in range(0, len(rows), _SCAN_BLOCK):
            end = min(begin + _SCAN_BLOCK, len(rows))
            states[begin:end] = _side_by_side(coefficients, rows[begin:end], clock[begin : end + 1])
            coefficients = states[end - 1]
        return GrowingHistory(states.reshape(*values.shape, self.order), clock[1:])

    def final(
        self, signal: Signal, state: GrowingState | None = None, dt: Steps = 1.0, mask: Mask = None, held: Held = 0.0
    ) -> GrowingState:
        """The state after the last sample, in O(order) per sample; the arguments are those of `Memory.scan`."""
        values, before, clock = self._checked(signal, state, dt, mask, held)
        rows = values.reshape(len(values), -1)
        start, elapsed = clock[0], clock[-1]
        after = np.zeros((rows.shape[1], self.order))
        if start:
            after += _moved(np.atleast_2d(before), (elapsed - start) / elapsed, start / elapsed)
        for begin in range(0, len(rows), _FINAL_BLOCK):
            end = min(begin + _FINAL_BLOCK, len(rows))
            edges = (elapsed - clock[begin : end + 1]) / elapsed
            after -= rows[begin:end].T @ np.diff(shifted_legendre_integrals(edges, self.order), axis=0)
        return GrowingState(after.reshape(before.shape), float(elapsed))

    def merge(self, left: GrowingState, right: GrowingState) -> GrowingState:
        """`left`, then what `right` saw from a beginning of its own; exact, from both states alone.

        Examples
        --------
        >>> memory = GrowingMemory(order=8)
        >>> signal = np.cos(np.arange(100) / 7)
        >>> merged = memory.merge(memory.final(signal[:60]), memory.final(signal[60:]))
        >>> bool(np.allclose(merged.coefficients, memory.final(signal).coefficients)), merged.elapsed
        (True, 100.0)
        """
        earlier = self._checked_state(left, None, "left")
        later = self._checked_state(right, earlier.shape[:-1], "right")
        elapsed = left.elapsed + right.elapsed
        if not left.elapsed or not right.elapsed:
            return right if not left.elapsed else left
        share = right.elapsed / elapsed
        return GrowingState(_moved(earlier, share, left.elapsed / elapsed) + _moved(later, 0.0, share), elapsed)

    def reconstruct(
        self, state: GrowingState, lag: Float[np.ndarray, "*lags"] | float
    ) -> Float[np.ndarray, "*channels_and_lags"]:
        """What the state remembers of the signal at each lag between 0 (the present) and the age of the stream."""
        coefficients = self._checked_state(state, None)
        lags = real_array("lag", lag)
        if not state.elapsed:
            raise ValueError("the state has seen nothing yet (elapsed=0); take in a sample first.")
        if lags.size and lags.min() < 0:
            raise ValueError(f"lag={lags.min()} is in the future; lag 0 is the present, pass lag >= 0.")
        # A grid like linspace(0, elapsed) may end one rounding beyond the beginning.
        if lags.size and lags.max() > state.elapsed * (1 + 1e-12):
            raise ValueError(f"lag={lags.max()} is before the stream began; pass lags up to {state.elapsed}.")
        basis = shifted_legendre(np.minimum(lags / state.elapsed, 1.0), self.order)
        return np.tensordot(coefficients, basis, axes=([-1], [-1]))

    def verify(self, signal: Signal, dt: Steps = 1.0) -> float:
        """The largest disagreement between all the modes on your own signal, against the largest coefficient."""
        values, _, clock = self._checked(signal, None, dt, None, 0.0)
        durations = np.diff(clock)
        state = self.initial_state(*values.shape[1:])
        stepped = []
        for sample, duration in zip(values, durations, strict=True):
            state = self.step(state, sample, float(duration))
            stepped.append(state.coefficients)
        found = [self.scan(values, dt=durations).coefficients - stepped]
        found.append(self.final(values, dt=durations).coefficients - stepped[-1])
        half = len(values) // 2
        if half:
            first, second = (self.final(values[s], dt=durations[s]) for s in (np.s_[:half], np.s_[half:]))
            found.append(self.merge(first, second).coefficients - stepped[-1])
            found.append(self.final(values[half:], first, durations[half:]).coefficients - stepped[-1])
        largest = max(float(np.abs(stepped).max()), np.finfo(float).tiny)
        return max(float(np.abs(difference).max()) for difference in found) / largest

    def _checked(
        self, signal: Any, state: Any, dt: Any, mask: Any, held: Any
    ) -> tuple[np.ndarray, np.ndarray, Float[np.ndarray, " edges"]]:
        """Signal without gaps, coefficients to start from, and the time at every edge between samples."""
        values = checked_signal(signal, mask, held)
        steps = checked_durations(dt, len(values))
        if state is None:
            state = self.initial_state(*values.shape[1:])
        before = self._checked_state(state, values.shape[1:])
        with np.errstate(over="ignore"):
            clock = np.cumsum(np.append(state.elapsed, np.broadcast_to(steps, values.shape[:1])))
        if not math.isfinite(clock[-1]):
            raise ValueError("dt adds up to more than a float can say; use a larger unit of time.")
        return values, before, clock

    def _checked_state(self, state: Any, leading: tuple[int, ...] | None, name: str = "state") -> np.ndarray:
        if not isinstance(state, GrowingState):
            raise TypeError(
                f"{name}={shorten(state)} is no GrowingState; begin with memory.initial_state(channels), or build "
                f"GrowingState(coefficients, elapsed): a growing memory needs to know its age."
            )
        shape = state.coefficients.shape
        expected = (*(shape[:-1] if leading is None else leading), self.order)
        if shape != expected:
            raise ValueError(
                f"{name} has coefficients of shape {shape}, expected {expected}; begin with "
                f"memory.initial_state(channels) or pass a state that this memory returned."
            )
        return state.coefficients


@lru_cache(maxsize=32)
def _sampling(order: int) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, "order nodes"]]:
    """Gauss nodes, and the matrix from coefficients to weighted values there."""
    family = Legendre(order, positive_at="left")
    nodes, weights = family.gauss_rule()
    return read_only(nodes), read_only(family.values(nodes).T * weights)


def _moved(coefficients: Float[np.ndarray, "*channels order"], start: float, share: float) -> np.ndarray:
    """The projection on [0, 1] of a past that now fills [start, start + share] of it and nothing else."""
    order = coefficients.shape[-1]
    nodes, sampling = _sampling(order)
    return share * (coefficients @ sampling @ shifted_legendre(start + share * nodes, order))


def _side_by_side(
    coefficients: Float[np.ndarray, "channels order"],
    rows: Float[np.ndarray, "time channels"],
    clock: Float[np.ndarray, " edges"],
) -> Float[np.ndarray, "time channels order"]:
    """The states after each of a few samples, all computed from the one state before them."""
    order = coefficients.shape[-1]
    now = clock[1:, None]
    # Edges that a state has not reached yet stand at lag 0, where integrals vanish: the future is invisible.
    edges = np.maximum(now - clock, 0.0) / now
    integrals = np.moveaxis(shifted_legendre_integrals(edges, order), -1, 0)
    states = (integrals[..., :-1] - integrals[..., 1:]) @ rows
    if clock[0]:
        nodes, sampling = _sampling(order)
        kept = clock[0] / now
        shrunk = np.moveaxis(shifted_legendre(edges[:, :1] + kept * nodes, order), -1, 0)
        states += kept * (shrunk @ (coefficients @ sampling).T)
    return np.moveaxis(states, 0, -1)
