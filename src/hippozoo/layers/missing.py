"""Missing samples of a sequence: time passes, and the last value seen is held."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from hippozoo._internal.arguments import shorten
from hippozoo.layers.arguments import demand, on_device

__all__ = ["Mask", "hold_missing"]

#: True where there is a sample: for all channels alike, or for each.
Mask = Bool[Tensor, "batch moments"] | Bool[Tensor, "batch moments numbers"]


def hold_missing(x: Any, mask: Any, *, goes_on: bool, step: bool) -> Any:
    """The samples with each gap filled by the last one before it, and by zero before the first.

    A state does not say which value was held: a sequence that `goes_on` from one begins with a sample.

    Examples
    --------
    >>> x = torch.tensor([[[torch.nan], [2.0], [torch.nan], [5.0]]])
    >>> hold_missing(x, ~x.isnan(), goes_on=False, step=False).flatten().tolist()
    [0.0, 2.0, 2.0, 5.0]
    """
    if step:
        raise TypeError("mask was given with a single step, which knows no sample before; pass the last one again.")
    if not isinstance(x, Tensor):
        raise TypeError(f"mask was given with a {type(x).__name__}; pass x as a tensor, (batch, time, channels).")
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        given = f"has dtype {mask.dtype}" if isinstance(mask, Tensor) else f"is {shorten(mask)}"
        raise TypeError(f"mask {given}; pass a tensor of booleans, True where there is a sample.")
    if mask.shape not in (x.shape, x.shape[:2]):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}, but x has {tuple(x.shape)}; pass one flag per sample, "
            f"{tuple(x.shape[:2])}, or one per number, {tuple(x.shape)}."
        )
    on_device("mask", mask, x.device)
    if goes_on and mask.shape[1]:
        advice = "with a state, the value held before it is not known; put it there and mark it as seen."
        demand("mask", mask[:, :1], lambda seen: seen, advice)
    present = mask if mask.ndim == x.ndim else mask[..., None].expand_as(x)
    time = torch.arange(x.shape[1], device=x.device)[:, None]
    newest = torch.where(present, time, -1).cummax(1).values
    return torch.where(newest >= 0, x.gather(1, newest.clamp(min=0)), 0.0)
