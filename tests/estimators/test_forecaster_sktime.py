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


@pytest.mark.parametrize("learning", [True, False])
def test_updates_may_overlap_each_other(y, learning):
    once = HippoForecaster().fit(y[:300], fh=[1, 2]).update(y[300:400], update_params=learning).update(y[400:500])
    slid = HippoForecaster().fit(y[:300], fh=[1, 2]).update(y[300:400], update_params=learning).update(y[350:500])
    assert once.state_.pairs == slid.state_.pairs
    pd.testing.assert_series_equal(once.predict(), slid.predict())
    pd.testing.assert_frame_equal(once.predict_var(), slid.predict_var())


def test_update_without_learning_moves_the_present_only(y):
    forecaster = HippoForecaster().fit(y[:300], fh=[1, 2])
    pairs = forecaster.state_.pairs
    forecaster.update(y[300:400], update_params=False)
    assert forecaster.state_.pairs == pairs
    assert forecaster.predict().index[0] == y.index[400]


def test_intervals_cover_what_they_promise():
    """Origins of one series share most of what they are judged by, so several series are."""
    inside = []
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(size=800)
        index = pd.date_range("2024-01-01", periods=800, freq="h")
        y = pd.Series(np.sin(np.arange(800) * 2 * np.pi / 24) + 0.1 * noise, index=index)
        forecaster = HippoForecaster(season=24).fit(y[:700], fh=list(range(1, 25)))
        for begin in range(700, 776, 25):
            interval = forecaster.predict_interval(coverage=0.8)
            low, high = (interval.iloc[:, side].to_numpy() for side in (0, 1))
            truth = y.iloc[begin : begin + 24].to_numpy()
            inside.append((low < truth) & (truth < high))
            forecaster.update(y[begin : begin + 25])
    assert abs(np.mean(inside) - 0.8) < 0.05


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


INDICES = {
    "integers": pd.RangeIndex(100, 900),
    "hours": pd.date_range("2024-01-01", periods=800, freq="h"),
    "hours over summer time": pd.date_range("2024-03-20", periods=800, freq="h", tz="Europe/Berlin"),
    "months": pd.date_range("1960-01-01", periods=800, freq="MS"),
    "working days": pd.date_range("2020-01-01", periods=800, freq="B"),
    "periods of hours": pd.period_range("2024-01-01", periods=800, freq="h"),
    "periods of quarters": pd.period_range("1900-01", periods=800, freq="3M"),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_missing_rows_are_missing_values(y, index):
    y = y.set_axis(index)
    holes = y.copy()
    holes.iloc[[310, 311, 312, 650, *range(780, 791)]] = np.nan
    rows = holes.dropna()
    expected = HippoForecaster(season=24).fit(holes, fh=[1, 2, 24])
    parts = HippoForecaster(season=24).fit(rows.iloc[:300], fh=[1, 2, 24])
    parts.update(rows.iloc[300:310]).update(rows.iloc[310:776]).update(rows.iloc[776:])  # a gap lies between two
    wholes = [parts]
    if not isinstance(index, pd.DatetimeIndex):  # of which sktime asks a freq
        wholes.append(HippoForecaster(season=24).fit(rows, fh=[1, 2, 24]))
    for found in wholes:
        assert found.state_.time == expected.state_.time == 800
        pd.testing.assert_series_equal(found.predict(), expected.predict(), rtol=1e-6)
        pd.testing.assert_frame_equal(found.predict_var(), expected.predict_var(), rtol=1e-6)


def test_a_frequency_of_the_horizon_tells_of_missing_rows_too(y):
    from sktime.forecasting.base import ForecastingHorizon

    rows = y.drop(y.index[400:411])
    assert rows.index.freq is None
    fh = ForecastingHorizon(y.index[-1:] + pd.Timedelta("1h"), is_relative=False, freq="h")
    assert HippoForecaster(horizon=4).fit(rows, fh=fh).state_.time == 800


def test_rows_without_a_frequency_are_taken_as_evenly_spaced(y):
    rows = y.drop(y.index[400:411])
    assert HippoForecaster(horizon=4).fit(rows).state_.time == 789


BAD_ROWS = {
    "backwards": (lambda y: y[100:200], r"end at 2024-01-09 07:00:00, but rows until .* does not run backwards; pass"),
    "twice": (lambda y: y.iloc[[310, 311, 311, 312]], r"has 2024-01-13 23:00:00 more than once; keep one row"),
    "between": (lambda y: y[310:320].shift(freq="7min"), r"lies between the steps of freq='h' that follow .*; move it"),
    "numbers": (lambda y: y[310:320].reset_index(drop=True), r"cannot be compared .*; pass an index like the one"),
    "time zone": (lambda y: y[310:320].tz_localize("UTC"), r"cannot be compared .*; pass an index like the one"),
    "far away": (
        lambda y: y[310:320].shift(2_000_000, freq="h"),
        r"steps of freq='h', but only 10 rows; give the rows",
    ),
    "infinite": (lambda y: y[310:320] * np.inf, r"at 2024-01-13 22:00:00 in column .* is infinite or too"),
    "too large": (lambda y: y[310:320] * 1e200, r"is infinite or too large; pass numbers below 1e\+100"),
}


@pytest.mark.parametrize(("bad", "words"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_that_do_not_go_on_are_refused_and_change_nothing(y, bad, words):
    forecaster = HippoForecaster(horizon=4).fit(y[:310])
    before, cutoff = forecaster.predict(fh=[1, 2]), forecaster.cutoff
    with pytest.raises((TypeError, ValueError), match=words):
        forecaster.update(bad(y))
    assert forecaster.cutoff.equals(cutoff)
    pd.testing.assert_series_equal(forecaster.predict(fh=[1, 2]), before)
    untouched = HippoForecaster(horizon=4).fit(y[:310]).update(y[310:330])
    pd.testing.assert_series_equal(forecaster.update(y[310:330]).predict(fh=[1, 2]), untouched.predict(fh=[1, 2]))


def test_rows_given_twice_are_refused_by_fit(y):
    with pytest.raises(ValueError, match=r"more than once"):
        HippoForecaster(horizon=4).fit(y.reset_index(drop=True).iloc[[0, 1, 1, 2, 3]])


def test_integers_that_count_nanoseconds_are_refused(y):
    with pytest.raises(ValueError, match=r"steps of 1"):
        HippoForecaster(horizon=4).fit(y.set_axis(y.index.as_unit("ns").asi8))


def test_a_horizon_of_its_own_leaves_the_steps_to_predict(y):
    ahead = list(range(1, 41))
    forecaster = HippoForecaster(horizon=12, season=24).fit(y)
    whole = HippoForecaster(horizon=12, season=24).fit(y, fh=ahead).predict()
    for steps in ([1], [1, 40], [13, 14], ahead):
        expected = whole.iloc[np.array(steps) - 1]
        pd.testing.assert_series_equal(forecaster.predict(fh=steps), expected, check_freq=False)
    # Beyond the horizon: what a forecaster says that took the first forecasts for data.
    own = whole.iloc[:12]
    gone_on = forecaster.clone().fit(y).update(own, update_params=False).predict(fh=range(1, 13))
    np.testing.assert_allclose(gone_on, whole.iloc[12:24], rtol=1e-6)


def test_the_horizon_decides_whether_fit_needs_steps(y):
    for forecaster in (HippoForecaster(horizon=4), HippoForecaster().set_params(horizon=4)):
        assert not forecaster.get_tag("requires-fh-in-fit")
        assert forecaster.clone().get_params() == forecaster.get_params()
        assert not forecaster.clone().get_tag("requires-fh-in-fit")
    assert HippoForecaster(horizon=4).set_params(horizon=None).get_tag("requires-fh-in-fit")
    with pytest.raises(ValueError, match="must be passed"):
        HippoForecaster().fit(y)


def test_covariances_come_for_every_column(y):
    both = pd.DataFrame({"a": y, "b": 3 * y + np.cos(np.arange(800) / 5)})
    found = HippoForecaster(horizon=4).fit(both).predict_var(fh=[1, 2, 9], cov=True)
    for name in both:
        alone = HippoForecaster(horizon=4).fit(both[[name]]).predict_var(fh=[1, 2, 9], cov=True)
        pd.testing.assert_frame_equal(found[name], alone, rtol=1e-6)


@pytest.fixture
def sold():
    """What is sold follows a price one step later."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price": rng.normal(size=420)})
    return 20 - 3 * X["price"].shift(1, fill_value=0.0) + 0.1 * rng.normal(size=420), X


def test_inputs_whose_future_is_known_are_used(sold):
    y, X = sold
    steps = [1, 2, 3, 4, 5, 6]
    whole = HippoForecaster().fit(y[:400], X[:400], fh=steps)
    found = whole.predict(X=X[400:406])
    assert (found - y[400:406]).abs().max() < 0.5
    assert (HippoForecaster().fit(y[:400], fh=steps).predict() - y[400:406]).abs().max() > 3.0
    parts = HippoForecaster().fit(y[:300], X[:300], fh=steps).update(y[300:350], X[300:350])
    parts.update(y[350:400], X[350:400])
    pd.testing.assert_series_equal(parts.predict(X=X[400:406]), found)
    interval = whole.predict_interval(X=X[400:406])
    assert interval.shape == (6, 2)
    further = HippoForecaster(horizon=6).fit(y[:400], X[:400]).predict(list(range(1, 15)), X=X[400:414])
    assert (further - y[400:414]).abs().max() < 0.5


def test_inputs_that_are_missing_or_others_are_refused_and_change_nothing(sold):
    y, X = sold
    forecaster = HippoForecaster(horizon=6).fit(y[:400], X[:400])
    before = forecaster.predict([1], X=X[400:406])
    for wrong, said in (
        (lambda: forecaster.predict([1]), "fitted with X"),
        (lambda: forecaster.predict([1, 6], X=X[400:403]), "no row at 405"),
        (lambda: forecaster.predict([1], X=X[400:406].rename(columns=str.upper)), "'PRICE'"),
        (lambda: forecaster.update(y[400:402]), "fitted with X"),
    ):
        with pytest.raises(ValueError, match=said):
            wrong()
    pd.testing.assert_series_equal(forecaster.predict([1], X=X[400:406]), before)
    assert HippoForecaster().get_tag("capability:exogenous")
    assert not HippoForecaster(rank=2).get_tag("capability:exogenous")
