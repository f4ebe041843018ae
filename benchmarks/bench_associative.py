"""What does a training step of the associative memory cost? Against the loops over time that it replaces."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from typing import Any

import torch

from hippozoo.layers.delta_rule import read_at, written
from hippozoo.zoo.associative import AssociativeMemory, PolynomialBank

__all__ = ["growth", "run"]


def by_steps(layer: AssociativeMemory, x: torch.Tensor) -> torch.Tensor:
    """Our own `step` for every sample: the same operations, one time after the other."""
    state, outputs = layer.initial_state(len(x)), []
    for sample in x.unbind(1):
        y, state = layer.step(sample, state)
        outputs.append(y)
    return torch.stack(outputs, 1)


def legendre(address: torch.Tensor, order: int) -> torch.Tensor:
    """The basis by its recurrence, as people write it."""
    z = 2 * address - 1
    values = [torch.ones_like(z), z]
    for n in range(1, order - 1):
        values.append(((2 * n + 1) * z * values[n] - n * values[n - 1]) / (n + 1))
    scale = torch.sqrt(2 * torch.arange(order, dtype=z.dtype) + 1)
    return torch.stack(values[:order], -1) * scale


def as_printed(layer: AssociativeMemory, x: torch.Tensor) -> torch.Tensor:
    """The paper's appendix line by line: state, addresses, gates, write, read, for every sample."""
    A_d, b_d = layer.memory.update_rule()
    order = layer.family.order
    S, C = layer.initial_state(len(x))
    outputs = []
    for sample in x.unbind(1):
        u = layer.project(sample)
        S = S @ A_d.T + u[..., None] * b_d
        x_key, x_query = torch.sigmoid(layer.addresses(S.flatten(1))).unbind(-1)
        g_write = layer.write_gate(S @ layer.write_gate.lag_functional)
        g_out = layer.output_gate(S @ layer.output_gate.lag_functional)
        k, q = legendre(x_key, order), legendre(x_query, order)
        error = layer.value(u) - torch.einsum("bcn,bn->bc", C, k)
        alpha = g_write / (k.square().sum(-1) + layer.epsilon)
        C = C + (alpha[:, None] * error)[..., None] * k[:, None]
        outputs.append(g_out[:, None] * layer.readout(torch.einsum("bcn,bn->bc", C, q)))
    return torch.stack(outputs, 1)


def training_step(form: Any, layer: AssociativeMemory, x: torch.Tensor) -> None:
    """Forward and backward."""
    layer.zero_grad(set_to_none=True)
    form(layer, x).square().mean().backward()


def whole(layer: AssociativeMemory, x: torch.Tensor) -> torch.Tensor:
    """One call."""
    return layer(x)[0]


def run() -> list[dict[str, Any]]:
    """Training steps at the paper's size, and the bank alone; results are compared before anything is timed."""
    rows = []
    layer = AssociativeMemory(channels=24, generator=torch.Generator().manual_seed(0))
    for batch, n_steps in ((64, 12), (1, 12), (16, 128)):
        x = torch.randn(batch, n_steps, 24, generator=torch.Generator().manual_seed(1)) / 24**0.5
        with torch.no_grad():
            expected = whole(layer, x)
            for form in (by_steps, as_printed):
                assert (form(layer, x) - expected).abs().max() < 1e-4 * expected.abs().max()
        repeats = 3 if n_steps > 64 else 8
        ours = min(seconds(lambda x=x: training_step(whole, layer, x), repeats) for _ in range(2))
        for form, against in ((as_printed, "the paper's loop in torch"), (by_steps, "our step in a loop")):
            rows.append(
                row(
                    f"training step, batch {batch}, {n_steps} samples",
                    ours,
                    seconds(lambda x=x, form=form: training_step(form, layer, x), repeats),
                    against=against,
                    target=4,
                    samples=batch * n_steps,
                )
            )
    bank = PolynomialBank(channels=32)
    where, read = torch.rand(2, 64, 64, generator=torch.Generator().manual_seed(2))
    value = torch.randn(64, 64, 32, generator=torch.Generator().manual_seed(3))
    arguments = where, value, read, torch.ones(64, 64), bank.initial_state(64)
    with torch.no_grad():
        assert (bank(*arguments)[0] - one_by_one(bank, *arguments)[0]).abs().max() < 1e-3
    value.requires_grad_()
    rows.append(
        row(
            "64 writes and reads of the bank, batch 64, with gradients",
            seconds(lambda: bank(*arguments)[0].sum().backward()),
            seconds(lambda: one_by_one(bank, *arguments)[0].sum().backward()),
            against="the delta rule in a loop",
            samples=64 * 64,
        )
    )
    return rows


def one_by_one(bank: PolynomialBank, where: Any, value: Any, read: Any, gate: Any, state: Any) -> tuple[Any, Any]:
    """Write, then read, at every time."""
    key, length, gate = bank._unit_key(where, gate)
    query, reads = bank._features(read), []
    for now in zip(key.unbind(1), (value / length[..., None]).unbind(1), gate.unbind(1), query.unbind(1), strict=True):
        state = written(state, *now[:3])
        reads.append(read_at(state, now[3]))
    return torch.stack(reads, 1), state


def growth() -> list[dict[str, Any]]:
    """How a forward pass grows with the length: linear, since stretches of 64 are solved one after the other."""
    layer = AssociativeMemory(channels=24, generator=torch.Generator().manual_seed(0))
    rows = []
    for n_steps in (12, 64, 256, 1024, 4096):
        x = torch.randn(4, n_steps, 24, generator=torch.Generator().manual_seed(1)) / 24**0.5
        with torch.no_grad():
            work = lambda x=x: layer(x)  # noqa: E731
            rows.append(row(f"forward, batch 4, {n_steps} samples", seconds(work, 3), samples=4 * n_steps))
    return rows
