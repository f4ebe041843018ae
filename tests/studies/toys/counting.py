"""Counting: a study in units small enough for tests (no part of the paper)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippozoo_studies import QUIET, Claim, Context, Finished, Result, over_seeds, save_figure, select

PAPER = {"total": {"short": 10, "long": {"1000": 1000}}}
SELECTS = ("seeds", "lengths")


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    lengths: tuple[int, ...] = (10, 1000)
    step: float = 1.0


QUICK = Config(seeds=(0,), step=2.0)


def units(config: Config) -> list[dict[str, Any]]:
    return [{"length": length, "seed": seed} for length in config.lengths for seed in config.seeds]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Count; the environment tells it to be slow, to fail or to keep a diary."""
    if diary := os.environ.get("COUNTING_DIARY"):
        with Path(diary).open("a") as file:
            file.write(f"{unit['length']}/{unit['seed']} {os.getpid()}\n")
    if os.environ.get("COUNTING_WAITS") == f"{unit['length']}/{unit['seed']}":
        _wait_for(os.environ["COUNTING_WAITS_FOR"], Path(os.environ["COUNTING_DIARY"]))
    if os.environ.get("COUNTING_FAILS") == f"{unit['length']}/{unit['seed']}":
        raise ArithmeticError("cannot count that far.")
    if os.environ.get("COUNTING_DIES") == f"{unit['length']}/{unit['seed']}":
        os._exit(9)
    context.progress(1, "counted")
    if holds := os.environ.get("COUNTING_HOLDS"):
        sum(range(int(holds)))  # one long call that, like compiled code, lets no other thread run
    time.sleep(float(os.environ.get("COUNTING_SECONDS", "0")))
    print("an experiment that prints must not spoil --json")  # noqa: T201
    return {
        "total": config.step * unit["length"] + unit["seed"],
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _wait_for(entry: str, diary: Path, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while f"{entry} " not in diary.read_text():
        if time.monotonic() > end:
            raise TimeoutError(f"{entry} did not begin")
        time.sleep(0.02)


def assemble(config: Config, finished: list[Finished]) -> Result:
    def total(length: int) -> dict[str, Any]:
        return over_seeds([one.result["total"] for one in select(finished, length=length)])

    return Result(
        metrics={"total": {"short": total(config.lengths[0]), "long": {1e3: total(config.lengths[-1])}}},
        claims=[
            Claim("counting further gives more", holds=True, evidence="1000 > 10"),
            Claim("counting ends", holds=False, evidence="it goes on"),
        ],
        arrays={"units": [one.unit for one in finished]},
    )


def report(result: Result, folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, len(result.arrays["units"])], [0, 1])
    save_figure(figure, folder, "count")
