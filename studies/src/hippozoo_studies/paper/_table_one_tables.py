"""Table 1 as text and as a picture, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hippozoo._internal.files import write_whole
from hippozoo_studies import Result, drawing, markdown_table, spread_text
from hippozoo_studies.framework.claims import listed
from hippozoo_studies.framework.words import number_word
from hippozoo_studies.paper._table_one_rows import PAPER, TITLE, titles
from hippozoo_studies.paper._two_tasks import LEVELS, TITLES, draw_levels, draw_row, legend_below, table_verdict

if TYPE_CHECKING:
    from hippozoo_studies.paper.memory_tasks import Config


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
    seeds = ", ".join(map(str, config.seeds))
    extra = f"; {', '.join(map(str, config.more_seeds))} too where these are inconclusive" if config.more_seeds else ""
    parts = [
        _rows(config, metrics),
        f"Test accuracy in per cent, mean ± standard error over seeds ({seeds}{extra}); {config.steps:,} steps, "
        f"{config.sequences:,} sequences; parameters for {' / '.join(TITLES[task] for task in config.tasks)}.",
        counts_text(metrics["verdicts"]),
    ]
    missing = [TITLE[model] for model in TITLE if model not in metrics["accuracy"]]
    if missing:
        parts[-1] += f"\nRows not run here: {', '.join(missing)}."
    if metrics["wider_rates"]:
        parts.append("Rows whose best rate was the smallest or the largest of the three, with further rates:")
        parts.append(_wider_rates(metrics))
    if metrics["variants"]:
        parts.append(
            f"Effect of single changes, at the row's rate unless another is given, seed {config.seeds[0]} "
            "(or all in turn):"
        )
        parts.append(_variants(metrics))
    if config.is_short:
        parts.append("Fewer steps than in the paper: this table shows the form, not a result.")
    return "\n\n".join(parts) + "\n"


def seeds_text(metrics: Mapping[str, Any]) -> str:
    """For the page: rows have the seeds of the table, some more, and most variants one."""
    rows = [len(one["seeds"]) for row in metrics["accuracy"].values() for one in row.values()]
    variants = [len(one["seeds"]) for one in metrics["variants"].values()]
    usual = min(rows, default=0)
    more = (
        [f"{max(rows)} in {sum(count > usual for count in rows)} of {len(rows)} figures"] if max(rows) > usual else []
    )
    single = [f"1 in {variants.count(1)} of {len(variants)} variants"] if 1 in variants else []
    return "; ".join([str(usual), *more, *single])


def counts_text(counts: Mapping[str, int]) -> str:
    """How many figures of a table of the paper agree, as a sentence.

    Examples
    --------
    >>> counts_text({"figures": 19, "at_the_floor": 12, "agree": 1, "differ": 6, "cannot_be_told": 0})[-55:]
    'reaches; of the other seven, one agrees and six differ.'
    """
    words = {"agree": ("agrees", "agree"), "differ": ("differs", "differ"), "cannot_be_told": ("is", "are")}
    each = [
        f"{number_word(counts[name])} {verbs[counts[name] != 1]}{' undecided' if name == 'cannot_be_told' else ''}"
        for name, verbs in words.items()
        if counts[name]
    ]
    others = number_word(counts["figures"] - counts["at_the_floor"])
    told = f"; of the other {others}, {listed(each)}" if each else ""
    floor = f"{counts['at_the_floor']} are at the floor that any model reaches"
    return f"Of the paper's {counts['figures']} figures {floor}{told}."


def _paper_text(model: str, task: str) -> str:
    paper = PAPER["accuracy"].get(model, {}).get(task)
    return "" if paper is None else f"{paper:.1f}"


def _rows(config: Config, metrics: Mapping[str, Any]) -> str:
    rows: list[list[str]] = []
    for model in (name for name in titles() if name in metrics["accuracy"]):
        cells = [titles()[model], " / ".join(f"{n:,}" for n in metrics["params_by_task"][model].values())]
        for task in config.tasks:
            if task not in metrics["accuracy"][model]:
                cells += ["not run yet", "", ""]
                continue
            ours = spread_text(metrics["accuracy"][model][task], ".1f")
            cells += [ours, _paper_text(model, task), table_verdict(metrics["verdict"][model][task])]
        rows.append(cells)
    for level, words in (("copy_last", "always answers with the last B"), ("chance", "chance")):
        cells = [f"*{words}*", ""]
        for task in config.tasks:
            cells += [f"*{LEVELS[task][level]:.2f}*" if level in LEVELS[task] else "", "", ""]
        rows.append(cells)
    columns = [name for task in config.tasks for name in (TITLES[task], "paper", "verdict")]
    return markdown_table(["model", "parameters", *columns], rows)


def _wider_rates(metrics: Mapping[str, Any]) -> str:
    rows: list[list[str]] = []
    for model, by_task in metrics["wider_rates"].items():
        for task, one in by_task.items():
            edge, seeds = "" if one["inside"] else " (at the edge)", len(one["accuracy"]["seeds"])
            cells = [titles()[model], TITLES[task], ", ".join(one["validation_loss"]), f"{one['rate']:g}{edge}"]
            cells.append(f"{spread_text(one['accuracy'], '.1f')} ({seeds} seed{'s' * (seeds > 1)})")
            rows.append([*cells, spread_text(metrics["accuracy"][model][task], ".1f")])
    return markdown_table(["model", "task", "rates tried", "best", "accuracy there", "in the table"], rows)


def _variants(metrics: Mapping[str, Any]) -> str:
    rows: list[list[str]] = []
    for one in metrics["variants"].values():
        cells = [TITLE[one["model"]], TITLES[one["task"]], one["change"], f"{one['params']:,}"]
        cells += [f"{one['unchanged']:.1f}", ", ".join(f"{value:.1f}" for value in one["seeds"])]
        rows.append([*cells, _paper_text(one["model"], one["task"])])
    return markdown_table(["model", "task", "change", "parameters", "as in the table", "changed", "paper"], rows)
