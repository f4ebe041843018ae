"""Memory tasks: selective copying and associative recall, our members beside six baselines (paper, Table 1).

The protocol of the paper's appendix: 3,500 sequences, 70 % to learn from, 15 % to choose by, 15 % to report; 4,000
steps of AdamW, weight decay 1e-4, learning rate of three by validation loss; tokens and sequences depend on the seed.
Not in the paper, and taken here: batches of 64, gradients clipped at 1, a constant rate, mean squared error (on the
answers in selective copying, on all outputs in associative recall), the weights that were best on validation. The rates
are compared with the first seed; further seeds are trained at the rate chosen.

Where a figure differs from the paper's, variants of the row say what it hangs on: one change each, at the row's rate,
with the first seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from hippozoo._files import write_whole
from hippozoo.baselines import LSTM, S4D, DeltaNet, Mamba, Transformer, VanillaHippo, VanillaMLP
from hippozoo.experiments import QUIET, Claim, Context, Finished, Result, over_seeds, save_figure, select
from hippozoo.experiments._two_tasks import (
    LENGTHS,
    LEVELS,
    SIZES,
    TITLES,
    Protocol,
    check_names,
    draw_levels,
    draw_row,
    learn,
    legend_below,
    make_data,
    verdict,
)
from hippozoo.experiments._variants import VARIANTS, Variant, build_variant, count_all
from hippozoo.systems import LegT
from hippozoo.training import seeded

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
SELECTS = ("seeds", "models", "tasks", "rates", "variants")
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
# Where the paper leaves open, or contradicts itself about, what was done.
UNCLEAR = {
    ("vanilla_mlp", "sc"): "timescale, width and order of the memory are not given",
    ("vanilla_mlp", "ar"): "timescale, width and order of the memory are not given",
    ("vanilla", "ar"): "timescale, width and order of the memory are not given",
    ("salience", "ar"): "how the member was sized for this task is not given",
    ("assoc", "sc"): "how the member was sized for this task is not given; here window 2, as for recall",
}
SOLVED = 99.9


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


QUICK = Config(
    seeds=(0, 1),
    variants=("lstm_batch_32", "vanilla_mlp_behind"),
    rates=(1e-3, 3e-3),
    sequences=400,
    steps=8,
    validate_every=4,
)


def build(model: str, task: str) -> nn.Module:
    """A model of the paper's size for one of the tasks; sizes that it does not give are in PAPER_NOTES, section 3."""
    size, length = SIZES[task], LENGTHS[task]
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
    check_names("models", config.models, TITLE)
    check_names("tasks", config.tasks, TITLES)
    check_names("variants", config.variants, VARIANTS)
    return [
        {"model": model, "task": task, "rate": rate, "seed": config.seeds[0]}
        for model in config.models
        for task in config.tasks
        for rate in config.rates
    ]


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The other seeds, each row at its own rate; then the variants, at that rate or their own, with the first seed."""
    seeds = [
        {"model": model, "task": task, "rate": config.chosen_rate(finished, model=model, task=task), "seed": seed}
        for model in config.models
        for task in config.tasks
        for seed in config.seeds[1:]
    ]
    variants = [
        {
            "variant": name,
            "rate": VARIANTS[name].rate
            or config.chosen_rate(finished, model=VARIANTS[name].model, task=VARIANTS[name].task),
            "seed": seed,
        }
        for name in asked_variants(config)
        for seed in config.seeds[:1]
    ]
    return seeds + variants


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
    data = make_data(row.task, seed, config.sequences)
    if row.all_outputs:
        data = count_all(data)
    with seeded(seed):
        model = build_variant(row) or build(row.model, row.task)
    plan = config.plan(unit["rate"], seed, row.steps)
    return learn(model, data, plan, row.batch or config.batch, context)


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Both columns of the table, with a verdict on every figure."""
    metrics: dict[str, Any] = {name: {} for name in ("accuracy", "params", "params_by_task", "rate", "verdict")}
    metrics["train_accuracy"], metrics["milliseconds_per_step"] = {}, {}
    episodes = round(0.15 * config.sequences)
    for model in config.models:
        rows: dict[str, dict[str, Any]] = {name: {} for name in metrics if name != "params"}
        for task in config.tasks:
            rate = config.chosen_rate(finished, model=model, task=task)
            found = [select(finished, model=model, task=task, rate=rate, seed=seed)[0].result for seed in config.seeds]
            ours = [one["accuracy"] for one in found]
            paper = PAPER["accuracy"].get(model, {}).get(task)
            rows["accuracy"][task] = over_seeds(ours)
            rows["train_accuracy"][task] = over_seeds(one["train_accuracy"] for one in found)
            rows["params_by_task"][task] = found[0]["parameters"]
            rows["rate"][task] = rate
            rows["milliseconds_per_step"][task] = min(one["milliseconds_per_step"] for one in found)
            judged = verdict(ours, paper, episodes, UNCLEAR.get((model, task), ""))
            rows["verdict"][task] = "none: too few steps" if config.is_short else judged
        for name, row in rows.items():
            metrics[name][model] = row
        counts = rows["params_by_task"]
        metrics["params"][model] = counts.get("sc", next(iter(counts.values())))
    metrics["levels"] = {task: LEVELS[task] for task in config.tasks}
    metrics["variants"] = {}
    for name in asked_variants(config):
        row, found = VARIANTS[name], select(finished, variant=name, seed=config.seeds[0])[0].result
        metrics["variants"][name] = {
            "model": row.model,
            "task": row.task,
            "change": row.change,
            "accuracy": found["accuracy"],
            "unchanged": metrics["accuracy"][row.model][row.task]["seeds"][0],
            "params": found["parameters"],
        }
    return Result(metrics, claims(config, metrics), {"config": config})


def claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    """What the paper says about the table, where the rows are there."""
    accuracy = metrics["accuracy"]
    found = []

    def seeds(model: str, task: str) -> list[float] | None:
        return accuracy.get(model, {}).get(task, {}).get("seeds")

    for model, task in (("salience", "sc"), ("assoc", "ar"), ("mamba", "sc")):
        ours = seeds(model, task)
        if ours:
            asked = "target: " if model == "mamba" else ""  # the paper speaks of Mamba in passing, without a figure
            words = f"{asked}{TITLE[model]} solves {TITLES[task]} on every seed (at least {SOLVED} %)"
            found.append(Claim(words, min(ours) >= SOLVED, f"worst {min(ours):.2f} % of {len(ours)} seeds"))
    baselines = ("s4d", "lstm", "transformer", "lstm_2", "s4d_2", "transformer_2")
    means = {model: accuracy[model]["ar"]["mean"] for model in baselines if seeds(model, "ar")}
    if means:
        best = max(means, key=means.__getitem__)
        level = LEVELS["ar"]["copy_last"]
        words = "S4D, LSTM and Transformer stay near one third on associative recall, with one layer and with two"
        evidence = (
            f"best {TITLE[best]} {means[best]:.1f} %, of {len(means)} rows; saying the last B gives {level:.2f} %, "
            f"chance {LEVELS['ar']['chance']:.1f} %"
        )
        found.append(Claim(words, means[best] < level + 5, evidence))
    copying = {model: accuracy[model]["sc"]["mean"] for model in baselines[:3] if seeds(model, "sc")}
    ours = seeds("salience", "sc")
    if copying and ours:
        best = max(copying, key=copying.__getitem__)
        words = "baselines of one layer are well below Salience on selective copying"
        found.append(Claim(words, copying[best] < min(ours) - 5, f"best {TITLE[best]} {copying[best]:.1f} %"))
    return found


def report(result: Result, folder: Path) -> None:
    """The table as text, and as a picture with the levels that need no memory."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style

    config: Config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    names = [model for model in TITLE if model in result.metrics["accuracy"]]
    too_few = " (a quick run, no result)" if config.is_short else ""
    with style():
        figure = Figure(figsize=(4.2 * len(config.tasks), 0.34 * len(names) + 1.2), layout="constrained")
        panels = figure.subplots(1, len(config.tasks), sharey=True, squeeze=False)[0]
        for ax, task in zip(panels, config.tasks, strict=True):
            for place, model in enumerate(names):
                paper = PAPER["accuracy"].get(model, {}).get(task)
                draw_row(ax, place, result.metrics["accuracy"][model][task], paper)
            draw_levels(ax, task)
            ax.set(title=TITLES[task] + too_few)
            ax.set_yticks(range(len(names)), [TITLE[name] for name in names])
        panels[0].invert_yaxis()
        legend_below(figure)
        save_figure(figure, folder, "accuracy")


def table(result: Result) -> str:
    """Ours beside the paper's, as Markdown; quick runs show the form and no result."""
    config: Config = result.arrays["config"]
    metrics = result.metrics
    head = "| model | parameters |" + "".join(f" {TITLES[task]} | paper | verdict |" for task in config.tasks)
    lines = [head, "|---|---|" + "---|---|---|" * len(config.tasks)]
    for model in (name for name in TITLE if name in metrics["accuracy"]):
        cells = [TITLE[model], " / ".join(f"{n:,}" for n in metrics["params_by_task"][model].values())]
        for task in config.tasks:
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
    lines += [
        "",
        f"Test accuracy in per cent, mean ± standard error over seeds ({seeds}); {config.steps:,} steps, "
        f"{config.sequences:,} sequences; parameters for {' / '.join(TITLES[task] for task in config.tasks)}.",
    ]
    missing = [TITLE[model] for model in TITLE if model not in config.models]
    if missing:
        lines.append(f"Rows not run here: {', '.join(missing)}.")
    if metrics["variants"]:
        lines += ["", f"One thing changed, at the rate of the row unless another is named, seed {config.seeds[0]}:", ""]
        lines += [
            "| model | task | change | parameters | as in the table | changed | paper |",
            "|---|---|---|---|---|---|---|",
        ]
    for one in metrics["variants"].values():
        model, task = one["model"], one["task"]
        paper = PAPER["accuracy"].get(model, {}).get(task)
        cells = [TITLE[model], TITLES[task], one["change"], f"{one['params']:,}"]
        cells += [f"{one['unchanged']:.1f}", f"{one['accuracy']:.1f}"]
        lines.append(f"| {' | '.join([*cells, '' if paper is None else f'{paper:.1f}'])} |")
    if config.is_short:
        lines.append("\nFewer steps than in the paper: this table shows the form, not a result.")
    return "\n".join(lines) + "\n"


def percent(found: dict[str, Any]) -> str:
    """Mean and standard error."""
    return f"{found['mean']:.1f}" + ("" if found["sem"] is None else f" ± {found['sem']:.1f}")
