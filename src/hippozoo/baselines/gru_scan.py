"""A GRU of one layer with its own backward pass, in compiled loops: on a processor torch's takes twice as long.

Its hidden state may fade from sample to sample, as in GRU-D.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hippozoo.baselines import _kernels
from hippozoo.layers.derivatives import torch_looks_inside, without_autocast

__all__ = ["CompiledGRU", "fading_gru"]


class CompiledGRU(nn.GRU):
    """``nn.GRU(inputs, width, batch_first=True)`` with the same weights and the same outputs, in less time.

    Numbers of another precision or on another device, and graphs in which torch looks inside, go torch's own way.
    Gradients cannot be differentiated again.

    Examples
    --------
    >>> cells = CompiledGRU(3, 5)
    >>> x = torch.randn(2, 7, 3)
    >>> torch.allclose(cells(x)[0], nn.GRU.forward(cells, x)[0], atol=1e-6)
    True
    """

    # What torch's class makes, but does not declare.
    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, batch_first=True)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Hidden states at every sample, (batch, time, width), and the last one, (1, batch, width)."""
        if torch_looks_inside() or x.dtype != torch.float32 or x.device.type != "cpu":
            return super().forward(x, state)
        before = x.new_zeros(len(x), self.hidden_size) if state is None else state[0]
        entered = functional.linear(x, self.weight_ih_l0, self.bias_ih_l0)
        still = x.new_ones(*x.shape[:2], self.hidden_size)
        y = cast(Tensor, _Cells.apply(entered, still, before, self.weight_hh_l0, self.bias_hh_l0))
        return y, y[None, :, -1]


def fading_gru(
    entered: Float[Tensor, "batch time gates"],
    fading: Float[Tensor, "batch time width"],
    state: Float[Tensor, "batch width"],
    weight: Float[Tensor, "gates width"],
    bias: Float[Tensor, " gates"],
) -> Float[Tensor, "batch time width"]:
    """Hidden states of a GRU whose hidden state is multiplied by `fading` after every sample.

    `entered` is what the samples bring to the gates: reset, update, proposal; `weight` and `bias` are of what the
    hidden state brings. `state` is the hidden state before the first sample, already faded.
    """
    if not torch_looks_inside() and entered.dtype == torch.float32 and entered.device.type == "cpu" and entered.numel():
        return cast(Tensor, _Cells.apply(entered, fading, state, weight, bias))
    found = []
    for now, fade in zip(entered.unbind(1), fading.unbind(1), strict=True):
        (reset, update, new), brought = now.chunk(3, -1), functional.linear(state, weight, bias).chunk(3, -1)
        proposal = torch.tanh(new + torch.sigmoid(reset + brought[0]) * brought[2])
        found.append(torch.lerp(proposal, state, torch.sigmoid(update + brought[1])))
        state = found[-1] * fade
    return torch.stack(found, 1)


class _Cells(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, entered: Tensor, fading: Tensor, state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        entered, fading, state = entered.contiguous(), fading.contiguous(), state.contiguous()
        batch, n_steps, _ = entered.shape
        gates = torch.empty_like(entered)
        old, y = (entered.new_empty(batch, n_steps, state.shape[1]) for _ in range(2))
        parts = entered, weight.t().contiguous(), bias, fading, state, gates, old, y
        _kernels.gru(*(part.detach().numpy() for part in parts))
        ctx.save_for_backward(fading, state, weight, gates, old, y)
        return y

    @staticmethod
    @without_autocast
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_y: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        fading, state, weight, gates, old, y = ctx.saved_tensors
        carried, of_fading = torch.zeros_like(state), torch.empty_like(fading)
        of_entered, of_brought = torch.empty_like(gates), torch.empty_like(gates)
        parts = weight.contiguous(), fading, state, gates, old, y, of_y.contiguous(), carried
        outs = of_entered, of_brought, of_fading
        _kernels.gru_back(*(part.detach().numpy() for part in (*parts, *outs)))
        hidden = torch.cat([state[:, None], y[:, :-1] * fading[:, :-1]], 1)
        flat = of_brought.flatten(0, 1)
        return of_entered, of_fading, carried, flat.t() @ hidden.flatten(0, 1), flat.sum(0)
