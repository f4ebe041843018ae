"""Capacity of linear reservoirs: reservoirpy's `memory_capacity` and the microscope, against the closed form.

Run it in an environment that has reservoirpy beside hippozoo: ``python -m benchmarks.microscope_beside_reservoirpy``.
Both see the same reservoirs and the same samples: one series of 22,000 uniform samples, of which reservoirpy fits the
first 20,000 and scores the others, as it does by default, and the microscope 40 pieces. reservoirpy gives the squared
correlation of each delay; ours is R² of held-out pieces, corrected for chance. The table is written as Markdown.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
from pathlib import Path

import numpy as np

LAGS, WARM_UP, SAMPLES = 48, 256, 20_000


def reservoir(size: int, radius: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal weights scaled to a spectral radius, uniform input weights."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(size, size))
    return weights * radius / np.abs(np.linalg.eigvals(weights)).max(), rng.uniform(-1, 1, size=(size, 1))


def compare(size: int, radius: float, seed: int) -> dict[str, float]:
    """Largest and mean error over lags, and seconds, of both."""
    from reservoirpy.nodes import Reservoir, Ridge
    from reservoirpy.observables import memory_capacity

    from hippozoo.microscope import exact_profile, look

    weights, entry = reservoir(size, radius, seed)
    responses = [entry[:, 0]]
    while len(responses) < WARM_UP:
        responses.append(weights @ responses[-1])
    exact = exact_profile(np.array(responses), LAGS, noise=1e-12)
    series = np.random.default_rng(seed).uniform(-0.8, 0.8, size=(SAMPLES + 2_000, 1))

    def node() -> Reservoir:
        return Reservoir(W=weights, Win=entry, bias=np.zeros(size), activation="identity", lr=1.0)

    began = time.perf_counter()
    theirs = memory_capacity(node() >> Ridge(ridge=1e-8), k_max=LAGS - 1, as_list=True, series=series, test_size=2_000)
    theirs_seconds = time.perf_counter() - began
    states = np.asarray(node().run(series))
    pieces = 40
    kept = len(series) // pieces * pieces
    x, held = series[:kept].reshape(pieces, -1, 1), states[:kept].reshape(pieces, -1, size)
    began = time.perf_counter()
    ours = look(held, x, LAGS, at=range(LAGS, x.shape[1]), noise=1e-12).profile.value
    ours_seconds = time.perf_counter() - began
    # reservoirpy counts delays from one, so that its first one is lag 1.
    shared = slice(1, LAGS)
    theirs = np.asarray(theirs, float).ravel()[: LAGS - 1]
    return {
        "capacity": float(exact[shared].sum()),
        "theirs": float(theirs.sum()),
        "ours": float(ours[shared].sum()),
        "their_error": float(np.abs(theirs - exact[shared]).max()),
        "our_error": float(np.abs(ours[shared] - exact[shared]).max()),
        "their_seconds": theirs_seconds,
        "our_seconds": ours_seconds,
    }


def table() -> str:
    """All reservoirs, as Markdown."""
    lines = [
        "| reservoir | exact capacity, lags 1 to 47 | reservoirpy | microscope | largest error, reservoirpy "
        "| microscope | seconds, reservoirpy | microscope |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size, radius in ((20, 0.8), (20, 0.95), (50, 0.9), (100, 0.9), (200, 0.9)):
        found = compare(size, radius, seed=size)
        lines.append(
            f"| {size} units, radius {radius} | {found['capacity']:.2f} | {found['theirs']:.2f} | "
            f"{found['ours']:.2f} | {found['their_error']:.3f} | {found['our_error']:.3f} | "
            f"{found['their_seconds']:.1f} | {found['our_seconds']:.1f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    written = table()
    sys.stdout.write(written)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(written, encoding="utf-8")
