r"""A linear recurrence of numbers, :math:`h_t = a_t h_{t-1} + u_t`, many times at once.

`scan_in_chunks`: time is cut into about as many chunks as each has samples; all chunks are run through side by side,
then the state is carried from chunk to chunk, then every state gets its share of what its chunk began with. Twice the
root of the length in rounds, each a few large operations, in about twice the arithmetic of the loop.

`scan_as_tree`: pairs of neighbouring times are merged, the recurrence of half the length is solved, the times between
are filled in. As many rounds as the length has binary digits, in operations that torch differentiates and compiles.

Only products of the given decays occur in both, so that nothing overflows where the loop does not.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.layers.derivatives import (
    differentiated_again,
    gradients_by_definition,
    torch_looks_inside,
    without_autocast,
)

__all__ = ["linear_scan", "scan_as_tree"]

States = Float[Tensor, "time *rest"]


def linear_scan(decays: States, arrived: States) -> States:
    """The states at all times, the first axis; before the first time there was nothing.

    Differentiable as often as one likes; the gradient is a scan of the same kind, backwards in time.

    Examples
    --------
    >>> decays, arrived = torch.tensor([0.5, 0.5, 2.0]), torch.tensor([1.0, 1.0, 1.0])
    >>> linear_scan(decays, arrived).tolist()
    [1.0, 1.5, 4.0]
    """
    if torch_looks_inside():
        return scan_as_tree(decays, arrived)
    return _LinearScan.apply(decays, arrived)  # pyright: ignore[reportReturnType]


def scan_as_tree(decays: Tensor, arrived: Tensor, axis: int = 0) -> Tensor:
    """The definition, in operations that torch differentiates itself; `axis` is the one of time."""

    def part(values: Tensor, *cut: int | None) -> Tensor:
        return values[(slice(None),) * axis + (slice(*cut),)]

    n_steps = arrived.shape[axis]
    if n_steps == 1:
        return arrived
    even = n_steps - n_steps % 2
    decay_0, decay_1 = part(decays, 0, even, 2), part(decays, 1, even, 2)
    first, second = part(arrived, 0, even, 2), part(arrived, 1, even, 2)
    after_second = scan_as_tree(decay_0 * decay_1, torch.addcmul(second, decay_1, first), axis)
    between = torch.addcmul(part(first, 1, None), part(decay_0, 1, None), part(after_second, 0, -1))
    after_first = torch.cat([part(first, 0, 1), between], axis)
    states = torch.stack([after_first, after_second], axis + 1).flatten(axis, axis + 1)
    if even == n_steps:
        return states
    last = torch.addcmul(part(arrived, -1, None), part(decays, -1, None), part(states, -1, None))
    return torch.cat([states, last], axis)


def scan_in_chunks(decays: States, arrived: States) -> States:
    """The same, chunks of time side by side; not differentiable by itself."""
    states = arrived.clone(memory_format=torch.contiguous_format)
    n_steps = len(arrived)
    samples = max(1, math.isqrt(n_steps))
    chunks = n_steps // samples
    whole = chunks * samples
    if chunks > 1:
        local, decay = (part[:whole].unflatten(0, (chunks, samples)) for part in (states, decays))
        reach = torch.empty_like(local)
        reach[:, 0] = decay[:, 0]
        for t in range(1, samples):
            local[:, t].addcmul_(decay[:, t], local[:, t - 1])
            torch.mul(reach[:, t - 1], decay[:, t], out=reach[:, t])
        for chunk in range(1, chunks):
            local[chunk].addcmul_(reach[chunk], local[chunk - 1, -1])
    else:
        whole = 1
    for t in range(whole, n_steps):
        states[t].addcmul_(decays[t], states[t - 1])
    return states


class _LinearScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, decays: Tensor, arrived: Tensor) -> Tensor:
        states = scan_in_chunks(decays, arrived)
        ctx.save_for_backward(decays, arrived, states)
        return states

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        decays, arrived, states = ctx.saved_tensors
        if differentiated_again(*gradients):
            for_decays, for_arrived = gradients_by_definition(scan_as_tree, (decays, arrived), gradients[0])
            return for_decays, for_arrived
        # Backwards in time a state is carried on by the decay of the time behind it.
        later = torch.cat([torch.zeros_like(decays[:1]), decays[1:].flip(0)])
        carried = scan_in_chunks(later, gradients[0].flip(0)).flip(0)
        for_decays = torch.zeros_like(states)
        torch.mul(carried[1:], states[:-1], out=for_decays[1:])
        return for_decays, carried
