"""Layers as modules that export: a sequence of any length through torch's scan operator, or one step."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils import _pytree as nests

from hippozoo._internal.arguments import shorten

if TYPE_CHECKING:
    from hippozoo.layers.sequence_layer import SequenceLayer

__all__ = ["Scanner", "Stepper", "Time", "exportable"]

Time = Literal["any", "one"]


def exportable(layer: SequenceLayer, time: Time) -> Scanner | Stepper:
    """A copy of a layer that exports, in evaluation mode and without gradients; see `SequenceLayer.exportable`."""
    if time not in get_args(Time):
        raise ValueError(f"time={shorten(time)}; pass 'any' for sequences of any length, or 'one' for one step.")
    copy = deepcopy(layer).eval().requires_grad_(False)
    # What is computed at the first call and kept is computed here: a graph cannot hold how.
    channels = copy.channels or 1
    copy._single(torch.zeros(1, channels, dtype=copy.dtype, device=copy.device), copy._start(1, channels), None)
    return Scanner(copy) if time == "any" else Stepper(copy)


class Stepper(nn.Module):
    """One `step` of a layer as a module of its own, for ``torch.export`` and ONNX; see `SequenceLayer.exportable`."""

    def __init__(self, layer: SequenceLayer) -> None:
        super().__init__()
        self.layer = layer
        self.train(layer.training)

    def forward(self, x: Float[Tensor, "batch *channels"], state: Any) -> tuple[Float[Tensor, "batch *output"], Any]:
        """Output and new state after one more sample."""
        return self.layer.step(x, state)


class Scanner(Stepper):
    """A layer as a module for ``torch.export`` and ONNX whose graph takes any batch and any length.

    The fast paths of a layer cut time into blocks, and a graph of them is a graph of so many blocks. Here time goes
    through torch's scan operator, one `step` after the other: slower, exact, and of any length. Dropout and lengths
    have no part in it.
    """

    def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Output at every sample, or once per sequence where the layer answers once, and the state after the last."""
        try:
            from torch._higher_order_ops.scan import scan
        except ImportError as error:
            raise NotImplementedError(
                f"torch {torch.__version__} has no scan operator, and without it a graph has one fixed length; export "
                "one step with layer.exportable('one') and loop outside, or export the layer itself at one length."
            ) from error
        layer, form = self.layer, nests.tree_structure(state)

        def one(parts: list[Tensor], sample: Tensor) -> tuple[list[Tensor], Tensor]:
            y, after = layer._single(sample, nests.tree_unflatten(parts, form), None)
            # The operator wants tensors that share no memory with what it was given, and lie as that did.
            return [copied(part) for part in nests.tree_leaves(after)], copied(y)

        samples = layer._numbers_of(x).transpose(0, 1)
        parts, y = scan(one, [copied(part) for part in nests.tree_leaves(state)], samples, dim=0)
        y = y.transpose(0, 1)
        return y[:, -1] if getattr(layer, "pool", None) else y, nests.tree_unflatten(parts, form)


def copied(tensor: Tensor) -> Tensor:
    """The same numbers, one after the other in memory of their own."""
    return tensor.clone(memory_format=torch.contiguous_format)
