"""Every component of the ensemble by itself, beside its slow definition."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from hippozoo.ensemble import brake, calibration, cleaner, forecaster_for, ridge, scale, scores
from hippozoo.ensemble._kernels import Sample, Work
from hippozoo.ensemble.experts import TABLE, damped_trend, seasonal, seasonal_trend
from hippozoo.ensemble.explanation import past_of
from hippozoo.ensemble.moments import KindMoments, triangle
from hippozoo.ensemble.pending import DUE, LEAD, ORIGIN, Pending, slot_of
from hippozoo.ensemble.records import CELL, Past, open_channel, open_channels, open_map
from hippozoo.systems import LegT


def called_alone(function: Any) -> Any:
    """An inner function, callable from Python."""
    return numba.njit(function.py_func, error_model="numpy")


def log_of(values: np.ndarray) -> np.ndarray:
    log = np.zeros(len(values), CELL)
    log["value"] = values
    return log


def pending_of(forecasts: np.ndarray, mean: np.ndarray, size: np.ndarray) -> Pending:
    """One forecast, of one lead, with the forecasts of its experts."""
    leads, origins = np.zeros(1, LEAD), np.ones(1, ORIGIN)
    leads["mean"], leads["size"] = mean, size
    origins["z"] = origins["cost"] = 0.0
    return Pending(origins, leads, forecasts[0])


def due_now() -> np.ndarray:
    """The first lead of the first forecast."""
    due = np.zeros(1, DUE)
    due["trust"] = 1.0
    return due


def leaves(part: Any) -> list[np.ndarray]:
    return [part] if isinstance(part, np.ndarray) else [leaf for one in part for leaf in leaves(one)]


def test_every_number_of_a_channel_has_one_name():
    plan = forecaster_for(6, season=12).mixer.plan
    row = np.zeros(plan.parts[-1])
    for part in leaves(open_channels(row, plan)):
        part.view(float)[...] += 1.0
    assert_array_equal(row, 1.0)


def test_compiled_code_and_python_give_a_number_the_same_name():
    plan = forecaster_for(4, season=6).mixer.plan
    row = np.arange(float(plan.parts[-1]))
    parts = leaves(open_channels(row, plan))
    # Without counts of references, as all who get views from an inner function.
    begins = numba.njit(lambda row, plan: _flat(open_channel(row, plan)), _nrt=False)(row, plan)
    assert_array_equal(begins, [part.view(float).ravel()[0] for part in parts])


@numba.njit(_nrt=False)
def _flat(channel):
    """The first number of every part."""
    return (
        channel.cleaner[0].last_value, channel.brake[0].trust, channel.doubt.last[0].surprise,
        channel.doubt.leads[0].outlier, channel.scale.step[0].sum[0],
        channel.scale.leads[0].errors, channel.scale.phase[0], channel.errors[0].counts[0, 0],
        channel.scores.leads[0].weight, channel.scores.experts[0].latest, channel.scores.regret[0],
        channel.pending.origins[0].number, channel.pending.leads[0].mean, channel.pending.experts[0], channel.own[0],
    )  # fmt: skip


def test_each_line_of_the_table_has_what_an_expert_needs():
    for expert in TABLE:
        assert callable(expert.names)
        assert callable(expert.lag_weights)
        assert hasattr(expert, "forecast")
        assert hasattr(expert, "update") == hasattr(expert, "size")


def test_a_damped_trend_is_its_recursion(rng):
    values, plan = rng.normal(size=40).cumsum(), forecaster_for(5).mixer.plan
    own, D = own_after_updates(values, plan), len(damped_trend.SMOOTHING)
    for d, smoothing in enumerate(damped_trend.SMOOTHING):
        reach = np.cumsum(smoothing[2] ** np.arange(1, 6))
        assert_allclose(own[d] + own[D + d] * reach, oracles.damped_trend(values, *smoothing, 5), rtol=1e-12)


@numba.njit
def _updates(update, own, values, past, plan, work):
    for t in range(len(values)):
        update(own, Sample(values[t], values[t], True, 1 if t == 0 else 0, 0), past, plan, work)


def own_after_updates(values: np.ndarray, plan: Any) -> np.ndarray:
    own = np.zeros(4 * len(damped_trend.SMOOTHING))
    past = Past(log_of(values), len(values) - 1, np.zeros(1, cleaner.CLEANER), float(values[-1]), np.zeros((0, 5)))
    _updates(numba.njit(damped_trend.update.py_func), own, values, past, plan, np.zeros(1))
    return own


def test_a_seasonal_trend_is_its_recursion(rng):
    values = rng.normal(size=53).cumsum()
    forecaster = forecaster_for(7, season=4)
    state = forecaster.learn(forecaster.initial_state(), values)
    names = np.array(forecaster.mixer.names)
    found = forecaster.forecast(state).issued.experts[0][:, names == "trend and mean of seasons 4"]
    for d, smoothing in enumerate(seasonal_trend.SMOOTHING):
        assert_allclose(found[:, d], oracles.seasonal_trend(values.copy(), 4, smoothing, 7), rtol=1e-9)
    weights = seasonal_trend.lag_weights(*past_of(forecaster.mixer, state.mixture, 0), forecaster.mixer.plan, 53)
    for d, smoothing in enumerate(seasonal_trend.SMOOTHING):
        ahead = [oracles.seasonal_trend(np.where(np.arange(900) == 899 - lag, 1.0, 0.0), 4, smoothing, 1)[0]
                 for lag in range(53)]  # fmt: skip
        assert_allclose(weights[d], ahead, atol=1e-9)


def test_a_season_is_the_value_one_season_ago(rng):
    values = rng.normal(size=30)
    bases = np.zeros((1, 7))
    fill = numba.njit(lambda log, bases: seasonal.fill_bases(log, 29, 1.0, 30.0, np.array([4]), bases))
    fill(log_of(values), bases)
    assert_array_equal(bases[0], values[[26, 27, 28, 29, 26, 27, 28]])


def test_experts_are_scored_by_regret(rng):
    values, forecasts = rng.normal(size=25), rng.normal(size=(25, 3))
    state = scores.Scores(np.zeros(1, scores.LEAD_SCORE), np.zeros(3, scores.EXPERT_SCORE), np.zeros(3))
    update, due = called_alone(scores.update), due_now()
    for value, row in zip(values, forecasts, strict=True):
        update(state, pending_of(row[None], np.zeros(1), np.ones(1)), due, 1, value, 0.9, False)
    regret, weight = oracles.regrets(values, forecasts, 0.9)
    assert_allclose(state.regret, regret, rtol=1e-12)
    assert_allclose(state.leads["weight"][0], weight, rtol=1e-12)


def test_a_common_shock_changes_no_regret():
    state = scores.Scores(np.zeros(1, scores.LEAD_SCORE), np.zeros(2, scores.EXPERT_SCORE), np.zeros(2))
    pending = pending_of(np.array([[1.0, 2.0]]), np.zeros(1), np.ones(1))
    called_alone(scores.update)(state, pending, due_now(), 1, 1000.0, 0.9, True)
    assert_array_equal(state.regret, [1.0, 0.0])


def test_weights_are_the_sixth_power_of_one_over_the_error(rng):
    E, H = 4, 6
    errors = rng.uniform(0.5, 2.0, size=(H, E))
    leads, experts = np.zeros(H, scores.LEAD_SCORE), np.zeros(E, scores.EXPERT_SCORE)
    leads["weight"], leads["least"], experts["issued"] = 1.0, 0.1, 99.0
    state = scores.Scores(leads, experts, (errors - 0.1).ravel())
    work = Work(*[np.zeros(1)] * 5, np.zeros((H, E)), *np.zeros((2, E)), *np.zeros((2, H)), *[np.zeros(1)] * 6)
    weights = np.zeros((E, H))
    weigh = numba.njit(lambda *given: scores.weigh(*given))
    assert weigh(state, work, E, True, weights) == H
    assert_allclose(weights, oracles.expert_weights(errors.T, np.zeros(E)), rtol=1e-12)


def test_an_expected_error_is_the_ways_by_their_likelihood(rng):
    expected, loss, ways = rng.uniform(1, 2, 5), rng.uniform(0, 0.1, 5), rng.uniform(1, 2, 5)
    leads = np.zeros(1, scale.LEAD_SCALE)
    leads["errors"], leads["expected"], leads["loss"] = 3.0, expected, loss
    found = called_alone(scale.expected_size)(scale.Scale(np.zeros(1, scale.STEP), leads, np.zeros(0)), ways, 0)
    assert_allclose(found, oracles.expected_error(3.0, expected, loss, ways), rtol=1e-12)


@pytest.mark.parametrize("value", [100.0, -100.0, 5.0])
def test_a_surprise_is_learnt_winsorised(value):
    own = np.zeros(1, cleaner.CLEANER)
    own["expected"], own["expected_error"], own["age"] = 1.0, 2.0, 50.0
    log = log_of(np.zeros(5))
    take = numba.njit(
        lambda own, log, value: cleaner.take_value(
            own[0], log, 3, value, cleaner.is_surprising(own[0], value, True, True), 1.0
        )
    )
    assert_allclose(take(own, log, value), oracles.winsorised(value, 1.0, 2.0), rtol=1e-15)


def test_values_that_return_show_that_there_was_an_outlier():
    own, log = np.zeros(1, cleaner.CLEANER), log_of(np.array([0.0, 0.0, 900.0, 0.1]))
    own["expected_error"], own["age"] = 0.1, 50.0
    find = numba.njit(
        lambda own, log, now, value, surprise: cleaner.find_suspect(
            own[0], log, now, value, surprise, np.zeros(0, np.int64)
        )
    )
    assert find(own, log, 2, 900.0, True) == 1
    assert find(own, log, 3, 0.1, False) == -1
    assert log["returned"][3] == 1.0
    outlier = numba.njit(lambda log: (cleaner.is_outlier(log, 2, 3), cleaner.is_outlier(log, 1, 3)))
    assert outlier(log) == (True, False)


def test_the_brake_holds_after_losses_to_the_last_value():
    state = np.zeros(1, brake.BRAKE)
    state["moved"], state["moves"] = 10.0, 10.0
    plan = forecaster_for(4).mixer.plan
    share = numba.njit(lambda brakes, owed, plan: brake.set_share(brakes[0], owed, 0.0, 0.0, False, plan))
    share(state, 1.9, plan)
    assert state["share"] == 1.0
    share(state, 4.0, plan)  # twice the credit of two mean moves
    assert state["share"] == 0.5**4


def test_a_gap_widens_what_is_expected_as_a_random_walk():
    leads = np.zeros(3, LEAD)
    leads["size"] = [1.0, 2.0, 3.0]
    called_alone(scale.widen_in_gap)(leads, 2, 0.0)
    assert_allclose(leads["size"], [3.0, 3.0 * np.sqrt(4 / 3), 3.0 * np.sqrt(5 / 3)])


def test_errors_are_counted_in_expected_sizes():
    state, scored = np.zeros(1, calibration.ERRORS), np.ones(2).view(scores.LEAD_SCORE)
    pending = pending_of(np.zeros((1, 1)), np.array([1.0]), np.array([0.5]))
    update = numba.njit(lambda *given: calibration.update(*given))
    surprise = update(state, log_of(np.array([2.5, 0.0])), 1, pending, due_now(), 1, 3.0, 1000.0, scored)
    assert surprise == 4.0
    assert state["rise"][0] == 0.5
    edges = calibration.bin_edges()
    (place,) = np.flatnonzero(state["counts"][0, 0])
    assert edges[place] <= 4.0 <= edges[place + 1]
    assert state["largest"][0] == 2.0


def test_a_map_is_ridge_regression(rng):
    x, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 3))
    mx, my = x.mean(axis=0), y.mean(axis=0)
    xx, yx = (x - mx).T @ (x - mx), (y - my).T @ (x - mx)
    moments = KindMoments(np.array([60.0]), mx[None], my[None], xx[triangle(5)][None], yx[None])
    plan = forecaster_for(3, history=LegT(5, 16.0), anchor="last", ridge=0.1).mixer.plan
    maps = np.zeros((1, plan.maps_at[-1]))
    ridge.solve(moments, 0, plan, (0.1,), (slice(0, 5),), maps)
    found = open_map.py_func(maps[0], 0, plan)
    coefficients, constant = oracles.ridge_map(x, y, 0.1)
    assert_allclose(found.columns, coefficients, rtol=1e-10)
    assert_allclose(found.constants - found.means @ found.columns, constant, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("horizon", [5, 100])  # issued after every cell, and after every third
def test_a_forecast_is_kept_until_the_values_of_all_its_leads_have_come(horizon, rng):
    mixer = forecaster_for(horizon).mixer
    values, seen = rng.normal(size=(3 * horizon, 1)).cumsum(axis=0), np.ones((3 * horizon, 1), bool)
    (_, rolled), *_ = mixer.roll(mixer.begin(1), values[:60], seen[:60])
    mixture = mixer.advance(mixer.begin(1), values[:60], seen[:60])
    leads, plan = mixer.open(mixture).pending.leads["mean"][0], mixer.plan
    assert len(leads) == sum(k // plan.stride + 1 for k in range(horizon))
    for origin, mean in zip(rolled.origins - 1, rolled.mean[0], strict=True):
        for k in range(max(60 - origin - 1, 0), horizon):
            assert leads[slot_of.py_func(int(origin), k, plan)] == mean[k]


def test_one_cell_at_a_time_is_all_at_once(rng):
    mixer = forecaster_for(6).mixer
    values = np.cumsum(rng.normal(size=(120, 2)), axis=0)
    seen = rng.random((120, 2)) > 0.1
    whole = mixer.advance(mixer.begin(2), values, seen)
    mixture = mixer.begin(2)
    for t in range(120):
        mixture = mixer.advance(mixture, values[t : t + 1], seen[t : t + 1])
    assert_array_equal(mixture.live, whole.live)
    assert_array_equal(mixer.issue(mixture).mean, mixer.issue(whole).mean)
