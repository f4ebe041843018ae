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
from pathlib import Path
from typing import Any

from torch import nn

from hippozoo._internal.files import write_whole
from hippozoo.baselines import LSTM, S4D, DeltaNet, Mamba, Transformer, VanillaHippo, VanillaMLP
from hippozoo.systems import LegT
from hippozoo.training import best_rate, seeded
from hippozoo_studies import (
    QUIET,
    Context,
    Departure,
    Door,
    Finished,
    Result,
    Shape,
    drawing,
    entered,
    made_by,
    over_seeds,
    select,
)
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper._table_one_claims import CLAIMS, SOLVED
from hippozoo_studies.paper._two_tasks import (
    LENGTHS,
    LEVELS,
    SIZES,
    TITLES,
    Judged,
    Protocol,
    check_names,
    count_verdicts,
    draw_levels,
    draw_row,
    judge,
    learn,
    legend_below,
    make_data,
)
from hippozoo_studies.paper._variants import VARIANTS, Variant, build_variant, count_all

PAPER: dict[str, Any] = {
    "accuracy": {
        "vanilla": {"sc": 27.6, "ar": 22.8},
        "vanilla_mlp": {"sc": 27.7, "ar": 20.4},
        "salience": {"sc": 100.0, "ar": 27.1},
        "assoc": {"sc": 65.7, "ar": 100.0},
        "s4d": {"sc": 81.0, "ar": 33.2},
        "lstm": {"sc": 60.8, "ar": 32.7},
        "transformer": {"sc": 22.1, "ar": 33.9},
        "lstm_2": {"sc": 78.8, "ar": 32.0},
        "s4d_2": {"sc": 96.9, "ar": 33.2},
        "transformer_2": {"sc": 57.5, "ar": 32.4},
    },
    "params": {
        "vanilla": 25_000,
        "vanilla_mlp": 25_000,
        "salience": 25_000,
        "assoc": 25_000,
        "s4d": 26_000,
        "lstm": 25_000,
        "transformer": 27_000,
        "lstm_2": 48_000,
        "s4d_2": 47_000,
        "transformer_2": 51_000,
    },
}
DEPARTURES = (
    Departure(
        "loss",
        "not given",
        "squared error; on the answers in copying, on all outputs in recall",
        "the LSTM on copying hangs on it: 75 % with the answers alone, 59 % with all outputs (seed 0)",
    ),
    Departure(
        "batch",
        "not given",
        "64",
        "LSTM on copying with 32: 65 % in place of 75 %; S4D with 128: 77 % in place of 74 %",
    ),
    Departure("clipping, schedule", "not given", "gradients clipped at 1; constant rate", "not tried otherwise"),
    Departure("weights tested", "not given", "the best on validation", "lessens overfitting on recall"),
    Departure(
        "seeds",
        "not given; one figure a row",
        "three, and five where three cannot tell; rates compared with the first",
        "the paper's spread is not known",
    ),
    Departure(
        "size of the members for the other task",
        "not given",
        "as for their own; window of Vanilla and Salience is the episode, of Associative Memory two samples",
        "decides Vanilla + MLP (84 % with 30 samples, 40 % with 300) and Associative Memory on copying (20 to 100 %)",
    ),
    Departure(
        "start",
        "not given",
        "as in the members' own experiments",
        "Associative Memory on copying: with a random start and a window of 20, 100 % is possible",
    ),
    Departure(
        "budget",
        "4,000 steps",
        "the same; three times as many as variants",
        "most rows of copying are still learning at 4,000",
    ),
    Departure(
        "gates of Associative Memory",
        "256 hidden numbers",
        "300 for recall, 290 for copying",
        "so that it has the 25,000 parameters of the table; not tried otherwise",
    ),
    Departure(
        "stopping",
        "4,000 steps",
        "the same, ended before at a validation error of 1e-7",
        "none: the task is solved by then",
    ),
    Departure(
        "rates",
        "three",
        "the same; further ones where the best is at the edge, as rows beside the table",
        "see the table of wider rates",
    ),
)
SELECTS = ("seeds", "models", "tasks", "rates", "variants", "more_seeds", "wider_rates")
TITLE = {
    "vanilla": "Vanilla HiPPO",
    "vanilla_mlp": "Vanilla + MLP",
    "salience": "Salience",
    "assoc": "Assoc. Memory",
    "s4d": "S4D",
    "lstm": "LSTM",
    "transformer": "Transformer",
    "lstm_2": "LSTM, two layers",
    "s4d_2": "S4D, two layers",
    "transformer_2": "Transformer, two layers",
    "mamba": "Mamba",
    "deltanet": "DeltaNet",
}
ASSEMBLES_PARTS = True
# Where the paper leaves open, or contradicts itself about, what was done.
UNCLEAR = {
    ("vanilla_mlp", "sc"): "timescale, width and order of the memory are not given",
    ("vanilla_mlp", "ar"): "timescale, width and order of the memory are not given",
    ("vanilla", "ar"): "timescale, width and order of the memory are not given",
    ("salience", "ar"): "how the member was sized for this task is not given",
    ("assoc", "sc"): "how the member was sized for this task is not given; here window 2, as for recall",
}


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


def titles() -> dict[str, str]:
    """The names of all rows, those of models of the user's own too."""
    return TITLE | {name: name for name in entered()}


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


def report(result: Result, folder: Path) -> None:
    """The table as text, and as a picture with the levels that need no memory."""
    config: Config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    names = [model for model in titles() if model in result.metrics["accuracy"]]
    too_few = " (a quick run, no result)" if config.is_short else ""
    with drawing(folder, "accuracy", (4.2 * len(config.tasks), 0.34 * len(names) + 1.2)) as figure:
        panels = figure.subplots(1, len(config.tasks), sharey=True, squeeze=False)[0]
        for ax, task in zip(panels, config.tasks, strict=True):
            for place, model in enumerate(names):
                paper = PAPER["accuracy"].get(model, {}).get(task)
                if task in result.metrics["accuracy"][model]:
                    draw_row(ax, place, result.metrics["accuracy"][model][task], paper)
                wider = result.metrics["wider_rates"].get(model, {}).get(task)
                if wider and wider["rate"] not in config.rates:
                    ring = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "color": "C0"}
                    ax.plot(wider["accuracy"]["mean"], place, **ring, label="ours, at a larger rate")
            draw_levels(ax, task)
            ax.set(title=TITLES[task] + too_few)
            ax.set_yticks(range(len(names)), [titles()[name] for name in names])
        panels[0].invert_yaxis()
        legend_below(figure)


def table(result: Result) -> str:
    """Ours beside the paper's, as Markdown; quick runs show the form and no result."""
    config: Config = result.arrays["config"]
    metrics = result.metrics
    head = "| model | parameters |" + "".join(f" {TITLES[task]} | paper | verdict |" for task in config.tasks)
    lines = [head, "|---|---|" + "---|---|---|" * len(config.tasks)]
    for model in (name for name in titles() if name in metrics["accuracy"]):
        cells = [titles()[model], " / ".join(f"{n:,}" for n in metrics["params_by_task"][model].values())]
        for task in config.tasks:
            if task not in metrics["accuracy"][model]:
                cells += ["not run yet", "", ""]
                continue
            cells.append(percent(metrics["accuracy"][model][task]))
            paper = PAPER["accuracy"].get(model, {}).get(task)
            cells += ["" if paper is None else f"{paper:.1f}", metrics["verdict"][model][task]]
        lines.append(f"| {' | '.join(cells)} |")
    for level, words in (("copy_last", "says the last B"), ("chance", "chance")):
        cells = [f"*{words}*", ""]
        for task in config.tasks:
            cells += [f"*{LEVELS[task][level]:.2f}*" if level in LEVELS[task] else "", "", ""]
        lines.append(f"| {' | '.join(cells)} |")
    seeds = ", ".join(map(str, config.seeds))
    extra = f"; {', '.join(map(str, config.more_seeds))} too where these cannot tell" if config.more_seeds else ""
    counts = metrics["verdicts"]
    lines += [
        "",
        f"Test accuracy in per cent, mean ± standard error over seeds ({seeds}{extra}); {config.steps:,} steps, "
        f"{config.sequences:,} sequences; parameters for {' / '.join(TITLES[task] for task in config.tasks)}.",
        "",
        f"Of the paper's {counts['figures']} figures {counts['at_the_floor']} are at the floor that any model reaches; "
        f"of the others {counts['agree']} agree, {counts['differ']} differ, {counts['cannot_be_told']} cannot be told.",
    ]
    missing = [TITLE[model] for model in TITLE if model not in metrics["accuracy"]]
    if missing:
        lines.append(f"Rows not run here: {', '.join(missing)}.")
    if metrics["wider_rates"]:
        lines += ["", "Rows whose best rate was the smallest or the largest of the three, with further rates:", ""]
        lines += ["| model | task | rates tried | best | accuracy there | in the table |", "|---|---|---|---|---|---|"]
    for model, by_task in metrics["wider_rates"].items():
        for task, one in by_task.items():
            edge = "" if one["inside"] else " (at the edge)"
            seeds = len(one["accuracy"]["seeds"])
            cells = [titles()[model], TITLES[task], ", ".join(one["validation_loss"]), f"{one['rate']:g}{edge}"]
            cells += [f"{percent(one['accuracy'])} ({seeds} seed{'s' * (seeds > 1)})"]
            lines.append(f"| {' | '.join([*cells, percent(metrics['accuracy'][model][task])])} |")
    if metrics["variants"]:
        lines += [
            "",
            f"What a change does, at the row's rate unless another is named, seed {config.seeds[0]} (or all in turn):",
            "",
        ]
        lines += [
            "| model | task | change | parameters | as in the table | changed | paper |",
            "|---|---|---|---|---|---|---|",
        ]
    for one in metrics["variants"].values():
        model, task = one["model"], one["task"]
        paper = PAPER["accuracy"].get(model, {}).get(task)
        cells = [TITLE[model], TITLES[task], one["change"], f"{one['params']:,}"]
        cells += [f"{one['unchanged']:.1f}", ", ".join(f"{value:.1f}" for value in one["seeds"])]
        lines.append(f"| {' | '.join([*cells, '' if paper is None else f'{paper:.1f}'])} |")
    if config.is_short:
        lines.append("\nFewer steps than in the paper: this table shows the form, not a result.")
    return "\n".join(lines) + "\n"


def percent(found: dict[str, Any]) -> str:
    """Mean and standard error."""
    return f"{found['mean']:.1f}" + ("" if found["sem"] is None else f" ± {found['sem']:.1f}")
