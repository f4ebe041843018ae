"""Associative recall: tokens of two kinds in turn; which B followed this A, most recently? Also with many queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo._internal.arguments import whole_number

__all__ = [
    "Recall",
    "TokenTable",
    "associative_recall",
    "copy_last_accuracy",
    "multi_query_recall",
    "random_tokens",
]


class TokenTable(NamedTuple):
    """What the tokens look like: one row each, of length one; first the A, then the B, then WRITE.

    Examples
    --------
    >>> table = TokenTable(np.eye(5), n_keys=2, n_values=2)
    >>> table.vectors.shape
    (5, 5)
    """

    vectors: Float[np.ndarray, "tokens size"]  #: One row per token.
    #: How many A and how many B there are.
    n_keys: int
    n_values: int

    @property
    def write(self) -> int:
        """The number of the WRITE token."""
        return self.n_keys + self.n_values

    def label(self, token: int | np.integer) -> str:
        """The name of a token, as it stands in pictures.

        Examples
        --------
        >>> table = random_tokens(np.random.default_rng(0))
        >>> table.label(0), table.label(12), table.label(24)
        ('a1', 'b1', 'WRITE')
        """
        if token == self.write:
            return "WRITE"
        return f"a{token + 1}" if token < self.n_keys else f"b{token - self.n_keys + 1}"

    def nearest(self, vectors: Float[np.ndarray, "*moments size"]) -> Int[np.ndarray, "*moments"]:
        """The token that each vector is nearest to, of all there are.

        Examples
        --------
        >>> table = random_tokens(np.random.default_rng(0))
        >>> int(table.nearest(0.8 * table.vectors[7]))
        7
        """
        # All tokens have length one, so the nearest is the one with the largest product.
        return np.asarray(np.argmax(vectors @ self.vectors.T, axis=-1))


class Recall(NamedTuple):
    """Episodes of a recall task.

    Examples
    --------
    >>> episodes = Recall(np.array([[0, 5, 0]]), np.array([[-1, -1, 5]]))
    >>> episodes.tokens.shape
    (1, 3)
    """

    tokens: Int[np.ndarray, "episodes time"]  #: What is shown, as token numbers.
    answers: Int[np.ndarray, "episodes time"]  #: What is to be said; -1 where silence is.

    @property
    def asked(self) -> Bool[np.ndarray, "episodes time"]:
        """Where an answer is wanted."""
        return self.answers >= 0

    def inputs(self, table: TokenTable) -> Float[np.ndarray, "episodes time size"]:
        """What is shown, as vectors."""
        return table.vectors[self.tokens]

    def targets(self, table: TokenTable) -> Float[np.ndarray, "episodes time size"]:
        """What is to be said, as vectors: zero where silence is."""
        return np.where(self.asked[..., None], table.vectors[self.answers], 0.0)


def random_tokens(rng: np.random.Generator, n_keys: int = 12, n_values: int = 12, size: int = 24) -> TokenTable:
    """A table of random directions; the defaults are the paper's.

    Examples
    --------
    >>> table = random_tokens(np.random.default_rng(0))
    >>> table.vectors.shape, bool(np.allclose(np.linalg.norm(table.vectors, axis=1), 1))
    ((25, 24), True)
    """
    n_keys, n_values = whole_number("n_keys", n_keys), whole_number("n_values", n_values)
    vectors = rng.standard_normal((n_keys + n_values + 1, whole_number("size", size)))
    return TokenTable(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), n_keys, n_values)


def associative_recall(
    episodes: int, rng: np.random.Generator, pairs: int = 5, n_keys: int = 12, n_values: int = 12
) -> Recall:
    """The paper's task: pairs of an A and a B, then an A seen before, then WRITE, where its latest B is the answer.

    Tokens are drawn with replacement, so an A may come twice; the queried A is that of a pair drawn uniformly. With
    5 pairs an episode has 12 steps.

    Parameters
    ----------
    episodes
        How many.
    rng
        Where the randomness comes from.
    pairs
        Pairs before the query.
    n_keys, n_values
        How many A and B there are.

    Examples
    --------
    >>> table = random_tokens(np.random.default_rng(0))
    >>> episode = associative_recall(1, np.random.default_rng(1))
    >>> " ".join(table.label(token) for token in episode.tokens[0])
    'a6 b2 a7 b10 a10 b12 a12 b3 a1 b4 a1 WRITE'
    >>> table.label(episode.answers[0, -1])
    'b4'
    """
    return multi_query_recall(episodes, rng, pairs, queries=1, n_keys=n_keys, n_values=n_values)


def multi_query_recall(
    episodes: int, rng: np.random.Generator, pairs: int = 5, queries: int = 4, n_keys: int = 12, n_values: int = 12
) -> Recall:
    """The same with several queries: all pairs first, then ``A WRITE A WRITE …``, each A one of those seen.

    Nothing may be lost by being asked for: two queries may name the same A.

    Parameters
    ----------
    episodes, rng, pairs, n_keys, n_values
        As in `associative_recall`.
    queries
        Queries after the pairs.

    Examples
    --------
    >>> multi_query_recall(3, np.random.default_rng(0), pairs=8, queries=4).tokens.shape
    (3, 24)
    """
    episodes, pairs = whole_number("episodes", episodes), whole_number("pairs", pairs)
    queries = whole_number("queries", queries)
    n_keys, n_values = whole_number("n_keys", n_keys), whole_number("n_values", n_values)
    keys = rng.integers(n_keys, size=(episodes, pairs))
    values = n_keys + rng.integers(n_values, size=(episodes, pairs))
    asked = np.take_along_axis(keys, rng.integers(pairs, size=(episodes, queries)), axis=1)
    # The latest pair with the key asked for: the first match when the pairs are read backwards.
    matches = keys[:, None, ::-1] == asked[:, :, None]
    latest = pairs - 1 - np.argmax(matches, axis=2)
    length = 2 * (pairs + queries)
    tokens = np.full((episodes, length), n_keys + n_values)
    tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = keys, values
    tokens[:, 2 * pairs :: 2] = asked
    answers = np.full((episodes, length), -1)
    answers[:, 2 * pairs + 1 :: 2] = np.take_along_axis(values, latest, axis=1)
    return Recall(tokens, answers)


def copy_last_accuracy(pairs: int = 5, n_keys: int = 12, n_values: int = 12) -> float:
    """How often "the last B" is the answer: what a model reaches that binds nothing. True chance is 1 / n_values.

    Examples
    --------
    >>> round(copy_last_accuracy(), 4)
    0.3278
    """
    last_pair = 1 / pairs + (1 - 1 / pairs) / n_keys
    return last_pair + (1 - last_pair) / n_values
