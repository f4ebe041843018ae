"""A block of a stack: norm, any layer, a gate, and a way around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, silu
from torch.nn.utils.rnn import PackedSequence

from hippozoo._internal.arguments import one_of, shorten, whole_number
from hippozoo.layers.arguments import silent_in_padding
from hippozoo.layers.contract import advance, attribute_of, contract_of, initial_state_of, outputs_of
from hippozoo.layers.sequence_layer import SequenceLayer
from hippozoo.layers.stepping import Scanner, Stepper, Time
from hippozoo.layers.torch_cells import KINDS, TorchCells
from hippozoo.layers.types import Lengths, Mask, Steps, Timing, reversed_in_time

__all__ = ["Block", "Factory"]

#: What makes a layer for so many channels, or a layer that has been made for them: any module that keeps the contract.
Factory = Callable[[int], nn.Module] | nn.Module
Norm = Literal["rms", "layer"]


class Container(SequenceLayer):
    """A layer made of modules: it knows time if all of them do."""

    def _parts(self) -> list[nn.Module]:
        """The modules inside, or whatever has been put around them."""
        raise NotImplementedError

    @property
    def knows_time(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a sample may be held for a `dt` of its own: if every layer inside takes one."""
        return all(attribute_of(part, "knows_time", False) for part in self._parts())

    @property
    def reads_whole(self) -> bool:
        """Whether it or a part reads backwards too: then sequences are read whole, without state and steps."""
        own = getattr(self, "bidirectional", False)
        return own or any(attribute_of(part, "reads_whole", False) for part in self._parts())

    def _single(self, x: Tensor, state: Any, steps: Tensor | None, *options: Any) -> tuple[Tensor, Any]:
        return self._roll(x, state, Timing(steps), *options, step=True)  # pyright: ignore[reportCallIssue]

    def initial_state(self, batch: int, channels: int | None = None) -> Any:
        """The state before any sample; `channels` is for layers that take any number of them."""
        self._refuse_backwards("has no state")
        return super().initial_state(batch, channels)

    def exportable(self, time: Time = "any") -> Scanner | Stepper:
        """As `SequenceLayer.exportable`; what reads backwards is exported as it is, at one length."""
        self._refuse_backwards("has no steps to export; export the module itself, at one length")
        return super().exportable(time)

    def _call(
        self, x: Any, state: Any, dt: Any, lengths: Any, step: bool, *options: Any, mask: Any = None
    ) -> tuple[Any, Any]:
        if self.reads_whole:
            if step:
                self._refuse_backwards("has no step")
            if state is not None and not isinstance(dt, Timing):
                self._refuse_backwards("goes on from no state")
            return super()._call(x, None, dt, lengths, step, *options, mask=mask)[0], None
        return super()._call(x, state, dt, lengths, step, *options, mask=mask)

    def _refuse_backwards(self, what: str) -> None:
        if self.reads_whole:
            raise TypeError(
                f"{type(self).__name__} reads backwards too (bidirectional=True) and so {what}: pass whole sequences, "
                "or build it without bidirectional."
            )


class Block(Container):
    """``x + leave(gate * layer(enter(norm(x))))``: any layer with a norm, a gate and a way around.

    Parameters
    ----------
    width
        Channels of the block, in and out.
    layer
        What makes the layer, ``width -> layer``, or the layer itself: ours, an ``nn.LSTM`` or ``nn.GRU``, or any module
        with the same contract. It takes `width` channels; whatever it gives is mapped back to them.
    beside
        More layers that see the same samples, such as a salience clock or an associative bank beside a plain memory;
        what all of them give is put side by side before the map back.
    gate
        Whether the present sample scales what the layers give, number by number.
    hidden
        Units of a network behind the layer, with its own norm and way around; 0: none.
    norm
        ``"rms"`` or ``"layer"``.
    around
        Whether the samples are added to what the layer makes of them.
    dropout
        Share of the numbers that are dropped in training, before they are added to the samples.
    bidirectional
        Whether layers of the same kind, with weights of their own, read each sequence backwards too. Such a block
        reads whole sequences: it has no state and no `step`. A layer that is given ready-made is copied for this.
    device, dtype
        As in any torch layer; float32 or float64.

    Examples
    --------
    >>> from hippozoo.memory import LagLayer
    >>> from hippozoo.systems import LegT
    >>> block = Block(16, lambda width: LagLayer(LegT(8, 20.0), width, taps=4))
    >>> y, state = block(torch.randn(2, 50, 16))
    >>> y.shape, [tuple(part.shape) for part in state]
    (torch.Size([2, 50, 16]), [(2, 16, 12)])
    """

    def __init__(
        self,
        width: int,
        layer: Factory,
        beside: Factory | Sequence[Factory] = (),
        gate: bool = True,
        hidden: int = 0,
        norm: Norm = "rms",
        around: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(whole_number("width", width), device, dtype)
        self.width = width
        self.gate, self.around = bool(gate), bool(around)
        self.hidden = whole_number("hidden", hidden, minimum=0)
        self.norm: Norm = one_of("norm", norm, get_args(Norm))
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={shorten(dropout)} is a share; pass 0 <= dropout < 1.")
        self.dropout = float(dropout)
        factories = [layer, *([beside] if callable(beside) else beside)]
        made = [made_for(width, one).to(**self._place) for one in factories]
        self.layers = nn.ModuleList(made)
        self.bidirectional = bool(bidirectional)
        if self.bidirectional:
            again = [deepcopy(one) if isinstance(one, nn.Module) else one for one in factories]
            self.backwards = nn.ModuleList(made_for(width, one).to(**self._place) for one in again)
        features = sum(outputs_of(one, width, self._place) for one in made) * (1 + self.bidirectional)
        self.before = self._norm()
        self.enter = nn.Linear(width, width + features * self.gate, **self._place)
        self.leave = nn.Linear(features, width, **self._place)
        if self.hidden:
            self.before_network = self._norm()
            self.up = nn.Linear(width, self.hidden, **self._place)
            self.down = nn.Linear(self.hidden, width, **self._place)

    @property
    def wants_first(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a layer inside wants what entered the stack."""
        return any(attribute_of(part, "wants_first", False) for part in self._parts())

    @property
    def layer(self) -> Any:
        """The layer."""
        return self.layers[0]

    @property
    def beside(self) -> tuple[Any, ...]:
        """The layers beside it."""
        return tuple(self._parts()[1:])

    def extra_repr(self) -> str:
        """What stands in the parentheses when the block is printed."""
        return f"width={self.width}"

    def _parts(self) -> list[nn.Module]:
        return list(self.layers)

    def _norm(self) -> nn.Module:
        if self.norm == "rms":
            return nn.RMSNorm(self.width, eps=1e-5, **self._place)
        return nn.LayerNorm(self.width, **self._place)

    def forward(
        self,
        x: Float[Tensor, "batch *time channels"] | PackedSequence,
        state: Any = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        first: Tensor | None = None,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, Any]:
        """As every `SequenceLayer`; `first` is what entered the stack, for layers that want it."""
        return self._call(x, state, dt, lengths, step, first, mask=mask)

    def _start(self, batch: int, channels: int) -> tuple[Any, ...]:
        return tuple(initial_state_of(part, batch, channels) for part in self._parts())

    def _roll(
        self, x: Tensor, state: Any, timing: Timing, first: Tensor | None = None, step: bool = False
    ) -> tuple[Tensor, tuple[Any, ...]]:
        entered = self.enter(self.before(x))
        value = silent_in_padding(entered[..., : self.width], timing.real)
        states = [None] * len(self.layers) if state is None else state
        pairs = zip(self._parts(), states, strict=True)
        found = [advance(part, value, one, timing, first, step=step) for part, one in pairs]
        y = [one.flatten(1 if step else 2) for one, _ in found]
        if self.bidirectional:
            y += self._read_backwards(value, timing, first)
        read = y[0] if len(y) == 1 else torch.cat(y, -1)
        read = self._dropped(self.leave(read * silu(entered[..., self.width :]) if self.gate else read))
        x = x + read if self.around else read
        if self.hidden:
            x = x + self._dropped(self.down(gelu(self.up(self.before_network(x)))))
        return x, tuple(after for _, after in found)

    def _read_backwards(self, value: Tensor, timing: Timing, first: Tensor | None) -> list[Tensor]:
        lengths, back = timing.lengths, timing.reversed(len(value))
        value = reversed_in_time(value, lengths)
        first = None if first is None else reversed_in_time(first, lengths)
        found = (advance(part, value, None, back, first)[0].flatten(2) for part in self.backwards)
        return [reversed_in_time(one, lengths) for one in found]

    def _dropped(self, y: Tensor) -> Tensor:
        return nn.functional.dropout(y, self.dropout, self.training) if self.dropout else y


def made_for(width: int, factory: Any) -> nn.Module:
    """The layer of so many channels that a factory makes, or the layer itself; torch's own networks as layers."""
    layer = factory if isinstance(factory, nn.Module) else factory(width) if callable(factory) else factory
    if isinstance(layer, tuple(KINDS.values())):
        layer = TorchCells(layer)
    if not isinstance(layer, nn.Module):
        raise TypeError(
            f"{shorten(factory)} gave {shorten(layer)}, which is no layer; pass a function of the width, "
            "such as lambda width: MemoryLayer(LegT(8, 20.0), channels=width)."
        )
    contract_of(layer)
    channels = attribute_of(layer, "channels")
    if channels is not None and channels != width:
        raise ValueError(
            f"{type(layer).__name__} takes {channels} channels, but the block has width={width}; "
            "pass a function of the width that makes the layer for it."
        )
    return layer
