"""The paper's model around the layer: project the tokens in, remember them under salience, read them out."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hippozoo._arguments import whole_number
from hippozoo.layers.arguments import finite_samples, in_own_precision, on_device, without_padding
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience.layer import Form, SalienceLayer, State, Steps

__all__ = ["SalienceModel"]


class SalienceModel(nn.Module):
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
    Paper, appendix "Selective Copying Experiment"; PAPER_NOTES, section 3 for the layout.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        system: HippoSystem,
        width: int = 64,
        dt: float = 1.0,
        summary: int = 32,
        hidden: int = 128,
        largest: float = 2.0,
        per_channel: bool = False,
        form: Form | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.inputs = self.channels = whole_number("inputs", inputs)
        self.outputs = whole_number("outputs", outputs)
        self.width = whole_number("width", width)
        self.input = nn.Linear(self.inputs, self.width, device=device, dtype=dtype)
        self.layer = SalienceLayer(
            system,
            self.width,
            dt,
            outputs=self.outputs,
            summary=summary,
            hidden=hidden,
            largest=largest,
            per_channel=per_channel,
            form=form,
            device=device,
            dtype=dtype,
        )

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the model again."""
        own = {"inputs": self.inputs, "outputs": self.outputs, "width": self.width}
        names = "system", "dt", "summary", "hidden", "largest", "per_channel", "form"
        return own | {name: getattr(self.layer, name) for name in names}

    @property
    def dtype(self) -> torch.dtype:
        """What the model computes in, and what samples and states are given in."""
        return self.layer.dtype

    @property
    def system(self) -> HippoSystem:
        """The memory's."""
        return self.layer.system

    @property
    def dt(self) -> float:
        """Time from sample to sample."""
        return self.layer.dt

    def initial_state(self, batch: int) -> State:
        """The memory of nothing: zeros of shape (batch, width, order)."""
        return self.layer.initial_state(batch)

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        keep_state: bool = True,
    ) -> tuple[Float[Tensor, "batch time outputs"], State | None]:
        """Take in a sequence; give an answer at every sample, and the state after the last; as `SalienceLayer`."""
        return in_own_precision(self.dtype, self._roll, x, state, dt, lengths, keep_state)

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State, dt: Steps | None = None
    ) -> tuple[Float[Tensor, "batch outputs"], State]:
        """Take in one sample per item; give the answer and the new state."""
        return in_own_precision(self.dtype, self._take, x, state, dt)

    def salience(
        self,
        x: Float[Tensor, "batch time inputs"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch time saliences"]:
        """The salience of every sample."""
        return in_own_precision(self.dtype, self._salience, x, state, dt, lengths)

    def _roll(
        self, x: Tensor, state: Tensor | None, dt: Steps | None, lengths: Tensor | None, keep_state: bool
    ) -> tuple[Tensor, Tensor | None]:
        return self.layer(self._projected(x, 3, lengths), state, dt, lengths, keep_state=keep_state)

    def _take(self, x: Tensor, state: Tensor, dt: Steps | None) -> tuple[Tensor, Tensor]:
        return self.layer.step(self._projected(x, 2), state, dt)

    def _salience(self, x: Tensor, state: Tensor | None, dt: Steps | None, lengths: Tensor | None) -> Tensor:
        return self.layer.salience(self._projected(x, 3, lengths), state, dt, lengths)

    def _projected(self, x: Tensor, axes: int, lengths: Tensor | None = None) -> Tensor:
        """What the layer is given; samples are refused and silenced here, where they still have the caller's names."""
        if not isinstance(x, Tensor) or x.ndim != axes or x.dtype != self.dtype or x.shape[-1] != self.inputs:
            expected = "(batch, time, inputs)" if axes == 3 else "(batch, inputs)"
            given = f"shape {tuple(x.shape)} and dtype {x.dtype}" if isinstance(x, Tensor) else f"type {type(x)}"
            raise (ValueError if isinstance(x, Tensor) else TypeError)(
                f"x has {given}, expected {expected} with inputs={self.inputs} in {self.dtype}."
            )
        on_device("x", x, self.input.weight.device)
        if 0 in x.shape:
            raise ValueError(f"x has shape {tuple(x.shape)} and holds nothing; pass at least one sample.")
        # Before the projection: what it multiplies comes back in its gradient, and 0 times NaN is NaN.
        x = without_padding(x, lengths)[0]
        finite_samples(x)
        return self.input(x)
