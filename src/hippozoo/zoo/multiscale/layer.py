"""The multiscale memory as a torch layer: states in and out, gradients through everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import shorten
from hippozoo.discretise import longest_step, zero_order_hold
from hippozoo.layers import Timing
from hippozoo.layers.arguments import finest_dtype
from hippozoo.layers.lag_functionals import functionals_of_states
from hippozoo.layers.reading import ReadingLayer, Readout
from hippozoo.layers.updates import MATRIX_BUDGET, augmented_generator, updates
from hippozoo.zoo.multiscale._torch_blocks import (
    BankTables,
    all_states,
    bank_tables,
    block_starts,
    functionals,
    move,
    readings,
    readouts,
    state_after,
)
from hippozoo.zoo.multiscale.memory import MultiscaleMemory

__all__ = ["MultiscaleLayer"]

State = Float[Tensor, "batch channels order scales"]
_BLOCK = 32


class MultiscaleLayer(ReadingLayer):
    """Keeps the past of every channel at all timescales; gives states, coefficients at chosen horizons, or a readout.

    The state, (batch, channels, order, scales), goes in and comes out and is never changed in place. A whole sequence,
    the same in chunks with the state handed on, and one `step` after another agree. A `dt` in the call takes a matrix
    exponential per window and sample, far slower than the layer's own; gradients flow to the steps.

    Parameters
    ----------
    memory
        What is remembered; its `dt` is the layer's.
    horizons
        Give the coefficients of these horizons, (batch, time, channels, horizons, order); without them the states of
        all windows, which are large.
    channels, outputs, readout, reads, bias
        As in `hippozoo.memory.MemoryLayer`, of the states of all windows or, with `horizons`, of their coefficients.
    device, dtype
        As in any torch layer; float32 or float64.

    Examples
    --------
    Two horizons of one state feed a network.

    >>> from hippozoo.systems import LegT
    >>> memory = MultiscaleMemory(LegT(order=8, timescale=10.0), longest=1000.0, construction="bank")
    >>> layer = MultiscaleLayer(memory, horizons=(20.0, 500.0))
    >>> y, state = layer(torch.randn(4, 300, 2))
    >>> y.shape, state.shape
    (torch.Size([4, 300, 2, 2, 8]), torch.Size([4, 2, 8, 11]))

    References
    ----------
    Paper, section "Multiscale HiPPO".
    """

    state_axes = "(batch, channels, order, scales)"

    _A_d: Tensor
    _b_d: Tensor
    _powers: Tensor
    _responses: Tensor
    _reading: Tensor

    def __init__(
        self,
        memory: MultiscaleMemory,
        *,
        channels: int | None = None,
        outputs: int | None = None,
        readout: Readout | None = None,
        reads: int = 1,
        bias: bool = True,
        horizons: Sequence[float] | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, device, dtype)
        if not isinstance(memory, MultiscaleMemory):
            raise TypeError(f"memory={shorten(memory)}; pass MultiscaleMemory(LegT(order=16, timescale=10.0), 1e4).")
        self.memory = memory
        self.dt = memory.dt
        self.horizons = None if horizons is None else tuple(memory.plain(one).system.timescale for one in horizons)
        if self.horizons == ():
            raise ValueError("horizons=(): nothing would be read; pass at least one, or None for the states.")
        self._choose_readout(outputs, readout, reads, bias)
        self._generator = augmented_generator(memory.system)
        self._longest = longest_step(memory.system)
        self._make_tables(torch.empty((), **self._place), "_b_d", "_A_d", "_powers", "_responses", "_reading")
        self._make_readout(self._features)

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def _shape(self) -> tuple[int, int]:
        return self.memory.system.order, len(self.memory.windows)

    @property
    def _features(self) -> int:
        """How many numbers of each channel are given, or read out."""
        return self.memory.size if self.horizons is None else len(self.horizons) * self.memory.system.order

    # -- the state in motion ---------------------------------------------------------------------------------

    def _start(self, batch: int, channels: int) -> State:
        return torch.zeros(batch, channels, *self._shape, dtype=self.dtype, device=self.device)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        first = self._begin(x, state)
        if timing.steps is None:
            y, state = self._roll_constant(x, first, timing.lengths)
        else:
            y, state = self._roll_varying(x, first, timing.each(*x.shape[:2]).expand(x.shape[:2]))
        return self._mapped(y), state

    def _roll_constant(self, x: Tensor, first: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        n_steps = x.shape[1]
        block = min(_BLOCK, n_steps)
        tables = BankTables(self._powers[:block], self._responses[:block])
        # The last block is filled with zeros, which come too late to change any output.
        filled = nn.functional.pad(x, (0, 0, 0, -n_steps % block))
        blocks = filled.unflatten(1, (-1, block)).transpose(2, 3)
        starts, _ = block_starts(blocks, first, tables)
        if self.read_by == "full":
            y = readouts(blocks, starts, self._on_windows(self._weight_and_bias()[0]), tables)
        elif self.read_by == "shared":
            y = readings(blocks, starts, self._on_windows(self.functional)[0], tables).squeeze(-1)
        elif self.read_by == "per_channel":
            y = functionals(blocks, starts, self._on_windows(self.functional), tables).flatten(2)
        elif self.horizons is not None:
            y = readings(blocks, starts, self._reading, tables).unflatten(-1, (len(self.horizons), -1))
        else:
            y = all_states(blocks, starts, tables)
        seen = torch.full((len(x),), n_steps, device=x.device) if lengths is None else lengths
        return y[:, :n_steps], state_after(blocks, starts, seen, first, tables)

    def _roll_varying(self, x: Tensor, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        outputs = []
        stretch = max(1, MATRIX_BUDGET // (len(x) * len(self.memory.windows) * len(self._generator) ** 2))
        # Unbound and split, not sliced: every slice would have a gradient as long as the whole sequence.
        arriving = iter(x.unbind(1))
        for now in steps.split(stretch, 1):
            for A_t, b_t in zip(*(rule.unbind(1) for rule in self._updates(now)), strict=True):
                state = take(state, next(arriving), A_t, b_t)
                outputs.append(self._read(state))
        return torch.stack(outputs, 1), state

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        if steps is None:
            state = move(state, self._A_d) + x[..., None, None] * self._b_d.mT
        else:
            state = take(state, x, *self._updates(steps.expand(x.shape[0])))
        return self._mapped(self._read(state)), state

    # -- tables ----------------------------------------------------------------------------------------------

    def _on_windows(self, weight: Tensor) -> Tensor:
        """Weights on what is given of each channel as weights on its windows: (rows, channels, order, scales)."""
        each = weight.reshape(len(weight) if weight.ndim > 1 else 1, -1, self._features)
        return each.unflatten(-1, self._shape) if self.horizons is None else torch.tensordot(each, self._reading, 1)

    def _read(self, state: Tensor) -> Tensor:
        if self.read_by == "full":
            return state.flatten(1) @ self._on_windows(self._weight_and_bias()[0]).flatten(1).mT
        if self._by_lag:
            weight = self._on_windows(self.functional).flatten(2).expand(-1, state.shape[1], -1)
            return functionals_of_states(state.flatten(2), weight).flatten(1)
        if self.horizons is None:
            return state
        found = state.flatten(2) @ self._reading.flatten(1).mT
        return found.unflatten(-1, (len(self.horizons), -1))

    def _updates(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """A_d and b_d of every window for each step; a step of 0 leaves the state as it is."""
        steps = steps.to(self.device, finest_dtype(self.device))
        windows = torch.from_numpy(self.memory.windows.copy()).to(steps)
        return updates(steps[..., None] / windows, self._generator, "zoh", self.dtype, longest=self._longest)

    @property
    def _parameter(self) -> Tensor | None:
        return self._learnt

    def _compute_tables(self, place: Tensor) -> None:
        system, windows = self.memory.system, self.memory.windows
        rules = zero_order_hold(self.memory.layout.plain_system(1.0), self.dt / windows)
        A_d, b_d = (torch.from_numpy(rule) for rule in rules)
        powers, responses = bank_tables(A_d, b_d, _BLOCK)
        self._A_d, self._b_d = A_d.to(place), b_d.to(place)
        self._powers, self._responses = powers.to(place), responses.to(place)
        if self.horizons is not None:
            reading = np.concatenate([self.memory.reading(horizon) for horizon in self.horizons])
            self._reading = torch.from_numpy(reading).reshape(-1, system.order, len(windows)).to(place)


def take(
    state: State,
    sample: Float[Tensor, "batch channels"],
    A_d: Float[Tensor, "batch scales order order"],
    b_d: Float[Tensor, "batch scales order"],
) -> State:
    """One sample, each item by matrices of its own."""
    moved = torch.einsum("bcnm,bmkn->bckm", state, A_d)
    return moved + sample[..., None, None] * b_d.mT[:, None]
