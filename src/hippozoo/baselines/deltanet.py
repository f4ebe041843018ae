"""DeltaNet: linear attention whose memory is corrected, not only added to."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import whole_number
from hippozoo.baselines._short_convolution import ShortConvolution
from hippozoo.baselines.base import Baseline
from hippozoo.layers import Timing
from hippozoo.layers.delta_rule import delta_rule

__all__ = ["DeltaNet", "DeltaNetState"]


class DeltaNetState(NamedTuple):
    """What DeltaNet carries on.

    Parameters
    ----------
    samples
        The last samples of queries, keys and values, for the short convolution.
    memory
        What is stored: keys to values, head by head.

    Examples
    --------
    >>> from hippozoo.baselines import DeltaNet
    >>> state = DeltaNet(3, 2, width=8).initial_state(batch=4)
    >>> state.memory.shape[:2]
    torch.Size([4, 1])
    """

    samples: Float[Tensor, "batch layers kept thrice"]
    memory: Float[Tensor, "batch layers heads size size"]


class DeltaNet(Baseline):
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
        if self.width % self.heads:
            raise ValueError(f"width={width} is no multiple of heads={heads}; pass one that is.")
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        blocks = (_Block(self.width, self.heads, self.taps, self._place) for _ in range(self.layers))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.RMSNorm(self.width, eps=1e-5, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    @classmethod
    def _matched_step(cls, options: dict[str, Any]) -> int:
        return options.get("heads", 2)

    def _start(self, batch: int, channels: int) -> DeltaNetState:
        place, size = {"dtype": self.dtype, "device": self.device}, self.width // self.heads
        samples = torch.zeros(batch, self.layers, self.taps - 1, 3 * self.width, **place)
        return DeltaNetState(samples, torch.zeros(batch, self.layers, self.heads, size, size, **place))

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, DeltaNetState]:
        before = self._begin(x, state)
        x = self.encoder(x)
        after = []
        for number, block in enumerate(self.blocks):
            x, samples, memory = block(
                x, before.samples[:, number], before.memory[:, number], timing.lengths, timing.real
            )
            after.append((samples, memory))
        samples, memory = (torch.stack(parts, 1) for parts in zip(*after, strict=True))
        return self.readout(self.norm(x)), DeltaNetState(samples, memory)


class _Block(nn.Module):
    """x + mixer(norm(x))."""

    def __init__(self, width: int, heads: int, taps: int, place: dict[str, Any]) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(width, eps=1e-5, **place)
        self.enter = nn.Linear(width, 3 * width, bias=False, **place)
        self.convolution = ShortConvolution(3 * width, taps, **place)
        self.to_beta = nn.Linear(width, heads, bias=False, **place)
        self.norm_read = nn.RMSNorm(width // heads, eps=1e-5, **place)
        self.leave = nn.Linear(width, width, bias=False, **place)

    def forward(
        self, x: Tensor, samples: Tensor, memory: Tensor, lengths: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        seen = self.norm(x)
        mixed, samples = self.convolution(self.enter(seen), samples, lengths)
        parts = functional.silu(mixed).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        queries, keys = functional.normalize(parts[:2], dim=-1).unbind(0)
        betas = torch.sigmoid(self.to_beta(seen)).mT
        if real is not None:  # nothing is written in the padding
            betas = torch.where(real[:, None], betas, 0.0)
        reads, bank = delta_rule(keys, parts[2], betas, queries, memory.mT)
        return x + self.leave(self.norm_read(reads).transpose(1, 2).flatten(2)), samples, bank.mT
