"""LSTM: gates around a cell, the usual recurrent network."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo.baselines.base import Baseline
from hippozoo.layers import Timing

__all__ = ["LSTM", "LSTMState"]


class LSTMState(NamedTuple):
    """What an LSTM carries on.

    Parameters
    ----------
    hidden
        What it said last, layer by layer.
    cell
        What it keeps to itself.
    """

    hidden: Float[Tensor, "batch layers width"]
    cell: Float[Tensor, "batch layers width"]


class LSTM(Baseline):
    """torch's LSTM, with a linear readout. Samples go into its gates as they are.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.

    Examples
    --------
    >>> model = LSTM(inputs=3, outputs=2, width=8, layers=2)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.cell.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 2, 8]))

    References
    ----------
    Hochreiter and Schmidhuber (1997), Long short-term memory.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 60,
        layers: int = 1,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.cells = nn.LSTM(self.inputs, self.width, self.layers, batch_first=True, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    def _start(self, batch: int, channels: int) -> LSTMState:
        zeros = torch.zeros(batch, self.layers, self.width, dtype=self.dtype, device=self.device)
        return LSTMState(zeros, zeros.clone())

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, LSTMState]:
        lengths = timing.lengths
        before = None if state is None else tuple(part.transpose(0, 1).contiguous() for part in state)
        if lengths is None:
            y, after = self.cells(x, before)
            return self.readout(y), LSTMState(*(part.transpose(0, 1) for part in after))
        # A packed sequence has at least one sample; items of none keep what they had.
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.clamp(min=1).cpu(), True, enforce_sorted=False)
        y, after = self.cells(packed, before)
        y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])
        empty = (lengths == 0)[:, None, None]
        kept = self._begin(x, state)
        parts = (torch.where(empty, old, new.transpose(0, 1)) for old, new in zip(kept, after, strict=True))
        return self.readout(y), LSTMState(*parts)
