"""What layers are given: samples with times, padding and gaps; and what they give, named once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hippozoo._internal.arguments import shorten
from hippozoo.layers.arguments import demand, finest_dtype, on_device

__all__ = ["Lengths", "Mask", "State", "Steps", "Timing", "hold_missing", "reversed_in_time"]

# The state of a plain memory; a layer may keep any nest of tensors with the batch first.
State = Float[Tensor, "batch channels order"]
Steps = Float[Tensor, "*steps"] | Int[Tensor, "*steps"] | float | int
Lengths = Int[Tensor, " batch"] | Int[np.ndarray, " batch"] | Sequence[int]
#: True where there is a sample: for all channels alike, or for each.
Mask = Bool[Tensor, "batch moments"] | Bool[Tensor, "batch moments numbers"]


class Timing(NamedTuple):
    """When samples come: how long each is held, and which of them are real. All of it has been checked.

    `steps` are in float64: one for all, one per sample, or one per item and sample; None: the layer's own. `lengths`
    are real samples of each item, and `real` is True at these; None: all are real. `given_lengths` are `lengths` where
    the caller had them: on the host, if they were given as numbers.

    Examples
    --------
    No time passes in the padding.

    >>> lengths = torch.tensor([3, 1])
    >>> timing = Timing(torch.tensor(0.5), lengths, torch.arange(3) < lengths[:, None])
    >>> timing.each(batch=2, n_steps=3).tolist()
    [[0.5, 0.5, 0.5], [0.5, 0.0, 0.0]]
    """

    steps: Float[Tensor, "*steps"] | None = None
    lengths: Int[Tensor, " batch"] | None = None
    real: Bool[Tensor, "batch time"] | None = None
    given_lengths: Int[Tensor, " batch"] | None = None

    def each(self, batch: int, n_steps: int, default: float = 1.0) -> Float[Tensor, "rows time"]:
        """The step of every sample, 0 in the padding; one row where all items share them."""
        steps = torch.tensor(default, dtype=torch.float64) if self.steps is None else self.steps
        if self.real is None:
            return steps.expand(batch if steps.ndim == 2 else 1, n_steps)
        device = self.real.device
        return torch.where(self.real, steps.to(device, finest_dtype(device)).expand(batch, n_steps), 0.0)

    def reversed(self, batch: int) -> Timing:
        """The timing of the same samples read backwards: each is held for as long as before."""
        steps = self.steps
        if steps is None or steps.ndim == 0:
            return self
        if self.lengths is None:
            return self._replace(steps=steps.flip(-1))
        return self._replace(steps=reversed_in_time(steps.expand(batch, -1), self.lengths))


def reversed_in_time(
    x: Float[Tensor, "batch time *rest"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "batch time *rest"]:
    """The real samples of each item in reverse order, the padding still behind them; done twice, it changes nothing."""
    if lengths is None:
        return x.flip(1)
    time = torch.arange(x.shape[1], device=x.device)
    source = torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return x.gather(1, source.view(*source.shape, *[1] * (x.ndim - 2)).expand_as(x))


def hold_missing(x: Any, mask: Any, *, goes_on: bool, step: bool) -> Any:
    """The samples with each gap filled by the last one before it, and by zero before the first.

    A state does not say which value was held: a sequence that `goes_on` from one begins with a sample.
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
