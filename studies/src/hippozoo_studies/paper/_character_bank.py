"""What a trained model shows of a text: which earlier characters its bank recalls, or how its clock runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from hippozoo.zoo.associative import Recall
from hippozoo_studies import drawing
from hippozoo_studies.data.text import encode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ASKED", "TEXT", "carriers_of", "draw_bank", "draw_clock"]

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


def draw_bank(model: Any, folder: Path, name: str, title: str) -> None:
    """The whole text as a matrix, and some moments with the characters that carry most."""
    carriers = carriers_of(model, TEXT)
    with drawing(folder, name, (11.5, 5.6)) as figure:
        figure.suptitle(title)
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
        right.axes[-1].set_xlabel("share of what is recalled (orange: the character that comes)")


@torch.no_grad()
def draw_clock(model: Any, folder: Path, name: str, title: str, begin: int = 230, shown: int = 96) -> None:
    """The time that each block of Mamba with one clock gives to each character of a part of the text."""
    mamba = model.eval().core
    codes = torch.from_numpy(encode(TEXT).astype(np.int64))[None]
    steps = mamba.time_steps(model.embedded(codes))[0, begin : begin + shown].mean(-1).T.numpy()
    # Blocks differ by factors; what is told is where each of them runs fast or slow.
    steps = steps / steps.mean(1, keepdims=True)
    with drawing(folder, name, (0.118 * shown + 1.6, 0.42 * len(steps) + 1.5)) as figure:
        ax = figure.subplots()
        picture = ax.imshow(steps, cmap="viridis", norm="log", aspect="auto", interpolation="nearest")
        bar = figure.colorbar(picture, ax=ax, pad=0.01, label="step, relative to\nthe block's mean")
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if steps.min() <= tick <= steps.max()]
        bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        bar.ax.minorticks_off()
        ax.set_xticks(range(shown), list(TEXT[begin : begin + shown]), family="monospace", fontsize=8)
        ax.set_yticks(range(len(steps)), [f"block {number + 1}" for number in range(len(steps))])
        ax.set(xlabel="characters of a text, in order", title=title)
        ax.tick_params(length=0)
        ax.grid(visible=False)


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
