"""A GRU of one layer with its own backward pass, in compiled loops: on a processor torch's takes twice as long."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hippozoo.baselines import _kernels
from hippozoo.layers.derivatives import torch_looks_inside

__all__ = ["CompiledGRU"]


class CompiledGRU(nn.GRU):
    """``nn.GRU(inputs, width, batch_first=True)`` with the same weights and the same outputs, in less time.

    Numbers of another precision or on another device, and graphs in which torch looks inside, go torch's own way.
    Gradients cannot be differentiated again.

    Parameters
    ----------
    inputs
        Numbers in a sample.
    width
        Numbers in the hidden state.

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
        y = _Cells.apply(entered, before, self.weight_hh_l0, self.bias_hh_l0)
        assert isinstance(y, Tensor)
        return y, y[None, :, -1]


class _Cells(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, entered: Tensor, state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        entered, state = entered.contiguous(), state.contiguous()
        batch, n_steps, _ = entered.shape
        gates = torch.empty_like(entered)
        old, y = (entered.new_empty(batch, n_steps, state.shape[1]) for _ in range(2))
        parts = entered, weight.t().contiguous(), bias, state, gates, old, y
        _kernels.gru(*(part.detach().numpy() for part in parts))
        ctx.save_for_backward(state, weight, gates, old, y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_y: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        state, weight, gates, old, y = ctx.saved_tensors
        carried = torch.zeros_like(state)
        of_entered, of_brought = torch.empty_like(gates), torch.empty_like(gates)
        parts = weight.contiguous(), state, gates, old, y, of_y.contiguous(), carried, of_entered, of_brought
        _kernels.gru_back(*(part.detach().numpy() for part in parts))
        hidden = torch.cat([state[:, None], y[:, :-1]], 1)
        flat = of_brought.flatten(0, 1)
        return of_entered, carried, flat.t() @ hidden.flatten(0, 1), flat.sum(0)
