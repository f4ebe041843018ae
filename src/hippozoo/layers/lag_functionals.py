"""Linear functionals of every channel's memory, at every sample, without the states.

Within a block of time a functional of a channel is a linear map of the state at the block's start and of the block's
samples. Channels come first inside: then every product is one of whole matrices.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.blocks import BlockTables, block_starts, last_state, with_zeros
from hippozoo.layers.derivatives import with_own_backward
from hippozoo.layers.types import State

__all__ = ["functionals_of_states", "lag_functionals", "shared_functional"]

Samples = Float[Tensor, "batch time channels"]
Weight = Float[Tensor, "functionals channels order"]
Starts = Float[Tensor, "channels batch blocks order"]


def functionals_of_states(
    states: Float[Tensor, "*moments channels order"], weight: Weight
) -> Float[Tensor, "*moments functionals channels"]:
    """The definition: what the functionals say of states that are at hand."""
    return (states.unsqueeze(-3) * weight).sum(-1)


def lag_functionals(
    x: Samples,
    state: State | None,
    weight: Weight,
    tables: BlockTables,
    block: int,
    lengths: Int[Tensor, " batch"] | None,
) -> tuple[Float[Tensor, "batch time functionals channels"], State]:
    """The same from the samples, and the last state of each item."""
    batch, n_steps, channels = x.shape
    order, block = weight.shape[-1], min(block, n_steps)
    # Zeros that come last change nothing before them.
    filled = with_zeros(x, before=0, after=-n_steps % block) if n_steps % block else x
    first = x.new_zeros(channels, batch, order) if state is None else state.transpose(0, 1)
    inside = tables.within[: order + block, :block]

    def definition(x: Tensor, first: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        return by_definition(x, first, weight, inside, tables.carries)

    if inside.requires_grad:
        y, starts = definition(filled, first, weight)
    else:
        forward, backward = partial(_forward, inside=inside), partial(_backward, inside)
        y, starts = with_own_backward(forward, backward, definition, filled, first, weight, takes_none=True)
    y = y[:, :n_steps] if n_steps % block else y
    blocks = filled.unflatten(1, (-1, block)).transpose(2, 3)
    return y, last_state(starts.permute(1, 2, 0, 3), blocks, inside, n_steps, lengths, first.transpose(0, 1))


def shared_functional(
    x: Samples,
    state: State | None,
    weight: Float[Tensor, " order"],
    tables: BlockTables,
    block: int,
    lengths: Int[Tensor, " batch"] | None,
) -> tuple[Float[Tensor, "batch time channels"], State]:
    """One functional of every channel: the channels are so many more items."""
    batch, n_steps, channels = x.shape
    rows = x.mT.reshape(batch * channels, n_steps, 1)
    before = None if state is None else state.reshape(batch * channels, 1, -1)
    each = None if lengths is None else lengths.repeat_interleave(channels)
    y, after = lag_functionals(rows, before, weight[None, None], tables, block, each)
    return y.reshape(batch, channels, n_steps).mT, after.view(batch, channels, -1)


def by_definition(
    x: Samples,
    first: Float[Tensor, "channels batch order"],
    weight: Weight,
    inside: Float[Tensor, "order_and_block block order"],
    carries: Float[Tensor, "levels order order"],
) -> tuple[Float[Tensor, "batch time functionals channels"], Starts]:
    """Functionals at every sample and the state before each block, in operations that torch differentiates itself."""
    batch, _, channels = x.shape
    order, block = weight.shape[-1], inside.shape[1]
    blocks = x.permute(2, 0, 1).reshape(channels * batch, -1, block)
    starts = block_starts(blocks, first.reshape(channels * batch, order), BlockTables(inside, carries))
    known = torch.cat([starts, blocks], -1).view(channels, -1, order + block)
    read = torch.einsum("fcn,jin->fcji", weight, inside)
    y = known @ read
    y = y.view(len(weight), channels, batch, -1).permute(2, 3, 0, 1)
    return y, starts.view(channels, batch, -1, order)


def _forward(
    x: Tensor, first: Tensor, weight: Tensor, inside: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    batch, n_steps, channels = x.shape
    functionals, _, order = weight.shape
    block = inside.shape[1]
    turned = x.reshape(-1, channels).t().contiguous()
    known = x.new_empty(channels * batch, n_steps // block, order + block)
    known[:, :, order:] = turned.view(channels * batch, -1, block)
    carry, arrive = inside[:order, -1], inside[order:, -1]
    arrived = (turned.view(-1, block) @ arrive).view(channels * batch, -1, order)
    start = first.reshape(channels * batch, order)
    for number, arrival in enumerate(arrived.unbind(1)):
        known[:, number, :order] = start
        start = torch.addmm(arrival, start, carry)
    read = weight.reshape(-1, order) @ inside.reshape(-1, order).t()
    read = read.view(functionals, channels, order + block, block)
    y = x.new_empty(functionals, channels, known.shape[1] * batch, block)
    rows = known.view(channels, -1, order + block)
    for one, matrix in zip(y, read, strict=True):
        torch.bmm(rows, matrix, out=one)
    y = y.view(functionals * channels, -1).t().contiguous()
    starts = known[:, :, :order].reshape(channels, batch, -1, order)
    return (y.view(batch, n_steps, functionals, channels), starts), (rows, read)


def _backward(inside: Tensor, gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor, ...]:
    """A third of the time of torch's own: nothing is moved twice."""
    (x, _, weight), (rows, read), (of_y, of_starts) = inputs, kept, gradients
    functionals, channels, order = weight.shape
    batch, block = x.shape[0], inside.shape[1]
    of_y = x.new_zeros(*x.shape[:2], functionals, channels) if of_y is None else of_y
    turned = of_y.reshape(-1, functionals * channels).t().contiguous().view(functionals, channels, -1, block)
    of_read, of_rows = torch.empty_like(read), torch.empty_like(rows)
    for number, (one, matrix) in enumerate(zip(turned, read, strict=True)):
        torch.bmm(rows.mT, one, out=of_read[number])
        if number:
            of_rows.baddbmm_(one, matrix.mT)
        else:
            torch.bmm(one, matrix.mT, out=of_rows)
    of_weight = (of_read.view(functionals * channels, -1) @ inside.reshape(-1, order)).view_as(weight)
    of_rows = of_rows.view(channels * batch, -1, order + block)
    if of_starts is not None:
        of_rows[:, :, :order] += of_starts.reshape(channels * batch, -1, order)
    carry, arrive = inside[:order, -1], inside[order:, -1]
    of_arrived = of_rows.new_empty(channels * batch, of_rows.shape[1], order)
    later = of_rows.new_zeros(channels * batch, order)
    for number in reversed(range(of_rows.shape[1])):
        of_arrived[:, number] = later
        later = torch.addmm(of_rows[:, number, :order], later, carry.t())
    samples = of_rows[:, :, order:].reshape(-1, block)
    of_x = torch.addmm(samples, of_arrived.view(-1, order), arrive.t())
    of_x = of_x.view(channels, -1).t().contiguous().view_as(x)
    return of_x, later.view(channels, batch, order), of_weight
