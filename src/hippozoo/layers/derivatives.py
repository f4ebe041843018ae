"""For functions with a backward pass of their own: where it does not do, the same function in plain torch does.

A backward pass written by hand is right once, and only autograd calls it. Where it is differentiated itself
(``create_graph=True``), inside ``torch.func`` and in a compiled graph, the definition takes its place: slower, exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def inside_torch_func() -> bool:
    """Whether ``grad``, ``vmap`` or another transform is at work; they take no checkpoints."""
    # There is no public way to ask; torch asks so before it refuses a backward pass of our own.
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def torch_looks_inside() -> bool:
    """Whether every operation is to be seen: by a compiler, or by a transform of ``torch.func``."""
    return torch.compiler.is_compiling() or inside_torch_func()


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
