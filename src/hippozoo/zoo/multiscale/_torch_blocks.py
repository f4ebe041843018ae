"""A sequence through a bank of windows by a few large products: time is cut into blocks.

From block to block every window carries its own state on; within a block outputs are a linear map of the state at its
start and of its samples, the same map in every block. Plain differentiable algebra on real numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

State = Float[Tensor, "batch channels order scales"]
#: The samples of every block, and the states before them.
Blocks = Float[Tensor, "batch blocks channels block"]
Starts = Float[Tensor, "batch blocks channels order scales"]


class BankTables(NamedTuple):
    """What every window does in a block: ``powers[i] = A_d^(i+1)`` and ``responses[i] = A_d^i b_d``."""

    powers: Float[Tensor, "block scales order order"]
    responses: Float[Tensor, "block order scales"]


def bank_tables(A_d: Float[Tensor, "scales order order"], b_d: Float[Tensor, "scales order"], block: int) -> BankTables:
    """The tables of an update rule per window."""
    powers, responses = [A_d], [b_d]
    for _ in range(block - 1):
        responses.append((A_d @ responses[-1][..., None])[..., 0])
        powers.append(A_d @ powers[-1])
    return BankTables(torch.stack(powers), torch.stack(responses).mT.contiguous())


def block_starts(blocks: Blocks, state: State, tables: BankTables) -> tuple[Starts, State]:
    """The state before the first sample of each block, and after the last block."""
    arrival = tables.responses.flip(0)
    order, scales = arrival.shape[1:]
    arrived = (blocks @ arrival.flatten(1)).unflatten(-1, (order, scales))
    starts = []
    for added in arrived.unbind(1):
        starts.append(state)
        state = move(state, tables.powers[-1]) + added
    return torch.stack(starts, 1), state


def move(
    state: Float[Tensor, "*rows order scales"], A: Float[Tensor, "scales order order"]
) -> Float[Tensor, "*rows order scales"]:
    """Every window by its own matrix."""
    return torch.einsum("...nm,mkn->...km", state, A)


def all_states(blocks: Blocks, starts: Starts, tables: BankTables) -> Float[Tensor, "batch time channels order scales"]:
    """The state after every sample."""
    from_start = torch.einsum("btcnm,imkn->btickm", starts, tables.powers)
    from_samples = torch.einsum("btcj,jnmi->bticnm", blocks, delayed(tables.responses))
    return (from_start + from_samples).flatten(1, 2)


def delayed(responses: Float[Tensor, "block rows columns"]) -> Float[Tensor, "block rows columns block"]:
    """Row j: the response to sample j of a block after each of its samples, with zeros before it comes."""
    block = len(responses)
    return pad(responses, (0, 0, 0, 0, block - 1, 0)).unfold(0, block, 1).flip(0)


def readouts(
    blocks: Blocks, starts: Starts, weight: Float[Tensor, "outputs channels order scales"], tables: BankTables
) -> Float[Tensor, "batch time outputs"]:
    """A linear readout of all coefficients of all channels after every sample, without the states."""
    block = blocks.shape[-1]
    later = torch.einsum("ockm,imkn->iocnm", weight, tables.powers)
    impulse = torch.einsum("ocnm,jnm->joc", weight, tables.responses)
    y = starts.flatten(2) @ later.flatten(2).flatten(0, 1).mT
    y = y.unflatten(-1, (block, -1)) + torch.einsum("btcj,joci->btio", blocks, delayed(impulse))
    return y.flatten(1, 2)


def functionals(
    blocks: Blocks, starts: Starts, weight: Float[Tensor, "reads channels order scales"], tables: BankTables
) -> Float[Tensor, "batch time reads channels"]:
    """Linear functionals of each channel's own after every sample, without the states."""
    batch, count, channels, block = blocks.shape
    later = torch.einsum("rckm,imkn->cnmri", weight, tables.powers).flatten(1, 2).flatten(2)
    impulse = torch.einsum("rcnm,jnm->jrc", weight, tables.responses)
    # (channels, order * scales + block, reads * block)
    read = torch.cat([later, delayed(impulse).permute(2, 0, 1, 3).flatten(2)], 1)
    known = torch.cat([starts.flatten(3), blocks], -1).permute(2, 0, 1, 3).flatten(1, 2)
    y = (known @ read).view(channels, batch, count, len(weight), block)
    return y.permute(1, 2, 4, 3, 0).flatten(1, 2)


def readings(
    blocks: Blocks, starts: Starts, reading: Float[Tensor, "features order scales"], tables: BankTables
) -> Float[Tensor, "batch time channels features"]:
    """The same linear reading of every channel after every sample, without the states."""
    batch, count, channels, block = blocks.shape
    y = readouts(
        blocks.transpose(1, 2).reshape(batch * channels, count, 1, block),
        starts.transpose(1, 2).reshape(batch * channels, count, 1, *starts.shape[3:]),
        reading[:, None],
        tables,
    )
    return y.unflatten(0, (batch, channels)).transpose(1, 2)


def state_after(
    blocks: Blocks, starts: Starts, lengths: Int[Tensor, " batch"], first: State, tables: BankTables
) -> State:
    """The state of each item after its own number of samples; what stands behind them is zero."""
    block = blocks.shape[-1]
    position = (lengths - 1).clamp(min=0)
    home = position.div(block, rounding_mode="floor")
    seen = position % block + 1
    item = torch.arange(len(blocks), device=blocks.device)
    # The item's samples moved to the end of their block, so that one table of arrivals serves all.
    place = torch.arange(block, device=blocks.device) - (block - seen)[:, None]
    samples = blocks[item, home].gather(-1, place.clamp(min=0)[:, None].expand(-1, blocks.shape[2], -1))
    samples = torch.where((place >= 0)[:, None], samples, 0.0)
    added = torch.einsum("bcj,jnm->bcnm", samples, tables.responses.flip(0))
    after = torch.einsum("bcnm,bmkn->bckm", starts[item, home], tables.powers[seen - 1]) + added
    return torch.where((lengths > 0)[:, None, None, None], after, first)
