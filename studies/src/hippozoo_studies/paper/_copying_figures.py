"""The table and the figures of selective copying, beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hippozoo._internal.files import write_whole
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.salience import SalienceTrace
from hippozoo_studies import Result, drawing, markdown_table, spread_text

if TYPE_CHECKING:
    from hippozoo_studies.paper.selective_copying import Config


# Table 1 (the protocol there is minibatches with validation) and the text of the section (online).
PAPER = {"minibatch": {"test_accuracy": 1.0}, "online": {"test_accuracy": 1.0}}


PROTOCOLS = ("minibatch", "online")


def table(result: Result) -> str:
    """Accuracy, salience and cost by protocol and kind of salience."""
    rows = []
    for kind, part in (("token alone", result.metrics), ("token and memory", result.metrics.get("with_summary", {}))):
        for protocol in PROTOCOLS:
            if protocol in part:
                one = part[protocol]
                solved = one["steps_to_solve"]
                rows.append(
                    [
                        protocol,
                        kind,
                        f"{one['parameters']:,}",
                        spread_text(one["test_accuracy"], ".2f", 100),
                        f"{100 * PAPER[protocol]['test_accuracy']:.1f}",
                        spread_text(one["salience_ratio"], ".4f"),
                        "not by all seeds" if solved is None else spread_text(solved, ".0f"),
                    ]
                )
    ratio = "g(uninformative) / g(informative)"
    header = ["protocol", "salience from", "parameters", "accuracy (%)", "paper (%)", ratio, "steps"]
    return (
        f"{markdown_table(header, rows)}\n\n"
        "Accuracy on fresh episodes, mean ± standard error over seeds; steps until the "
        "validation episodes were solved.\n"
    )


def report(result: Result, folder: Path) -> None:
    """The paper's four panels for each protocol, and what happens beyond the trained length."""
    from hippozoo.zoo.salience.plots import plot_episode, plot_warp

    config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    traces = {name: example_trace(config, example) for name, example in result.arrays["examples"].items()}
    for protocol, example in result.arrays["examples"].items():
        seen = traces[protocol]
        with drawing(folder, f"episode-{protocol}", (7.2, 7.0)) as figure:
            axes = figure.subplots(4, sharex=True, height_ratios=[0.5, 1, 1, 1])
            answers = np.arange(len(example["tokens"]) - config.wanted, len(example["tokens"]))
            plot_episode(seen, np.array(example["tokens"]), answers, axes=axes)
            figure.suptitle(f"One test episode\n{result.arrays['titles'][protocol]}", x=0.02, ha="left")
    with drawing(folder, "time-warp", (6.4, 4.8)) as figure:
        # The schematic: a weight that has a shape, on the clock that was learnt.
        clock = next(iter(traces.values()))
        seen = SalienceTrace(LegS(8, timescale=clock.times[-1] / 5), clock.salience, clock.dt)
        marks = [float(seen.times[int(part * len(seen.salience))]) for part in (0.4, 0.7, 1.0)]
        panels = plot_warp(seen, marks, axes=figure.subplots(2, 2, sharex="col", sharey="row"))
        panels[1, 1].set(xlabel="real time (samples)", ylabel="weight (per sample)")
        lines = panels[0, 0].get_lines()
        named_moments = [f"{moment:g} samples" for moment in marks]
        panels[1, 0].legend(lines, named_moments, title="the past as weighed at", loc="center")
        named = next(iter(result.arrays["titles"].values()))
        figure.suptitle(f"Exponential weights (Leg-S) on the learnt clock\n{named}", fontsize=10.5)
    draw_generalisation(result, folder)


def example_trace(config: Config, example: dict[str, Any]) -> SalienceTrace:
    """The clock and the lag functional of a stored example."""
    salience = np.array(example["salience"])
    system = LegT(config.order, timescale=float(len(salience)))
    return SalienceTrace(system, salience, np.ones(len(salience)), np.array(example["functional"]))


def draw_generalisation(result: Result, folder: Path) -> None:

    from hippozoo.zoo.salience.plots import plot_generalisation

    found = {
        (f"{protocol}, {'token alone' if part is result.metrics else 'token and memory'}"): part[protocol]
        for part in (result.metrics, result.metrics.get("with_summary", {}))
        for protocol in PROTOCOLS
        if protocol in part
    }
    with drawing(folder, "generalisation", (6.8, 3.6)) as figure:
        trained = {name: one["test_accuracy"] for name, one in found.items()}
        conditions = {name: one["generalisation"] for name, one in found.items()}
        plot_generalisation(trained, conditions, ax=figure.subplots())
