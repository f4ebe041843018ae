"""Layers one sample at a time: streams; and modules that export, through torch's scan operator or as one step."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils import _pytree as nests

from hippozoo._internal.arguments import one_of
from hippozoo.layers.arguments import finest_dtype

if TYPE_CHECKING:
    from hippozoo.layers.sequence_layer import SequenceLayer

__all__ = ["LayerStream", "Scanner", "Stepper", "Time", "exportable"]

Time = Literal["any", "one"]


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


def exportable(layer: SequenceLayer, time: Time) -> Scanner | Stepper:
    """A copy of a layer that exports, in evaluation mode and without gradients; see `SequenceLayer.exportable`."""
    one_of("time", time, get_args(Time))
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
