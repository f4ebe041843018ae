"""Forecasts as files: CSV, Parquet and JSON, all with the same columns; or a folder with a page."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hippozoo._internal.extras import is_installed, needs
from hippozoo._internal.files import demand_folder, make_folder, write_whole
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.page import write_page
from hippozoo.apps.forecast.reading import Reading
from hippozoo.apps.forecast.result import ForecastResult, learn
from hippozoo.apps.forecast.run import ForecastRun, forecast_frame, forecast_records

__all__ = ["inert", "is_file", "run_forecast", "write_csv", "write_folder", "write_forecast"]

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
        result = learn(file, reading, choices, future, lambda done: bar.update(task, completed=done))
    if is_file(out):
        make_folder(out.parent)
        write_forecast(result, out)
    else:
        write_folder(result.run, out)
    return result.summary | {"forecast": forecast_records(result.run)}


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


def write_forecast(result: ForecastResult, path: Path) -> None:
    """One file; its ending says which kind: .csv, .json or .parquet."""
    ending = path.suffix.lower()
    if ending == ".csv":
        write_csv(result.run, path)
    elif ending == ".json":
        write_whole(path, (json.dumps(forecast_records(result.run), indent=1, ensure_ascii=False) + "\n").encode())
    else:
        parquet, content = needs("pyarrow.parquet", extra="data", feature="--out with .parquet"), io.BytesIO()
        parquet.write_table(forecast_frame(result.run, replace(result.clock, library="pyarrow")), content)
        write_whole(path, content.getvalue())


def inert(value: Any) -> Any:
    """Text that no spreadsheet runs as a formula: with an apostrophe before it where it would; numbers as they are.

    >>> inert("=HYPERLINK(A1)"), inert("load"), inert(-1.5)
    ("'=HYPERLINK(A1)", 'load', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
