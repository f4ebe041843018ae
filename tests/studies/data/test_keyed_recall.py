"""Multi-query recall: what is asked for was said, once, and nothing else says it."""

import numpy as np
import pytest

from hippozoo_studies.data.zoology import keyed_recall


def test_every_key_is_asked_for_once_behind_the_pairs_and_the_noise_has_no_key():
    task = keyed_recall(50, np.random.default_rng(0), pairs=6, length=40, vocabulary=64)
    for tokens, answers in zip(task.tokens, task.answers, strict=True):
        keys, values = tokens[:12:2], tokens[1:12:2]
        asked = np.flatnonzero(answers >= 0)
        assert len(set(keys)) == 6
        assert keys.max() < 32 <= values.min()
        assert asked.min() >= 12
        assert sorted(tokens[asked]) == sorted(keys)
        assert [dict(zip(keys, values, strict=True))[token] for token in tokens[asked]] == answers[asked].tolist()
        noise = np.delete(tokens[12:], asked - 12)
        assert not set(noise) & set(keys)


@pytest.mark.parametrize(("options", "words"), [({"length": 17}, "no room"), ({"vocabulary": 10}, "has 5 keys")])
def test_episodes_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        keyed_recall(1, np.random.default_rng(0), **({"pairs": 6} | options))
