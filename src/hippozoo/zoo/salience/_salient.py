"""What has a salience: its call, its salience, and where its clock stands."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from hippozoo.layers import Lengths, Mask, SequenceLayer, State, Steps, Timing

__all__ = ["Salient"]


class Salient(SequenceLayer):
    """What has a salience: the layer, and the model around it."""

    def forward(
        self,
        x: Float[Tensor, "batch *time inputs"] | PackedSequence,
        state: State | None = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        keep_state: bool = True,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, State | None]:
        """As every `SequenceLayer`; without `keep_state` the state is None, and its computation is saved."""
        return self._call(x, state, dt, lengths, step, *(() if step else (keep_state,)), mask=mask)

    def salience(
        self,
        x: Float[Tensor, "batch time inputs"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch time saliences"]:
        """The salience of every sample: (batch, time, 1), or (batch, time, channels) if each has its own.

        Examples
        --------
        >>> import torch
        >>> from hippozoo.systems import LegT
        >>> from hippozoo.zoo.salience import SalienceLayer
        >>> layer = SalienceLayer(LegT(order=8, timescale=10.0), channels=2)
        >>> layer.salience(torch.zeros(1, 5, 2)).shape
        torch.Size([1, 5, 1])
        """
        return self._enter(self._saliences, x, state, dt, lengths)

    def warped_time(
        self,
        x: Float[Tensor, "batch time inputs"],
        state: State | None = None,
        dt: Steps | None = None,
        lengths: Lengths | None = None,
    ) -> Float[Tensor, "batch time saliences"]:
        """Where the warped clock stands after every sample, in timescales since the first one began.

        Examples
        --------
        >>> import torch
        >>> from hippozoo.systems import LegT
        >>> from hippozoo.zoo.salience import SalienceLayer
        >>> layer = SalienceLayer(LegT(order=8, timescale=10.0), channels=2)
        >>> bool((layer.warped_time(torch.randn(1, 5, 2)).diff(dim=1) > 0).all())
        True
        """
        return self._enter(self._warp, x, state, dt, lengths)

    @abstractmethod
    def _saliences(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        """Of every sample, once the call has been checked."""

    @abstractmethod
    def _warp(self, x: Tensor, state: Tensor | None, timing: Timing) -> Tensor:
        """The warped clock, once the call has been checked."""
