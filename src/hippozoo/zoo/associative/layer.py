"""Associative Memory HiPPO as a torch layer: a short memory says where to write, where to read, and when."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.discretise import discretise
from hippozoo.layers import Lengths, SequenceLayer, Steps, Timing
from hippozoo.layers.arguments import silent_in_padding
from hippozoo.layers.reading import weight_and_bias
from hippozoo.memory import MemoryLayer
from hippozoo.polynomials import OrthonormalFamily
from hippozoo.systems import HippoSystem, LegT
from hippozoo.zoo.associative._functionals import Answers, answers_of_samples, answers_of_states
from hippozoo.zoo.associative.bank import PolynomialBank
from hippozoo.zoo.associative.gates import Gate, draw_uniform, undrawn_linear

__all__ = ["AssociativeMemory", "AssociativeState", "Signals", "sample_reader"]

Start = Literal["previous", "present", "random"]


class AssociativeState(NamedTuple):
    """What the layer carries on: the recent past, and all that was stored.

    The HiPPO state, and the coefficients of the stored functions.
    """

    memory: Float[Tensor, "batch width order"]
    bank: Float[Tensor, "batch width coefficients"]


class Signals(NamedTuple):
    """What the layer decides at each moment, before the bank is touched.

    Addresses are between 0 and 1; with several dimensions their coordinates come last. The gates say how far it
    writes, and how far it lets out what it read.
    """

    write_address: Float[Tensor, "*address"]
    read_address: Float[Tensor, "*address"]
    write_gate: Float[Tensor, "*moments"]
    output_gate: Float[Tensor, "*moments"]
    value: Float[Tensor, "*moments width"]


class AssociativeMemory(SequenceLayer):
    r"""Stores values under learnt addresses and recalls them: an explicit key-value memory, online and readable.

    A fixed HiPPO memory keeps the last few samples. From its state come, at every step, an address to write to, an
    address to read from, and two gates; the value is a linear map of the input. A `PolynomialBank` is written and read:

    .. math:: \hat x_t = g_\text{out}\, W_\text{out}\, m(x_\text{query}).

    Parameters
    ----------
    channels
        Size of a sample.
    outputs
        Size of an output; by default that of a sample.
    width
        Channels of memory and bank, d_model in the paper.
    system
        The memory of the recent past; by default ``LegT(order=32, timescale=2.0)``, two samples at dt = 1.
    family
        The basis of the bank; by default ``Legendre(32)``. Its order is the number of coefficients, and the number of
        pairs that can be stored without interference (see `capacity`).
    dimensions
        Numbers in an address. With more than one, tokens have more room to be told apart; the bank has
        ``family.order ** dimensions`` coefficients (see `PolynomialBank`).
    dt
        Time from one sample to the next, where a call does not say otherwise.
    hidden
        Width of the networks behind the gates.
    epsilon
        See `PolynomialBank`.
    start
        ``"previous"``: both addresses begin as one and the same random function of the previous sample, so that
        what is stored under a token can be found by it from the first step on, and both gates begin nearly shut;
        ``"present"``: the same, but reading under the *present* sample: for tasks that ask for a value at its key
        itself, as multi-query recall does, and not one sample later;
        ``"random"``: as any linear layer begins. From there associative recall is learnt too, in more steps.
    generator
        Where the random start comes from; by default torch's global one.
    device, dtype
        As in any torch layer; float32 or float64. Under ``torch.autocast`` the layer keeps to its own dtype.

    Examples
    --------
    >>> layer = AssociativeMemory(channels=24, generator=torch.Generator().manual_seed(0))
    >>> y, state = layer(torch.randn(8, 12, 24))
    >>> y.shape, state.memory.shape, state.bank.shape
    (torch.Size([8, 12, 24]), torch.Size([8, 32, 32]), torch.Size([8, 32, 32]))
    >>> sum(parameter.numel() for parameter in layer.parameters())
    22148

    References
    ----------
    Paper, section "Associative Memory HiPPO" and appendix "Associative Recall Experiment".
    """

    matched = "width"

    def __init__(
        self,
        channels: int,
        outputs: int | None = None,
        *,
        width: int = 32,
        system: HippoSystem | None = None,
        family: OrthonormalFamily | None = None,
        hidden: int = 256,
        epsilon: float = 1e-6,
        start: Start = "previous",
        dimensions: int = 1,
        dt: float = 1.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        channels = whole_number("channels", channels)
        super().__init__(channels, device, dtype)
        self.outputs = channels if outputs is None else whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.hidden = whole_number("hidden", hidden)
        if start not in get_args(Start):
            raise ValueError(f"start={shorten(start)}; pass 'previous', 'present' or 'random'.")
        self.start: Start = start
        made = torch.empty((), **self._place)
        system = LegT(order=32, timescale=2.0) if system is None else system
        self.memory = MemoryLayer(system, dt=dt, channels=self.width, **self._place)
        self.bank = PolynomialBank(self.width, family, epsilon, **self._place, dimensions=dimensions)
        self.system, self.dt, order = system, self.memory.dt, system.order
        self.family, self.dimensions, self.epsilon = self.bank.family, self.bank.dimensions, self.bank.epsilon
        self.project = undrawn_linear(channels, self.width, made, bias=False)
        self.addresses = undrawn_linear(self.width * order, 2 * self.dimensions, made)
        self.write_gate = Gate(self.width, order, self.hidden, generator, **self._place)
        self.output_gate = Gate(self.width, order, self.hidden, generator, **self._place)
        self.value = undrawn_linear(self.width, self.width, made, bias=False)
        self.readout = undrawn_linear(self.width, self.outputs, made, bias=False)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start learning anew, from the `start` that the layer was built with."""
        for layer in (self.project, self.addresses, self.value, self.readout):
            draw_uniform(layer, generator)
        weight = self.addresses.weight
        newest = torch.from_numpy(sample_reader(self.system, self.dt, lag=0)).to(weight)
        for gate in (self.write_gate, self.output_gate):
            # Open, a gate shuts only where harm has been seen, which can take long. Shut, it opens for what must be
            # written, and along with that for some tokens whose writes merely hit no key.
            gate.reset_parameters(newest, generator, bias=None if self.start == "random" else -3.0)
        if self.start != "random":
            previous = torch.from_numpy(sample_reader(self.system, self.dt, lag=1)).to(weight)
            # One direction for each coordinate of an address; the write's come first, then the read's.
            directions = torch.empty(self.dimensions, self.width, 1, dtype=weight.dtype, device=weight.device)
            directions.normal_(generator=generator)
            lag = newest if self.start == "present" else previous
            with torch.no_grad():
                weight[: self.dimensions].copy_((directions * previous).flatten(1))
                weight[self.dimensions :].copy_((directions * lag).flatten(1))
                self.addresses.bias.zero_()

    # -- the state in motion ---------------------------------------------------------------------------------

    def signals(
        self,
        x: Float[Tensor, "batch time channels"],
        state: AssociativeState | None = None,
        dt: Steps | None = None,
        lengths: Lengths | None = None,
    ) -> Signals:
        """Addresses, gates and values at every sample; nothing is written."""
        return self._enter(self._decide, x, state, dt, lengths)[0]

    def _start(self, batch: int, channels: int) -> AssociativeState:
        return AssociativeState(self.memory.initial_state(batch), self.bank.initial_state(batch))

    def _decide(self, x: Tensor, state: AssociativeState | None, timing: Timing) -> tuple[Signals, Tensor]:
        """The signals, and the memory after the last sample."""
        projected = self.project(x)
        answers, memory = self._ask(projected, None if state is None else state.memory, timing)
        return self._signals(answers, projected), memory

    def _ask(self, projected: Tensor, state: Tensor | None, timing: Timing) -> tuple[Answers, Tensor]:
        """What the functionals say at every sample; only steps of different length need the states themselves."""
        memory = self.memory
        if timing.steps is not None:
            states, last = memory(projected, state, timing)
            return answers_of_states(states, *self._functionals()), last
        tables = memory.tables(projected.shape[1])
        return answers_of_samples(projected, state, tables, memory.block, *self._functionals(), timing.lengths)

    def _functionals(self) -> tuple[Tensor, Tensor]:
        joint = self._addressing()[0].unflatten(-1, (self.width, self.system.order))
        return joint, torch.stack([self.write_gate.lag_functional, self.output_gate.lag_functional])

    def _addressing(self) -> tuple[Tensor, Tensor | None]:
        return weight_and_bias(self.addresses, self.width * self.system.order, self.write_gate.lag_functional)

    def _signals(self, answers: Answers, projected: Tensor) -> Signals:
        bias = self._addressing()[1]
        addresses = torch.sigmoid(answers.joint if bias is None else answers.joint + bias)
        if self.dimensions == 1:
            write_address, read_address = addresses.unbind(-1)
        else:
            write_address, read_address = addresses.chunk(2, -1)
        to_write, to_output = answers.lagged.unbind(0)
        return Signals(
            write_address, read_address, self.write_gate(to_write), self.output_gate(to_output), self.value(projected)
        )

    def _roll(self, x: Tensor, state: AssociativeState | None, timing: Timing) -> tuple[Tensor, AssociativeState]:
        signals, memory = self._decide(x, state, timing)
        write_gate = silent_in_padding(signals.write_gate, timing.real)  # nothing is written in the padding
        before = self.bank.initial_state(x.shape[0]) if state is None else state.bank
        reads, bank = self.bank._write_and_read(
            signals.write_address, signals.value, signals.read_address, write_gate, before
        )
        return signals.output_gate[..., None] * self.readout(reads), AssociativeState(memory, bank)

    def _single(self, x: Tensor, state: AssociativeState, steps: Tensor | None) -> tuple[Tensor, AssociativeState]:
        projected = self.project(x)
        states, memory = self.memory(projected, state.memory, Timing(steps), step=True)
        signals = self._signals(answers_of_states(states, *self._functionals()), projected)
        bank = self.bank._write(state.bank, signals.write_address, signals.value, signals.write_gate)
        reads = self.bank._read(bank, signals.read_address)
        return signals.output_gate[..., None] * self.readout(reads), AssociativeState(memory, bank)


def sample_reader(system: HippoSystem, dt: float, lag: int, among: int = 4) -> Float[np.ndarray, " order"]:
    """The smallest weights w for which ``w @ state`` is the sample `lag` steps ago, and none of the others named.

    Parameters
    ----------
    system, dt
        The memory, and the time from sample to sample.
    lag
        Which sample: 0 is the newest.
    among
        How many of the newest samples are told apart. With a window of many samples a smooth basis cannot single one
        out; the answer is then the one of least squares.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> previous = sample_reader(LegT(order=16, timescale=2.0), 1.0, lag=1)
    >>> state = Memory(LegT(order=16, timescale=2.0)).final(np.array([5.0, 7.0]))
    >>> float((previous @ state).round(6))
    5.0
    """
    among = whole_number("among", among)
    lag = whole_number("lag", lag, minimum=0)
    if lag >= among:
        raise ValueError(f"lag={lag}, but only the newest among={among} samples are told apart; pass lag < among.")
    A_d, b_d = discretise(system, dt, "zoh")
    responses = [b_d]
    for _ in range(among - 1):
        responses.append(A_d @ responses[-1])
    # Directions in which the samples hardly differ are left alone: to read them would take huge weights.
    return np.linalg.pinv(np.stack(responses), rcond=1e-3)[:, lag]
