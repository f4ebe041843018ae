"""What the bank of a trained stack recalls of a text: which earlier characters carry what it says now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from hippozoo import checkpoint
from hippozoo.zoo.associative import Recall
from hippozoo_studies import drawing
from hippozoo_studies.data.text import encode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ASKED", "TEXT", "carriers_of", "draw_bank"]

#: A text of our own, tokenised as WikiText-2 is, whose names come twice or more.
TEXT = (
    "\n The lighthouse of Kerrowdown stands on a low cliff above the bay . It was built in 1846 by Hannah Brennock , "
    "who had drawn the plans herself . Ships from Porthwidden used to wait below the cliff until the light of "
    "Kerrowdown was lit . In the winter of 1871 the keeper was Elias Trevanion ; the log that he kept is held in the "
    "museum of Porthwidden . Hannah Brennock visited the lighthouse for the last time in 1872 . Elias Trevanion wrote "
    "that she climbed the stairs of Kerrowdown alone ."
)
#: Moments of it: the last time that these characters have been read.
ASKED = ("Porthw", "Hannah Br", "Elias Trev", "Kerrowd")
# Characters before a moment that are shown.
BEFORE = 14


@torch.no_grad()
def carriers_of(model: Any, text: str) -> Float[np.ndarray, "characters characters"]:
    """How much of each character of a text is in what the bank says after each of them; it begins empty."""
    bank = [one for one in model.modules() if isinstance(one, Recall)][-1]
    moments: list[Any] = []
    hook = bank.register_forward_pre_hook(lambda _, given: moments.append(given[0]))
    try:
        model.eval()(torch.from_numpy(encode(text).astype(np.int64))[None])
    finally:
        hook.remove()
    return bank.carriers(moments[0])[0].numpy()


def draw_bank(file: Path, folder: Path) -> None:
    """The whole text as a matrix, and some moments with the characters that carry most."""
    carriers = carriers_of(checkpoint.load(file), TEXT)
    with drawing(folder, "bank", (11.5, 5.6)) as figure:
        whole, right = figure.subfigures(1, 2, width_ratios=[1.2, 1], squeeze=False)[0]
        ax = whole.subplots()
        size = len(TEXT)
        picture = ax.imshow(
            np.abs(carriers), cmap="Blues", vmax=0.2, interpolation="nearest", extent=(0, size, size, 0)
        )
        whole.colorbar(picture, ax=ax, shrink=0.6, location="bottom", label="share of what is recalled (absolute)")
        ax.set(xlabel="stored character (place in the text)", ylabel="query (place in the text)", title="whole text")
        ax.grid(visible=False)
        for place, (asked, ax) in enumerate(zip(ASKED, right.subplots(len(ASKED), 1, sharex=True), strict=True)):
            now = TEXT.rfind(asked) + len(asked) - 1
            ax_of_whole = whole.axes[0]
            ax_of_whole.axhline(now + 0.5, color="C1", linewidth=0.5, alpha=0.5)
            ax_of_whole.annotate(str(place + 1), (size, now), color="C1", fontsize=8, annotation_clip=False)
            _draw_moment(ax, carriers[now], now)
            ax.set_title(f"{place + 1}: after “…{_shown(now)}” comes “{TEXT[now + 1]}”; what is recalled:", fontsize=9)
        right.axes[-1].set_xlabel("share of what is recalled")


def _draw_moment(ax: Axes, weights: np.ndarray, now: int, shown: int = 4) -> None:
    """The characters that carry most at one moment, each behind the context under which it was stored."""
    largest = np.argsort(-np.abs(weights))[:shown].tolist()
    ax.barh(range(shown), weights[largest], color=["C1" if TEXT[one] == TEXT[now + 1] else "C0" for one in largest])
    labels = [f"…{_shown(one - 1)} | {TEXT[one]}" for one in largest]
    ax.set_yticks(range(shown), labels, fontsize=8, family="monospace")
    ax.axvline(0.0, color="0.5", linewidth=0.6)
    ax.invert_yaxis()


def _shown(place: int) -> str:
    return TEXT[max(0, place - BEFORE + 1) : place + 1].replace("\n", "↵")
