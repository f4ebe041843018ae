"""The detector keeps its word: as many alarms as asked for on a quiet stream, and one where something happens."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.zoo.forecasting.alarms import Detector


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


def watched(detector, values, errors):
    return detector.watch(detector.initial_state(), values, errors)[1]


def counts(rng, count):
    values = rng.poisson(2.0, size=count).astype(float)
    return values, (values - 2.0) / np.sqrt(2.0)


@pytest.mark.parametrize("family", [white, heavy, slow, counts])
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
        (lambda values, errors: (values + 3.0, errors), 60),  # a level that the forecast has followed
        (lambda values, errors: (values, errors * 4), 24),  # errors grow, the level stays
        (lambda values, errors: (values, errors + 1.5), 40),  # the forecast is always a little off
    ],
)
def test_what_changes_is_noticed_soon(change, within):
    rng, detector = np.random.default_rng(2), Detector(rate=0.5)
    before, after = rng.normal(size=4000), rng.normal(size=100)
    values, errors = (np.concatenate([before, one]) for one in change(after, after))
    alarms = np.flatnonzero(watched(detector, values, errors).alarm)
    assert ((alarms >= 4000) & (alarms < 4000 + within)).any()


def test_a_sensor_that_is_stuck_is_noticed():
    rng, detector = np.random.default_rng(9), Detector()
    errors = rng.normal(size=2000)
    values = np.sin(np.arange(2000) / 20) + 0.2 * errors
    values[1900:], errors[1900:] = values[1900], 0.0  # the last value for ever, as the forecast soon says
    surprise = watched(detector, values, errors)
    alarms = np.flatnonzero(surprise.alarm)
    [first] = alarms[(alarms >= 1900) & (alarms < 1930)]
    assert detector.kinds[surprise.kind[first]] == "calm of the forecast's errors over 24 readings"


def test_repeated_spikes_become_usual():
    # One spike in 288 readings: the first may be an alarm, but more than the rate asked for there are not.
    values = np.random.default_rng(10).normal(size=8000)
    values[100::288] += 9.0
    alarms = np.flatnonzero(watched(Detector(rate=1.0), values, values).alarm)
    assert (alarms > 2000).sum() <= 6 * 2


def test_an_anomaly_that_lasts_is_one_alarm():
    values = np.random.default_rng(3).normal(size=4000)
    values[3000:3140] += 8.0
    alarms = np.flatnonzero(watched(Detector(rate=0.1), values, values).alarm)
    assert_array_equal(alarms[alarms >= 2900], [3000])


def test_an_old_regime_is_forgotten():
    rng, detector = np.random.default_rng(4), Detector(rate=1.0, forgetting=500.0, memory=1000.0)
    values = np.concatenate([rng.normal(size=3000), 50 + 5 * rng.normal(size=12_000)])
    alarms = np.flatnonzero(watched(detector, values, values / 5).alarm)
    assert (alarms == 3000).any()
    assert (alarms > 5000).sum() < 2 * 10  # as quiet as any stream once the new level is known


def test_pieces_of_any_length_give_the_same_bits():
    rng = np.random.default_rng(5)
    values, errors, detector = rng.normal(size=(900, 2)), rng.normal(size=(900, 2)), Detector(memory=50.0)
    values[rng.random(values.shape) < 0.05] = np.nan
    whole_state, whole = detector.watch(detector.initial_state(2), values, errors)
    state, parts = detector.initial_state(2), []
    for begin, end in ((0, 1), (1, 300), (300, 301), (301, 900)):
        state, part = detector.watch(state, values[begin:end], errors[begin:end])
        parts.append(part)
    for name in ("p", "alarm", "kind", "size"):
        assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))
    for name in ("numbers", "rings", "histograms", "counts", "last"):
        assert_array_equal(getattr(state, name), getattr(whole_state, name))


def test_channels_do_not_mix_and_units_do_not_matter():
    rng = np.random.default_rng(6)
    values, errors = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    detector = Detector()
    _, both = detector.watch(detector.initial_state(2), values, errors)
    scaled = watched(detector, values[:, 1] * 2.0**40 + 0.0, errors[:, 1])
    assert_array_equal(both.p[:, 1], scaled.p)


def test_a_state_is_never_changed():
    detector, values = Detector(), np.random.default_rng(7).normal(size=300)
    state = detector.initial_state()
    before = [array.copy() for array in (state.numbers, state.rings, state.histograms, state.counts, state.last)]
    detector.watch(state, values, values)
    for old, new in zip(before, (state.numbers, state.rings, state.histograms, state.counts, state.last), strict=True):
        assert_array_equal(old, new)


def test_missing_readings_are_not_strange():
    values = np.random.default_rng(8).normal(size=1000)
    values[600:700] = np.nan
    surprise = watched(Detector(), values, values)
    assert (surprise.p[600:700] == 1).all()
    assert not surprise.alarm[600:700].any()
