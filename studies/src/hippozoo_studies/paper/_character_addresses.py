"""Why a bank helps one stack and not another: which characters its addresses keep, and what its answers add."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hippozoo.zoo.associative import Recall
from hippozoo_studies import drawing

__all__ = ["draw_addresses", "latest_in_common", "look_at_addresses"]

#: Pairs of moments are told apart by so many characters; those that agree in more count with them.
MOST = 10
#: Pieces of the text that are read side by side, each from an empty bank, and characters of each.
PIECES, LENGTH = 8, 2_048


def latest_in_common(codes: Int[Tensor, " time"], most: int = MOST) -> Int[Tensor, "time time"]:
    """In how many of the latest characters two moments agree, counted back from each of them, up to `most`.

    Examples
    --------
    >>> latest_in_common(torch.tensor([1, 2, 3, 1, 2]))[4]
    tensor([0, 2, 0, 0, 5])
    """
    same: Bool[Tensor, "time time"] = codes[:, None] == codes[None]
    common, here = same.long(), same
    for _ in range(most - 1):
        before = torch.zeros_like(here)
        before[1:, 1:] = here[:-1, :-1]
        here = same & before
        common += here
    return common


class _Heard:
    """What a bank was given, and what it gave."""

    moments: Tensor
    recalled: Tensor


@contextmanager
def _hearing(bank: Recall, silenced: bool = False) -> Any:
    """Listen to a bank, or let it give nothing but zeros."""
    heard = _Heard()

    def after(_: nn.Module, given: tuple[Any, ...], made: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        heard.moments, heard.recalled = given[0], made[0]
        return (torch.zeros_like(made[0]), made[1]) if silenced else made

    handle = bank.register_forward_hook(after)
    try:
        yield heard
    finally:
        handle.remove()


@torch.no_grad()
def look_at_addresses(model: Any, codes: np.ndarray, pieces: int = PIECES, length: int = LENGTH) -> dict[str, Any]:
    """How a trained model of characters uses its bank.

    Parameters
    ----------
    model
        ``scores, state = model(codes)``, with a `Recall` and an ``embedding``.
    codes
        The text.
    pieces, length
        Pieces of the text that are read, each from an empty bank.
    """
    bank = [one for one in model.eval().modules() if isinstance(one, Recall)][-1]
    length = min(length, len(codes) // pieces - 1)
    starts = np.arange(pieces) * (len(codes) // pieces)
    text = torch.from_numpy(np.stack([codes[start : start + length + 1] for start in starts]).astype(np.int64))
    inputs, targets = text[:, :-1], text[:, 1:]
    with _hearing(bank) as heard:
        scores, _ = model(inputs)
    with _hearing(bank, silenced=True):
        without, _ = model(inputs)
    cut = heard.moments[..., : bank.factors * bank.directions].unflatten(-1, (bank.factors, bank.directions))
    parts = functional.normalize(cut, dim=-1)
    totals, counts = np.zeros(MOST + 1), np.zeros(MOST + 1)
    pairs = np.tril_indices(length, -1)
    for codes_here, parts_here in zip(inputs, parts, strict=True):
        overlap = torch.ones(length, length)
        for part in parts_here.unbind(1):
            overlap = overlap * (part @ part.mT)
        common = latest_in_common(codes_here)[pairs].numpy()
        totals += np.bincount(common, overlap.abs()[pairs].numpy(), MOST + 1)
        counts += np.bincount(common, minlength=MOST + 1)
    embedding = getattr(model.embedding, "weight", model.embedding)
    named = (heard.recalled @ embedding.mT).argmax(-1) == targets
    missed = without.argmax(-1) != targets
    return {
        "overlap": {str(count): totals[count] / counts[count] for count in range(MOST + 1) if counts[count]},
        "perplexity": _perplexity(scores, targets),
        "perplexity_silenced": _perplexity(without, targets),
        "bank_right": named.double().mean().item(),
        "bank_right_where_rest_is_wrong": named[missed].double().mean().item() if missed.any() else None,
        "addresses": bank.directions**bank.factors,
    }


def _perplexity(scores: Float[Tensor, "pieces time symbols"], targets: Int[Tensor, "pieces time"]) -> float:
    return math.exp(functional.cross_entropy(scores.flatten(0, 1), targets.flatten()).item())


def draw_addresses(looks: Mapping[str, Mapping[str, Any]], folder: Path, quick: str = "") -> None:
    """How far the addresses of two moments agree, by how many of their latest characters are the same.

    Parameters
    ----------
    looks
        From the name of a stack to what `look_at_addresses` found.
    folder
        Where the picture goes.
    quick
        What the title adds.
    """
    with drawing(folder, "addresses", (6.4, 3.8)) as figure:
        ax = figure.subplots()
        for name, one in looks.items():
            counts = [int(count) for count in one["overlap"]]
            ax.plot(counts, list(one["overlap"].values()), "o-", markersize=4, label=name)
        ax.set(
            xlabel=f"latest characters in common ({MOST}: or more)",
            ylabel="overlap of their addresses (mean, 1: the same)",
            title=f"What the address of a moment keeps{quick}",
            ylim=(0, 1.03),
        )
        ax.legend(loc="lower right", fontsize=9)
