"""GRU: a recurrent network with two gates and one state; with time between samples as a feature, or as in GRU-D."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo._internal.arguments import one_of
from hippozoo.baselines.base import Baseline
from hippozoo.baselines.gru_scan import fading_gru
from hippozoo.baselines.lstm import parts_of_gates, weights_of_gates
from hippozoo.layers import Timing
from hippozoo.layers.blocks import pick
from hippozoo.layers.torch_cells import roll_cells

__all__ = ["GRU"]

Hidden = Float[Tensor, "batch layers width"]
Time = Literal["feature", "fading"]


class GRU(Baseline):
    """torch's GRU, with a linear readout. Samples go into its gates as they are.

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.
    time
        What it makes of `dt`, which it otherwise refuses. ``"feature"``: the logarithm of how long a sample is held is
        one more of its numbers. ``"fading"``: while a sample is held the hidden state fades by
        ``exp(-relu(rate * dt + offset))``, number by number, with learnt rates and offsets: GRU-D, in which samples are
        whole (its other half fills in numbers that are missing).

    Examples
    --------
    >>> model = GRU(inputs=3, outputs=2, width=8, layers=2)
    >>> y, state = model(torch.randn(5, 30, 3))
    >>> y.shape, state.shape
    (torch.Size([5, 30, 2]), torch.Size([5, 2, 8]))
    >>> y, state = GRU(inputs=3, outputs=2, width=8, time="fading")(torch.randn(5, 30, 3), dt=torch.rand(5, 30))

    References
    ----------
    Cho et al. (2014), Learning phrase representations using RNN encoder-decoder for statistical machine translation.
    Che et al. (2018), Recurrent neural networks for multivariate time series with missing values.
    """

    state_axes = "(batch, layers, width)"

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 70,
        layers: int = 1,
        time: Time | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.time: Time | None = one_of("time", time, (None, *get_args(Time)))
        numbers = self.inputs + (time == "feature")
        self.cells = nn.GRU(numbers, self.width, self.layers, batch_first=True, **self._place)
        if time == "fading":
            # Rates about zero: what lasts is to be learnt.
            self.rate = nn.Parameter(torch.empty(self.layers, self.width, **self._place).uniform_(-0.1, 0.1))
            self.offset = nn.Parameter(torch.zeros(self.layers, self.width, **self._place))
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    @property
    def knows_time(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a sample may be held for a `dt` of its own."""
        return self.time is not None

    def _start(self, batch: int, channels: int) -> Hidden:
        return self._zeros(batch, self.layers, self.width)

    def _roll(self, x: Tensor, state: Tensor | None, timing: Timing) -> tuple[Tensor, Tensor]:
        first: Tensor = self._begin(x, state)
        if self.time == "fading":
            y, after = self._fading(x, first, timing)
            return self.readout(y), after
        if self.time == "feature":
            x = torch.cat([x, self._steps(x, timing).clamp(min=1e-30).log()], -1)
        y, (after,) = roll_cells(self.cells, x, (first,), timing)
        return self.readout(y), after

    def _steps(self, x: Tensor, timing: Timing) -> Float[Tensor, "batch time 1"]:
        return timing.each(*x.shape[:2]).expand(x.shape[:2])[..., None].to(x)

    def _fading(self, x: Tensor, state: Tensor, timing: Timing) -> tuple[Tensor, Tensor]:
        steps, after = self._steps(x, timing), []
        for number, hidden in enumerate(state.unbind(1)):
            fading = torch.exp(-torch.relu(self.rate[number] * steps + self.offset[number]))
            by_sample, sample_bias, weight, bias = weights_of_gates(self.cells, number)
            x = fading_gru(nn.functional.linear(x, by_sample, sample_bias), fading, hidden, weight, bias)
            faded = x * fading
            if timing.lengths is None:
                after.append(faded[:, -1])
            else:
                last = pick(faded, (timing.lengths - 1).clamp(min=0))
                after.append(torch.where((timing.lengths > 0)[:, None], last, hidden))
        return x, torch.stack(after, 1)

    def _single(self, x: Tensor, state: Tensor, steps: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.time is not None or not torch.compiler.is_compiling():
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
