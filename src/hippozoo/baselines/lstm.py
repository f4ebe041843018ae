"""LSTM: gates around a cell, the usual recurrent network."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo.baselines.base import Baseline
from hippozoo.layers import Timing
from hippozoo.layers.torch_cells import roll_cells

__all__ = ["LSTM", "LSTMState"]


class LSTMState(NamedTuple):
    """What an LSTM carries on."""

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
        return LSTMState(*(self._zeros(batch, self.layers, self.width) for _ in range(2)))

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, LSTMState]:
        y, after = roll_cells(self.cells, x, self._begin(x, state), timing)
        return self.readout(y), LSTMState(*after)

    def _single(self, x: Tensor, state: Any, steps: Tensor | None) -> tuple[Tensor, LSTMState]:
        if not torch.compiler.is_compiling():
            return super()._single(x, state, steps)
        # torch's cells keep a list of their weights, which no operator over time may touch: so gate by gate.
        after = []
        for number, (hidden, cell) in enumerate(zip(state.hidden.unbind(1), state.cell.unbind(1), strict=True)):
            from_sample, from_hidden = parts_of_gates(self.cells, number, x, hidden)
            enter, keep, value, leave = (from_sample + from_hidden).chunk(4, -1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(value)
            x = torch.sigmoid(leave) * torch.tanh(cell)
            after.append((x, cell))
        return self.readout(x), LSTMState(*(torch.stack(parts, 1) for parts in zip(*after, strict=True)))


def parts_of_gates(cells: nn.LSTM | nn.GRU, layer: int, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """What the sample and the last hidden state bring to the gates of a layer."""
    by_sample, sample_bias, by_hidden, hidden_bias = weights_of_gates(cells, layer)
    return nn.functional.linear(x, by_sample, sample_bias), nn.functional.linear(hidden, by_hidden, hidden_bias)


def weights_of_gates(cells: nn.LSTM | nn.GRU, layer: int) -> tuple[Tensor, ...]:
    """Weight and bias of what the sample brings to the gates of a layer, and of what the hidden state brings."""
    names = "weight_ih", "bias_ih", "weight_hh", "bias_hh"
    return tuple(getattr(cells, f"{name}_l{layer}") for name in names)
