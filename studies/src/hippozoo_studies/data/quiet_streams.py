"""Quiet streams, real and simulated, to inject anomalies into; one half to choose settings on, and one to check them.

Real ones are pieces of ETT, M4 (training values), the electrocardiogram (stretches whose beats are all normal) and the
illness data. The halves share no piece: other columns and later rows, other series, the second half of the record. Of
the simulated sensors, each half has families of its own, so that the check half holds kinds of streams that nobody has
chosen anything on.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.tasks.data_files import data_file
from hippozoo.tasks.ecg import load_ecg
from hippozoo_studies.data.m4 import load_m4

__all__ = ["FAMILIES", "QuietStream", "load_quiet_streams", "load_quiet_tables", "simulate_sensor"]

Half = Literal["development", "check"]
Sensor = Callable[[int, np.random.Generator], np.ndarray]

_DAY = 288  # readings five minutes apart
_SIMULATED = 14 * _DAY
_SEEDS = {"development": (0, 1), "check": (2, 3)}


@dataclass(frozen=True, eq=False)
class QuietStream:
    """Readings that are taken as normal.

    A table's values are (time, columns); `season` is the readings in a cycle, None where there is no cycle.
    """

    name: str
    family: str
    values: Float[np.ndarray, " time"] | Float[np.ndarray, "time columns"]
    season: int | None


def load_quiet_streams(half: Half, data: str | Path | None = None) -> list[QuietStream]:
    """All streams of one half."""
    _check_half(half)
    return [*_ett(half, data), *_m4(half, data), *_ecg(half, data), *_illness(half, data), *_simulated(half)]


def load_quiet_tables(half: Half, data: str | Path | None = None) -> list[QuietStream]:
    """Tables whose columns belong together: loads of one transformer, two leads of one heart, sensors of one plant."""
    _check_half(half)
    late = half == "check"
    found = []
    for place in range(2):
        rows = _columns("ett/ETTh1.csv", data)
        begin = (9000 if late else 0) + 4000 * place
        found.append(QuietStream(f"ETTh1/{begin}", "ETT", np.stack(list(rows.values()), 1)[begin : begin + 3000], 24))
    for name, both, season in _normal_beats(half, data, count=2):
        found.append(QuietStream(name, "electrocardiogram", both, season))
    for seed in _SEEDS[half]:
        rng = np.random.default_rng([seed, 99])
        found.append(QuietStream(f"plant/{seed}", "simulated plant", _plant(_SIMULATED, rng, lagged=late), _DAY))
    return found


def _check_half(half: str) -> None:
    if half not in _SEEDS:
        raise ValueError(f"half={shorten(half)}; pass 'development' or 'check'.")


def _columns(name: str, data: str | Path | None) -> dict[str, np.ndarray]:
    with data_file(name, data).open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    table = np.array([[float(cell) for cell in row[1:]] for row in rows])
    return dict(zip(head[1:], table.T, strict=True))


def _ett(half: Half, data: str | Path | None) -> Iterator[QuietStream]:
    late = half == "check"
    plan = [
        ("ETTh1", 24, 3000, 9000 if late else 1000, 500, (1, 3, 5, 6) if late else (0, 2, 4, 6)),
        ("ETTm1", 96, 4000, 35_000 if late else 0, 4000, (0, 2, 4, 6) if late else (1, 3, 5)),
    ]
    for name, season, length, first, apart, places in plan:
        columns = list(_columns(f"ett/{name}.csv", data).items())
        for place in places:
            begin, (title, values) = first + apart * place, columns[place]
            yield QuietStream(f"{name}/{title}/{begin}", name, values[begin : begin + length], season)


def _m4(half: Half, data: str | Path | None) -> Iterator[QuietStream]:
    first = 13 if half == "check" else 0
    for series in load_m4("hourly", data)[first::26][:8]:
        yield QuietStream(f"M4/{series.name}", "M4 hourly", series.train, 24)
    long = [series for series in load_m4("weekly", data) if len(series.train) >= 900]
    for series in long[first // 13 :: 2][:5]:
        yield QuietStream(f"M4/{series.name}", "M4 weekly", series.train, None)


def _normal_beats(half: Half, data: str | Path | None, count: int) -> Iterator[tuple[str, np.ndarray, int]]:
    """Stretches of 25 seconds without an abnormal beat, every three samples averaged into one, both leads."""
    record, length, every = load_ecg("100", data), 3000, 3
    begin, end = (0.5, 1.0) if half == "check" else (0.0, 0.5)
    total = len(record.voltage)
    found = 0
    for start in np.linspace(begin * total, end * total - every * length, 12 * count).astype(int).tolist():
        inside = (record.beats >= start - 720) & (record.beats < start + every * length + 720)
        kinds = {kind for kind, one in zip(record.kinds, inside, strict=True) if one}
        if kinds != {"N"} or found == count:
            continue
        found += 1
        piece = record.voltage[start : start + every * length].reshape(length, every, -1).mean(axis=1)
        season = round(float(np.median(np.diff(record.beats[inside]))) / every)
        yield f"electrocardiogram/{start}", piece, season


def _ecg(half: Half, data: str | Path | None) -> Iterator[QuietStream]:
    for place, (name, both, season) in enumerate(_normal_beats(half, data, count=4)):
        yield QuietStream(f"{name}/{place % 2}", "electrocardiogram", both[:, place % 2], season)


def _illness(half: Half, data: str | Path | None) -> Iterator[QuietStream]:
    columns = list(_columns("illness/national_illness.csv", data).items())
    for place in (2, 4, 6) if half == "check" else (0, 3, 5):
        yield QuietStream(f"illness/{columns[place][0]}", "illness", columns[place][1], 52)


def _simulated(half: Half) -> Iterator[QuietStream]:
    for place, (name, (own, season, _)) in enumerate(FAMILIES.items()):
        for seed in _SEEDS[half]:
            if own == half:
                values = simulate_sensor(name, _SIMULATED, np.random.default_rng([seed, place]))
                yield QuietStream(f"{name}/{seed}", name, values, season)


# -- simulated sensors, in the manner of what servers, rooms, roads and machines report --------------------------------


def simulate_sensor(family: str, n_steps: int, rng: np.random.Generator) -> Float[np.ndarray, " time"]:
    """Readings of one of the simulated families.

    Examples
    --------
    >>> requests = simulate_sensor("requests", 288, np.random.default_rng(0))
    >>> bool((requests == np.rint(requests)).all()), len(requests)
    (True, 288)
    """
    if family not in FAMILIES:
        raise ValueError(f"family={shorten(family)} is unknown; pass one of {tuple(FAMILIES)}.")
    return np.asarray(FAMILIES[family][2](whole_number("n_steps", n_steps), rng), float)


def _correlated(n: int, rng: np.random.Generator, keep: float) -> np.ndarray:
    """Autoregressive noise of unit variance."""
    shocks = rng.normal(size=n) * np.sqrt(1 - keep**2)
    found = np.empty(n)
    found[0] = rng.normal()
    for t in range(1, n):
        found[t] = keep * found[t - 1] + shocks[t]
    return found


def _day(n: int, rng: np.random.Generator, period: int = _DAY) -> np.ndarray:
    """A daily profile between about 0 and 1 with two humps, whose weekends are lower."""
    phase, day = np.arange(n) % period / period, np.arange(n) // period
    humps = np.exp(-(((phase - rng.uniform(0.35, 0.45)) / 0.12) ** 2)) + rng.uniform(0.5, 1.0) * np.exp(
        -(((phase - rng.uniform(0.7, 0.8)) / 0.1) ** 2)
    )
    size = 1 + 0.06 * rng.normal(size=n // period + 2)
    return humps * size[day] * np.where((day + rng.integers(7)) % 7 >= 5, 0.65, 1.0)


def _room(n: int, rng: np.random.Generator) -> np.ndarray:
    wave = np.sin(2 * np.pi * np.arange(n) / _DAY + rng.uniform(0, 6))
    return np.round(21 + 2 * wave + 0.8 * _correlated(n, rng, 0.995) + 0.05 * rng.normal(size=n), 2)


def _processor(n: int, rng: np.random.Generator) -> np.ndarray:
    values = 8 + 1.2 * _correlated(n, rng, 0.5) + 0.8 * rng.gamma(1.0, size=n)
    values[int(rng.integers(12)) :: 12] += rng.uniform(5.0, 8.0)  # a job every hour
    values[rng.random(n) < 0.004] += 15
    return np.round(np.clip(values, 0, 100), 3)


def _requests(n: int, rng: np.random.Generator) -> np.ndarray:
    rate = 15 * np.exp(1.5 * _day(n, rng) + 0.25 * _correlated(n, rng, 0.9))
    rate = rate * np.where(rng.random(n) < 0.003, rng.uniform(2, 4, size=n), 1.0)
    return rng.poisson(rate).astype(float)


def _price(n: int, rng: np.random.Generator) -> np.ndarray:
    return 100 * np.exp(np.cumsum(0.004 * rng.standard_t(4, size=n)))


def _tank(n: int, rng: np.random.Generator) -> np.ndarray:
    level, values = 80.0, np.empty(n)
    for t in range(n):
        level -= 0.5 * rng.gamma(4.0) / 4
        level = rng.uniform(85, 95) if level < rng.uniform(15, 20) else level
        values[t] = level + 0.3 * rng.normal()
    return values


def _vibration(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.exp(0.4 * _correlated(n, rng, 0.97) + 0.15 * rng.normal(size=n))


def _disk(n: int, rng: np.random.Generator) -> np.ndarray:
    busy = rng.random(n) < 0.25 + 0.2 * (_correlated(n, rng, 0.95) > 0.8)
    return np.where(busy, np.round(4096 * rng.lognormal(1.0, 1.0, size=n)), 0.0)


def _road(n: int, rng: np.random.Generator) -> np.ndarray:
    jam = np.clip(_day(n, rng) - 0.35, 0, None) * rng.uniform(20, 40)
    return np.round(np.clip(68 - jam + 2.5 * _correlated(n, rng, 0.7), 3, 85))


def _rides(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.round(15_000 * (0.3 + _day(n, rng, 48)) * np.exp(0.06 * _correlated(n, rng, 0.8)))


def _latency(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.round(40 + 5 * _correlated(n, rng, 0.9) + 6 * rng.pareto(3.0, size=n), 2)


def _steady(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.round((3.3 + 0.01 * _correlated(n, rng, 0.6)) / 0.01) * 0.01


def _machine(n: int, rng: np.random.Generator) -> np.ndarray:
    phase = np.cumsum(1 + 0.1 * rng.normal(size=n)) / 60
    size = 1 + 0.1 * _correlated(n, rng, 0.99)
    return size * (np.sin(2 * np.pi * phase) + 0.6 * (phase % 1 < 0.3)) + 0.08 * rng.normal(size=n)


#: The half that a simulated family belongs to, the readings in its cycle, and how it is made.
FAMILIES: dict[str, tuple[str, int | None, Sensor]] = {
    "room temperature": ("development", _DAY, _room),
    "processor load": ("development", 12, _processor),
    "requests": ("development", _DAY, _requests),
    "price": ("development", None, _price),
    "tank level": ("development", None, _tank),
    "vibration": ("development", None, _vibration),
    "disk bytes": ("check", None, _disk),
    "road speed": ("check", _DAY, _road),
    "taxi rides": ("check", 48, _rides),
    "latency": ("check", None, _latency),
    "steady voltage": ("check", None, _steady),
    "machine": ("check", 60, _machine),
}


def _plant(n: int, rng: np.random.Generator, *, lagged: bool) -> np.ndarray:
    """Load, current, temperature and pressure of one plant: each follows the load, some of them late."""
    load = 2 * _day(n, rng) + _correlated(n, rng, 0.95)
    late = np.array([load[max(0, t - 11) : t + 1].mean() for t in range(n)]) if lagged else load
    noise = 0.15 * rng.normal(size=(4, n))
    return np.stack([load + noise[0], 3 * load + 2 + noise[1], 20 + 5 * late + noise[2], 8 - late + noise[3]], axis=1)
