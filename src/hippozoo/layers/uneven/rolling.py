"""Which way samples at uneven times go: chunk by chunk, or state after state by matrices that are known beforehand."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.discretise import longest_step
from hippozoo.layers import updates as rules
from hippozoo.layers.derivatives import torch_looks_inside, with_own_backward
from hippozoo.layers.types import State
from hippozoo.layers.uneven.chunks import (
    Chunks,
    ends_in_chunks,
    jumps_and_starts,
    read_channels,
    read_full,
    read_shared,
)
from hippozoo.layers.uneven.tables import TOLERANCE, lag_cells, series_for
from hippozoo.systems import HippoSystem

__all__ = ["Readout", "goes_fast", "roll_uneven"]

#: Samples of a chunk: longer ones are fewer states, and more pairs of samples. Measured at 16 items, 256 samples, 32
#: channels (benchmarks/bench_uneven.py), where functionals of each channel gain by 16 samples beyond order 24.
CHUNKS = (16, 8, 4)
HIGH_ORDER = 24
#: More terms than so many times the order cost more than the states.
MOST_TERMS = 3
#: Steps up to here, in timescales, by the series; longer ones, which are rare, by an exponential each.
USUAL = 0.5


class Readout(NamedTuple):
    """What is read of the states.

    `kind` is as in `hippozoo.memory.MemoryLayer`; `weight` is (outputs, channels, order) for ``"full"``, (order,) for
    ``"shared"``, (reads, channels, order) for ``"per_channel"``, None for ``"states"``.
    """

    kind: str
    weight: Tensor | None

    def of(self, states: Float[Tensor, "batch time channels order"]) -> Tensor:
        """The definition: what is read of states that are at hand."""
        if self.weight is None:
            return states
        if self.kind == "full":
            return states.flatten(2) @ self.weight.flatten(1).mT
        return states @ self.weight if self.kind == "shared" else (states.unsqueeze(-3) * self.weight).sum(-1)


def goes_fast(x: Tensor) -> bool:
    """Whether samples can go through compiled loops: on the CPU, where nobody wants to see inside."""
    return not torch_looks_inside() and x.device.type == "cpu" and x.dtype in TOLERANCE and x.numel() > 0


def roll_uneven(
    system: HippoSystem,
    generator: Float[Tensor, "order_and_1 order_and_1"],
    x: Float[Tensor, "batch time channels"],
    state: State,
    steps: Float[Tensor, "rows time"],
    readout: Readout,
) -> tuple[Tensor, State] | None:
    """What is read after every sample, and the last state; None where plain torch is the only way.

    `generator` is ``[[A, b], [0, 0]]``. `steps` are in timescales, float64, none longer than `longest_step`, one row
    where all items share them; no time passes at a step of 0.
    """
    if not goes_fast(x):
        return None
    chunks = None if steps.requires_grad else _chunks(system, x, steps, readout)
    if chunks is None:
        return _by_states(system, generator, x, state, steps, readout)
    jumps, starts, last = jumps_and_starts(chunks, x, state)
    read: Any = {"full": read_full, "shared": read_shared, "per_channel": read_channels}[readout.kind]
    return chunks.join(read(chunks, jumps, starts, readout.weight)), last


def _chunks(system: HippoSystem, x: Tensor, steps: Tensor, readout: Readout) -> Chunks | None:
    """The longest chunks whose lags the series of the system knows; None where states are the better way."""
    order, weight = system.order, readout.weight
    if weight is None or (readout.kind == "full" and len(weight) > order):
        return None
    longest = CHUNKS[0] if readout.kind == "per_channel" and order > HIGH_ORDER else CHUNKS[1]
    for samples in (min(some, x.shape[1]) for some in CHUNKS if some <= longest):
        ends = ends_in_chunks(steps, len(x), samples)
        series = series_for(system, float(ends[:, -1].max()), x.dtype)
        if series is None or len(series.terms) > MOST_TERMS * order + 16:
            continue
        cells = lag_cells(system, series.reach, x.dtype)
        if cells is not None:
            return Chunks(series, cells, ends, len(x), x.shape[1])
    return None


def _by_states(
    system: HippoSystem, generator: Tensor, x: Tensor, state: Tensor, steps: Tensor, readout: Readout
) -> tuple[Tensor, Tensor]:
    """State after state; the backward pass makes long sequences again."""

    def one(x: Tensor, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        def definition(steps: Tensor, x: Tensor, state: Tensor) -> Tensor:
            rule = rules.updates(steps, generator, "zoh", x.dtype, longest=longest_step(system))
            return rules.roll_stretch(x, state, *rule)[0]

        matrices = _matrices(system, generator, steps.detach().mT.contiguous(), x.dtype)
        passes = partial(_roll_states, matrices), partial(_pull_states, matrices, generator[:-1]), definition
        states = with_own_backward(*passes, steps, x, state)
        return readout.of(states), states[:, -1].clone()

    return rules.by_stretches(one, x, state, steps)


def _roll_states(matrices: Tensor, steps: Tensor, x: Tensor, state: Tensor) -> tuple[Tensor, tuple[Tensor]]:
    """The state after every sample; `matrices` are (time, rows, order + 1, order)."""
    batch, n_steps, channels = x.shape
    rows, order = matrices.shape[1], state.shape[-1]
    # Time first, also in memory; items that share their steps are so many more channels.
    samples = x.transpose(0, 1).contiguous().view(n_steps, rows, -1)
    states = samples[..., None] * matrices[:, :, -1:]
    before = state.reshape(rows, -1, order)
    for E_T, now in zip(matrices[:, :, :-1].unbind(), states.unbind(), strict=True):
        before = now.baddbmm_(before, E_T)
    return states.view(n_steps, batch, channels, order).transpose(0, 1), (states,)


def _pull_states(
    matrices: Tensor, generator: Tensor, gradients: Any, inputs: Any, kept: Any, needed: Any
) -> tuple[Tensor | None, ...]:
    (steps, x, state), (states,) = inputs, kept
    batch, n_steps, channels = x.shape
    back = gradients[0].transpose(0, 1).clone(memory_format=torch.contiguous_format).view(states.shape)
    E, later = matrices[:, :, :-1].mT.unbind(), back.unbind()
    for t in range(n_steps - 1, 0, -1):
        later[t - 1].baddbmm_(later[t], E[t])
    for_state = torch.bmm(later[0], E[0]).view_as(state)
    for_x = torch.bmm(back.flatten(0, 1), matrices[:, :, -1].flatten(0, 1)[..., None])
    for_x = for_x.view(n_steps, batch, channels).transpose(0, 1)
    for_steps = None
    if needed[0]:  # the derivative of a state by its step is A state + b x
        A, b = generator[:, :-1].to(back), generator[:, -1].to(back)
        for_steps = ((back @ A) * states).sum((-2, -1))
        samples = x.transpose(0, 1).reshape(n_steps, len(steps), -1)
        for_steps = (for_steps + ((back @ b) * samples).sum(-1)).mT.to(steps)
    return for_steps, for_x, for_state


def _matrices(system: HippoSystem, generator: Tensor, steps: Tensor, dtype: torch.dtype) -> Tensor:
    """``[E(h); G(h)]``, transposed, of every step."""
    usual = steps <= USUAL
    series = series_for(system, min(USUAL, float(steps.max())), dtype)
    if series is None:
        usual = torch.zeros_like(usual)
        found = torch.empty(*steps.shape, system.order + 1, system.order, dtype=dtype)
    else:
        found = series.updates(steps)
    if not usual.all():
        A_d, b_d = rules.updates(steps[~usual], generator, "zoh", dtype, longest=longest_step(system))
        found[~usual] = torch.cat([A_d.mT, b_d[..., None, :]], -2)
    # In padding a state stays what it is, to the last bit.
    found[steps == 0] = torch.eye(system.order + 1, system.order, dtype=dtype)
    return found
