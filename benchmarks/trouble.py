"""What do forecasts do where a stream is in trouble? One line for each family, over ten seeds.

    python benchmarks/trouble.py [--seeds 10] [--json FILE]

Families are those of ``tests/troubled_streams.py``. Bands are of 95 %, the horizon is 12 steps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from hippozoo.ensemble import EnsembleForecast, ForecastStream, forecaster_for

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from troubled_streams import (
    HORIZON,
    WEEK,
    Troubled,
    closed_on_sundays,
    early_outlier,
    filling_disk,
    intermittent_demand,
    last_is_incomplete,
    last_is_outlier,
    last_is_step,
)


def forecast_of(past: np.ndarray, season: int | None, horizon: int = HORIZON, **options: float) -> EnsembleForecast:
    """The forecast after a past."""
    forecaster = forecaster_for(horizon, season=season, **options)
    return forecaster.forecast(forecaster.learn(forecaster.initial_state(), past))


def held(cases: Iterable[Troubled]) -> dict[str, float]:
    """Share of values inside the 95 % band, error beside that of the clean past, and width beside the clean one."""
    inside, errors, clean_errors, widths = [], [], [], []
    for one in cases:
        found, clean = forecast_of(one.past, one.season), forecast_of(one.clean, one.season)
        (lower, upper), (low, high) = (each.band(each.leads(), 0.95) for each in (found, clean))
        inside.append(((lower <= one.future) & (one.future <= upper)).mean())
        scale = (high - low).mean()
        errors.append(np.abs(found.samples() - one.future).mean() / scale)
        clean_errors.append(np.abs(clean.samples() - one.future).mean() / scale)
        widths.append((upper - lower).mean() / scale)
    return {
        "held": float(np.mean(inside)),
        "error": float(np.mean(errors) / np.mean(clean_errors)),
        "width": float(np.median(widths)),
    }


def disk(seeds: Iterable[int]) -> dict[str, float]:
    """How far bands reach beyond all that was seen, and the mean, in the largest change over that lead so far."""
    beyond, inside = [], []
    for seed in seeds:
        values = filling_disk(seed)
        for end in range(200, 580, 7):
            past, future = values[:end], values[end : end + HORIZON]
            found = forecast_of(past, None)
            lower, upper = found.band(found.leads(), 0.95)
            change = np.array([np.abs(past[k:] - past[:-k]).max() for k in range(1, HORIZON + 1)])
            highest, lowest = np.maximum(past.max(), found.samples()), np.minimum(past.min(), found.samples())
            over = np.maximum(upper - highest, lowest - lower) / change
            beyond.append(over.max())
            inside.append(((lower <= future) & (future <= upper)).mean())
    return {"held": float(np.mean(inside)), "worst reach beyond": float(np.max(beyond))}


def shop(seeds: Iterable[int]) -> dict[str, float]:
    """Mean absolute error of a week ahead, beside that of last week."""
    ratios = []
    for seed in seeds:
        values = closed_on_sundays(seed)
        past, future = values[:-WEEK], values[-WEEK:]
        found = forecast_of(past, WEEK, horizon=WEEK)
        ratios.append(np.abs(found.samples() - future).mean() / np.abs(past[-WEEK:] - future).mean())
    return {"error beside last week": float(np.mean(ratios))}


def intermittent(seeds: Iterable[int]) -> dict[str, float]:
    """Root mean squared error, beside that of the mean of the past (for the mean absolute error zero would win)."""
    ours, mean = [], []
    for seed in seeds:
        values = intermittent_demand(seed)
        for end in range(150, 288, 12):
            future = values[end : end + HORIZON]
            ours.append((forecast_of(values[:end], None).samples() - future) ** 2)
            mean.append((values[:end].mean() - future) ** 2)
    return {"rmse beside the mean": float(np.sqrt(np.mean(ours) / np.mean(mean)))}


def gaps(seeds: Iterable[int]) -> dict[str, float]:
    """Alarms per 1,000 readings among readings 2 to 30 after a gap of 40 steps, and elsewhere."""
    after, elsewhere, readings = 0, 0, [0, 0]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        values = 10 * np.sin(np.arange(1500) / 4) + 0.5 * rng.normal(size=1500)
        stream, near = ForecastStream(forecaster_for(HORIZON)), -100
        for time, value in enumerate(values):
            if 700 <= time < 740 or 1100 <= time < 1140:
                near = time
                continue
            pushed = stream.push(value, time=float(time))
            if time < 400:
                continue
            is_near = 2 <= time - near <= 30
            readings[is_near] += 1
            if pushed.alarm is not None:
                after, elsewhere = after + is_near, elsewhere + (not is_near)
    return {
        "alarms per 1,000 after a gap": 1000 * after / readings[1],
        "elsewhere": 1000 * elsewhere / readings[0],
    }


def all_of(family: Callable[..., Iterable[Troubled]], seeds: Iterable[int], *options: float) -> list[Troubled]:
    """The cases of a family over seeds."""
    return [one for seed in seeds for one in family(seed, *options)]


def measure(seeds: range) -> dict[str, dict[str, float]]:
    """Every family."""
    found: dict[str, dict[str, float]] = {}
    for size in (10.0, 20.0, 100.0, 1e4):
        found[f"last reading off by {size:g} deviations: outlier"] = held(all_of(last_is_outlier, seeds, size))
        found[f"last reading off by {size:g} deviations: step"] = held(all_of(last_is_step, seeds, size))
    found["last hour at 30 %"] = held(all_of(last_is_incomplete, seeds))
    for size in (10.0, 100.0, 1e6, np.inf):
        found[f"one early outlier of {size:g} deviations"] = held(all_of(early_outlier, seeds, size))
    found["a disk that fills"] = disk(seeds)
    found["closed on Sundays"] = shop(seeds)
    found["intermittent demand"] = intermittent(seeds)
    found["alarms after a gap"] = gaps(seeds)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = measure(range(arguments.seeds))
    for name, numbers in found.items():
        print(f"{name:50}", "  ".join(f"{what} {value:.3g}" for what, value in numbers.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
