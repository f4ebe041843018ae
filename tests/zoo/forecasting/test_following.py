"""What a forecaster takes in without learning, and what it never looks at."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Forecaster

LEARNT = ("learnt", "validation", "detail")


def assert_same(found, expected):
    """To the last digit."""
    if is_dataclass(expected):
        for field in fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, tuple):
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "settings",
    [{}, {"delay": "endpoint"}, {"forgetting": 50.0, "anchor": "last"}, {"history": (LegS(4, 5.0), LegT(6, 12.0))}],
    ids=str,
)
@pytest.mark.parametrize("gap", [range(0), range(120, 140), range(150, 1700)], ids=["whole", "gap", "long gap"])
def test_following_is_learning_that_keeps_what_was_learnt(rng, settings, gap):
    forecaster = Forecaster(**{"history": LegT(6, 12.0), "horizon": 4.0, **settings})
    signal, mask = rng.normal(size=(1800 if len(gap) > 20 else 300, 2)), None
    if gap:
        mask = np.ones(signal.shape, bool)
        mask[gap] = False
    state = forecaster.learn(forecaster.initial_state(2), rng.normal(size=(100, 2)))
    followed, learnt = forecaster.follow(state, signal, mask=mask), forecaster.learn(state, signal, mask=mask)
    for field in fields(state):
        if field.name in LEARNT:
            assert getattr(followed, field.name) is getattr(state, field.name)
        else:
            assert_same(getattr(followed, field.name), getattr(learnt, field.name))


@pytest.mark.parametrize("channels", [None, 2])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("take", ["learn", "follow"])
def test_what_a_masked_array_hides_is_never_looked_at(rng, take, channels, per_channel):
    forecaster = Forecaster(LegT(6, 12.0), horizon=4.0)
    signal = rng.normal(size=200 if channels is None else (200, channels))
    hidden = np.zeros(signal.shape, bool)
    hidden[60:110] = hidden[:3] = True
    mask = rng.random(signal.shape if per_channel else 200) > 0.1
    whole = mask if mask.ndim == signal.ndim else mask[:, None]
    state = forecaster.learn(forecaster.initial_state(channels), rng.normal(size=signal[:50].shape))
    masked = np.ma.array(np.where(hidden, 999.0, signal), mask=hidden)
    found = getattr(forecaster, take)(state, masked, mask=mask)
    assert_same(found, getattr(forecaster, take)(state, signal, mask=whole & ~hidden))
