"""The table and the figures of associative recall, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.files import write_whole
from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import recall_matrix
from hippozoo_studies import Result, drawing, markdown_table, spread_text
from hippozoo_studies.paper._addressed_claims import ONE_BY_ONE

PAPER: dict[str, Any] = {"minibatch": {"test_accuracy": 1.0}, "parameters": 25_000, "copy_last": 0.33}


LABELS = {
    "minibatch": "batches of 64",
    "episodes": "one episode per step, each from a zero state",
    "online": "one episode per step, in a stream",
    "random_start": "batches, random initialisation",
}


def table(result: Result) -> str:
    """Accuracy by protocol, beside the levels that need no binding."""
    metrics, rows = result.metrics, []
    for name in (one for one in LABELS if one in metrics):
        one = metrics[name]
        paper = PAPER.get(name, {}).get("test_accuracy")
        rows.append(
            [
                LABELS[name],
                spread_text(one["test_accuracy"], ".2f", 100),
                "" if paper is None else f"{100 * paper:.1f}",
                solved_text(one["steps_to_solve"]),
                spread_text(one["largest_overlap"], ".3f"),
            ]
        )
    rows.append(["*always answers with the last B*", f"*{100 * metrics['copy_last_accuracy']:.1f}*", "", "", ""])
    rows.append(["*chance*", f"*{100 * metrics['chance_accuracy']:.1f}*", "", "", ""])
    header = ["trained with", "accuracy (%)", "paper (%)", "steps until solved", "largest kernel between two keys"]
    return (
        f"{markdown_table(header, rows)}\n\nMean ± standard error over seeds; {metrics['parameters']:,} parameters.\n"
    )


def report(result: Result, folder: Path) -> None:
    """The paper's figures (episode, addresses, write, kernel), learning curves, generalisation and capacity."""
    from hippozoo.plotting import ink
    from hippozoo.zoo.associative.plots import (
        plot_addresses,
        plot_capacity,
        plot_episode,
        plot_gates,
        plot_kernel,
        plot_recall_matrix,
        plot_write,
    )

    runs, config = result.arrays["runs"], result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    levels = result.metrics["copy_last_accuracy"], result.metrics["chance_accuracy"]
    shown = next(name for name in (config.shown, *ONE_BY_ONE, *runs) if runs.get(name))
    seen, title = runs[shown][0].result, f"{LABELS[shown]} (seed {runs[shown][0].unit['seed']})"
    episode, means = seen["episode"], np.array(list(seen["mean_address"].values()))
    names = list(seen["mean_address"])
    family = Legendre(config.coefficients)
    colours = {name: f"C{number}" for number, name in enumerate(LABELS)}
    with drawing(folder, "recall", (7.2, 8.6)) as figure:
        axes = figure.subplots(4, height_ratios=[1, 1.4, 2, 2])
        plot_episode(episode["labels"], episode["answers"], ax=axes[0])
        axes[0].set_title(f"Trained with {title}")
        plot_gates(np.array(episode["write_gate"]), np.array(episode["output_gate"]), episode["labels"], ax=axes[1])
        write, read = ({name: np.array(found) for name, found in seen[key].items()} for key in ("writes", "reads"))
        plot_addresses(write, read, ax=axes[2])
        curve = [np.array(episode[key]) for key in ("address", "before", "after")]
        plot_write(curve[0], curve[1], curve[2], episode["where"], means, ax=axes[3])
        for line, words in zip(axes[3].lines[2:], ("address written", "addresses of all keys"), strict=True):
            line.set_label(words)
        axes[3].legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
        axes[3].set_ylabel(f"readout of {episode['token']}\nat the address")

    with drawing(folder, "kernel", (13.0, 3.9)) as figure:
        axes = figure.subplots(1, 3)
        plot_kernel(family, means, normalised=False, ax=axes[0])
        plot_kernel(family, means, ax=axes[1])
        order = np.argsort(means)
        plot_recall_matrix(recall_matrix(family, means[order]), [names[i] for i in order], ax=axes[2])
        for ax, text in zip(axes, ("plain kernel", "normalised", "after writing all keys in turn"), strict=True):
            ax.set_title(text)
        figure.suptitle(f"Keys learnt with {title}", fontsize=10.5)
        marks = axes[0].get_legend_handles_labels()
        figure.legend(*marks, loc="outside lower center", ncols=2, fontsize=8, title="write and read address of")

    with drawing(folder, "learning", (10.5, 3.8)) as figure:
        axes = figure.subplots(1, 2)
        for ax, (unit, group) in zip(
            axes, (("step", ("minibatch", "random_start")), ("episode", tuple(ONE_BY_ONE))), strict=True
        ):
            for name in group:
                for place, one in enumerate(runs.get(name, [])):
                    accuracy = 100 * np.array(one.result["validation_accuracy"])
                    label = LABELS[name] if place == 0 else None
                    ax.plot(one.result["steps"], accuracy, color=colours[name], alpha=0.7, linewidth=1.0, label=label)
            for level, text in zip(levels, ("copy the last B", "chance"), strict=True):
                ax.axhline(100 * level, color=ink(), linestyle=":", linewidth=1.0)
                ax.annotate(text, (1.0, 100 * level), xycoords=("axes fraction", "data"), ha="right", va="bottom")
            ax.set(xlabel=unit, ylabel="validation accuracy (%)", ylim=(0, 102))
            if ax.get_legend_handles_labels()[0]:
                ax.legend(loc="center right")

    with drawing(folder, "generalisation", (10.5, 3.8)) as figure:
        # One scale: a loss of half a per cent beside one of nine.
        axes = figure.subplots(1, 2, sharey=True)
        for name in runs:
            for ax, key in zip(axes, ("more_pairs", "more_queries"), strict=True):
                found = result.metrics[name][key]
                rows = 100 * np.array([spread["seeds"] for spread in found.values()])
                ax.plot([int(count) for count in found], rows, "o-", color=colours[name], alpha=0.6, markersize=3)
                ax.plot([], [], "o-", color=colours[name], label=LABELS[name])
        labels = "pairs before the query (trained on 5)", f"queries after {config.query_pairs} pairs (trained on 1)"
        for ax, counts, label in zip(axes, (config.more_pairs, config.more_queries), labels, strict=True):
            ax.set(xscale="log", xlabel=label)
            ax.set_ylim(top=100.5)
            ax.set_xticks(counts, [str(count) for count in counts])
            ax.set_xticks([], minor=True)
        axes[0].set_ylabel("accuracy (%)")
        axes[0].legend(loc="lower left")

    with drawing(folder, "capacity", (6.4, 4.4)) as figure:
        ax = plot_capacity(result.arrays["curves"], ax=figure.subplots())
        ax.set_title(f"banks of {min(config.bank_sizes)} (faint) to {max(config.bank_sizes)} coefficients")


def solved_text(found: Mapping[str, Any]) -> str:
    """Steps of the seeds that solved it, and how many those are if not all.

    Examples
    --------
    >>> solved_text({"mean": None, "seeds": [None, None]})
    'by no seed'
    >>> solved_text({"mean": 100.0, "sem": None, "seeds": [100, None]})
    '100 (1 of 2 seeds)'
    """
    if found["mean"] is None:
        return "by no seed"
    solved, seeds = sum(one is not None for one in found["seeds"]), len(found["seeds"])
    return spread_text(found, ".0f") + ("" if solved == seeds else f" ({solved} of {seeds} seeds)")
