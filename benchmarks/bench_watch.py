"""What a reading costs in a stream and in the command `watch`, against river's own detector with a table beside it."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

import csv
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from river import anomaly

from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.ensemble import EnsembleForecaster, ForecastStream, forecaster_for
from hippozoo.systems import LegT

__all__ = ["run"]

READINGS, SINGLE = 20_000, 3_000


def signal(count: int) -> np.ndarray:
    return np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(0).normal(size=count)


def watch(source: Path, out: Path, batch: int) -> None:
    """All of the command: lines, forecasts, alarms, tables."""
    for path in out.parent.glob(f"{out.name}*"):
        path.unlink()
    Watch(Settings(str(source), batch=batch), out, str, str).run()


def by_hand(source: Path, out: Path) -> None:
    """What one would write instead: river's half-space trees, and a table of scores."""
    out.unlink(missing_ok=True)
    model, database = anomaly.HalfSpaceTrees(seed=0), sqlite3.connect(out)
    database.execute("CREATE TABLE readings (time REAL, value REAL, score REAL)")
    with source.open() as file:
        for line in csv.DictReader(file):
            x = {"flow": float(line["flow"])}
            database.execute("INSERT INTO readings VALUES (?, ?, ?)", (line["time"], x["flow"], model.score_one(x)))
            model.learn_one(x)
    database.commit()
    database.close()


def write(path: Path, count: int) -> Path:
    rows = "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(signal(count)))
    path.write_text("time,flow\n" + rows)
    return path


def one_by_one(values: list[float], forecaster: EnsembleForecaster) -> None:
    stream = ForecastStream(forecaster)
    for value in values:
        stream.push(value)


def one_candidate() -> EnsembleForecaster:
    """A map of one history, and nothing beside it."""
    return EnsembleForecaster(LegT(24, 48.0), 24.0, ridge=0.1, anchor="last", simple=False)


def run() -> list[dict[str, Any]]:
    """A reading with everything: in arrays, one by one, and in the command with batches and without."""
    values = signal(READINGS)
    with TemporaryDirectory() as name:
        folder = Path(name)
        long, short = write(folder / "long.csv", READINGS), write(folder / "short.csv", SINGLE)
        hand = seconds(lambda: by_hand(long, folder / "hand.db"), repeats=1) / READINGS
        against = "river's half-space trees and a table"
        many = seconds(lambda: ForecastStream(forecaster_for(24.0)).push_many(values), repeats=2)
        single = seconds(lambda: one_by_one(values[:SINGLE].tolist(), forecaster_for(24.0)), repeats=2)
        alone_one = seconds(lambda: one_by_one(values[:SINGLE].tolist(), one_candidate()), repeats=2)
        batches = seconds(lambda: watch(long, folder / "long.db", 1024), repeats=2)
        alone = seconds(lambda: watch(short, folder / "short.db", 1), repeats=2)
    return [
        row("push_many, 24 steps ahead", many, samples=READINGS),
        row("push, one by one", single, single_reference(many), against="push_many", samples=SINGLE),
        row("push, one by one, one candidate", alone_one, single, against="the default candidates", samples=SINGLE),
        row("watch a file", batches, hand * READINGS, against=against, samples=READINGS),
        row("watch, every reading committed", alone, hand * SINGLE, against=against, samples=SINGLE),
    ]


def single_reference(many: float) -> float:
    """What `push_many` takes for as many readings as were pushed one by one."""
    return many / READINGS * SINGLE
