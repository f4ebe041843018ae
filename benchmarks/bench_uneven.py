"""Samples at uneven times against equal steps: a training step of (16, 256, 32), order 16.

python -m benchmarks uneven
"""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hippozoo.layers import SequenceLayer
from hippozoo.layers.uneven import rolling
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer

__all__ = ["run"]

BATCH, TIME, CHANNELS = 16, 256, 32
WINDOW = 100.0
READOUTS: dict[str, dict[str, Any]] = {
    "all states": {},
    "4 outputs": {"outputs": 4},
    "1 output": {"outputs": 1},
    "one functional": {"readout": "shared"},
    "a functional per channel": {"readout": "per_channel"},
    "two functionals per channel": {"readout": "per_channel", "reads": 2},
}


def training(layer: SequenceLayer, x: Tensor, dt: Tensor | None) -> Callable[[], list[Tensor]]:
    """One training step: output, then the gradients of the samples and of whatever is learnt."""
    with torch.no_grad():
        given = torch.randn(layer(x)[0].shape, generator=torch.Generator().manual_seed(1))

    def work() -> list[Tensor]:
        y, _ = layer(x, dt=dt)
        return [y, *torch.autograd.grad(y, [x, *layer.parameters()], given)]

    return work


def run() -> list[dict[str, Any]]:
    """The table; every fast result has been found equal to that of matrix exponentials."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(BATCH, TIME, CHANNELS).requires_grad_()
    dt = 0.25 + 1.5 * torch.rand(BATCH, TIME, dtype=torch.float64)
    layers: dict[str, SequenceLayer] = {
        name: MemoryLayer(LegT(16, WINDOW), channels=CHANNELS, **options) for name, options in READOUTS.items()
    }
    layers["lags of three windows"] = LagLayer((LegT(4, 8.0), LegT(4, 32.0), LegT(8, 128.0)), CHANNELS, taps=4)
    rows = []
    for name, layer in layers.items():
        fast, equal = training(layer, x, dt), training(layer, x, None)
        if isinstance(layer, MemoryLayer):
            _check(fast)
        both = seconds(fast, 15), seconds(equal, 15)
        rows.append(row(f"uneven, {name}", *both, against="equal steps", target=0.4, samples=BATCH * TIME))
    clock = SalienceLayer(LegT(16, WINDOW), CHANNELS, summary=0, hidden=16)
    both = seconds(training(clock, x, dt), 10), seconds(training(clock, x, None), 10)
    name = "uneven, salience without a summary"
    return [*rows, row(name, *both, against="equal steps", samples=BATCH * TIME)]


def _check(fast: Callable[[], list[Tensor]]) -> None:
    found, before = fast(), rolling.goes_fast
    rolling.goes_fast = lambda x: False
    try:
        wanted = fast()
    finally:
        rolling.goes_fast = before
    for one, other in zip(found, wanted, strict=True):
        error = (one - other).abs().max() / other.abs().max()
        assert error <= 3e-5, error  # a functional's gradient is a sum of 131,000 terms of either sign
