"""The selective scan of Mamba: compiled loops for float32 on the CPU, a tree in plain torch everywhere else.

For every item, channel e and coefficient n: ``h[t] = exp(step[t] A) h[t - 1] + step[t] x[t] B[t]``, and the output is
the sum of ``C[t] h[t]`` over n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.baselines import _kernels
from hippozoo.layers.derivatives import make_again, torch_looks_inside, with_own_backward

# Numbers of one kind that the tree holds at a time; the backward pass makes longer sequences again.
HELD = 1 << 20

Samples = Float[Tensor, "batch time channels"]
Weights = Float[Tensor, "batch time order"]
State = Float[Tensor, "batch order channels"]


def selective_scan(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """Outputs at every sample, and the state after the last; a step of 0 leaves the state as it was."""
    given = x, steps, A, B, C, state
    fits = all(part.dtype == torch.float32 and part.device.type == "cpu" for part in given)
    return with_own_backward(_forward, _backward, all_at_once, *given) if fits else all_at_once(*given)


def all_at_once(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """The same without a loop over time, in stretches of as many samples as memory allows."""
    if torch_looks_inside():
        return _as_tree(steps, steps * x, B, C, A, state)
    stretch = max(1, HELD // max(1, x.shape[0] * A.numel()))
    outputs = []
    parts: Any = (part.split(stretch, 1) for part in (steps, steps * x, B, C))
    for arguments in zip(*parts, strict=True):
        y, state = make_again(_as_tree, *arguments, A, state, when=stretch < x.shape[1])
        outputs.append(y)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1), state


def _as_tree(steps: Tensor, pushes: Tensor, B: Tensor, C: Tensor, A: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    decays = torch.exp(steps[:, :, None] * A)
    arrived = B[..., None] * pushes[:, :, None]
    arrived = torch.cat([torch.addcmul(arrived[:, :1], decays[:, :1], state[:, None]), arrived[:, 1:]], 1)
    states = scan_as_tree(decays, arrived)
    return (C[:, :, None] @ states).squeeze(2), states[:, -1]


def scan_as_tree(
    decays: Float[Tensor, "batch time *rest"], arrived: Float[Tensor, "batch time *rest"]
) -> Float[Tensor, "batch time *rest"]:
    """``h[t] = decays[t] * h[t - 1] + arrived[t]`` at all times; before the first there was nothing.

    Pairs of neighbouring times are merged; only products of decays occur, so nothing overflows where the loop does not.
    """
    n_steps = arrived.shape[1]
    if n_steps == 1:
        return arrived
    even = n_steps - n_steps % 2
    decay_0, decay_1 = decays[:, 0:even:2], decays[:, 1:even:2]
    first, second = arrived[:, 0:even:2], arrived[:, 1:even:2]
    after_second = scan_as_tree(decay_0 * decay_1, torch.addcmul(second, decay_1, first))
    after_first = torch.addcmul(first[:, 1:], decay_0[:, 1:], after_second[:, :-1])
    after_first = torch.cat([first[:, :1], after_first], 1)
    states = torch.stack([after_first, after_second], 2).flatten(1, 2)
    if even == n_steps:
        return states
    last = torch.addcmul(arrived[:, -1:], decays[:, -1:], states[:, -1:])
    return torch.cat([states, last], 1)


def one_by_one(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """The definition, sample after sample, in operations that torch differentiates itself."""
    outputs = []
    for step, push, b, c in zip(*(part.unbind(1) for part in (steps, steps * x, B, C)), strict=True):
        state = torch.exp(step[:, None] * A) * state + b[..., None] * push[:, None]
        outputs.append((c[:, None] @ state).squeeze(1))
    return torch.stack(outputs, 1), state


def _forward(
    x: Tensor, steps: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, ...]]:
    after = state.clone(memory_format=torch.contiguous_format)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    _kernels.scan(*_arrays(steps, steps * x, A, B, C), *_arrays(after, y))
    return (y, after), ()


def _backward(gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor, ...]:
    (x, steps, A, B, C, state), (grad_y, grad_state) = inputs, gradients
    carried = grad_state.clone(memory_format=torch.contiguous_format)
    found = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in (steps, x, A, B, C)]
    _kernels.scan_back(*_arrays(steps, steps * x, A, B, C, state, grad_y, carried, *found))
    grad_steps, grad_pushes, grad_A, grad_B, grad_C = found
    return grad_pushes * steps, grad_steps.addcmul_(grad_pushes, x), grad_A, grad_B, grad_C, carried


def _arrays(*parts: Tensor) -> list[np.ndarray]:
    return [part.detach().contiguous().numpy() for part in parts]
