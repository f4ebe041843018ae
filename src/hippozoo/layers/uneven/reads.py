"""What readouts make of samples at uneven times, chunk by chunk and without the states.

A read is the sum of two parts. Of the state at the chunk's start it sees a polynomial of the time since. Of a jump in
the chunk it sees a function of the lag. Both are linear in the readout: so it is multiplied into the series first, and
a read costs a few numbers, whatever the order.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import embedding

from hippozoo.layers.derivatives import differentiated_again, gradients_by_definition, without_autocast
from hippozoo.layers.uneven._kernels import pull_jumps, read_jumps
from hippozoo.layers.uneven.chunks import Chunks, Jumps, Starts

__all__ = ["read_channels", "read_channels_plainly", "read_full", "read_shared"]


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
    return cast(Tensor, _Channels.apply(chunks, jumps, starts, weight)).transpose(1, 2)


def read_channels_plainly(
    chunks: Chunks, lags: Tensor, jumps: Tensor, starts: Tensor, weight: Tensor
) -> Float[Tensor, "rows reads samples channels"]:
    """The same in plain torch; `lags` are those of the chunks."""
    terms = chunks.series.terms
    seen = torch.einsum("rcn,pnm,fcm->rfpc", starts, terms[:, :-1], weight)
    left = torch.einsum("rtpi,ric,pm,fcm->rftc", lags, jumps, terms[:, -1], weight)
    return torch.einsum("rtp,rfpc->rftc", chunks.since, seen) + left


class _Channels(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, chunks: Chunks, jumps: Tensor, starts: Tensor, weight: Tensor
    ) -> Float[Tensor, "rows reads samples channels"]:
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
        _compiled(read_jumps, table, cells.inverse, chunks.ends, chunks.starts, jumps, y)
        ctx.chunks = chunks
        ctx.save_for_backward(jumps, starts, weight, firsts, read, since, table)
        return y

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        jumps, starts, weight, firsts, read, since, table = ctx.saved_tensors
        chunks: Chunks = ctx.chunks
        (given,) = gradients
        if differentiated_again(given):
            plainly = partial(read_channels_plainly, chunks, chunks.lags)
            return None, *gradients_by_definition(plainly, (jumps, starts, weight), given)
        reads, channels, order = weight.shape
        terms, given = chunks.series.terms, given.contiguous()
        of_jumps, of_table = torch.zeros_like(jumps), torch.zeros_like(table, dtype=torch.float64)
        _compiled(pull_jumps, table, chunks.cells.inverse, chunks.ends, chunks.starts, jumps, given, of_table, of_jumps)
        of_seen = torch.bmm(since.mT, given.flatten(0, 1)).view(-1, channels).t().contiguous()
        of_seen = of_seen.view(channels, len(starts), -1)
        of_read = torch.bmm(firsts.mT, of_seen).view(channels, order, reads, -1).permute(2, 0, 3, 1)
        of_weight = of_read.reshape(reads, channels, -1) @ terms[:, :-1].flatten(0, 1)
        of_weight += of_table.to(weight).flatten(1, 2).mT @ chunks.cells.values.flatten(0, 1)
        of_starts = torch.bmm(of_seen, read.mT).transpose(0, 1).contiguous()
        return None, of_jumps, of_starts, of_weight


def _compiled(kernel: Any, *arguments: Tensor | float) -> None:
    kernel(*(one.detach().numpy() if isinstance(one, Tensor) else one for one in arguments))
