"""Vanilla HiPPO: a fixed memory per channel under a linear readout, or under a small network."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import whole_number
from hippozoo.baselines.base import Baseline
from hippozoo.layers import Timing
from hippozoo.layers.arguments import silent_in_padding
from hippozoo.memory import MemoryLayer
from hippozoo.systems import HippoSystem

__all__ = ["VanillaHippo", "VanillaMLP"]

State = Float[Tensor, "batch layers width order"]


class VanillaHippo(Baseline):
    """A linear map in, a plain HiPPO memory of every channel, a linear readout of all coefficients.

    With one layer the whole model is linear; further layers look at the readout of the one before through a GELU.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.
    system
        The memory, the same in every channel and layer.
    dt
        Time from one sample to the next, where a call does not say otherwise.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> model = VanillaHippo(32, 32, LegT(order=24, timescale=30.0), width=32)
    >>> y, state = model(torch.randn(5, 30, 32))
    >>> y.shape, state.shape, sum(parameter.numel() for parameter in model.parameters())
    (torch.Size([5, 30, 32]), torch.Size([5, 1, 32, 24]), 25664)

    References
    ----------
    Paper, Table "synthetic memory tasks".
    """

    knows_time = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        system: HippoSystem,
        width: int = 32,
        layers: int = 1,
        dt: float = 1.0,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.system = system
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        last = [False] * (self.layers - 1) + [True]
        self.memories = nn.ModuleList(
            MemoryLayer(system, dt=dt, outputs=self._readouts(end), channels=self.width, **self._place) for end in last
        )
        self.dt = cast(MemoryLayer, self.memories[0]).dt
        self.heads = nn.ModuleList(self._head(end) for end in last)

    def _readouts(self, last: bool) -> int:
        """Numbers that a memory is read by."""
        return self.outputs if last else self.width

    def _head(self, last: bool) -> nn.Module:
        """What becomes of them."""
        return nn.Identity() if last else nn.GELU()

    def _start(self, batch: int, channels: int) -> State:
        return self._zeros(batch, self.layers, self.width, self.system.order)

    def _single(self, x: Tensor, state: Any, steps: Tensor | None) -> tuple[Tensor, State]:
        return self._roll(x, state, Timing(steps), step=True)

    def _roll(self, x: Tensor, state: Any, timing: Timing, step: bool = False) -> tuple[Tensor, State]:
        x = self.encoder(x)
        after = []
        for number, (memory, head) in enumerate(zip(self.memories, self.heads, strict=True)):
            x = silent_in_padding(x, timing.real)
            read, one = memory(x, None if state is None else state[:, number], timing, step=step)
            x = head(read)
            after.append(one)
        return x, torch.stack(after, 1)


class VanillaMLP(VanillaHippo):
    """The same memory under a network of one hidden layer, which sees all coefficients of all channels.

    Its first layer is a linear readout of the memory, so that a sequence is read without holding the states.

    Parameters
    ----------
    inputs, outputs, width, layers, system, dt, device, dtype
        As in `VanillaHippo`.
    hidden
        Units of the hidden layer; `match` varies these.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> model = VanillaMLP(32, 32, LegT(order=16, timescale=30.0))
    >>> sum(parameter.numel() for parameter in model.parameters())
    25414
    """

    matched = "hidden"

    def __init__(
        self,
        inputs: int,
        outputs: int,
        system: HippoSystem,
        width: int = 16,
        layers: int = 1,
        dt: float = 1.0,
        hidden: int = 86,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.hidden = whole_number("hidden", hidden)
        super().__init__(inputs, outputs, system, width, layers, dt, device, dtype)

    def _readouts(self, last: bool) -> int:
        return self.hidden

    def _head(self, last: bool) -> nn.Module:
        size = self.outputs if last else self.width
        return nn.Sequential(nn.GELU(), nn.Linear(self.hidden, size, **self._place))
