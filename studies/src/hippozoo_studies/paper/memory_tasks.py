"""Memory tasks: selective copying and associative recall, our members beside six baselines (paper, Table 1).

The protocol of the paper's appendix: 3,500 sequences, 70 % to learn from, 15 % to choose by, 15 % to report; 4,000
steps of AdamW, weight decay 1e-4, learning rate of three by validation loss; tokens and sequences depend on the seed.
Not in the paper, and taken here: batches of 64, gradients clipped at 1, a constant rate, mean squared error (on the
answers in selective copying, on all outputs in associative recall), the weights that were best on validation. The rates
are compared with the first seed; further seeds are trained at the rate chosen, and two more where three cannot tell
whether a row agrees with the paper's.

Beside the paper's protocol stand, each with the first seed unless said otherwise: rows whose best rate is at the edge
of the paper's three, at further rates until it is not (then with all seeds); and variants of a row, one change each,
which say what its figure hangs on: more steps where learning had not ended, and what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from hippozoo.baselines import LSTM, S4D, DeltaNet, Mamba, Transformer, VanillaHippo, VanillaMLP
from hippozoo.systems import LegT
from hippozoo.training import best_rate, seeded
from hippozoo_studies import QUIET, Context, Door, Finished, Result, Shape, entered, made_by, over_seeds, select
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper._table_one_claims import CLAIMS, SOLVED
from hippozoo_studies.paper._table_one_rows import DEPARTURES as DEPARTURES
from hippozoo_studies.paper._table_one_rows import PAPER, UNCLEAR, titles
from hippozoo_studies.paper._table_one_rows import TITLE as TITLE
from hippozoo_studies.paper._table_one_tables import report as report
from hippozoo_studies.paper._table_one_tables import seeds_text as seeds_text
from hippozoo_studies.paper._table_one_tables import table as table
from hippozoo_studies.paper._two_tasks import (
    LENGTHS,
    LEVELS,
    SIZES,
    TITLES,
    Judged,
    Protocol,
    check_names,
    count_verdicts,
    judge,
    learn,
    make_data,
)
from hippozoo_studies.paper._variants import VARIANTS, Variant, build_variant, count_all

SELECTS = ("seeds", "models", "tasks", "rates", "variants", "more_seeds", "wider_rates")
ASSEMBLES_PARTS = True


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    # The quick ones first: a long study should have whole rows early.
    models: tuple[str, ...] = (
        "assoc",
        "vanilla",
        "vanilla_mlp",
        "lstm",
        "salience",
        "transformer",
        "s4d",
        "lstm_2",
        "s4d_2",
        "transformer_2",
        "deltanet",
        "mamba",
    )
    tasks: tuple[str, ...] = ("ar", "sc")
    # Those of rows that are not run are left out.
    variants: tuple[str, ...] = tuple(VARIANTS)
    # For rows that the seeds above leave in doubt.
    more_seeds: tuple[int, ...] = (3, 4)
    # For rows whose best rate is the smallest or the largest: the next one in turn, until it is neither.
    wider_rates: tuple[float, ...] = (3e-5, 1e-4, 1e-2, 3e-2, 1e-1)


QUICK = Config(
    seeds=(0, 1),
    variants=("lstm_batch_32", "vanilla_mlp_behind"),
    rates=(1e-3, 3e-3),
    sequences=400,
    steps=8,
    validate_every=4,
    more_seeds=(),
    wider_rates=(1e-2,),
)


def shape_of(task: str) -> Shape:
    """What a model of one layer is made for."""
    return Shape(SIZES[task], SIZES[task], LENGTHS[task], 25_000)


DOOR = Door("model", "models", lambda config: [shape_of(task) for task in config.tasks])
WORDS = {"task": {"copying": "sc", "recall": "ar"}}


def build(model: str, task: str) -> nn.Module:
    """A model of the paper's size for one of the tasks; what sizes it leaves open is said in `DEPARTURES`."""
    size, length = SIZES[task], LENGTHS[task]
    if model in entered():
        return made_by(model, shape_of(task))
    recall = task == "ar"

    def salience() -> nn.Module:
        from hippozoo.zoo.salience import SalienceModel

        return SalienceModel(size, size, LegT(256, float(length)))

    def assoc() -> nn.Module:
        from hippozoo.zoo.associative import AssociativeMemory

        return AssociativeMemory(size, hidden=300 if recall else 290)

    builders: dict[str, Callable[[], nn.Module]] = {
        "vanilla": lambda: VanillaHippo(size, size, LegT(32 if recall else 24, float(length)), width=32),
        "vanilla_mlp": lambda: VanillaMLP(size, size, LegT(16, float(length)), width=16, hidden=86),
        "salience": salience,
        "assoc": assoc,
        "lstm": lambda: LSTM(size, size, width=64 if recall else 60),
        "lstm_2": lambda: LSTM.match(48_000, inputs=size, outputs=size, layers=2),
        "s4d": lambda: S4D(size, size),
        "s4d_2": lambda: S4D(size, size, layers=2),
        "transformer": lambda: Transformer(size, size, context=length),
        "transformer_2": lambda: Transformer(size, size, layers=2, context=length),
        "mamba": lambda: Mamba.match(25_000, inputs=size, outputs=size),
        "deltanet": lambda: DeltaNet.match(25_000, inputs=size, outputs=size),
    }
    if model not in builders:
        raise ValueError(f"unknown model {model!r}; choose from {', '.join(builders)}.")
    return builders[model]()


def units(config: Config) -> list[dict[str, Any]]:
    """All rates with the first seed; `more_units` adds the other seeds at the rate that was best."""
    check_names("models", config.models, titles())
    check_names("tasks", config.tasks, TITLES)
    check_names("variants", config.variants, VARIANTS)
    return [
        {"model": model, "task": task, "rate": rate, "seed": config.seeds[0]}
        for model in config.models
        for task in config.tasks
        for rate in config.rates
    ]


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """What hangs on units that are done: seeds at the rate chosen, variants, seeds in doubt, wider rates."""
    rows = [row for row in rows_of(config) if config.has_all_rates(finished, **row)]
    chosen = [row | {"rate": config.chosen_rate(finished, **row)} for row in rows]
    seeds = [row | {"seed": seed} for row in chosen for seed in config.seeds[1:]]
    in_doubt = [row for row in chosen if _judged(config, finished, row, config.seeds).in_doubt]
    more = [row | {"seed": seed} for row in in_doubt for seed in config.more_seeds]
    wider = [
        row | {"rate": rate, "seed": config.seeds[0]}
        for row in rows
        if (rate := next_rate(config, finished, row)) is not None
    ]
    variants = [
        {"variant": name, "rate": rate, "seed": seed}
        for name in asked_variants(config)
        if (rate := _variant_rate(config, finished, VARIANTS[name])) is not None
        for seed in (config.seeds if VARIANTS[name].every_seed else config.seeds[:1])
    ]
    elsewhere = [
        row | {"rate": rate, "seed": seed}
        for row in rows
        if (rate := _wider_choice(config, finished, row)) is not None and rate not in config.rates
        for seed in config.seeds[1:]
    ]
    return seeds + more + wider + variants + elsewhere


def rows_of(config: Config) -> Iterator[dict[str, Any]]:
    """The keys of all figures of the table."""
    return ({"model": model, "task": task} for model in config.models for task in config.tasks)


def next_rate(config: Config, finished: list[Finished], row: dict[str, Any]) -> float | None:
    """The rate beyond those tried, where the best of them is the smallest or the largest and the task is not solved."""
    tried = config.tried_rates(finished, **row)
    best = best_rate(tried)
    if max(_accuracies(finished, row | {"rate": best}, config.seeds[:1])) >= SOLVED:
        return None
    if best == max(tried):
        return min((rate for rate in config.wider_rates if rate > best), default=None)
    if best == min(tried):
        return max((rate for rate in config.wider_rates if rate < best), default=None)
    return None


def _wider_choice(config: Config, finished: list[Finished], row: dict[str, Any]) -> float | None:
    """The best of all rates tried, once it lies inside them or no further one is left; None before."""
    if next_rate(config, finished, row) is not None:
        return None
    return best_rate(config.tried_rates(finished, **row))


def _variant_rate(config: Config, finished: list[Finished], variant: Variant) -> float | None:
    row = {"model": variant.model, "task": variant.task}
    if variant.rate is None and not config.has_all_rates(finished, **row):
        return None
    return variant.rate or config.chosen_rate(finished, **row)


def _accuracies(finished: list[Finished], row: dict[str, Any], seeds: tuple[int, ...]) -> list[float]:
    """Test accuracies of the seeds that are done, in their order."""
    return [one.result["accuracy"] for seed in seeds for one in select(finished, **row, seed=seed)]


def _judged(config: Config, finished: list[Finished], row: dict[str, Any], seeds: tuple[int, ...]) -> Judged:
    """The figure beside the paper's; nothing is in doubt before all these seeds are there."""
    ours = _accuracies(finished, row, seeds)
    paper = PAPER["accuracy"].get(row["model"], {}).get(row["task"])
    if config.is_short or len(ours) < len(seeds):
        return Judged("none: too few steps" if config.is_short else "none: seeds are missing")
    return judge(ours, paper, row["task"], config.sequences)


def asked_variants(config: Config) -> list[str]:
    """The variants of rows that are run."""
    return [
        name
        for name in config.variants
        if VARIANTS[name].model in config.models and VARIANTS[name].task in config.tasks
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train and score one model."""
    seed = unit["seed"]
    row = VARIANTS[unit["variant"]] if "variant" in unit else Variant(unit["model"], unit["task"], "none")
    data = make_data(row.task, seed, config.sequences, more_training=row.data)
    if row.all_outputs:
        data = count_all(data)
    with seeded(seed):
        model = build_variant(row) or build(row.model, row.task)
    plan = config.plan(unit["rate"], seed, row.steps)
    return learn(model, data, plan, row.batch or config.batch, context)


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Both columns of the table, with a verdict on every figure; rows that are not done yet are left out."""
    names = ("accuracy", "params_by_task", "rate", "verdict", "difference", "train_accuracy", "milliseconds_per_step")
    metrics: dict[str, Any] = {name: {} for name in (*names, "params")}
    for row in rows_of(config):
        model, task = row["model"], row["task"]
        if not config.has_all_rates(finished, **row):
            continue
        chosen = row | {"rate": config.chosen_rate(finished, **row)}
        seeds = config.seeds
        if _judged(config, finished, chosen, seeds).in_doubt:
            seeds += tuple(seed for seed in config.more_seeds if select(finished, **chosen, seed=seed))
        found = [one.result for seed in seeds for one in select(finished, **chosen, seed=seed)]
        judged = _judged(config, finished, chosen, seeds)
        figures = {
            "accuracy": over_seeds(one["accuracy"] for one in found),
            "train_accuracy": over_seeds(one["train_accuracy"] for one in found),
            "params_by_task": found[0]["parameters"],
            "rate": chosen["rate"],
            "milliseconds_per_step": min(one["milliseconds_per_step"] for one in found),
            "verdict": judged.verdict,
            "difference": None if judged.low is None else {"low": judged.low, "high": judged.high},
        }
        for name, figure in figures.items():
            metrics[name].setdefault(model, {})[task] = figure
    for model, counts in metrics["params_by_task"].items():
        metrics["params"][model] = counts.get("sc", next(iter(counts.values())))
    metrics["verdicts"] = count_verdicts(one for row in metrics["verdict"].values() for one in row.values())
    metrics["left_open"] = {f"{model}.{task}": words for (model, task), words in UNCLEAR.items()}
    metrics["levels"] = {task: LEVELS[task] for task in config.tasks}
    metrics["wider_rates"] = _wider_rows(config, finished)
    metrics["variants"] = _variant_rows(config, finished, metrics)
    found = answers(CLAIMS, {**metrics, "steps": config.steps}, config.rates)
    return Result(metrics, found, {"config": config})


def _wider_rows(config: Config, finished: list[Finished]) -> dict[str, Any]:
    """Rows whose best rate of the table's was at its edge, at the best of all rates tried."""
    found: dict[str, Any] = {}
    for row in rows_of(config):
        tried = config.tried_rates(finished, **row)
        if config.has_all_rates(finished, **row) and set(tried) - set(config.rates):
            rate = best_rate(tried)
            ours = _accuracies(finished, row | {"rate": rate}, config.seeds)
            found.setdefault(row["model"], {})[row["task"]] = {
                "rate": rate,
                "inside": min(tried) < rate < max(tried),
                "accuracy": over_seeds(ours),
                "validation_loss": {f"{one:g}": loss for one, loss in sorted(tried.items())},
            }
    return found


def _variant_rows(config: Config, finished: list[Finished], metrics: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in asked_variants(config):
        row = VARIANTS[name]
        found = [one.result for seed in config.seeds for one in select(finished, variant=name, seed=seed)]
        if not found or row.task not in metrics["accuracy"].get(row.model, {}):
            continue
        rows[name] = {
            "model": row.model,
            "task": row.task,
            "change": row.change,
            "accuracy": found[0]["accuracy"],
            "seeds": [one["accuracy"] for one in found],
            "unchanged": metrics["accuracy"][row.model][row.task]["seeds"][0],
            "params": found[0]["parameters"],
        }
    return rows
