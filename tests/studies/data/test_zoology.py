"""Zoology's multi-query recall: pairs first, every key asked for once, soon rather than late."""

import numpy as np
import pytest

from hippozoo_studies.data.zoology import zoology_recall


@pytest.fixture
def task(rng):
    return zoology_recall(400, rng, pairs=6, length=48, vocabulary=64)


def test_pairs_stand_first_and_no_key_or_value_comes_twice_among_them(task):
    keys, values = task.tokens[:, 0:12:2], task.tokens[:, 1:12:2]
    assert keys.min() >= 1
    assert keys.max() < 32 <= values.min()
    for part in (keys, values):
        assert all(len(set(row)) == 6 for row in part.tolist())


def test_every_key_is_asked_for_once_and_its_value_is_due_there(task):
    for tokens, answers in zip(task.tokens.tolist(), task.answers.tolist(), strict=True):
        stored = dict(zip(tokens[0:12:2], tokens[1:12:2], strict=True))
        asked = [place for place, answer in enumerate(answers) if answer >= 0]
        assert sorted(tokens[place] for place in asked) == sorted(stored)
        assert all(answers[place] == stored[tokens[place]] for place in asked)
        assert all(place >= 12 and place % 2 == 0 for place in asked)


def test_the_first_query_drawn_follows_the_power_law(rng):
    one = zoology_recall(20_000, rng, pairs=1, length=22, vocabulary=64, power=0.5)
    slots = (np.argmax(one.asked, axis=1) - 2) // 2
    wanted = np.arange(1.0, 11.0) ** -0.5
    np.testing.assert_allclose(np.bincount(slots, minlength=10) / 20_000, wanted / wanted.sum(), atol=0.012)


def test_noise_is_any_token_also_a_key_of_the_episode(task):
    noise = np.where(task.asked[:, 12:], -1, task.tokens[:, 12:])
    assert set(np.unique(noise)) == {-1, *range(64)}
    keys = task.tokens[:, 0:12:2]
    assert (noise[:, :, None] == keys[:, None]).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 31}, "length=31 is odd"),
        ({"length": 20}, "no slots for 6 queries; pass at least 24"),
        ({"vocabulary": 12}, "has 5 keys, fewer than pairs=6; pass 14"),
        ({"power": 0.0}, "power"),
    ],
)
def test_what_does_not_fit_is_refused(options, words, rng):
    with pytest.raises(ValueError, match=words):
        zoology_recall(2, rng, **({"pairs": 6, "length": 48, "vocabulary": 64} | options))
