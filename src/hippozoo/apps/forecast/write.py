"""The command's own work: progress on stderr, files in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hippozoo._internal.extras import is_installed
from hippozoo._internal.files import demand_folder, make_folder
from hippozoo.apps.forecast.files import ENDINGS, forecast_records, write_csv, write_forecast
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.page import write_page
from hippozoo.apps.forecast.results import Findings
from hippozoo.apps.forecast.run import Reading, learn_table, run_of_table

__all__ = ["is_file", "run_forecast"]


def is_file(out: Path) -> bool:
    """Whether the output is one file, by its ending, and not a folder."""
    return out.suffix.lower() in ENDINGS and not out.is_dir()


def run_forecast(
    file: Path, reading: Reading, choices: Choices, out: Path, future: Path | None = None
) -> dict[str, Any]:
    """Learn, and write the forecast: one file, or a folder with ``forecast.csv`` and (with Bokeh) ``index.html``.

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
        found = Findings(run_of_table(learner, table, file.name))
    if is_file(out):
        make_folder(out.parent)
        write_forecast(found, out)
    else:
        make_folder(out)
        write_csv(found, out / "forecast.csv")
        if is_installed("bokeh"):
            write_page(found, out)
    return found.summary | {"forecast": forecast_records(found)}
