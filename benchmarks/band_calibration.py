"""How often bands miss, beside how often they say so: synthetic families after 200 samples, ETT, and M4.

Interval scores stand beside those of one chosen map with Gaussian bands, which the defaults were before.

``python -m benchmarks.band_calibration`` writes results/bands/metrics.json and table.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.tasks.long_term import load_long_term
from hippozoo.tasks.m4 import FREQUENCIES, Frequency, load_m4
from hippozoo.tasks.m4 import scale_of as mase_scale
from hippozoo.zoo.forecasting import Forecaster, forecaster_for

__all__ = ["FAMILIES", "misses"]

LEVELS = (0.8, 0.95, 0.99, 0.999)
HORIZON, REPLICATES, BEGIN, END, EVERY = 6, 250, 200, 400, 3
# Interval scores are compared on every so many of the origins: the older bands are slow.
SCORED = 6

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


def misses(
    forecaster: Forecaster, values: np.ndarray, begin: int, end: int, every: int, scored: int = 1
) -> tuple[list[float], int, np.ndarray]:
    """The share of values outside each band over all channels, leads and origins, how many there were, and scores.

    Scores are mean interval scores of every level, channels in units of their standard deviation, over every
    `scored`-th origin: width, plus what lies outside times 2 / (1 - level).
    """
    horizon = round(forecaster.horizon / forecaster.dt)
    unit = np.maximum(values.std(axis=0), 1e-300)[:, None]
    state = forecaster.learn(forecaster.initial_state(values.shape[1]), values[:begin])
    missed, scores, count, origins = np.zeros(len(LEVELS)), np.zeros(len(LEVELS)), 0, 0
    for number, t in enumerate(range(begin, end, every)):
        forecast, future = forecaster.forecast(state), values[t : t + horizon].T
        for place, level in enumerate(LEVELS):
            lower, upper = forecast.band(forecast.leads(), level)
            missed[place] += np.sum((future < lower) | (future > upper))
            if number % scored == 0:
                scores[place] += np.mean(interval_score(future, lower, upper, level) / unit)
        count, origins = count + future.size, origins + (number % scored == 0)
        state = forecaster.learn(state, values[t : t + every])
    return (missed / count).tolist(), count, scores / origins


def interval_score(truth: np.ndarray, lower: np.ndarray, upper: np.ndarray, level: float) -> np.ndarray:
    """Width, plus what lies outside times 2 / (1 - level): the lower the better."""
    outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    return upper - lower + 2 / (1 - level) * outside


def m4_held_back(kind: Frequency) -> tuple[list[float], int, list[float]]:
    """The same on the last horizon of every *training* series of M4, and the ratio of scores to the older bands."""
    protocol = FREQUENCIES[kind]
    missed, count, sums = np.zeros(len(LEVELS)), 0, np.zeros((2, len(LEVELS)))
    makers = [forecaster_for(protocol.horizon, season=protocol.seasons, mixture=mixed) for mixed in (True, False)]
    for series in load_m4(kind):
        past, future = series.train[: -protocol.horizon], series.train[-protocol.horizon :]
        unit = mase_scale(past, protocol.scoring_season)
        for which, forecaster in enumerate(makers):
            forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), past))
            for place, level in enumerate(LEVELS):
                lower, upper = forecast.band(forecast.leads(), level)
                sums[which, place] += np.mean(interval_score(future, lower, upper, level)) / unit
                if which == 0:
                    missed[place] += np.sum((future < lower) | (future > upper))
        count += future.size
    return (missed / count).tolist(), count, (sums[0] / sums[1]).tolist()


def run(folder: Path) -> None:
    """All of it, as numbers and as a table; written after every family, so that a run can be cut short."""
    found: dict[str, dict[str, Any]] = {}

    def note(name: str, shares: list[float], count: int, ratios: list[float]) -> None:
        by_level = zip(map(str, LEVELS), shares, strict=True), zip(map(str, LEVELS), ratios, strict=True)
        found[name] = {
            "missed": dict(by_level[0]),
            "forecasts": count,
            "interval_score_to_older_bands": dict(by_level[1]),
        }
        print(name, [f"{share:.4f}" for share in shares], count, [f"{one:.3f}" for one in ratios], flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        content = {"horizon": HORIZON, "seed": 0, "families": found}
        (folder / "metrics.json").write_text(json.dumps(content, indent=1) + "\n")
        heads = " | ".join(f"{level:.1%}" for level in LEVELS)
        rows = [
            f"| misses of bands of | {heads} | forecasts | interval score, 80 % | 95 % | 99 % |",
            "|" + "---|" * (len(LEVELS) + 5),
        ]
        for family, one in found.items():
            cells = " | ".join(f"{share:.2%}" for share in one["missed"].values())
            scores = " | ".join(f"{ratio:.2f}" for ratio in list(one["interval_score_to_older_bands"].values())[:3])
            rows.append(f"| {family} | {cells} | {one['forecasts']:,} | {scores} |")
        rows += ["", "Interval scores: relative to those of one chosen map with Gaussian bands, below 1 is better."]
        (folder / "table.md").write_text("\n".join(rows) + "\n")

    def compare(name: str, values: np.ndarray, season: int | None, begin: int, end: int, every: int) -> None:
        shares, count, ours = misses(forecaster_for(HORIZON, season=season), values, begin, end, every, SCORED)
        older = forecaster_for(HORIZON, season=season, mixture=False)
        _, _, theirs = misses(older, values, begin, end, every * SCORED)
        note(name, shares, count, (ours / theirs).tolist())

    for name, (make, season) in FAMILIES.items():
        compare(name, make(np.random.default_rng(0), END + HORIZON), season, BEGIN, END, EVERY)
    for name, day in (("ETTh1", 24), ("ETTm1", 96)):
        values = np.ascontiguousarray(load_long_term(name).values[:17_000])
        # A stride that is no part of a day, so that origins fall on all hours.
        compare(f"{name}, all columns", values, day, 500, len(values) - HORIZON, 55)
    for kind in ("hourly", "weekly"):
        note(f"M4 {kind}, last horizon of the training values", *m4_held_back(kind))


if __name__ == "__main__":
    run(Path("results/bands"))
