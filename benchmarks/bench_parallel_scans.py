"""Mamba's scan and salience without a loop over time against the loops: what a training step costs on a processor.

    python -m benchmarks parallel_scans

Off the CPU the form without a loop is the one that is taken. Ratios are of processor time in the same run.
"""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch

from hippozoo.baselines._selective_scan import all_at_once, one_by_one
from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer

__all__ = ["run"]

# (batch, samples, order, channels)
SALIENCE = (1, 256, 16), (1, 1024, 64), (16, 256, 16), (16, 512, 32)  # (batch, samples, order)
SIZES = (1, 256, 16, 64), (1, 1024, 16, 64), (4, 256, 16, 32), (16, 256, 16, 64), (32, 512, 16, 100)


def step(scan: Callable[..., Any], sizes: tuple[int, int, int, int]) -> Callable[[], Any]:
    """Forward and backward."""
    batch, n_steps, order, channels = sizes
    torch.manual_seed(0)
    x, steps = torch.randn(batch, n_steps, channels), torch.rand(batch, n_steps, channels) / 10
    A = -torch.arange(1.0, order + 1)[:, None].repeat(1, channels)
    B, C = torch.randn(batch, n_steps, order), torch.randn(batch, n_steps, order)
    given = [part.requires_grad_() for part in (x, steps, A, B, C)]

    def work() -> Any:
        y, state = scan(*given, torch.zeros(batch, order, channels))
        (y.sum() + state.sum()).backward()
        return y

    return work


def salience_step(form: str, batch: int, n_steps: int, order: int) -> Callable[[], Any]:
    """Forward and backward of salience from the sample alone, in plain torch."""
    torch.manual_seed(0)
    layer: Any = SalienceLayer(LegT(order, 100.0), 16, summary=0, hidden=16, form=form)  # pyright: ignore[reportArgumentType]
    x = torch.randn(batch, n_steps, 16, requires_grad=True)

    def work() -> Any:
        y, state = layer(x)
        (y.sum() + state.sum()).backward()
        return y

    return work


def run() -> list[dict[str, Any]]:
    """Every size, the loop as torch differentiates it and the form without a loop over all samples."""
    rows = []
    for sizes in SIZES:
        loop, parallel = step(one_by_one, sizes), step(all_at_once, sizes)
        torch.testing.assert_close(loop(), parallel(), rtol=1e-3, atol=1e-4)
        loops, parallels = seconds(loop, 3), seconds(parallel, 3)
        rows.append(
            row(f"scan without a loop, {sizes}", parallels, loops, against="the loop", samples=sizes[0] * sizes[1])
        )
    for batch, n_steps, order in SALIENCE:
        loop, parallel = (salience_step(form, batch, n_steps, order) for form in ("recurrent", "table"))
        torch.testing.assert_close(loop(), parallel(), rtol=1e-3, atol=1e-3)
        name = f"salience, chunks side by side, ({batch}, {n_steps}), order {order}"
        rows.append(row(name, seconds(parallel, 3), seconds(loop, 3), against="the loop", samples=batch * n_steps))
    return rows
