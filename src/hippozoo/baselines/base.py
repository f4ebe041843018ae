"""What all baselines share: sizes, the contract of our layers, and stacks of blocks with a short convolution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import SequenceLayer, Timing, parameter_count

__all__ = ["Baseline", "ConvolvedBlocks", "demand_multiple", "parameter_count"]


class Baseline(SequenceLayer):
    """A sequence model with an explicit state, called as our layers are: ``y, state = model(x, state, dt, lengths)``.

    A model of its own writes `_roll` and `_start`, as `hippozoo.layers.SequenceLayer` says. One that knows time says so
    (`knows_time`).

    Parameters
    ----------
    inputs, outputs
        Numbers in a sample and in an answer.
    width
        Channels inside.
    layers
        Blocks one after the other.
    device, dtype
        As in any torch layer; float32 or float64. Under ``torch.autocast`` a model keeps to its own dtype.

    Examples
    --------
    >>> from hippozoo.baselines import LSTM
    >>> model = LSTM(inputs=3, outputs=2, width=8)
    >>> y, state = model.step(torch.ones(4, 3), model.initial_state(batch=4))
    >>> y.shape
    torch.Size([4, 2])
    """

    matched = "width"
    knows_time = False
    numbers = "inputs"

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int,
        layers: int = 1,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, device, dtype)
        self.inputs = whole_number("inputs", inputs)
        self.outputs = whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.layers = whole_number("layers", layers)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype, device=self.device)


class ConvolvedBlocks(Baseline):
    """A linear map in, blocks of ``block(x, samples, memory, lengths, real)``, a norm and a linear map out."""

    #: A NamedTuple of the last samples, for the short convolutions, and of the memories, layer by layer.
    State: ClassVar[type[Any]]

    def _add_blocks(self, blocks: Iterable[nn.Module]) -> None:
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.RMSNorm(self.width, eps=1e-5, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, Any]:
        samples, memories = (part.unbind(1) for part in self._begin(x, state))
        x = self.encoder(x)
        after = []
        for block, recent, memory in zip(self.blocks, samples, memories, strict=True):
            x, recent, memory = block(x, recent, memory, timing.lengths, timing.real)
            after.append((recent, memory))
        return self.readout(self.norm(x)), self.State(*(torch.stack(parts, 1) for parts in zip(*after, strict=True)))


def demand_multiple(width: int, heads: int) -> None:
    """Refuse a width that cannot be shared out among the heads."""
    if width % heads:
        raise ValueError(f"width={width} is no multiple of heads={heads}; pass one that is.")
