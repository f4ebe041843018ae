"""How much a recurrent model carries on."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from hippozoo._internal.nests import map_leaves

__all__ = ["numbers_of_state"]


def numbers_of_state(model: Any) -> int | None:
    """How many numbers a model carries on from one sample to the next, for one sequence.

    None for a model of the user's own that has no `initial_state` to tell by.

    Examples
    --------
    >>> from hippozoo.baselines import LSTM
    >>> numbers_of_state(LSTM(3, 2, width=8))
    16
    """
    if not hasattr(model, "initial_state"):
        return None
    sizes: list[int] = []
    map_leaves(lambda leaf: sizes.append(leaf.numel()) if isinstance(leaf, Tensor) else None, model.initial_state(1))
    return sum(sizes)
