"""Digits, pixel by pixel and row by row: stacks of our members beside GRU and LSTM of equal size.

scikit-learn's 1,797 images of 8 by 8, as 64 samples of one pixel or 8 samples of one row: 1,197 to learn from, 300 to
choose by, 300 to report. The last are the same for all seeds, and took no part in choosing the recipes. All models have
about 17,000 parameters in two layers (the mixture in three). Ours answer from the mean of all samples, GRU and LSTM
from the last one or from the mean, whichever is better on validation. AdamW, batches of 64, a warm-up and a cosine; the
rate is chosen on validation with the first seed, and what is reported is the score of the weights that were best on
validation. Seconds are those of the processor, one core, so that a busy machine does not count.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hippozoo._internal.files import write_whole
from hippozoo.baselines import GRU, LSTM, parameter_count
from hippozoo.models import build_model
from hippozoo.tasks.digits import load_digits
from hippozoo.training import Epochs, Plan, report_to, seeded, train
from hippozoo_studies import (
    QUIET,
    Claim,
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
from hippozoo_studies.paper._two_tasks import legend_below

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "models", "views", "rates")
ASSEMBLES_PARTS = True
TITLE = {
    "lags": "Lag functionals",
    "memory": "Memory",
    "multiscale": "Multiscale",
    "salience": "Salience",
    "mixed": "Mixed (memory, salience, lags)",
    "gru": "GRU",
    "lstm": "LSTM",
}
SHAPES = {"pixels": (64, 1), "rows": (8, 8)}
OURS = ("lags", "memory", "multiscale", "salience", "mixed")


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    models: tuple[str, ...] = tuple(TITLE)
    views: tuple[str, ...] = ("pixels", "rows")
    rates: tuple[float, ...] = (3e-3, 1e-2, 3e-2)
    params: int = 17_000
    epochs: int = 25
    batch: int = 64
    weight_decay: float = 0.01
    images: int | None = None

    def plan(self, images: int, rate: float, seed: int) -> Plan:
        """One training."""
        per_epoch = max(1, images // self.batch)
        steps = self.epochs * per_epoch
        return Plan(
            steps=steps,
            rate=rate,
            seed=seed,
            weight_decay=self.weight_decay,
            warm_up=steps // 10,
            schedule="cosine",
            validate_every=max(1, 2 * per_epoch),
        )


QUICK = Config(seeds=(0, 1), models=("lags", "mixed", "gru"), params=3_000, epochs=1, images=128)


class Classifier(nn.Module):
    """A recurrent baseline that answers once, from its last sample or the mean over all."""

    def __init__(self, model: nn.Module, pool: str) -> None:
        super().__init__()
        self.model, self.pool = model, pool

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        """Scores of the ten digits, and the state."""
        y, state = self.model(x)
        return (y[:, -1] if self.pool == "last" else y.mean(1)), state


def pools(model: str) -> tuple[str, ...]:
    """From where a model may answer; the better one on validation is taken."""
    return ("mean",) if model in OURS else ("last", "mean")


def shape_of(view: str, params: int) -> Shape:
    """What a model is made for: pixels or rows in, scores of the ten digits out."""
    length, numbers = SHAPES[view]
    return Shape(numbers, 10, length, params)


DOOR = Door("model", "models", lambda config: [shape_of(view, config.params) for view in config.views])


def titles() -> dict[str, str]:
    """The names of all rows, those of models of the user's own too."""
    return TITLE | {name: name for name in entered()}


def build(model: str, view: str, params: int, pool: str) -> nn.Module:
    """A model of about so many parameters."""
    length, numbers = SHAPES[view]
    if model in entered():
        return Classifier(made_by(model, shape_of(view, params)), pool)
    if model in ("gru", "lstm"):
        cells = GRU if model == "gru" else LSTM
        return Classifier(cells.match(params, inputs=numbers, outputs=10, layers=2), pool)
    names = ("memory", "salience", "lags") if model == "mixed" else (model, model)
    return build_model(names, history=length, inputs=numbers, outputs=10, params=params, pool=pool)


def units(config: Config) -> list[dict[str, Any]]:
    """All rates with the first seed; `more_units` adds the other seeds at the rate that was best."""
    for field, allowed in (("models", titles()), ("views", SHAPES)):
        unknown = [name for name in getattr(config, field) if name not in allowed]
        if unknown:
            raise ValueError(f"{field} has {unknown[0]!r}; choose from {', '.join(allowed)}.")
    return [
        {"model": model, "view": view, "rate": rate, "pool": pool, "seed": config.seeds[0]}
        for view in config.views
        for model in config.models
        for rate in config.rates
        for pool in pools(model)
    ]


def chosen(config: Config, finished: list[Finished], model: str, view: str) -> dict[str, Any] | None:
    """Rate and pool of the smallest validation loss with the first seed; None until all have been tried."""
    tried = select(finished, model=model, view=view, seed=config.seeds[0])
    losses = {
        (one.unit["rate"], one.unit["pool"]): one.result["validation_loss"]
        for one in tried
        if one.unit["rate"] in config.rates
    }
    finite = {key: loss for key, loss in losses.items() if loss is not None}
    if len(losses) < len(config.rates) * len(pools(model)) or not finite:
        return None
    rate, pool = min(finite, key=finite.__getitem__)
    return {"rate": rate, "pool": pool}


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The other seeds, each row as it was chosen."""
    rows = [(model, view, chosen(config, finished, model, view)) for view in config.views for model in config.models]
    return [
        {"model": model, "view": view, **row, "seed": seed}
        for seed in config.seeds[1:]
        for model, view, row in rows
        if row
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train and score one model."""
    parts = load_digits(unit["view"], unit["seed"])
    learn, choose, report_on = (
        (torch.from_numpy(part.images[: config.images]), torch.from_numpy(part.labels[: config.images]))
        for part in parts
    )
    with seeded(unit["seed"]):
        model = build(unit["model"], unit["view"], config.params, unit["pool"])
    plan = config.plan(len(learn[0]), unit["rate"], unit["seed"])
    order = Epochs(len(learn[0]), config.batch, seed=unit["seed"])

    def batch(step: int, rng: Any) -> tuple[Tensor, Tensor]:
        items = torch.from_numpy(order(step))
        return learn[0][items], learn[1][items]

    def loss(model: nn.Module, some: tuple[Tensor, Tensor]) -> Tensor:
        return cross_entropy(model(some[0])[0], some[1])

    run = train(
        model,
        batch,
        loss,
        plan,
        validate=lambda model: loss(model, choose).item(),
        on_progress=report_to(context.progress),
        checkpoint=context.scratch and context.scratch / "run.safetensors",
    )
    return {
        "accuracy": accuracy(model, *report_on),
        "validation_accuracy": accuracy(model, *choose),
        "validation_loss": run.best_loss if math.isfinite(run.best_loss) else None,
        "parameters": parameter_count(model),
        "seconds_per_epoch": round(len(learn[0]) // config.batch * seconds_per_step(model, batch(0, None), loss), 3),
    }


def seconds_per_step(model: nn.Module, some: tuple[Tensor, Tensor], loss: Any, steps: int = 6) -> float:
    """Processor time of a gradient step, forward and backward."""
    model.train()
    loss(model, some).backward()
    began = time.process_time()
    for _ in range(steps):
        loss(model, some).backward()
    return (time.process_time() - began) / steps


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Share of digits that are named, in per cent."""
    model.eval()
    with torch.no_grad():
        said = model(images)[0].argmax(-1)
    return 100 * (said == labels).double().mean().item()


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy, size and time of every model in both views, as far as they are there."""
    names = "accuracy", "validation_accuracy", "parameters", "rate", "pool", "seconds_per_epoch"
    metrics: dict[str, Any] = {name: {} for name in names}
    for view in config.views:
        for name in names:
            metrics[name][view] = {}
        for model in config.models:
            row = chosen(config, finished, model, view)
            found = [] if row is None else select(finished, model=model, view=view, **row)
            found = [one.result for one in found if one.unit["seed"] in config.seeds]
            if row is None or not found:
                continue
            for name in ("accuracy", "validation_accuracy"):
                metrics[name][view][model] = over_seeds(one[name] for one in found)
            metrics["parameters"][view][model] = found[0]["parameters"]
            metrics["rate"][view][model], metrics["pool"][view][model] = row["rate"], row["pool"]
            metrics["seconds_per_epoch"][view][model] = min(one["seconds_per_epoch"] for one in found)
    return Result(metrics, claims(metrics), {"config": config})


def claims(metrics: dict[str, Any]) -> list[Claim]:
    """What we expect of our stacks, view by view."""
    found = []
    for view, row in metrics["accuracy"].items():
        means = {model: spread["mean"] for model, spread in row.items()}
        ours, theirs = ({m: v for m, v in means.items() if m in group} for group in (OURS, ("gru", "lstm")))
        if ours and theirs:
            best, peer = max(ours, key=ours.__getitem__), max(theirs, key=theirs.__getitem__)
            words = f"the best of our stacks is at least as accurate as GRU and LSTM of equal size, by {view}"
            evidence = f"{TITLE[best]} {ours[best]:.1f} %, {TITLE[peer]} {theirs[peer]:.1f} %"
            found.append(Claim(words, ours[best] >= theirs[peer], evidence))
    return found


def report(result: Result, folder: Path) -> None:
    """The table as text, and accuracy against time."""
    config: Config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    with drawing(folder, "accuracy", (4.4 * len(config.views), 3.6)) as figure:
        for ax, view in zip(figure.subplots(1, len(config.views), squeeze=False)[0], config.views, strict=True):
            for number, (model, found) in enumerate(result.metrics["accuracy"][view].items()):
                seconds = result.metrics["seconds_per_epoch"][view][model]
                marker = "o" if model in OURS else "s"
                ax.errorbar(
                    seconds, found["mean"], found["sem"] or 0.0, fmt=marker, color=f"C{number}", label=titles()[model]
                )
            ax.set(title=f"digits by {view}", xlabel="processor seconds per epoch", ylabel="test accuracy (%)")
            ax.set_xlim(left=0)
        legend_below(figure)


def table(result: Result) -> str:
    """Accuracy and seconds, as Markdown."""
    config: Config = result.arrays["config"]
    metrics = result.metrics
    header = ["model", *(cell for view in config.views for cell in (f"by {view} (%)", "parameters", "s per epoch"))]
    rows = []
    for model in config.models:
        cells = [titles()[model]]
        for view in config.views:
            found = metrics["accuracy"][view].get(model)
            if found is None:
                cells += ["", "", ""]
                continue
            cells.append(spread_text(found, ".1f"))
            cells.append(f"{metrics['parameters'][view][model]:,}")
            cells.append(f"{metrics['seconds_per_epoch'][view][model]:.2f}")
        rows.append(cells)
    return markdown_table(header, rows) + "\n"
