"""One go: a study without units and without randomness."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hippozoo.tasks.data_files import data_file
from hippozoo_studies import QUIET, Context, Result

PAPER: dict[str, float] = {}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    size: int = 4
    file: str | None = None


QUICK = Config(size=2)


def run(config: Config, context: Context = QUIET) -> Result:
    context.progress(0.5)
    if config.file:
        data_file(config.file, context.data)
    if context.scratch:
        (context.scratch / "checkpoint").write_text("half")
    return Result(metrics={"size": config.size})


def report(result: Result, folder: Path) -> None:
    (folder / "table.txt").write_text(f"{result.metrics['size']}\n")
