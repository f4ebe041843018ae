"""Columns of a table -> memory features: for each row, what the past of each column looked like.

    python examples/csv_features.py [FILE.csv --time COLUMN --columns A B --window 24 --order 6]

Rows may be unevenly spaced, cells may be empty, times may be numbers or dates, and the file may be a CSV export of a
spreadsheet or Parquet (pip install 'hippozoo[data]'). The result, FILE-features.csv, has the rows of the file and, for
each column, its coefficients: ready for any regression. Without a file a small one is made up.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegT
from hippozoo.tables import read_table


def make_up(path: Path) -> None:
    """Three days of weather, every 20 minutes or so, with holes."""
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
parser.add_argument("--time", help="the column of times; by default the column of dates")
parser.add_argument("--columns", nargs="+", default=[], help="by default all columns of numbers")
parser.add_argument("--window", type=float, default=24.0, help="in hours for dates, else in the unit of the times")
parser.add_argument("--order", type=int, default=6)
given = parser.parse_args()
path = given.file or Path("weather.csv")
if given.file is None:
    make_up(path)
    given.time = "hour"

table = read_table(path, given.columns, given.time, find_time=True)
if table.time is None:
    parser.error(f"{path} has no column of dates; name the column of times with --time")
for name, why in table.left_out.items():
    print(f"left out {name}, because {why}")

count = 0
stream = Stream(Memory(LegT(given.order, given.window)), channels=len(table.columns))
result = path.with_name(f"{path.stem}-features.csv")
with result.open("w", newline="", encoding="utf-8") as file:
    names = [f"{column}_{n}" for column in table.columns for n in range(given.order)]
    writer = csv.writer(file)
    writer.writerow([table.time, *table.columns, *names])
    for rows, _ in table.chunks:
        # Dates come in seconds since 1970, in UTC where they name a zone.
        times = rows.times / 3600 if table.dates else rows.times
        texts = np.rint(rows.times * 1e3).astype("datetime64[ms]") if table.dates else rows.times
        for time, text, values in zip(times.tolist(), texts.astype(str), rows.values, strict=True):
            # The state at the time of a row knows the rows before it: nothing of the future, nor the row itself.
            stream.push(values, time=time)
            cells = ["" if np.isnan(value) else repr(value) for value in values.tolist()]
            writer.writerow([text, *cells, *(f"{number:.6g}" for number in stream.state.ravel())])
        count += len(rows.values)
print(f"{count} rows, {len(names)} features -> {result}")

# The first coefficient of a settled window is the mean over it, here per column.
means = ", ".join(f"{name} {mean:.2f}" for name, mean in zip(table.columns, stream.state[:, 0], strict=True))
print(f"means over the last {given.window:g}: {means}")
