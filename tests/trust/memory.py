"""Whether a stream that runs for months grows: resident memory and size of the state, while readings go by."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.checkpoint import dumps
from hippozoo.ensemble import ForecastStream, forecaster_for
from hippozoo.systems import LegT

_PIECE = 50_000


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def growth(readings: int, seed: int = 0) -> dict[str, Any]:
    """Push so many readings, of a daily wave with noise, gaps, spikes and steps; memory at ten moments."""
    rng = np.random.default_rng(seed)
    forecaster = forecaster_for(4.0, history=LegT(8, 16.0), ridge=1e-2, anchor="last")
    stream = ForecastStream(forecaster)
    began, marks, alarms, level = time.process_time(), [], 0, 0.0
    wanted = [readings * share // 100 for share in (1, 2, 5, 10, 20, 40, 60, 80, 100)]
    while stream.readings < readings:
        count = min(_PIECE, readings - stream.readings)
        level += rng.normal()
        values = level + np.sin((stream.readings + np.arange(count)) * 2 * np.pi / 96) + 0.2 * rng.normal(size=count)
        values[rng.random(count) < 1e-4] += 8.0
        values[rng.random(count) < 1e-4] = np.nan
        # Most in arrays, some one by one, as a growing file brings them.
        alarms += len(stream.push_many(values[:-200]).alarms)
        for value in values[-200:]:
            alarms += len(stream.push(value).alarms)
        while wanted and stream.readings >= wanted[0]:
            gc.collect()
            marks.append({"readings": wanted.pop(0), "resident_bytes": resident(), "state_bytes": len(dumps(stream))})
    return {
        "readings": stream.readings,
        "alarms": alarms,
        "cpu_seconds": round(time.process_time() - began, 1),
        "setting": "horizon 4 steps, one history (Leg-T of order 8 over 16 steps) on the last value, one channel",
        "seed": seed,
        "marks": marks,
        # From the first tenth, when everything is loaded and every array has its size.
        "grown_bytes": marks[-1]["resident_bytes"] - marks[3]["resident_bytes"],
    }
