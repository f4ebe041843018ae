"""Functionals of a memory at every time, without its states: of all channels (addresses), and of each (gates).

Both are linear in the samples, so that a block of time needs one small matrix for each.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.blocks import BlockTables, block_starts, cut, last_state

State = Float[Tensor, "batch channels order"]


class Answers(NamedTuple):
    """``joint[..., i]`` is functional i of all channels; ``lagged[i]`` is lag functional i of each channel."""

    joint: Float[Tensor, "*moments joint"]
    lagged: Float[Tensor, "lagged *moments channels"]


def answers_of_states(
    states: Float[Tensor, "*moments channels order"],
    joint: Float[Tensor, "joint channels order"],
    lagged: Float[Tensor, "lagged order"],
) -> Answers:
    """The definition: what the functionals say of states that are at hand."""
    return Answers(states.flatten(-2) @ joint.flatten(1).mT, torch.stack([states @ weights for weights in lagged]))


def answers_of_samples(
    samples: Float[Tensor, "batch time channels"],
    state: State | None,
    tables: BlockTables,
    block: int,
    joint: Float[Tensor, "joint channels order"],
    lagged: Float[Tensor, "lagged order"],
    lengths: Int[Tensor, " batch"] | None,
) -> tuple[Answers, State]:
    """The same from the samples, and the last state of each item."""
    batch, n_steps, channels = samples.shape
    order = tables.carries.shape[-1]
    block = min(block, n_steps)
    # Row: a coefficient at the block's start, or a sample of the block; column: the state after each sample.
    inside = tables.within[: order + block, :block]
    blocks = cut(samples, block).transpose(2, 3).contiguous()
    starts = block_starts(blocks, state, tables)
    known = torch.cat([starts, blocks], -1)
    by_lag = (inside @ lagged.mT).transpose(1, 2).flatten(1)
    seen = (known @ by_lag).view(batch, -1, channels, len(lagged), block)
    seen = seen.permute(3, 0, 1, 4, 2).reshape(len(lagged), batch, -1, channels)[:, :, :n_steps]
    jointly = (inside @ joint.flatten(0, 1).mT).unflatten(-1, (len(joint), channels))
    jointly = jointly.permute(3, 0, 1, 2).reshape(channels * (order + block), block * len(joint))
    said = (known.flatten(2) @ jointly).view(batch, -1, len(joint))[:, :n_steps]
    return Answers(said, seen), last_state(starts, blocks, inside, n_steps, lengths, state)
