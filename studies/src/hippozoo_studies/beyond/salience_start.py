"""Clock or comb: from which start, rate and salience does selective copying learn to stop time (beyond the paper).

The lag functional of the shipped layer starts as a smooth bump half a window ago. From there the salience has to learn
which tokens stop the clock, so that each wanted token stands under the bump when it is asked for. A random functional
can be taught instead to read every count of distractors without silencing them: a comb. Accuracy alone does not tell
them apart; the salience of uninformative tokens over that of informative ones does: near 0 for a clock, 1 for a comb.

Task, model and minibatch training are those of ``selective-copying``; start, rate and kind of salience vary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hippozoo.tasks.selective_copying import SelectiveCopying
from hippozoo.training import seeded
from hippozoo_studies import (
    QUIET,
    Claim,
    Context,
    Finished,
    Result,
    drawing,
    markdown_table,
    over_seeds,
    select,
    spread_text,
)
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.paper import selective_copying as copying

# The paper does not give the start.
PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "starts", "rates", "kinds")
ASSEMBLES_PARTS = True
STARTS = {"bump": "bump half a window ago", "random": "random"}
KINDS = {"input": "token alone", "state": "token and memory"}
# A clock stops for what does not matter.
CLOCK = 0.1


@dataclass(frozen=True)
class Config(copying.Config):
    """Everything that may change the outcome; the cheap kind of salience first."""

    starts: tuple[str, ...] = tuple(STARTS)
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    kinds: tuple[str, ...] = tuple(KINDS)
    minibatch_steps: int = 2_500


QUICK = Config(
    seeds=(0,),
    rates=(3e-3,),
    kinds=("input",),
    wanted=3,
    distractors=3,
    order=16,
    width=12,
    hidden=16,
    summary=4,
    batch=16,
    minibatch_steps=20,
    minibatch_look=10,
    validation_episodes=20,
    test_episodes=50,
)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per kind of salience, start, rate and seed."""
    return [
        {"kind": kind, "start": start, "rate": rate, "seed": seed}
        for kind in config.kinds
        for seed in config.seeds
        for rate in config.rates
        for start in config.starts
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train one model from its start, and see what it has learnt."""
    seed = unit["seed"]
    settings = replace(config, rate=unit["rate"])
    task = SelectiveCopying(config.wanted, config.distractors, seed=seed)
    with seeded(seed):
        model = copying.make_model(settings, task, config.summary if unit["kind"] == "state" else 0)
        if unit["start"] == "random":
            functional = model.layer.functional
            with torch.no_grad():  # as long as the bump, in any direction
                drawn = torch.randn_like(functional)
                functional.copy_(drawn * functional.norm() / drawn.norm())
    trained, solved = copying.train_model(settings, task, model, seed, online=False, context=context)
    rng = np.random.default_rng([1_000_003, seed, 2])
    tested = copying.test_model(settings, task, model, rng, config.test_episodes, online=False)
    return {"test": tested, "steps": trained.steps, "steps_to_solve": solved, "ending": trained.ending}


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy and the ratio of saliences, by start, rate and kind; and how many seeds learnt a clock."""
    metrics: dict[str, Any] = {}
    for kind in config.kinds:
        for start in config.starts:
            for rate in config.rates:
                found = [one.result["test"] for one in select(finished, kind=kind, start=start, rate=rate)]
                if found:
                    metrics.setdefault(kind, {}).setdefault(start, {})[f"{rate:g}"] = {
                        "accuracy": over_seeds(one["accuracy"] for one in found),
                        "salience_ratio": over_seeds(one["salience_ratio"] for one in found),
                        "clocks": sum(one["salience_ratio"] < CLOCK for one in found),
                    }
    return Result(metrics, _claims(metrics), {"config": config})


OF_KIND = Asked(
    "ours: the bump decides that a clock is learnt; from a random functional it is often a comb ({kind})",
    "",
    lambda n: n,
    lambda n: n["clocks"] / n["runs"] > n["others"] / n["of"] + 0.2,
    "With salience from {kind}, {clocks} of {runs} runs learn a clock (ratio below {limit}) from the bump, and "
    "{others} of {of} from random initialisation.",
)


def _claims(metrics: dict[str, Any]) -> list[Claim]:
    """One verdict for each kind of salience; none before there are runs from both starts."""
    found = []
    for kind, by_start in metrics.items():
        if len(by_start) == len(STARTS):
            clocks = {start: sum(one["clocks"] for one in cells.values()) for start, cells in by_start.items()}
            runs = {
                start: sum(len(one["accuracy"]["seeds"]) for one in cells.values()) for start, cells in by_start.items()
            }
            numbers = {"kind": KINDS[kind], "limit": CLOCK, "clocks": clocks["bump"], "runs": runs["bump"]}
            found += answers([OF_KIND], numbers | {"others": clocks["random"], "of": runs["random"]})
    return found


def table(result: Result) -> str:
    """All cells, one row each."""
    rows = [
        [
            KINDS[kind],
            STARTS[start],
            rate,
            spread_text(one["accuracy"], ".1f", 100),
            spread_text(one["salience_ratio"], ".3f"),
            f"{one['clocks']} of {len(one['accuracy']['seeds'])}",
        ]
        for kind, by_start in result.metrics.items()
        for start, by_rate in by_start.items()
        for rate, one in by_rate.items()
    ]
    header = ["salience from", "initialisation", "rate", "accuracy (%)", "g(uninformative) / g(informative)", "clocks"]
    words = f"Mean ± standard error over seeds; a clock has a ratio below {CLOCK}."
    missing = _missing(result)
    return f"{markdown_table(header, rows)}\n\n{words}\n" + (f"\n{missing}\n" if missing else "")


def _missing(result: Result) -> str:
    """What is still to be run, in words; nothing once all is there."""
    config: Config = result.arrays["config"]
    told = []
    for kind in config.kinds:
        cells = [result.metrics.get(kind, {}).get(s, {}).get(f"{r:g}") for s in config.starts for r in config.rates]
        there = sum(len(one["accuracy"]["seeds"]) for one in cells if one)
        wanted = len(cells) * len(config.seeds)
        if there < wanted:
            told.append(f"{wanted - there} of {wanted} runs with salience from {KINDS[kind]}")
    return f"Not run yet: {', '.join(told)}." if told else ""


def report(result: Result, folder: Path) -> None:
    """The table, and every run as a dot: accuracy against the ratio of saliences."""
    (folder / "table.md").write_text(table(result), encoding="utf-8")
    with drawing(folder, "clock-or-comb", (6.4, 4.2)) as figure:
        ax = figure.subplots()
        for number, start in enumerate(STARTS):
            for kind, marker in (("input", "o"), ("state", "s")):
                cells = result.metrics.get(kind, {}).get(start, {}).values()
                ratios = [value for one in cells for value in one["salience_ratio"]["seeds"]]
                right = [100 * value for one in cells for value in one["accuracy"]["seeds"]]
                if ratios:
                    label = f"{STARTS[start]}, {KINDS[kind]}"
                    ax.plot(ratios, right, marker, color=f"C{number}", alpha=0.7, label=label)
        ax.axvline(CLOCK, color="0.5", linestyle=":", linewidth=1)
        ratio = "g(uninformative) / g(informative): clock left, comb right"
        ax.set(xscale="log", xlabel=ratio, ylabel="test accuracy (%)")
        ax.legend(fontsize=8)
