"""The forecaster of sktime: its whole battery, and updates that equal one fit."""

import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sktime")

from hippozoo.estimators import HippoForecaster


def test_every_check_of_sktime_passes():
    from sktime.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sktime's own checks and data
        results = check_estimator(HippoForecaster, raise_exceptions=False, verbose=False)
    failed = {name: found for name, found in results.items() if found != "PASSED"}
    assert not failed
    assert len(results) > 500


@pytest.fixture
def y():
    rng = np.random.default_rng(0)
    index = pd.date_range("2024-01-01", periods=800, freq="h")
    return pd.Series(np.sin(np.arange(800) * 2 * np.pi / 24) + 0.1 * rng.normal(size=800), index=index)


def test_fit_then_update_equals_fit(y):
    whole = HippoForecaster(season=24).fit(y, fh=[1, 5, 24])
    parts = HippoForecaster(season=24).fit(y[:300], fh=[1, 5, 24])
    for begin in range(300, 800, 125):
        parts.update(y[begin : begin + 125])
    pd.testing.assert_series_equal(whole.predict(), parts.predict(), rtol=1e-6)
    pd.testing.assert_frame_equal(whole.predict_var(), parts.predict_var(), rtol=1e-6)


def test_rows_handed_over_twice_are_learnt_once(y):
    once = HippoForecaster().fit(y[:300], fh=[1, 2]).update(y[300:400])
    twice = HippoForecaster().fit(y[:300], fh=[1, 2]).update(y[250:400])
    pd.testing.assert_series_equal(once.predict(), twice.predict())


def test_update_without_learning_moves_the_present_only(y):
    forecaster = HippoForecaster().fit(y[:300], fh=[1, 2])
    pairs = forecaster.state_.pairs
    forecaster.update(y[300:400], update_params=False)
    assert forecaster.state_.pairs == pairs
    assert forecaster.predict().index[0] == y.index[400]


def test_intervals_cover_what_they_promise(y):
    forecaster = HippoForecaster(season=24).fit(y[:700], fh=list(range(1, 25)))
    inside = []
    for begin in range(700, 776):
        interval = forecaster.predict_interval(coverage=0.8)
        low, high = (interval.iloc[:, side].to_numpy() for side in (0, 1))
        truth = y.iloc[begin : begin + 24].to_numpy()
        inside.append((low < truth) & (truth < high))
        forecaster.update(y[begin : begin + 1])
    assert abs(np.mean(inside) - 0.8) < 0.1


def test_beyond_the_horizon_the_uncertainty_is_that_of_the_river_estimator(y):
    pytest.importorskip("river")
    from hippozoo.estimators import RiverHippoForecaster

    steps = list(range(1, 41))
    fitted = HippoForecaster(horizon=8).fit(y, fh=steps)
    river = RiverHippoForecaster(horizon=8)
    river._forecaster = fitted.forecaster_  # the same candidates in both
    river._state = river.forecaster.initial_state()
    for value in y:
        river.learn_one(value)
    np.testing.assert_allclose(fitted.predict(), river.forecast(40), rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_interval(coverage=0.8), river.forecast_band(40, coverage=0.8), rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"horizon": 2.5}, r"horizon=2.5: how many steps ahead.*pass a whole number"),
        ({"horizon": 0}, r"horizon=0: how many steps ahead.*pass horizon >= 1"),
        ({"windows": "long"}, r"windows='long': .*pass one real number"),
        ({"windows": (8, -1)}, r"windows=-1: .*pass a finite windows > 0"),
        ({"order": 2.5}, r"order=2.5: .*pass a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_fit(y, settings, words):
    forecaster = HippoForecaster(**settings)  # by sktime's rules a constructor takes anything
    with pytest.raises((TypeError, ValueError), match=words):
        forecaster.fit(y, fh=[1, 2])


def test_one_window_needs_no_tuple(y):
    one, several = (HippoForecaster(windows=windows).fit(y, fh=[1, 2]) for windows in (8, (8,)))
    assert one.forecaster_.histories == several.forecaster_.histories


def test_columns_may_share_a_map(y):
    both = pd.DataFrame({"a": y, "b": 2 * y})
    forecast = HippoForecaster(together="shared", season=24).fit(both, fh=[1, 2, 3]).predict()
    np.testing.assert_allclose(forecast["b"], 2 * forecast["a"], rtol=0.2)
