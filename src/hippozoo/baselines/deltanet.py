"""DeltaNet: linear attention whose memory is corrected, not only added to; gated, it fades as the sample says."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import whole_number
from hippozoo.baselines._short_convolution import ShortConvolution
from hippozoo.baselines.base import ConvolvedBlocks, demand_multiple
from hippozoo.layers.delta_rule import delta_rule, fading_delta_rule

__all__ = ["DeltaNet", "DeltaNetState", "GatedDeltaNet"]

# At the start a gated head forgets by a factor of e in between these many samples, drawn log-uniformly.
SHORTEST_LIFE, LONGEST_LIFE = 10.0, 1000.0


class DeltaNetState(NamedTuple):
    """What DeltaNet carries on.

    The last samples of queries, keys and values, for the short convolution; and what is stored, head by head.
    """

    samples: Float[Tensor, "batch layers kept thrice"]
    memory: Float[Tensor, "batch layers heads size size"]


class DeltaNet(ConvolvedBlocks):
    """Blocks of the delta rule: norm, short convolution, write and read an associative matrix, and a way around.

    Queries and keys go through SiLU and are scaled to length one. The short convolution lets a key meet the value
    of the next sample, without which pairs of samples cannot be bound.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`; the width is a multiple of `heads`.
    heads
        Memories side by side.
    taps
        Of the short convolution.

    Examples
    --------
    >>> model = DeltaNet(inputs=3, outputs=2, width=8)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.memory.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 1, 2, 4, 4]))

    References
    ----------
    Schlag, Irie and Schmidhuber (2021), Linear transformers are secretly fast weight programmers; Yang, Wang, Zhang,
    Shen and Kim (2024), Parallelizing linear transformers with the delta rule over sequence length.
    """

    State = DeltaNetState
    #: Whether the memory fades and what is read passes a gate.
    gated: ClassVar[bool] = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 70,
        layers: int = 1,
        heads: int = 2,
        taps: int = 4,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.heads, self.taps = whole_number("heads", heads), whole_number("taps", taps)
        demand_multiple(self.width, self.heads)
        sizes = self.width, self.heads, self.taps, self.gated
        self._add_blocks(_Block(*sizes, self._place) for _ in range(self.layers))

    @classmethod
    def _matched_step(cls, options: dict[str, Any]) -> int:
        return options.get("heads", 2)

    def _start(self, batch: int, channels: int) -> DeltaNetState:
        size = self.width // self.heads
        samples = self._zeros(batch, self.layers, self.taps - 1, 3 * self.width)
        return DeltaNetState(samples, self._zeros(batch, self.layers, self.heads, size, size))


class GatedDeltaNet(DeltaNet):
    """Blocks of the gated delta rule: what is stored fades by a learnt factor before each write.

    As `DeltaNet`, with two additions of its authors: the memory of each head is multiplied by a number below one that
    depends on the sample, and what is read passes a gate.

    Parameters
    ----------
    inputs, outputs, width, layers, heads, taps, device, dtype
        As in `DeltaNet`.

    Examples
    --------
    >>> model = GatedDeltaNet(inputs=3, outputs=2, width=8)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.memory.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 1, 2, 4, 4]))

    References
    ----------
    Yang, Kautz and Hatamizadeh (2025), Gated delta networks: improving Mamba2 with delta rule.
    """

    gated = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 60,
        layers: int = 1,
        heads: int = 2,
        taps: int = 4,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, heads, taps, device, dtype)


class _Block(nn.Module):
    """x + mixer(norm(x))."""

    def __init__(self, width: int, heads: int, taps: int, gated: bool, place: dict[str, Any]) -> None:
        super().__init__()
        self.heads, self.gated = heads, gated
        self.norm = nn.RMSNorm(width, eps=1e-5, **place)
        self.enter = nn.Linear(width, 3 * width, bias=False, **place)
        self.convolution = ShortConvolution(3 * width, taps, **place)
        self.to_beta = nn.Linear(width, heads, bias=False, **place)
        if gated:
            self.to_fading = nn.Linear(width, heads, **place)
            self.gate = nn.Linear(width, width, bias=False, **place)
        self.norm_read = nn.RMSNorm(width // heads, eps=1e-5, **place)
        self.leave = nn.Linear(width, width, bias=False, **place)
        if gated:
            lives = torch.empty(heads, **place).uniform_(math.log(SHORTEST_LIFE), math.log(LONGEST_LIFE)).exp()
            with torch.no_grad():
                self.to_fading.bias.copy_(torch.log(torch.expm1(1 / lives)))  # softplus of it is the rate of fading

    def forward(
        self, x: Tensor, samples: Tensor, memory: Tensor, lengths: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        seen = self.norm(x)
        mixed, samples = self.convolution(self.enter(seen), samples, lengths)
        parts = functional.silu(mixed).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        queries, keys = functional.normalize(parts[:2], dim=-1).unbind(0)
        # In the padding nothing is written, and nothing fades.
        betas = _only_real(torch.sigmoid(self.to_beta(seen)).mT, real)
        if self.gated:
            fading = _only_real(functional.softplus(self.to_fading(seen)).mT, real)
            reads, bank = fading_delta_rule(keys, parts[2], betas, fading, queries, memory.mT)
        else:
            reads, bank = delta_rule(keys, parts[2], betas, queries, memory.mT)
        read = self.norm_read(reads).transpose(1, 2).flatten(2)
        if self.gated:
            read = read * functional.silu(self.gate(seen))
        return x + self.leave(read), samples, bank.mT


def _only_real(part: Tensor, real: Tensor | None) -> Tensor:
    return part if real is None else torch.where(real[:, None], part, 0.0)
