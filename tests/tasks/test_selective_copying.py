"""Episodes of selective copying are what the paper says they are."""

import numpy as np
import pytest

from hippozoo.tasks.selective_copying import SelectiveCopying


@pytest.mark.parametrize("task", [SelectiveCopying(), SelectiveCopying(wanted=3, distractors=20, delay=5)])
def test_an_episode_shows_the_wanted_tokens_then_asks_for_them_in_order(task, rng):
    episodes = task.draw(50, rng)
    shown = task.wanted + task.distractors
    for tokens, targets, answering in zip(episodes.tokens, episodes.targets, episodes.answering, strict=True):
        informative = tokens[tokens >= 2]
        assert len(informative) == task.wanted
        assert (tokens[:shown] == 1).sum() == task.distractors
        assert (tokens[shown : shown + task.delay] == 1).all()
        assert (tokens[-task.wanted :] == 0).all()
        assert answering.sum() == task.wanted
        assert targets[answering].tolist() == (informative - 2).tolist()
        assert (targets[~answering] == -1).all()


def test_tokens_are_unit_vectors_that_longer_tasks_share(rng):
    short, long = SelectiveCopying(), SelectiveCopying(distractors=100, delay=40)
    assert np.allclose(np.linalg.norm(short.vectors, axis=1), 1)
    assert (short.vectors == long.vectors).all()
    episodes = long.draw(3, rng)
    assert np.array_equal(episodes.inputs, long.vectors[episodes.tokens])
    assert episodes.inputs.shape == (3, long.length, 32)


def test_the_seed_alone_fixes_the_tokens():
    short, other = SelectiveCopying(seed=3), SelectiveCopying(seed=4)
    assert not np.isclose(short.vectors, other.vectors).any()
    for longer in ({"wanted": 15}, {"distractors": 100}, {"delay": 40}):
        assert np.array_equal(SelectiveCopying(seed=3, **longer).vectors, short.vectors)


def test_episodes_depend_on_the_generator_alone():
    task = SelectiveCopying()
    one, two = (task.draw(5, np.random.default_rng(3)) for _ in range(2))
    other = task.draw(5, np.random.default_rng(4))
    assert np.array_equal(one.tokens, two.tokens)
    assert not np.array_equal(one.tokens, other.tokens)


def test_every_place_and_every_token_is_equally_likely():
    tokens = SelectiveCopying().draw(20_000, np.random.default_rng(0)).tokens[:, :20]
    share = (tokens >= 2).mean(0)
    assert abs(share - 0.5).max() < 0.02
    counts = np.bincount(tokens[tokens >= 2] - 2, minlength=16) / (tokens >= 2).sum()
    assert abs(counts - 1 / 16).max() < 0.003


@pytest.mark.parametrize(("arguments", "words"), [({"wanted": 0}, "wanted=0"), ({"delay": -1}, "delay=-1")])
def test_impossible_tasks_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        SelectiveCopying(**arguments)
