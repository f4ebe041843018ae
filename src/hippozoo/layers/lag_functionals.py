"""Linear functionals of every channel's memory, at every sample, without the states.

Within a block of time a functional of a channel is a linear map of the state at the block's start and of the block's
samples. Channels come first inside: then every product is one of whole matrices.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.blocks import BlockTables, block_starts, last_state, with_zeros
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
    y, starts = _read_blocks(filled, first, weight, inside, tables.carries)
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


def _read_blocks(
    x: Samples,
    first: Float[Tensor, "channels batch order"],
    weight: Weight,
    inside: Float[Tensor, "order_and_block block order"],
    carries: Float[Tensor, "levels order order"],
) -> tuple[Float[Tensor, "batch time functionals channels"], Starts]:
    """Functionals at every sample of whole blocks, and the state before each block."""
    batch, _, channels = x.shape
    functionals, _, order = weight.shape
    block = inside.shape[1]
    blocks = x.permute(2, 0, 1).reshape(channels * batch, -1, block)
    starts = block_starts(blocks, first.reshape(channels * batch, order), BlockTables(inside, carries))
    known = torch.cat([starts, blocks], -1).view(channels, -1, order + block)
    read = weight.flatten(0, 1) @ inside.flatten(0, 1).mT
    read = read.view(functionals, channels, order + block, block).permute(1, 2, 0, 3).flatten(2)
    y = (known @ read).view(channels, batch, -1, functionals, block)
    return y.permute(1, 2, 4, 3, 0).reshape(batch, -1, functionals, channels), starts.view(channels, batch, -1, order)
