"""Gated DeltaNet: the delta rule in a memory that also fades, as fast as the sample says."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import whole_number
from hippozoo.baselines._short_convolution import ShortConvolution
from hippozoo.baselines.base import Baseline
from hippozoo.baselines.deltanet import DeltaNetState
from hippozoo.layers import Timing
from hippozoo.layers.delta_rule import STRETCH

__all__ = ["GatedDeltaNet", "fading_delta_rule"]

# At the start a head forgets by a factor of e in between these many samples, drawn log-uniformly.
SHORTEST_LIFE, LONGEST_LIFE = 10.0, 1000.0

Keys = Float[Tensor, "*batch time coefficients"]
Values = Float[Tensor, "*batch time channels"]
Gates = Float[Tensor, "*batch time"]
Bank = Float[Tensor, "*batch channels coefficients"]


class GatedDeltaNet(Baseline):
    """Blocks of the gated delta rule: what is stored fades by a learnt factor before each write.

    As `DeltaNet`, with two additions of its authors: the memory of each head is multiplied by a number below one that
    depends on the sample, and what is read passes a gate.

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
    >>> model = GatedDeltaNet(inputs=3, outputs=2, width=8)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.memory.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 1, 2, 4, 4]))

    References
    ----------
    Yang, Kautz and Hatamizadeh (2025), Gated delta networks: improving Mamba2 with delta rule.
    """

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
        self.to_fading = nn.Linear(width, heads, **place)
        self.gate = nn.Linear(width, width, bias=False, **place)
        self.norm_read = nn.RMSNorm(width // heads, eps=1e-5, **place)
        self.leave = nn.Linear(width, width, bias=False, **place)
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
        betas = torch.sigmoid(self.to_beta(seen)).mT
        fading = functional.softplus(self.to_fading(seen)).mT
        if real is not None:  # in the padding nothing is written, and nothing fades
            betas, fading = (torch.where(real[:, None], part, 0.0) for part in (betas, fading))
        reads, bank = fading_delta_rule(keys, parts[2], betas, fading, queries, memory.mT)
        read = self.norm_read(reads).transpose(1, 2).flatten(2) * functional.silu(self.gate(seen))
        return x + self.leave(read), samples, bank.mT


def fading_delta_rule(
    keys: Keys, values: Values, gates: Gates, fading: Gates, queries: Keys, bank: Bank
) -> tuple[Values, Bank]:
    """At every time the bank is multiplied by ``exp(-fading)``, then written by the delta rule, then read.

    As in `hippozoo.layers.delta_rule`, what the writes of a stretch of time correct solves a triangular system; here a
    correction counts for later ones as far as it has not faded. All factors are at most one, so nothing overflows.

    Examples
    --------
    >>> keys, ones = torch.eye(3)[None], torch.ones(1, 3)
    >>> reads, bank = fading_delta_rule(keys, torch.ones(1, 3, 2), ones, ones, keys, torch.zeros(1, 2, 3))
    >>> bank[0, 0].log().tolist()
    [-2.0, -1.0, 0.0]
    """
    pieces = []
    parts = (part.split(STRETCH, -2) for part in (keys, values, queries))
    both = (part.split(STRETCH, -1) for part in (gates, fading))
    for key, value, query, gate, fade in zip(*parts, *both, strict=True):
        reads, bank = _one_stretch(key, value, gate, fade, query, bank)
        pieces.append(reads)
    return (pieces[0] if len(pieces) == 1 else torch.cat(pieces, -2)), bank


def _one_stretch(
    keys: Keys, values: Values, gates: Gates, fading: Gates, queries: Keys, bank: Bank
) -> tuple[Values, Bank]:
    age = fading.cumsum(-1)  # since the beginning of the stretch
    left = torch.exp(-age)[..., None]
    # How much of the write at s is left at t >= s; later ones are cut off before the exponential could overflow.
    since = torch.tril(age[..., :, None] - age[..., None, :])
    kept = torch.tril(torch.exp(-since) * gates[..., None, :])
    earlier = torch.tril((keys @ keys.mT) * kept, -1)
    before = bank.mT
    missing = values - left * (keys @ before)
    if missing.shape[-2] == 1:  # a single write corrects what is missing, and ONNX knows no triangular systems
        errors = missing
    else:
        errors = torch.linalg.solve_triangular(earlier, missing, upper=False, unitriangular=True)
    reads = left * (queries @ before) + ((queries @ keys.mT) * kept) @ errors
    changes = kept[..., -1, :, None] * errors
    return reads, left[..., -1:, :] * bank + changes.mT @ keys
