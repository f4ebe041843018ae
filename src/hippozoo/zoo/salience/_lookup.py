"""Reading the warped-lag table in torch: values with exact-slope gradients, and whole states."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.layers.derivatives import torch_looks_inside, with_own_backward, without_autocast

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
    forward, definition = (partial(one, root_step=root_step) for one in (_read_forward, _read_plainly))
    return with_own_backward(forward, partial(_read_backward, root_step), definition, cubic, lags)


def _place(lags: Tensor, root_step: float, cells: int) -> tuple[Tensor, Tensor]:
    """The cell of each lag and where in it, 0 to 1."""
    end = cells * (1 - 1e-7)
    if not torch_looks_inside():
        place = lags.clamp(min=0.0).sqrt_().mul_(1 / root_step).clamp_(max=end)
        cell = place.long()
        return cell, place.sub_(cell)
    later = lags > 0
    # At lag 0 the root has no slope; a lag of 1 in its place keeps NaN out of the gradient.
    root = torch.where(later, lags, 1.0).sqrt() * (1 / root_step)
    place = torch.where(later, root, 0.0).clamp(max=end)
    cell = place.detach().long()
    return cell, place - cell


def _read_plainly(cubic: Tensor, lags: Tensor, root_step: float) -> Tensor:
    """The definition."""
    cell, within = _place(lags, root_step, len(cubic))
    return _horner(cubic[cell], within[..., None] if cubic.ndim == 3 else within, lags.ndim)


def _horner(c: Tensor, q: Tensor, axis: int) -> Tensor:
    """The cubic with coefficients along `axis`."""
    c0, c1, c2, c3 = c.unbind(axis)
    return torch.addcmul(c0, torch.addcmul(c1, torch.addcmul(c2, c3, q), q), q)


def _read_forward(cubic: Tensor, lags: Tensor, root_step: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Horner in the cell's cubic."""
    cell, within = _place(lags, root_step, len(cubic))
    c = cubic[cell]
    return _horner(c, within[..., None] if cubic.ndim == 3 else within, lags.ndim), (c, cell, within)


def _read_backward(
    root_step: float, gradients: Any, inputs: Any, kept: Any, needed: Any
) -> tuple[Tensor | None, Tensor | None]:
    """The cubic's slope for the lags; each cell gets its share."""
    (cubic, lags), (c, cell, within), (gradient,) = inputs, kept, gradients
    many = cubic.ndim == 3
    q = within[..., None] if many else within
    for_cubic = for_lags = None
    if needed[0]:
        first = gradient * q
        second = first * q
        share = torch.stack([gradient, first, second, second * q], lags.ndim)
        for_cubic = torch.zeros_like(cubic)
        for_cubic.index_add_(0, cell.flatten(), share.view(-1, *cubic.shape[1:]))
    if needed[1]:
        _, c1, c2, c3 = c.unbind(lags.ndim)
        slope = torch.addcmul(c1, torch.addcmul(2 * c2, c3, 3 * q), q)
        rate = (slope * gradient).sum(-1) if many else slope * gradient
        # By the lag instead of its root; at lag 0 both vanish, and just beside it stands their ratio.
        root = (lags.clamp(min=0.0).sqrt() / root_step).clamp(min=1e-3)
        rate = rate / (2 * root_step**2 * root)
        for_lags = torch.where((lags >= 0) & (root < len(cubic)), rate, 0.0)
    return for_cubic, for_lags


def states_at(
    lags: Float[Tensor, "*lags"],
    values: Float[Tensor, "knots order"],
    slopes: Float[Tensor, "knots order"],
    root_step: float,
    generator: Float[Tensor, "order order_and_1"],
) -> Float[Tensor, "*lags order"]:
    """G itself at each lag; its derivative is ``A G + b``, so the backward pass is exact."""
    # A compiler takes no derivative forwards.
    function = _StatesAt if torch.compiler.is_compiling() else _StatesAtForwardsToo
    return function.apply(lags, values, slopes, root_step, generator)  # pyright: ignore[reportReturnType]


class _StatesAt(torch.autograd.Function):
    """Its derivatives are made of its own output, so they are right at every order, and torch.func knows them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(lags: Tensor, values: Tensor, slopes: Tensor, root_step: float, generator: Tensor) -> Tensor:
        cell, q = _place(lags, root_step, len(values) - 1)
        q = q[..., None]
        left = 1 - q
        add = torch.addcmul if torch_looks_inside() else Tensor.addcmul_
        # Hermite's four weights.
        G = values[cell] * (left * left * (1 + 2 * q))
        G = add(G, values[cell + 1], q * q * (3 - 2 * q))
        G = add(G, slopes[cell], q * left * left)
        return add(G, slopes[cell + 1], -q * q * left)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output, inputs[-1])

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        lags, G, generator = ctx.saved_tensors
        (gradient,) = gradients
        A, b = generator[:, :-1], generator[:, -1]
        rate = ((gradient @ A) * G).sum(-1) + gradient @ b
        return torch.where(lags >= 0, rate, 0.0), None, None, None, None


class _StatesAtForwardsToo(_StatesAt):
    @staticmethod
    def setup_context(ctx, inputs: tuple[Any, ...], output: Tensor) -> None:
        _StatesAt.setup_context(ctx, inputs, output)
        ctx.save_for_forward(inputs[0], output, inputs[-1])

    @staticmethod
    def jvp(ctx, *tangents: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        lags, G, generator = ctx.saved_tensors
        return torch.where(lags >= 0, tangents[0], 0.0)[..., None] * (G @ generator[:, :-1].mT + generator[:, -1])
