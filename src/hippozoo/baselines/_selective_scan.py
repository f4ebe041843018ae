r"""The selective scan of Mamba, with its own backward pass: in compiled loops, or in plain torch.

For every item, channel e and coefficient n,

.. math:: h_t = e^{\Delta_t A} h_{t-1} + \Delta_t x_t B_t, \qquad y_t = \sum_n C_{t,n} h_{t,n}.

An autograd tape of this loop would hold several tensors of (batch, order, channels) for every sample. Here only the
state before each stretch of samples is kept; the backward pass makes the states of a stretch again and runs through
them in reverse. Tensors of one time, (batch, order, channels), stay in the cache, and channels are innermost, where
they are many and contiguous. Numbers of single precision in the machine's own memory go through compiled loops, one
sequence after the other, in less than a third of the time. On an accelerator and where torch is to see every operation,
all samples are taken at once (`all_at_once`). `one_by_one` is the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from hippozoo.baselines import _kernels
from hippozoo.layers.derivatives import (
    differentiated_again,
    gradients_by_definition,
    torch_looks_inside,
    without_autocast,
)
from hippozoo.layers.linear_scan import linear_scan, scan_as_tree

# Numbers of one kind that a scan without a loop holds at a time, and the fewest samples that are worth it. On a
# processor measured with benchmarks/bench_parallel_scans.py: with more than 2,048 numbers per sample the loop is as
# good. For accelerators both are a guess; nothing here has run on one.
ON_A_PROCESSOR, ELSEWHERE = (1 << 19, 256), (1 << 22, 16)
# Samples between kept states: longer saves memory before, and costs memory in the backward pass.
STRETCH = 16

Samples = Float[Tensor, "batch time channels"]
Weights = Float[Tensor, "batch time order"]
State = Float[Tensor, "batch order channels"]


def selective_scan(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """Outputs at every sample, and the state after the last; a step of 0 leaves the state as it was."""
    given = x, steps, A, B, C, state
    if torch_looks_inside() or x.device.type != "cpu":
        return all_at_once(*given)
    scan = _CompiledScan if compiled_loops_take(*given) else _SelectiveScan
    return scan.apply(*given)  # pyright: ignore[reportReturnType]


def all_at_once(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """The same without a loop over time: a scan (`linear_scan`), in stretches of as many numbers as memory allows."""
    if torch_looks_inside():
        return _as_tree(steps, steps * x, B, C, A, state)
    outputs = []
    held = x.shape[0] * A.numel()
    budget, shortest = ON_A_PROCESSOR if x.device.type == "cpu" else ELSEWHERE
    stretch = max(1, budget // max(1, held))
    if stretch < shortest:
        # Each sample is enough to be busy with.
        return _SelectiveScan.apply(x, steps, A, B, C, state)  # pyright: ignore[reportReturnType]
    parts: Any = (part.split(stretch, 1) for part in (steps, steps * x, B, C))
    for arguments in zip(*parts, strict=True):
        if stretch < x.shape[1] and torch.is_grad_enabled():
            y, state = checkpoint(_stretch, *arguments, A, state, use_reentrant=False, preserve_rng_state=False)
        else:
            y, state = _stretch(*arguments, A, state)  # pyright: ignore[reportCallIssue]
        outputs.append(y)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1), state


def _stretch(steps: Tensor, pushes: Tensor, B: Tensor, C: Tensor, A: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    steps, pushes, B, C = (part.transpose(0, 1) for part in (steps, pushes, B, C))
    decays = torch.exp(steps[:, :, None] * A)
    arrived = B[..., None] * pushes[:, :, None]
    arrived = torch.cat([torch.addcmul(arrived[:1], decays[:1], state[None]), arrived[1:]])
    states = linear_scan(decays, arrived)
    return (C[:, :, None] @ states).squeeze(2).transpose(0, 1), states[-1]


def _as_tree(steps: Tensor, pushes: Tensor, B: Tensor, C: Tensor, A: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The same with time where it is: a compiled graph mistakes the layout of gradients that come back transposed."""
    decays = torch.exp(steps[:, :, None] * A)
    arrived = B[..., None] * pushes[:, :, None]
    arrived = torch.cat([torch.addcmul(arrived[:, :1], decays[:, :1], state[:, None]), arrived[:, 1:]], 1)
    states = scan_as_tree(decays, arrived, axis=1)
    return (C[:, :, None] @ states).squeeze(2), states[:, -1]


def compiled_loops_take(*tensors: Tensor) -> bool:
    """Whether the compiled loops know these numbers, and can reach them."""
    return all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in tensors)


def one_by_one(
    x: Samples, steps: Samples, A: Float[Tensor, "order channels"], B: Weights, C: Weights, state: State
) -> tuple[Samples, State]:
    """The definition, sample after sample, in operations that torch differentiates itself."""
    outputs = []
    for step, push, b, c in zip(*(part.unbind(1) for part in (steps, steps * x, B, C)), strict=True):
        state = torch.exp(step[:, None] * A) * state + b[..., None] * push[:, None]
        outputs.append((c[:, None] @ state).squeeze(1))
    return torch.stack(outputs, 1), state


class _CompiledScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, steps: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, steps, A, B, C, state)
        after = state.clone(memory_format=torch.contiguous_format)
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        _kernels.scan(*_arrays(steps, steps * x, A, B, C), *_arrays(after, y))
        return y, after

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        given = ctx.saved_tensors
        if differentiated_again(*grads):
            return gradients_by_definition(all_at_once, given, grads)
        grad_y, grad_state = grads
        x, steps, A, B, C, state = given
        carried = grad_state.clone(memory_format=torch.contiguous_format)
        found = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in (steps, x, A, B, C)]
        _kernels.scan_back(*_arrays(steps, steps * x, A, B, C, state, grad_y, carried, *found))
        grad_steps, grad_pushes, grad_A, grad_B, grad_C = found
        return grad_pushes * steps, grad_steps.addcmul_(grad_pushes, x), grad_A, grad_B, grad_C, carried


def _arrays(*parts: Tensor) -> list[np.ndarray]:
    return [part.detach().contiguous().numpy() for part in parts]


class _SelectiveScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, steps: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        given = x, steps, A, B, C, state
        x, steps, pushes, B, C = _time_first(x, steps, B, C)
        y = torch.empty_like(pushes)
        starts = []
        h, decay = state.contiguous().clone(), torch.empty_like(state, memory_format=torch.contiguous_format)
        # All views at once: made one by one they would take as long as some of the arithmetic.
        rows = zip(*_rows(steps, pushes), *_columns(B), *_rows(C, y), strict=True)
        for t, (step, push, b, c, out) in enumerate(rows):
            if t % STRETCH == 0:
                starts.append(h.clone())
            torch.mul(step, A, out=decay).exp_()
            h.mul_(decay).addcmul_(b, push)
            torch.bmm(c, h, out=out)
        ctx.save_for_backward(*given, *starts)
        return y.transpose(0, 1), h

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        given, starts = ctx.saved_tensors[:6], ctx.saved_tensors[6:]
        if differentiated_again(*grads):
            return gradients_by_definition(all_at_once, given, grads)
        grad_y, grad_h = grads
        x, steps, A, B, C, _ = given
        x, steps, pushes, B, C = _time_first(x, steps, B, C)
        grad_y = grad_y.transpose(0, 1).contiguous()
        n_steps, batch, channels = steps.shape
        order = len(A)
        grad_pushes, grad_steps = torch.empty_like(steps), torch.empty_like(steps)
        grad_B, grad_C = torch.empty_like(B), torch.empty_like(C)
        grad_A = torch.zeros(batch, order, channels, dtype=A.dtype, device=A.device)
        carried = grad_h.contiguous().clone()
        length = min(STRETCH, n_steps)
        kept_states = carried.new_empty(length + 1, batch, order, channels)
        kept_decays = carried.new_empty(length, batch, order, channels)
        states, decays = kept_states.unbind(0), kept_decays.unbind(0)
        moved = torch.empty_like(carried)
        step_rows, push_rows, y_rows = _rows(steps, pushes, grad_y)
        b_columns, c_columns = _columns(B, C)
        b_rows, push_grads = _rows(B, grad_pushes)
        step_grads, b_grads, c_grads = grad_steps.unbind(0), grad_B.unbind(0), grad_C.unbind(0)
        for number in reversed(range(len(starts))):
            begin, end = number * STRETCH, min((number + 1) * STRETCH, n_steps)
            kept_states[0] = starts[number]
            for t in range(begin, end):
                here = t - begin
                torch.mul(step_rows[t], A, out=decays[here]).exp_()
                torch.mul(states[here], decays[here], out=states[here + 1]).addcmul_(b_columns[t], push_rows[t])
            for t in reversed(range(begin, end)):
                here = t - begin
                carried.addcmul_(c_columns[t], y_rows[t])
                torch.bmm(b_rows[t], carried, out=push_grads[t])
                # A matrix times a vector: bmm takes four times as long as a product and a sum.
                torch.sum(torch.mul(states[here + 1], y_rows[t], out=moved), 2, out=c_grads[t])
                torch.sum(torch.mul(carried, push_rows[t], out=moved), 2, out=b_grads[t])
                carried.mul_(decays[here])
                # What the exponent of the decay feels: through it go the gradients of the step and of A.
                torch.mul(carried, states[here], out=moved)
                grad_A.addcmul_(moved, step_rows[t])
                torch.sum(moved.mul_(A), 1, out=step_grads[t])
        grad_steps.addcmul_(grad_pushes, x)
        grad_x = grad_pushes.mul_(steps)
        together = (grad_x, grad_steps, grad_A.sum(0), grad_B, grad_C, carried)
        return tuple(part.transpose(0, 1) if index in (0, 1, 3, 4) else part for index, part in enumerate(together))


def _time_first(x: Tensor, steps: Tensor, B: Tensor, C: Tensor) -> tuple[Tensor, ...]:
    """x, steps, pushes, B and C with time as the first axis: what belongs to one sample then lies together."""
    steps, B, C = (part.transpose(0, 1).contiguous() for part in (steps, B, C))
    x = x.transpose(0, 1)
    return x, steps, steps * x, B, C


def _rows(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    """For each time (batch, 1, numbers): rows, to meet the orders or to be multiplied by matrices."""
    return [part[:, :, None].unbind(0) for part in parts]


def _columns(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    """For each time (batch, order, 1), to meet the channels."""
    return [part[..., None].unbind(0) for part in parts]
