"""The memory as a torch layer: states in and out, gradients through everything, real arithmetic only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.discretise import Method, discretise, longest_step
from hippozoo.layers import State, Steps, Timing
from hippozoo.layers.arguments import above_zero, finest_dtype, steps_of_time
from hippozoo.layers.blocks import BlockTables, all_states, block_tables, fixed_tables, levels_needed, readouts
from hippozoo.layers.configured import EXTRA_STATE
from hippozoo.layers.lag_functionals import functionals_of_states, lag_functionals, shared_functional
from hippozoo.layers.reading import ReadingLayer, Readout
from hippozoo.layers.uneven import rolling
from hippozoo.layers.updates import augmented_generator, one_where_all_are_equal, roll_varying, updates
from hippozoo.systems import HippoSystem

__all__ = ["MemoryLayer"]


class MemoryLayer(ReadingLayer):
    """Keeps the past of every channel as coefficients; gives the states, or a learnt linear readout of them.

    The state is explicit: it goes in and comes out, is never changed in place, and ``state.detach()`` cuts the
    gradient. A whole sequence, the same in chunks with the state handed on, and one `step` after another agree.

    Every `dt` is taken exactly, and gradients flow to it. One per sample takes one to two and a half times as long as
    equal steps (`python -m benchmarks uneven`); with gradients to the steps, and beyond order 32, more.

    With a fixed timescale the layer works under ``torch.compile``, ``torch.export`` and ONNX (see `exportable`).

    Parameters
    ----------
    system
        Which past is remembered, and how: for example ``LegT(order=64, timescale=100.0)``.
    dt
        Time from one sample to the next, where a call does not say otherwise.
    outputs
        Number of values of a learnt linear readout; without it the output is the states.
    channels
        Number of channels; needed for a readout, checked where given.
    trainable_timescale
        Learn ``log_timescale``, starting from the system's; the update rule is then computed in every call.
    method
        ``"zoh"``, exact for a signal that holds its value between samples, or ``"bilinear"``.
    bias
        Whether the readout adds a learnt constant.
    readout
        What is read: ``"states"``; ``"full"``, all coefficients of all channels by one linear map to `outputs` values;
        ``"shared"``, one learnt lag functional, ``functional`` of shape (order,), of every channel; or
        ``"per_channel"``, functionals of each channel's own, (reads, channels, order). The last two give (batch, time,
        reads * channels), or with `outputs` a linear map of it, and stay small where `order` is high. By default
        ``"full"`` with `outputs`, ``"states"`` without.
    reads
        Functionals per channel, for ``"per_channel"``.
    device, dtype
        As in any torch layer; float32 or float64. Matrices are computed in float64 and cast once, again after
        ``layer.double()``. Under ``torch.autocast`` the layer keeps to its own dtype.

    Examples
    --------
    A memory remembers what it was shown: 10 samples ago the signal was at 89.

    >>> from hippozoo.systems import LegT
    >>> layer = MemoryLayer(LegT(order=16, timescale=50.0))
    >>> ramp = torch.arange(100.0)[None, :, None]  # one item, 100 samples, one channel
    >>> states, state = layer(ramp)
    >>> states.shape, state.shape
    (torch.Size([1, 100, 1, 16]), torch.Size([1, 1, 16]))
    >>> layer.system.reconstruct(state[0, 0].numpy(), 10.5).round(1).item()
    89.0

    References
    ----------
    Paper, section 2. Gu et al. (2020), HiPPO; Voelker et al. (2019), LMU.
    """

    state_axes = "(batch, channels, order)"

    A_d: Tensor
    b_d: Tensor
    _within: Tensor
    _carries: Tensor

    def __init__(
        self,
        system: HippoSystem,
        *,
        channels: int | None = None,
        outputs: int | None = None,
        readout: Readout | None = None,
        reads: int = 1,
        bias: bool = True,
        trainable_timescale: bool = False,
        dt: float = 1.0,
        method: Method = "zoh",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, device, dtype)
        if not isinstance(system, HippoSystem):
            raise TypeError(f"system={shorten(system)}; pass a system such as LegT(order=64, timescale=100.0).")
        self.system = system
        self.dt = positive_number("dt", dt, why="it is the time from sample to sample")
        self._choose_readout(outputs, readout, reads, bias)
        self.trainable_timescale = bool(trainable_timescale)
        self.method: Method = method
        # Tables grow with the square of the order, and high orders are busy with short blocks.
        self.block = 32 if system.order <= 128 else 16
        self._generator = augmented_generator(system)
        place = torch.empty((), **self._place)
        self._longest = longest_step(system, method)
        if self.trainable_timescale:
            discretise(system, self.dt, method)  # what it refuses is refused now, not in the first call
            self.log_timescale = nn.Parameter(torch.full_like(place, math.log(system.timescale)))
        else:
            self._make_tables(place, "b_d", "A_d", "_within", "_carries")
        self._make_readout(system.order)

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def timescale(self) -> float:
        """The timescale now: the system's, or what has been learnt."""
        return math.exp(self.log_timescale.item()) if self.trainable_timescale else self.system.timescale

    def update_rule(self, dt: Steps | None = None) -> tuple[Tensor, Tensor]:
        """A_d and b_d as they are now, for the layer's own step or for others; a tensor of steps gives a stack."""
        if dt is None and not self.trainable_timescale:
            self.refresh_tables()
            return self.A_d, self.b_d
        shape = tuple(dt.shape) if isinstance(dt, Tensor) else ()
        steps = steps_of_time("dt", self.dt if dt is None else dt, {"(steps)": shape})
        above_zero("dt", steps)
        return self._updates(steps)

    @torch.no_grad()
    def kernels(self, n_lags: int) -> Float[Tensor, "reads channels lags"]:
        """What a sample of 1 adds to each read of its channel, the more samples ago the further along.

        The reads are the outputs of a full readout, or the lag functionals before their linear map.
        """
        n_lags, channels = whole_number("n_lags", n_lags), self.channels or 1
        if self.read_by == "states":
            raise ValueError("this layer gives its states and reads nothing; pass outputs=, or readout='per_channel'.")
        if self.read_by == "full":
            weight = self._weight_and_bias()[0].view(-1, channels, self.system.order)
        else:
            weight = self.functional.expand(self.reads, channels, -1)
        A_d, b_d = (part.to(finest_dtype(part.device)) for part in self.update_rule())
        within = block_tables(A_d, b_d, n_lags, 1).within[self.system.order]
        return weight @ within.to(weight).mT

    def reconstruct(
        self, state: Float[Tensor, "*batch order"], lags: Float[np.ndarray, " lags"] | Sequence[float]
    ) -> Float[Tensor, "*batch lags"]:
        """What a state remembers of the signal at these lags; gradients flow to the state."""
        if not isinstance(state, Tensor) or state.ndim == 0 or state.shape[-1] != self.system.order:
            given = tuple(state.shape) if isinstance(state, Tensor) else type(state).__name__
            raise ValueError(f"state is {given}; pass a tensor with {self.system.order} coefficients on its last axis.")
        system = replace(self.system, timescale=self.timescale)
        return state @ torch.from_numpy(system.basis(np.asarray(lags, float))).to(state).mT

    def frozen(self) -> MemoryLayer:
        """A copy whose timescale is fixed at what has been learnt: it is faster, compiles and exports."""
        changes = {"system": replace(self.system, timescale=self.timescale), "trainable_timescale": False}
        copy = MemoryLayer(**self.configuration() | changes, device=self.device, dtype=self.dtype)
        # Without what says that these weights are of a learnt timescale.
        others = "log_timescale", EXTRA_STATE
        copy.load_state_dict({name: value for name, value in self.state_dict().items() if name not in others})
        return copy.train(self.training)

    def _meaning(self) -> dict[str, str]:
        found = super()._meaning()
        if self.trainable_timescale:  # which the weights hold
            found["system"] = repr(replace(self.system, timescale=1.0))
        return found

    # -- the state in motion ---------------------------------------------------------------------------------

    def _start(self, batch: int, channels: int) -> State:
        return torch.zeros(batch, channels, self.system.order, dtype=self.dtype, device=self.device)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        batch, n_steps, _ = x.shape
        steps = None if timing.steps is None else one_where_all_are_equal(timing.steps)
        if steps is None or steps.ndim == 0:
            y, state = self._roll_constant(x, state, steps, timing.lengths)
        else:
            y, state = self._roll_uneven(x, self._begin(x, state), timing.each(batch, n_steps))
        return self._mapped(y), state

    def _roll_uneven(self, x: Tensor, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        fast = None
        if self.method == "zoh":
            weight = self.functional if self._by_lag else None
            if self.read_by == "full":
                weight = self._weight_and_bias()[0].view(-1, x.shape[-1], self.system.order)
            readout = rolling.Readout(self.read_by, weight)
            fast = rolling.roll_uneven(self.system, self._generator, x, state, self._scaled(steps), readout)
        if fast is None:
            return roll_varying(x, state, steps, self._updates, self._read)
        y, state = fast
        return y.flatten(2) if self.read_by == "per_channel" else y, state

    def _roll_constant(
        self, x: Tensor, state: Tensor | None, dt: Tensor | None, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        batch, n_steps, channels = x.shape
        tables = self.tables(n_steps, dt)
        if self.read_by == "states":
            return all_states(x, state, tables, self.block, lengths)
        if self.read_by == "shared":
            return shared_functional(x, state, self.functional, tables, self.block, lengths)
        if self.read_by == "per_channel":
            y, state = lag_functionals(x, state, self.functional, tables, self.block, lengths)
            return y.flatten(2), state
        weight = self._weight_and_bias()[0].view(-1, channels, self.system.order)
        block = self.block
        if not torch.compiler.is_compiling():
            # Few samples do not repay the matrix of a long block; but a graph must not depend on the batch.
            while block > 4 and block * self.system.order > batch * n_steps:
                block //= 2
        return readouts(x, state, weight, tables, block, lengths)

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        A_d, b_d = self.update_rule() if steps is None else self._updates(steps)
        # One step per item: b_d meets (batch, channels, order).
        state = state @ A_d.mT + x[..., None] * (b_d if b_d.ndim == 1 else b_d[:, None])
        if self.read_by == "full":
            return self.readout(state.flatten(1)), state
        return self._mapped(self._read(state[:, None])[:, 0]), state

    def _streamed(self) -> Any:
        A_T, b_d = (part.detach().clone() for part in (self.update_rule()[0].mT, self.update_rule()[1]))
        full = self.read_by == "full"
        linear = self._weight_and_bias() if full else None

        def one(x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
            if steps is not None:
                return self._single(x, state, steps)
            state = torch.addcmul(state @ A_T, x[..., None], b_d)
            if linear is not None:
                return nn.functional.linear(state.flatten(1), *linear), state
            return self._mapped(self._read(state[:, None])[:, 0]), state

        return one

    # -- tables ----------------------------------------------------------------------------------------------

    @property
    def _features(self) -> int:
        return self.system.order

    @property
    def _timescale(self) -> Tensor | float:
        if not self.trainable_timescale:
            return self.system.timescale
        return self.log_timescale.to(finest_dtype(self.device)).exp()

    def _scaled(self, steps: Tensor) -> Tensor:
        """Steps in timescales; none is longer than there is anything to forget."""
        timescale = self._timescale
        # Cut before the division: a quotient that overflows has no gradient, not even zero.
        longest = self._longest * (timescale.detach() if isinstance(timescale, Tensor) else timescale)
        if steps.ndim or self.trainable_timescale:
            steps = steps.to(self.device, finest_dtype(self.device))
        return steps.clamp(max=longest) / timescale

    def _updates(self, steps: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
        rule = updates(self._scaled(steps), self._generator, self.method, dtype or self.dtype, longest=self._longest)
        return rule if dtype else (rule[0].to(self.device), rule[1].to(self.device))

    def _read(self, states: Tensor) -> Tensor:
        """What is read of states at every sample, before the linear map of functionals and before its bias."""
        if self.read_by == "full":
            return states.flatten(2) @ self._weight_and_bias()[0].mT
        if self.read_by == "shared":
            return states @ self.functional
        return functionals_of_states(states, self.functional).flatten(-2) if self._by_lag else states

    def tables(self, n_steps: int, dt: Tensor | None = None) -> BlockTables:
        """What the memory does within a block of time and from block to block, for sequences of this length."""
        if dt is None and not self.trainable_timescale:
            self.refresh_tables()
            return BlockTables(self._within, self._carries)
        steps = torch.tensor(self.dt, dtype=torch.float64) if dt is None else dt
        block = self.block if n_steps > self.block else n_steps
        finest = finest_dtype(self.device) if self.trainable_timescale else torch.float64
        tables = block_tables(*self._updates(steps, finest), block, levels_needed(n_steps))
        return BlockTables(*(table.to(self.device, self.dtype) for table in tables))

    @property
    def _parameter(self) -> Tensor | None:
        return self.log_timescale if self.trainable_timescale else self._learnt

    def _compute_tables(self, place: Tensor) -> None:
        A_d, b_d = (torch.from_numpy(rule) for rule in discretise(self.system, self.dt, self.method))
        self.A_d, self.b_d = A_d.to(place), b_d.to(place)
        self._within, self._carries = fixed_tables(A_d, b_d, self.block, place)
