"""Selective copying: remember the tokens that matter, forget the others, repeat them in order (paper, appendix)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo._internal.arguments import whole_number
from hippozoo._internal.immutable import read_only

__all__ = ["Episodes", "SelectiveCopying"]


class Episodes(NamedTuple):
    """A batch of episodes.

    Examples
    --------
    >>> episodes = SelectiveCopying().draw(4, np.random.default_rng(0))
    >>> episodes.inputs.shape, episodes.targets.shape
    ((4, 30, 32), (4, 30))
    """

    inputs: Float[np.ndarray, "batch time size"]  #: Token vectors, (batch, time, size).
    #: Their numbers, (batch, time): 0 is WRITE, 1 the uninformative token, 2 and up the informative ones.
    tokens: Int[np.ndarray, "batch time"]
    #: Which informative token is wanted, (batch, time), counted from 0; -1 where nothing is.
    targets: Int[np.ndarray, "batch time"]
    answering: Bool[np.ndarray, "batch time"]  #: Where something is wanted, (batch, time).


@dataclass(frozen=True)
class SelectiveCopying:
    """The task: `wanted` informative tokens among `distractors`, a delay, and then WRITE until all are repeated.

    All tokens are random directions of length 1, fixed by `seed`, so that tasks of different lengths share them.

    Parameters
    ----------
    wanted
        Informative tokens per episode, drawn with replacement.
    distractors
        Uninformative tokens among them, in random places.
    delay
        Further uninformative tokens between the last of these and the first WRITE.
    vocabulary
        Number of different informative tokens.
    size
        Numbers in a token's vector.
    seed
        Of the token vectors.

    Examples
    --------
    >>> task = SelectiveCopying()
    >>> episodes = task.draw(4, np.random.default_rng(0))
    >>> episodes.inputs.shape, int(episodes.answering.sum(1)[0])
    ((4, 30, 32), 10)
    >>> informative = episodes.tokens[0][episodes.tokens[0] >= 2] - 2
    >>> bool((episodes.targets[0][episodes.answering[0]] == informative).all())
    True

    References
    ----------
    Paper, appendix "Selective Copying Experiment".
    """

    wanted: int = 10
    distractors: int = 10
    delay: int = 0
    vocabulary: int = 16
    size: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name, minimum in (("wanted", 1), ("distractors", 0), ("delay", 0), ("vocabulary", 2), ("size", 1)):
            whole_number(name, getattr(self, name), minimum=minimum)
        whole_number("seed", self.seed, minimum=0)

    @property
    def length(self) -> int:
        """Samples in an episode."""
        return 2 * self.wanted + self.distractors + self.delay

    @cached_property
    def vectors(self) -> Float[np.ndarray, "tokens size"]:
        """One vector per token: WRITE, the uninformative one, and the informative ones."""
        drawn = np.random.default_rng([7, self.seed]).normal(size=(self.vocabulary + 2, self.size))
        return read_only(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))

    def draw(self, batch: int, rng: np.random.Generator) -> Episodes:
        """Fresh episodes."""
        batch = whole_number("batch", batch)
        shown = self.wanted + self.distractors
        places = np.argsort(rng.random((batch, shown)), axis=1)[:, : self.wanted]
        places.sort(axis=1)
        answers = rng.integers(self.vocabulary, size=(batch, self.wanted))
        tokens = np.ones((batch, self.length), int)
        np.put_along_axis(tokens, places, answers + 2, axis=1)
        tokens[:, -self.wanted :] = 0
        targets = np.full_like(tokens, -1)
        targets[:, -self.wanted :] = answers
        return Episodes(self.vectors[tokens], tokens, targets, targets >= 0)
