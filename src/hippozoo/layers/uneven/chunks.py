"""Time cut into chunks of a few samples that come at uneven times, read without the states.

In a chunk the held signal is a staircase. What is read of a jump of it depends on the lag alone; of the state at the
chunk's start a readout sees a polynomial of the time since. Both are linear in the readout: it is multiplied into the
tables first, and a read costs a few numbers, whatever the order. From chunk to chunk the state moves by one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import embedding, pad

from hippozoo.layers.derivatives import with_own_backward
from hippozoo.layers.types import State
from hippozoo.layers.uneven._kernels import polynomials_of_pairs, pull_jumps, read_jumps
from hippozoo.layers.uneven.tables import LagCells, StepSeries

__all__ = ["Chunks", "ends_in_chunks", "jumps_and_starts", "read_channels", "read_full", "read_shared"]

# Rows are chunks of items, (chunks * batch): then a state is handed on from index to index.
Jumps = Float[Tensor, "rows samples channels"]
Starts = Float[Tensor, "rows channels order"]


@dataclass(frozen=True, eq=False)
class Chunks:
    """When the samples of every chunk end, in timescales since it began, and the system's tables for such times."""

    series: StepSeries
    cells: LagCells
    ends: Float[Tensor, "rows samples"]
    batch: int
    n_steps: int

    @property
    def samples(self) -> int:
        """Of a chunk."""
        return self.ends.shape[1]

    @property
    def missing(self) -> int:
        """Samples that fill up the last chunk."""
        return len(self.ends) // self.batch * self.samples - self.n_steps

    @cached_property
    def starts(self) -> Float[Tensor, "rows samples"]:
        """When the samples begin."""
        return pad(self.ends[:, :-1], (1, 0))

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends, starts and terms for compiled loops; kept, because inside torch.func no tensor gives its numbers."""
        return self.ends.numpy(), self.starts.numpy(), self.series.terms.numpy()

    @cached_property
    def _polynomials(self) -> tuple[Tensor, Tensor]:
        both = torch.stack([self.ends, self.ends[:, -1:] - self.starts])
        found = self.series.polynomials(both).view(-1, 2, *self.ends.shape)
        since, left = found.permute(1, 2, 3, 0).contiguous().unbind()
        return since, left

    @property
    def since(self) -> Float[Tensor, "rows samples terms"]:
        """The polynomials of the series at the end of every sample."""
        return self._polynomials[0]

    @property
    def arrivals(self) -> Float[Tensor, "rows samples order"]:
        """What a jump of 1 at the start of each sample has left by the end of the chunk."""
        return self._polynomials[1] @ self.series.terms[:, -1]

    @property
    def moves(self) -> Float[Tensor, "rows order order"]:
        """The matrices that take a state over a chunk, transposed."""
        terms = self.series.terms[:, :-1]
        found = (self.since[:, -1] @ terms.flatten(1)).view(-1, *terms.shape[1:])
        # In padding a state stays what it is, to the last bit.
        found[self.ends[:, -1] == 0] = torch.eye(terms.shape[-1], dtype=terms.dtype)
        return found

    @property
    def lags(self) -> Float[Tensor, "rows samples terms samples"]:
        """The polynomials at the lag of every sample to itself and every earlier one, zero for later ones."""
        ends, starts, terms = self.arrays
        found = np.empty((*ends.shape, len(terms), self.samples), terms.dtype)
        polynomials_of_pairs(ends, starts, self.series.reach, found)
        return torch.from_numpy(found)

    def cut(self, x: Float[Tensor, "batch time *rest"]) -> Float[Tensor, "rows samples *rest"]:
        """A sequence in chunks, the last one filled with zeros."""
        if self.missing:
            x = pad(x, (0, 0) * (x.ndim - 2) + (0, self.missing))
        return x.unflatten(1, (-1, self.samples)).transpose(0, 1).flatten(0, 1)

    def join(self, y: Float[Tensor, "rows samples *rest"]) -> Float[Tensor, "batch time *rest"]:
        """Chunks as a sequence."""
        y = y.unflatten(0, (-1, self.batch)).transpose(0, 1).flatten(1, 2)
        return y[:, : self.n_steps] if self.missing else y


def ends_in_chunks(steps: Float[Tensor, "items time"], batch: int, samples: int) -> Float[Tensor, "rows samples"]:
    """When samples end in chunks of so many; no time passes in what the last one is filled up with."""
    filled = pad(steps, (0, -steps.shape[1] % samples)).expand(batch, -1)
    return filled.unflatten(1, (-1, samples)).transpose(0, 1).reshape(-1, samples).cumsum(1)


def jumps_and_starts(
    chunks: Chunks, x: Float[Tensor, "batch time channels"], state: State
) -> tuple[Jumps, Starts, State]:
    """The jumps of the signal, the state before every chunk, and the last one; no gradient reaches the times."""
    ours = _roll_starts, _pull_starts, jumps_and_starts_plainly
    forward, backward, definition = (partial(one, chunks) for one in ours)
    return with_own_backward(forward, backward, definition, x, state, takes_none=True)


def jumps_and_starts_plainly(chunks: Chunks, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same in plain torch."""
    batch, _, order = state.shape
    pieces = chunks.cut(x)
    jumps = torch.diff(pieces, dim=1, prepend=torch.zeros_like(pieces[:, :1]))
    arrived, starts = torch.bmm(jumps.mT, chunks.arrivals).split(batch), []
    for move, new in zip(chunks.moves.view(-1, batch, order, order).unbind(), arrived, strict=True):
        starts.append(state)
        state = torch.baddbmm(new, state, move)
    return jumps, torch.cat(starts), state


def _roll_starts(
    chunks: Chunks, x: Tensor, state: Tensor
) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    (batch, channels, order), rows = state.shape, len(chunks.ends)
    jumps = torch.diff(chunks.cut(x), dim=1, prepend=x.new_zeros(rows, 1, channels))
    states = x.new_empty(rows // batch + 1, batch, channels, order)
    states[0] = state
    arrivals, moves = chunks.arrivals, chunks.moves.view(-1, batch, order, order)
    torch.bmm(jumps.mT, arrivals, out=states[1:].view(rows, channels, order))
    for move, before, after in zip(moves.unbind(), states.unbind(), states[1:].unbind(), strict=False):
        after.baddbmm_(before, move)
    return (jumps, states[:-1].view(rows, channels, order), states[-1].clone()), (arrivals, moves)


def _pull_starts(chunks: Chunks, gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor, Tensor]:
    (_, state), (arrivals, moves), (of_jumps, of_starts, of_last) = inputs, kept, gradients
    of_states = arrivals.new_zeros(len(moves) + 1, *state.shape)
    of_states[:-1] += 0 if of_starts is None else of_starts.view(-1, *state.shape)
    of_states[-1] += 0 if of_last is None else of_last
    each, moves_back = of_states.unbind(), moves.mT.unbind()
    for number in reversed(range(len(moves))):
        each[number].baddbmm_(each[number + 1], moves_back[number])
    of_arrived = of_states[1:].flatten(0, 1)
    of_x = arrivals @ of_arrived.mT if of_jumps is None else torch.baddbmm(of_jumps, arrivals, of_arrived.mT)
    of_x = torch.cat([of_x[:, :-1] - of_x[:, 1:], of_x[:, -1:]], 1)
    return chunks.join(of_x), each[0].clone()


# -- what readouts make of them --------------------------------------------------------------------------------------


def read_shared(
    chunks: Chunks, jumps: Jumps, starts: Starts, weight: Float[Tensor, " order"]
) -> Float[Tensor, "rows samples channels"]:
    """One functional of every channel: the lags of a chunk make one matrix for all of them."""
    cells = chunks.cells
    place = (chunks.ends[:, :, None] - chunks.starts[:, None]).clamp(min=0.0).sqrt() * cells.inverse
    cell = place.long().clamp(max=len(cells.values) - 1)
    within = (place - cell).clamp(max=1.0).to(weight)
    *lower, left = embedding(cell, cells.values @ weight).unbind(-1)
    for coefficient in reversed(lower):
        left = torch.addcmul(coefficient, left, within)
    left = left.tril()
    return torch.baddbmm(left @ jumps, chunks.since @ (chunks.series.terms[:, :-1] @ weight), starts.mT)


def read_full(
    chunks: Chunks, jumps: Jumps, starts: Starts, weight: Float[Tensor, "outputs channels order"]
) -> Float[Tensor, "rows samples outputs"]:
    """Linear maps of all coefficients: what each channel adds is summed before it is multiplied with the lags."""
    terms, outputs = chunks.series.terms, len(weight)
    count, rows, samples = len(terms), len(starts), chunks.samples
    of_starts = (terms[:, :-1].flatten(0, 1) @ weight.flatten(0, 1).mT).view(count, -1, *weight.shape[:2])
    of_starts = of_starts.permute(3, 1, 0, 2).reshape(-1, count * outputs)
    seen = (starts.flatten(1) @ of_starts).view(rows, count, outputs)
    of_jumps = (weight @ terms[:, -1].mT).permute(1, 2, 0).reshape(-1, count * outputs)
    left = (jumps.flatten(0, 1) @ of_jumps).view(rows, samples, count, outputs).transpose(1, 2).flatten(1, 2)
    return torch.baddbmm(chunks.lags.flatten(2) @ left, chunks.since, seen)


def read_channels(
    chunks: Chunks, jumps: Jumps, starts: Starts, weight: Float[Tensor, "reads channels order"]
) -> Float[Tensor, "rows samples reads channels"]:
    """Functionals of each channel's own, compiled: what is read of a jump stands in cells of lags."""
    ours = _read_channels, _pull_channels, read_channels_plainly
    forward, backward, definition = (partial(one, chunks) for one in ours)
    return with_own_backward(forward, backward, definition, jumps, starts, weight).transpose(1, 2)


def read_channels_plainly(
    chunks: Chunks, jumps: Tensor, starts: Tensor, weight: Tensor
) -> Float[Tensor, "rows reads samples channels"]:
    """The same in plain torch."""
    terms = chunks.series.terms
    seen = torch.einsum("rcn,pnm,fcm->rfpc", starts, terms[:, :-1], weight)
    left = torch.einsum("rtpi,ric,pm,fcm->rftc", chunks.lags, jumps, terms[:, -1], weight)
    return torch.einsum("rtp,rfpc->rftc", chunks.since, seen) + left


def _read_channels(
    chunks: Chunks, jumps: Tensor, starts: Tensor, weight: Tensor
) -> tuple[Float[Tensor, "rows reads samples channels"], tuple[Tensor, ...]]:
    reads, channels, order = weight.shape
    terms, cells = chunks.series.terms, chunks.cells
    rows, count = len(starts), len(terms)
    # What a functional sees of a state is a polynomial of the time since; channels first, so that products are few.
    firsts = starts.transpose(0, 1).contiguous()
    read = (terms[:, :-1].flatten(0, 1) @ weight.flatten(0, 1).mT).view(count, order, reads, channels)
    read = read.permute(3, 1, 2, 0).reshape(channels, order, reads * count)
    seen = torch.bmm(firsts, read).view(channels, -1).t().contiguous().view(rows * reads, count, channels)
    since = chunks.since[:, None].expand(-1, reads, -1, -1).flatten(0, 1).contiguous()
    y = torch.bmm(since, seen).view(rows, reads, chunks.samples, channels)
    table = (cells.values.flatten(0, 1) @ weight.mT).view(reads, -1, 6, channels)
    _compiled(read_jumps, table, cells.inverse, *chunks.arrays[:2], jumps, y)
    return y, (firsts, read, since, table)


def _pull_channels(chunks: Chunks, gradients: Any, inputs: Any, kept: Any, needed: Any) -> tuple[Tensor, ...]:
    (jumps, starts, weight), (firsts, read, since, table) = inputs, kept
    reads, channels, order = weight.shape
    terms, given = chunks.series.terms, gradients[0].contiguous()
    of_jumps, of_table = torch.zeros_like(jumps), torch.zeros_like(table, dtype=torch.float64)
    _compiled(pull_jumps, table, chunks.cells.inverse, *chunks.arrays[:2], jumps, given, of_table, of_jumps)
    of_seen = torch.bmm(since.mT, given.flatten(0, 1)).view(-1, channels).t().contiguous()
    of_seen = of_seen.view(channels, len(starts), -1)
    of_read = torch.bmm(firsts.mT, of_seen).view(channels, order, reads, -1).permute(2, 0, 3, 1)
    of_weight = of_read.reshape(reads, channels, -1) @ terms[:, :-1].flatten(0, 1)
    of_weight += of_table.to(weight).flatten(1, 2).mT @ chunks.cells.values.flatten(0, 1)
    of_starts = torch.bmm(of_seen, read.mT).transpose(0, 1).contiguous()
    return of_jumps, of_starts, of_weight


def _compiled(kernel: Any, *arguments: Tensor | np.ndarray | float) -> None:
    kernel(*(one.detach().numpy() if isinstance(one, Tensor) else one for one in arguments))
