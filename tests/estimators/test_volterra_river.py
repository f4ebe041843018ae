"""The river estimator: river's own checks, and that it is the model it claims to be."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.volterra import NLMS, VolterraModel

river = pytest.importorskip("river", reason="river is not installed (the extra 'river')")

from river import checks  # noqa: E402

from hippozoo.estimators import RiverVolterraRegressor  # noqa: E402


@pytest.mark.parametrize(
    "settings", [{}, {"rank": 1}, {"learner": "rls", "order": 2, "timescale": 2.0, "degree": 1}], ids=str
)
def test_river_approves(settings):
    checks.check_estimator(RiverVolterraRegressor(**settings))


def stream(rng, count=60):
    for _ in range(count):
        x = {"a": float(rng.normal()), "b": float(rng.normal())}
        yield x, x["a"] ** 2 - x["b"]


def test_it_is_the_model_of_the_zoo(rng):
    ours = RiverVolterraRegressor(order=4, timescale=6.0)
    model = VolterraModel(Memory(LegT(4, 6.0)), degree=2, learner=NLMS(), channels=2)
    state = model.initial_state()
    for x, y in stream(rng):
        expected, state = model.learn_one(state, np.array([x["a"], x["b"]]), y)
        assert ours.predict_one(x) == pytest.approx(expected, abs=1e-12)
        ours.learn_one(x, y)
    assert_allclose(ours.kernel(2, 5)["a", "b"], model.kernel(state, 2, 5)[0, :, 1, :])
    assert_allclose(ours.kernel(1, 5)["b",], model.kernel(state, 1, 5)[1])


@pytest.mark.parametrize("x", [{"a": 1.0, "b": 2.0}, {"b": 2.0}, {"a": 1.0, "b": 2.0, "new": 3.0}], ids=str)
def test_predicting_changes_nothing(rng, x):
    model = RiverVolterraRegressor(order=3)
    for known, y in stream(rng):
        model.learn_one(known, y)
    before = pickle.dumps(model)
    model.predict_one(x)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("settings", [{}, {"rank": 2}, {"learner": "rls"}], ids=str)
def test_a_new_feature_keeps_what_was_learnt(rng, settings):
    model = RiverVolterraRegressor(order=3, **settings)
    for x, y in stream(rng):
        model.learn_one(x, y)
    x = {"a": 0.3, "b": -0.2}
    told = model.predict_one(x)
    # The new feature is at zero: its memory is empty, and so is what it adds.
    assert model.predict_one({**x, "c": 0.0}) == pytest.approx(told, abs=1e-9)
    model.learn_one({**x, "c": 1.0}, 0.5)
    assert np.isfinite(model.predict_one(x))


@pytest.mark.parametrize("settings", [{}, {"learner": "sgd", "rate": 0.01}, {"learner": "rls"}], ids=str)
def test_a_feature_that_comes_later_was_at_zero_until_then(rng, settings):
    late, always = (RiverVolterraRegressor(order=2, timescale=3.0, **settings) for _ in range(2))
    for i, (x, y) in enumerate(stream(rng, 90)):
        whole = {**x, "c": 0.0 if i < 40 else float(rng.normal())}
        given = x if i < 40 else whole
        assert late.predict_one(given) == pytest.approx(always.predict_one(whole), rel=1e-6, abs=1e-9)
        late.learn_one(given, y + whole["c"] ** 2)
        always.learn_one(whole, y + whole["c"] ** 2)


def test_the_seed_alone_decides_where_a_low_rank_readout_starts(rng):
    models = [RiverVolterraRegressor(order=3, rank=2, seed=seed) for seed in (0, 0, 1)]
    for x, y in stream(rng, 10):
        for model in models:
            model.learn_one(x, y)
    same, again, other = (model.predict_one({"a": 0.3, "b": -0.2}) for model in models)
    assert same == again
    assert same != pytest.approx(other)


def test_a_missing_feature_holds_its_last_value(rng):
    first, second = RiverVolterraRegressor(order=3), RiverVolterraRegressor(order=3)
    for model in (first, second):
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    first.learn_one({"a": 0.5}, 2.0)
    second.learn_one({"a": 0.5, "b": 2.0}, 2.0)
    assert first.predict_one({"a": 0.1}) == second.predict_one({"b": 2.0, "a": 0.1})


def test_time_stamps_say_how_long_a_sample_lasts(rng):
    even, stamped = (RiverVolterraRegressor(order=3, timescale=4.0, dt=0.5) for _ in range(2))
    for i, (x, y) in enumerate(stream(rng)):
        assert stamped.predict_one(x, t=10 + 0.5 * i) == pytest.approx(even.predict_one(x), rel=1e-6, abs=1e-9)
        even.learn_one(x, y)
        stamped.learn_one(x, y, t=10 + 0.5 * i)
    late = stamped.predict_one({"a": 1.0}, t=100.0)
    assert late != pytest.approx(even.predict_one({"a": 1.0}))
    with pytest.raises(ValueError, match="time only runs"):
        stamped.learn_one({"a": 1.0}, 0.0, t=3.0)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), "noon", [1.0]], ids=str)
@pytest.mark.parametrize("begun", [False, True])
def test_a_time_that_is_none_is_refused_and_changes_nothing(time, begun):
    model = RiverVolterraRegressor(order=3)
    if begun:
        model.learn_one({"a": 1.0}, 1.0, t=1.0)
    before = pickle.dumps(model)
    for call in (lambda: model.learn_one({"a": 2.0}, 1.0, t=time), lambda: model.predict_one({"a": 2.0}, t=time)):
        with pytest.raises((TypeError, ValueError), match=r"one finite number"):
            call()
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RiverVolterraRegressor(system="hippo"), r"system='hippo' is unknown; pass one of 'legt'"),
        (lambda: RiverVolterraRegressor(learner="adam"), r"learner='adam' is unknown"),
        (lambda: RiverVolterraRegressor(degree=0), r"degree=0"),
        (lambda: RiverVolterraRegressor().kernel(1), r"nothing has been learnt yet"),
        (lambda: RiverVolterraRegressor().learn_one({"a": "red"}, 1.0), r"x\['a'\]='red' is not one finite number"),
        (lambda: RiverVolterraRegressor().learn_one({"a": float("nan")}, 1.0), r"not one finite number"),
        (
            lambda: RiverVolterraRegressor().predict_one({"a": None}),
            r"x\['a'\]=None .*leave out a feature that is missing",
        ),
        (lambda: RiverVolterraRegressor().learn_one({"a": 1.0}, None), r"^y=None is not one finite number; leave out"),
        (lambda: RiverVolterraRegressor().learn_one({"a": 1.0}, "red"), r"^y='red' is not one finite number"),
        (lambda: RiverVolterraRegressor().learn_one({"a": 1.0}, [1.0]), r"^y=\[1.0\] is not one finite number"),
        (lambda: RiverVolterraRegressor(system=["legt"]), r"system=\['legt'\] is unknown; pass one of 'legt'"),
        (lambda: RiverVolterraRegressor(learner=["sgd"]), r"learner=\['sgd'\] is unknown; pass one of 'nlms'"),
    ],
)
def test_errors_say_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
