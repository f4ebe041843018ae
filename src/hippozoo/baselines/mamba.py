"""Mamba: a diagonal state space model whose step, input and output weights depend on the sample."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import whole_number
from hippozoo.baselines._selective_scan import one_by_one, selective_scan
from hippozoo.baselines._short_convolution import ShortConvolution
from hippozoo.baselines.base import ConvolvedBlocks
from hippozoo.layers.calls import given_to

__all__ = ["Mamba", "MambaState"]

# Steps at the start are drawn log-uniformly between these.
SHORTEST_STEP, LONGEST_STEP = 1e-3, 1e-1


class MambaState(NamedTuple):
    """What Mamba carries on.

    The last samples, for the short convolution, and the coefficients of every channel.
    """

    samples: Float[Tensor, "batch layers kept inner"]
    memory: Float[Tensor, "batch layers order inner"]


class Mamba(ConvolvedBlocks):
    """Selective state space blocks: norm, selective scan between gates, and a way around.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.
    order
        Coefficients of each channel.
    expand
        Channels of the scan per channel of the model.
    taps
        Of the short convolution.
    dt_rank
        Numbers that the time steps of all channels are made of; a sixteenth of the width, rounded up, if not given.
    shared_step
        One time step for all channels, as in scalar salience, and not one for each.
    step_sees_state
        Time steps depend on the memory too, and not only on the sample; the scan is then a slow loop.

    Examples
    --------
    >>> model = Mamba(inputs=3, outputs=2, width=8)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.memory.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 1, 16, 16]))

    References
    ----------
    Gu and Dao (2024), Mamba: linear-time sequence modeling with selective state spaces.
    """

    State = MambaState

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 50,
        layers: int = 1,
        order: int = 16,
        expand: int = 2,
        taps: int = 4,
        dt_rank: int | None = None,
        shared_step: bool = False,
        step_sees_state: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.order, self.expand = whole_number("order", order), whole_number("expand", expand)
        self.taps = whole_number("taps", taps)
        self.dt_rank = None if dt_rank is None else whole_number("dt_rank", dt_rank)
        self.shared_step, self.step_sees_state = bool(shared_step), bool(step_sees_state)
        self._add_blocks(_Block(self, self._place) for _ in range(self.layers))

    def _start(self, batch: int, channels: int) -> MambaState:
        inner = self.expand * self.width
        samples = self._zeros(batch, self.layers, self.taps - 1, inner)
        return MambaState(samples, self._zeros(batch, self.layers, self.order, inner))

    def _streamed(self) -> Any:
        if self.step_sees_state:
            return self._single
        blocks: list[Any] = list(self.blocks)
        rates = [-block.log_A.detach().exp() for block in blocks]

        def one(x: Tensor, state: MambaState, steps: Tensor | None) -> tuple[Tensor, MambaState]:
            x, kept, memories = self.encoder(x), [], []
            for block, A, samples, memory in zip(
                blocks, rates, state.samples.unbind(1), state.memory.unbind(1), strict=True
            ):
                x, samples, memory = block.single(x, samples, memory, A)
                kept.append(samples)
                memories.append(memory)
            return self.readout(self.norm(x)), MambaState(torch.stack(kept, 1), torch.stack(memories, 1))

        return one

    def time_steps(
        self, x: Float[Tensor, "batch time inputs"], state: MambaState | None = None
    ) -> Float[Tensor, "batch time layers inner"]:
        """How much time each sample takes for each channel of each block: a long step writes much and forgets much.

        Examples
        --------
        >>> model = Mamba(inputs=3, outputs=2, width=8, layers=2)
        >>> steps = model.time_steps(torch.randn(5, 30, 3))
        >>> steps.shape, bool((steps > 0).all())
        (torch.Size([5, 30, 2, 16]), True)
        """
        places: dict[str, Any] = {str(number): block.on_steps for number, block in enumerate(self.blocks)}
        return torch.stack([steps for _, (steps,) in given_to(places, lambda: self(x, state))], 2)


class _Block(nn.Module):
    """x + mixer(norm(x))."""

    def __init__(self, model: Mamba, place: dict[str, Any]) -> None:
        super().__init__()
        width, order, taps = model.width, model.order, model.taps
        inner, self.order = model.expand * width, order
        self.rank = model.dt_rank or math.ceil(width / 16)
        self.norm = nn.RMSNorm(width, eps=1e-5, **place)
        self.enter = nn.Linear(width, 2 * inner, bias=False, **place)
        self.convolution = ShortConvolution(inner, taps, **place)
        self.select = nn.Linear(inner, self.rank + 2 * order, bias=False, **place)
        clocks = 1 if model.shared_step else inner
        self.to_steps = nn.Linear(self.rank, clocks, **place)
        self.log_A = nn.Parameter(torch.arange(1, order + 1, **place).log()[:, None].repeat(1, inner))
        self.skip = nn.Parameter(torch.ones(inner, **place))
        self.leave = nn.Linear(inner, width, bias=False, **place)
        steps = torch.empty(clocks, **place).uniform_(math.log(SHORTEST_STEP), math.log(LONGEST_STEP)).exp()
        with torch.no_grad():
            self.to_steps.weight.uniform_(-(self.rank**-0.5), self.rank**-0.5)
            self.to_steps.bias.copy_(steps + torch.log(-torch.expm1(-steps)))  # softplus of it is the step
        self.on_steps = nn.Identity()  # where `time_steps` listens
        if model.step_sees_state:
            # One number per channel, the mean of its coefficients at the start, then as many as the steps are made of.
            self.functional = nn.Parameter(torch.full((order,), 1 / order, **place))
            self.see = nn.Linear(inner, self.rank, bias=False, **place)

    def forward(
        self, x: Tensor, samples: Tensor, memory: Tensor, lengths: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        u, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
        u, samples = self.convolution(u, samples, lengths)
        u = functional.silu(u)
        raw, B, C = self.select(u).split([self.rank, self.order, self.order], dim=-1)
        if hasattr(self, "see"):
            y, memory = self._look_and_scan(u, raw, B, C, memory, real)
        else:
            steps = self._steps(raw, u, real)
            y, memory = selective_scan(u, self.on_steps(steps), -self.log_A.exp(), B, C, memory)
        y = torch.addcmul(y, u, self.skip) * functional.silu(gate)
        return x + self.leave(y), samples, memory

    def single(self, x: Tensor, samples: Tensor, memory: Tensor, A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One sample per item, in as few operations as it takes."""
        u, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
        window = torch.cat([samples, u[:, None]], 1)
        u = functional.silu((window * self.convolution.weight).sum(1) + self.convolution.bias)
        raw, B, C = self.select(u).split([self.rank, self.order, self.order], dim=-1)
        steps = functional.softplus(self.to_steps(raw)).expand_as(u)
        memory = torch.addcmul(torch.exp(steps[:, None] * A) * memory, B[..., None], (steps * u)[:, None])
        y = torch.addcmul((C[:, None] @ memory).squeeze(1), u, self.skip) * functional.silu(gate)
        return x + self.leave(y), window[:, 1:], memory

    def _steps(self, raw: Tensor, u: Tensor, real: Tensor | None) -> Tensor:
        steps = functional.softplus(self.to_steps(raw)).expand_as(u)
        # No time passes in the padding.
        return steps if real is None else torch.where(real[..., None], steps, 0.0)

    def _look_and_scan(
        self, u: Tensor, raw: Tensor, B: Tensor, C: Tensor, memory: Tensor, real: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The scan sample by sample, each step seeing the memory before it."""
        outputs, taken, A = [], [], -self.log_A.exp()
        for t in range(u.shape[1]):
            here = slice(t, t + 1)
            # Bounded: a step grows with what it sees and the memory with the step, so that both would run away.
            seen = self.see(torch.tanh(torch.einsum("boc,o->bc", memory, self.functional)))
            steps = self._steps(raw[:, here] + seen[:, None], u[:, here], None if real is None else real[:, here])
            y, memory = one_by_one(u[:, here], steps, A, B[:, here], C[:, here], memory)
            outputs.append(y)
            taken.append(steps)
        self.on_steps(torch.cat(taken, 1))
        return torch.cat(outputs, 1), memory
