"""Mamba's scan without a loop over time against the loops: what a training step costs on a processor.

    python -m benchmarks parallel_scans

Off the CPU the form without a loop is the one that is taken. Ratios are of processor time in the same run.
"""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from collections.abc import Callable
from typing import Any

import torch

from hippozoo.baselines._selective_scan import all_at_once, one_by_one

__all__ = ["run"]

# (batch, samples, order, channels)
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
        print(f"{sizes}: loop {1e3 * loops:.1f} ms, without it {1e3 * parallels:.1f} ms, ratio {parallels / loops:.2f}")
    return rows
