"""Every estimator of ours goes through a checkpoint, without pickle, and goes on as if it had not."""

import numpy as np
import pandas as pd
import pytest

from hippozoo import estimators
from hippozoo.checkpoint import CheckpointError, dumps, loads

pytest.importorskip("river")
pytest.importorskip("sktime")

RNG = np.random.default_rng(0)
VALUES = np.sin(np.arange(160) / 4) + 0.1 * RNG.normal(size=160)


def river_forecaster():
    model = estimators.RiverHippoForecaster(horizon=4, season=25)
    for value in VALUES[:120]:
        model.learn_one(value)
    return model, lambda one: [one.learn_one(0.3), one.forecast(4)][1]


def river_detector():
    model = estimators.RiverHippoDetector(horizon=4, rate=2.0)
    for k, value in enumerate(VALUES[:130]):
        model.learn_one({"a": value} if k < 20 else {"a": value, 7: -value})
    return model, lambda one: [one.learn_one({"a": 0.1}), one.score_one({"a": 0.5, 7: 2.0})][1]


def river_volterra():
    model = estimators.RiverVolterraRegressor(order=3, learner="rls")
    for k in range(40):
        model.learn_one({"u": VALUES[k], "v": VALUES[k + 1]}, VALUES[k] ** 2, t=float(k))
    return model, lambda one: one.predict_one({"u": 0.4, "v": 0.1}, t=41.0)


def sklearn_volterra():
    X = pd.DataFrame({"u": VALUES[:80], "v": VALUES[80:]})
    model = estimators.SklearnVolterraRegressor(order=3).fit(X, VALUES[:80] ** 2)
    return model, lambda one: one.predict_next(X[:5]).tolist()


def sklearn_features():
    model = estimators.MemoryFeatures(order=4).fit(VALUES.reshape(4, 40))
    return model, lambda one: one.transform(VALUES.reshape(4, 40)).tolist()


def _rows(index, columns=None):
    y = pd.Series(VALUES[: len(index)], index=index, name="load")
    return y if columns is None else pd.DataFrame({name: y * (k + 1) for k, name in enumerate(columns)})


def sktime(y, **fit):
    def make():
        model = estimators.HippoForecaster(windows=(8,), order=4).fit(y[:100], **fit)

        def goes_on(one):
            one.update(y[100:110])
            quantiles = one.predict_quantiles(alpha=[0.1, 0.9])
            return one.predict().to_dict(), quantiles.to_dict(), one.cutoff.tolist()

        return model, goes_on

    return make


MODELS = {
    "river forecaster": river_forecaster,
    "river detector": river_detector,
    "river volterra": river_volterra,
    "sklearn volterra": sklearn_volterra,
    "sklearn features": sklearn_features,
    "sktime, numbers": sktime(_rows(pd.RangeIndex(110)), fh=[1, 3]),
    "sktime, hours": sktime(_rows(pd.date_range("2024-01-31", periods=110, freq="h", tz="Europe/Rome")), fh=[1, 2]),
    "sktime, months": sktime(_rows(pd.period_range("2000-01", periods=110, freq="M"), ["a", "b"]), fh=[2]),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_goes_through_a_checkpoint_and_on(name):
    model, goes_on = MODELS[name]()
    copy = loads(dumps(model))
    assert type(copy) is type(model)
    assert copy.get_params() == model.get_params() if hasattr(model, "get_params") else True
    assert goes_on(copy) == goes_on(model)


@pytest.mark.parametrize("name", ["RiverHippoDetector", "RiverVolterraRegressor", "HippoForecaster", "MemoryFeatures"])
def test_one_that_has_learnt_nothing_can_be_saved_too(name):
    assert type(loads(dumps(getattr(estimators, name)()))) is getattr(estimators, name)


def test_a_forecaster_of_a_panel_says_what_to_save_instead():
    index = pd.MultiIndex.from_product([["north", "south"], range(40)], names=["place", "hour"])
    panel = pd.DataFrame({"load": VALUES[:80]}, index=index)
    model = estimators.HippoForecaster(windows=(8,), order=4).fit(panel, fh=[1])
    with pytest.raises(CheckpointError, match="forecasters_ instead"):
        dumps(model)
