"""Salience known beforehand, read by one functional: short chunks of time, all at once.

In a chunk every sample is a jump, and what the functional reads of it is one number per pair of samples. What came
before the chunk is a state, and the functional reads it through a vector that depends on the warped time since then.
Both stand in the update table, multiplied with the functional. Only the states at the chunks' ends are rolled.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor

from hippozoo.layers.derivatives import differentiated_again, gradients_by_definition, without_autocast
from hippozoo.zoo.salience._kernels import (
    gather_rows,
    gather_two,
    pull_chunks,
    pull_pairs,
    read_chunks,
    read_pairs,
    spread_rows,
)
from hippozoo.zoo.salience._stepwise import Mover, Tables, arrivals_at, updates_at

__all__ = ["roll_chunkwise"]


def roll_chunkwise(
    tables: Tables, chunk: int, x: Tensor, steps: Tensor, state: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """What the functional reads after every sample, and the state after the last.

    Parameters
    ----------
    tables
        For steps as long as a chunk.
    chunk
        Samples of a chunk.
    x, steps
        (batch, time, channels) and (batch, time, clocks), one clock or as many as channels; steps are in timescales.
    state
        (batch, channels, order).
    weight
        The functional, (order,).
    """
    batch, n_steps, channels = x.shape
    clocks, order = steps.shape[-1], len(weight)
    missing = -n_steps % chunk  # no time passes in what is filled up
    if missing:
        x, steps = (torch.nn.functional.pad(t, (0, 0, 0, missing)) for t in (x, steps))
    # A channel with a clock of its own is an item of its own.
    items, width = batch * clocks, channels // clocks
    x, steps = (_items_of_chunks(t, chunk, clocks) for t in (x, steps))
    ends = steps[..., 0].cumsum(-1)  # (items, chunks, samples)
    starts = torch.nn.functional.pad(ends[..., :-1], (1, 0))
    jumps = torch.diff(x, dim=2, prepend=torch.zeros_like(x[:, :, :1]))
    last = ends[..., -1:]
    if clocks == 1:
        arrived = jumps.mT @ arrivals_at(last - starts, tables)  # (items, chunks, width, order)
    else:
        arrived = cast(Tensor, _Arrive.apply(tables, last - starts, jumps[..., 0]))[..., None, :]
    states = carry(tables, last[..., 0], arrived, state.reshape(items, width, order), clocks > 1)
    if clocks == 1:
        rows, left = read_staircases(tables, weight, ends, starts)
        y = left @ jumps + rows @ states[:, :-1].mT
    else:
        y = _ReadApart.apply(tables, weight, ends, starts, jumps[..., 0], states[:, :-1, 0])
        y = cast(Tensor, y)[..., None]
    y = y.reshape(batch, clocks, -1, width).transpose(1, 2).reshape(batch, -1, channels)
    return y[:, :n_steps], states[:, -1].reshape(batch, channels, order)


def _items_of_chunks(t: Tensor, chunk: int, clocks: int) -> Tensor:
    """(batch, time, channels) as (batch * clocks, chunks, samples, channels of the clock)."""
    batch, n_steps, channels = t.shape
    apart = t.reshape(batch, n_steps, clocks, channels // clocks).transpose(1, 2)
    return apart.reshape(batch * clocks, n_steps // chunk, chunk, channels // clocks)


# -- the states at the chunks' ends -------------------------------------------------------------------------------


def carry(tables: Tables, steps: Tensor, arrived: Tensor, state: Tensor, apart: bool) -> Tensor:
    """The state before every chunk and after the last: (items, chunks + 1, width, order)."""
    return cast(Tensor, _Carry.apply(tables, apart, steps, arrived, state))


def carry_plainly(tables: Tables, steps: Tensor, arrived: Tensor, state: Tensor) -> Tensor:
    """The same in plain torch."""
    states = [state]
    for step, new in zip(steps.unbind(1), arrived.unbind(1), strict=True):
        states.append(states[-1] @ updates_at(step, tables)[..., :-1, :] + new)
    return torch.stack(states, 1)


class _Carry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tables: Tables, apart: bool, steps: Tensor, arrived: Tensor, state: Tensor) -> Tensor:
        items, chunks, width, order = arrived.shape
        states = state.new_empty(chunks + 1, items, width, order)
        states[0] = state
        mover, silence = Mover(tables, items, width, apart), state.new_zeros(items, width)
        steps_T, arrived_T = steps.mT.contiguous(), arrived.transpose(0, 1)
        for c in range(chunks):
            mover.forwards(steps_T[c], silence, states[c], states[c + 1])
            states[c + 1] += arrived_T[c]
        ctx.tables, ctx.apart = tables, apart
        ctx.save_for_backward(steps, arrived, state, states)
        return states.transpose(0, 1).contiguous()

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        steps, arrived, state, states = ctx.saved_tensors
        (gradient,) = gradients
        tables: Tables = ctx.tables
        if differentiated_again(gradient):
            found = gradients_by_definition(partial(carry_plainly, tables), (steps, arrived, state), gradient)
            return None, None, *found
        items, chunks, width, _ = arrived.shape
        mover, for_silence = Mover(tables, items, width, ctx.apart), state.new_empty(items, width)
        for_states = gradient.transpose(0, 1).contiguous().clone()
        velocity = (states[1:] - arrived.transpose(0, 1)) @ tables.A_T
        steps_T = steps.mT.contiguous()
        for c in reversed(range(chunks)):
            mover.backwards(steps_T[c], for_states[c + 1], for_silence, for_states[c])
        for_steps = (for_states[1:] * velocity).sum((-2, -1)).mT
        return None, None, for_steps, for_states[1:].transpose(0, 1), for_states[0]


# -- what the functional reads ------------------------------------------------------------------------------------


def read_staircases(tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors that read the carried state, (chunks, samples, order), and what is read of each jump (lower triangular).

    There may be any axes before that of the samples.
    """
    return cast("tuple[Tensor, Tensor]", _Read.apply(tables, weight, ends, starts))


def read_plainly(tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """The same in plain torch."""
    rows = updates_at(ends, tables)[..., :-1, :] @ weight
    lags = (ends[..., None] - starts[..., None, :]).tril()
    return rows, (arrivals_at(lags, tables) @ weight).tril()


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        chunk = ends.shape[-1]
        rows = ends.new_empty(*ends.shape, len(weight))
        left = ends.new_zeros(*ends.shape, chunk)
        read_chunks(
            *_projected(tables, weight),
            tables.root_step,
            *(t.reshape(-1, chunk).numpy() for t in (ends, starts)),
            *(t.flatten(0, -3).numpy() for t in (rows, left)),
        )
        ctx.tables = tables
        ctx.save_for_backward(weight, ends, starts, rows)
        return rows, left

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight, ends, starts, rows = ctx.saved_tensors
        tables: Tables = ctx.tables
        if differentiated_again(*gradients):
            found = gradients_by_definition(partial(read_plainly, tables), (weight, ends, starts), gradients)
            return None, *found
        for_rows, for_left = (g.contiguous() for g in gradients)
        order, chunk = len(weight), ends.shape[-1]
        for_knots = ends.new_zeros(3 * len(tables.knots), order)
        for_jump_knots = ends.new_zeros(3 * len(tables.knots))
        # d/dτ E'w = E'A'w, and d/dτ G'w = b'E'w
        for_ends = (for_rows * (rows @ tables.A_T.mT)).sum(-1)
        for_starts = torch.zeros_like(for_ends)
        pull_chunks(
            (tables.knots[..., :-1, :] @ weight @ tables.b).flatten().numpy(),
            tables.root_step,
            *(t.reshape(-1, chunk).numpy() for t in (ends, starts)),
            *(t.flatten(0, -3).numpy() for t in (for_rows, for_left)),
            *(t.numpy() for t in (for_knots, for_jump_knots)),
            *(t.view(-1, chunk).numpy() for t in (for_ends, for_starts)),
        )
        both = torch.cat([for_knots, for_jump_knots[:, None]], 1).view(-1)
        return None, both @ tables.knots.reshape(-1, order), for_ends, for_starts


# -- clocks of their own ------------------------------------------------------------------------------------------
# A vector of the table per sample and channel would be dear to make. But a lookup is a sum over six knots, and the
# knots are few: what meets them all is one matrix product over all rows, and a lookup is then six numbers.

# Rows of chunks at a time: what they say of all knots stays in the cache.
ROWS = 2048
# The quintic of a cell as powers of the place within it, from value, slope and bend at its two knots.
POWERS = (
    (1, 0, 0, 0, 0, 0),
    (0, 1, 0, 0, 0, 0),
    (0, 0, 0.5, 0, 0, 0),
    (-10, -6, -1.5, 10, -4, 0.5),
    (15, 8, 1.5, -15, 7, -1),
    (-6, -3, -0.5, 6, -3, 0.5),
)


def _powers_of(knots: Tensor) -> Tensor:
    """The polynomial of every cell, (cells, 6), from (knots, 3)."""
    return torch.cat([knots[:-1], knots[1:]], 1) @ knots.new_tensor(POWERS).mT


def _knots_back(for_powers: Tensor) -> Tensor:
    """The transpose of `_powers_of`."""
    six = for_powers @ for_powers.new_tensor(POWERS)
    found = six.new_zeros(len(six) + 1, 3)
    found[:-1] += six[:, :3]
    found[1:] += six[:, 3:]
    return found


def _by_rows(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Some rows at a time of all, which come with their last axis kept."""
    flat = [t.contiguous().view(-1, t.shape[-1]) for t in tensors]
    return zip(*(t.split(ROWS) for t in flat), strict=True)


def _reached(tables: Tables, steps: Tensor) -> Tensor:
    """The knots up to the longest of these steps."""
    last = int(max(float(steps.max()), 0.0) ** 0.5 / tables.root_step) + 1
    return tables.knots[: min(last + 1, len(tables.knots))]


def arrive_plainly(tables: Tables, lags: Tensor, jumps: Tensor) -> Tensor:
    """What the jumps of every chunk leave at its end: (*chunks, order), from (*chunks, samples)."""
    return (jumps[..., None, :] @ arrivals_at(lags, tables))[..., 0, :]


class _Arrive(torch.autograd.Function):
    """`arrive_plainly`, compiled."""

    @staticmethod
    def forward(ctx, tables: Tables, lags: Tensor, jumps: Tensor) -> Tensor:
        arrived = lags.new_empty(*lags.shape[:-1], len(tables.b))
        knots = _reached(tables, lags)[:, :, -1].flatten(0, 1)
        shares, cells = lags.new_empty(ROWS, len(knots)), len(knots) // 3 - 1
        for some_lags, some_jumps, out in _by_rows(lags, jumps, arrived):
            here = shares[: len(out)]
            spread_rows(tables.root_step, cells, *_arrays(some_lags, some_jumps, here))
            torch.mm(here, knots, out=out)
        ctx.tables = tables
        ctx.save_for_backward(lags, jumps)
        return arrived

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        lags, jumps = ctx.saved_tensors
        tables: Tables = ctx.tables
        (gradient,) = gradients
        if differentiated_again(gradient):
            return None, *gradients_by_definition(partial(arrive_plainly, tables), (lags, jumps), gradient)
        knots_T = _reached(tables, lags)[:, :, -1].flatten(0, 1).mT.contiguous()
        # d/dτ G = A G + b
        turned_T, cells = tables.A_T.mT @ knots_T, knots_T.shape[1] // 3 - 1
        found = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in (lags, jumps)]
        seen, turned = (lags.new_empty(ROWS, knots_T.shape[1]) for _ in range(2))
        for some_lags, some_jumps, one, for_lags, for_jumps in _by_rows(lags, jumps, gradient, *found):
            here, there = (torch.mm(one, k, out=t[: len(one)]) for k, t in ((knots_T, seen), (turned_T, turned)))
            gather_two(tables.root_step, cells, *_arrays(some_lags, here, there, for_jumps, for_lags))
            for_lags.add_((one @ tables.b)[:, None]).mul_(some_jumps)
        return None, *found


def read_apart_plainly(
    tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor, jumps: Tensor, states: Tensor
) -> Tensor:
    """What is read after every sample: (*chunks, samples), from jumps of that shape and states (*chunks, order)."""
    rows, left = read_plainly(tables, weight, ends, starts)
    return (left @ jumps[..., None] + rows @ states[..., None])[..., 0]


class _ReadApart(torch.autograd.Function):
    """`read_apart_plainly`, compiled."""

    @staticmethod
    def forward(
        ctx, tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor, jumps: Tensor, states: Tensor
    ) -> Tensor:
        y = torch.empty_like(ends, memory_format=torch.contiguous_format)
        both = _reached(tables, ends) @ weight  # (knots, 3, order + 1)
        knots_T, powers = both[..., :-1].flatten(0, 1).mT.contiguous(), _powers_of(both[..., -1])
        seen, cells = ends.new_empty(ROWS, knots_T.shape[1]), len(both) - 1
        for some_ends, some_starts, some_jumps, some_states, out in _by_rows(ends, starts, jumps, states, y):
            here = torch.mm(some_states, knots_T, out=seen[: len(out)])
            gather_rows(tables.root_step, cells, *_arrays(some_ends, here, out))
            some = _arrays(some_ends, some_starts, some_jumps, out)
            read_pairs(powers.numpy(), tables.root_step, *some)
        ctx.tables = tables
        ctx.save_for_backward(weight, ends, starts, jumps, states)
        return y

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight, *inputs = ctx.saved_tensors
        tables: Tables = ctx.tables
        (gradient,) = gradients
        if differentiated_again(gradient):
            definition = partial(read_apart_plainly, tables)
            return None, *gradients_by_definition(definition, (weight, *inputs), gradient)
        found = [torch.zeros_like(t, memory_format=torch.contiguous_format) for t in inputs]
        reached, order = _reached(tables, inputs[0]), len(weight)
        both = reached @ weight
        knots = both[..., :-1].flatten(0, 1)
        # d/dτ E'w = E'A'w, and d/dτ G'w = b'E'w
        turned_T = tables.A_T @ knots.mT
        powers, slopes = (_powers_of(one).numpy() for one in (both[..., -1], both[..., :-1] @ tables.b))
        for_powers, cells = torch.zeros(len(both) - 1, 6, dtype=weight.dtype), len(both) - 1
        for_knots = weight.new_zeros(len(knots), order)
        seen, rates = weight.new_empty(ROWS, len(knots)), weight.new_empty(ROWS, gradient.shape[-1])
        for ends, starts, jumps, states, for_y, for_ends, for_starts, for_jumps, for_states in _by_rows(
            *inputs, gradient, *found
        ):
            here, rate = seen[: len(ends)], rates[: len(ends)]
            torch.mm(states, turned_T, out=here)
            gather_rows(tables.root_step, cells, *_arrays(ends, here, rate))
            torch.mul(rate, for_y, out=for_ends)
            spread_rows(tables.root_step, cells, *_arrays(ends, for_y, here))
            torch.mm(here, knots, out=for_states)
            for_knots.addmm_(here.mT, states)
            some = _arrays(ends, starts, jumps, for_y, for_powers, for_ends, for_starts, for_jumps)
            pull_pairs(powers, slopes, tables.root_step, *some)
        for_both = torch.cat([for_knots.view(-1, 3, order), _knots_back(for_powers)[..., None]], -1).view(-1)
        return None, for_both @ reached.reshape(-1, order), *found


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [t.numpy() for t in tensors]


def _projected(tables: Tables, weight: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The knots of what the functional reads: of a state, (3 knots, order), and of a jump, (3 knots,)."""
    knots = (tables.knots @ weight).flatten(0, 1)
    return knots[:, :-1].contiguous().numpy(), knots[:, -1].contiguous().numpy()
