"""The command's own work: progress on stderr, files in a folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hippozoo._files import demand_folder, make_folder
from hippozoo.forecast_command.backtest import COVERAGES
from hippozoo.forecast_command.page import write_page
from hippozoo.forecast_command.results import Findings, write_csv
from hippozoo.forecast_command.run import forecast_table
from hippozoo.tables import spread_panel

__all__ = ["run_forecast"]


def run_forecast(
    file: Path,
    columns: tuple[str, ...],
    time: str | None,
    horizon: int,
    every: float | None,
    season: tuple[int, ...] | None,
    out: Path,
    *,
    rows_are_steps: bool = False,
    coverages: tuple[float, ...] = COVERAGES,
    lower: float | None = None,
    together: Literal["independent", "joint", "panel"] = "independent",
    panel: str | None = None,
) -> dict[str, Any]:
    """Learn, write ``forecast.csv`` and ``index.html`` into `out`, and give the summary."""
    from rich.console import Console
    from rich.progress import Progress

    demand_folder(out)  # before the work, and not after it
    console = Console(stderr=True)
    # Where nobody watches, a bar that vanishes leaves an empty line behind.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"learning {file.name}", total=1.0)
        with TemporaryDirectory() as folder:
            if panel is not None:
                wide = Path(folder) / f"{file.stem}.csv"
                columns, time = spread_panel(file, panel, columns[0] if columns else None, time, wide)
                file, together = wide, "panel"
            run = forecast_table(
                file,
                columns,
                time,
                horizon,
                every,
                season,
                progress=lambda done: bar.update(task, completed=done),
                rows_are_steps=rows_are_steps,
                coverages=coverages,
                lower=lower,
                together=together,
            )
    make_folder(out)
    write_csv(run, out / "forecast.csv")
    found = Findings(run)
    write_page(found, out)
    return found.summary
