"""The forecaster: what it learns from, pieces and wholes, gaps and uneven steps, channels, choices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hippozoo.checkpoint import load_state, save_state
from hippozoo.discretise import zero_order_hold
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Candidate, DelayLine, Forecaster, Moments, explain, forecaster_with_candidates
from hippozoo.zoo.forecasting.state import ForecasterState
from oracles import delayed_value, forecast_pairs


@pytest.fixture
def signal(rng):
    slow = np.cumsum(rng.normal(size=900)) * 0.05
    return slow + np.sin(np.arange(900) / 4) + 0.1 * rng.normal(size=900)


def learn(forecaster, signal, **others):
    channels = None if np.ndim(signal) == 1 else np.shape(signal)[1]
    return forecaster.learn(forecaster.initial_state(channels), signal, **others)


def differences(one: ForecasterState, two: ForecasterState):
    """The largest disagreement of what two states hold, relative to what they hold."""
    worst = 0.0
    for a, b in zip(one.learnt, two.learnt, strict=True):
        for left, right in zip(a, b, strict=True):
            for name in ("weight", "mean_x", "mean_y", "xx", "yx", "yy"):
                here, there = np.asarray(getattr(left, name)), np.asarray(getattr(right, name))
                worst = max(worst, np.abs(here - there).max() / max(np.abs(here).max(), 1e-300))
    errors = one.validation.errors
    worst = max(worst, np.abs(errors - two.validation.errors).max() / max(np.abs(errors).max(), 1e-300))
    squares = one.detail.squares
    worst = max(worst, np.abs(squares - two.detail.squares).max() / max(squares.max(), 1e-300))
    states = [(one.recent, two.recent), *zip(one.aligned, two.aligned, strict=True)]
    return max(worst, *(np.abs(a - b).max() for a, b in states))


@pytest.mark.parametrize("System", [LegT, LegS])
def test_it_learns_every_past_beside_the_future_that_came_after_it(signal, System):
    history = System(order=6, timescale=20.0)
    forecaster = Forecaster(history, horizon=5.0, future_order=8)
    past, future = forecast_pairs(
        *zero_order_hold(history, 1.0), *zero_order_hold(forecaster.future, 1.0), signal, horizon=5
    )
    expected = Moments.empty(6, 8).add(past, future)
    found = learn(forecaster, signal).learnt[0][0]
    assert found.weight == expected.weight == 895
    assert_allclose(found.xx, expected.xx, atol=1e-9)
    assert_allclose(found.yx, expected.yx, atol=1e-9)


@settings(max_examples=12)
@given(cuts=st.lists(st.integers(1, 899), max_size=5), channels=st.sampled_from([None, 2]), seed=st.integers(0, 9))
def test_learning_in_pieces_equals_learning_in_one_go(cuts, channels, seed):
    rng = np.random.default_rng(seed)
    signal = np.cumsum(rng.normal(size=900 if channels is None else (900, channels)), axis=0)
    forecaster = Forecaster(
        (LegT(6, 20.0), LegT(8, 50.0)), horizon=7.0, ridge=(1e-6, 1e-2), anchor=("none", "last"), forgetting=300.0
    )
    whole = learn(forecaster, signal)
    pieces = forecaster.initial_state(channels)
    for piece in np.split(signal, sorted(set(cuts))):
        pieces = forecaster.learn(pieces, piece)
    assert differences(whole, pieces) < 1e-9
    assert forecaster.chosen(whole) == forecaster.chosen(pieces)
    assert_allclose(forecaster.forecast(whole).samples(), forecaster.forecast(pieces).samples(), rtol=1e-6, atol=1e-6)


def test_one_sample_at_a_time_equals_learning_in_one_go(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=4.0, ridge=(1e-6, 1e-2))
    state = forecaster.initial_state()
    for sample in signal[:200]:
        state = forecaster.learn(state, np.array([sample]))
    assert differences(learn(forecaster, signal[:200]), state) < 1e-9


def test_separate_series_merge_to_what_both_teach(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=4.0)
    one, two = learn(forecaster, signal[:400]), learn(forecaster, signal[400:])
    merged = forecaster.merge(one, two)
    assert_allclose(merged.learnt[0][0].xx, one.learnt[0][0].merge(two.learnt[0][0]).xx)
    assert merged.time == one.time  # it goes on with the first series
    assert_allclose(merged.validation.weight, one.validation.weight + two.validation.weight)


def test_the_future_is_invisible_to_what_was_learnt_before_it(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=4.0)
    before = learn(forecaster, signal[:500])
    copy = before.learnt[0][0].xx.copy()
    forecaster.learn(before, signal[500:])
    assert_allclose(before.learnt[0][0].xx, copy, rtol=0, atol=0)


@pytest.mark.parametrize("dt", [1.0, 0.25])
def test_the_time_unit_does_not_matter(signal, dt):
    seconds = Forecaster(LegT(8, 20.0), horizon=6.0, ridge=1e-6)
    other = Forecaster(LegT(8, 20.0 * dt), horizon=6.0 * dt, dt=dt, ridge=1e-6)
    ours = other.forecast(learn(other, signal)).samples()
    assert_allclose(ours, seconds.forecast(learn(seconds, signal)).samples(), rtol=1e-6)


def test_equal_steps_given_one_by_one_change_nothing(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    uneven = learn(forecaster, signal, dt=np.full(900, 1.0) * np.where(np.arange(900) % 2, 1 + 1e-13, 1 - 1e-13))
    assert differences(learn(forecaster, signal), uneven) < 1e-6


def test_the_delay_line_gives_what_went_in_one_horizon_ago_whatever_the_steps(rng):
    steps, values = rng.uniform(0.1, 2.5, size=60), rng.normal(size=(60, 1))
    times = np.cumsum(steps) - steps
    line = DelayLine.constant(values[0], horizon=5.0, dt=1.0)
    first, line = line.push(values[:25], steps[:25], np.ones((25, 1)))
    second, line = line.push(values[25:], steps[25:], np.ones((35, 1)))
    pieces = np.concatenate([first.durations, second.durations])
    out = np.concatenate([first.values, second.values])[:, 0]
    middles = np.cumsum(pieces) - pieces / 2
    expected = [delayed_value(times, values[:, 0], 5.0, moment) for moment in middles]
    assert_allclose(out, expected)
    assert_allclose(line.durations.sum(), 5.0)
    assert_allclose(np.cumsum(first.durations)[first.ends], np.cumsum(steps[:25]))


def test_uneven_samples_of_a_smooth_signal_are_forecast_like_even_ones(rng):
    steps = rng.uniform(0.05, 0.15, size=20_000)
    times = np.cumsum(steps) - steps
    smooth = np.sin(times) + np.sin(times * 0.61)
    forecaster = Forecaster(LegT(24, 12.0), horizon=2.0, dt=0.1, ridge=1e-6)
    state = learn(forecaster, smooth, dt=steps)
    leads = np.array([0.5, 1.0, 1.5])
    now = times[-1] + steps[-1] - 0.05  # a held sample is on average half a step old
    truth = np.sin(now + leads) + np.sin((now + leads) * 0.61)
    assert_allclose(forecaster.forecast(state).mean(leads), truth, atol=0.05)


def test_uneven_pieces_equal_one_go(rng, signal):
    steps = rng.uniform(0.3, 2.0, size=900)
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0, ridge=(1e-6, 1e-2))
    whole = learn(forecaster, signal, dt=steps)
    pieces = forecaster.learn(learn(forecaster, signal[:333], dt=steps[:333]), signal[333:], dt=steps[333:])
    assert differences(whole, pieces) < 1e-6  # the clock rounds differently in pieces


def test_a_gap_holds_the_last_value_and_teaches_less(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    mask = np.ones(900, bool)
    mask[300:340] = False
    broken = np.where(mask, signal, np.nan)
    state = learn(forecaster, broken, mask=mask)
    held = np.where(mask, signal, signal[299])
    assert_allclose(state.aligned[0], learn(forecaster, held).aligned[0])
    # Forty futures end inside the gap or reach into it by 1 to 4 samples of 5, on either side.
    assert_allclose(state.pairs, 895 - 36 - 2 * (0.2 + 0.4 + 0.6 + 0.8))


def test_channels_may_begin_late(signal):
    late = np.column_stack([signal, signal])
    mask = np.ones((900, 2), bool)
    mask[:450, 1] = False
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    state = learn(forecaster, np.where(mask, late, np.nan), mask=mask)
    alone = learn(forecaster, signal[450:])
    assert_allclose(state.learnt[1][0].yx, alone.learnt[0][0].yx, atol=1e-9)


def test_nothing_seen_yet_lets_time_pass(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    state = forecaster.learn(forecaster.initial_state(), np.full(10, np.nan), mask=np.zeros(10, bool))
    assert state.time == 10.0
    assert_allclose(forecaster.learn(state, signal).learnt[0][0].yx, learn(forecaster, signal).learnt[0][0].yx)


def test_independent_channels_do_not_mix(signal, rng):
    both = np.column_stack([signal, rng.normal(size=900)])
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    assert_allclose(
        forecaster.forecast(learn(forecaster, both)).samples()[0],
        forecaster.forecast(learn(forecaster, signal)).samples(),
    )


def test_channels_that_share_a_map_teach_each_other(signal):
    shared = Forecaster(LegT(6, 20.0), horizon=5.0, together="shared")
    state = learn(shared, np.column_stack([signal[:450], signal[450:]]))
    apart = Forecaster(LegT(6, 20.0), horizon=5.0)
    merged = apart.merge(learn(apart, signal[:450]), learn(apart, signal[450:]))
    assert_allclose(state.learnt[0][0].yx, merged.learnt[0][0].yx, atol=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_a_joint_forecast_reads_the_channel_that_leads(rng, unit):
    leader = rng.normal(size=4000)
    leader = np.convolve(leader, np.ones(3) / 3, "same")
    follower = np.concatenate([np.zeros(6), leader[:-6]]) * unit
    both = np.column_stack([leader, follower])
    joint = Forecaster(LegT(24, 12.0), horizon=3.0, together="joint", ridge=1e-6)
    alone = Forecaster(LegT(24, 12.0), horizon=3.0, ridge=1e-6)
    seen_joint, seen_alone = learn(joint, both[:3000]), learn(alone, both[:3000])
    leads = np.array([0.5, 1.5, 2.5])
    truth = np.stack([follower[3000 + k : 3997 + k] for k in (1, 2, 3)], axis=1)
    error_joint = np.mean((joint.replay(seen_joint, both[3000:], leads)[:-3, 1] - truth)[20:] ** 2)
    error_alone = np.mean((alone.replay(seen_alone, both[3000:], leads)[:-3, 1] - truth)[20:] ** 2)
    assert error_joint < 0.1 * error_alone


def test_the_unit_of_a_channel_does_not_change_a_joint_forecast(rng):
    both = np.column_stack([np.sin(np.arange(1500) / 5), np.sin(np.arange(1500) / 3)]) + 0.3 * rng.normal(
        size=(1500, 2)
    )
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, together="joint", rank=2, ridge=(1e-1, 1e-3))
    plain = forecaster.forecast(learn(forecaster, both)).samples()
    other = forecaster.forecast(learn(forecaster, both * [1.0, 1e4])).samples()
    assert_allclose(other / [[1.0], [1e4]], plain, rtol=1e-5, atol=1e-6)


def test_an_anchored_forecast_follows_the_level(signal):
    forecaster = Forecaster(LegT(8, 20.0), horizon=5.0, anchor="last", ridge=1e-4)
    near, far = learn(forecaster, signal), learn(forecaster, signal + 1000.0)
    assert_allclose(forecaster.forecast(far).samples(), forecaster.forecast(near).samples() + 1000.0, rtol=1e-6)


def test_an_overwhelming_ridge_leaves_persistence_to_an_anchored_forecast(signal):
    forecaster = Forecaster(LegT(8, 20.0), horizon=5.0, anchor="last", ridge=1e9, intercept=False)
    forecast = forecaster.forecast(learn(forecaster, signal))
    assert_allclose(forecast.samples(), signal[-1], atol=1e-5)


STANDSTILL = {
    "values": Forecaster(LegT(32, 64.0), horizon=12.0, ridge=1e-4),
    "differences": Forecaster(LegT(32, 64.0), horizon=12.0, ridge=1e-4, anchor="last"),
    "around zero": Forecaster(LegT(32, 64.0), horizon=12.0, ridge=1e-4, anchor="last", intercept=False),
    "forgetting": Forecaster(LegT(32, 64.0), horizon=12.0, ridge=1e-4, forgetting=100.0),
    "candidates": forecaster_with_candidates(12.0),
}


@pytest.mark.parametrize("kind", STANDSTILL)
@pytest.mark.parametrize("level", [10.0, 1e6, -3e-5])
def test_a_standstill_teaches_the_same_at_every_level(rng, kind, level):
    # At level 0 a standstill is zeros, without any rounding.
    forecaster = STANDSTILL[kind]
    moving = np.concatenate([np.zeros(600), np.sin(np.arange(300) * np.pi / 12) + 0.1 * rng.normal(size=300)])
    at_zero, there = forecaster.initial_state(), forecaster.initial_state()
    for begin, end in [(0, 600), (600, 605), (605, 630), (630, 900)]:
        at_zero = forecaster.learn(at_zero, moving[begin:end])
        there = forecaster.learn(there, level + moving[begin:end])
        expected, found = forecaster.forecast(at_zero), forecaster.forecast(there)
        leads = expected.leads()
        # Memories hold 14 digits of the level, and a map from a dozen pairs magnifies what is left of the signal.
        tolerance = 1e-8 + 1e-9 * abs(level)
        assert_allclose(found.samples() - level, expected.samples(), atol=tolerance)
        assert_allclose(np.sqrt(found.variance(leads)), np.sqrt(expected.variance(leads)), atol=tolerance)


@pytest.mark.parametrize("anchor", ["none", "last"])
@pytest.mark.parametrize("rank", [None, 2])
def test_a_channel_that_stood_still_disturbs_no_joint_forecast(rng, anchor, rank):
    forecaster = Forecaster(LegT(16, 40.0), horizon=8.0, together="joint", anchor=anchor, rank=rank, ridge=1e-4)
    walk, waves = np.cumsum(rng.normal(size=900)), np.sin(np.arange(900) / 4) * (np.arange(900) >= 600)
    at_zero, there = forecaster.initial_state(2), forecaster.initial_state(2)
    for begin, end in [(0, 605), (605, 640), (640, 900)]:
        at_zero = forecaster.learn(at_zero, np.column_stack([waves, walk])[begin:end])
        there = forecaster.learn(there, np.column_stack([waves + 1e6, walk])[begin:end])
        expected, found = forecaster.forecast(at_zero), forecaster.forecast(there)
        # A level of 1e6 leaves ten digits, and a ridge of 1e-4 may magnify what is lost; processors round differently.
        assert_allclose(found.samples() - [[1e6], [0.0]], expected.samples(), atol=5e-3)
        assert_allclose(found.variance(4.0), expected.variance(4.0), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("level", [0.0, 10.0, 1e6, -3e-5])
def test_as_long_as_a_signal_stands_still_the_first_candidate_is_used(level):
    forecaster = forecaster_with_candidates(12.0)
    state = learn(forecaster, np.full(600, level))
    assert forecaster.chosen(state) == forecaster.candidates[:1]
    assert_allclose(forecaster.forecast(state).band(6.0), level, rtol=1e-9)


def test_before_anything_was_learnt_the_forecast_is_the_last_value(signal):
    forecaster = Forecaster(LegT(8, 20.0), horizon=5.0)
    forecast = forecaster.forecast(learn(forecaster, signal[:3]))
    assert_allclose(forecast.samples(), signal[2])
    assert np.isinf(forecast.variance(2.0))


def test_forgetting_lets_a_changed_world_be_learnt(rng):
    before, after = np.sin(np.arange(4000) / 3), np.sin(np.arange(1500) / 7)
    signal = np.concatenate([before, after]) + 0.01 * rng.normal(size=5500)
    errors = []
    for forgetting in (None, 200.0):
        forecaster = Forecaster(LegT(12, 16.0), horizon=4.0, rank=2, ridge=1e-4, forgetting=forgetting)
        ahead = forecaster.forecast(learn(forecaster, signal)).samples()
        errors.append(np.abs(ahead - np.sin(np.arange(1500, 1504) / 7)).max())
    assert errors[1] < 0.3 * errors[0]


def test_the_better_candidate_is_chosen(rng):
    signal = np.sin(np.arange(3000) * 2 * np.pi / 50) + 0.5 * rng.normal(size=3000)
    forecaster = Forecaster((LegT(2, 3.0), LegT(24, 100.0)), horizon=10.0, ridge=(1e-4, 1e6))
    assert forecaster.chosen(learn(forecaster, signal)) == (Candidate(1, "none", None, 1e-4),)


def test_scores_are_errors_on_data_that_was_not_learnt_from(rng):
    # White noise cannot be forecast: on unseen data nothing beats its variance, on learnt data full rank does.
    forecaster = Forecaster(LegT(32, 32.0), horizon=4.0, ridge=0.0)
    state = learn(forecaster, rng.normal(size=400))
    samples = np.trace(forecaster.maps(state)[0].residual)
    assert forecaster.scores(state)[0, 0] * forecaster.future.order > samples * 1.1


def test_what_is_scored_was_learnt_at_least_a_horizon_before(signal):
    forecaster = Forecaster(LegT(6, 20.0), horizon=7.0)
    state, scored = forecaster.initial_state(), 0
    for piece in np.split(signal, range(20, 900, 20)):
        state = forecaster.learn(state, piece)
        known, stretch = (one[0][0].weight for one in (state.validation.learnt_then, state.validation.stretch))
        assert known == 0 or known <= state.pairs - stretch - 7
        scored += known > 0
    assert scored > 20


def test_bands_hold_what_they_promise(rng):
    noise = rng.normal(size=40_000)
    signal = np.zeros(40_000)
    for t in range(1, 40_000):
        signal[t] = 0.9 * signal[t - 1] + noise[t]
    forecaster = Forecaster(LegT(8, 10.0), horizon=8.0, ridge=1e-6)
    state = learn(forecaster, signal[:20_000])
    forecast = forecaster.forecast(state)
    leads = forecast.leads()
    ahead = forecaster.replay(state, signal[20_000:], leads)[50:-8]
    truth = np.stack([signal[20_050 + k : 39_992 + k] for k in range(1, 9)], axis=1)
    for coverage in (0.8, 0.95):
        lower, upper = forecast.band(leads, coverage)
        margin = (upper - lower) / 2
        assert abs(np.mean(np.abs(truth - ahead) < margin) - coverage) < 0.02
    expected = (1 - 0.81 ** np.arange(1, 9)) / (1 - 0.81)
    assert_allclose(forecast.variance(leads), expected, rtol=0.1)


@pytest.mark.parametrize("uneven", [False, True])
def test_bands_know_what_is_too_fine_for_system_1(rng, uneven):
    # White noise over 60 samples cannot be held by 12 coefficients; its variance must be in the band all the same.
    forecaster = Forecaster(LegT(8, 20.0), horizon=60.0, future_order=12, ridge=1e-2)
    steps = rng.uniform(0.9, 1.1, size=20_000) if uneven else None
    state = learn(forecaster, rng.normal(size=20_000), dt=steps)
    forecast = forecaster.forecast(state)
    assert forecast.detail.mean() > 0.7
    assert_allclose(forecast.variance(forecast.leads())[3:-3], 1.0, atol=0.12)


def test_detail_is_the_difference_between_samples_and_their_reading(rng):
    signal = rng.normal(size=100)
    forecaster = Forecaster(LegT(4, 10.0), horizon=4.0, future_order=3)
    state = learn(forecaster, signal)
    A_d, b_d = zero_order_hold(forecaster.future, 1.0)
    reading, squares = np.zeros(3), []
    reading[0] = signal[0]
    for t, sample in enumerate(signal):
        reading = A_d @ reading + b_d * sample
        if t >= 4:
            squares.append((signal[t - 3 : t + 1] - forecaster.future.basis(4.0 - np.arange(4) - 0.5) @ reading) ** 2)
    assert_allclose(state.detail.squares[0], np.sum(squares, axis=0))  # four cells: measured at every sample
    assert state.detail.weight[0] == len(squares)


def test_replay_issues_the_forecasts_that_the_state_would(signal):
    forecaster = Forecaster(LegT(8, 20.0), horizon=5.0, anchor=("none", "last"))
    state = learn(forecaster, signal)
    leads = np.array([0.5, 3.3])
    ahead = forecaster.replay(state, signal, leads)
    assert_allclose(ahead[-1], forecaster.forecast(state).mean(leads))
    assert ahead.shape == (900, 2)


def test_the_endpoint_is_read_before_the_sample_enters(signal):
    history, changed = LegT(6, 20.0), signal.copy()
    changed[899] += 10
    forecaster = Forecaster(history, horizon=5.0, delay="endpoint", future_order=16)
    one, two = learn(forecaster, signal), learn(forecaster, changed)
    assert_allclose(one.delayed[0], two.delayed[0])
    # It is a smoothed reading of the signal one horizon ago.
    exact = learn(Forecaster(history, horizon=5.0, future_order=16), signal)
    assert 0.001 < np.abs(one.delayed[0] - exact.delayed[0]).max() < 1.0


def test_a_state_saved_is_a_state_loaded(signal, tmp_path):
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    state = learn(forecaster, signal)
    save_state(tmp_path / "state.safetensors", state, forecaster)
    found = load_state(tmp_path / "state.safetensors", forecaster)
    assert differences(state, found) == 0
    assert_allclose(
        forecaster.forecast(forecaster.learn(found, signal)).samples(),
        forecaster.forecast(forecaster.learn(state, signal)).samples(),
    )


# -- explanation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchor", ["none", "last"])
def test_a_forecast_is_the_weighted_sum_of_the_samples_it_read(signal, anchor):
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, anchor=anchor, intercept=False, ridge=1e-3)
    state = learn(forecaster, signal)
    taps = explain(forecaster, state).influence(np.array([0.5, 4.5]), count=400)
    assert_allclose(taps @ signal[::-1][:400], forecaster.forecast(state).mean(np.array([0.5, 4.5])), atol=1e-8)


def test_the_predictive_memory_forecasts_what_the_whole_past_does(signal):
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, rank=2, ridge=1e-3)
    seen = explain(forecaster, learn(forecaster, signal))
    kept = seen.mean_past + seen.fitted.predictive_projector @ (seen.past - seen.mean_past)
    assert_allclose(seen.fitted.forecast_map @ kept, seen.fitted.forecast_map @ seen.past, atol=1e-9)


def test_the_history_kernel_measures_futures(signal):
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, rank=3, ridge=1e-3)
    seen = explain(forecaster, learn(forecaster, signal))
    future = seen.fitted.forecast_map @ seen.past
    # (forecast)^2 integrated over the horizon, by the metric of histories and by definition.
    lead = (np.arange(50_000) + 0.5) / 10_000
    function = forecaster.future.basis(5.0 - lead) @ future
    assert_allclose(seen.past @ seen.history_metric @ seen.past, (function**2).sum() / 10_000, rtol=1e-6)
    kernel = seen.history_kernel(np.linspace(0, 20, 15))
    assert np.linalg.eigvalsh(kernel).min() > -1e-9 * np.abs(kernel).max()


def test_eigenfunctions_are_orthonormal_under_the_weight(signal):
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, rank=3, ridge=1e-3)
    seen = explain(forecaster, learn(forecaster, signal))
    node, mass = np.polynomial.legendre.leggauss(16)
    values, functions = seen.eigenfunctions(10.0 * (node + 1), count=3)
    assert_allclose((functions * mass / 2) @ functions.T, np.eye(3), atol=1e-10)
    assert (np.diff(values) <= 0).all()


def test_eigenfunctions_are_those_of_the_history_kernel(signal):
    # As the appendix draws them: Q in time is an integral operator, and these are its leading eigenfunctions.
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, rank=3, ridge=1e-3)
    seen = explain(forecaster, learn(forecaster, signal))
    node, mass = np.polynomial.legendre.leggauss(16)
    lags = 10.0 * (node + 1)
    values, functions = seen.eigenfunctions(lags, count=3)
    assert_allclose((functions * mass / 2) @ seen.history_kernel(lags), values[:, None] * functions, atol=1e-9)
    everything = np.linalg.eigvalsh(np.sqrt(mass / 2)[:, None] * seen.history_kernel(lags) * np.sqrt(mass / 2))
    assert_allclose(values, everything[::-1][:3], atol=1e-9)  # none leads before them


def test_the_predictive_memory_is_the_likeliest_past_with_the_same_forecast(signal):
    # "Minimum-norm, whitened": of all pasts that T forecasts alike, the one with the least x' cov_xx^-1 x.
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0, rank=2, ridge=0.0, intercept=False)
    state = learn(forecaster, signal)
    seen = explain(forecaster, state)
    cov_xx = forecaster.moments(state, seen.candidate)[0].covariances(centred=False)[0]
    root = np.linalg.cholesky(cov_xx)
    forecast = seen.fitted.forecast_map @ seen.past
    likeliest = root @ np.linalg.lstsq(seen.fitted.forecast_map @ root, forecast, rcond=1e-9)[0]
    lags = np.linspace(0.0, 20.0, 41)
    assert_allclose(seen.predictive_memory(lags), seen.system.reconstruct(likeliest, lags), atol=1e-9)
    assert np.abs(seen.memory(lags) - seen.predictive_memory(lags)).max() > 0.1  # and it is not all of the past


def test_the_median_is_the_mean_also_before_anything_was_learnt():
    forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
    forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), np.array([1.0, 2.0])))
    assert forecast.quantile(1.0, 0.5) == forecast.mean(1.0) == 2.0
    assert forecast.quantile(1.0, 0.9) == np.inf


def test_replay_takes_leads_of_any_shape_and_a_signal_of_nothing(signal):
    forecaster = Forecaster(LegT(8, 20.0), horizon=4.0, ridge=1e-3)
    state = learn(forecaster, signal)
    leads = np.array([[0.5, 1.5], [2.5, 3.5]])
    ahead = forecaster.replay(state, signal[:50], leads)
    assert_allclose(forecaster.replay(state, signal[:50], 2.5), ahead[:, 1, 0], rtol=1e-12)
    assert forecaster.replay(state, signal[:0], leads).shape == (0, 2, 2)
