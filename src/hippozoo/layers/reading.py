"""Layers whose states can be read: as they are, in full, or by lag functionals."""

from __future__ import annotations

import inspect
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import one_of, whole_number
from hippozoo.layers.configured import NOT_CONFIGURED
from hippozoo.layers.sequence_layer import SequenceLayer

__all__ = ["Readout", "ReadingLayer", "weight_and_bias"]

Readout = Literal["states", "full", "shared", "per_channel"]


class ReadingLayer(SequenceLayer):
    """A layer that keeps coefficients of every channel, with a choice of readouts of them.

    Its constructor calls `_choose_readout` first and `_make_readout` last.
    """

    outputs: int | None
    bias: bool

    @property
    def read_by(self) -> Readout:
        """What the output is: the states, or which readout of them."""
        return self._asked or ("full" if self.outputs else "states")

    @property
    def _by_lag(self) -> bool:
        return self.read_by in ("shared", "per_channel")

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the layer again."""
        names = [name for name in inspect.signature(type(self)).parameters if name not in NOT_CONFIGURED]
        return {name: self._asked if name == "readout" else getattr(self, name) for name in names}

    def _choose_readout(self, outputs: int | None, readout: Readout | None, reads: int, bias: bool) -> None:
        """Check and keep what the readout is to be."""
        self.outputs = None if outputs is None else whole_number("outputs", outputs)
        # The name `readout` belongs to the linear map.
        self._asked: Readout | None = None if readout is None else one_of("readout", readout, get_args(Readout))
        self.reads = whole_number("reads", reads)
        if self.reads > 1 and readout != "per_channel":
            raise ValueError(f"reads={reads} with readout={readout!r}; pass readout='per_channel' for several.")
        if readout == "full" and not self.outputs:
            raise ValueError("readout='full' without outputs; pass the number of values to read, such as outputs=1.")
        if readout == "states" and self.outputs:
            raise ValueError(f"readout='states' gives the states themselves; leave out outputs={outputs}.")
        if self.read_by != "states" and not self.channels:
            given = f"outputs={outputs}" if self.outputs else f"readout={readout!r}"
            raise ValueError(f"{given} without channels: a readout weighs every channel; pass channels.")
        self.bias = bool(bias)

    def _make_readout(self, features: int) -> None:
        """Functionals and linear map, for so many numbers of each channel."""
        width = self.channels or 1
        if self._by_lag:
            shape = (features,) if self.read_by == "shared" else (self.reads, width, features)
            self.functional = nn.Parameter(torch.empty(shape, **self._place).normal_(0.0, features**-0.5))
        if self.outputs:
            numbers = width * (self.reads if self._by_lag else features)
            self.readout = nn.Linear(numbers, self.outputs, self.bias, **self._place)

    def _mapped(self, y: Tensor) -> Tensor:
        """The linear map of functionals; of a full readout its bias alone is left to add."""
        if not self.outputs:
            return y
        if self._by_lag:
            return self.readout(y)
        bias = self._weight_and_bias()[1]
        return y if bias is None else y + bias

    def _weight_and_bias(self) -> tuple[Tensor, Tensor | None]:
        """Of the linear map that reads all coefficients, or of what stands in its place."""
        return weight_and_bias(self.readout, (self.channels or 1) * self._features, self._like)

    @property
    def _features(self) -> int:
        """How many numbers of each channel are given, or read out."""
        raise NotImplementedError

    @property
    def _like(self) -> Tensor:
        """A tensor of the layer's dtype where the layer is."""
        return torch.empty((), dtype=self.dtype, device=self.device)

    @property
    def _learnt(self) -> Tensor | None:
        """A parameter of the readout; None where there is none."""
        if self._by_lag:
            return self.functional
        return next(self.readout.parameters(), None) if self.outputs else None


def weight_and_bias(
    linear: nn.Module, inputs: int, like: Tensor
) -> tuple[Float[Tensor, "outputs inputs"], Float[Tensor, " outputs"] | None]:
    """Weight and bias of a linear map of `inputs` numbers, for computations that fold them into others.

    A plain ``nn.Linear`` has them. Any other module in its place (an adapter, a quantised map) is called: what it makes
    of the unit vectors and of zeros is its weight and its bias, with their gradients.
    """
    if type(linear) is nn.Linear and not (linear._forward_hooks or linear._forward_pre_hooks):
        return linear.weight, linear.bias
    unit = torch.eye(inputs, dtype=like.dtype, device=like.device)
    found = linear(torch.cat([unit, torch.zeros_like(unit[:1])]))
    return (found[:-1] - found[-1]).mT, found[-1]
