"""One system at many timescales, side by side: the update rules of all of them as one engine.

The windows do not speak to each other, so a step costs order^2 operations for each of them, and the cost is linear in
their number. The coupled system of the paper is this bank seen in other coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float

from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.memory.varying_step import ExactStep
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale._kernels import carry_bank, scan_bank, scan_bank_exactly, step_bank

__all__ = ["BankStep"]

_LONGEST_BLOCK = 1024
_SHORTEST_BLOCK = 32
# Numbers in the table that turns a block of samples into states: 32 MB in float64.
_TABLE_SIZE = 1 << 22
# Signals of many lengths would otherwise leave a table each behind.
_KEPT_TABLES = 12
# What a sample leaves below this is lost in the rounding of the rest; kept, it would become slow denormals.
_FORGOTTEN = 1e-30


@dataclass(frozen=True, eq=False)
class BankStep(Immutable):
    """The exact hold for one system at every timescale of `windows`; states are (channels, order, scales)."""

    system: HippoSystem
    windows: Float[np.ndarray, " scales"]
    dt: float
    dtype: np.dtype

    def step(self, state: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """The state after one more sample per channel."""
        after = np.empty_like(state)
        step_bank(self._A_d, self._b_d, samples, state, after)
        return after

    def scan(self, signal: np.ndarray, state: np.ndarray, steps: np.ndarray | None) -> np.ndarray:
        """The state after every sample: (time, channels, order, scales); `steps` are in the user's unit."""
        if steps is not None:
            return self._varying(signal, steps, state, keep_all=True)
        states = np.empty((len(signal), *state.shape), self.dtype)
        scan_bank(self._A_d, self._b_d, signal, state, states)
        return states

    def final(self, signal: np.ndarray, state: np.ndarray, steps: np.ndarray | None) -> np.ndarray:
        """The state after the last sample: blocks of samples meet a table of responses in one matrix product."""
        if steps is not None:
            return self._final_varying(signal, steps, state)
        length, channels = signal.shape
        order, scales = state.shape[1:]
        block = self._block_length(length)
        arrival = self._tables("arrival", block)
        streams = np.ascontiguousarray(signal.T)
        current = state.copy()
        whole = length // block
        # Blocks are taken in bunches, so that what they add to the states never fills the memory.
        bunch = max(1, _TABLE_SIZE // (channels * order * scales))
        for begin in range(0, whole, bunch):
            end = min(begin + bunch, whole)
            samples = streams[:, begin * block : end * block].reshape(-1, block)
            arrivals = (samples @ arrival).reshape(channels, end - begin, order, scales).swapaxes(0, 1)
            carry_bank(self._tables("forget", block), np.ascontiguousarray(arrivals), current)
        rest = length - whole * block
        if rest:
            arrivals = (streams[:, whole * block :] @ arrival[block - rest :]).reshape(1, channels, order, scales)
            carry_bank(self._tables("forget", rest), arrivals, current)
        return current

    @cached_property
    def _updates(self) -> tuple[np.ndarray, np.ndarray]:
        """A_d and b_d of every window: (scales, order, order) and (scales, order)."""
        return zero_order_hold(replace(self.system, timescale=1.0), self.dt / self.windows)

    @cached_property
    def _A_d(self) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(self._updates[0], 0, -1), self.dtype)

    @cached_property
    def _b_d(self) -> np.ndarray:
        return np.ascontiguousarray(self._updates[1].T, self.dtype)

    def _block_length(self, length: int) -> int:
        numbers = self.system.order * len(self.windows)
        longest = int(np.clip(1 << (_TABLE_SIZE // numbers).bit_length() - 1, _SHORTEST_BLOCK, _LONGEST_BLOCK))
        # A few blocks at least, so that a short signal does not pay for a long table.
        return min(longest, 1 << (length.bit_length() // 2 + 2))

    @cached_property
    def _tables(self) -> Callable[[str, int], np.ndarray]:
        """Tables by kind and number of steps, made once, and forgotten when others have been asked for since."""
        return lru_cache(_KEPT_TABLES)(self._make_table)

    def _make_table(self, kind: str, steps: int) -> np.ndarray:
        A_d, b_d = self._updates
        if kind == "forget":  # A_d^steps of every window, scales last
            power = np.moveaxis(np.linalg.matrix_power(A_d, steps), 0, -1)
            return np.ascontiguousarray(without_traces(power), self.dtype)
        # How the samples of a block stand in the states at its end: (block, order * scales).
        followed, power = b_d[:, None, :], np.swapaxes(A_d, 1, 2)
        while followed.shape[1] < steps:
            followed = np.concatenate([followed, followed @ power], axis=1)
            power = power @ power
        table = followed[:, :steps][:, ::-1].transpose(1, 2, 0).reshape(steps, -1)
        return without_traces(table).astype(self.dtype)

    @cached_property
    def _exact(self) -> ExactStep:
        return ExactStep(self.system)

    def _final_varying(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray) -> np.ndarray:
        """From a few samples on window by window, free of the order."""
        if len(signal) < 64:
            return self._varying(signal, steps, state, keep_all=False)[0]
        after = np.empty_like(state)
        for m, window in enumerate(self.windows):
            after[..., m] = self._exact.final(signal, steps / window, np.ascontiguousarray(state[..., m]))
        return after

    def forget(self, state: np.ndarray, elapsed: float) -> np.ndarray:
        """What is left of a state after `elapsed` of silence."""
        silence = np.zeros((1, len(state)))
        return self._varying(silence, np.array([elapsed]), state, keep_all=False)[0]

    def _varying(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray, *, keep_all: bool) -> np.ndarray:
        states = np.empty((len(signal) if keep_all else 1, *state.shape))
        signal, steps = (np.ascontiguousarray(values, np.float64) for values in (signal, steps))
        before = np.array(state, np.float64)
        scan_bank_exactly(signal, steps, 1 / self.windows, before, *self._exact.tables, keep_all, states)
        return states.astype(self.dtype, copy=False)


def without_traces(table: np.ndarray) -> np.ndarray:
    """The table with what is as good as nothing set to nothing."""
    return np.where(np.abs(table) < _FORGOTTEN, 0.0, table)
