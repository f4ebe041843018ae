"""Multi-query associative recall: as zoology defines it, and with keys asked for anywhere among other tokens."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo.tasks.associative_recall import Recall

__all__ = ["keyed_recall", "zoology_recall"]


def zoology_recall(
    episodes: int,
    rng: np.random.Generator,
    pairs: int = 8,
    length: int = 64,
    vocabulary: int = 512,
    power: float = 0.01,
) -> Recall:
    r"""Multi-query recall (MQAR) by its definition.

    Token 0 is blank, the rest of the first half of the vocabulary are keys, the second half values. In an episode no
    key and no value comes twice among the pairs, which stand first. The rest is cut into slots of two tokens; each key
    is asked for in a slot of its own, drawn without replacement with :math:`p(g) \propto g^{a - 1}` for slot g, so that
    most are asked for soon after the pairs. The answer is due at the key. All other places hold tokens drawn from the
    whole vocabulary, the keys of the episode among them: unlike in `keyed_recall`, a
    key of the episode may come by chance where nothing is asked.

    Examples
    --------
    >>> task = zoology_recall(2, np.random.default_rng(0), pairs=3, length=16, vocabulary=20)
    >>> asked = task.asked[0]
    >>> stored = dict(zip(task.tokens[0, :6:2].tolist(), task.tokens[0, 1:6:2].tolist()))
    >>> [stored[key] for key in task.tokens[0][asked].tolist()] == task.answers[0][asked].tolist()
    True

    References
    ----------
    Arora et al. (2023), Zoology: measuring and improving recall in efficient language models, section on MQAR.
    """
    episodes, pairs = whole_number("episodes", episodes), whole_number("pairs", pairs)
    length, vocabulary = whole_number("length", length), whole_number("vocabulary", vocabulary)
    power = positive_number("power", power)
    if length % 2:
        raise ValueError(f"length={length} is odd, but pairs and slots have two tokens; pass {length + 1}.")
    if length < 4 * pairs:
        raise ValueError(f"length={length} has no slots for {pairs} queries; pass at least {4 * pairs}.")
    half = vocabulary // 2
    if half - 1 < pairs:
        raise ValueError(
            f"vocabulary={vocabulary} has {half - 1} keys, fewer than pairs={pairs}; pass {2 * pairs + 2} or more."
        )
    keys = 1 + np.argsort(rng.random((episodes, half - 1)), axis=1)[:, :pairs]
    values = half + np.argsort(rng.random((episodes, vocabulary - half)), axis=1)[:, :pairs]
    slots = (length - 2 * pairs) // 2
    # The largest of log-probabilities with Gumbel noise: draws without replacement, one after the other.
    likely = (power - 1) * np.log(np.arange(1, slots + 1)) + rng.gumbel(size=(episodes, slots))
    places = 2 * pairs + 2 * np.argsort(-likely, axis=1)[:, :pairs]
    tokens = rng.integers(vocabulary, size=(episodes, length))
    tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = keys, values
    np.put_along_axis(tokens, places, keys, axis=1)
    answers = np.full((episodes, length), -1)
    np.put_along_axis(answers, places, values, axis=1)
    return Recall(tokens, answers)


def keyed_recall(
    episodes: int, rng: np.random.Generator, pairs: int = 8, length: int = 64, vocabulary: int = 512
) -> Recall:
    """Multi-query recall: pairs first, then every key once among noise, its value asked for there.

    Keys are the first half of the vocabulary, values the second. In an episode no key comes twice among the pairs. The
    noise is any token but its keys, so that nothing is written anew. After zoology's task, from which it differs: there
    queries come soon rather than anywhere, values do not repeat, and the noise may hold the episode's keys (see
    `zoology_recall`).

    Examples
    --------
    >>> task = keyed_recall(2, np.random.default_rng(0), pairs=3, length=16, vocabulary=20)
    >>> asked = task.answers[0] >= 0
    >>> [int(task.tokens[0, list(task.tokens[0, :6:2]).index(key) * 2 + 1]) for key in task.tokens[0][asked]]
    [10, 10, 14]
    >>> task.answers[0][asked].tolist()
    [10, 10, 14]

    References
    ----------
    Arora et al. (2023), Zoology: measuring and improving recall in efficient language models.
    """
    episodes, pairs = whole_number("episodes", episodes), whole_number("pairs", pairs)
    length, vocabulary = whole_number("length", length), whole_number("vocabulary", vocabulary)
    if length < 3 * pairs:
        raise ValueError(f"length={length} has no room for {pairs} pairs and their queries; pass at least {3 * pairs}.")
    half = vocabulary // 2
    if half < pairs:
        raise ValueError(
            f"vocabulary={vocabulary} has {half} keys, fewer than pairs={pairs}; pass {2 * pairs} or more."
        )
    keys = np.argsort(rng.random((episodes, half)), axis=1)[:, :pairs]
    values = half + rng.integers(vocabulary - half, size=(episodes, pairs))
    # Noise: a number among the tokens that are no key of this episode.
    is_key = np.zeros((episodes, vocabulary), bool)
    np.put_along_axis(is_key, keys, True, axis=1)
    others = np.argsort(is_key, axis=1, kind="stable")[:, : vocabulary - pairs]
    tokens = np.take_along_axis(others, rng.integers(vocabulary - pairs, size=(episodes, length)), axis=1)
    tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = keys, values
    places = 2 * pairs + np.argsort(rng.random((episodes, length - 2 * pairs)), axis=1)[:, :pairs]
    np.put_along_axis(tokens, places, keys, axis=1)
    answers = np.full((episodes, length), -1)
    np.put_along_axis(answers, places, values, axis=1)
    return Recall(tokens, answers)
