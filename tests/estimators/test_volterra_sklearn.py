"""The scikit-learn estimators: scikit-learn's own checks, and that they are the models they claim to be."""

import builtins
import importlib
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo import estimators
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.volterra import NLMS, RidgeRLS, VolterraModel

pytest.importorskip("sklearn", reason="scikit-learn is not installed (the extra 'sklearn')")

from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from hippozoo.estimators import MemoryFeatures, SklearnVolterraRegressor

ROWS_ARE_TIME = {
    "check_methods_sample_order_invariance": "rows are time steps: their order matters",
    "check_methods_subset_invariance": "rows are time steps: what came before matters",
}


def failures(estimator, expected):
    results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=expected)
    return [f"{one['check_name']}: {one['exception']}" for one in results if one["status"] == "failed"], {
        one["check_name"] for one in results if one["status"] == "xfail"
    }


@pytest.mark.parametrize("settings", [{}, {"learner": "nlms", "passes": 20}], ids=str)
def test_scikit_learn_approves_of_the_regressor(settings):
    failed, declared = failures(SklearnVolterraRegressor(**settings), ROWS_ARE_TIME)
    assert failed == []
    assert declared == set(ROWS_ARE_TIME)


def test_scikit_learn_approves_of_the_transformer():
    failed, declared = failures(MemoryFeatures(order=3), {})
    assert failed == []
    assert declared == set()


def test_the_regressor_is_the_model_of_the_zoo(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    ours = SklearnVolterraRegressor(order=3, timescale=5.0, ridge=0.1).fit(X, y)
    model = VolterraModel(Memory(LegT(3, 5.0)), degree=2, learner=RidgeRLS(0.1), channels=2)
    _, state = model.learn(model.initial_state(), X, y)
    assert_allclose(ours.state_.learnt.parameters, state.learnt.parameters)
    assert_allclose(ours.kernel(2, 6), model.kernel(state, 2, 6))
    assert_allclose(ours.predict_next(X[:5]), model.predict(state, X[:5])[0])
    assert_allclose(ours.predict(X), model.predict(state._replace(memory=np.zeros((2, 3))), X)[0])


def test_learning_in_parts_is_learning_at_once(rng):
    X, y = rng.normal(size=(80, 1)), rng.normal(size=80)
    whole = SklearnVolterraRegressor().fit(X, y)
    parts = SklearnVolterraRegressor().partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert_allclose(whole.state_.learnt.parameters, parts.state_.learnt.parameters, rtol=1e-6, atol=1e-9)
    assert_allclose(whole.kernel(2).shape, (1, 4, 1, 4))


@pytest.mark.parametrize(
    ("passes", "words"),
    [(0, r"passes=0: .*pass passes >= 1"), (-1, "passes=-1: "), (1.5, r"passes=1.5: .*pass a whole number")],
)
def test_fitting_goes_through_the_rows_a_whole_number_of_times(rng, passes, words):
    model = SklearnVolterraRegressor(passes=passes)  # by scikit-learn's rules a constructor takes anything
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(rng.normal(size=(20, 1)), rng.normal(size=20))


def test_every_pass_begins_with_an_empty_memory_and_what_was_learnt(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    ours = SklearnVolterraRegressor(order=3, timescale=5.0, learner="nlms", passes=2).fit(X, y)
    model = VolterraModel(Memory(LegT(3, 5.0)), degree=2, learner=NLMS(), channels=2)
    _, first = model.learn(model.initial_state(), X, y)
    _, second = model.learn(first._replace(memory=np.zeros((2, 3))), X, y)
    assert_allclose(ours.state_.learnt.parameters, second.learnt.parameters)
    assert_allclose(ours.state_.memory, second.memory)


def test_the_random_state_alone_decides_where_a_low_rank_readout_starts(rng):
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    same, again, other = (
        SklearnVolterraRegressor(rank=2, learner="nlms", random_state=seed).fit(X, y).predict(X) for seed in (0, 0, 1)
    )
    assert_allclose(same, again, rtol=0)
    assert np.abs(same - other).max() > 1e-3


def test_features_are_the_final_state_of_a_memory(rng):
    series = rng.normal(size=(7, 40))
    features = MemoryFeatures(order=5, timescale=20.0).fit_transform(series)
    expected = [Memory(LegT(5, 20.0)).final(one) for one in series]
    assert_allclose(features, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "package"), [("SklearnVolterraRegressor", "sklearn"), ("RiverVolterraRegressor", "river")]
)
def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch, name, package):
    module = estimators._ELSEWHERE[name][0]
    monkeypatch.delitem(sys.modules, f"hippozoo.estimators.{module}", raising=False)
    real = builtins.__import__

    def without(wanted, *arguments, **keywords):
        if wanted.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {wanted!r}", name=wanted)
        return real(wanted, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"install 'hippozoo\[{package}\]'"):
        getattr(estimators, name)


def test_an_unknown_estimator_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"it has .*MemoryFeatures"):
        importlib.import_module("hippozoo.estimators").Nothing  # noqa: B018


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"order": 6}, r"order was 4 and is now 6, "),
        ({"timescale": 9.0}, r"timescale was 4.0 and is now 9.0, "),
        ({"system": "legs"}, r"system was 'legt' and is now 'legs', "),
        ({"dt": 0.5}, r"dt was 1.0 and is now 0.5, "),
        ({"degree": 3}, r"degree was 2 and is now 3, "),
        ({"learner": "nlms"}, r"learner was 'rls' and is now 'nlms', "),
        ({"learner": "nlms", "rank": 2}, r"rank was None and is now 2, learner was "),
        ({"ridge": 1.0}, r"ridge was 0.001 and is now 1.0, "),  # it is in what was learnt from the first row on
    ],
)
def test_what_was_learnt_is_not_read_under_other_settings(rng, changed, words):
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    model = SklearnVolterraRegressor().fit(X, y)
    before = model.predict(X)
    model.set_params(**changed)
    with pytest.raises(ValueError, match=words + r".*call fit to begin anew"):
        model.partial_fit(X, y)
    assert_allclose(model.predict(X), before)
    assert_allclose(model.fit(X, y).predict(X), SklearnVolterraRegressor(**changed).fit(X, y).predict(X))


def test_the_rate_may_fall_while_learning(rng):
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    model = SklearnVolterraRegressor(learner="nlms", rate=0.5).partial_fit(X, y)
    parameters = model.state_.learnt.parameters.copy()
    model.set_params(rate=1e-12, passes=3, random_state=1).partial_fit(X, y)
    assert_allclose(model.state_.learnt.parameters, parameters, atol=1e-9)


def test_the_regressor_calls_itself_by_its_public_name(rng):
    model = SklearnVolterraRegressor(order=3)
    assert repr(model) == "SklearnVolterraRegressor(order=3)"
    with pytest.raises(NotFittedError, match="This SklearnVolterraRegressor instance"):
        model.predict(rng.normal(size=(5, 1)))
    with pytest.raises(ValueError, match="SklearnVolterraRegressor is expecting 2"):
        model.fit(rng.normal(size=(20, 2)), rng.normal(size=20)).predict(rng.normal(size=(5, 1)))
