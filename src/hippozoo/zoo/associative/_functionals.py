"""Linear functionals of a memory's states, at every time, without the states.

The layer asks two kinds of question of its memory: functionals of all coefficients of all channels (addresses), and lag
functionals that every channel answers for itself (gates). Both are linear in the samples, so that a block of time needs
one small matrix for each, and states are made at the starts of blocks only. At the paper's size this holds a tenth
of the numbers and takes a quarter of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.blocks import BlockTables, block_starts, cut, pick

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
    if lengths is None:
        length = (n_steps - 1) % block + 1
        last = known[:, -1, :, : order + length] @ inside[: order + length, length - 1]
        return Answers(said, seen), last
    position = (lengths - 1).clamp(min=0)
    home = position.div(block, rounding_mode="floor")
    around = (pick(known, home) @ inside.flatten(1)).unflatten(-1, (block, order)).transpose(1, 2)
    last = pick(around, position % block)
    before = torch.zeros_like(last) if state is None else state
    return Answers(said, seen), torch.where((lengths > 0)[:, None, None], last, before)
