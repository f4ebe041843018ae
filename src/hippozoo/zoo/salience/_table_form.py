"""Salience by the table of lags, in plain torch: a chunk of time is a staircase, read at all lags in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from hippozoo.layers.derivatives import make_again
from hippozoo.zoo.salience._lookup import cubics, read, states_at

if TYPE_CHECKING:
    from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["Rolled", "roll_side_by_side", "roll_table"]

NUMBERS_OF_STATES = 1 << 22


class Rolled(NamedTuple):
    """What a stretch of time gives."""

    y: Tensor
    state: Tensor | None
    salience: Tensor


def roll_table(layer: SalienceLayer, x: Tensor, state: Tensor | None, clock: Tensor, keep_state: bool) -> Rolled:
    """A chunk as a staircase: where it jumps on the warped clock, by how much, and what each jump leaves."""
    batch, _, channels = x.shape
    jumps = torch.diff(x, dim=1, prepend=torch.zeros_like(x[:, :1]))
    clocks = channels if layer.per_channel else 1
    before = x.new_zeros(batch, 0, clocks)
    if state is not None:
        # The past as the staircase of `order` levels that would have left just this state.
        jumps = torch.cat([layer._jumps_of @ state.mT, jumps], 1)
        before = -layer._edges[None, :, None].expand(batch, -1, clocks)
    part = layer.network.sample_part(x)
    if layer.summary:
        salience, edges = _salience_of_the_state(layer, part, jumps, before, clock)
    else:
        salience = layer.network.from_sample(part)
        warped = torch.cumsum(salience * clock, 1)
        edges = torch.cat([before, torch.zeros_like(warped[:, :1]), warped], 1)
    starts, ends = edges[:, :-1], edges[:, before.shape[1] + 1 :]
    y = _read_staircase(layer, jumps, starts, ends)
    after = _states(layer, jumps, starts, ends[:, -1:])[:, 0] if keep_state else None
    return Rolled(y, after, salience)


def _salience_of_the_state(
    layer: SalienceLayer, part: Tensor, jumps: Tensor, before: Tensor, clock: Tensor
) -> tuple[Tensor, Tensor]:
    """Sample by sample: the summary of what is there, the salience, and where the warped clock then stands."""
    pooling = layer.network.pooling(jumps)
    cubic = cubics(layer._values, layer._slopes, pooling.weight.mT)
    edges, now = before, torch.zeros_like(jumps[:, :1, : before.shape[2]])
    old, saliences = before.shape[1], []
    for t, (hidden, ticks) in enumerate(zip(part.unbind(1), clock.split(1, 1), strict=True)):
        there = old + t
        if there == 0:
            pooled = jumps.new_zeros(len(jumps), layer.channels, layer.summary)
        elif layer.per_channel:
            rows = read(cubic, now - edges, layer._root_step)
            pooled = (jumps[:, :there, :, None] * rows).sum(1)
        else:
            rows = read(cubic, (now - edges)[..., 0], layer._root_step)
            pooled = jumps[:, :there].mT @ rows
        salience = layer.network.with_summary(hidden, pooled, pooling)[:, None]
        saliences.append(salience)
        edges = torch.cat([edges, now], 1)
        now = torch.addcmul(now, salience, ticks)
    return torch.cat(saliences, 1), torch.cat([edges, now], 1)


def _read_staircase(layer: SalienceLayer, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    if layer.readout != "shared":
        return _read_states(layer, jumps, starts, ends)
    cubic = cubics(layer._values, layer._slopes, layer.functional)
    if layer.per_channel:
        left = read(cubic, ends[:, :, None] - starts[:, None], layer._root_step)
        return (left * jumps[:, None]).sum(2)
    return read(cubic, ends - starts.mT, layer._root_step) @ jumps


def _read_states(layer: SalienceLayer, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """States moment by moment, as many at a time as memory allows; read at once where there is a readout."""
    numbers = max(1, len(jumps) * starts.shape[1] * starts.shape[2] * layer.system.order)
    stretch = max(1, NUMBERS_OF_STATES // numbers)

    def one(jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        return layer._read(_states(layer, jumps, starts, ends))

    again = stretch < ends.shape[1]
    return torch.cat([make_again(one, jumps, starts, some, when=again) for some in ends.split(stretch, 1)], 1)


def _states(layer: SalienceLayer, jumps: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """The state at each end: (batch, time, channels, order)."""
    lags = ends[:, :, None] - starts[:, None]  # (batch, time, edges, clocks)
    table = layer._values, layer._slopes, layer._root_step, layer._rule
    if layer.per_channel:
        return torch.einsum("bec,btecn->btcn", jumps, states_at(lags, *table))
    return jumps.mT[:, None] @ states_at(lags[..., 0], *table)


def roll_side_by_side(
    layer: SalienceLayer, chunk: int, x: Tensor, state: Tensor | None, clock: Tensor, keep_state: bool
) -> Rolled:
    """Salience known beforehand: chunks of time side by side, so that a graph grows by one product a chunk.

    What every chunk leaves, and how it moves a state that was there before, for all chunks at once; then the states
    from chunk to chunk; then all reads at once, the state before a chunk as the staircase that would have left it.
    """
    batch, n_steps, _ = x.shape
    salience = layer.network.from_sample(layer.network.sample_part(x))
    steps = salience * clock
    clocks = steps.shape[-1]
    missing = -n_steps % chunk  # no time passes in what is filled up, so that it leaves nothing
    if missing:
        x, steps = (torch.nn.functional.pad(t, (0, 0, 0, missing)) for t in (x, steps))
    x, steps = (t.reshape(-1, chunk, t.shape[-1]) for t in (x, steps))
    jumps = torch.diff(x, dim=1, prepend=torch.zeros_like(x[:, :1]))
    edges = torch.cat([torch.zeros_like(steps[:, :1]), torch.cumsum(steps, 1)], 1)
    starts, ends = edges[:, :-1], edges[:, 1:]
    arrived = _states(layer, jumps, starts, ends[:, -1:])[:, 0]
    before, after = _carried(layer, arrived, ends[:, -1], state, batch)
    past = -layer._edges[None, :, None].expand(len(x), -1, clocks)
    jumps = torch.cat([layer._jumps_of @ before.mT, jumps], 1)
    y = _read_staircase(layer, jumps, torch.cat([past, starts], 1), ends)
    return Rolled(y.reshape(batch, -1, *y.shape[2:])[:, :n_steps], after, salience)


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
