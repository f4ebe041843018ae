"""Text by characters with explicit memories alone: what followed contexts like this one, then reads of the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import Factory, SequenceModel
from hippozoo.layers.configured import largest_size
from hippozoo.memory.lags import LagLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import Recall

__all__ = ["explicit_characters"]

# What the norm before the choice of a symbol starts with: at one, a tied embedding would say every symbol twice.
LAST_NORM = 0.25
WINDOWS = (8.0, 32.0, 128.0)


def explicit_characters(
    params: int = 25_000,
    tokens: int = 96,
    tied: bool = True,
    blocks: int = 4,
    recall: bool = True,
    windows: Sequence[float] = WINDOWS,
    order: int = 3,
    taps: int = 4,
    products: int = 1,
    shapes: int | None = 4,
    directions: int | None = None,
    **options: Any,
) -> SequenceModel:
    """A language model whose only recurrent state is coefficients, a bank, and a few recent samples.

    Blocks of `LagLayer` read every channel's past by lag functionals of fixed windows and of the last few samples, with
    products of such reads. What they make of the past is a context, and the last block is a `Recall`: it looks up what
    came next when it was like this before. Nothing else is recurrent.

    Parameters
    ----------
    params
        The model is the widest of at most so many parameters.
    tokens
        Size of the alphabet.
    tied
        Whether symbols are chosen by the embedding itself.
    blocks
        Of lag functionals.
    recall
        Whether there is a bank.
    windows, order, taps, products, shapes
        Of the lag functionals: Leg-T memories of `order` at each of the `windows`, free recent samples, products of two
        reads, and the number of kernels that all functionals of a block are mixtures of (None: each has its own).
    directions
        Of the bank's addresses; by default half the width.
    options
        Of the blocks; see `hippozoo.layers.Block`.

    Examples
    --------
    >>> import torch
    >>> from hippozoo.layers import parameter_count
    >>> model = explicit_characters(params=5_000)
    >>> scores, state = model(torch.tensor([[5, 17, 5, 17]]))
    >>> scores.shape, parameter_count(model) <= 5_000
    (torch.Size([1, 4, 96]), True)
    """
    params = whole_number("params", params)
    systems = tuple(LegT(min(order, int(window)), float(window)) for window in windows)

    def reads(width: int) -> LagLayer:
        return LagLayer(systems, width, taps, products=products, shapes=shapes)

    def bank(width: int) -> Recall:
        factors = min(2, width)  # the search for a width begins at 1
        most = width // factors
        return Recall(width, factors, most if directions is None else min(directions, most))

    layers: list[Factory] = [*([reads] * blocks), *([bank] if recall else [])]

    def build(width: int) -> SequenceModel:
        return SequenceModel(tokens=tokens, tied=tied, layers=layers, width=width, **options)

    model = build(largest_size(build, params, "SequenceModel"))
    nn.init.constant_(model.norm.weight, LAST_NORM)
    return model
