"""What does a layer of lag functionals cost? Against a layer of torch's LSTM, and against holding the states."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from typing import Any

import torch
from torch import Tensor, nn

from hippozoo.layers.lag_functionals import functionals_of_states
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT

__all__ = ["growth", "run"]

BATCH, WIDTH = 32, 36
SYSTEMS = LegT(4, 8.0), LegT(4, 32.0), LegT(8, 128.0)


def samples(n_steps: int) -> Tensor:
    """The same noise every time."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(BATCH, n_steps, WIDTH, generator=generator).requires_grad_()


def holding_states(layer: LagLayer, memories: list[MemoryLayer], x: Tensor) -> Tensor:
    """The definition: all states of all windows and the last samples, then the weights."""
    recent = [torch.cat([torch.zeros_like(x[:, :lag]), x[:, : x.shape[1] - lag]], 1) for lag in range(layer.taps)]
    everything = torch.cat([*(memory(x)[0] for memory in memories), torch.stack(recent, -1)], -1)
    linear, one, other = functionals_of_states(everything, layer.weight).unbind(2)
    return linear + one * other


def run() -> list[dict[str, Any]]:
    """A training step, forward and backward; the definition is compared before anything is timed."""
    torch.manual_seed(0)
    layer = LagLayer(SYSTEMS, WIDTH, taps=4, products=1)
    memories = [MemoryLayer(system) for system in SYSTEMS]
    lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
    rows = []
    for n_steps in (128, 512):
        x = samples(n_steps)
        expected = holding_states(layer, memories, x)
        assert (layer(x)[0] - expected).abs().max() < 1e-4 * expected.abs().max()
        ours = seconds(lambda x=x: layer(x)[0].square().mean().backward())
        name = f"training step, {WIDTH} channels, batch {BATCH}, {n_steps} samples"
        for against, work in (
            ("a layer of nn.LSTM", lambda x=x: lstm(x)[0].square().mean().backward()),
            ("all states held", lambda x=x: holding_states(layer, memories, x).square().mean().backward()),
        ):
            rows.append(row(name, ours, seconds(work, 3), against=against, samples=BATCH * n_steps))
    return rows


def growth() -> list[dict[str, Any]]:
    """How a training step grows with the length: linearly."""
    layer = LagLayer(SYSTEMS, WIDTH, taps=4, products=1)
    rows = []
    for n_steps in (32, 128, 512, 2048):
        x = samples(n_steps)
        work = lambda x=x: layer(x)[0].square().mean().backward()  # noqa: E731
        rows.append(row(f"training step, batch {BATCH}, {n_steps} samples", seconds(work, 3), samples=BATCH * n_steps))
    return rows
