"""Reading the warped-lag table in torch: values with exact-slope gradients, and whole states."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["cubics", "read", "states_at"]


def cubics(
    values: Float[Tensor, "knots order"], slopes: Float[Tensor, "knots order"], weight: Float[Tensor, "order *reads"]
) -> Float[Tensor, "cells 4 *reads"]:
    """The coefficients of the cubic in every cell, for one or more linear functionals of G."""
    value, slope = values @ weight, slopes @ weight
    rise, start, end = value.diff(dim=0), slope[:-1], slope[1:]
    return torch.stack([value[:-1], start, 3 * rise - 2 * start - end, start + end - 2 * rise], 1)


def read(
    cubic: Float[Tensor, "cells 4 *reads"], lags: Float[Tensor, "*lags"], root_step: float
) -> Float[Tensor, "*all"]:
    """The functionals of G at each lag; zero for lags below 0: what is not yet there leaves nothing."""
    return _Read.apply(cubic, lags, root_step)  # pyright: ignore[reportReturnType]


def _place(lags: Tensor, root_step: float, cells: int) -> tuple[Tensor, Tensor]:
    """The cell of each lag and where in it, 0 to 1."""
    place = lags.clamp(min=0.0).sqrt_().mul_(1 / root_step).clamp_(max=cells * (1 - 1e-7))
    cell = place.long()
    return cell, place.sub_(cell)


class _Read(torch.autograd.Function):
    """Horner in the cell's cubic; the backward pass needs the cubic's slope and hands each cell its share."""

    @staticmethod
    def forward(ctx, cubic: Tensor, lags: Tensor, root_step: float) -> Tensor:
        cell, within = _place(lags, root_step, len(cubic))
        c = cubic[cell]
        many = cubic.ndim == 3
        q = within[..., None] if many else within
        c0, c1, c2, c3 = c.unbind(lags.ndim)
        value = torch.addcmul(c2, c3, q)
        value = torch.addcmul(c1, value, q)
        value = torch.addcmul(c0, value, q)
        ctx.save_for_backward(c, cell, within, lags)
        ctx.root_step, ctx.shape = root_step, cubic.shape
        return value

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        c, cell, within, lags = ctx.saved_tensors
        (gradient,) = gradients
        many = len(ctx.shape) == 3
        q = within[..., None] if many else within
        for_cubic = for_lags = None
        if ctx.needs_input_grad[0]:
            first = gradient * q
            second = first * q
            share = torch.stack([gradient, first, second, second * q], lags.ndim)
            for_cubic = gradient.new_zeros(ctx.shape)
            for_cubic.index_add_(0, cell.flatten(), share.view(-1, *ctx.shape[1:]))
        if ctx.needs_input_grad[1]:
            _, c1, c2, c3 = c.unbind(lags.ndim)
            slope = torch.addcmul(c1, torch.addcmul(2 * c2, c3, 3 * q), q)
            rate = (slope * gradient).sum(-1) if many else slope * gradient
            # By the lag instead of its root; at lag 0 both vanish, and just beside it stands their ratio.
            root = (lags.clamp(min=0.0).sqrt() / ctx.root_step).clamp(min=1e-3)
            rate = rate / (2 * ctx.root_step**2 * root)
            inside = (lags >= 0) & (root < ctx.shape[0])
            for_lags = torch.where(inside, rate, 0.0)
        return for_cubic, for_lags, None


def states_at(
    lags: Float[Tensor, "*lags"],
    values: Float[Tensor, "knots order"],
    slopes: Float[Tensor, "knots order"],
    root_step: float,
    generator: Float[Tensor, "order order_and_1"],
) -> Float[Tensor, "*lags order"]:
    """G itself at each lag; its derivative is ``A G + b``, so the backward pass is exact."""
    return _StatesAt.apply(lags, values, slopes, root_step, generator)  # pyright: ignore[reportReturnType]


class _StatesAt(torch.autograd.Function):
    @staticmethod
    def forward(ctx, lags: Tensor, values: Tensor, slopes: Tensor, root_step: float, generator: Tensor) -> Tensor:
        cell, q = _place(lags, root_step, len(values) - 1)
        q = q[..., None]
        left = 1 - q
        # Hermite's four weights.
        G = values[cell] * (left * left * (1 + 2 * q))
        G.addcmul_(values[cell + 1], q * q * (3 - 2 * q))
        G.addcmul_(slopes[cell], q * left * left)
        G.addcmul_(slopes[cell + 1], -q * q * left)
        ctx.save_for_backward(lags, G, generator)
        return G

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        lags, G, generator = ctx.saved_tensors
        (gradient,) = gradients
        A, b = generator[:, :-1], generator[:, -1]
        rate = ((gradient @ A) * G).sum(-1) + gradient @ b
        return torch.where(lags >= 0, rate, 0.0), None, None, None, None
