"""The torch layer, forward and backward, against the loop that people write with tensors."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler, which counts the memory, would tell its life

import torch
from torch import Tensor

from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT

__all__ = ["growth", "run"]

TIMESCALE = 1000.0


def loop_states(A_d: Tensor, b_d: Tensor, x: Tensor) -> Tensor:
    """The loop that people write."""
    state = x.new_zeros(x.shape[0], x.shape[2], len(b_d))
    states = []
    for t in range(x.shape[1]):
        state = state @ A_d.T + x[:, t, :, None] * b_d
        states.append(state)
    return torch.stack(states, 1)


def loop_readout(A_d: Tensor, b_d: Tensor, x: Tensor, readout: torch.nn.Linear) -> Tensor:
    """The same, reading from every state."""
    state = x.new_zeros(x.shape[0], x.shape[2], len(b_d))
    outputs = []
    for t in range(x.shape[1]):
        state = state @ A_d.T + x[:, t, :, None] * b_d
        outputs.append(readout(state.flatten(1)))
    return torch.stack(outputs, 1)


def loop_exponentials(system: LegT, x: Tensor, dt: Tensor) -> Tensor:
    """The same with a step of its own for every sample of every item: an exponential for each."""
    N = system.order
    generator = torch.zeros(N + 1, N + 1, dtype=torch.float64)
    generator[:N, :N], generator[:N, N] = torch.tensor(system.A), torch.tensor(system.b)
    state = x.new_zeros(x.shape[0], x.shape[2], N)
    states = []
    for t in range(x.shape[1]):
        both = torch.linalg.matrix_exp(dt[:, t, None, None] / system.timescale * generator).to(x.dtype)
        state = state @ both[:, :N, :N].mT + x[:, t, :, None] * both[:, None, :N, N]
        states.append(state)
    return torch.stack(states, 1)


def forward_and_backward(run: Callable[[Tensor], Tensor], x: Tensor, layer: MemoryLayer) -> Callable[[], Tensor]:
    """One training pass: output, then the gradients of the samples and of whatever is learnt."""
    x.requires_grad_()
    with torch.no_grad():
        weights = torch.randn(run(x).shape, generator=torch.Generator().manual_seed(1))

    def work() -> Tensor:
        x.grad = None
        layer.zero_grad()
        y = run(x)
        y.backward(weights)
        return y

    return work


def peak_megabytes(work: Callable[[], Any], x: Tensor, layer: MemoryLayer) -> float:
    """The most memory that torch held at once during one run, in MB."""
    x.grad = None
    layer.zero_grad()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    recorded: Any = profile.profiler
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most / 1e6


def compare(
    name: str,
    layer: MemoryLayer,
    x: Tensor,
    ours: Callable[[Tensor], Tensor],
    loop: Callable[[Tensor], Tensor],
    against: str,
    target: float | None = None,
) -> dict[str, Any]:
    """A row of the table, after values and gradients have been found to agree."""
    fast, slow = forward_and_backward(ours, x, layer), forward_and_backward(loop, x, layer)
    results = []
    for work in (slow, fast):
        y = work()
        results.append([y.detach(), x.grad, *[p.grad.clone() for p in layer.parameters() if p.grad is not None]])
    for wanted, found in zip(*results, strict=True):
        assert (found - wanted).abs().max() <= 1e-4 * wanted.abs().max()
    reference = seconds(slow, 2)
    found = row(
        name,
        seconds(fast, 10),
        reference,
        against=against,
        target=target,
        samples=x.numel(),
        peak=peak_megabytes(fast, x, layer),
    )
    return found | {"reference_peak_megabytes": peak_megabytes(slow, x, layer)}


def run() -> list[dict[str, Any]]:
    """The table: float32, N = 64, Leg-T, forward and backward."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    system = LegT(64, TIMESCALE)
    A_d, b_d = MemoryLayer(system).update_rule()
    for shape, target in (((1, 16384, 1), 20), ((32, 1024, 16), None)):
        layer = MemoryLayer(system)
        rows.append(
            compare(
                f"torch, all states of {shape}, forward and backward",
                layer,
                torch.randn(shape),
                lambda x, layer=layer: layer(x)[0],
                lambda x: loop_states(A_d, b_d, x),
                "torch loop",
                target,
            )
        )
    layer = MemoryLayer(system, outputs=8, channels=16)
    rows.append(
        compare(
            "torch, 8 readouts of (32, 1024, 16), forward and backward",
            layer,
            torch.randn(32, 1024, 16),
            lambda x: layer(x)[0],
            lambda x: loop_readout(A_d, b_d, x, layer.readout),
            "torch loop",
            8,
        )
    )
    learning = MemoryLayer(system, outputs=8, channels=16, trainable_timescale=True)
    learning.readout.load_state_dict(layer.readout.state_dict())
    rows.append(
        compare(
            "the same, the timescale learnt too",
            learning,
            torch.randn(32, 1024, 16),
            lambda x: learning(x)[0],
            lambda x: loop_readout(*learning.update_rule(), x, learning.readout),
            "torch loop",
        )
    )
    dt = 10 ** torch.empty(8, 128, dtype=torch.float64).uniform_(-4, -1)
    irregular = MemoryLayer(LegT(64, timescale=1.0))
    rows.append(
        compare(
            "torch, all states of (8, 128, 1), a new dt at every sample, forward and backward",
            irregular,
            torch.randn(8, 128, 1),
            lambda x: irregular(x, dt=dt)[0],
            lambda x: loop_exponentials(LegT(64, timescale=1.0), x, dt),
            "torch loop, matrix_exp per sample",
        )
    )
    return rows


def growth() -> list[dict[str, Any]]:
    """How time per sample and peak memory of a readout to 8 values grow; forward and backward."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shapes = [(order, (8, 512, 4)) for order in (16, 32, 64, 128, 256, 512)]
    shapes += [(64, (8, 512, channels)) for channels in (1, 16, 64)]
    shapes += [(64, (1, 1 << exponent, 1)) for exponent in (8, 12, 16, 20)]
    rows = []
    for order, shape in shapes:
        layer = MemoryLayer(LegT(order, TIMESCALE), outputs=8, channels=shape[2])
        x = torch.randn(shape)
        work = forward_and_backward(lambda x, layer=layer: layer(x)[0], x, layer)
        name = f"8 readouts of {shape}, N = {order}"
        rows.append(row(name, seconds(work, 3), samples=x.numel(), peak=peak_megabytes(work, x, layer)))
    return rows


def main() -> None:
    """Print both tables; `python -m benchmarks torch_layer` also keeps them."""
    for part in (run, growth):
        for entry in part():
            ratio = f"{entry['ratio']:6.1f}x" if entry["ratio"] else " " * 7
            print(
                f"{entry['name']:85s} {1e3 * entry['ours']:9.2f} ms {ratio} "
                f"{entry['microseconds_per_sample']:9.4f} µs/sample {entry['peak_megabytes']:8.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
