"""Multi-query recall: the field's own test of associative memory, beside DeltaNet, Mamba and LSTM (beyond the paper).

As in zoology (Arora et al., 2023): key-value pairs first, then the keys among noise, and the value is asked for at
the key itself. Every model is an embedding, a core of equal size, and the embedding once more as readout; fresh
episodes at each step, cross-entropy on the answers, AdamW at a constant rate. Two rates are compared on the smallest
setting with the first seed, by the loss on validation episodes; everything is then trained at the rate chosen.

Associative Memory writes under the previous token and reads under the present one (``start="present"``); with the
start that the paper's recall task needs (``"previous"``) it reads one token late, which is shown as a row of its own.
Another row has addresses of two dimensions, 8 by 8 coefficients in place of 64 along one: does it help where there are
more keys than coefficients?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hippozoo._files import write_whole
from hippozoo.baselines import LSTM, DeltaNet, Mamba
from hippozoo.experiments import (
    QUIET,
    Claim,
    Context,
    Finished,
    Result,
    markdown_table,
    over_seeds,
    save_figure,
    select,
    spread_text,
)
from hippozoo.polynomials import Legendre
from hippozoo.tasks.associative_recall import Recall, keyed_recall
from hippozoo.training import Plan, best_rate, report_to, seeded, train
from hippozoo.zoo.associative import AssociativeMemory

# The paper has no such task.
PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "models", "rates", "sizes")
ASSEMBLES_PARTS = True
EMBEDDING_STD = 0.2
TITLE = {
    "assoc": "Associative Memory",
    "assoc_2d": "Associative Memory, two-dimensional addresses",
    "assoc_previous": "Associative Memory, read under the previous token",
    "deltanet": "DeltaNet",
    "mamba": "Mamba",
    "lstm": "LSTM",
}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    models: tuple[str, ...] = tuple(TITLE)
    rates: tuple[float, ...] = (3e-3, 1e-2)
    # Length and pairs.
    sizes: tuple[tuple[int, int], ...] = ((64, 8), (64, 16), (128, 16))
    vocabulary: int = 512
    embedding: int = 64
    params: int = 25_000
    coefficients: int = 64
    steps: int = 400
    batch: int = 32
    weight_decay: float = 1e-4
    clip: float = 1.0
    look: int = 100
    test_episodes: int = 256


QUICK = Config(
    seeds=(0,),
    models=("assoc", "lstm"),
    rates=(3e-3,),
    sizes=((16, 3),),
    vocabulary=20,
    steps=4,
    look=2,
    test_episodes=8,
)


class Reader(nn.Module):
    """Tokens in, logits out, around any core of ours."""

    def __init__(self, vocabulary: int, width: int, core: nn.Module) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        # Small enough that addresses, which go through a sigmoid, begin spread out and not at the two ends.
        nn.init.normal_(self.embed.weight, std=EMBEDDING_STD)
        self.core = core
        self.sharpness = nn.Parameter(torch.tensor(4.0))

    def forward(self, tokens: Tensor) -> Tensor:
        """A logit for each token of the vocabulary, at every place."""
        return self.sharpness * self.core(self.embed(tokens))[0] @ self.embed.weight.T


def build(config: Config, model: str) -> Reader:
    """Embedding, core of the size asked for, and head."""
    size = config.embedding

    def associative(start: Any, dimensions: int = 1) -> nn.Module:
        family = Legendre(round(config.coefficients ** (1 / dimensions)))
        hidden = 128 if dimensions == 1 else 100  # a second address takes parameters too: about as many in all
        return AssociativeMemory(size, width=48, family=family, hidden=hidden, start=start, dimensions=dimensions)

    cores: dict[str, Callable[[], nn.Module]] = {
        "assoc": lambda: associative("present"),
        "assoc_2d": lambda: associative("present", 2),
        "assoc_previous": lambda: associative("previous"),
        "deltanet": lambda: DeltaNet.match(config.params, inputs=size, outputs=size),
        "mamba": lambda: Mamba.match(config.params, inputs=size, outputs=size),
        "lstm": lambda: LSTM.match(config.params, inputs=size, outputs=size),
    }
    if model not in cores:
        raise ValueError(f"models has {model!r}; choose from {', '.join(TITLE)}.")
    return Reader(config.vocabulary, size, cores[model]())


def units(config: Config) -> list[dict[str, Any]]:
    """All rates on the first size with the first seed; `more_units` adds the rest at the rate that was best."""
    unknown = [model for model in config.models if model not in TITLE]
    if unknown:
        raise ValueError(f"models has {unknown[0]!r}; choose from {', '.join(TITLE)}.")
    first, seed = config.sizes[0], config.seeds[0]
    return [_unit(config, model, first, rate, seed) for rate in config.rates for model in config.models]


def _unit(config: Config, model: str, size: tuple[int, int], rate: float, seed: int) -> dict[str, Any]:
    return {"model": model, "length": size[0], "pairs": size[1], "rate": rate, "seed": seed}


def _rate(config: Config, finished: list[Finished], model: str) -> float | None:
    length, pairs = config.sizes[0]
    tried = select(finished, model=model, length=length, pairs=pairs, seed=config.seeds[0])
    losses = {one.unit["rate"]: one.result["validation_loss"] for one in tried if one.unit["rate"] in config.rates}
    return best_rate(losses) if len(losses) == len(config.rates) else None


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """All sizes and seeds, each model at its own rate."""
    return [
        _unit(config, model, size, rate, seed)
        for seed in config.seeds
        for size in config.sizes
        for model in config.models
        if (rate := _rate(config, finished, model)) is not None
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train one model on one size, and test it on fresh episodes."""
    seed = unit["seed"]

    def draw(count: int, rng: np.random.Generator) -> Recall:
        return keyed_recall(count, rng, unit["pairs"], unit["length"], config.vocabulary)

    def loss(model: nn.Module, episodes: Recall) -> Tensor:
        answers = torch.from_numpy(episodes.answers)
        asked = answers >= 0
        return cross_entropy(model(torch.from_numpy(episodes.tokens))[asked], answers[asked])

    validation = draw(64, np.random.default_rng([7, seed, 1]))
    with seeded(seed):
        model = build(config, unit["model"])
    plan = Plan(
        steps=config.steps,
        rate=unit["rate"],
        seed=seed,
        weight_decay=config.weight_decay,
        clip=config.clip,
        validate_every=config.look,
        stop_at=1e-3,
    )
    run = train(
        model,
        lambda step, rng: draw(config.batch, rng),
        loss,
        plan,
        validate=lambda model: loss(model, validation).item(),
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    test = draw(config.test_episodes, np.random.default_rng([7, seed, 2]))
    model.eval()
    with torch.no_grad():
        said = model(torch.from_numpy(test.tokens)).argmax(-1).numpy()
    asked = test.answers >= 0
    return {
        "accuracy": float((said == test.answers)[asked].mean()),
        "validation_loss": run.best_loss if np.isfinite(run.best_loss) else None,
        "best_step": run.best_step,
        "core_parameters": sum(one.numel() for one in model.core.parameters()),
        "milliseconds_per_step": round(1000 * run.seconds / max(run.steps, 1), 2),
        "looks": [[look.step, float(f"{look.validation:.4g}")] for look in run.looks],
    }


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy by size and model, over the seeds that are done."""
    metrics: dict[str, Any] = {"accuracy": {}, "rate": {}, "core_parameters": {}, "chance": 2 / config.vocabulary}
    for model in config.models:
        rate = _rate(config, finished, model)
        if rate is None:
            continue
        metrics["rate"][model] = rate
        for length, pairs in config.sizes:
            found = [
                one.result
                for seed in config.seeds
                for one in select(finished, model=model, length=length, pairs=pairs, rate=rate, seed=seed)
            ]
            if found:
                metrics["core_parameters"][model] = found[0]["core_parameters"]
                row = metrics["accuracy"].setdefault(_size(length, pairs), {})
                row[model] = over_seeds(one["accuracy"] for one in found)
    return Result(metrics, _claims(config, metrics), {"config": config})


def _size(length: int, pairs: int) -> str:
    return f"length_{length}_pairs_{pairs}"


def _level_with_deltanet(config: Config, rows: dict[str, Any], model: str) -> Claim:
    """Whether a model of ours is at least as accurate as DeltaNet at every size."""
    told = ", ".join(
        f"{size.replace('_', ' ')}: {spread_text(row[model], '.1f', 100)} against "
        f"{spread_text(row['deltanet'], '.1f', 100)} %"
        for size, row in rows.items()
    )
    plane = " with two-dimensional addresses" if model == "assoc_2d" else ""
    words = f"target{plane}: at least DeltaNet's accuracy at every size, at equal size and steps (within one point)"
    evidence = f"Test accuracy of {TITLE[model]} against DeltaNet, {told}."
    seeds = min(len(row[name]["seeds"]) for row in rows.values() for name in (model, "deltanet"))
    if seeds < len(config.seeds) or len(rows) < len(config.sizes):
        evidence = f"{evidence[:-1]}; {len(rows)} of {len(config.sizes)} sizes, seeds so far: {seeds}."
        return Claim(words, None, evidence)
    # Runs that learn nothing lower a mean, and a median not.
    mean, middle = (
        [value(row[model]) >= value(row["deltanet"]) - 0.01 for row in rows.values()]
        for value in (lambda one: one["mean"], lambda one: median(one["seeds"]))
    )
    counts = f"at {sum(mean)} of {len(rows)} sizes by the mean over seeds, at {sum(middle)} by their median"
    return Claim.judged(words, mean + middle, f"It is level or ahead {counts}. {evidence}")


def _claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    found = []
    rows = {size: row for size, row in metrics["accuracy"].items() if {"assoc", "deltanet"} <= row.keys()}
    if rows:
        found.append(_level_with_deltanet(config, rows, "assoc"))
    planes = {size: row for size, row in rows.items() if "assoc_2d" in row}
    if planes:
        found.append(_level_with_deltanet(config, planes, "assoc_2d"))
        told = ", ".join(
            f"{size.replace('_', ' ')}: {spread_text(row['assoc_2d'], '.1f', 100)} against "
            f"{spread_text(row['assoc'], '.1f', 100)} %"
            for size, row in planes.items()
        )
        better = [row["assoc_2d"]["mean"] > row["assoc"]["mean"] for row in planes.values()]
        words = "ours: addresses of two dimensions do better than as many coefficients along one"
        found.append(Claim.judged(words, better, f"Test accuracy, {told}."))
    late = {size: row for size, row in rows.items() if "assoc_previous" in row}
    if late:
        worst = max(row["assoc_previous"]["mean"] for row in late.values())
        least = min(row["assoc"]["mean"] for row in late.values())
        found.append(
            Claim(
                "ours: what decides is the start of the read address, under the present token and not the previous one",
                least > 2 * worst,
                f"Read under the previous token it reaches at most {100 * worst:.1f} %, under the present one at least "
                f"{100 * least:.1f} %.",
            )
        )
    return found


def table(result: Result) -> str:
    """Accuracy by size and model."""
    metrics, sizes = result.metrics, list(result.metrics["accuracy"])
    rows = []
    for model in metrics["rate"]:
        cells = [metrics["accuracy"][size].get(model) for size in sizes]
        told = [
            "not run yet" if one is None else f"{spread_text(one, '.1f', 100)} ({len(one['seeds'])})" for one in cells
        ]
        rows.append([TITLE[model], f"{metrics['core_parameters'][model]:,}", f"{metrics['rate'][model]:g}", *told])
    config: Config = result.arrays["config"]
    header = ["model", "parameters of the core", "rate", *(size.replace("_", " ") for size in sizes)]
    return (
        f"{markdown_table(header, rows)}\n\nTest accuracy in per cent, mean ± standard error over seeds (how many); "
        f"{config.steps:,} steps of {config.batch} fresh episodes, {config.vocabulary} tokens; a value said at random "
        f"is right in {100 * metrics['chance']:.1f} %.\n"
    )


def report(result: Result, folder: Path) -> None:
    """The table, and a bar for each model and size."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style

    write_whole(folder / "table.md", table(result).encode())
    accuracy = result.metrics["accuracy"]
    with style():
        figure = Figure(figsize=(8.0, 3.6), layout="constrained")
        ax = figure.subplots()
        for place, size in enumerate(accuracy):
            for number, model in enumerate(TITLE):
                if model in accuracy[size]:
                    one = accuracy[size][model]
                    where = place + 0.14 * (number - (len(TITLE) - 1) / 2)
                    label = TITLE[model] if place == 0 else None
                    ax.bar(where, 100 * one["mean"], 0.13, color=f"C{number}", label=label)
                    ax.plot(
                        [where] * len(one["seeds"]), [100 * v for v in one["seeds"]], ".", color="0.2", markersize=4
                    )
        ax.set_xticks(range(len(accuracy)), [size.replace("_", " ") for size in accuracy])
        ax.set(ylabel="test accuracy (%)", ylim=(0, 102))
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
        save_figure(figure, folder, "accuracy")
