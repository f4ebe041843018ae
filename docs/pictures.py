"""Make the pictures of the documents: ``python docs/pictures.py`` for all of them, or with their names.

A picture has one of three sources, so that it cannot drift from what the code draws:

- *pages*: code on a page that ends in ``figure.savefig("NAME.png")``; the page's code is run as it stands;
- *sections* of the tour;
- *functions* below, for pages whose code would only distract.

Pictures of experiments are made by `hippozoo reproduce` and live in results/.
"""

from __future__ import annotations

import io
import json
import re
import runpy
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from hippozoo.apps.tour import discover_sections, run_section
from hippozoo.apps.tour.section import Section
from hippozoo.apps.tour.signals import pulse_wave
from hippozoo.apps.tour.write import WIDTH
from hippozoo.memory import Memory
from hippozoo.memory.plots import plot_memory, plot_weight
from hippozoo.plotting import ink, style
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.tasks.data_files import MissingDataError, data_file

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
RESULTS = DOCS.parent / "results"

# Title of a section of the tour -> picture.
SECTIONS = {
    "Two ways to forget": "two-ways-to-forget",
    "Stored under a key": "stored-under-a-key",
    "Which products matter": "which-products-matter",
}


def keep(name: str, content: bytes, colours: int = 192) -> None:
    """Write a picture with few colours, without the name of the software: same picture, same bytes, small."""
    image = Image.open(io.BytesIO(content)).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, format="png", optimize=True)
    (IMAGES / f"{name}.png").write_bytes(file.getvalue())
    print(f"{name}.png: {file.tell() // 1024} kB")


def drawn(figure: Figure, dpi: int = 160) -> bytes:
    """The figure as a PNG."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi)
    return file.getvalue()


def of_section(section: Section) -> Figure:
    """The picture of a section of the tour, in the style at hand."""
    figure = Figure(figsize=(WIDTH, section.height), layout="constrained")
    section.draw(run_section(section), figure)
    return figure


def four_weights() -> Figure:
    """What counts as past in each system, and what it remembers of the same pulse wave."""
    signal, lags = pulse_wave(seconds=30.0), np.linspace(0.0, 8.0, 1601)
    figure = Figure(figsize=(7, 6.4), layout="constrained")
    weights, *pasts = figure.subplots(5, sharex=True, height_ratios=[1.3, 1, 1, 1, 1])
    systems = {
        "Leg-T": LegT(order=33, timescale=4.0),
        "Fou-T": FouT(order=33, timescale=4.0),
        "Leg-S": LegS(order=33, timescale=2.0),
        "Lag-T": LagT(order=33, timescale=2.0),
    }
    for number, ((label, system), ax) in enumerate(zip(systems.items(), pasts, strict=True)):
        shown = lags[lags <= system.window]
        memory = Memory(system, dt=0.01)
        plot_memory(memory, memory.final(signal), signal, lags=shown, label=label, ax=ax)
        ax.lines[0].set_color(f"C{number}")
        ax.set(ylabel="mmHg", xlabel="", ylim=(55, 150))
        ax.legend(handles=[ax.lines[0]], loc="upper left")
        plot_weight(system, lags=lags, unit="s", label=label, ax=weights)
        weights.lines[-1].set(color=f"C{number}", linestyle=("-", "--")[number % 2])
    weights.set(xlabel="", ylabel="weight (1/s)", title="what counts as past", ylim=(0, 0.62))
    weights.legend(ncols=4, loc="upper left")
    pasts[0].set_title("what 33 numbers remember of a pulse wave (grey: the true past)")
    pasts[-1].set(xlabel="lag (s); the present is on the right", xlim=(8, 0))
    return figure


def cells_of_lag() -> Figure:
    """Which lags each sample fills."""
    figure = Figure(figsize=(7, 2.2), layout="constrained")
    ax = figure.subplots()
    values = [0.4, 0.9, 0.7, 0.3, 0.6]
    ax.stairs(values, [5, 4, 3, 2, 1, 0], baseline=0, color="C0", fill=True, alpha=0.25)
    ax.stairs(values, [5, 4, 3, 2, 1, 0], baseline=None, color="C0")
    for place, value in zip((4.5, 3.5, 2.5, 1.5, 0.5), values, strict=True):
        ax.plot(place, value, "o", color="C1", markersize=6)
        back = round(place - 0.5)
        ax.text(place, value + 0.06, f"sample t - {back}" if back else "sample t", ha="center", fontsize=9)
    ax.set(xlim=(5, 0), ylim=(0, 1.15), yticks=[], xlabel="lag / dt; the present is on the right", ylabel="value held")
    ax.plot([], [], "o", color="C1", label="the centre of a cell: compare a sample with the memory here")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)
    return figure


def how_a_forecast_is_made() -> Figure:
    """From a reading to a band: every box is a file of hippozoo.ensemble."""
    figure = Figure(figsize=(8.2, 4.7), layout="constrained")
    ax = figure.subplots()
    boxes = {
        "readings": (0.0, 3, "reading_checks.py", "is it a number,\nis it in time?", "C0"),
        "stream": (2.1, 3, "stream.py", "how long did it\nhold? cells of dt", "C0"),
        "cleaner": (4.2, 3, "cleaner.py", "gap, outlier,\nlevel shift?", "C0"),
        "scores": (6.3, 3, "scores.py", "regret by expert\nand lead", "C2"),
        "experts": (4.2, 1.5, "experts/", "each forecasts\nevery lead", "C1"),
        "ridge": (2.1, 1.5, "moments.py, ridge.py", "learn maps from\npast to future", "C1"),
        "brake": (6.3, 1.5, "brake.py, doubt.py", "last value instead?\noutlier or shift?", "C2"),
        "scale": (6.3, 0.0, "scale.py", "expected size\nof an error", "C4"),
        "calibration": (4.2, 0.0, "calibration.py", "its distribution:\nquantiles, tails", "C4"),
        "forecast": (2.1, 0.0, "forecast.py", "mean, band, paths\nat any lead", "C3"),
        "detector": (0.0, 0.0, "detector.py", "how rare is the\nnext error? alarm.py", "C3"),
    }
    width, height = 1.7, 1.0
    for left, bottom, name, text, color in boxes.values():
        ax.add_patch(FancyBboxPatch((left, bottom), width, height, "round,pad=0.02", color=color, alpha=0.22))
        ax.text(left + width / 2, bottom + 0.78, name, ha="center", va="center", fontsize=9, family="monospace")
        ax.text(left + width / 2, bottom + 0.36, text, ha="center", va="center", fontsize=8)
    arrows = (
        ("readings", "stream"), ("stream", "cleaner"), ("cleaner", "scores"), ("cleaner", "experts"),
        ("ridge", "experts"), ("experts", "brake"), ("scores", "brake"), ("brake", "scale"), ("scale", "calibration"),
        ("calibration", "forecast"), ("forecast", "detector"),
    )  # fmt: skip
    centre = {name: np.array([box[0] + width / 2, box[1] + height / 2]) for name, box in boxes.items()}
    for begin, end in arrows:
        x, y = centre[end] - centre[begin]
        half = np.array([width / 2 + 0.04, 0.0]) * np.sign(x) if abs(x) > abs(y) else np.array([0.0, 0.54]) * np.sign(y)
        arrow = {"arrowstyle": "->", "color": ink()}
        ax.annotate("", centre[end] - half, centre[begin] + half, arrowprops=arrow)
    ax.set(xlim=(-0.15, 8.15), ylim=(-0.15, 4.15))
    ax.set_axis_off()
    return figure


def printed_legt() -> Figure:
    """A constant signal in Leg-T: by the matrix as printed in the paper, and by the right one."""
    order, steps, dt = 8, 300, 0.01
    system = LegT(order, timescale=1.0)
    signs = (-1.0) ** (np.arange(order)[:, None] - np.arange(order))
    printed = -np.tril(np.outer(system.b, system.b) * signs)
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    ax = figure.subplots()
    for label, A, colour in (("as printed", printed, "C1"), ("as it must be", system.A, "C0")):
        state, values = np.zeros(order), []
        for _ in range(steps):
            # Implicit steps: stable for both matrices.
            state = np.linalg.solve(np.eye(order) - dt * A, state + dt * system.b)
            values.append(system.reconstruct(state, 0.5))
        ax.plot(np.arange(steps) * dt, values, color=colour, label=f"remembered, {label}")
    ax.axhline(1.0, color=ink(), linewidth=1, linestyle=":", label="the signal")
    ax.set(xlabel="time since the signal began (windows)", ylabel="value half a window ago")
    ax.legend(loc="best")
    return figure


def cost_per_sample() -> Figure:
    """Committed times of benchmarks/results.json: how the cost of a sample grows with the order and the length."""
    found = json.loads((DOCS.parent / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    growth = {row["name"]: row["microseconds_per_sample"] for row in found["memory.growth"]["rows"]}
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    by_order, by_length = figure.subplots(1, 2)
    for number, (work, label) in enumerate(
        (("scan", "every state (scan)"), ("readout", "a linear readout"), ("final", "the last state (final)"))
    ):
        orders = [n for n in (16, 32, 64, 128, 256, 512) if f"{work}, N = {n}" in growth]
        times = [growth[f"{work}, N = {n}"] for n in orders]
        by_order.loglog(orders, times, "o-", color=f"C{number}", label=label)
    by_order.set(xlabel="order N (coefficients)", ylabel="time per sample (µs)", title="by order")
    by_order.set_xticks([16, 64, 256], ["16", "64", "256"])
    by_order.minorticks_off()
    by_order.legend()
    lengths = [power for power in (10, 14, 18, 22) if f"final, 2^{power} samples" in growth]
    by_length.loglog(
        [2.0**power for power in lengths],
        [growth[f"final, 2^{power} samples"] for power in lengths],
        "o-",
        color="C2",
    )
    by_length.set(xlabel="samples in one call", title="by length (final)")
    return figure


def estimators_measured() -> Figure:
    """Errors of results/estimators."""
    tables = json.loads((RESULTS / "estimators" / "metrics.json").read_text(encoding="utf-8"))["tables"]
    shown = [name for name in tables if "forecast" in name or "Wray" in name]
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    for ax, name in zip(figure.subplots(len(shown)), shown, strict=True):
        rows = tables[name]
        names = list(rows)[::-1]
        short = [one.replace("(alpha=.05, beta=.01, gamma=.5, seasonality=24)", "") for one in names]
        errors = [rows[one]["error"] for one in names]
        colours = ["C1" if one.startswith(("Hippo", "RiverHippo", "Sklearn")) else "C0" for one in names]
        ax.barh(range(len(names)), errors, color=colours)
        for place, error in enumerate(errors):
            ax.text(error, place, f" {error:.3g}", va="center", fontsize=8)
        title, _, unit = name.partition(" (")
        ax.set_yticks(range(len(names)), short, fontsize=8)
        ax.set_xlabel(f"{title.partition(': ')[2]}: {unit.rstrip(')')}", fontsize=8, loc="right")
        ax.margins(x=0.15)
        if min(errors) < 1e-3 * max(errors):
            ax.set(xscale="log", xlim=(min(errors) / 100, 100 * max(errors)))
        ax.grid(False, axis="y")
    return figure


def series_per_second() -> Figure:
    """Committed rates of results/scale: a plain loop, one worker, two workers."""
    found = json.loads((RESULTS / "scale" / "throughput.json").read_text(encoding="utf-8"))["growth"]
    figure = Figure(figsize=(7, 3), layout="constrained")
    ax = figure.subplots()
    for number, by in enumerate(dict.fromkeys(row["by"] for row in found["rows"])):
        rows = sorted((row["series"], row["per_second"]) for row in found["rows"] if row["by"] == by)
        label = {"1 workers": "Dask, 1 worker", "2 workers": "Dask, 2 workers"}.get(by, by)
        ax.loglog(*zip(*rows, strict=True), "o-", color=f"C{number}", label=label)
    ax.set(xlabel=f"series of {found['samples_per_series']} samples", ylabel="series per second")
    ax.legend()
    return figure


FUNCTIONS: dict[str, Callable[[], Figure]] = {
    "four-weights": four_weights,
    "cells-of-lag": cells_of_lag,
    "how-a-forecast-is-made": how_a_forecast_is_made,
    "printed-legt": printed_legt,
    "cost-per-sample": cost_per_sample,
    "estimators": estimators_measured,
    "series-per-second": series_per_second,
}


def make_from_pages(names: set[str]) -> None:
    """Run the code of every page that saves a wanted picture, in an empty folder, and keep what it saved."""
    for page in sorted(DOCS.glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        saved = set(re.findall(r"savefig\(\"([\w-]+)\.png\"", "".join(blocks)))
        if not saved & names:
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder), style():
            names_of_page = {"__name__": "__document__"}
            for block in blocks:
                exec(compile(block, page, "exec"), names_of_page)
            for name in sorted(saved & names):
                keep(name, (Path(folder) / f"{name}.png").read_bytes())


# Script in examples/, the picture that it writes, a file that it needs -> picture of the documents.
EXAMPLES = {
    "multiscale-ecg": ("ecg_in_one_state.py", "ecg.png", "ecg/100.dat"),
    "early-beats": ("early_beats.py", "beats.png", "ecg/100.dat"),
    "forecast-load": ("forecast_load.py", "load.png", "ett/ETTh1.csv"),
    "nonlinear-circuit": ("nonlinear_circuit.py", "circuit.png", "silverbox/SNLS80mV.csv"),
}


def make_from_examples(names: set[str]) -> None:
    """Run the examples whose data is here."""
    for name, (script, picture, needed) in EXAMPLES.items():
        if name not in names:
            continue
        try:
            data_file(needed)
        except MissingDataError:
            print(f"{name}.png stays as it is: {needed} is not here")
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            sys.argv = [script]
            runpy.run_path(str(DOCS.parent / "examples" / script), run_name="__main__")
            keep(name, Path(picture).read_bytes())


def pictures_of_pages() -> set[str]:
    """The names of all pictures that code on a page saves."""
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    return set(re.findall(r"savefig\(\"([\w-]+)\.png\"", text))


def main(asked: list[str]) -> None:
    """Make the pictures asked for, or all."""
    every = {"a-readable-past", *EXAMPLES, *SECTIONS.values(), *FUNCTIONS, *pictures_of_pages()}
    names = set(asked) or every
    if unknown := names - every:
        sys.exit(f"no such picture: {', '.join(sorted(unknown))}; there are {', '.join(sorted(every))}")
    for section in discover_sections():
        if section.title == "A readable past" and "a-readable-past" in names:
            for theme in ("light", "dark"):
                with style(dark=theme == "dark"):
                    keep(f"a-readable-past-{theme}", drawn(of_section(section), 200))
        if SECTIONS.get(section.title) in names:
            with style():
                keep(SECTIONS[section.title], drawn(of_section(section)))
    for name, draw in FUNCTIONS.items():
        if name in names:
            with style():
                keep(name, drawn(draw()))
    make_from_pages(names)
    make_from_examples(names)


if __name__ == "__main__":
    main(sys.argv[1:])
