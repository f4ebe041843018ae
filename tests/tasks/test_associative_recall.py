"""The recall tasks: what is shown, what is asked, and how far one comes without binding anything."""

import numpy as np
import pytest

from hippozoo.tasks.associative_recall import (
    associative_recall,
    copy_last_accuracy,
    multi_query_recall,
    random_tokens,
)


def slow_answer(tokens, position, n_keys):
    """Walk back from the WRITE to the latest earlier step with the token before it, and take what came next."""
    for t in range(position - 3, -1, -2):
        if tokens[t] == tokens[position - 1] and tokens[t + 1] >= n_keys:
            return tokens[t + 1]
    raise AssertionError("the query was never shown")


@pytest.mark.parametrize(("pairs", "queries"), [(5, 1), (1, 1), (7, 6), (30, 3)])
def test_the_answer_is_what_followed_the_queried_token_most_recently(rng, pairs, queries):
    data = multi_query_recall(200, rng, pairs, queries, n_keys=6, n_values=9)
    for tokens, answers in zip(data.tokens, data.answers, strict=True):
        pairs_only = tokens[: 2 * pairs]
        for t in range(2 * pairs + 1, len(tokens), 2):
            shown = np.append(pairs_only, tokens[t - 1 : t + 1])
            assert answers[t] == slow_answer(shown, len(shown) - 1, 6)


def test_an_episode_alternates_between_the_kinds_and_ends_with_write(rng):
    data, table = associative_recall(300, rng), random_tokens(rng)
    assert data.tokens.shape == (300, 12)
    assert (data.tokens[:, ::2] < 12).all()
    assert ((data.tokens[:, 1:-1:2] >= 12) & (data.tokens[:, 1:-1:2] < 24)).all()
    assert (data.tokens[:, -1] == table.write).all()
    assert (data.asked == (np.arange(12) == 11)).all()
    assert len(np.unique(data.tokens)) == 25


def test_targets_are_zero_but_for_the_answer(rng):
    data, table = associative_recall(50, rng), random_tokens(rng)
    targets = data.targets(table)
    assert (targets[:, :-1] == 0).all()
    np.testing.assert_array_equal(table.nearest(targets[:, -1]), data.answers[:, -1])
    np.testing.assert_array_equal(table.nearest(data.inputs(table)), data.tokens)


@pytest.mark.parametrize(("pairs", "n_keys", "n_values"), [(5, 12, 12), (2, 3, 4), (20, 12, 5)])
def test_copying_the_last_b_scores_what_the_formula_says(rng, pairs, n_keys, n_values):
    data = associative_recall(200_000, rng, pairs, n_keys, n_values)
    found = np.mean(data.tokens[:, 2 * pairs - 1] == data.answers[:, -1])
    assert abs(found - copy_last_accuracy(pairs, n_keys, n_values)) < 0.005  # four standard errors


def test_the_same_seed_gives_the_same_episodes():
    one, two = (associative_recall(5, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.tokens, two.tokens)
