"""A long panel through one watch: memory stays flat, no reading is lost, and what one costs does not grow."""

from __future__ import annotations

import io
import resource
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.apps.watch.run import Settings, Watch

SENSORS = 100
_KEPT = 1000
_STEPS = 1000


class Panel(io.RawIOBase):
    """Standard input that never stands on a disk: a minute of all sensors after the other."""

    def __init__(self, readings: int, sensors: int) -> None:
        self.steps, self.sensors = readings // sensors, sensors
        self._made, self._rest = 0, b"time,sensor,flow\n"

    def read1(self, size: int) -> bytes:
        """The next bytes; none at the end."""
        while len(self._rest) < size and self._made < self.steps:
            rng = np.random.Generator(np.random.Philox(key=self._made))
            at = np.arange(self._made, min(self._made + _STEPS, self.steps))
            values = np.sin(at[:, None] / (7 + np.arange(self.sensors) % 13)) + 0.2 * rng.normal(
                size=(len(at), self.sensors)
            )
            rows = [
                f"{60 * k},s{s},{row[s]:.4f}\n"
                for k, row in zip(at.tolist(), values.tolist(), strict=True)
                for s in range(self.sensors)
            ]
            self._rest += "".join(rows).encode()
            self._made += len(at)
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def soak(readings: int, sensors: int = SENSORS) -> dict[str, Any]:
    """Watch so many readings; seconds, microseconds a reading and peak of memory at some lengths, and mishaps."""
    looks = [round(readings * share) for share in (0.1, 0.25, 0.5, 0.75)]
    begun, seen, peaks, costs = time.monotonic(), [], {}, {}
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "panel.db"

        def note(count: int) -> None:
            passed, before = time.process_time(), seen[-1] if seen else (0, first)
            costs[str(count)] = round(1e6 * (passed - before[1]) / (count - before[0]), 1)
            peaks[str(count)] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
            seen.append((count, passed))

        def look(status: Any) -> None:
            if looks and status.readings >= looks[0]:
                looks[:] = [one for one in looks if one > status.readings]
                note(status.readings)

        first = time.process_time()
        settings = Settings("-", panel=("sensor",), keep=_KEPT)
        watch = Watch(settings, out, str, str, stdin=Panel(readings, sensors), status=look)
        status = watch.run()
        note(status.readings)
        database = sqlite3.connect(out)
        counts = database.execute("SELECT readings FROM sensors").fetchall()
        mishaps = [] if counts == [(readings // sensors,)] * sensors else [f"readings of the sensors: {counts[:3]}"]
        mishaps += [] if status.late == status.left_out == 0 else ["rows are late or left out"]
        # All states are written at the end, a few at a time, which takes some memory of its own.
        first_peak, *_, last_peak, _ = peaks.values()
        grown = last_peak / first_peak
        mishaps += [] if grown < 1.1 else [f"memory has grown by {grown - 1:.0%}"]
        database.close()
        return {
            "readings": status.readings,
            "sensors": sensors,
            "kept_of_each": _KEPT,
            "alarms": status.alarms,
            "minutes": round((time.monotonic() - begun) / 60, 1),
            "cpu_microseconds_a_reading": costs,
            "peak_megabytes": peaks,
            "database_megabytes": round(out.stat().st_size / 1e6, 1),
            "mishaps": mishaps,
        }
