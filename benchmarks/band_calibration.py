"""How often bands miss, beside how often they say so: synthetic families after 200 samples, ETT, and M4.

Interval scores stand beside those of one chosen map with Gaussian bands, which the defaults were before.

``python -m benchmarks.band_calibration`` writes results/bands/metrics.json and table.md; ``--resume`` goes on with
them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.ensemble import forecaster_for
from hippozoo.zoo.forecasting import Forecaster, forecaster_with_candidates
from hippozoo_studies.data.long_term import load_long_term
from hippozoo_studies.data.m4 import FREQUENCIES, Frequency, load_m4
from hippozoo_studies.data.m4 import scale_of as mase_scale

__all__ = ["FAMILIES", "misses"]

LEVELS = (0.8, 0.95, 0.99, 0.999)
HORIZON, REPLICATES, BEGIN, END, EVERY = 6, 250, 200, 400, 3
# The constants of the bands were chosen on draws of seeds 0 and 101.
SEED = 1
# M4: so many horizons at the end of the training values, each forecast from what came before it.
HELD_BACK = {"hourly": 4, "weekly": 6}
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


def _day(count: int) -> np.ndarray:
    return np.sin(np.arange(count) * 2 * np.pi / 24)[:, None]


FAMILIES: dict[str, tuple[Make, int | None]] = {
    "Gaussian": (lambda rng, count: rng.normal(size=(count, REPLICATES)), None),
    "Laplace": (lambda rng, count: rng.laplace(size=(count, REPLICATES)), None),
    "Student's t, 3": (lambda rng, count: rng.standard_t(3, size=(count, REPLICATES)), None),
    "walk of t, 4": (lambda rng, count: np.cumsum(rng.standard_t(4, size=(count, REPLICATES)), axis=0), None),
    "AR(1), .8": (_autoregression, None),
    "GARCH(1, 1)": (_garch, None),
    "seasonal variance": (_seasonal_variance, 24),
}
# With a season, and forecast over a whole one: fewer origins.
SEASONAL: dict[str, Make] = {
    "day and noise": lambda rng, count: 3 * _day(count) + rng.normal(size=(count, REPLICATES)),
    "day and a walk": lambda rng, count: 5 * _day(count) + np.cumsum(rng.normal(size=(count, REPLICATES)), axis=0),
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


def m4_held_back(kind: Frequency) -> dict[str, tuple[list[float], int, list[float]]]:
    """The same on horizons at the end of every *training* series of M4, with ratios of scores for the last one.

    Each is forecast from what came before it. Series share their calendar, so that one horizon is hardly more than one
    draw: the last one stands beside the last few, and all since a quarter of the series (150 values and four horizons
    at least).
    """
    protocol, horizon = FREQUENCIES[kind], FREQUENCIES[kind].horizon
    missed, counts, sums = np.zeros((3, len(LEVELS))), np.zeros(3, int), np.zeros((2, len(LEVELS)))
    makers = [make(horizon, season=protocol.seasons) for make in (forecaster_for, forecaster_with_candidates)]
    for series in load_m4(kind):
        values, size = series.train, len(series.train)
        unit = mase_scale(values[:-horizon], protocol.scoring_season)
        least = max(150, 4 * horizon, size // 4)
        for which, forecaster in enumerate(makers):
            begin = size - max((size - least) // horizon if which == 0 else 1, 1) * horizon
            state = forecaster.learn(forecaster.initial_state(), values[:begin])
            for origin in range(begin, size, horizon):
                forecast, future = forecaster.forecast(state), values[origin : origin + horizon]
                before_end = (size - origin) // horizon
                among = np.array([before_end == 1, before_end <= HELD_BACK[kind], True])
                for place, level in enumerate(LEVELS):
                    lower, upper = forecast.band(forecast.leads(), level)
                    if before_end == 1:
                        sums[which, place] += np.mean(interval_score(future, lower, upper, level)) / unit
                    if which == 0:
                        missed[:, place] += np.sum((future < lower) | (future > upper)) * among
                if which == 0:
                    counts += horizon * among
                state = forecaster.learn(state, future)
    ratios = (sums[0] / sums[1]).tolist()
    titles = ("last horizon", f"last {HELD_BACK[kind]} horizons", "horizons since a quarter")
    return {
        f"M4 {kind}, {title} of the training values": ((missed[n] / counts[n]).tolist(), int(counts[n]), own)
        for n, (title, own) in enumerate(zip(titles, (ratios, [], []), strict=True))
    }


def run(folder: Path, *, resume: bool = False) -> None:
    """All of it, as numbers and as a table; written after every family, so that a run can be cut short and resumed."""
    found: dict[str, dict[str, Any]] = {}
    if resume and (folder / "metrics.json").exists():
        found = json.loads((folder / "metrics.json").read_text())["families"]

    def note(name: str, shares: list[float], count: int, ratios: list[float]) -> None:
        by_level = zip(map(str, LEVELS), shares, strict=True), zip(map(str, LEVELS), ratios, strict=False)
        found[name] = {
            "missed": dict(by_level[0]),
            "forecasts": count,
            "interval_score_to_older_bands": dict(by_level[1]),
        }
        print(name, [f"{share:.4f}" for share in shares], count, [f"{one:.3f}" for one in ratios], flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        content = {"horizon": HORIZON, "seed": SEED, "families": found}
        (folder / "metrics.json").write_text(json.dumps(content, indent=1) + "\n")
        heads = " | ".join(f"{level:.1%}" for level in LEVELS)
        rows = [
            f"| misses of bands of | {heads} | forecasts | interval score, 80 % | 95 % | 99 % |",
            "|" + "---|" * (len(LEVELS) + 5),
        ]
        for family, one in found.items():
            cells = " | ".join(f"{share:.2%}" for share in one["missed"].values())
            ratios = list(one["interval_score_to_older_bands"].values())[:3] or [None] * 3
            scores = " | ".join("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
            rows.append(f"| {family} | {cells} | {one['forecasts']:,} | {scores} |")
        rows += ["", "Interval scores: relative to those of one chosen map with Gaussian bands, below 1 is better."]
        (folder / "table.md").write_text("\n".join(rows) + "\n")

    def compare(
        name: str, values: np.ndarray, season: int | None, begin: int, end: int, every: int, horizon: int = HORIZON
    ) -> None:
        if name in found:
            return
        shares, count, ours = misses(forecaster_for(horizon, season=season), values, begin, end, every, SCORED)
        older = forecaster_with_candidates(horizon, season=season)
        _, _, theirs = misses(older, values, begin, end, every * SCORED)
        note(name, shares, count, (ours / theirs).tolist())

    for name, (make, season) in FAMILIES.items():
        compare(name, make(np.random.default_rng(SEED), END + HORIZON), season, BEGIN, END, EVERY)
    for name, make in SEASONAL.items():
        values = make(np.random.default_rng(SEED), END + 24)
        compare(f"{name}, horizon 24", values, 24, BEGIN, END, 13, 24)
    for name, day in (("ETTh1", 24), ("ETTm1", 96)):
        values = np.ascontiguousarray(load_long_term(name).values[:17_000])
        # A stride that is no part of a day, so that origins fall on all hours.
        compare(f"{name}, all columns", values, day, 500, len(values) - HORIZON, 55)
    for kind in ("hourly", "weekly"):
        if f"M4 {kind}, last horizon of the training values" in found:
            continue
        for name, found_there in m4_held_back(kind).items():
            note(name, *found_there)


if __name__ == "__main__":
    run(Path("results/bands"), resume="--resume" in sys.argv[1:])
