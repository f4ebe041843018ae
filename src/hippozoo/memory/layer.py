"""The memory as a torch layer: states in and out, gradients through everything, real arithmetic only."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hippozoo._arguments import positive_number, shorten, whole_number
from hippozoo.discretise import LONGEST_STEP, Method, discretise
from hippozoo.memory._torch_arguments import (
    above_zero,
    finite_samples_and_state,
    in_own_precision,
    refuse_low_precision,
    samples,
    silent_in_padding,
    steps_of_time,
    without_padding,
)
from hippozoo.memory._torch_blocks import BlockTables, all_states, block_tables, fixed_tables, levels_needed, readouts
from hippozoo.memory._torch_tables import WithTables
from hippozoo.memory._torch_updates import augmented_generator, one_where_all_are_equal, roll_varying, updates
from hippozoo.systems import HippoSystem

__all__ = ["MemoryLayer", "Stepper"]

State = Float[Tensor, "batch channels order"]
Steps = Float[Tensor, "*steps"] | Int[Tensor, "*steps"] | float | int
# The states, or with `outputs` their readout.
Outputs = Float[Tensor, "batch time channels order"] | Float[Tensor, "batch time outputs"]
Output = Float[Tensor, "batch channels order"] | Float[Tensor, "batch outputs"]


class MemoryLayer(WithTables):
    """Keeps the past of every channel as coefficients; gives the states, or a learnt linear readout of them.

    The state is explicit: it goes in and comes out, is never changed in place, and ``state.detach()`` cuts the
    gradient. A whole sequence, the same in chunks with the state handed on, and one `step` after another agree.

    With a fixed timescale the layer works under ``torch.compile``, ``torch.export`` and ONNX (see `stepper`).

    Parameters
    ----------
    system
        Which past is remembered, and how: for example ``LegT(order=64, timescale=100.0)``.
    dt
        Time from one sample to the next, where a call does not say otherwise.
    outputs
        Number of values of a learnt linear readout of all coefficients of all channels, ``readout.weight`` of shape
        (outputs, channels * order). Without it the output is the states. Reading a sequence does not hold them.
    channels
        Number of channels; needed with `outputs`, checked where given.
    trainable_timescale
        Learn ``log_timescale``, starting from the system's; the update rule is then computed in every call.
    method
        ``"zoh"``, exact for a signal that holds its value between samples, or ``"bilinear"``.
    bias
        Whether the readout adds a learnt constant.
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

    Two chunks, the state handed on, are one long call.

    >>> first, state = layer(ramp[:, :40])
    >>> second, state = layer(ramp[:, 40:], state)
    >>> torch.allclose(torch.cat([first, second], 1), states, rtol=1e-4, atol=1e-3)
    True

    References
    ----------
    Paper, section 2. Gu et al. (2020), HiPPO; Voelker et al. (2019), LMU.
    """

    A_d: Tensor
    b_d: Tensor
    _within: Tensor
    _carries: Tensor

    def __init__(
        self,
        system: HippoSystem,
        dt: float = 1.0,
        outputs: int | None = None,
        channels: int | None = None,
        trainable_timescale: bool = False,
        method: Method = "zoh",
        bias: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(system, HippoSystem):
            raise TypeError(f"system={shorten(system)}; pass a system such as LegT(order=64, timescale=100.0).")
        self.system = system
        self.dt = positive_number("dt", dt, why="it is the time from sample to sample")
        self.outputs = None if outputs is None else whole_number("outputs", outputs)
        self.channels = None if channels is None else whole_number("channels", channels)
        if self.outputs and not self.channels:
            raise ValueError(f"outputs={outputs} without channels: a readout weighs every channel; pass channels.")
        self.trainable_timescale = bool(trainable_timescale)
        self.method: Method = method
        self.bias = bool(bias)
        place = torch.empty((), device=device, dtype=dtype)
        refuse_low_precision(place.dtype)
        # Tables grow with the square of the order, and high orders are busy with short blocks.
        self._block = 32 if system.order <= 128 else 16
        self._generator = augmented_generator(system)
        if self.trainable_timescale:
            discretise(system, self.dt, method)  # what it refuses is refused now, not in the first call
            self.log_timescale = nn.Parameter(torch.full_like(place, math.log(system.timescale)))
        else:
            for name in ("A_d", "b_d", "_within", "_carries"):
                self.register_buffer(name, place, persistent=False)
            self._fill_tables(place)
        if self.outputs and self.channels:
            size = self.channels * system.order
            self.readout = nn.Linear(size, self.outputs, self.bias, place.device, place.dtype)

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """What the layer computes in, and what samples and states are given in."""
        return self._place.dtype

    @property
    def timescale(self) -> float:
        """The timescale now: the system's, or what has been learnt."""
        return math.exp(self.log_timescale.item()) if self.trainable_timescale else self.system.timescale

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the layer again."""
        names = "system", "dt", "outputs", "channels", "trainable_timescale", "method", "bias"
        return {name: getattr(self, name) for name in names}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the layer is printed."""
        parts = [repr(self.system), f"dt={self.dt}"]
        parts += [f"{name}={getattr(self, name)}" for name in ("outputs", "channels") if getattr(self, name)]
        parts += ["trainable_timescale=True"] * self.trainable_timescale
        parts += [f"method={self.method!r}"] * (self.method != "zoh")
        return ", ".join(parts)

    def initial_state(self, batch: int, channels: int | None = None) -> State:
        """The memory of nothing: zeros of shape (batch, channels, order)."""
        batch = whole_number("batch", batch)
        channels = self.channels if channels is None else whole_number("channels", channels)
        if channels is None:
            raise ValueError("channels=None, and this layer takes any number of them; pass channels.")
        if self.channels and channels != self.channels:
            raise ValueError(f"channels={channels}, but this layer has {self.channels}; leave channels out.")
        return torch.zeros(batch, channels, self.system.order, dtype=self.dtype, device=self._home(None))

    def update_rule(self, dt: Steps | None = None) -> tuple[Tensor, Tensor]:
        """A_d and b_d as they are now, for the layer's own step or for others; a tensor of steps gives a stack.

        Examples
        --------
        >>> from hippozoo.systems import LegT
        >>> A_d, b_d = MemoryLayer(LegT(order=3)).update_rule(torch.tensor([0.1, 0.2]))
        >>> A_d.shape, b_d.shape
        (torch.Size([2, 3, 3]), torch.Size([2, 3]))
        """
        if dt is None and not self.trainable_timescale:
            self._refresh_tables()
            return self.A_d, self.b_d
        shape = tuple(dt.shape) if isinstance(dt, Tensor) else ()
        steps = steps_of_time("dt", self.dt if dt is None else dt, {"(steps)": shape})
        above_zero("dt", steps)
        return self._updates(steps)

    def frozen(self) -> MemoryLayer:
        """A copy whose timescale is fixed at what has been learnt: it is faster, compiles and exports.

        Examples
        --------
        >>> from hippozoo.systems import LegS
        >>> layer = MemoryLayer(LegS(order=4, timescale=1.0), trainable_timescale=True)
        >>> layer.frozen()
        MemoryLayer(LegS(order=4, timescale=1.0), dt=1.0)
        """
        changes = {"system": replace(self.system, timescale=self.timescale), "trainable_timescale": False}
        copy = MemoryLayer(**self.configuration() | changes, device=self._place.device, dtype=self.dtype)
        if self.outputs:
            copy.readout.load_state_dict(self.readout.state_dict())
        return copy.train(self.training)

    def stepper(self) -> Stepper:
        """The same layer as a module whose ``forward`` is one `step`: what export functions want."""
        return Stepper(self)

    # -- the state in motion ---------------------------------------------------------------------------------

    def forward(
        self,
        x: Float[Tensor, "batch time channels"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Outputs, State]:
        """Take in a sequence; give the output at every sample, and the state after the last one.

        Parameters
        ----------
        x
            Samples, (batch, time, channels). They must be finite; a compiled or exported layer does not look,
            and there a NaN spoils the item it stands in.
        state
            Where to go on from, (batch, channels, order); without it, from the memory of nothing.
        dt
            How long samples are held: one number, or one per sample as (time,) or (batch, time). Every step is
            taken exactly, and gradients flow to the steps. One per sample is slower, by far where all differ.
        lengths
            Number of real samples of each item, (batch,), from 0. No time passes in the padding behind them,
            whatever stands there: the output is zero, the state stays as it was after the last real sample.

        Returns
        -------
        The states, (batch, time, channels, order), or with `outputs` their readout, (batch, time, outputs);
        and the state to go on from, (batch, channels, order).
        """
        return in_own_precision(self.dtype, self._roll, x, state, dt, lengths)

    def step(self, x: Float[Tensor, "batch channels"], state: State, dt: Steps | None = None) -> tuple[Output, State]:
        """Take in one sample per item, held for `dt`: one number, or one per item; give output and new state.

        Examples
        --------
        >>> from hippozoo.systems import LegS
        >>> layer = MemoryLayer(LegS(order=4, timescale=10.0), outputs=5, channels=2)
        >>> y, state = layer.step(torch.ones(3, 2), layer.initial_state(batch=3))
        >>> y.shape, state.shape
        (torch.Size([3, 5]), torch.Size([3, 2, 4]))
        """
        return in_own_precision(self.dtype, self._take, x, state, dt)

    def _roll(self, x: Tensor, state: Tensor | None, dt: Steps | None, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        self._check_shapes(x, "(batch, time, channels)", "x[None] for one sequence, x[..., None] for one channel")
        batch, n_steps, channels = x.shape
        x, lengths, real = without_padding(x, lengths)
        self._check_values(x, state)
        steps = None
        if dt is not None:
            shapes = {"(time,)": (n_steps,), "(batch, time)": (batch, n_steps)}
            steps = steps_of_time("dt", dt, shapes).to(x.device)
            above_zero("dt", steps if real is None or steps.ndim == 0 else torch.where(real, steps, 1.0))
            steps = one_where_all_are_equal(steps)
        if steps is None or steps.ndim == 0:
            y, state = self._roll_constant(x, state, steps, lengths)
        else:
            steps = steps.expand(1 if real is None and steps.ndim == 1 else batch, n_steps)
            steps = steps if real is None else torch.where(real, steps, 0.0)
            state = self.initial_state(batch, channels) if state is None else state
            y, state = roll_varying(x, state, steps, self._updates, self._read)
        if self.outputs and self.bias:
            y = y + self.readout.bias
        return silent_in_padding(y, real), state

    def _roll_constant(
        self, x: Tensor, state: Tensor | None, dt: Tensor | None, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        batch, n_steps, channels = x.shape
        tables = self._tables(dt, n_steps)
        if not self.outputs:
            return all_states(x, state, tables, self._block, lengths)
        weight = self.readout.weight.view(self.outputs, channels, self.system.order)
        block = self._block
        if not torch.compiler.is_compiling():
            # Few samples do not repay the matrix of a long block; but a graph must not depend on the batch.
            while block > 4 and block * self.system.order > batch * n_steps:
                block //= 2
        return readouts(x, state, weight, tables, block, lengths)

    def _take(self, x: Tensor, state: Tensor, dt: Steps | None) -> tuple[Tensor, Tensor]:
        self._check_shapes(x, "(batch, channels)", "x[:, 0] for the first sample of a sequence")
        if state is None:
            raise TypeError("state=None: step goes on from a state; pass layer.initial_state(batch).")
        self._check_values(x, state)
        if dt is None:
            A_d, b_d = self.update_rule()
        else:
            steps = steps_of_time("dt", dt, {"(batch,)": (len(x),)}).to(x.device)
            above_zero("dt", steps)
            A_d, b_d = self._updates(steps)
        # One step per item: b_d meets (batch, channels, order).
        state = state @ A_d.mT + x[..., None] * (b_d if b_d.ndim == 1 else b_d[:, None])
        return (self.readout(state.flatten(1)) if self.outputs else state), state

    # -- tables ----------------------------------------------------------------------------------------------

    @property
    def _place(self) -> Tensor:
        """A tensor that has the layer's dtype and device."""
        return self.log_timescale if self.trainable_timescale else self.b_d

    @property
    def _timescale(self) -> Tensor | float:
        return self.log_timescale.double().exp() if self.trainable_timescale else self.system.timescale

    def _updates(self, steps: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
        timescale = self._timescale
        # Cut before the division: a quotient that overflows has no gradient, not even zero.
        longest = LONGEST_STEP * (timescale.detach() if isinstance(timescale, Tensor) else timescale)
        steps = steps.to(self._place.device).clamp(max=longest) / timescale
        return updates(steps, self._generator, self.method, dtype or self.dtype)

    def _read(self, states: Tensor) -> Tensor:
        return states.flatten(2) @ self.readout.weight.mT if self.outputs else states

    def _tables(self, dt: Tensor | None, n_steps: int) -> BlockTables:
        if dt is None and not self.trainable_timescale:
            self._refresh_tables()
            return BlockTables(self._within, self._carries)
        steps = torch.tensor(self.dt, dtype=torch.float64) if dt is None else dt
        block = self._block if n_steps > self._block else n_steps
        tables = block_tables(*self._updates(steps, torch.float64), block, levels_needed(n_steps))
        return BlockTables(*(table.to(self.dtype) for table in tables))

    @property
    def _one_table(self) -> Tensor | None:
        return None if self.trainable_timescale else self.b_d

    @property
    def _parameter(self) -> Tensor | None:
        if self.trainable_timescale:
            return self.log_timescale
        return self.readout.weight if self.outputs else None

    def _compute_tables(self, place: Tensor) -> None:
        A_d, b_d = (torch.from_numpy(rule) for rule in discretise(self.system, self.dt, self.method))
        self.A_d, self.b_d = A_d.to(place), b_d.to(place)
        self._within, self._carries = fixed_tables(A_d, b_d, self._block, place)

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_shapes(self, x: Tensor, axes: str, hint: str) -> None:
        home = self._home(x)
        samples(x, self.dtype, self.channels, axes, hint, home)
        self._refresh_tables(home)

    def _check_values(self, x: Tensor, state: Tensor | None) -> None:
        expected = (x.shape[0], x.shape[-1], self.system.order)
        begin = f"initial_state({expected[0]}, {expected[1]})"
        finite_samples_and_state(x, state, self.dtype, expected, "(batch, channels, order)", begin)


class Stepper(nn.Module):
    """One `step` of a layer as a module of its own, for ``torch.export`` and ONNX.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> layer = MemoryLayer(LegT(order=8, timescale=20.0), channels=1)
    >>> x, state = torch.ones(1, 1), layer.initial_state(1)
    >>> program = torch.export.export(layer.stepper(), (x, state))
    >>> y, state = program.module()(x, state)
    >>> y.shape
    torch.Size([1, 1, 8])
    """

    def __init__(self, layer: MemoryLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Float[Tensor, "batch channels"], state: State) -> tuple[Output, State]:
        """Output and new state after one more sample."""
        return self.layer.step(x, state)
