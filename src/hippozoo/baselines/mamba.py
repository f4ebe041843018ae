"""Mamba: a diagonal state space model whose step, input and output weights depend on the sample."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._arguments import whole_number
from hippozoo.baselines._selective_scan import selective_scan
from hippozoo.baselines._short_convolution import ShortConvolution
from hippozoo.baselines.base import Baseline

__all__ = ["Mamba", "MambaState"]

# Steps at the start are drawn log-uniformly between these.
SHORTEST_STEP, LONGEST_STEP = 1e-3, 1e-1


class MambaState(NamedTuple):
    """What Mamba carries on.

    Parameters
    ----------
    samples
        The last samples, for the short convolution.
    memory
        The coefficients of every channel.
    """

    samples: Float[Tensor, "batch layers kept inner"]
    memory: Float[Tensor, "batch layers order inner"]


class Mamba(Baseline):
    """Selective state space blocks: norm, selective scan between gates, and a way around.

    The scan is plain torch with a backward pass of its own (see `_selective_scan`).

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

    arguments = (*Baseline.arguments, "order", "expand", "taps")

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 50,
        layers: int = 1,
        order: int = 16,
        expand: int = 2,
        taps: int = 4,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.order, self.expand = whole_number("order", order), whole_number("expand", expand)
        self.taps = whole_number("taps", taps)
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        blocks = (_Block(self.width, self.order, self.expand, self.taps, self._place) for _ in range(self.layers))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.RMSNorm(self.width, eps=1e-5, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    def _start(self, batch: int) -> MambaState:
        inner = self.expand * self.width
        place = {"dtype": self.dtype, "device": self.device}
        samples = torch.zeros(batch, self.layers, self.taps - 1, inner, **place)
        return MambaState(samples, torch.zeros(batch, self.layers, self.order, inner, **place))

    def _roll(self, x: Tensor, state: Any, lengths: Tensor | None, real: Tensor | None) -> tuple[Tensor, MambaState]:
        before = self._start(len(x)) if state is None else state
        x = self.encoder(x)
        after = []
        for number, block in enumerate(self.blocks):
            x, samples, memory = block(x, before.samples[:, number], before.memory[:, number], lengths, real)
            after.append((samples, memory))
        samples, memory = (torch.stack(parts, 1) for parts in zip(*after, strict=True))
        return self.readout(self.norm(x)), MambaState(samples, memory)


class _Block(nn.Module):
    """x + mixer(norm(x))."""

    def __init__(self, width: int, order: int, expand: int, taps: int, place: dict[str, Any]) -> None:
        super().__init__()
        inner, self.order = expand * width, order
        self.rank = math.ceil(width / 16)
        self.norm = nn.RMSNorm(width, eps=1e-5, **place)
        self.enter = nn.Linear(width, 2 * inner, bias=False, **place)
        self.convolution = ShortConvolution(inner, taps, **place)
        self.select = nn.Linear(inner, self.rank + 2 * order, bias=False, **place)
        self.to_steps = nn.Linear(self.rank, inner, **place)
        self.log_A = nn.Parameter(torch.arange(1, order + 1, **place).log()[:, None].repeat(1, inner))
        self.skip = nn.Parameter(torch.ones(inner, **place))
        self.leave = nn.Linear(inner, width, bias=False, **place)
        steps = torch.empty(inner, **place).uniform_(math.log(SHORTEST_STEP), math.log(LONGEST_STEP)).exp()
        with torch.no_grad():
            self.to_steps.weight.uniform_(-(self.rank**-0.5), self.rank**-0.5)
            self.to_steps.bias.copy_(steps + torch.log(-torch.expm1(-steps)))  # softplus of it is the step

    def forward(
        self, x: Tensor, samples: Tensor, memory: Tensor, lengths: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        u, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
        u, samples = self.convolution(u, samples, lengths)
        u = functional.silu(u)
        raw, B, C = self.select(u).split([self.rank, self.order, self.order], dim=-1)
        steps = functional.softplus(self.to_steps(raw))
        if real is not None:  # no time passes in the padding
            steps = torch.where(real[..., None], steps, 0.0)
        y, memory = selective_scan(u, steps, -self.log_A.exp(), B, C, memory)
        y = torch.addcmul(y, u, self.skip) * functional.silu(gate)
        return x + self.leave(y), samples, memory
