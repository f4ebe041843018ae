"""Salience known beforehand, in plain torch: chunks of time side by side, in place of one after the other.

Each chunk is a staircase of its own. Three steps: what every chunk leaves, and how it moves a state that was there
before, for all chunks at once; the states from chunk to chunk, one small product each; and all reads at once, the
state before a chunk as the staircase that would have left it. The work is linear in the length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hippozoo.zoo.salience._lookup import states_at

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["roll_side_by_side"]


def roll_side_by_side(
    layer: SalienceLayer, chunk: int, x: Tensor, state: Tensor | None, steps: Tensor
) -> tuple[Tensor, Tensor]:
    """What is read after every sample, and the state after the last.

    Parameters
    ----------
    layer
        With a table of lags.
    chunk
        Samples of a chunk.
    x, state
        (batch, time, channels), and the state before.
    steps
        Warped time of every sample, in timescales, (batch, time, clocks).
    """
    batch, n_steps, channels = x.shape
    clocks = steps.shape[-1]
    missing = -n_steps % chunk  # no time passes in what is filled up, so that it leaves nothing
    if missing:
        x, steps = (torch.nn.functional.pad(t, (0, 0, 0, missing)) for t in (x, steps))
    x, steps = (t.reshape(-1, chunk, t.shape[-1]) for t in (x, steps))
    jumps = torch.diff(x, dim=1, prepend=torch.zeros_like(x[:, :1]))
    edges = torch.cat([torch.zeros_like(steps[:, :1]), torch.cumsum(steps, 1)], 1)
    starts, ends = edges[:, :-1], edges[:, 1:]
    before, after = _carried(layer, layer._states(jumps, starts, ends[:, -1:])[:, 0], ends[:, -1], state, batch)
    past = -layer._edges[None, :, None].expand(len(x), -1, clocks)
    y = layer._read_staircase(torch.cat([layer._jumps_of @ before.mT, jumps], 1), torch.cat([past, starts], 1), ends)
    return y.reshape(batch, -1, *y.shape[2:])[:, :n_steps], after


def _carried(
    layer: SalienceLayer, arrived: Tensor, elapsed: Tensor, state: Tensor | None, batch: int
) -> tuple[Tensor, Tensor]:
    """The state before each chunk, (batch * chunks, channels, order), and the one after the last."""
    _, channels, order = arrived.shape
    clocks = elapsed.shape[-1]
    # Where a state's staircase stands when the chunk is over: (batch * chunks, clocks, edges, order).
    lags = elapsed[..., None] + layer._edges
    moves = layer._jumps_of.mT @ states_at(lags, layer._values, layer._slopes, layer._root_step, layer._rule)
    moves = moves.reshape(batch, -1, clocks, order, order).transpose(0, 1)
    arrived = arrived.reshape(batch, -1, clocks, channels // clocks, order).transpose(0, 1)
    now = torch.zeros_like(arrived[0]) if state is None else state.reshape(arrived.shape[1:])
    states = [now]
    for move, new in zip(moves.unbind(0), arrived.unbind(0), strict=True):
        states.append(torch.matmul(states[-1], move) + new)
    before = torch.stack(states[:-1], 1).reshape(-1, channels, order)
    return before, states[-1].reshape(batch, channels, order)
