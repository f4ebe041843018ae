"""Recall scaling: size, data, steps and positions against associative recall (paper, follow-up table of 19 rows).

The protocol is that of ``memory-tasks``: three learning rates compared by validation loss with the first seed, further
seeds at the rate chosen. Of each row the paper gives the setting, the layers and the number of parameters; widths are
found by `match`. Positions are sinusoidal, which cost no parameters, as in its table. "Data 10x" means ten times the
training sequences, with validation and test as they were.

Beyond the table: each of the three factors alone and in pairs, and with still more steps (which of them does it take?);
learnt positions in the two settings that the paper solves, with batch and loss varied once each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from hippozoo._internal.files import write_whole
from hippozoo.baselines import LSTM, S4D, Transformer
from hippozoo.training import seeded
from hippozoo_studies import (
    QUIET,
    Context,
    Departure,
    Door,
    Finished,
    Result,
    drawing,
    entered,
    made_by,
    markdown_table,
    over_seeds,
    select,
    spread_text,
)
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.framework.words import number_word
from hippozoo_studies.paper._recall_claims import CLAIMS
from hippozoo_studies.paper._recall_further import (
    draw_factors,
    draw_seeds,
    further_rows,
    same_weights,
    same_weights_text,
    summarise,
)
from hippozoo_studies.paper._recall_rows import BEYOND, FACTORS, POSITIONS, ROWS, Row
from hippozoo_studies.paper._table_one_tables import counts_text
from hippozoo_studies.paper._two_tasks import (
    LENGTHS,
    LEVELS,
    SIZES,
    Protocol,
    check_names,
    count_verdicts,
    draw_levels,
    judge,
    learn,
    legend_below,
    make_data,
    table_verdict,
)
from hippozoo_studies.paper.memory_tasks import build, shape_of

BEYOND_RATE = 1e-3
PAPER: dict[str, Any] = {
    "accuracy": {name: row.paper for name, row in ROWS.items()},
    "params": {name: 1000 * row.params for name, row in ROWS.items()},
}
DEPARTURES = (
    Departure(
        "loss, batch, clipping",
        "not given",
        "squared error on all outputs; 64; gradients clipped at 1",
        "none on two-layer transformers with positions: a loss on the answer alone and batches of 256, with one seed "
        "each, leave them at the floor",
    ),
    Departure(
        "stopping",
        "4,000 steps, or twice as many",
        "the same, ended before at a validation error of 1e-7",
        "none: the task is solved by then",
    ),
    Departure(
        "positions",
        "PE, of no given kind",
        "sinusoidal, which cost no parameters, as in its table; learnt ones as rows of their own",
        "no effect: with either kind, the two rows that the paper solves stay at the floor",
    ),
    Departure("widths", "numbers of parameters only", "the width that comes nearest", "no known effect"),
    Departure(
        "data 10x", "ten times the training sequences", "the same; validation and test as they were", "no known effect"
    ),
    Departure(
        "rates",
        "three, by validation loss",
        "the same, compared with the first seed",
        "all four large rows that bind were best at the largest",
    ),
)
SELECTS = ("seeds", "rows", "rates", "beyond", "factors", "positions")
MODEL = "row"
ASSEMBLES_PARTS = True


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    rows: tuple[str, ...] = tuple(ROWS)
    beyond: tuple[str, ...] = tuple(BEYOND)
    factors: tuple[str, ...] = tuple(FACTORS)
    positions: tuple[str, ...] = tuple(POSITIONS)

    @property
    def further(self) -> tuple[str, ...]:
        """Rows of ours that are trained as the paper's are: three rates, and then all seeds."""
        return (*self.factors, *self.positions)


QUICK = Config(
    seeds=(0,),
    rates=(1e-3, 3e-3),
    sequences=100,
    steps=4,
    validate_every=2,
    factors=("lstm_data_steps_4",),
    positions=("transformer_2_steps_learnt", "transformer_2_steps_learnt_batch"),
)
EVERY = ROWS | BEYOND | FACTORS | POSITIONS


DOOR = Door("row", "rows", lambda config: [shape_of("ar")])


def all_rows() -> dict[str, Row]:
    """The paper's, those beyond it, and models of the user's own, in the setting of the baselines."""
    return EVERY | {name: Row("Baseline", name, 25, math.nan) for name in entered()}


def build_row(name: str) -> nn.Module:
    """The model of one row."""
    if name in entered():
        return made_by(name, shape_of("ar"))
    row, size = all_rows()[name], SIZES["ar"]
    if name == "assoc":
        return build("assoc", "ar")
    positions = {False: "none", True: "sinusoidal", "learnt": "learnt"}[row.positions]
    options: dict[str, dict[str, Any]] = {
        "Transformer": {"positions": positions, "context": LENGTHS["ar"]},
        "LSTM": {},
        "S4D": {},
    }
    models: dict[str, Callable[..., nn.Module]] = {
        "Transformer": Transformer.match,
        "LSTM": LSTM.match,
        "S4D": S4D.match,
    }
    return models[row.title](1000 * row.params, inputs=size, outputs=size, layers=row.layers, **options[row.title])


def units(config: Config) -> list[dict[str, Any]]:
    """All rates with the first seed; `more_units` adds the other seeds at the rate that was best, and variants."""
    check_names("rows", config.rows, [*ROWS, *entered()])
    check_names("beyond", config.beyond, BEYOND)
    check_names("factors", config.factors, FACTORS)
    check_names("positions", config.positions, POSITIONS)
    return [
        *(
            {"row": name, "rate": rate, "seed": config.seeds[0]}
            for name in (*config.rows, *config.further)
            if not varied_by(name)
            for rate in config.rates
        ),
        *({"row": name, "rate": BEYOND_RATE, "seed": config.seeds[0]} for name in config.beyond),
    ]


def varied_by(name: str) -> str:
    """The row of which this one varies batch or loss; empty for a row in its own right."""
    return EVERY[name].varies if name in EVERY else ""


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The other seeds, each row at its own rate; then variants, which decide less, once at the rate of their row."""
    chosen = {
        name: config.chosen_rate(finished, row=name)
        for name in (*config.factors, *config.rows, *config.positions)
        if config.has_all_rates(finished, row=name) and not varied_by(name)
    }
    seeds = [{"row": name, "rate": rate, "seed": seed} for name, rate in chosen.items() for seed in config.seeds[1:]]
    variants = [
        {"row": name, "rate": chosen[varied_by(name)], "seed": config.seeds[0]}
        for name in config.further
        if varied_by(name) in chosen
    ]
    return [*seeds, *variants]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train and score one model."""
    row, seed = all_rows()[unit["row"]], unit["seed"]
    data = make_data("ar", seed, config.sequences, row.data)
    if row.answer_alone:
        parts = {"train": data.train, "validation": data.validation}
        data = replace(data, **{name: replace(one, counted=one.answers >= 0) for name, one in parts.items()})
    with seeded(seed):
        model = build_row(unit["row"])
    return learn(model, data, config.plan(unit["rate"], seed, row.steps), row.batch or config.batch, context)


def assemble(config: Config, finished: list[Finished]) -> Result:
    """The table, with a verdict on every row."""
    names = ("accuracy", "train_accuracy", "params", "rate", "verdict", "difference")
    metrics: dict[str, Any] = {name: {} for name in names}
    for name in config.rows:
        if not config.has_all_rates(finished, row=name):
            continue  # not done yet
        rate = config.chosen_rate(finished, row=name)
        found = [one.result for seed in config.seeds for one in select(finished, row=name, rate=rate, seed=seed)]
        ours = [one["accuracy"] for one in found]
        metrics["accuracy"][name] = over_seeds(ours)
        metrics["train_accuracy"][name] = over_seeds(one["train_accuracy"] for one in found)
        metrics["params"][name] = found[0]["parameters"]
        metrics["rate"][name] = rate
        judged = judge(ours, PAPER["accuracy"].get(name), "ar", config.sequences)
        metrics["verdict"][name] = "none: too few steps" if config.is_short else judged.verdict
        metrics["difference"][name] = None if judged.low is None else {"low": judged.low, "high": judged.high}
    metrics["beyond"] = {
        name: {key: one.result[key] for key in ("accuracy", "train_accuracy", "parameters")}
        for name in config.beyond
        for one in select(finished, row=name, seed=config.seeds[0])
    }
    metrics["further"] = summarise(config, finished, config.further)
    metrics["verdicts"] = count_verdicts(metrics["verdict"].values())
    metrics["levels"] = LEVELS["ar"]
    rates = metrics["rate"] | {name: one["rate"] for name, one in metrics["further"].items()}
    arrays = {"config": config, "same_weights": same_weights(config, finished, rates)}
    return Result(metrics, answers(CLAIMS, metrics), arrays)


def seeds_text(metrics: dict[str, Any]) -> str:
    """For the page: rows of ours have seeds of their own."""
    counts = [len(one["accuracy"]["seeds"]) for one in metrics["further"].values()]
    single = len(metrics["beyond"]) + counts.count(1)
    seeds = max((len(one["seeds"]) for one in metrics["accuracy"].values()), default=0)
    rest = f"; 1 in {single} of {len(counts) + len(metrics['beyond'])} rows beyond the paper's" if single else ""
    return f"{seeds}{rest}"


def report(result: Result, folder: Path) -> None:
    """The table as text, and as a picture."""
    write_whole(folder / "table.md", table(result).encode())
    found = {
        **result.metrics["accuracy"],
        **{
            name: {"mean": one["accuracy"], "seeds": [one["accuracy"]]}
            for name, one in result.metrics["beyond"].items()
        },
    }
    beyond = {name: one["parameters"] for name, one in result.metrics["beyond"].items()}
    params, names = result.metrics["params"] | beyond, list(found)
    too_few = " (a quick run, no result)" if result.arrays["config"].is_short else ""
    with drawing(folder, "accuracy", (9.0, 0.32 * len(names) + 1.2)) as figure:
        ax = figure.subplots()
        for place, name in enumerate(names):
            draw_seeds(ax, place, found[name], PAPER["accuracy"].get(name))
        draw_levels(ax, "ar")
        labels = [_label(name, params[name], len(found[name]["seeds"])) for name in names]
        ax.set_yticks(range(len(names)), labels, fontsize=8)
        ax.invert_yaxis()
        ax.set(title=f"associative recall, by model, layers, parameters and setting{too_few}")
        legend_below(figure)
    if any(name in result.metrics["further"] for name in FACTORS):
        with drawing(folder, "factors", (8.5, 3.4)) as figure:
            for ax, model in zip(figure.subplots(1, 2, sharey=True), ("lstm", "s4d"), strict=True):
                draw_factors(ax, model, result.metrics["accuracy"], result.metrics["further"])
            figure.axes[0].invert_yaxis()  # shared: turned by each of the two
            figure.suptitle(f"one layer: accuracy with more capacity, data and steps{too_few}")
            legend_below(figure)


def _label(name: str, params: int, seeds: int) -> str:
    """A row of the figure in words, with the parameters that it has; one seed is named."""
    row = all_rows()[name]
    layers, single = f"{number_word(row.layers)} layer{'s' * (row.layers > 1)}", " (one seed)" if seeds == 1 else ""
    return f"{row.title}, {layers}, {params:,}: {row.setting}{single}"


def table(result: Result) -> str:
    """Ours beside the paper's, as Markdown."""
    config: Config = result.arrays["config"]
    metrics = result.metrics
    header = ["setting", "model", "layers", "parameters", "rate", "train", "ours", "paper", "verdict"]
    rows: list[list[str]] = []
    for name in metrics["accuracy"]:
        row = all_rows()[name]
        cells = [row.setting, row.title, str(row.layers), f"{metrics['params'][name]:,}", f"{metrics['rate'][name]:g}"]
        cells += [spread_text(metrics["train_accuracy"][name], ".1f"), spread_text(metrics["accuracy"][name], ".1f")]
        cells.append("" if math.isnan(row.paper) else f"{row.paper:.1f}")
        rows.append([*cells, table_verdict(metrics["verdict"][name])])
    for name, found in metrics["beyond"].items():
        row = BEYOND[name]
        cells = [f"*{row.setting}*", row.title, str(row.layers), f"{found['parameters']:,}", f"{BEYOND_RATE:g}"]
        cells += [f"{found['train_accuracy']:.1f}", f"{found['accuracy']:.1f}", "", "not in the paper, one seed"]
        rows.append(cells)
    rows += further_rows(metrics["further"])
    for level, words in (("copy_last", "always answers with the last B"), ("chance", "chance")):
        rows.append([f"*{words}*", *[""] * 5, f"*{LEVELS['ar'][level]:.2f}*", "", ""])
    seeds = ", ".join(map(str, config.seeds))
    lines = [
        markdown_table(header, rows),
        "",
        counts_text(metrics["verdicts"]),
        "",
        *((note, "") if (note := same_weights_text(config, result.arrays["same_weights"])) else ()),
        f"Accuracy in per cent, mean ± standard error over seeds ({seeds}); {config.steps:,} steps and "
        f"{config.sequences:,} sequences in the baseline setting.",
    ]
    if config.is_short:
        lines.append("Fewer steps than in the paper: this table shows the form, not a result.")
    return "\n".join(lines) + "\n"
