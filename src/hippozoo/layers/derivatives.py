"""Functions with a backward pass of their own; and stretches of time that the backward pass makes again.

Where such a function is differentiated twice (``create_graph=True``), inside ``torch.func`` and in a compiled graph,
its definition in plain torch takes its place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint


def inside_torch_func() -> bool:
    """Whether ``grad``, ``vmap`` or another transform is at work, or forward derivatives; they take no checkpoints."""
    # There is no public way to ask; torch asks so before it refuses a backward pass of our own.
    if torch.compiler.is_compiling():
        return False
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def torch_looks_inside() -> bool:
    """Whether every operation is to be seen: by a compiler, or by a transform of ``torch.func``."""
    return torch.compiler.is_compiling() or inside_torch_func()


def make_again(one: Callable[..., Any], *arguments: Any, when: bool) -> Any:
    """``one(*arguments)``; with `when`, what it computes is not kept, and the backward pass makes it again."""
    if when and torch.is_grad_enabled() and not inside_torch_func():
        return checkpoint(one, *arguments, use_reentrant=False, preserve_rng_state=False)
    return one(*arguments)


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


def with_own_backward(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    definition: Callable[..., Any],
    *inputs: Tensor | None,
    takes_none: bool = False,
) -> Any:
    """``definition(*inputs)``, a tensor or several, by passes of its own where torch need not look inside.

    ``forward(*inputs)`` gives the outputs and the tensors to keep. ``backward(gradients, inputs, kept, needed)`` gives
    the gradients of all inputs; `needed` says of each whether anybody asks for it. Gradients of outputs that nobody
    uses are zeros, or None where `backward` takes that.
    """
    if torch_looks_inside():
        return definition(*inputs)
    return _OwnBackward.apply(forward, (backward, definition), takes_none, *inputs)


class _OwnBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forward: Any, passes: Any, takes_none: bool, *inputs: Tensor | None) -> Any:
        outputs, kept = forward(*inputs)
        ctx.passes, ctx.count = passes, len(inputs)
        ctx.set_materialize_grads(not takes_none)
        ctx.save_for_backward(*inputs, *kept)
        return outputs

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        backward, definition = ctx.passes
        saved = ctx.saved_tensors  # asked for once: a checkpoint makes them only once
        inputs, kept = saved[: ctx.count], saved[ctx.count :]
        if differentiated_again(*(one for one in gradients if one is not None)):
            return None, None, None, *_gradients_by_definition(definition, inputs, gradients)
        return None, None, None, *backward(gradients, inputs, kept, ctx.needs_input_grad[3:])


def _gradients_by_definition(definition: Any, inputs: tuple[Tensor | None, ...], gradients: Any) -> list[Tensor | None]:
    """What a backward pass returns, so that it can be differentiated as often as one likes."""

    def of_tensors(*tensors: Tensor) -> Any:
        given = iter(tensors)
        return definition(*(None if one is None else next(given) for one in inputs))

    outputs, pull_back, *_ = torch.func.vjp(of_tensors, *(one for one in inputs if one is not None))
    if isinstance(outputs, Tensor):
        found = iter(pull_back(gradients[0]))
    else:
        pairs = zip(gradients, outputs, strict=True)
        found = iter(pull_back(tuple(torch.zeros_like(y) if one is None else one for one, y in pairs)))
    return [None if one is None else next(found) for one in inputs]
