"""Forecasts as files: CSV, Parquet and JSON, all with the same columns; or a folder with a page."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.extras import is_installed, needs
from hippozoo._internal.files import demand_folder, make_folder, write_whole
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.page import write_page
from hippozoo.apps.forecast.reading import Reading, learn_table, run_of_table
from hippozoo.apps.forecast.run import ForecastRun, forecast_columns
from hippozoo.tables.frames import Clock, table_clock, write_frame

__all__ = [
    "forecast_frame", "forecast_records", "inert", "is_file", "run_forecast", "write_csv", "write_folder",
    "write_forecast",
]  # fmt: skip

_ENDINGS = (".csv", ".parquet", ".json")
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_file(out: Path) -> bool:
    """Whether the output is one file, by its ending, and not a folder."""
    return out.suffix.lower() in _ENDINGS and not out.is_dir()


def run_forecast(
    file: Path, reading: Reading, choices: Choices, out: Path, future: Path | None = None
) -> dict[str, Any]:
    """Learn a file, with progress on stderr, and write its forecast: one file, or a folder.

    Returns the summary; ``forecast`` in it holds the rows of the table.
    """
    from rich.console import Console
    from rich.progress import Progress

    demand_folder(out.parent if is_file(out) else out)  # before the work, and not after it
    console = Console(stderr=True)
    # Where nobody watches, a bar that vanishes leaves an empty line behind.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"learning {file.name}", total=1.0)
        learner, table = learn_table(
            file, reading, choices, lambda done: bar.update(task, completed=done), future=future
        )
        run = run_of_table(learner, table, file.name)
    if is_file(out):
        make_folder(out.parent)
        write_forecast(run, out)
    else:
        write_folder(run, out)
    return run.summary | {"forecast": forecast_records(run)}


def write_folder(run: ForecastRun, folder: Path) -> None:
    """``forecast.csv`` and, with Bokeh, ``index.html``."""
    make_folder(folder)
    write_csv(run, folder / "forecast.csv")
    if is_installed("bokeh"):
        write_page(run, folder)


def write_csv(run: ForecastRun, path: Path) -> None:
    """One line per column and step, numbers with all digits: time, mean and bands."""
    file, records = io.StringIO(newline=""), forecast_records(run)
    writer = csv.writer(file)
    writer.writerow(records[0])
    writer.writerows(map(inert, one.values()) for one in records)
    write_whole(path, file.getvalue().encode())


def write_forecast(run: ForecastRun, path: Path) -> None:
    """One file; its ending says which kind: .csv, .json or .parquet."""
    ending = path.suffix.lower()
    if ending == ".csv":
        write_csv(run, path)
    elif ending == ".json":
        write_whole(path, (json.dumps(forecast_records(run), indent=1, ensure_ascii=False) + "\n").encode())
    else:
        parquet = needs("pyarrow.parquet", extra="data", feature="--out with .parquet")
        content, learner = io.BytesIO(), run.learner
        clock = table_clock(learner.grid.dates, run.time, learner.rows, learner.grid.last_offset is not None)
        parquet.write_table(forecast_frame(run, replace(clock, library="pyarrow")), content)
        write_whole(path, content.getvalue())


def forecast_frame(
    run: ForecastRun, clock: Clock, series: Mapping[str, Sequence[Any]] | None = None, quantiles: Sequence[float] = ()
) -> Any:
    """The forecast as a frame, with times as the clock has them; a long table keeps its columns of names."""
    columns, count = forecast_columns(run, quantiles), run.horizon
    ahead, is_local = run.learner.grid.ahead(count)
    if is_local and clock.zone == "UTC" and run.learner.grid.last_offset is not None:
        ahead, is_local = ahead - run.learner.grid.last_offset, False
    times = clock.times(ahead, is_local=is_local)
    named = {name: [one for one in keys for _ in range(count)] for name, keys in (series or {}).items()}
    first = {**(named or {"column": columns["column"]}), "step": columns["step"]}
    rest = {name: one for name, one in columns.items() if name not in ("column", "step", "time")}
    return write_frame(clock, {**first, "time": np.tile(times, len(run.columns)), **rest})


def forecast_records(run: ForecastRun) -> list[dict[str, Any]]:
    """One object per column and step; None where a number is unknown."""
    columns = {name: np.asarray(one).tolist() for name, one in forecast_columns(run).items()}
    rows = ([_known(one) for one in row] for row in zip(*columns.values(), strict=True))
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def inert(value: Any) -> Any:
    """Text that no spreadsheet runs as a formula: with an apostrophe before it where it would; numbers as they are.

    >>> inert("=HYPERLINK(A1)"), inert("load"), inert(-1.5)
    ("'=HYPERLINK(A1)", 'load', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
