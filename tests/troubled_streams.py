"""Families of streams that make forecasts absurd, each seeded, each with the clean stream beside it.

A family is one trouble on several kinds of quiet stream. What a forecast may do there is stated by the tests and
measured by ``benchmarks/trouble.py``; nothing in the library is chosen on more than seeds 0 to 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

HORIZON = 12
WEEK = 168


class Troubled(NamedTuple):
    """A past with trouble in it, the same past without, and what comes."""

    name: str
    past: np.ndarray
    clean: np.ndarray
    future: np.ndarray
    season: int | None


def quiet_streams(seed: int, count: int) -> Iterator[tuple[str, np.ndarray, int | None, float]]:
    """Name, values, season and the size of their noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(count)
    noise = rng.normal(size=count)
    autoregressive = np.zeros(count)
    for t in range(1, count):
        autoregressive[t] = 0.8 * autoregressive[t - 1] + noise[t]
    yield "noise", 50 + noise, None, 1.0
    yield "autoregression", autoregressive, None, 1.0
    yield "wave", 10 * np.sin(time / 4) + 0.5 * noise, None, 0.5
    yield "day", 100 + 20 * np.sin(2 * np.pi * time / 24) + noise, 24, 1.0
    yield "walk", np.cumsum(noise), None, 1.0


def last_is_outlier(seed: int, size: float) -> Iterator[Troubled]:
    """The last reading is `size` deviations off, and the next ones are as ever."""
    for name, values, season, noise in quiet_streams(seed, 400 + HORIZON):
        past = values[:400].copy()
        past[-1] += size * noise
        yield Troubled(name, past, values[:400], values[400:], season)


def last_is_step(seed: int, size: float) -> Iterator[Troubled]:
    """The last reading is `size` deviations off, and the next ones stay there."""
    for name, values, season, noise in quiet_streams(seed, 400 + HORIZON):
        shifted = values.copy()
        shifted[399:] += size * noise
        yield Troubled(name, shifted[:400], values[:400], shifted[400:], season)


def last_is_incomplete(seed: int, share: float = 0.3) -> Iterator[Troubled]:
    """Counts by the hour; the running hour has seen a share of what it will have."""
    rng = np.random.default_rng(seed)
    time = np.arange(24 * 21 + 13 + HORIZON)
    mean = 400 + 250 * np.sin(2 * np.pi * time / 24)
    counts = rng.poisson(mean).astype(float)
    past = counts[:-HORIZON].copy()
    past[-1] = np.floor(share * past[-1])
    yield Troubled("counts by the hour", past, counts[:-HORIZON], counts[-HORIZON:], 24)


def early_outlier(seed: int, size: float) -> Iterator[Troubled]:
    """One outlier among the first thirty of many readings; a `size` of infinity stands for 9.9e99."""
    place = int(np.random.default_rng(seed + 1000).integers(3, 30))
    for name, values, season, noise in quiet_streams(seed, 800 + HORIZON):
        past = values[:800].copy()
        past[place] = past[place] + size * noise if np.isfinite(size) else 9.9e99
        yield Troubled(name, past, values[:800], values[800:], season)


def filling_disk(seed: int, count: int = 600) -> np.ndarray:
    """A disk in per cent: it fills from 15 to at most 100, at a rate of its own, and is cleaned up."""
    rng = np.random.default_rng(seed)
    values, level, rate, limit = [], 30.0, 0.5, 80.0
    for _ in range(count):
        level += rate + 0.1 * abs(rng.normal())
        if level >= limit:
            level, rate, limit = rng.uniform(15, 25), rng.uniform(0.3, 1.5), rng.uniform(70, 100)
        values.append(level)
    return np.array(values)


def closed_on_sundays(seed: int, weeks: int = 18) -> np.ndarray:
    """Sales by the hour: open from 8 to 20, closed on Sundays."""
    rng = np.random.default_rng(seed)
    time = np.arange(weeks * WEEK)
    hour, day = time % 24, time // 24 % 7
    mean = np.where((hour >= 8) & (hour < 20) & (day < 6), 60 + 30 * np.sin((hour - 8) / 12 * np.pi), 0.0)
    return rng.poisson(mean).astype(float)


def intermittent_demand(seed: int, count: int = 300) -> np.ndarray:
    """Days without a sale, and now and then a few."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(count) < 0.2, rng.poisson(4.0, size=count) + 1, 0).astype(float)
