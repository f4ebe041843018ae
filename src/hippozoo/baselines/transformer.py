"""Transformer: causal attention over the last samples; its streaming state is the cache of keys and values."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import one_of, whole_number
from hippozoo.baselines._short_convolution import last_samples
from hippozoo.baselines.base import Baseline, demand_multiple
from hippozoo.layers import Timing

__all__ = ["Positions", "Transformer", "TransformerState"]

Positions = Literal["none", "sinusoidal", "learnt"]
# The slowest wave of the sinusoidal positions has this many samples over 2 pi.
LONGEST_WAVE = 10_000.0
# Spread of learnt positions at the start: that of GPT-2 and of most since.
PLACE_STD = 0.02


class TransformerState(NamedTuple):
    """What a transformer carries on: all that attention will look at again.

    Keys and values of the last `context` samples, oldest first, zeros where there were none yet; and how many samples
    each item has had.
    """

    keys: Float[Tensor, "batch layers context width"]
    values: Float[Tensor, "batch layers context width"]
    seen: Int[Tensor, " batch"]


class Transformer(Baseline):
    """Pre-norm blocks of causal attention and a GELU network, each with a way around.

    Every sample attends to itself and to those before it, at most `context` in all, so that the state has one size
    however long the stream is. Without positions a single layer cannot tell the order of what it sees.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`; the width is a multiple of `heads`.
    heads
        Attention heads.
    positions
        ``"none"``; ``"sinusoidal"``: waves of the sample's number are added to the input; they cost no parameters; or
        ``"learnt"``: a learnt vector for each of `context` places, after which they begin anew.
    context
        Most samples that attention looks at.

    Examples
    --------
    >>> model = Transformer(inputs=32, outputs=32)
    >>> y, state = model(torch.randn(5, 30, 32))
    >>> y.shape, state.keys.shape, sum(parameter.numel() for parameter in model.parameters())
    (torch.Size([5, 30, 32]), torch.Size([5, 1, 128, 44]), 26784)

    References
    ----------
    Vaswani et al. (2017), Attention is all you need.
    """

    power = 2  # the norms take squares

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 44,
        layers: int = 1,
        heads: int = 4,
        positions: Positions = "none",
        context: int = 128,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.heads, self.context = whole_number("heads", heads), whole_number("context", context)
        demand_multiple(self.width, self.heads)
        self.positions: Positions = one_of("positions", positions, get_args(Positions))
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        self.blocks = nn.ModuleList(_Block(self.width, self.heads, self._place) for _ in range(self.layers))
        if positions == "learnt":
            self.places = nn.Embedding(self.context, self.width, **self._place)
            nn.init.normal_(self.places.weight, std=PLACE_STD)
        self.norm = nn.LayerNorm(self.width, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    @classmethod
    def _matched_step(cls, options: dict[str, Any]) -> int:
        return options.get("heads", 4)

    def _start(self, batch: int, channels: int) -> TransformerState:
        keys, values = (self._zeros(batch, self.layers, self.context, self.width) for _ in range(2))
        return TransformerState(keys, values, torch.zeros(batch, dtype=torch.long, device=self.device))

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, TransformerState]:
        # Piece by piece, so that time and memory grow with the length of a sequence and not with its square.
        lengths, outputs = timing.lengths, []
        for number, piece in enumerate(x.split(self.context, 1)):
            left = None if lengths is None else (lengths - number * self.context).clamp(0, piece.shape[1])
            y, state = self._piece(piece, state, left)
            outputs.append(y)
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1)), state

    def _piece(
        self, x: Tensor, state: TransformerState | None, lengths: Tensor | None
    ) -> tuple[Tensor, TransformerState]:
        """At most `context` samples."""
        before = self._begin(x, state)
        n_steps = x.shape[1]
        x = self.encoder(x)
        if self.positions != "none":
            numbers = before.seen[:, None] + torch.arange(n_steps, device=x.device)
            if self.positions == "learnt":
                x = x + self.places(numbers % self.context)
            else:
                x = x + waves(numbers, self.width).to(x)
        fresh = state is None  # nothing is cached, and torch knows the mask
        mask = None if fresh else self._mask(before.seen, n_steps)
        caches = []
        for number, block in enumerate(self.blocks):
            cache = before.keys[:, number], before.values[:, number]
            x, keys, values = block(x, None if fresh else cache, mask)
            caches.append([last_samples(old, new, lengths) for old, new in zip(cache, (keys, values), strict=True)])
        keys, values = (torch.stack(parts, 1) for parts in zip(*caches, strict=True))
        seen = before.seen + (n_steps if lengths is None else lengths)
        return self.readout(self.norm(x)), TransformerState(keys, values, seen)

    def _mask(self, seen: Tensor, n_steps: int) -> Tensor:
        """Which of cache and samples each sample may look at, (batch, 1, time, context + time)."""
        here = torch.arange(n_steps, device=seen.device)[:, None]
        there = torch.arange(-self.context, n_steps, device=seen.device)
        recent = (there <= here) & (there > here - self.context)
        return (recent & (there >= -seen[:, None, None]))[:, None]


class _Block(nn.Module):
    """x + attention(norm(x)), then x + network(norm(x))."""

    def __init__(self, width: int, heads: int, place: dict[str, Any]) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_network = nn.LayerNorm(width, **place), nn.LayerNorm(width, **place)
        self.look = nn.Linear(width, 3 * width, **place)
        self.leave = nn.Linear(width, width, **place)
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width, **place), nn.GELU(), nn.Linear(4 * width, width, **place)
        )

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, values = self.look(self.norm_attention(x)).chunk(3, dim=-1)
        seen = [keys, values]
        if cache is not None:
            seen = [torch.cat(both, 1) for both in zip(cache, seen, strict=True)]
        parts = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, *seen))
        read = functional.scaled_dot_product_attention(*parts, attn_mask=mask, is_causal=mask is None)
        x = x + self.leave(read.transpose(1, 2).flatten(2))
        return x + self.network(self.norm_network(x)), keys, values


def waves(places: Int[Tensor, "batch time"], width: int) -> Float[Tensor, "batch time width"]:
    """Sines and cosines of a sample's number, from one sample to ten thousand over 2 pi."""
    count = (width + 1) // 2
    speeds = torch.exp(-math.log(LONGEST_WAVE) * torch.arange(count, device=places.device) / count)
    angles = places[..., None] * speeds
    return torch.cat([angles.sin(), angles.cos()], -1)[..., :width]
