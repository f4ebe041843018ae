"""What a value of `watch` costs, and how much memory it takes, as the number of sensors grows.

Each row is a process of its own, which watches a file to its end with everything: lines, forecasts, alarms, tables and
states. Peak memory is that of the whole process, some 205 MB of which are Python, its packages and compiled code. The
first few hundred readings of a sensor cost about twice as much as later ones, since its maps are solved more often, and
the more sensors a row has, the fewer readings each.
"""

from __future__ import annotations

from benchmarks.timing import row  # first: it sets one thread  # isort: skip

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hippozoo.apps.watch.run import Settings, Watch

__all__ = ["growth"]

# Sensors and readings of each.
SIZES = ((1, 20_000), (10, 4_000), (100, 1_000), (500, 1_000), (1_000, 40), (10_000, 10))
WIDE = (500, 600)


def write(path: Path, sensors: int, readings: int, *, wide: bool) -> None:
    """Waves with noise, one row for each sensor, or one column."""
    rng = np.random.default_rng(0)
    names = [f"s{k:05d}" for k in range(sensors)]
    with path.open("w") as file:
        file.write("time," + (",".join(names) if wide else "sensor,flow") + "\n")
        for t in range(readings):
            values = np.sin(t / 6 + np.arange(sensors)) + 0.1 * rng.normal(size=sensors)
            if wide:
                file.write(f"{60 * t}," + ",".join(f"{value:.5f}" for value in values) + "\n")
            else:
                file.writelines(f"{60 * t},{name},{value:.5f}\n" for name, value in zip(names, values, strict=True))


def measure(folder: Path, sensors: int, readings: int, wide: bool) -> None:
    """Watch the file in this process, and print what it took."""
    said: list[str] = []
    panel = () if wide else ("sensor",)
    begin = time.process_time()
    status = Watch(Settings(str(folder / "long.csv"), panel=panel), folder / "long.db", str, said.append).run()
    spent = time.process_time() - begin
    assert status.readings * (sensors if wide else 1) == sensors * readings, "rows were lost"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    said = [line.split(":")[0].split(" with ")[0] for line in said if "steps ahead" in line]
    print(json.dumps({"seconds": spent, "peak": peak, "said": said[0]}))


def one(sensors: int, readings: int, *, wide: bool = False) -> dict[str, Any]:
    with TemporaryDirectory() as name:
        write(Path(name) / "long.csv", sensors, readings, wide=wide)
        program = f"from benchmarks.bench_panel import *; measure(Path({name!r}), {sensors}, {readings}, {wide})"
        program = program.replace("import *", "import Path, measure")
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    what = f"{found['said'].replace(' so far', '')}, {readings:,} readings of each"
    sys.stderr.write(f"{what}: {1e6 * found['seconds'] / sensors / readings:.0f} µs, {found['peak']:.0f} MB\n")
    return row(what, found["seconds"], samples=sensors * readings, peak=found["peak"])


def growth() -> list[dict[str, Any]]:
    """From one sensor to ten thousand, and as many columns of one table."""
    return [*(one(*size) for size in SIZES), one(*WIDE, wide=True)]
