"""Whole sequences at a constant step: a few large products in place of one small product per sample.

*Blocks.* All outputs of a block are ``[samples, state at its start] @ operator``; what remains is to carry the state
from block to block. *Filters.* A memory forgets: where that is soon enough, a linear readout is a finite filter of the
signal, and the fast Fourier transform applies it at a cost that does not grow with the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy import fft

from hippozoo.memory._kernels import carry

__all__ = ["ConstantStep", "response"]

# Block lengths measured best (benchmarks/README.md): longer blocks do more work per sample, shorter ones carry more.
_SCAN_BLOCK = 24
_CHANNEL_BLOCK = 8
_FINAL_BLOCK = 1024
# From here on a matrix product over the channels is busy enough to take blocks one after the other.
_MANY_CHANNELS = 8
# A response below this, relative to the sample, is lost in the rounding of everything else.
_FORGOTTEN = 2.0**-66
_LONGEST_FILTER = 1 << 14
# Below this order a block is so cheap that a filter does not beat it.
_FILTER_ORDER = 48
_SHORTEST_TRANSFORM = 1 << 14


def response(
    A_d: Float[np.ndarray, "order order"], rows: Float[np.ndarray, "inputs order"], length: int
) -> Float[np.ndarray, "length inputs order"]:
    """Each row v followed through time, ``A_d^j v`` for j = 0 .. length - 1, by doubling.

    Examples
    --------
    >>> A_d, b_d = np.array([[0.5, 0.0], [1.0, 0.5]]), np.array([1.0, 0.0])
    >>> response(A_d, b_d[None], 3)[:, 0].tolist()
    [[1.0, 0.0], [0.5, 1.0], [0.25, 1.0]]
    """
    inputs, order = rows.shape
    followed = rows
    step = A_d
    while len(followed) < length * inputs:
        followed = np.concatenate([followed, followed @ step.T])
        step = step @ step
    return followed[: length * inputs].reshape(length, inputs, order)


@dataclass(frozen=True, eq=False)
class ConstantStep:
    """The update ``state <- A_d state + b_d sample`` applied to sequences, in the precision of `dtype`.

    Tables are built in float64 and cast once.
    """

    A_d: Float[np.ndarray, "order order"]
    b_d: Float[np.ndarray, " order"]
    dtype: np.dtype

    @property
    def order(self) -> int:
        """Number of coefficients."""
        return len(self.b_d)

    @cached_property
    def _A_T(self) -> np.ndarray:
        return np.ascontiguousarray(self.A_d.T, self.dtype)

    @cached_property
    def _b(self) -> np.ndarray:
        return self.b_d.astype(self.dtype)

    def step(self, state: np.ndarray, sample: np.ndarray | float) -> np.ndarray:
        """The state after one more sample; for one stream or for channels."""
        # A product with a number is the same as the outer one, in a third of the time.
        arrived = sample * self._b if np.ndim(sample) == 0 else np.multiply.outer(sample, self._b)
        return state @ self._A_T + arrived

    def scan(self, signal: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after every sample: (time, order), or (time, channels, order)."""
        if signal.ndim == 1:
            return self._blocked(signal, state, self._scan_operator, _SCAN_BLOCK)
        if signal.shape[1] >= _MANY_CHANNELS:
            return self._channels_side_by_side(signal, state)
        states = np.empty((*signal.shape, self.order), self.dtype)
        for channel in range(signal.shape[1]):
            states[:, channel] = self.scan(signal[:, channel], state[channel])
        return states

    def readout(self, signal: np.ndarray, state: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """``scan(signal) @ weights`` without the states: (time, outputs), or (time, channels, outputs)."""
        if signal.ndim == 2:
            columns = [self.readout(signal[:, c], state[c], weights) for c in range(signal.shape[1])]
            return np.stack(columns, axis=1)
        if self._filters_pay(len(signal), weights.shape[1]):
            return self._filtered(signal, state, weights)
        # Work per sample: (block + order) * outputs for the block, order^2 / block for the carry.
        block = int(np.clip(1.5 * self.order / np.sqrt(weights.shape[1]), 32, _FINAL_BLOCK))
        return self._blocked(signal, state, self._operator(weights, block), block)

    def final(self, signal: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after the last sample: every sample meets its response once, O(order) operations each."""
        streams = np.atleast_2d(np.ascontiguousarray(signal.T))
        current = np.atleast_2d(state)
        channels, length = streams.shape
        # A few blocks at least, so that a short signal does not pay for a long table.
        block = min(_FINAL_BLOCK, 1 << (length.bit_length() // 2 + 2))
        arrival = self._arrival(block)
        # The odd samples go first: from a memory of nothing they need no power of their own.
        rest = length % block
        if rest:
            current = current @ self._forget_T(rest) if current.any() else current
            current = current + streams[:, :rest] @ arrival[block - rest :]
        if rest < length:
            arrivals = (streams[:, rest:].reshape(-1, block) @ arrival).reshape(channels, -1, self.order)
            forget = self._block_forget_T(block)
            for i in range(arrivals.shape[1]):
                current = current @ forget + arrivals[:, i]
        return current if signal.ndim == 2 else current[0]

    # -- tables -----------------------------------------------------------------------------------------------------

    def _forget_T(self, steps: int) -> np.ndarray:
        return np.ascontiguousarray(np.linalg.matrix_power(self.A_d, steps).T, self.dtype)

    @cached_property
    def _block_powers(self) -> dict[int, np.ndarray]:
        return {}

    def _block_forget_T(self, block: int) -> np.ndarray:
        """The same, kept: there are only a few block lengths."""
        if block not in self._block_powers:
            self._block_powers[block] = self._forget_T(block)
        return self._block_powers[block]

    @cached_property
    def _responses(self) -> np.ndarray:
        return response(self.A_d, self.b_d[None], _FINAL_BLOCK)[:, 0]

    @cached_property
    def _leap_T(self) -> np.ndarray:
        return np.linalg.matrix_power(self.A_d, _FINAL_BLOCK).T

    def _arrival(self, block: int) -> np.ndarray:
        """How the samples of a block stand in the state at its end: (block, order)."""
        return self._responses[:block][::-1].astype(self.dtype)

    def _operator(self, weights: np.ndarray, length: int) -> np.ndarray:
        """(length samples + order coefficients) to (length * outputs): the whole block as one matrix."""
        outputs = weights.shape[1]
        # later[j] = weights' A_d^j: what the readout finds, j steps later, of each coefficient.
        later = response(self.A_d.T, np.asarray(weights, np.float64).T, length + 1)
        impulse = later[:length] @ self.b_d
        operator = np.zeros((length + self.order, length, outputs), self.dtype)
        for i in range(length):
            operator[i, i:] = impulse[: length - i]
        operator[length:] = later[1:].transpose(2, 0, 1)
        return operator.reshape(length + self.order, length * outputs)

    @cached_property
    def _scan_operator(self) -> np.ndarray:
        return self._operator(np.eye(self.order), _SCAN_BLOCK)

    @cached_property
    def _channel_operator(self) -> np.ndarray:
        return self._operator(np.eye(self.order), _CHANNEL_BLOCK)

    @cached_property
    def reach(self) -> int | None:
        """Samples after which nothing is left of one, a power of 2; None where that is further than filters go."""
        power, steps = self.A_d, 1
        while steps <= _LONGEST_FILTER:
            if np.linalg.norm(power) < _FORGOTTEN:
                return steps
            power, steps = power @ power, 2 * steps
        return None

    # -- blocks -----------------------------------------------------------------------------------------------------

    def _blocked(self, signal: np.ndarray, state: np.ndarray, operator: np.ndarray, length: int) -> np.ndarray:
        blocks = -(-len(signal) // length)
        whole = len(signal) // length
        augmented = np.empty((blocks, length + self.order), self.dtype)
        augmented[:whole, :length] = signal[: whole * length].reshape(whole, length)
        # The last block is filled up with zeros; what they do is cut off again.
        augmented[whole:, :length] = 0
        augmented[whole:, : len(signal) - whole * length] = signal[whole * length :]
        arrivals = augmented[:, :length] @ self._arrival(length)
        carry(arrivals, self._block_forget_T(length), state.astype(self.dtype), augmented[:, length:])
        outputs = (augmented @ operator).reshape(blocks * length, -1)
        return outputs[: len(signal)]

    def _channels_side_by_side(self, signal: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Block after block, the channels as rows of one product: there is nothing to carry."""
        length, channels = signal.shape
        states = np.empty((length, channels, self.order), self.dtype)
        augmented = np.empty((channels, _CHANNEL_BLOCK + self.order), self.dtype)
        whole = length // _CHANNEL_BLOCK * _CHANNEL_BLOCK
        for begin in range(0, whole, _CHANNEL_BLOCK):
            end = begin + _CHANNEL_BLOCK
            augmented[:, :_CHANNEL_BLOCK] = signal[begin:end].T
            augmented[:, _CHANNEL_BLOCK:] = state
            outputs = (augmented @ self._channel_operator).reshape(channels, _CHANNEL_BLOCK, self.order)
            states[begin:end] = outputs.transpose(1, 0, 2)
            state = states[end - 1]
        for t in range(whole, length):
            state = states[t] = self.step(state, signal[t])
        return states

    # -- filters ----------------------------------------------------------------------------------------------------

    def _filters_pay(self, length: int, outputs: int) -> bool:
        """Whether the filter is short and the order high enough; blocks share their work between outputs."""
        return (
            self.order >= max(_FILTER_ORDER, 8 * outputs)
            and self.reach is not None
            and length >= max(_SHORTEST_TRANSFORM, 4 * self.reach)
        )

    def _filtered(self, signal: np.ndarray, state: np.ndarray, weights: np.ndarray) -> np.ndarray:
        # Rounding is relative to the largest sample within reach, not to the output, as in any transform; in float32
        # a large sample would be seen before it comes. In float64 it is not, and takes 15 % longer.
        reach = self.reach
        assert reach is not None  # _filters_pay has asked
        weights = np.asarray(weights, np.float64)
        # The readout some whole blocks later meets the responses within a block: no table as long as the reach.
        later = response(self._leap_T, weights.T, -(-reach // _FINAL_BLOCK))
        taps = (later @ self._responses.T).transpose(1, 0, 2).reshape(weights.shape[1], -1)[:, :reach]
        outputs = np.empty((len(signal), weights.shape[1]), self.dtype)
        size = max(_SHORTEST_TRANSFORM, 4 * reach)
        spectrum = np.asarray(fft.rfft(taps, size))
        for begin, end, part in self._overlapping(signal, reach, size):
            pieces = np.asarray(fft.irfft(np.asarray(fft.rfft(part)) * spectrum, size))
            outputs[begin:end] = pieces[:, reach : reach + end - begin].T
        if state.any():
            later = response(self.A_d.T, weights.T, reach + 1)[1:]
            outputs[:reach] += (later @ state).astype(self.dtype)[: len(signal)]
        return outputs

    def _overlapping(self, signal: np.ndarray, reach: int, size: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """Stretches of the signal in float64, each behind the `reach` samples before it."""
        part = np.zeros(size)
        hop = size - reach
        for begin in range(0, len(signal), hop):
            end = min(begin + hop, len(signal))
            before = signal[max(0, begin - reach) : begin]
            part[reach - len(before) : reach] = before
            part[reach : reach + end - begin] = signal[begin:end]
            part[reach + end - begin :] = 0
            yield begin, end, part
