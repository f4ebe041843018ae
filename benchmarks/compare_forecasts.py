"""Do two trees forecast the same bits? The part of `compare_worktrees` that the ensemble is judged by.

Seventy-one seeded series, each with its own settings: gaps, outliers, uneven times, panels, restarts, short and long,
seasons, level shifts, ramps, zeros, constants, large and small units. Each is learnt in pieces, one by one and as a
stream (`push`, `push_many`, `judge`, a restart from a file in between), and every mean, band, error, p-value and alarm
is written down to the bit. Names differ between trees, so each tree is read through an adapter.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Case", "cases", "describe_case"]

PROBABILITIES = (0.005, 0.1, 0.5, 0.8, 0.975)


@dataclass(frozen=True)
class Tree:
    """What a tree calls the things that are compared."""

    forecaster_for: Any
    ForecastStream: Any


def tree() -> Tree:
    """The adapter of the tree that is on the path."""
    try:
        from hippozoo.ensemble import ForecastStream, forecaster_for
    except ImportError:  # before the two forecasters were split
        from hippozoo.zoo.forecasting import ForecastStream, forecaster_for
    return Tree(forecaster_for, ForecastStream)


@dataclass(frozen=True)
class Case:
    """One series and how it is forecast.

    Parameters
    ----------
    name
        Of the series, with the settings that matter.
    values
        (time,) or (time, channels); NaN where one is missing.
    horizon, settings
        Arguments of `forecaster_for`.
    times
        Of the readings of the stream; None for equal steps.
    """

    name: str
    values: np.ndarray
    horizon: float
    settings: dict[str, Any] = field(default_factory=dict)
    times: np.ndarray | None = None


def _signals(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """One of every kind, `count` long."""
    time = np.arange(count)
    noise, walk = rng.normal(size=count), np.cumsum(rng.normal(size=count))
    season = 3 * np.sin(2 * np.pi * time / 24) + 0.3 * noise
    autoregressive = np.zeros(count)
    for t in range(1, count):
        autoregressive[t] = 0.9 * autoregressive[t - 1] + noise[t]
    level = noise + 10.0 * (time > count // 2) - 25.0 * (time > 3 * count // 4)
    outliers = season.copy()
    outliers[rng.integers(60, count, 6)] += 80.0
    pair = season.copy()
    for place in rng.integers(60, count - 4, 4):
        pair[place : place + 2] -= 120.0
    stuck = walk.copy()
    stuck[count // 3 : count // 3 + 60] = stuck[count // 3]
    recurring = season + 60.0 * (time % 24 == 7)
    return {
        "noise": noise,
        "walk": walk,
        "season": season,
        "autoregressive": autoregressive,
        "level shifts": level,
        "outliers": outliers,
        "outliers in pairs": pair,
        "stuck": stuck,
        "recurring spike": recurring,
        "ramp": 0.5 * time + noise,
        "exact ramp": 0.25 * time,
        "zeros": np.zeros(count),
        "constant": np.full(count, 7.25),
        "counts": rng.poisson(2.0, count).astype(float),
        "rare counts": (rng.random(count) < 0.05).astype(float),
        "heavy tails": rng.standard_t(2, count),
        "growing noise": noise * np.linspace(0.1, 5.0, count),
        "large unit": 1e9 * walk + 3e12,
        "small unit": 1e-9 * walk,
        "absurd outlier": np.where(time == count // 2, 1e9, walk),
    }


def _with_gaps(rng: np.random.Generator, values: np.ndarray, length: int) -> np.ndarray:
    """Single gaps, one of `length`, and a beginning that is missing."""
    found = values.astype(float)
    found[rng.random(len(found)) < 0.05] = np.nan
    found[len(found) // 2 : len(found) // 2 + length] = np.nan
    found[:2] = np.nan
    return found


def cases() -> Iterator[Case]:
    """All series, seeded."""
    rng = np.random.default_rng(26)
    for name, values in _signals(rng, 520).items():
        yield Case(f"{name}, horizon 6", values, 6.0)
    for name, values in _signals(rng, 700).items():
        yield Case(f"{name}, season 24, horizon 12", values, 12.0, {"season": 24})
    signals = _signals(rng, 600)
    for name in ("season", "walk", "outliers", "counts"):
        for length in (5, 60, 400):
            gappy = _with_gaps(rng, signals[name], length)
            yield Case(f"{name} with gaps up to {length}", gappy, 5.0, {"season": 24} if length == 60 else {})
    for name in ("season", "level shifts"):
        steps = rng.choice([0.4, 1.0, 1.0, 1.0, 1.7, 2.6, 9.0], 600)
        times = np.cumsum(steps)
        yield Case(f"{name} at uneven times", signals[name], 8.0, {"season": 24}, times)
        yield Case(f"{name} at uneven times, dt 2", signals[name], 8.0, {"dt": 2.0}, times)
    panel = np.stack([signals[name] for name in ("season", "walk", "counts", "outliers")], axis=1)
    late = panel.copy()
    late[:200, 1] = np.nan
    late[300:380, 3] = np.nan
    for together in ("independent", "shared", "panel"):
        yield Case(f"four channels, {together}", late, 6.0, {"together": together, "season": (24, 7)})
    long = np.cumsum(rng.normal(size=3000)) + 5 * np.sin(np.arange(3000) * 2 * np.pi / 48)
    yield Case("long, horizon 1", long, 1.0)
    yield Case("long, horizon 24", long, 24.0)
    yield Case("long, horizon 60 (every second cell issues)", long, 60.0, {"season": 48})
    yield Case("long, two seasons", long, 24.0, {"season": (24, 168)})
    yield Case("short", signals["season"][:9], 6.0, {"season": 4})
    yield Case("short, longer horizon", signals["walk"][:30], 18.0)
    yield Case("forgetting", signals["level shifts"], 6.0, {"forgetting": 80.0})
    yield Case("maps alone", signals["autoregressive"], 6.0, {"simple": False})
    yield Case("without guard", signals["outliers"], 6.0, {"guard": False, "season": 24})
    yield Case("Gaussian bands", signals["growing noise"], 6.0, {"calibrated": False})
    yield Case("a lower bound", signals["noise"], 6.0, {"lower": -0.5})
    yield Case("one anchor, one ridge", signals["season"], 4.0, {"anchor": "last", "ridge": 0.1})


def describe_case(case: Case) -> Iterator[tuple[str, Any]]:
    """Everything that is said of one series."""
    names = tree()
    forecaster = names.forecaster_for(case.horizon, **case.settings)
    channels = None if case.values.ndim == 1 else case.values.shape[1]
    seen = ~np.isnan(case.values)
    filled = np.where(seen, case.values, 0.0)
    state = forecaster.initial_state(channels)
    bounds = np.linspace(0, len(filled), 4).astype(int)
    for begin, end in itertools.pairwise(bounds):
        dt = None if case.times is None else np.diff(case.times, append=case.times[-1] + 1.0)[begin:end]
        state = forecaster.learn(state, filled[begin:end], dt=dt, mask=seen[begin:end])
        yield f"learnt {end}", _forecast(forecaster, state)
    for value in case.values[:25]:
        state = forecaster.learn_one(state, value)
    yield "learnt one by one", _forecast(forecaster, state)
    yield from _streamed(names, case, forecaster, channels)


def _forecast(forecaster: Any, state: Any) -> dict[str, Any]:
    """Means, bands and the experts' weights of one forecast."""
    forecast = forecaster.forecast(state)
    leads = forecast.leads()
    between = np.linspace(0.3 * forecaster.dt, float(forecaster.horizon), 7)
    found: dict[str, Any] = {"mean": forecast.mean(leads), "between": forecast.mean(between)}
    for share in PROBABILITIES:
        found[f"quantile {share}"] = forecast.quantile(leads, share)
    found["variance"] = forecast.variance(leads)
    found["weights"] = np.array([value for one in forecast.by for value in one.values()])
    return found


def _streamed(names: Tree, case: Case, forecaster: Any, channels: int | None) -> Iterator[tuple[str, Any]]:
    """The same series as a stream: one by one, judged, from a file, then in blocks."""
    stream = names.ForecastStream(forecaster, channels, rate=20.0)
    count, times = len(case.values), case.times
    half, later = min(170, count // 2), min(330, 3 * count // 4)
    told, alarms = [], []

    def push(places: range) -> None:
        for t in places:
            value = case.values[t] if channels else float(case.values[t])
            pushed = stream.push(value, None if times is None else float(times[t]))
            told.append(np.stack([np.atleast_1d(one) for one in pushed.parts]))
            alarms.extend(pushed.alarms)

    push(range(half))
    for size in (0.0, 3.0):
        judged = stream.judge(
            case.values[half - 1] + size if channels else float(case.values[half - 1] + size),
            None if times is None else float(times[half - 1]) + 1.3,
        )
        yield f"judged {size}", np.stack([np.atleast_1d(one) for one in judged.parts])
    with tempfile.TemporaryDirectory() as folder:
        stream.save(Path(folder) / "stream")
        stream = names.ForecastStream.load(Path(folder) / "stream")
    push(range(half, later))
    yield "pushed", np.stack(told) if told else np.zeros(0)
    rest = stream.push_many(case.values[later:], None if times is None else times[later:])
    alarms.extend(rest.alarms)
    yield "pushed in blocks", np.stack(rest.parts)
    yield "forecast of the stream", _forecast(forecaster, stream.state)
    yield "alarms", np.array([(one.number, one.p, one.size, one.expected, one.since) for one in alarms]).reshape(-1, 5)
    yield "explanations of alarms", np.concatenate([one.weights for one in alarms]) if alarms else np.zeros(0)
