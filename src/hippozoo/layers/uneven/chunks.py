"""Time cut into chunks of a few samples that come at uneven times: the states at their starts.

In a chunk the held signal is a staircase. What a jump of it has left by the chunk's end depends on its lag alone, and
is known for all channels at once; from chunk to chunk the state moves by one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from hippozoo.layers.derivatives import differentiated_again, without_autocast
from hippozoo.layers.types import State
from hippozoo.layers.uneven._kernels import polynomials_of_pairs
from hippozoo.layers.uneven.cells import LagCells
from hippozoo.layers.uneven.series import StepSeries

__all__ = ["Chunks", "Jumps", "Starts", "ends_in_chunks", "jumps_and_starts"]

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
        terms = self.series.terms
        found = terms.new_empty(*self.ends.shape, len(terms), self.samples)
        polynomials_of_pairs(self.ends.numpy(), self.starts.numpy(), self.series.reach, found.numpy())
        return found

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
    return cast("tuple[Tensor, Tensor, Tensor]", _Starts.apply(chunks, x, state))


class _Starts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chunks: Chunks, x: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        batch, channels, order = state.shape
        rows = len(chunks.ends)
        jumps = torch.diff(chunks.cut(x), dim=1, prepend=x.new_zeros(rows, 1, channels))
        states = x.new_empty(rows // batch + 1, batch, channels, order)
        states[0] = state
        arrivals, moves = chunks.arrivals, chunks.moves.view(-1, batch, order, order)
        torch.bmm(jumps.mT, arrivals, out=states[1:].view(rows, channels, order))
        for move, before, after in zip(moves.unbind(), states.unbind(), states[1:].unbind(), strict=False):
            after.baddbmm_(before, move)
        ctx.chunks, ctx.channels = chunks, channels
        ctx.save_for_backward(arrivals, moves)
        ctx.set_materialize_grads(False)
        return jumps, states[:-1].view(rows, channels, order), states[-1].clone()

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        arrivals, moves = ctx.saved_tensors
        chunks, batch, channels, order = ctx.chunks, ctx.chunks.batch, ctx.channels, arrivals.shape[-1]
        of_jumps, of_starts, of_last = gradients
        # It is linear: to be differentiated again, it only must not change anything in place.
        again = differentiated_again(*(one for one in gradients if one is not None))
        of_states = arrivals.new_zeros(len(moves) + 1, batch, channels, order)
        of_states[:-1] += 0 if of_starts is None else of_starts.view(-1, batch, channels, order)
        of_states[-1] += 0 if of_last is None else of_last
        each, moves_back = list(of_states.unbind()), moves.mT.unbind()
        for number in reversed(range(len(moves))):
            move = torch.baddbmm if again else Tensor.baddbmm_
            each[number] = move(each[number], each[number + 1], moves_back[number])
        of_arrived = torch.cat(each[1:]) if again else of_states[1:].flatten(0, 1)
        of_x = arrivals @ of_arrived.mT if of_jumps is None else torch.baddbmm(of_jumps, arrivals, of_arrived.mT)
        of_x = torch.cat([of_x[:, :-1] - of_x[:, 1:], of_x[:, -1:]], 1)
        return None, chunks.join(of_x), each[0].clone()
