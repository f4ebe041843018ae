"""Everything that learns from a stream keeps every promise; and a broken promise is noticed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from hippozoo import checkpoint
from hippozoo.checks import LEARNER_CHECKS, Stream, check_learner, learners
from hippozoo.ensemble import forecaster_for
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Forecaster
from hippozoo.zoo.volterra import RidgeRLS, VolterraModel


def two_channels(rng, n_steps):
    time = np.arange(n_steps)[:, None]
    return np.cos(time / [3, 5]) + 0.1 * rng.normal(size=(n_steps, 2))


LEARNERS = {
    "forecaster": (lambda: Forecaster(LegT(8, 20.0), horizon=4.0), {}),
    "forecaster-channels": (lambda: Forecaster(LegS(6, 20.0), horizon=3.0), {"series": two_channels}),
    "ensemble": (lambda: forecaster_for(4), {}),
    "ensemble-season": (lambda: forecaster_for(3, season=12), {}),
    "ensemble-channels": (lambda: forecaster_for(3, together="shared"), {"series": two_channels}),
    "volterra": (lambda: VolterraModel(Memory(LegT(4, 8.0))), {}),
    "volterra-rls": (lambda: VolterraModel(Memory(LegT(4, 8.0)), learner=RidgeRLS()), {}),
    "volterra-low-rank": (lambda: VolterraModel(Memory(LegS(4, 8.0)), rank=2), {}),
    "volterra-channels": (lambda: VolterraModel(Memory(LegT(3, 8.0)), channels=2), {"series": two_channels}),
}


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", LEARNERS)
def test_the_learner_keeps_its_promise(name, check):
    make, stream = LEARNERS[name]
    check(make, Stream(n_steps=200, **stream))


class Seen(NamedTuple):
    total: np.ndarray
    count: np.ndarray


class Said(NamedTuple):
    coefficients: np.ndarray
    covariance: np.ndarray


@checkpoint.register(name="tests.RunningMean")
@dataclass(frozen=True)
class RunningMean:
    """The smallest learner of a series: it expects the mean of what it has seen."""

    horizon: float = 1.0

    def initial_state(self):
        return Seen(np.zeros(1), np.zeros(1))

    def learn(self, state, signal):
        values = np.asarray(signal)
        if values.dtype.kind != "f" or values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("signal")
        return self._taken(state, values)

    def learn_one(self, state, value):
        return self.learn(state, np.atleast_1d(value))

    def forecast(self, state):
        return Said(state.total / np.maximum(state.count, 1), np.zeros((1, 1)))

    def replay(self, state, signal, lead):
        return np.cumsum(signal) / np.arange(1, len(signal) + 1)

    def merge(self, state, other):
        return Seen(state.total + other.total, state.count + other.count)

    def _taken(self, state, values):
        return Seen(state.total + values.sum(), state.count + len(values))


checkpoint.register(Seen, name="tests.Seen")


@checkpoint.register(name="tests.ChunkedMean")
class ChunkedMean(RunningMean):
    def _taken(self, state, values):
        return Seen(state.total + values.mean(), state.count + 1)


@checkpoint.register(name="tests.OtherOne")
class OtherOne(RunningMean):
    def learn_one(self, state, value):
        return self.learn(state, np.atleast_1d(value) * 1.01)


class Peeking(RunningMean):
    def replay(self, state, signal, lead):
        return np.cumsum(signal[::-1])[::-1]


class InPlace(RunningMean):
    def _taken(self, state, values):
        state.count[:] += len(values)
        return Seen(state.total + values.sum(), state.count)


class TakesAnything(RunningMean):
    def learn(self, state, signal):
        return self._taken(state, np.nan_to_num(np.asarray(signal, float).ravel()))


class Unregistered(RunningMean):
    pass


class LastMerged(RunningMean):
    def merge(self, state, other):
        return other


BROKEN = {
    ChunkedMean: "check_learning_in_chunks_equals_one_call",
    OtherOne: "check_learning_one_by_one_equals_one_call",
    Peeking: "check_learning_sees_no_future",
    InPlace: "check_learning_changes_no_state_in_place",
    TakesAnything: "check_learning_refuses_bad_input",
    Unregistered: "check_learning_goes_on_after_loading",
    LastMerged: "check_learner_merges",
}


def test_a_good_learner_passes_all_checks():
    assert {result.status for result in check_learner(RunningMean)} == {"passed"}


@pytest.mark.parametrize("Broken", BROKEN)
def test_a_broken_promise_is_noticed(Broken):
    failed = {result.check for result in check_learner(Broken, on_fail=None).failed}
    assert BROKEN[Broken] in failed


def test_every_check_has_been_seen_failing():
    assert set(BROKEN.values()) == {check.__name__ for check in LEARNER_CHECKS}
    assert {name for name in vars(learners) if "check_learn" in name} == {*BROKEN.values(), "check_learner"}


def test_what_is_no_learner_is_refused():
    with pytest.raises(TypeError, match="needs initial_state"):
        check_learner(Memory(LegT(4, timescale=1.0)))
