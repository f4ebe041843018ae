"""Salience known beforehand, read by one functional: short chunks of time, all at once.

In a chunk every sample is a jump, of which the functional reads one number at each later sample; of the state before
the chunk it reads a function of the warped time since. Both stand in the update table, multiplied with the functional.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hippozoo.layers.derivatives import with_own_backward
from hippozoo.zoo.salience._kernels import pull_chunks, read_chunks
from hippozoo.zoo.salience.update_table import Tables, arrivals_at, updates_at

__all__ = ["roll_chunkwise"]


def roll_chunkwise(
    tables: Tables, chunk: int, x: Tensor, steps: Tensor, state: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """What the functional reads after every sample, and the state after the last.

    `x` is (batch, time, channels), `steps` (batch, time), in timescales, `state` (batch, channels, order), `weight` the
    functional, (order,). The tables are for steps as long as a chunk.
    """
    n_steps = x.shape[1]
    missing = -n_steps % chunk  # no time passes in what is filled up
    if missing:
        x, steps = functional.pad(x, (0, 0, 0, missing)), functional.pad(steps, (0, missing))
    x, steps = (t.unflatten(1, (-1, chunk)) for t in (x, steps))
    ends = steps.cumsum(-1)  # (batch, chunks, samples)
    starts = functional.pad(ends[..., :-1], (1, 0))
    jumps = torch.diff(x, dim=2, prepend=torch.zeros_like(x[:, :, :1]))
    last = ends[..., -1:]
    arrived = jumps.mT @ arrivals_at(last - starts, tables)  # (batch, chunks, channels, order)
    moves = updates_at(last[..., 0], tables)[..., :-1, :]
    befores = []
    for move, new in zip(moves.unbind(1), arrived.unbind(1), strict=True):
        befores.append(state)
        state = torch.baddbmm(new, state, move)
    rows, left = read_staircases(tables, weight, ends, starts)
    y = left @ jumps + rows @ torch.stack(befores, 1).mT
    return y.flatten(1, 2)[:, :n_steps], state


def read_staircases(tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors that read the carried state, (chunks, samples, order), and what is read of each jump (lower triangular).

    There may be any axes before that of the samples.
    """
    forward, backward, definition = (partial(one, tables) for one in (_read_forward, _read_backward, read_plainly))
    return with_own_backward(forward, backward, definition, weight, ends, starts)


def read_plainly(tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """The same in plain torch."""
    rows = updates_at(ends, tables)[..., :-1, :] @ weight
    lags = (ends[..., None] - starts[..., None, :]).tril()
    return rows, (arrivals_at(lags, tables) @ weight).tril()


def _read_forward(
    tables: Tables, weight: Tensor, ends: Tensor, starts: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor]]:
    chunk = ends.shape[-1]
    rows = ends.new_empty(*ends.shape, len(weight))
    left = ends.new_zeros(*ends.shape, chunk)
    # The knots of what the functional reads: of a state, (3 knots, order), and of a jump, (3 knots,).
    knots = (tables.knots @ weight).flatten(0, 1)
    read_chunks(
        *(part.contiguous().numpy() for part in (knots[:, :-1], knots[:, -1])),
        tables.root_step,
        *(t.reshape(-1, chunk).numpy() for t in (ends, starts)),
        *(t.flatten(0, -3).numpy() for t in (rows, left)),
    )
    return (rows, left), (rows,)


def _read_backward(tables: Tables, gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor, ...]:
    (weight, ends, starts), (rows,) = inputs, kept
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
    return both @ tables.knots.reshape(-1, order), for_ends, for_starts
