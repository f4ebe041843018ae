"""When `together="joint"` and `rank=` are worth more than the ensemble: errors of each on the same origins.

``python -m benchmarks.joint_columns`` prints a table, in half a minute. Columns are in units of their standard
deviation; 32 origins of a leader and its follower (1,500 rows, 6 steps ahead), 16 and 13 of ETTh1 (24 ahead).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from hippozoo.ensemble import forecaster_for
from hippozoo.zoo.forecasting import ForecasterLike, forecaster_with_candidates
from hippozoo_studies.data.long_term import load_long_term

__all__ = ["error", "leader_and_follower"]

WAYS: dict[str, Callable[..., ForecasterLike[Any]]] = {
    "ensemble": forecaster_for,
    "joint": partial(forecaster_with_candidates, together="joint"),
    "rank 4": partial(forecaster_with_candidates, rank=4),
    "one map": forecaster_with_candidates,
}


def leader_and_follower(rng: np.random.Generator, count: int = 1500) -> np.ndarray:
    """A red noise, and the same eight steps later with noise on it."""
    leader = np.zeros(count)
    for t in range(1, count):
        leader[t] = 0.9 * leader[t - 1] + rng.normal()
    return np.column_stack([leader, np.append(np.zeros(8), leader[:-8]) + 0.3 * rng.normal(size=count)])


def error(forecaster: ForecasterLike[Any], values: np.ndarray, origins: Iterable[int]) -> tuple[float, float]:
    """Mean absolute error over columns and steps ahead, and what 95 % bands held."""
    state, begin, errors, held = forecaster.initial_state(values.shape[1]), 0, [], []
    for origin in origins:
        state, begin = forecaster.learn(state, values[begin:origin]), origin
        forecast, future = forecaster.forecast(state), values[origin : origin + round(forecaster.horizon)].T
        lower, upper = forecast.band(forecast.leads(), 0.95)
        errors.append(np.abs(forecast.samples() - future).mean())
        held.append(np.mean((future >= lower) & (future <= upper)))
    return float(np.mean(errors)), float(np.mean(held))


def main() -> None:
    """Every way on every table, as Markdown."""
    table = load_long_term("ETTh1").values
    cases: dict[str, tuple[np.ndarray, int, int | None, range]] = {
        "a leader and its follower": (leader_and_follower(np.random.default_rng(0)), 6, None, range(300, 1490, 37)),
        "ETTh1, 3,000 rows": (table[:3000], 24, 24, range(1200, 2970, 113)),
        "ETTh1, 700 rows": (table[:700], 24, 24, range(300, 670, 29)),
    }
    print("| | " + " | ".join(WAYS) + " |", "|" + "---|" * (len(WAYS) + 1), sep="\n")
    for name, (values, horizon, season, origins) in cases.items():
        scaled = np.ascontiguousarray(values / values.std(axis=0))
        cells = []
        for make in WAYS.values():
            mean, held = error(make(horizon, season=season), scaled, origins)
            cells.append(f"{mean:.3f}, {held:.0%}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
