"""Salience that sees its memory, through torch's scan operator: a graph whose size does not depend on the length.

The salience of a sample depends on the state before it, and not linearly: a recurrence without a parallel form. In a
compiled graph a loop over samples would be written out; the operator holds one step of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hippozoo.layers.stepping import copied

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["Step", "roll_scanned", "scan_compiles"]


def scan_compiles() -> bool:
    """Whether the compiler at work takes the operator: torch's own does so only where numbers may leave tensors."""
    from torch._dynamo import config

    return bool(config.capture_scalar_outputs)


class Step:
    """One sample of a layer with a series of its steps, in plain torch: salience, update matrices, new state."""

    def __init__(self, layer: SalienceLayer, like: Tensor) -> None:
        network = layer.network
        self.layer, self.order = layer, layer.system.order
        self.terms = layer._terms.flatten(1)
        self.number = torch.arange(len(self.terms), dtype=like.dtype, device=like.device)
        weight, self.out_bias = network.output(like)
        # Gradients are summed in tensors that lie as these do, and the scan operator wants them plain.
        self.out_T = copied(weight.mT)
        if layer.summary:
            pooling = network.pooling(like)
            self.pool_T, self.to_hidden = copied(pooling.weight.mT), copied(pooling.to_hidden)
            self.pool_bias = pooling.bias

    def __call__(self, state: Tensor, x: Tensor, part: Tensor, tick: Tensor | float) -> tuple[Tensor, Tensor]:
        """The new state and the salience; `part` is what the sample brings to the network, `tick` its time."""
        layer = self.layer
        if layer.summary:
            part = part + torch.tanh(state @ self.pool_T + self.pool_bias).mean(1) @ self.to_hidden
        salience = layer.largest * torch.sigmoid(nn.functional.softplus(part) @ self.out_T + self.out_bias)
        # Not the very ends, where the angle has no slope.
        place = (2 / layer._reach * salience * tick - 1).clamp(-1.0 + 1e-7, 1.0 - 1e-7)
        both = torch.cos(place.arccos()[..., None] * self.number) @ self.terms
        both = both.view(*salience.shape, self.order + 1, self.order)
        if layer.per_channel:
            moved = (state[..., None, :] @ both[..., :-1, :])[..., 0, :]
            return moved + x[..., None] * both[..., -1, :], salience
        return state @ both[:, 0, :-1] + x[..., None] * both[:, 0, -1:], salience


def roll_scanned(layer: SalienceLayer, x: Tensor, state: Tensor, ticks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Reads of the states, last state and salience; `ticks` is time per sample in timescales, (batch, time, 1)."""
    from torch._higher_order_ops.scan import scan

    step = Step(layer, x)

    def one(state: Tensor, given: Any) -> tuple[Tensor, Any]:
        after, salience = step(state, *given)
        return copied(after), (copied(after), copied(salience))

    moments = x.transpose(0, 1), layer.network.sample_part(x).transpose(0, 1), ticks.transpose(0, 1)
    last, (states, salience) = scan(one, copied(state), moments, dim=0)
    return layer._read(states.transpose(0, 1)), last, salience.transpose(0, 1)
