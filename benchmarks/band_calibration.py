"""How often bands miss, beside how often they say so: synthetic families after 200 samples, and every column of ETT.

``python -m benchmarks.band_calibration`` writes results/bands/metrics.json and table.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.tasks.long_term import load_long_term
from hippozoo.zoo.forecasting import Forecaster, forecaster_for

__all__ = ["FAMILIES", "misses"]

LEVELS = (0.8, 0.95, 0.99, 0.999)
HORIZON, REPLICATES, BEGIN, END, EVERY = 6, 250, 200, 400, 3

Make = Callable[[np.random.Generator, int], np.ndarray]


def _garch(rng: np.random.Generator, count: int) -> np.ndarray:
    values, variance = np.empty((count, REPLICATES)), np.ones(REPLICATES)
    for t in range(count):
        values[t] = np.sqrt(variance) * rng.normal(size=REPLICATES)
        variance = 0.05 + 0.1 * values[t] ** 2 + 0.85 * variance
    return values


def _autoregression(rng: np.random.Generator, count: int) -> np.ndarray:
    values = np.zeros((count, REPLICATES))
    for t in range(1, count):
        values[t] = 0.8 * values[t - 1] + rng.normal(size=REPLICATES)
    return values


def _seasonal_variance(rng: np.random.Generator, count: int) -> np.ndarray:
    size = 1 + 0.8 * np.sin(np.arange(count) * 2 * np.pi / 24)
    return size[:, None] * rng.normal(size=(count, REPLICATES))


FAMILIES: dict[str, tuple[Make, int | None]] = {
    "Gaussian": (lambda rng, count: rng.normal(size=(count, REPLICATES)), None),
    "Laplace": (lambda rng, count: rng.laplace(size=(count, REPLICATES)), None),
    "Student's t, 3": (lambda rng, count: rng.standard_t(3, size=(count, REPLICATES)), None),
    "walk of t, 4": (lambda rng, count: np.cumsum(rng.standard_t(4, size=(count, REPLICATES)), axis=0), None),
    "AR(1), .8": (_autoregression, None),
    "GARCH(1, 1)": (_garch, None),
    "seasonal variance": (_seasonal_variance, 24),
}


def misses(forecaster: Forecaster, values: np.ndarray, begin: int, end: int, every: int) -> tuple[list[float], int]:
    """The share of values outside each band over all channels, leads and origins, and how many there were."""
    horizon = forecaster.mixer.horizon
    state = forecaster.learn(forecaster.initial_state(values.shape[1]), values[:begin])
    missed, count = np.zeros(len(LEVELS)), 0
    for t in range(begin, end, every):
        forecast, future = forecaster.forecast(state), values[t : t + horizon].T
        for place, level in enumerate(LEVELS):
            lower, upper = forecast.band(forecast.leads(), level)
            missed[place] += np.sum((future < lower) | (future > upper))
        count += future.size
        state = forecaster.learn(state, values[t : t + every])
    return (missed / count).tolist(), count


def run(folder: Path) -> None:
    """All of it, as numbers and as a table; written after every family, so that a run can be cut short."""
    found: dict[str, dict[str, Any]] = {}

    def note(name: str, shares: list[float], count: int) -> None:
        found[name] = {"missed": dict(zip(map(str, LEVELS), shares, strict=True)), "forecasts": count}
        print(name, [f"{share:.4f}" for share in shares], count, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        content = {"horizon": HORIZON, "seed": 0, "families": found}
        (folder / "metrics.json").write_text(json.dumps(content, indent=1) + "\n")
        heads = " | ".join(f"{level:.1%}" for level in LEVELS)
        rows = [f"| misses of bands of | {heads} | forecasts |", "|" + "---|" * (len(LEVELS) + 2)]
        for family, one in found.items():
            cells = " | ".join(f"{share:.2%}" for share in one["missed"].values())
            rows.append(f"| {family} | {cells} | {one['forecasts']:,} |")
        (folder / "table.md").write_text("\n".join(rows) + "\n")

    for name, (make, season) in FAMILIES.items():
        values = make(np.random.default_rng(0), END + HORIZON)
        note(name, *misses(forecaster_for(HORIZON, season=season), values, BEGIN, END, EVERY))
    for name, day in (("ETTh1", 24), ("ETTm1", 96)):
        values = np.ascontiguousarray(load_long_term(name).values[:17_000])
        end = len(values) - HORIZON
        # A stride that is no part of a day, so that origins fall on all hours.
        note(f"{name}, all columns", *misses(forecaster_for(HORIZON, season=day), values, 500, end, 25))


if __name__ == "__main__":
    run(Path("results/bands"))
