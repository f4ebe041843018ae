"""Families of troubled streams (`tests/troubled_streams.py`): what a forecast and its bands may do there."""

import numpy as np
import pytest

from hippozoo.ensemble import forecaster_for
from hippozoo.ensemble.cleaner import early_outliers
from troubled_streams import (
    HORIZON,
    WEEK,
    closed_on_sundays,
    early_outlier,
    filling_disk,
    last_is_incomplete,
    last_is_outlier,
    last_is_step,
)

SEEDS = range(20, 24)  # beside those that the library was chosen on


def forecast_of(past, season, horizon=HORIZON, **options):
    forecaster = forecaster_for(horizon, season=season, **options)
    return forecaster.forecast(forecaster.learn(forecaster.initial_state(), past))


def share_held(cases):
    """The share of all values that 95 % bands hold."""
    inside = []
    for one in cases:
        forecast = forecast_of(one.past, one.season)
        lower, upper = forecast.band(forecast.leads(), 0.95)
        inside.append(((lower <= one.future) & (one.future <= upper)).mean())
    return np.mean(inside)


@pytest.mark.parametrize("size", [10.0, 100.0, 1e4])
@pytest.mark.parametrize("family", [last_is_outlier, last_is_step])
def test_bands_hold_what_comes_after_a_last_reading_that_is_far_off(family, size):
    assert share_held(one for seed in SEEDS for one in family(seed, size)) >= 0.9


def test_bands_hold_what_comes_after_an_hour_that_is_not_over():
    cases = [one for seed in SEEDS for one in last_is_incomplete(seed)]
    assert share_held(cases) >= 0.9
    for one in cases:
        forecast = forecast_of(one.past, one.season)
        assert forecast.doubted[0] > 6
        clean = forecast_of(one.clean, one.season)
        assert clean.doubted[0] == 0
        assert np.abs(forecast.samples() - clean.samples()).mean() < 0.1 * one.clean.mean()


@pytest.mark.parametrize("horizon", [1, 2, 24, 100])
def test_the_next_reading_settles_what_the_last_one_was(rng, horizon):
    noise = rng.normal(size=400)
    past = np.append(noise, 300.0)
    at_once = forecast_of(past, None, horizon)
    lower, upper = at_once.band(at_once.leads(), 0.95)
    assert np.abs(at_once.samples()).max() < 3
    assert (lower < 0).all()
    assert (upper > 298).all()
    returned = forecast_of(np.append(past, 0.0), None, horizon)
    stayed = forecast_of(np.append(past, 300.0), None, horizon)
    assert np.abs(returned.samples()).max() < 150
    assert np.abs(stayed.samples() - 300).max() < 150
    assert not returned.doubted.any()
    assert not stayed.doubted.any()


def test_a_gap_settles_nothing(rng):
    past = np.append(rng.normal(size=400), 300.0)
    forecaster = forecaster_for(HORIZON)
    state = forecaster.learn(forecaster.initial_state(), past)
    after = forecaster.learn(state, np.zeros(3), mask=np.zeros(3, bool))
    lower, upper = forecaster.forecast(after).band(np.arange(HORIZON) + 0.5, 0.95)
    assert (lower < 0).all()
    assert (upper > 298).all()


def test_odds_are_those_that_the_stream_has_taught(rng):
    spikes, steps = rng.normal(size=900), rng.normal(size=900)
    spikes[100::80] += 60.0
    steps += 60.0 * (np.arange(900) // 80 % 2)
    for values, is_outlier in ((spikes, True), (steps, False)):
        forecast = forecast_of(np.append(values, values[-1] + 60.0), None)
        assert abs(forecast.samples()[0] - values[-1] - (0.0 if is_outlier else 60.0)) < 15


def test_a_doubted_channel_leaves_others_alone(rng):
    values = rng.normal(size=(400, 2))
    forecaster = forecaster_for(HORIZON)
    plain = forecaster.forecast(forecaster.learn(forecaster.initial_state(2), values))
    values[-1, 0] += 100.0
    found = forecaster.forecast(forecaster.learn(forecaster.initial_state(2), values))
    for coverage in (0.5, 0.95):
        one, other = (each.band(each.leads(), coverage) for each in (plain, found))
        assert np.array_equal(one[0][1], other[0][1])
        assert np.array_equal(one[1][1], other[1][1])
    paths = found.paths(400, rng)[:, 0, 5]
    assert 0.2 < (paths > 50).mean() < 0.6  # the odds of a level shift, 0.4 at first


# -- the beginning -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10.0, 100.0, 1e6, np.inf])
def test_one_early_outlier_spoils_nothing(size):
    spoilt, clean = 0.0, 0.0
    for seed in SEEDS:
        for one in early_outlier(seed, size):
            future = one.clean[230 : 230 + HORIZON]
            for past, is_clean in ((one.past[:230], False), (one.clean[:230], True)):
                forecast = forecast_of(past, one.season)
                lower, upper = forecast.band(forecast.leads(), 0.95)
                error = np.abs(forecast.samples() - future).mean() / one.clean.std()
                clean, spoilt = clean + error * is_clean, spoilt + error * (not is_clean)
                assert (upper - lower).max() < 40 * one.clean.std()
    assert spoilt < 1.1 * clean


def test_a_stream_that_begins_anew_is_the_same_in_pieces_and_beside_others(rng):
    values = rng.normal(size=(150, 2))
    values[17, 0] = -1e9
    forecaster = forecaster_for(HORIZON, season=7)
    whole = pieces = single = forecaster.initial_state(2)
    whole = forecaster.learn(whole, values)
    for begin, end in ((0, 64), (64, 65), (65, 150)):
        pieces = forecaster.learn(pieces, values[begin:end])
    for row in values:
        single = forecaster.learn_one(single, row)
    *_, (rolled, _) = forecaster.roll(forecaster.initial_state(2), values)
    alone = forecaster.learn(forecaster.initial_state(), values[:, 1])
    wanted = forecaster.forecast(whole)
    for state in (pieces, single, rolled):
        assert np.array_equal(forecaster.forecast(state).samples(), wanted.samples())
    assert np.array_equal(forecaster.forecast(alone).samples(), wanted.samples()[1])


def test_what_recurs_early_is_no_outlier(rng):
    time = np.arange(64)
    everything = np.ones(64, bool)
    assert not early_outliers(rng.normal(size=64) + 200.0 * (time % 24 == 7), everything).any()
    assert not early_outliers(rng.normal(size=64) + 1e4 * (time > 30), everything).any()
    assert not early_outliers(np.exp(time / 2), everything).any()
    assert not early_outliers(rng.poisson(0.3, size=64).astype(float), everything).any()
    spoilt = np.where(np.isin(time, (3, 40, 41)), -9999.0, rng.normal(size=64))
    assert np.flatnonzero(early_outliers(spoilt, everything)).tolist() == [3, 40, 41]


# -- bands -------------------------------------------------------------------------------------------------------------


def test_no_band_reaches_further_than_the_signal_has_ever_moved():
    for seed in SEEDS:
        values = filling_disk(seed)
        for end in range(200, 580, 37):
            past, forecast = values[:end], forecast_of(values[:end], None)
            lower, upper = forecast.band(forecast.leads(), 0.95)
            rise = np.array([(past[k:] - past[:-k]).max() for k in range(1, HORIZON + 1)])
            fall = np.array([(past[:-k] - past[k:]).max() for k in range(1, HORIZON + 1)])
            assert (upper <= np.maximum(past.max(), forecast.samples()) + rise + 1e-9).all()
            assert (lower >= np.minimum(past.min(), forecast.samples()) - fall - 1e-9).all()


# -- days without sales ------------------------------------------------------------------------------------------------


def test_a_shop_that_is_closed_on_sundays_is_forecast_no_worse_than_by_last_week():
    ours, last = 0.0, 0.0
    for seed in SEEDS:
        values = closed_on_sundays(seed)
        past, future = values[:-WEEK], values[-WEEK:]
        forecast = forecast_of(past, WEEK, horizon=WEEK).samples()
        ours, last = ours + np.abs(forecast - future).mean(), last + np.abs(past[-WEEK:] - future).mean()
        assert np.abs(forecast[future == 0]).mean() < 0.1 * past[past > 0].mean()
    assert ours < last
