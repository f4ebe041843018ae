"""Sequences read backwards: each item from its last real sample to its first, the padding still behind them."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.types import Timing

__all__ = ["reversed_in_time", "reversed_timing"]


def reversed_in_time(
    x: Float[Tensor, "batch time *rest"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "batch time *rest"]:
    """The real samples of each item in reverse order; done twice, it changes nothing.

    Examples
    --------
    >>> x = torch.arange(8.0).view(2, 4)
    >>> reversed_in_time(x, torch.tensor([4, 2])).tolist()
    [[3.0, 2.0, 1.0, 0.0], [5.0, 4.0, 6.0, 7.0]]
    """
    if lengths is None:
        return x.flip(1)
    time = torch.arange(x.shape[1], device=x.device)
    source = torch.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return x.gather(1, source.view(*source.shape, *[1] * (x.ndim - 2)).expand_as(x))


def reversed_timing(timing: Timing, batch: int) -> Timing:
    """The timing of the reversed samples: each is held for as long as before."""
    steps = timing.steps
    if steps is None or steps.ndim == 0:
        return timing
    if timing.lengths is None:
        return timing._replace(steps=steps.flip(-1))
    return timing._replace(steps=reversed_in_time(steps.expand(batch, -1), timing.lengths))
