"""The numbers of a linear map, whatever has been put in its place: an adapter, a quantised map, a parametrisation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["weight_and_bias"]


def weight_and_bias(
    linear: nn.Module, inputs: int, like: Tensor
) -> tuple[Float[Tensor, "outputs inputs"], Float[Tensor, " outputs"] | None]:
    """Weight and bias of a linear map, for computations that fold them into others.

    A plain ``nn.Linear`` has them. Any other module in its place is called, so that it is heard and seen: what it makes
    of the unit vectors and of zeros is its weight and its bias, with their gradients.

    It takes `inputs` numbers, in the dtype and on the device of `like`.

    Examples
    --------
    >>> linear = nn.Linear(3, 2)
    >>> weight, bias = weight_and_bias(nn.Sequential(linear), 3, torch.empty(()))
    >>> torch.allclose(weight, linear.weight, atol=1e-6), torch.allclose(bias, linear.bias)
    (True, True)
    """
    if type(linear) is nn.Linear and not (linear._forward_hooks or linear._forward_pre_hooks):
        return linear.weight, linear.bias
    unit = torch.eye(inputs, dtype=like.dtype, device=like.device)
    found = linear(torch.cat([unit, torch.zeros_like(unit[:1])]))
    return (found[:-1] - found[-1]).mT, found[-1]
