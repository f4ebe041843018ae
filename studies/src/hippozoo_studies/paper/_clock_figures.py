"""The figures of Salience beside Mamba: which characters take time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hippozoo_studies import Result, drawing

# Characters that can be told apart below an axis.
LEGIBLE = 110


#: Kinds of character that a reader knows, by what stands at a place of a text and before it.
KINDS = ("space", "newline", "first letter of a word", "letter inside a word", "digit", "punctuation")


def draw_clocks(result: Result, folder: Path) -> None:
    """Which characters and kinds take time, and an excerpt of the text."""
    if "excerpt" not in result.arrays:
        return
    titles = {"mamba": "Mamba, mean time step", "salience": "Salience"}
    with drawing(folder, "characters", (9, 3.6)) as figure:
        for ax, (name, means) in zip(figure.subplots(1, 2), result.arrays["by_character"].items(), strict=True):
            order = sorted(means, key=means.__getitem__)
            shown = order if len(order) <= 24 else order[:12] + order[-12:]
            ax.bar(range(len(shown)), [means[symbol] for symbol in shown])
            ax.set_xticks(range(len(shown)), [visible(symbol) for symbol in shown], fontsize=7)
            few = "" if len(shown) == len(order) else ": least and most time"
            ax.set(title=titles[name], ylabel="standard deviations from the mean", xlabel=f"character{few}")
            ax.grid(visible=False, axis="x")
    with drawing(folder, "kinds", (6, 3.2)) as figure:
        draw_kinds(figure.subplots(), result.metrics["by_kind"], titles)
    excerpt = result.arrays["excerpt"]
    with drawing(folder, "excerpt", (12, 3.2)) as figure:
        axes = figure.subplots(2, 1, sharex=True)
        for ax, name in zip(axes, titles, strict=True):
            text = excerpt["text"][:LEGIBLE]
            places = range(len(text))
            ax.bar(places, excerpt[name][:LEGIBLE])
            ax.set_ylabel(titles[name], fontsize=8)
            ax.set_xticks(places, [visible(symbol) for symbol in text], fontsize=7)
            ax.grid(visible=False, axis="x")
            ax.margins(x=0.005)
        axes[-1].set_xlabel("characters of the test text, in order")


def draw_kinds(ax: Any, by_kind: dict[str, dict[str, float]], titles: dict[str, str]) -> None:
    """What kinds of character take more time than others, both models side by side."""
    kinds = [kind for kind in KINDS if kind in by_kind["mamba"]]
    places, height = np.arange(len(kinds)), 0.38
    for number, (name, title) in enumerate(titles.items()):
        means = [by_kind[name][kind] for kind in kinds]
        ax.barh(places + (number - 0.5) * height, means, height, label=title)
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_yticks(places, kinds)
    ax.invert_yaxis()
    ax.set_xlabel("time taken: standard deviations from the mean of all characters")
    ax.legend()


def visible(symbol: str) -> str:
    """A character that can be seen on an axis."""
    return {" ": "␣", "\n": "↵", "$": r"\$"}.get(symbol, symbol)
