"""GRU: a recurrent network with two gates and one state."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo.baselines.base import Baseline
from hippozoo.baselines.lstm import parts_of_gates, roll_cells
from hippozoo.layers import Timing

__all__ = ["GRU"]

Hidden = Float[Tensor, "batch layers width"]


class GRU(Baseline):
    """torch's GRU, with a linear readout. Samples go into its gates as they are.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.

    Examples
    --------
    >>> model = GRU(inputs=3, outputs=2, width=8, layers=2)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 2, 8]))

    References
    ----------
    Cho et al. (2014), Learning phrase representations using RNN encoder-decoder for statistical machine translation.
    """

    state_axes = "(batch, layers, width)"

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 70,
        layers: int = 1,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.cells = nn.GRU(self.inputs, self.width, self.layers, batch_first=True, **self._place)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    def _start(self, batch: int, channels: int) -> Hidden:
        return torch.zeros(batch, self.layers, self.width, dtype=self.dtype, device=self.device)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        y, (after,) = roll_cells(self.cells, x, (self._begin(x, state),), timing.lengths)
        return self.readout(y), after

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        if not torch.compiler.is_compiling():
            return super()._single(x, state, steps)
        # Gate by gate, as in the LSTM.
        after = []
        for number, hidden in enumerate(state.unbind(1)):
            parts = parts_of_gates(self.cells, number, x, hidden)
            (reset, update, new), (reset_too, update_too, old) = (part.chunk(3, -1) for part in parts)
            proposal = torch.tanh(new + torch.sigmoid(reset + reset_too) * old)
            x = torch.lerp(proposal, hidden, torch.sigmoid(update + update_too))
            after.append(x)
        return self.readout(x), torch.stack(after, 1)
