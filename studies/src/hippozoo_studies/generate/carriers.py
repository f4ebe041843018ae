"""Which earlier characters carried the choice of the next one: through the bank, and altogether."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from hippozoo._internal.files import make_folder
from hippozoo.layers import SequenceModel
from hippozoo.zoo.associative import Recall
from hippozoo_studies.data.text import ALPHABET, encode

__all__ = ["Carriers", "draw_carriers", "what_carried"]

# Characters looked back on: what a picture can show, and a bank filled from there on.
REACH = 256


@dataclass(frozen=True, eq=False)
class Carriers:
    """What carried the choice of one character.

    Parameters
    ----------
    text
        The characters before it, newest last.
    chosen
        The character.
    influence
        Of each of them on the score of the chosen one: slope times value, summed over the embedding.
    recalled
        How much of each is in what the bank recalled, None for a model without a bank. The character is the one that
        followed a moment like the present.
    """

    text: str
    chosen: str
    influence: Float[np.ndarray, " time"]
    recalled: Float[np.ndarray, " time"] | None


def what_carried(model: SequenceModel, text: str, chosen: str) -> Carriers:
    """Which characters of a text carried the choice of the one after it; its last 256 are looked at.

    Parameters
    ----------
    model
        A model of characters.
    text
        What stands before.
    chosen
        The character that was chosen.

    Examples
    --------
    >>> from hippozoo.models import explicit_characters
    >>> found = what_carried(explicit_characters(params=3_000), "abcabcab", "c")
    >>> found.influence.shape, found.recalled.shape
    ((8,), (8,))
    """
    text = text[-REACH:]
    codes = torch.from_numpy(encode(text).astype("int64"))
    with torch.enable_grad():
        x = cast(nn.Embedding, model.embedding)(codes[None]).detach().requires_grad_()
        y, _ = model.stack(x)
        score = model._answer(model.norm(y))[0, -1, ALPHABET.index(chosen)]
        (slope,) = torch.autograd.grad(score, x)
    influence = (slope * x.detach())[0].sum(-1).double().numpy()
    return Carriers(text, chosen, influence, _recalled(model, x.detach()))


@torch.no_grad()
def _recalled(model: SequenceModel, x: Any) -> Float[np.ndarray, " time"] | None:
    weights = None
    for block in model.layers:
        if isinstance(block.layer, Recall):
            moments = block.enter(block.before(x))[..., : block.width]
            weights = block.layer.carriers(moments)[0, -1].double().numpy()
        x, _ = block(x)
    return weights


def draw_carriers(found: Carriers, path: Path, shown: int = 80) -> None:
    """A picture of the last characters, and what each of them carried."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style, write_figure

    text = found.text[-shown:]
    rows = [(found.influence, "influence on\nthe score")]
    if found.recalled is not None:
        rows.append((found.recalled, "weight in what\nthe bank recalled"))
    labels = [{" ": "␣", "\n": "↵", "$": r"\$"}.get(symbol, symbol) for symbol in text]
    with style():
        figure = Figure(figsize=(max(6.0, 0.16 * len(text)), 1.6 * len(rows) + 0.7), layout="constrained")
        axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (values, words) in zip(axes, rows, strict=True):
            ax.bar(range(len(text)), values[-shown:])
            ax.set_ylabel(words, fontsize=8)
            ax.set_xticks(range(len(text)), labels, fontsize=8)
            ax.tick_params(labelbottom=True)
            ax.margins(x=0.01)
        axes[0].set_title(f"What carried the choice of {found.chosen!r} after these characters".replace("$", r"\$"))
        axes[-1].set_xlabel("characters, newest last")
        make_folder(path.parent)
        write_figure(figure, path, dpi=150)
