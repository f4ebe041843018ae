"""Mamba with single parts taken away."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo.baselines import Mamba

__all__ = ["PARTS", "without"]

#: What can be taken away, in words.
PARTS = {
    "write": "input-dependent write",
    "read": "input-dependent read",
    "clock": "input-dependent time",
    "gate": "gate",
    "taps": "short convolution",
}
# silu of it is one: a gate that lets everything pass.
OPEN = 1.2784645


class _Fixed(nn.Module):
    """A linear map some of whose outputs are learnt constants, or one given number, for every sample."""

    def __init__(self, linear: nn.Linear, begin: int, end: int, value: float | None = None) -> None:
        super().__init__()
        size, (count, inputs) = end - begin, linear.weight.shape
        self.begin = begin
        self.linear = nn.Linear(inputs, count - size, bias=linear.bias is not None)
        start = torch.randn(size) / math.sqrt(size) if value is None else torch.full((size,), value)
        if value is None:
            self.constant = nn.Parameter(start)
        else:
            self.register_buffer("constant", start)

    def forward(self, x: Tensor) -> Tensor:
        """All outputs, in their order."""
        free = self.linear(x)
        fixed = self.constant.expand(*x.shape[:-1], -1)
        return torch.cat([free[..., : self.begin], fixed, free[..., self.begin :]], -1)


def without(
    part: str, width: int, layers: int = 1, inputs: int = 1, outputs: int = 1, dt_rank: int | None = None
) -> Mamba:
    """Mamba without one of its parts.

    Parameters
    ----------
    part
        ``"write"``: B does not depend on the sample; ``"read"``: C does not; ``"gate"``: everything passes; ``"taps"``:
        no short convolution; ``"clock"``: time steps do not depend on the sample; ``"nothing"``: Mamba as it is.
    """
    model = Mamba(inputs, outputs, width, layers, taps=1 if part == "taps" else 4, dt_rank=dt_rank)
    for block in model.blocks:
        some: Any = block
        rank, order, inner = some.rank, some.order, some.enter.weight.shape[0] // 2
        if part == "write":
            some.select = _Fixed(some.select, rank, rank + order)
        elif part == "read":
            some.select = _Fixed(some.select, rank + order, rank + 2 * order)
        elif part == "clock":
            some.select = _Fixed(some.select, 0, rank)
        elif part == "gate":
            some.enter = _Fixed(some.enter, inner, 2 * inner, OPEN)
        elif part not in ("taps", "nothing"):
            raise ValueError(f"part={part!r}; choose from write, read, gate, taps, clock, nothing.")
    return model
