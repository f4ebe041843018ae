"""Salience one sample at a time, in as few operations as it takes; nothing is checked, and no gradient is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["streamed"]

Step = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


def streamed(layer: SalienceLayer) -> Step:
    """What takes one sample of a layer whose weights do not change any more."""
    if not layer._terms.numel():
        return layer._single
    network, like, order = layer.network, layer._rule, layer.system.order
    terms = layer._terms.flatten(1)
    number = torch.arange(len(terms), dtype=terms.dtype, device=terms.device)
    # The angle of the Chebyshev polynomials: 2 h / reach - 1 for a step h = largest * sigmoid * dt / timescale.
    pace = 2 * layer.largest * layer.dt / layer.system.timescale / layer._reach
    hidden_weight, hidden_bias = network.hidden_map(like)
    by_sample, by_summary = hidden_weight[:, : layer.channels].mT, hidden_weight[:, layer.channels :].mT
    out_weight, out_bias = network.output(like)
    out_T = out_weight.mT.contiguous()
    pooling = network.pooling(like) if layer.summary else None
    pool_T = pooling.weight.mT.contiguous() if pooling is not None else None
    functional = layer.functional if layer.readout == "shared" else None
    output = layer._output() if layer.readout == "full" else None
    linear: nn.Module | None = layer.output if layer.readout == "shared" and layer.outputs else None

    def one(x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        if steps is not None:
            return layer._single(x, state, steps)
        hidden = torch.addmm(hidden_bias, x, by_sample)
        if pooling is not None and pool_T is not None:
            summary = (state @ pool_T).add_(pooling.bias).tanh_().mean(1)
            hidden = hidden.addmm_(summary, by_summary)
        score = torch.addmm(out_bias, nn.functional.softplus(hidden), out_T).sigmoid_()
        angle = score.mul_(pace).sub_(1.0).clamp_(-1.0, 1.0).arccos_()
        both = (torch.cos(angle[..., None] * number) @ terms).view(*angle.shape, order + 1, order)
        if layer.per_channel:
            moved = (state[..., None, :] @ both[..., :-1, :])[..., 0, :]
            state = torch.addcmul(moved, x[..., None], both[..., -1, :])
        else:
            state = torch.baddbmm(x[..., None] * both[:, 0, -1:], state, both[:, 0, :-1])
        if functional is not None:
            y = state @ functional
            return y if linear is None else linear(y), state
        return state if output is None else nn.functional.linear(state.flatten(1), *output), state

    return one
