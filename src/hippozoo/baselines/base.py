"""What all baselines share: sizes, and the contract of our layers."""

from __future__ import annotations

import torch

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import SequenceLayer, parameter_count

__all__ = ["Baseline", "parameter_count"]


class Baseline(SequenceLayer):
    """A sequence model with an explicit state, called as our layers are: ``y, state = model(x, state, dt, lengths)``.

    A linear map takes samples of `inputs` numbers to `width`, blocks follow, a linear map gives `outputs` numbers
    at every sample. A model of its own writes `_roll` and `_start`, as `hippozoo.layers.SequenceLayer` says. One that
    knows time says so (`knows_time`).

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
