"""A whole sequence by a few matrix products: time is cut into blocks.

Within a block every state is a linear map of the state at the block's start and of the block's samples. (A Fourier
transform is faster, but its rounding lets a large sample disturb outputs *before* it; blocks are causal exactly.)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

States = Float[Tensor, "batch time channels order"]
State = Float[Tensor, "batch channels order"]

# 2^40 samples are more than any sequence has.
MOST_CARRIES = 40
# So many numbers in the states at one time keep a processor busy: then blocks are taken one by one.
MANY_NUMBERS = 1 << 13


class BlockTables(NamedTuple):
    """What the memory does within a block and from block to block; states are rows, ``state @ matrix``.

    ``within[:, i]`` maps (state at the start, samples of the block) to the state after sample i. The tables of a
    shorter block are the corner ``within[: order + short, :short]``.
    ``carries[i]`` is ``A_d`` transposed, to the power 2^i; beyond the last one nothing is remembered.
    """

    within: Float[Tensor, "order_and_block block order"]
    carries: Float[Tensor, "levels order order"]


def block_tables(
    A_d: Float[Tensor, "order order"], b_d: Float[Tensor, " order"], block: int, levels: int
) -> BlockTables:
    """The tables of an update rule, by doubling; differentiable."""
    powers = A_d.mT[None]
    while len(powers) < block:
        powers = torch.cat([powers, powers @ powers[-1]])
    powers = powers[:block]
    response = torch.cat([b_d[None], b_d @ powers[:-1]])
    # Row w of the windows is the response delayed by block - 1 - w samples, with zeros before it.
    delayed = pad(response, (0, 0, block - 1, 0)).unfold(0, block, 1).flip(0).mT
    carries = [A_d.mT]
    while len(carries) < levels:
        carries.append(carries[-1] @ carries[-1])
    return BlockTables(torch.cat([powers.transpose(0, 1), delayed]), torch.stack(carries))


def fixed_tables(
    A_d: Float[Tensor, "order order"], b_d: Float[Tensor, " order"], block: int, place: Tensor
) -> BlockTables:
    """The tables of a rule that does not change, for sequences of any length, with dtype and device of `place`."""
    tiny = torch.finfo(place.dtype).tiny  # numbers too small to be normal are slow: they are zero
    carries, power = [A_d.mT], A_d.mT @ A_d.mT
    while len(carries) < MOST_CARRIES and power.abs().max() >= tiny:
        carries.append(power)
        power = power @ power
    tables = block_tables(A_d, b_d, block, 1)._replace(carries=torch.stack(carries))
    return BlockTables(*(torch.where(t.abs() < tiny, 0.0, t).to(place) for t in tables))


def levels_needed(n_steps: int) -> int:
    """How many carries a sequence of this length can ask for."""
    return max(1, (n_steps - 1).bit_length())


def all_states(
    x: Float[Tensor, "batch time channels"],
    state: State | None,
    tables: BlockTables,
    block: int,
    lengths: Int[Tensor, " batch"] | None,
) -> tuple[States, State]:
    """The state after every sample, and the last one of each item."""
    batch, n_steps, channels = x.shape
    order = tables.carries.shape[-1]
    block = min(block, n_steps)
    # Channels come before time here: then the states of one channel are written in one piece, and never moved.
    streams = cut(x, block).permute(0, 3, 1, 2).reshape(batch * channels, -1, block)
    before = None if state is None else state.reshape(batch * channels, order)
    starts = block_starts(streams, before, tables)
    inside = tables.within[: order + block, :block].flatten(1)
    states = torch.cat([starts, streams], -1) @ inside
    states = states.view(batch, channels, -1, order)[:, :, :n_steps].transpose(1, 2)
    if lengths is None:
        # A copy, so that whoever keeps the last state does not keep all of them.
        return states, states[:, -1].clone()
    last = pick(states, (lengths - 1).clamp(min=0))
    nothing = torch.zeros_like(last) if state is None else state
    return states, torch.where((lengths > 0)[:, None, None], last, nothing)


def readouts(
    x: Float[Tensor, "batch time channels"],
    state: State | None,
    weight: Float[Tensor, "outputs channels order"],
    tables: BlockTables,
    block: int,
    lengths: Int[Tensor, " batch"] | None,
) -> tuple[Float[Tensor, "batch time outputs"], State]:
    """``states.flatten(2) @ weight.flatten(1).T`` and the last state, holding the states at block starts only."""
    batch, n_steps, channels = x.shape
    outputs, _, order = weight.shape
    block = min(block, n_steps)
    inside = tables.within[: order + block, :block]
    blocks = cut(x, block).transpose(2, 3).contiguous()
    starts = block_starts(blocks, state, tables)
    # The readout of a block as one matrix each for its samples and for the state at its start.
    read = (inside @ weight.flatten(0, 1).mT).unflatten(-1, (outputs, channels))
    by_state = read[:order].permute(3, 0, 1, 2).reshape(channels * order, block * outputs)
    by_sample = read[order:].permute(3, 0, 1, 2).reshape(channels * block, block * outputs)
    y = starts.flatten(2) @ by_state + blocks.flatten(2) @ by_sample
    y = y.view(batch, -1, outputs)[:, :n_steps]
    return y, last_state(starts, blocks, inside, n_steps, lengths, state)


def last_state(
    starts: Float[Tensor, "batch blocks channels order"],
    blocks: Float[Tensor, "batch blocks channels block"],
    inside: Float[Tensor, "order_and_block block order"],
    n_steps: int,
    lengths: Int[Tensor, " batch"] | None,
    before: State | None,
) -> State:
    """The state after the last real sample of each item, from the blocks of a sequence and the states before them."""
    order, block = starts.shape[-1], blocks.shape[-1]
    if lengths is None:
        length = (n_steps - 1) % block + 1
        return torch.cat([starts[:, -1], blocks[:, -1, :, :length]], -1) @ inside[: order + length, length - 1]
    position = (lengths - 1).clamp(min=0)
    home = position.div(block, rounding_mode="floor")
    around = torch.cat([pick(starts, home), pick(blocks, home)], -1) @ inside.flatten(1)
    last = pick(around.unflatten(-1, (block, order)).transpose(1, 2), position % block)
    return torch.where((lengths > 0)[:, None, None], last, torch.zeros_like(last) if before is None else before)


def cut(x: Float[Tensor, "batch time channels"], block: int) -> Float[Tensor, "batch blocks block channels"]:
    """Time in blocks; the last one is filled with zeros, which come too late to change anything."""
    missing = -x.shape[1] % block
    return (with_zeros(x, before=0, after=missing) if missing else x).unflatten(1, (-1, block))


def block_starts(
    blocks: Float[Tensor, "rows blocks *channels block"],
    state: Float[Tensor, "rows *channels order"] | None,
    tables: BlockTables,
) -> Float[Tensor, "rows blocks *channels order"]:
    """The state before the first sample of each block."""
    order, block = tables.carries.shape[-1], blocks.shape[-1]
    arrived = rows_times(blocks[:, :-1], tables.within[order : order + block, block - 1])
    first = blocks.new_zeros(*blocks[:, 0].shape[:-1], order) if state is None else state
    carries = tables.carries[(block - 1).bit_length() :] if blocks.shape[1] > 1 else tables.carries[:0]
    if not torch.compiler.is_compiling() and first.numel() >= MANY_NUMBERS and len(carries) > 0:
        return one_by_one(first, arrived, carries[0])
    return accumulate(torch.cat([first[:, None], arrived], 1), carries)


def one_by_one(
    first: Float[Tensor, "rows *channels order"],
    arrived: Float[Tensor, "rows blocks_after *channels order"],
    carry: Float[Tensor, "order order"],
) -> Float[Tensor, "rows blocks *channels order"]:
    """The same as `accumulate`, block after block: half the work, where one block is enough to be busy with."""
    order = carry.shape[0]
    starts = [first.reshape(-1, order)]
    for arrival in arrived.unbind(1):
        starts.append(torch.addmm(arrival.reshape(-1, order), starts[-1], carry))
    return torch.stack([start.view(first.shape) for start in starts], 1)


def accumulate(
    arrived: Float[Tensor, "rows blocks *channels order"], carries: Float[Tensor, "levels order order"]
) -> Float[Tensor, "rows blocks *channels order"]:
    """What has arrived up to each block, carried on from block to block by ``carries[0]``, as a tree."""
    blocks = arrived.shape[1]
    if blocks == 1 or len(carries) == 0:
        return arrived
    if blocks % 2:
        # Zeros that come last change nothing before them.
        return accumulate(with_zeros(arrived, before=0, after=1), carries)[:, :-1]
    even, odd = arrived.unflatten(1, (-1, 2)).unbind(2)
    after_odd = accumulate(odd + rows_times(even, carries[0]), carries[1:])
    after_even = even + with_zeros(rows_times(after_odd[:, :-1], carries[0]), before=1, after=0)
    return torch.stack([after_even, after_odd], 2).flatten(1, 2)


def pick(sequence: Float[Tensor, "batch time *rest"], position: Int[Tensor, " batch"]) -> Float[Tensor, "batch *rest"]:
    """One position of each item, each its own."""
    index = position.view(-1, *[1] * (sequence.ndim - 1)).expand(-1, 1, *sequence.shape[2:])
    return sequence.gather(1, index).squeeze(1)


def rows_times(
    rows: Float[Tensor, "*rows inner"], matrix: Float[Tensor, "inner outer"]
) -> Float[Tensor, "*rows outer"]:
    """``rows @ matrix`` as one large product; left alone, torch makes a small one of every index in front."""
    return (rows.reshape(-1, rows.shape[-1]) @ matrix).view(*rows.shape[:-1], matrix.shape[-1])


def with_zeros(
    sequence: Float[Tensor, "batch time *rest"], *, before: int, after: int
) -> Float[Tensor, "batch longer *rest"]:
    """The sequence with zeros before and after it."""
    return pad(sequence, (0, 0) * (sequence.ndim - 2) + (before, after))
