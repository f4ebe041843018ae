"""The paper's model around the layer: project the tokens in, remember them under salience, read them out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import State, Timing
from hippozoo.layers.arguments import silent_in_padding
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience._salient import Salient
from hippozoo.zoo.salience.layer import Form, SalienceLayer

__all__ = ["SalienceModel"]


class SalienceModel(Salient):
    """A linear map to `width` channels, a `SalienceLayer`, a linear map to `outputs`.

    With the paper's sizes (32 inputs and outputs, width 64, order 256) it has 25,217 parameters: all channels share
    one lag functional, so the state is never read in full.

    Parameters
    ----------
    inputs, outputs
        Numbers in a sample and in an answer.
    system
        The memory; its timescale is the length of an episode.
    width
        Channels of the memory.
    dt, summary, hidden, largest, per_channel, form
        As in `SalienceLayer`.
    device, dtype
        As in any torch layer.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> model = SalienceModel(32, 32, LegT(order=256, timescale=30.0))
    >>> sum(parameter.numel() for parameter in model.parameters())
    25217

    References
    ----------
    Paper, appendix "Selective Copying Experiment". It does not give the shape of the readout; this one fits its sizes.
    """

    matched = "width"
    numbers = "inputs"

    system: HippoSystem
    dt: float

    def __init__(
        self,
        inputs: int,
        outputs: int,
        system: HippoSystem,
        *,
        width: int = 64,
        summary: int = 32,
        hidden: int = 128,
        largest: float = 2.0,
        per_channel: bool = False,
        form: Form | None = None,
        dt: float = 1.0,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, device, dtype)
        self.inputs = whole_number("inputs", inputs)
        self.outputs = whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.input = nn.Linear(self.inputs, self.width, **self._place)
        self.layer = SalienceLayer(
            system,
            self.width,
            dt=dt,
            outputs=self.outputs,
            summary=summary,
            hidden=hidden,
            largest=largest,
            per_channel=per_channel,
            form=form,
            **self._place,
        )
        for name in ("system", "dt", "summary", "hidden", "largest", "per_channel", "form"):
            setattr(self, name, getattr(self.layer, name))

    def _start(self, batch: int, channels: int) -> State:
        return torch.zeros(batch, self.width, self.system.order, dtype=self.dtype, device=self.device)

    def _roll(
        self, x: Tensor, state: Tensor | None, timing: Timing, keep_state: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        return self.layer(self._projected(x, timing), state, timing, keep_state=keep_state)

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.layer(self.input(x), state, Timing(steps), step=True)

    def _saliences(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        return self.layer._saliences(self._projected(x, timing), state, timing)

    def _warp(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        return self.layer._warp(self._projected(x, timing), state, timing)

    def _projected(self, x: Tensor, timing: Timing) -> Tensor:
        return silent_in_padding(self.input(x), timing.real)
