"""Figures and the table of the microscope's study; each part draws its own, if it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hippozoo._internal.files import write_whole
from hippozoo.plotting import ink, style
from hippozoo_studies import Finished, Result, markdown_table, save_figure, select, spread_text
from hippozoo_studies.beyond._microscope_verdicts import TITLE
from hippozoo_studies.paper import memory_tasks
from hippozoo_studies.paper._two_tasks import TITLES, legend_below

COLOURS = {"memory": "C0", "lstm": "C1", "s4d": "C2", "mamba": "C3", "gru": "C4", "deltanet": "0.45", "explicit": "C0"}
COLOURS |= {"salience": "C0", "present": "C4"}


def write(result: Result, folder: Path) -> None:
    """Everything that the units at hand allow."""
    finished: list[Finished] = result.arrays["finished"]
    config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    with style():
        for name, draw in (
            ("closed-forms", closed_forms),
            ("speech", speech),
            ("measure", measure),
            ("tasks", tasks),
            ("characters", characters),
        ):
            figure = draw(config, finished, result)
            if figure is not None:
                save_figure(figure, folder, name)


def closed_forms(config: Any, finished: list[Finished], result: Result) -> Figure | None:
    """Measured profiles with bands on the exact curves, at the fewest samples."""
    done = select(finished, part="closed forms", samples=min(config.samples))
    if not done:
        return None
    figure = Figure(figsize=(3.0 * len(done), 2.9), layout="constrained")
    for ax, one in zip(figure.subplots(1, len(done), sharey=True, squeeze=False)[0], done, strict=True):
        profile, lags = one.result["profile"], np.arange(len(one.result["exact"]))
        ax.fill_between(lags, profile["low"], profile["high"], color="C0", alpha=0.35, lw=0, label="95 % band")
        ax.plot(lags, profile["value"], ".", color="C0", ms=4, label="measured")
        ax.plot(lags, one.result["exact"], color=ink(), lw=1, label="closed form")
        ax.set(title=one.unit["system"], xlabel="lag (samples)")
    figure.axes[0].set_ylabel("R²")
    legend_below(figure)
    return figure


def _chosen(result: Result, finished: list[Finished], name: str, seeds: Any) -> list[dict[str, Any]]:
    rate = result.metrics["speech"][name]["rate"]
    done = select(finished, part="speech", model=name, rate=rate)
    return [one.result for one in done if one.unit["seed"] in seeds]


def speech(config: Any, finished: list[Finished], result: Result) -> Figure | None:
    """Profiles before and after training, and the answer beside the past."""
    models = list(result.metrics["speech"])
    if not models:
        return None
    figure = Figure(figsize=(11, 3.5), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, when in zip(axes[:2], ("before", "after"), strict=True):
        for name in models:
            values = np.array([one[when]["profile"]["value"] for one in _chosen(result, finished, name, config.seeds)])
            lags = np.arange(values.shape[1])
            ax.fill_between(lags, values.min(0), values.max(0), color=COLOURS[name], alpha=0.2, lw=0)
            ax.plot(lags, values.mean(0), color=COLOURS[name], label=TITLE[name])
        ax.set(title=f"{when} training", xlabel="frames ago (10 ms)", ylabel="R² of the frame", ylim=(-0.05, 1.02))
    for name in models:
        row = result.metrics["speech"][name]
        for when, marker in (("before", "o"), ("after", "s")):
            x, y = row[when]["r2_29_frames_ago"]["mean"], 100 * row[when]["answer_accuracy"]["mean"]
            axes[2].plot(x, y, marker, color=COLOURS[name], mfc="none" if when == "before" else COLOURS[name])
    axes[2].set(
        title="before (open) and after training (full)",
        xlabel="R² of the frame 29 ago",
        ylabel="digit decodable from the state (%)",
    )
    legend_below(figure)
    return figure


def measure(config: Any, finished: list[Finished], result: Result) -> Figure | None:
    """One log: the share that every entry has; and what can be read of codes and places above how much noise."""
    done = {name: select(finished, part="measure", model=name) for name in ("salience", "mamba")}
    if not all(done.values()):
        return None
    label = "6 noise entries"
    kinds = {"measure": "history measure", "sensitivity": "sensitivity"}
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, (kind, title) in zip(axes[:2], kinds.items(), strict=True):
        for name in ("salience", "mamba"):
            one = done[name][0].result[label]
            share = one[kind]["example"]
            ax.stairs(share, np.arange(len(share) + 1) - 0.5, color=COLOURS[name], lw=1.6, label=TITLE[name])
        codes = [place for place, token in enumerate(one["example_tokens"]) if token >= 2]
        ax.plot(codes, np.zeros(len(codes)), "^", color=ink(), ms=7, clip_on=False, label="a code")
        ax.set(title=f"one log: {title}", xlabel="entry", ylabel="share of the entry", ylim=(0, None))
    for name in ("salience", "mamba"):
        row = result.metrics["measure"][label][name]
        for what, style_of in (("code_r2", "-"), ("place_r2", "--")):
            noise = [float(one) for one in row[what]]
            means, sems = (np.array([one[key] for one in row[what].values()]) for key in ("mean", "sem"))
            axes[2].fill_between(noise, means - sems, means + sems, color=COLOURS[name], alpha=0.2, lw=0)
            axes[2].semilogx(noise, means, style_of, color=COLOURS[name])
    axes[2].plot([], [], "-", color=ink(), label="codes")
    axes[2].plot([], [], "--", color=ink(), label="their positions")
    axes[2].set(
        title="decodable from the state", xlabel="noise on the state (relative variance)", ylabel="R²", ylim=(0, 1.03)
    )
    legend_below(figure)
    return figure


def tasks(config: Any, finished: list[Finished], result: Result) -> Figure | None:
    """Answers given, answers that can be read off the state before and after training, and how much of the tokens."""
    found = result.metrics["tasks"]
    if not found:
        return None
    figure = Figure(figsize=(5.2 * len(found), 3.8), layout="constrained")
    for ax, (task, rows) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        names = sorted(rows, key=lambda name: rows[name]["accuracy"])
        places = np.arange(len(names))
        for key, title, marker in (
            ("tokens_after", "bits of the tokens decodable", {"marker": "|", "ms": 13, "mew": 2, "color": ink()}),
            ("readable_before", "answers decodable before training", {"marker": "o", "mfc": "none", "color": "C0"}),
            ("readable_after", "answers decodable after training", {"marker": "o", "color": "C0"}),
            ("accuracy", "test accuracy", {"marker": "s", "color": "C1", "ms": 5}),
        ):
            ax.plot([rows[name][key] for name in names], places, ls="", label=title, clip_on=False, **marker)
        ax.set_yticks(places, [memory_tasks.TITLE[name] for name in names])
        ax.set(title=TITLES[task], xlabel="per cent", xlim=(0, 101))
        ax.grid(axis="y", alpha=0.3)
    legend_below(figure)
    return figure


def characters(config: Any, finished: list[Finished], result: Result) -> Figure | None:
    """Bits of the character k ago, before and after training; a character has about four and a half."""
    done = [one for one in select(finished, part="characters") if one.unit["model"] in result.metrics["characters"]]
    if not done:
        return None
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, when in zip(axes, ("before", "after"), strict=True):
        for one in done:
            profile, name = one.result.get(when, one.result["after"])["profile"], one.unit["model"]
            lags, colour = np.arange(len(profile["value"])), COLOURS[name]
            ax.fill_between(lags, profile["low"], profile["high"], color=colour, alpha=0.25, lw=0)
            ax.plot(lags, profile["value"], "--" if name == "present" else "-", color=colour, label=TITLE[name])
        ax.plot(done[0].result["after"]["profile"]["chance_bits"], ":", color=ink(), label="entropy of a character")
        ax.set(title=f"{when} training", xlabel="characters ago", ylim=(0, None))
    axes[0].set_ylabel("decodable (bits)")
    legend_below(figure)
    return figure


def table(result: Result) -> str:
    """Speech, and the tasks, as Markdown."""
    parts = []
    if result.metrics["speech"]:
        header = [
            "spoken digits",
            "parameters",
            "state size",
            "test accuracy",
            "R² 29 frames ago, before",
            "after",
        ]
        rows = []
        for name, row in result.metrics["speech"].items():
            cells = [name, f"{row['parameters']:,}", str(row["numbers"]), f"{spread_text(row['accuracy'], '.1f')} %"]
            cells += [spread_text(row[when]["r2_29_frames_ago"], ".2f") for when in ("before", "after")]
            cells += [spread_text(row[when]["answer_accuracy"], ".2f") for when in ("before", "after")]
            rows.append(cells)
        parts.append(markdown_table([*header, "digit decodable, before", "after"], rows))
    if result.metrics["noise"]:
        header, rows = ["on noise, samples held", "degree 1, before", "after", "2, before", "after"], []
        for name, row in result.metrics["noise"].items():
            cells = [f"{row[when][degree]:.1f}" for degree in ("1", "2", "3") for when in ("before", "after")]
            rows.append([name, *cells])
        parts.append(markdown_table([*header, "3, before", "after"], rows))
    keys = ("accuracy", "readable_before", "readable_after", "tokens_before", "tokens_after")
    for task, found in result.metrics["tasks"].items():
        header = [
            f"{TITLES[task]} (%)",
            "answered",
            "decodable, before",
            "after",
            "bits of the tokens, before",
            "after",
        ]
        rows = [[memory_tasks.TITLE[name], *(f"{row[key]:.1f}" for key in keys)] for name, row in found.items()]
        parts.append(markdown_table(header, rows))
    if result.metrics["characters"]:
        header = ["characters", "state size", "perplexity", "bits of 24 characters, before", "after", "next"]
        rows = []
        for name, row in result.metrics["characters"].items():
            cells = (row["validation_perplexity"], row["bits_before"], row["bits"], row["next_bits"])
            rows.append([TITLE[name], row["numbers"], *("" if cell is None else f"{cell:.2f}" for cell in cells)])
        parts.append(markdown_table(header, rows))
    return "\n\n".join(parts) + "\n"
