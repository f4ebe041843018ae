"""Forecasts by one map after one to ten horizons: the tables of docs/studies/appendix-small-samples.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import lfilter

from hippozoo.ensemble import forecaster_for
from hippozoo.zoo.forecasting import forecaster_with_candidates

__all__ = ["KINDS", "table"]

HORIZON, RUNS = 24, 200
SEEN = (1.2, 2.0, 3.0, 4.0, 4.9, 6.0, 10.0)


def _autoregression(rng: np.random.Generator, count: int) -> np.ndarray:
    noise = rng.normal(size=(count + 100, RUNS))
    return np.asarray(lfilter([1.0], [1.0, -0.8], noise, axis=0))[100:]


def _sine(rng: np.random.Generator, count: int) -> np.ndarray:
    phase = rng.uniform(0, 2 * np.pi, size=RUNS)
    return 10 * np.sin(np.arange(count)[:, None] * 2 * np.pi / 13.7 + phase) + rng.normal(size=(count, RUNS))


KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "AR(1), .8": _autoregression,
    "white noise": lambda rng, count: rng.normal(size=(count, RUNS)),
    "random walk": lambda rng, count: np.cumsum(rng.normal(size=(count, RUNS)), axis=0),
    "sine + noise": _sine,
    "line + noise": lambda rng, count: 0.5 * np.arange(count)[:, None] + rng.normal(size=(count, RUNS)),
}


def table(seed: int = 0, *, ensemble: bool = False) -> list[str]:
    """Error beside the better of last value and mean, and the share that 95 % bands hold, as rows of Markdown."""
    forecaster: Any = forecaster_for(HORIZON) if ensemble else forecaster_with_candidates(HORIZON)
    rows = ["| horizons seen | " + " | ".join(KINDS) + " |", "|" + "---|" * (len(KINDS) + 1)]
    for seen in SEEN:
        count, cells = round(seen * HORIZON), []
        for make in KINDS.values():
            signals = make(np.random.default_rng(seed), count + HORIZON)
            past, future = signals[:count], signals[count:].T
            forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(RUNS), past))
            simple = (past[-1][:, None], past.mean(axis=0)[:, None])
            best = min(float(np.sqrt(np.mean((future - one) ** 2))) for one in simple)
            error = float(np.sqrt(np.mean((future - forecast.samples()) ** 2)))
            lower, upper = forecast.band(forecast.leads(), 0.95)
            held = float(np.mean((future >= lower) & (future <= upper)))
            cells.append(f"{error / best:.2f}, {held:.0%}")
        rows.append(f"| {seen} | " + " | ".join(cells) + " |")
    return rows


if __name__ == "__main__":
    for many in (False, True):
        print("the ensemble:" if many else "one map:", *table(ensemble=many), sep="\n")
