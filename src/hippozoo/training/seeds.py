"""Randomness that depends on a seed and a place, and on nothing that ran before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Int

from hippozoo._internal.arguments import whole_number

__all__ = ["Epochs", "seeded", "step_rng"]

# The purposes of one seed are kept apart, so that data, order and weights do not repeat each other.
DATA, ORDER, WEIGHTS, NOISE = range(4)


def step_rng(seed: int, step: int) -> np.random.Generator:
    """The generator of one training step: the same whether the run came here in one go or was resumed.

    Examples
    --------
    >>> bool(step_rng(0, 7).random() == step_rng(0, 7).random())
    True
    """
    return np.random.default_rng([DATA, seed, step])


def torch_seed(purpose: int, *place: int) -> int:
    """One whole number for `torch.manual_seed` from a purpose and a place."""
    return int(np.random.SeedSequence([purpose, *place]).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random weights drawn inside this block depend on the seed alone; the caller's own randomness is left alone.

    Examples
    --------
    >>> with seeded(0):
    ...     one = torch.nn.Linear(2, 3)
    >>> with seeded(0):
    ...     two = torch.nn.Linear(2, 3)
    >>> bool((one.weight == two.weight).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(WEIGHTS, whole_number("seed", seed, minimum=0)))
        yield


class Epochs:
    """Which items of a finite data set each step takes: all of them once, in random order, then all of them again.

    Parameters
    ----------
    items
        Number of items there are.
    size
        Number of items in a batch; what is left at the end of an epoch is dropped.
    seed
        Of the order.

    Examples
    --------
    >>> order = Epochs(items=6, size=2, seed=0)
    >>> sorted(np.concatenate([order(step) for step in (0, 1, 2)]).tolist())
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, items: int, size: int, seed: int = 0) -> None:
        self.items = whole_number("items", items)
        self.size = whole_number("size", size)
        self.seed = whole_number("seed", seed, minimum=0)
        if self.size > self.items:
            raise ValueError(f"size={size}, but there are {items} items; pass size <= {items}.")
        self.steps = self.items // self.size
        self._shuffled: tuple[int, np.ndarray] | None = None

    def __call__(self, step: int) -> Int[np.ndarray, " size"]:
        """The items of one step, counted from 0 and going on through the epochs."""
        epoch, place = divmod(step, self.steps)
        if self._shuffled is None or self._shuffled[0] != epoch:
            order = np.random.default_rng([ORDER, self.seed, epoch]).permutation(self.items)
            self._shuffled = epoch, order
        return self._shuffled[1][place * self.size : (place + 1) * self.size]
