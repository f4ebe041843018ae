"""Forecasts as files: CSV, Parquet and JSON, all with the same columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.extras import needs
from hippozoo._internal.files import write_whole
from hippozoo.apps.forecast.results import Findings, forecast_columns
from hippozoo.apps.forecast.run import ForecastRun
from hippozoo.ensemble.frames import Clock, table_clock, write_frame

__all__ = ["ENDINGS", "forecast_frame", "forecast_records", "inert", "write_csv", "write_forecast"]

ENDINGS = (".csv", ".parquet", ".json")
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(run: ForecastRun | Findings, path: Path) -> None:
    r"""One line per column and step: time, mean and bands.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.apps.forecast import forecast_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "load.csv"
    ...     _ = file.write_text("load\n" + "".join(f"{n % 7}\n" for n in range(200)))
    ...     write_csv(forecast_table(file, horizon=3), Path(folder) / "forecast.csv")
    ...     len((Path(folder) / "forecast.csv").read_text().splitlines())
    4
    """
    columns = forecast_columns(run if isinstance(run, Findings) else Findings(run))
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(zip(*(map(_cell, one) for one in columns.values()), strict=True))
    write_whole(path, file.getvalue().encode())


def write_forecast(found: Findings, path: Path) -> None:
    """One file; its ending says which kind: .csv, .parquet or .json."""
    ending = path.suffix.lower()
    if ending == ".csv":
        write_csv(found, path)
    elif ending == ".json":
        write_whole(path, (json.dumps(forecast_records(found), indent=1, ensure_ascii=False) + "\n").encode())
    elif ending == ".parquet":
        parquet = needs("pyarrow.parquet", extra="data", feature="--out with .parquet")
        run, content = found.run, io.BytesIO()
        clock = table_clock(
            run.learner.grid.dates, run.time, run.learner.rows, run.learner.grid.last_offset is not None
        )
        parquet.write_table(forecast_frame(found, replace(clock, library="pyarrow")), content)
        write_whole(path, content.getvalue())
    else:
        raise ValueError(f"{path}: forecasts are written as {', '.join(ENDINGS)}, or into a folder; change the ending.")


def forecast_frame(
    found: Findings, clock: Clock, series: Mapping[str, Sequence[Any]] | None = None, quantiles: Sequence[float] = ()
) -> Any:
    """The forecast as a frame, with times as the clock has them; a long table keeps its columns of names."""
    run = found.run
    columns, count = forecast_columns(found, quantiles), run.horizon
    ahead, is_local = run.learner.grid.ahead(count)
    if is_local and clock.zone == "UTC" and run.learner.grid.last_offset is not None:
        ahead, is_local = ahead - run.learner.grid.last_offset, False
    times = clock.times(ahead, is_local=is_local)
    names = columns.pop("column")
    named = {name: [one for one in keys for _ in range(count)] for name, keys in (series or {}).items()}
    steps = columns.pop("step")
    columns.pop("time", None)
    return write_frame(
        clock,
        {**(named or {"column": names}), "step": steps, "time": np.tile(times, len(run.columns)), **columns},
    )


def forecast_records(found: Findings) -> list[dict[str, Any]]:
    """One object per column and step; null where a number is unknown."""
    columns = forecast_columns(found)
    return [_record(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, (float, np.floating)):
            found[name] = float(value) if np.isfinite(value) else None
        else:
            found[name] = int(value) if isinstance(value, np.integer) else value
    return found


def inert(value: Any) -> Any:
    """Text that no spreadsheet runs as a formula: with an apostrophe before it where it would; numbers as they are.

    Examples
    --------
    >>> inert("=HYPERLINK(A1)"), inert("load"), inert(-1.5)
    ("'=HYPERLINK(A1)", 'load', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _cell(value: Any) -> Any:
    """The shortest text that gives the very number back: on a large level all digits are needed."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else repr(float(value))
    return inert(value)
