"""The command's own work: progress on stderr, files in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hippozoo._files import demand_folder, make_folder
from hippozoo.forecast_command.backtest import COVERAGES
from hippozoo.forecast_command.page import write_page
from hippozoo.forecast_command.results import Findings, write_csv
from hippozoo.forecast_command.run import forecast_table
from hippozoo.tables import TableError, spread_panel

__all__ = ["run_forecast"]


@contextmanager
def _told_of(file: Path, folder: Path) -> Iterator[None]:
    """Errors name the file that was given, and none that was written on the way."""
    try:
        yield
    except (TableError, ValueError) as error:
        written = str(folder / f"{file.stem}.csv")
        if written not in str(error):
            raise
        said = str(error).replace(written, str(file))
        raise TableError(said) from None


def run_forecast(
    file: Path,
    columns: tuple[str, ...],
    time: str | None,
    horizon: int | None,
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
        with TemporaryDirectory() as folder, _told_of(file, Path(folder)):
            table = file
            if panel is not None:
                table, together = Path(folder) / f"{file.stem}.csv", "panel"
                columns, time = spread_panel(file, panel, columns[0] if columns else None, time, table)
            run = forecast_table(
                table,
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
