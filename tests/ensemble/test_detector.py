"""The detector keeps its word: as many alarms as asked for on a quiet stream, and one where something happens."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.ensemble import Detector, _detector_kernels
from hippozoo.ensemble.detector import KINDS
from hippozoo.systems import LegT


def white(rng, count):
    values = rng.normal(size=count)
    return values, values


def heavy(rng, count):
    values = rng.standard_t(3, size=count)
    return values, values / np.sqrt(3)


def slow(rng, count):
    shocks, values = rng.normal(size=count), np.zeros(count)
    for t in range(1, count):
        values[t] = 0.9 * values[t - 1] + shocks[t]
    return values, shocks


def counts(rng, count):
    values = rng.poisson(2.0, size=count).astype(float)
    return values, (values - 2.0) / np.sqrt(2.0)


def daily(rng, count):
    errors = rng.normal(size=count)
    return 3 * np.sin(np.arange(count) * 2 * np.pi / 288) + errors, errors


def watched(detector, values, errors):
    return detector.watch(detector.initial_state(), values, errors)[1]


@pytest.mark.parametrize("family", [white, heavy, slow, counts, daily])
@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_a_quiet_stream_gets_as_many_alarms_as_asked_for(family, rate):
    rng, alarms, count = np.random.default_rng(1), 0, 20_000
    for _ in range(4):
        alarms += watched(Detector(rate=rate), *family(rng, count)).alarm.sum()
    assert rate / 2 < alarms / (4 * count) * 1000 < 2 * rate


@pytest.mark.parametrize(
    ("change", "within"),
    [
        (lambda values, errors: (values + 12.0, errors + 12.0), 1),  # a spike, or the first of a step
        (lambda values, errors: (values + 4.0, errors), 60),  # a level that the forecast has followed
        (lambda values, errors: (values * 5, errors * 5), 24),  # more change about the same level
        (lambda values, errors: (0.0 * values, errors), 40),  # a sensor that is stuck
    ],
)
def test_what_changes_is_noticed_soon(change, within):
    rng, detector = np.random.default_rng(2), Detector(rate=0.5)
    before, after = rng.normal(size=4000), rng.normal(size=100)
    values, errors = (
        np.concatenate([one, two]) for one, two in zip((before, before), change(after, after), strict=True)
    )
    alarms = np.flatnonzero(watched(detector, values, errors).alarm)
    assert ((alarms >= 4000) & (alarms < 4000 + within)).any()


def test_a_stuck_sensor_is_less_change():
    rng = np.random.default_rng(9)
    errors = rng.normal(size=2000)
    values = np.sin(np.arange(2000) / 20) + 0.2 * errors
    values[1900:], errors[1900:] = values[1899], 0.0
    surprise = watched(Detector(), values, errors)
    alarms = np.flatnonzero(surprise.alarm)
    [first] = alarms[(alarms >= 1900) & (alarms < 1930)]
    assert (KINDS[surprise.kind[first]], surprise.direction[first]) == ("spread", -1)


def test_a_cycle_is_found_and_missed_where_it_does_not_come():
    rng, detector, day = np.random.default_rng(11), Detector(), 288
    hour = np.arange(8 * day) % day
    values = np.where((hour > 100) & (hour < 180), 5.0, 0.0) + 0.3 * rng.normal(size=8 * day)
    errors = rng.normal(size=8 * day)  # a forecast of one step follows every jump after a reading
    values[7 * day :] = 0.3 * rng.normal(size=day)  # and one day it is quiet
    state, surprise = detector.watch(detector.initial_state(), values, errors)
    assert state.season.tolist() == [day]
    came = np.flatnonzero(surprise.alarm[7 * day :])
    assert len(came) >= 1
    assert 100 < came[0] < 180
    assert KINDS[surprise.kind[7 * day + came[0]]] == "cycle"
    assert surprise.direction[7 * day + came[0]] == -1


def test_columns_that_part_are_noticed_though_each_is_ordinary():
    rng, detector = np.random.default_rng(12), Detector(rate=0.5)
    load = np.zeros(3000)
    for t in range(1, 3000):
        load[t] = 0.97 * load[t - 1] + rng.normal()
    values = np.stack([load, 2 * load + 5, -load], axis=1) + 0.2 * rng.normal(size=(3000, 3))
    values[2500:2530, 1] = 2 * load[1500:1530] + 5  # as it once was, at another load
    assert abs(load[2500:2530] - load[1500:1530]).mean() > 1.0
    errors = rng.normal(size=(3000, 3))
    _, surprise = detector.watch(detector.initial_state(3), values, errors)
    strange = surprise.p[2500:2530, 1]
    assert strange.min() < 5e-4
    assert KINDS[surprise.kind[2500 + strange.argmin(), 1]] == "together"
    for column in range(3):
        alone = watched(detector, values[:, column], errors[:, column])
        assert not alone.alarm[2500:2530].any()


def test_the_residual_given_the_other_columns_is_that_of_least_squares():
    rng, detector = np.random.default_rng(13), Detector()
    mixed = rng.normal(size=(1500, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 0.5]])
    state, _ = detector.watch(detector.initial_state(3), mixed, np.zeros_like(mixed))
    # Leg-T is linear, so the levels of the columns are correlated as the columns are, up to the scaling by asinh.
    own = state.precision / np.sqrt(np.outer(np.diag(state.precision), np.diag(state.precision)))
    true = np.linalg.inv(np.corrcoef(mixed.T))
    true = true / np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert_allclose(own, true, atol=0.15)


def nearest_by_definition(values, centre, spread, row):
    """Distance of the memory of 8 readings from every one that is 8 readings old at least, all of them kept."""
    from hippozoo.memory import Memory

    scaled = np.arcsinh((values - centre) / spread)
    states = Memory(LegT(4, 8.0)).scan(scaled - scaled[0])  # a constant past is the first value for ever
    states[:, 0] += scaled[0]
    return np.sqrt(((states[8 : row - 7] - states[row]) ** 2).sum(axis=1).min())


def test_the_distance_is_that_of_the_nearest_state_while_all_are_kept():
    rng, detector = np.random.default_rng(14), Detector(warmup=1)
    values = rng.normal(size=85)
    state, _ = detector.watch(detector.initial_state(), values, np.zeros(85))
    centre, spread = detector.usual(state)[:, 0]
    assert centre == pytest.approx(np.sort(values[:64])[32], abs=1e-6)
    distance = nearest_by_definition(values, centre, spread, 84)
    store, now = state.stores[0, 1], state.states[0, 1]
    old = store[(store[:, 5] >= 0) & (store[:, 5] <= 84 - 8)]
    assert len(old) == 84 - 8 - 8 + 1
    assert np.sqrt(((old[:, :4] - now) ** 2).sum(axis=1).min()) == pytest.approx(distance, rel=1e-4)


def test_states_that_are_kept_are_those_farthest_apart():
    rng, detector = np.random.default_rng(15), Detector()
    values = rng.normal(size=3000)
    values[500] = 40.0  # a rare state stays, whatever comes after it
    state, _ = detector.watch(detector.initial_state(), values, values)
    kept = state.stores[0, 1]
    assert (kept[:, 5] >= 0).all()
    assert ((kept[:, 5] >= 500) & (kept[:, 5] < 508)).any()
    apart = np.sqrt(((kept[:, None, :4] - kept[None, :, :4]) ** 2).sum(axis=2)) + 9 * np.eye(len(kept))
    typical = np.sqrt(((kept[:, :4] - state.states[0, 1]) ** 2).sum(axis=1))
    assert np.median(apart.min(axis=1)) > 0.3 * np.median(typical)


def test_repeated_spikes_become_usual():
    # One spike in 288 readings: the first may be an alarm, but more than the rate asked for there are not.
    values = np.random.default_rng(10).normal(size=8000)
    values[100::288] += 9.0
    alarms = np.flatnonzero(watched(Detector(rate=1.0), values, values).alarm)
    assert (alarms > 2000).sum() <= 6 * 2


def test_an_anomaly_that_lasts_is_one_alarm():
    values = np.random.default_rng(5).normal(size=4000)
    values[3000:3140] += 8.0
    alarms = np.flatnonzero(watched(Detector(rate=0.1), values, values).alarm)
    assert_array_equal(alarms[alarms >= 2800], [3000])


def test_an_old_regime_is_forgotten():
    rng, detector = np.random.default_rng(4), Detector(rate=1.0, memory=1000.0)
    values = np.concatenate([rng.normal(size=3000), 50 + 5 * rng.normal(size=12_000)])
    errors = np.concatenate([values[:3000], [10.0], rng.normal(size=11_999)])
    alarms = np.flatnonzero(watched(detector, values, errors).alarm)
    assert (alarms == 3000).any()
    assert (alarms > 5000).sum() < 2 * 10  # as quiet as any stream once the new level is known


def test_a_gap_begins_the_memories_anew():
    rng, detector = np.random.default_rng(16), Detector(rate=1.0)
    came, runs = 0, 30
    for _ in range(runs):
        values = np.zeros(1200)
        for t in range(1, 1200):
            values[t] = 0.98 * values[t - 1] + rng.normal()
        errors = np.diff(values, prepend=0.0)
        seen = np.delete(values, np.s_[900:1000])  # the first reading after the gap was forecast with a wide band
        errors = np.delete(errors, np.s_[900:1000])
        state, _ = detector.watch(detector.initial_state(), seen[:900], errors[:900])
        detector.skip(state, 100)
        _, surprise = detector.watch(state, seen[900:930], errors[900:930])
        came += surprise.alarm.sum()
    assert came <= 4  # one in 1,000 readings is 0.9 in 30 times 30


def test_a_stream_of_gaps_is_watched_all_the_same():
    rng, detector = np.random.default_rng(18), Detector(rate=1.0)
    values = np.full(6000, np.nan)
    values[::6] = rng.normal(size=1000)
    values[5400:5500:6] += 6.0
    assert watched(detector, values, values).alarm[5400:5500].any()


def test_pieces_of_any_length_give_the_same_bits():
    rng = np.random.default_rng(5)
    values, errors, detector = rng.normal(size=(900, 2)), rng.normal(size=(900, 2)), Detector(memory=50.0)
    values[rng.random(values.shape) < 0.05] = np.nan
    whole_state, whole = detector.watch(detector.initial_state(2), values, errors)
    state, parts = detector.initial_state(2), []
    for begin, end in ((0, 1), (1, 300), (300, 301), (301, 900)):
        state, part = detector.watch(state, values[begin:end], errors[begin:end])
        parts.append(part)
    for name in ("p", "alarm", "kind", "size", "direction", "neighbour"):
        assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))
    for one, other in zip(state.arrays, whole_state.arrays, strict=True):
        assert_array_equal(one, other)


def test_columns_that_are_too_many_to_compare_do_not_mix_and_units_do_not_matter():
    rng = np.random.default_rng(6)
    values, errors = rng.normal(size=(300, 65)), rng.normal(size=(300, 65))
    detector = Detector()
    _, both = detector.watch(detector.initial_state(65), values, errors)
    assert_array_equal(both.p[:, 1], watched(detector, values[:, 1], errors[:, 1]).p)
    scaled = watched(detector, values[:, 1] * 1e12, errors[:, 1])
    assert np.mean(np.abs(np.log(scaled.p / both.p[:, 1])) < 0.01) > 0.9  # logarithms of changes are rounded otherwise


def test_a_state_is_never_changed_and_takes_16_kilobytes():
    detector, values = Detector(), np.random.default_rng(7).normal(size=300)
    for channels in (None, 8):
        state = detector.initial_state(channels)
        given = values if channels is None else np.tile(values[:, None], 8)
        before = [array.copy() for array in state.arrays]
        detector.watch(state, given, given)
        for old, new in zip(before, state.arrays, strict=True):
            assert_array_equal(old, new)
        assert sum(array.nbytes for array in state.arrays) <= 16 * 1024 * state.channels


def test_missing_readings_are_not_strange():
    values = np.random.default_rng(8).normal(size=1000)
    values[600:700] = np.nan
    surprise = watched(Detector(), values, values)
    assert (surprise.p[600:700] == 1).all()
    assert not surprise.alarm[600:700].any()


def test_a_constant_and_a_stream_that_begins_with_one_are_taken_in():
    detector = Detector()
    assert not watched(detector, np.full(500, 3.0), np.zeros(500)).alarm.any()
    rng = np.random.default_rng(17)
    values = np.concatenate([np.zeros(200), 1e-6 * rng.normal(size=3000)])
    values[2500:2530] += 2e-5
    surprise = watched(detector, values, np.concatenate([np.zeros(200), rng.normal(size=3000)]))
    assert surprise.alarm[2500:2530].any()
    assert np.isfinite(surprise.size).all()
    assert math.isfinite(surprise.p.min())
    assert _detector_kernels.LONGEST >= 288
