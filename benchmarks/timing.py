"""How a benchmark is timed: seeded inputs, checked results, best of several runs on one core, peak memory."""

from __future__ import annotations

import os

# Before NumPy is loaded: one thread each, so that ratios compare work and not cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import gc
import platform
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["machine", "peak_megabytes", "row", "seconds"]


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several runs after one to warm up, in seconds of processor time.

    Processor time, because other work on the machine lengthens the wall clock and not this.
    """
    work()
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def peak_megabytes(work: Callable[[], Any]) -> float:
    """The most memory that NumPy and Python held at once during one run, in MB."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def row(
    name: str,
    ours: float,
    reference: float | None = None,
    *,
    against: str = "",
    target: float | None = None,
    samples: int = 1,
    peak: float | None = None,
) -> dict[str, Any]:
    """One line of the table; `ours` and `reference` in seconds for the same work."""
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "against": against,
        "ratio": None if reference is None else reference / ours,
        "target": target,
        "microseconds_per_sample": 1e6 * ours / samples,
        "peak_megabytes": peak,
    }


def machine() -> dict[str, str]:
    """On what machine, with which versions."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in (Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else [])
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    packages = {name: version(name) for name in ("hippozoo", "numpy", "scipy", "numba", "torch")}
    return {"processor": model, "cores": str(os.cpu_count()), "python": platform.python_version(), **packages}
