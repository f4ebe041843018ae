"""One sample at a time: `step` with its checks, `stream` without, the arithmetic alone, mambapy and torch's LSTM.

python -m benchmarks single_samples
"""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from hippozoo.baselines import Mamba
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer

__all__ = ["run"]

SAMPLES, CHANNELS = 500, 8


def arithmetic(layer: MemoryLayer) -> Callable[[], Any]:
    """The products of a memory and its readout, and nothing else."""
    A_T, b, linear = layer.A_d.mT.clone(), layer.b_d, layer.readout

    def work() -> Any:
        state = layer.initial_state(1)
        for x in samples():
            state = torch.addcmul(state @ A_T, x[..., None], b)
            y = nn.functional.linear(state.flatten(1), linear.weight, linear.bias)
        return y

    return torch.no_grad()(work)


def samples() -> tuple[torch.Tensor, ...]:
    """The same for all."""
    return torch.randn(SAMPLES, 1, CHANNELS, generator=torch.Generator().manual_seed(0)).unbind(0)


def by_steps(layer: Any) -> Callable[[], Any]:
    """Sample after sample by `step`."""

    def work() -> Any:
        state = layer.initial_state(1)
        for x in samples():
            y, state = layer.step(x, state)
        return y

    return torch.no_grad()(work)


def by_stream(layer: Any) -> Callable[[], Any]:
    """Sample after sample by `stream`."""

    def work() -> Any:
        stream = layer.stream(1)
        for x in samples():
            y = stream.push(x)
        return y

    return work


def by_torch() -> Callable[[], Any]:
    """The LSTM of torch, with 32 numbers."""
    cells = nn.LSTM(CHANNELS, 32, batch_first=True)

    def work() -> Any:
        state = None
        for x in samples():
            y, state = cells(x[:, None], state)
        return y

    return torch.no_grad()(work)


def by_mambapy(width: int) -> Callable[[], Any]:
    """One layer of mambapy, of a width; it has neither an encoder nor a readout."""
    from mambapy.mamba import Mamba as Theirs
    from mambapy.mamba import MambaConfig

    model = Theirs(MambaConfig(d_model=width, n_layers=1)).eval()
    inner = 2 * width

    def work() -> Any:
        caches = [(None, torch.zeros(1, inner, 3))]
        for x in samples():
            y, caches = model.step(x.repeat(1, width // CHANNELS), caches)
        return y

    return torch.no_grad()(work)


def run() -> list[dict[str, Any]]:
    """Microseconds per sample, and how often the arithmetic or the step goes into it."""
    torch.manual_seed(0)
    memory = MemoryLayer(LegT(16, 100.0), channels=CHANNELS, outputs=4)
    least = seconds(arithmetic(memory), 3)
    alone: dict[str, Any] = {"against": "its arithmetic", "samples": SAMPLES}
    rows = [
        row("memory, stream", seconds(by_stream(memory), 3), least, target=0.77, **alone),
        row("memory, step", seconds(by_steps(memory), 3), least, **alone),
    ]
    lstm, theirs = seconds(by_torch(), 3), seconds(by_mambapy(16), 3)
    rows.append(row("mambapy, step", theirs, lstm, against="nn.LSTM", samples=SAMPLES))
    for name, layer in {
        "Mamba": Mamba(CHANNELS, 4, width=16),
        "salience": SalienceLayer(LegT(16, 100.0), CHANNELS, outputs=4),
    }.items():
        ours = seconds(by_stream(layer), 3)
        rows.append(row(f"{name}, stream", ours, theirs, against="mambapy", target=1.0, samples=SAMPLES))
        rows.append(row(f"{name}, step", seconds(by_steps(layer), 3), theirs, against="mambapy", samples=SAMPLES))
    return rows
