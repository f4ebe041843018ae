"""The forecaster of river: its whole battery, and what the battery does not ask."""

import copy

import numpy as np
import pytest

river_checks = pytest.importorskip("river.checks")

from hippozoo.estimators import RiverHippoForecaster  # noqa: E402


def test_every_check_of_river_passes():
    checks = list(river_checks.yield_checks(RiverHippoForecaster(horizon=4)))
    assert len(checks) >= 10
    river_checks.check_estimator(RiverHippoForecaster(horizon=4))


def fed(values, **settings):
    model = RiverHippoForecaster(**settings)
    for value in values:
        model.learn_one(value)
    return model


def test_samples_that_wait_for_their_block_are_in_the_forecast():
    values = np.sin(np.arange(300) / 4)
    model = fed(values, horizon=8)
    straight = model.forecaster.learn(model.forecaster.initial_state(), values)
    np.testing.assert_allclose(model.forecast(8), model.forecaster.forecast(straight).samples(), rtol=1e-6)


def test_forecasting_changes_nothing():
    model = fed(np.sin(np.arange(100) / 4), horizon=8)
    other = copy.deepcopy(model)
    model.forecast(30)
    model.learn_one(0.3)
    other.learn_one(0.3)
    assert model.forecast(8) == other.forecast(8)


def test_beyond_the_horizon_it_goes_on_from_its_own_forecasts():
    model = fed(np.sin(np.arange(2000) / 4), horizon=8)
    ahead = model.forecast(24)
    np.testing.assert_allclose(ahead, np.sin(np.arange(2000, 2024) / 4), atol=0.1)
    bands = np.array(model.forecast_band(24))
    assert (bands[:, 0] <= ahead).all()
    assert (bands[8:, 1] - bands[8:, 0] >= bands[7, 1] - bands[7, 0]).all()


@pytest.mark.parametrize(
    ("horizon", "words"), [(2.5, r"horizon=2.5: how many steps ahead.*pass a whole number"), (0, "horizon=0: how many")]
)
def test_steps_are_whole(horizon, words):
    with pytest.raises((TypeError, ValueError), match=words):
        RiverHippoForecaster(horizon=horizon)


def test_missing_targets_let_time_pass():
    values = [None if t % 50 == 7 else float(np.sin(t / 4)) for t in range(1000)]
    np.testing.assert_allclose(fed(values, horizon=8).forecast(8), np.sin(np.arange(1000, 1008) / 4), atol=0.15)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("warm", r"y='warm' is not one number; pass a finite number, or None if it is missing"),
        ([1.0, 2.0], r"y=\[1.0, 2.0\] is not one number"),
        (1j, r"y=1j is not one number"),
        (float("inf"), r"y=inf is infinite or too large"),
        (-1e200, r"y=-1e\+200 is infinite or too large; pass a number below 1e\+100"),
    ],
    ids=str,
)
def test_a_value_that_is_none_is_refused_and_changes_nothing(value, words):
    model = fed(np.sin(np.arange(300) / 4), horizon=8)
    before = model.forecast(8)
    with pytest.raises((TypeError, ValueError), match=words):
        model.learn_one(value)
    assert model.forecast(8) == before


@pytest.mark.parametrize("coverage", ["most", 0, 1, 90, None], ids=str)
def test_a_band_covers_a_part(coverage):
    with pytest.raises((TypeError, ValueError), match=r"number between 0 and 1"):
        RiverHippoForecaster(horizon=4).forecast_band(2, coverage=coverage)


def test_features_whose_future_is_known_are_used():
    rng = np.random.default_rng(0)
    price = rng.normal(size=406)
    sold = 20 - 3 * np.roll(price, 1)
    model, plain = RiverHippoForecaster(horizon=6), fed(sold[1:400], horizon=6)
    for value, one in zip(sold[1:400], price[1:400], strict=True):
        model.learn_one(value, {"price": one})
    ahead = [{"price": one} for one in price[400:]]
    assert np.abs(model.forecast(6, ahead) - sold[400:]).max() < 0.5 < np.abs(plain.forecast(6) - sold[400:]).max()
    straight = model.forecaster.learn(model.forecaster.initial_state(), sold[1:400], known=price[1:, None])
    np.testing.assert_allclose(model.forecast(6, ahead), model.forecaster.forecast(straight).samples(), rtol=1e-9)
    again = RiverHippoForecaster(horizon=6)
    again.load_state_dict(model.state_dict())
    assert again.forecast(6, ahead) == model.forecast(6, ahead)
    for wrong, kind, said in (
        (lambda: model.forecast(6), ValueError, "pass those of 6 steps"),
        (lambda: model.learn_one(1.0, {"rain": 1.0}), ValueError, "'rain'"),
        (lambda: model.learn_one(1.0, {"price": "high"}), TypeError, "not a number"),
    ):
        with pytest.raises(kind, match=said):
            wrong()
    assert again.forecast(6, ahead) == model.forecast(6, ahead)
