"""For functions with a backward pass of their own: where it does not do, the same function in plain torch does.

That is where it is differentiated itself (``create_graph=True``), inside ``torch.func`` and in a compiled graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def inside_torch_func() -> bool:
    """Whether ``grad``, ``vmap`` or another transform is at work, or forward derivatives; they take no checkpoints."""
    # There is no public way to ask; torch asks so before it refuses a backward pass of our own.
    if torch.compiler.is_compiling():
        return False
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def torch_looks_inside() -> bool:
    """Whether every operation is to be seen: by a compiler, or by a transform of ``torch.func``."""
    return torch.compiler.is_compiling() or inside_torch_func()


def without_autocast(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward pass in its own precision where ``backward()`` is called inside ``torch.autocast``."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        kind = next((one.device.type for one in gradients if isinstance(one, Tensor)), "cpu")
        if kind == "meta" or not torch.is_autocast_enabled(kind):
            return backward(ctx, *gradients)
        with torch.autocast(kind, enabled=False):
            return backward(ctx, *gradients)

    return wrapped


def differentiated_again(*gradients: Tensor) -> bool:
    """Asked in a backward pass: whether its result has derivatives too, or stands for a batch of gradients."""
    inside_vmap = torch._C._functorch.is_batchedtensor  # pyright: ignore[reportAttributeAccessIssue]
    return torch.is_grad_enabled() or any(inside_vmap(gradient) for gradient in gradients)


def gradients_by_definition(
    definition: Callable[..., Any], inputs: tuple[Tensor, ...], gradients: Any
) -> tuple[Tensor, ...]:
    """What a backward pass returns, so that it can be differentiated as often as one likes."""
    pull_back = torch.func.vjp(definition, *inputs)[1]
    return pull_back(gradients)
