"""Columns of a CSV file -> memory features: for each row, what the past of each column looked like.

    python examples/csv_features.py [FILE.csv --time COLUMN --columns A B --window 24 --order 6]

Rows may be unevenly spaced and cells may be empty. The result, FILE-features.csv, has the rows of the file and, for
each column, its coefficients: ready for any regression. Without a file a small one is made up.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegT


def make_up(path: Path) -> None:
    """A day of weather, every 20 minutes or so, with holes."""
    rng = np.random.default_rng(0)
    hours = np.cumsum(rng.uniform(0.2, 0.5, size=200))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["hour", "temperature", "wind"])
        for hour in hours:
            temperature = 12 + 6 * np.sin(2 * np.pi * (hour - 9) / 24) + rng.normal(scale=0.3)
            wind = "" if rng.random() < 0.1 else f"{rng.gamma(2.0, 2.0):.1f}"
            writer.writerow([f"{hour:.3f}", f"{temperature:.2f}", wind])


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file", nargs="?", type=Path)
parser.add_argument("--time", default="hour")
parser.add_argument("--columns", nargs="+", default=["temperature", "wind"])
parser.add_argument("--window", type=float, default=24.0, help="in the unit of the time column")
parser.add_argument("--order", type=int, default=6)
given = parser.parse_args()
path = given.file or Path("weather.csv")
if given.file is None:
    make_up(path)

with path.open(newline="") as file:
    rows = list(csv.DictReader(file))

stream = Stream(Memory(LegT(given.order, given.window)), channels=len(given.columns))
result = path.with_name(f"{path.stem}-features.csv")
with result.open("w", newline="") as file:
    names = [f"{column}_{n}" for column in given.columns for n in range(given.order)]
    writer = csv.writer(file)
    writer.writerow([given.time, *given.columns, *names])
    for row in rows:
        cells = [row[column] for column in given.columns]
        # The state at the time of a row knows the rows before it: nothing of the future, nor the row itself.
        stream.push([float(cell or "nan") for cell in cells], time=float(row[given.time]))
        writer.writerow([row[given.time], *cells, *(f"{number:.6g}" for number in stream.state.ravel())])
print(f"{len(rows)} rows, {len(names)} features -> {result}")

# The first coefficient of a settled window is the mean over it, here per column.
means = ", ".join(f"{name} {mean:.2f}" for name, mean in zip(given.columns, stream.state[:, 0], strict=True))
print(f"means over the last {given.window:g}: {means}")
