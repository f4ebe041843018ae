"""How many series without a season are given one: ``python -m benchmarks.false_seasons`` prints a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from hippozoo.ensemble import find_seasons

__all__ = ["KINDS", "table"]

ROWS, RUNS = (100, 400, 1600), 500


def _autoregression(*weights: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, rows: np.asarray(lfilter([1.0], [1.0, *(-one for one in weights)], rng.normal(size=rows)))


KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "white noise": lambda rng, rows: rng.normal(size=rows),
    "random walk": lambda rng, rows: rng.normal(size=rows).cumsum(),
    "AR(1), .8": _autoregression(0.8),
    "AR(1), -.5": _autoregression(-0.5),
    "AR(2), a broad hump": _autoregression(1.2, -0.5),
    "heavy tails (t, 3)": lambda rng, rows: rng.standard_t(3, size=rows),
}


def table(seed: int = 0) -> list[str]:
    """The share of series that are given a season, by kind and length, as rows of Markdown."""
    rng = np.random.default_rng(seed)
    rows = ["| | " + " | ".join(f"{one:,} values" for one in ROWS) + " |", "|" + "---|" * (len(ROWS) + 1)]
    for name, make in KINDS.items():
        shares = [np.mean([bool(find_seasons(make(rng, count))) for _ in range(RUNS)]) for count in ROWS]
        rows.append(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    return rows


if __name__ == "__main__":
    print(*table(), sep="\n")
