"""Multi-query recall: the field's own test of associative memory, beside DeltaNet, Mamba and LSTM (beyond the paper).

Key-value pairs first, then the keys among noise, and the value is asked for at the key itself. Two tasks of this form:
``zoology`` as Arora et al. (2023) define it, and ``keyed``, ours, in which keys are asked for anywhere, values repeat
and no key comes by chance. Every model is an embedding, a core of equal size, and the embedding once more as readout;
fresh episodes at each step, cross-entropy on the answers, AdamW at a constant rate. Two rates are compared on the
smallest setting of each task with the first seed, by the loss on validation episodes; everything is then trained at
the rate chosen. 400 steps tell who learns soon; zoology's task is run once more with four times as many, at two sizes
with one seed, to see who is ahead then.

Associative Memory writes under the previous token and reads under the present one (``start="present"``); with the
start that the paper's recall task needs (``"previous"``) it reads one token late, which is shown as a row of its own.
Another row has addresses of two dimensions, 8 by 8 coefficients in place of 64 along one: does it help where there are
more keys than coefficients?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hippozoo._internal.files import write_whole
from hippozoo.baselines import LSTM, DeltaNet, GatedDeltaNet, Mamba
from hippozoo.polynomials import Legendre
from hippozoo.tasks.associative_recall import Recall
from hippozoo.training import Plan, best_rate, report_to, seeded, train
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo_studies import (
    QUIET,
    Context,
    Door,
    Finished,
    Result,
    Shape,
    drawing,
    entered,
    made_by,
    markdown_table,
    over_seeds,
    select,
    spread_text,
)
from hippozoo_studies.beyond._multi_query_claims import CLAIMS, TITLE
from hippozoo_studies.beyond._state_size import numbers_of_state
from hippozoo_studies.data.zoology import keyed_recall, zoology_recall
from hippozoo_studies.framework.claims import answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The paper has no such task.
PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "models", "rates", "sizes", "tasks", "longer")
ASSEMBLES_PARTS = True
EMBEDDING_STD = 0.2
#: The models that the question is about; all others have been at the floor from the first setting on.
DECISIVE = ("assoc", "assoc_2d", "deltanet", "gated_deltanet")
#: What draws the episodes of each task.
TASKS: dict[str, Callable[..., Recall]] = {"keyed": keyed_recall, "zoology": zoology_recall}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    models: tuple[str, ...] = tuple(TITLE)
    tasks: tuple[str, ...] = tuple(TASKS)
    rates: tuple[float, ...] = (3e-3, 1e-2)
    # Length and pairs.
    sizes: tuple[tuple[int, int], ...] = ((64, 8), (64, 16), (128, 16))
    vocabulary: int = 512
    embedding: int = 64
    params: int = 25_000
    coefficients: int = 64
    steps: int = 400
    # Steps of further runs of the models that decide, on zoology's task at the two smaller sizes; 0 for none.
    longer: int = 1_600
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
    longer=0,
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


def shapes(config: Config) -> list[Shape]:
    """What a core is made for: embeddings in, embeddings out."""
    return [Shape(config.embedding, config.embedding, max(length for length, _ in config.sizes), config.params)]


DOOR = Door("model", "models", shapes)


def titles() -> dict[str, str]:
    """The names of all rows, those of models of the user's own too."""
    return TITLE | {name: name for name in entered()}


def build(config: Config, model: str) -> Reader:
    """Embedding, core of the size asked for, and head."""
    size = config.embedding
    if model in entered():
        return Reader(config.vocabulary, size, made_by(model, shapes(config)[0]))

    def associative(start: Any, dimensions: int = 1) -> nn.Module:
        family = Legendre(round(config.coefficients ** (1 / dimensions)))
        hidden = 128 if dimensions == 1 else 100  # a second address takes parameters too: about as many in all
        return AssociativeMemory(size, width=48, family=family, hidden=hidden, start=start, dimensions=dimensions)

    cores: dict[str, Callable[[], nn.Module]] = {
        "assoc": lambda: associative("present"),
        "assoc_2d": lambda: associative("present", 2),
        "assoc_previous": lambda: associative("previous"),
        "deltanet": lambda: DeltaNet.match(config.params, inputs=size, outputs=size),
        "gated_deltanet": lambda: GatedDeltaNet.match(config.params, inputs=size, outputs=size),
        "mamba": lambda: Mamba.match(config.params, inputs=size, outputs=size),
        "lstm": lambda: LSTM.match(config.params, inputs=size, outputs=size),
    }
    if model not in cores:
        raise ValueError(f"models has {model!r}; choose from {', '.join(TITLE)}.")
    return Reader(config.vocabulary, size, cores[model]())


def units(config: Config) -> list[dict[str, Any]]:
    """All rates on the first size with the first seed, of the models that decide; `more_units` adds the rest."""
    for field, allowed in (("models", titles()), ("tasks", TASKS)):
        unknown = [name for name in getattr(config, field) if name not in allowed]
        if unknown:
            raise ValueError(f"{field} has {unknown[0]!r}; choose from {', '.join(allowed)}.")
    return _at_all_rates(config, decisive=True)


def _at_all_rates(config: Config, *, decisive: bool) -> list[dict[str, Any]]:
    return [
        _unit(task, model, config.sizes[0], rate, config.seeds[0])
        for task in config.tasks
        for rate in config.rates
        for model in config.models
        if _decides(model) == decisive
    ]


def _decides(model: str) -> bool:
    return model in DECISIVE or model in entered()


def _unit(task: str, model: str, size: tuple[int, int], rate: float, seed: int) -> dict[str, Any]:
    unit = {"model": model, "length": size[0], "pairs": size[1], "rate": rate, "seed": seed}
    # Units of the first task were computed before there was a second.
    return unit if task == "keyed" else unit | {"task": task}


def _of_task(finished: list[Finished], task: str, steps: int | None = None) -> list[Finished]:
    """Units of a task, with the steps of the study or with so many."""
    return [one for one in finished if one.unit.get("task", "keyed") == task and one.unit.get("steps") == steps]


def _rate(config: Config, finished: list[Finished], model: str) -> float | None:
    """The rate of the smallest validation loss; `finished` holds the units of one task."""
    length, pairs = config.sizes[0]
    tried = select(finished, model=model, length=length, pairs=pairs, seed=config.seeds[0])
    losses = {one.unit["rate"]: one.result["validation_loss"] for one in tried if one.unit["rate"] in config.rates}
    return best_rate(losses) if len(losses) == len(config.rates) else None


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """All sizes and seeds, each model at its own rate; then the models that decide nothing, in the same way."""
    found = {task: _of_task(finished, task) for task in config.tasks}
    rates = {(task, model): _rate(config, found[task], model) for task in config.tasks for model in config.models}

    def rest(*, decisive: bool) -> list[dict[str, Any]]:
        return [
            _unit(task, model, size, rate, seed)
            for seed in config.seeds
            for size in config.sizes
            for (task, model), rate in rates.items()
            if rate is not None and _decides(model) == decisive
        ]

    longer = [
        _unit("zoology", model, size, rate, config.seeds[0]) | {"steps": config.longer}
        for size in config.sizes[:2]
        for (task, model), rate in rates.items()
        if rate is not None and _decides(model) and task == "zoology" and config.longer
    ]
    return [*rest(decisive=True), *longer, *_at_all_rates(config, decisive=False), *rest(decisive=False)]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train one model on one size, and test it on fresh episodes."""
    seed = unit["seed"]

    def draw(count: int, rng: np.random.Generator) -> Recall:
        return TASKS[unit.get("task", "keyed")](count, rng, unit["pairs"], unit["length"], config.vocabulary)

    def loss(model: nn.Module, episodes: Recall) -> Tensor:
        answers = torch.from_numpy(episodes.answers)
        asked = answers >= 0
        return cross_entropy(model(torch.from_numpy(episodes.tokens))[asked], answers[asked])

    validation = draw(64, np.random.default_rng([7, seed, 1]))
    with seeded(seed):
        model = build(config, unit["model"])
    plan = Plan(
        steps=unit.get("steps", config.steps),
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
        "state": numbers_of_state(model.core),
        "milliseconds_per_step": round(1000 * run.seconds / max(run.steps, 1), 2),
        "looks": [[look.step, float(f"{look.validation:.4g}")] for look in run.looks],
    }


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy by size and model, over the seeds that are done: of our task at the top, of the others by name."""
    found = {task: _by_size(config, _of_task(finished, task)) for task in config.tasks}
    if "zoology" in found:
        found["zoology"]["longer"] = _longer(config, _of_task(finished, "zoology", config.longer))
    empty: dict[str, Any] = {"accuracy": {}, "rate": {}, "core_parameters": {}}
    metrics = found.get("keyed", empty) | {"chance": 2 / config.vocabulary}
    metrics["state"] = {model: numbers_of_state(build(config, model).core) for model in config.models}
    claims = answers(CLAIMS, config, metrics)
    for task in config.tasks:
        if task != "keyed":
            metrics[task] = found[task]
            claims += [
                replace(claim, claim=f"{task}'s own task, {claim.claim}")
                for claim in answers(CLAIMS, config, found[task])
            ]
    return Result(metrics, claims, {"config": config})


def _by_size(config: Config, finished: list[Finished]) -> dict[str, Any]:
    metrics: dict[str, Any] = {"accuracy": {}, "rate": {}, "core_parameters": {}}
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
    return metrics


def _longer(config: Config, finished: list[Finished]) -> dict[str, dict[str, float]]:
    """Accuracy by size and model after more steps; one seed."""
    found: dict[str, dict[str, float]] = {}
    for length, pairs in config.sizes:
        for one in select(finished, length=length, pairs=pairs):
            found.setdefault(_size(length, pairs), {})[one.unit["model"]] = one.result["accuracy"]
    return found


def _size(length: int, pairs: int) -> str:
    return f"length_{length}_pairs_{pairs}"


def table(result: Result) -> str:
    """Accuracy by size and model, a table for each task."""
    config: Config = result.arrays["config"]
    metrics = result.metrics
    found = {task: metrics if task == "keyed" else metrics[task] for task in config.tasks}
    named = {"keyed": "Keys queried at any position (our variant)", "zoology": "Zoology's task as defined there"}
    parts = [f"{named[task]}:\n\n{_one_table(one, metrics['state'])}" for task, one in found.items() if one["rate"]]
    text = "\n\n".join(parts)
    longer = metrics.get("zoology", {}).get("longer", {})
    if longer:
        rows = [
            [titles()[model], *(f"{100 * row[model]:.1f}" if model in row else "" for row in longer.values())]
            for model in config.models
            if any(model in row for row in longer.values())
        ]
        header = ["model", *(size.replace("_", " ") for size in longer)]
        text += f"\n\nZoology's task with {config.longer:,} steps, one seed:\n\n{markdown_table(header, rows)}"
    return (
        f"{text}\n\nTest accuracy in per cent, mean ± standard error over seeds (their number); "
        f"{config.steps:,} steps of {config.batch} fresh episodes, {config.vocabulary} tokens; a random value "
        f"is right in {100 * metrics['chance']:.1f} %.\n"
    )


def _one_table(metrics: Mapping[str, Any], state: Mapping[str, int | None]) -> str:
    sizes, rows = list(metrics["accuracy"]), []
    for model in metrics["rate"]:
        cells = [metrics["accuracy"][size].get(model) for size in sizes]
        told = [
            "not run yet" if one is None else f"{spread_text(one, '.1f', 100)} ({len(one['seeds'])})" for one in cells
        ]
        carried = "" if state[model] is None else f"{state[model]:,}"
        sizes_of = [f"{metrics['core_parameters'][model]:,}", carried, f"{metrics['rate'][model]:g}"]
        rows.append([titles()[model], *sizes_of, *told])
    columns = (size.replace("_", " ") for size in sizes)
    return markdown_table(["model", "parameters of the core", "state size", "rate", *columns], rows)


def report(result: Result, folder: Path) -> None:
    """The table, and a bar for each model and size."""
    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    found = {task: (result.metrics if task == "keyed" else result.metrics[task])["accuracy"] for task in config.tasks}
    shown = {task: accuracy for task, accuracy in found.items() if accuracy}
    with drawing(folder, "accuracy", (8.0, 3.0 * max(1, len(shown)) + 0.8)) as figure:
        for ax, (task, accuracy) in zip(
            figure.subplots(max(1, len(shown)), 1, squeeze=False)[:, 0], shown.items(), strict=True
        ):
            _draw_bars(ax, accuracy)
            ax.set(title={"keyed": "keys queried at any position (ours)", "zoology": "zoology's definition"}[task])
        if shown:
            figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)


def _draw_bars(ax: Axes, accuracy: dict[str, Any]) -> None:
    """A bar for each model and size, and a dot for each seed."""
    labelled: set[str] = set()
    names = titles()
    width = 0.84 / len(names)
    for place, size in enumerate(accuracy):
        for number, model in enumerate(names):
            if model in accuracy[size]:
                one = accuracy[size][model]
                where = place + width * (number - (len(names) - 1) / 2)
                label = None if model in labelled else names[model]
                labelled.add(model)
                # The cycle has six colours.
                colour = f"C{number}" if number < 6 else str(0.35 + 0.25 * (number - 6) % 0.5)
                ax.bar(where, 100 * one["mean"], 0.92 * width, color=colour, label=label)
                ax.plot([where] * len(one["seeds"]), [100 * v for v in one["seeds"]], ".", color="0.2", markersize=4)
    ax.set_xticks(range(len(accuracy)), ["{1} tokens, {3} pairs".format(*size.split("_")) for size in accuracy])
    ax.set(ylabel="test accuracy (%)", ylim=(0, 102))
