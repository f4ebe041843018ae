"""A layer that takes one sample after the other: checked once, then only computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hippozoo.layers.arguments import finest_dtype

if TYPE_CHECKING:
    from hippozoo.layers.sequence_layer import SequenceLayer

__all__ = ["LayerStream"]


class LayerStream:
    """The state of a layer in motion, for single samples: what ``layer.stream(batch)`` gives.

    The first sample is checked as in every call. The others must be like it, in shape, dtype and device; neither that
    nor their values are looked at again, no hook is called, and no gradient is kept. Weights that change afterwards
    are not seen; begin a new stream.

    Examples
    --------
    >>> from hippozoo.memory import MemoryLayer
    >>> from hippozoo.systems import LegT
    >>> layer = MemoryLayer(LegT(order=4, timescale=20.0), channels=1, outputs=2)
    >>> stream = layer.stream(batch=1)
    >>> for sample in torch.ones(10, 1, 1):
    ...     y = stream.push(sample)
    >>> torch.allclose(y, layer(torch.ones(1, 10, 1))[0][:, -1], atol=1e-6)
    True
    """

    def __init__(self, layer: SequenceLayer, state: Any) -> None:
        self.layer, self.state = layer, state
        self._step: Callable[[Tensor, Any, Tensor | None], tuple[Tensor, Any]] | None = None

    @torch.no_grad()
    def push(
        self, x: Float[Tensor, "batch channels"] | Int[Tensor, " batch"], dt: float | None = None
    ) -> Float[Tensor, "batch *output"]:
        """Take in one sample per item, held for `dt`; give the output."""
        if self._step is None:
            y, self.state = self.layer.step(x, self.state, dt)
            self._step = self.layer._streamed()
            return y
        steps = None if dt is None else torch.tensor(dt, dtype=finest_dtype(x.device))
        y, self.state = self._step(x, self.state, steps)
        return y
