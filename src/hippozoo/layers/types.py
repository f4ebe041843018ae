"""What layers are given and give, named once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hippozoo.layers.arguments import finest_dtype

__all__ = ["Lengths", "State", "Steps", "Timing"]

# The state of a plain memory; a layer may keep any nest of tensors with the batch first.
State = Float[Tensor, "batch channels order"]
Steps = Float[Tensor, "*steps"] | Int[Tensor, "*steps"] | float | int
Lengths = Int[Tensor, " batch"] | Int[np.ndarray, " batch"] | Sequence[int]


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
