"""Cross-fitting, chance, bands, capacity and partial profiles are what their definitions say."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from hippozoo.microscope import crossfit as module
from hippozoo.microscope import look
from hippozoo.microscope.classifier import classify
from hippozoo.microscope.crossfit import Crossfit
from hippozoo.microscope.results import Profile, band
from hippozoo.microscope.states import prepare_states
from hippozoo.systems import LegT


def delayed(x, lags):
    """The last `lags` samples as a state."""
    padded = np.concatenate([np.zeros((len(x), lags - 1, 1)), x], 1)
    return np.stack([padded[:, lags - 1 - k : padded.shape[1] - k, 0] for k in range(lags)], -1)


@pytest.mark.parametrize("rows", [30, 4])  # covariances of a sequence, or its predictions
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_errors_are_those_of_held_out_sequences_with_expected_noise(monkeypatch, rng, rows, ridge):
    monkeypatch.setattr(module, "RIDGES", (ridge,))
    features = rng.normal(size=(12, rows, 6)) @ rng.normal(size=(6, 6)) + 3.0
    targets = features[..., :2] + rng.normal(size=(12, rows, 2)) + 1.0
    fit = Crossfit(features, 1e-2, rng)
    scores = fit.scores(targets, np.arange(2))
    scale = features.reshape(-1, 6).var(0).mean()
    for column in range(2):
        sse, sst = oracles.readable(features, targets[..., column], fit.folds, 1e-2 * scale, ridge * scale)
        assert_allclose(scores.sse[:, column], sse, rtol=1e-8)
        assert_allclose(scores.sst[:, column], sst, rtol=1e-8)


def test_expected_noise_is_noise(rng):
    """Noise that is drawn gives what noise by its expectation gives."""
    x = rng.normal(size=(60, 200, 4))
    target = x[..., :1] + 0.5 * x[..., 1:2]
    said = Crossfit(x, 0.5, rng).scores(target, np.zeros(1, int)).r2()
    drawn = Crossfit(x + math.sqrt(0.5) * rng.normal(size=x.shape), 1e-9, rng).scores(target, np.zeros(1, int)).r2()
    assert_allclose(said, drawn, atol=0.02)


def test_chance_takes_back_what_overfitting_costs(rng):
    """With as many as a tenth of the rows, R² of independent data is far below zero, and zero once corrected."""
    values = []
    for _ in range(20):
        features, targets = rng.normal(size=(20, 20, 40)), rng.normal(size=(20, 20, 1))
        fit = Crossfit(features, 1e-6, rng)
        values.append(fit.scores(targets, np.zeros(1, int)).r2()[0])
    assert abs(np.mean(values)) < 0.02


def test_the_common_course_of_all_sequences_counts_as_chance(rng):
    course = np.sin(np.arange(100) / 5)[None, :, None]
    states = course + 0.1 * rng.normal(size=(20, 100, 1))
    targets = course + 0.1 * rng.normal(size=(20, 100, 1))
    scores = Crossfit(states, 1e-6, rng).scores(targets, np.zeros(1, int))
    assert scores.chance[0] > 0.9
    assert abs(scores.r2()[0]) < 0.05


def test_bands_hold_the_truth_as_often_as_they_say(rng):
    held = 0
    for _ in range(400):
        truth, spread = 0.7, rng.gamma(4.0, size=(40, 1))
        sse, sst = 0.3 * spread * rng.gamma(20.0, 1 / 20, size=(40, 1)), spread
        total = 1 - sse.sum(0) / sst.sum(0)
        each = 1 - (sse.sum(0) - sse) / (sst.sum(0) - sst)
        low, high = band(total, each, of_r2=True)
        held += bool(low[0] <= truth <= high[0])
    assert 0.92 <= held / 400 <= 0.98


def test_capacity_of_a_correlated_input_is_the_number_of_samples_held(rng):
    """A delay line of six holds six samples of any input; the sum of the profile counts some of them twice."""
    x = rng.normal(size=(40, 400, 1))
    for t in range(1, 400):
        x[:, t] += 0.9 * x[:, t - 1]
    view = look(delayed(x, 6), x, 12)
    assert view.capacity.value == pytest.approx(6, abs=0.15)
    assert view.profile.value.sum() > 7.5
    assert any("not white" in note for note in view.notes)


def test_a_partial_profile_is_what_the_state_adds_to_the_present(rng):
    """Of an autoregressive input, a state that is the present sample holds the past by correlation only."""
    x = rng.normal(size=(40, 400, 1))
    for t in range(1, 400):
        x[:, t] += 0.8 * x[:, t - 1]
    present, line = look(x, x, 6), look(delayed(x, 3), x, 6)
    assert_allclose(present.profile.value[1], 0.64, atol=0.05)
    assert math.isnan(present.partial.value[0])
    assert_allclose(present.partial.value[1:], 0, atol=0.02)
    assert_allclose(line.partial.value[1:3], 1, atol=0.01)


def test_several_channels_are_standardised_and_pooled(rng):
    x = rng.normal(size=(20, 200, 2)) * [1.0, 10.0]
    view = look(x[..., :1] + 0.0, x, 4)  # the state holds the first channel's present sample
    assert view.profile.value[0] == pytest.approx(0.5, abs=0.02)
    assert look(x, x, 4).capacity.value == pytest.approx(2, abs=0.05)


def test_half_life():
    values = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0])
    profile = Profile(values, values, values, values)
    assert profile.half_life() == 3
    assert Profile(values[:2], *[values[:2]] * 3).half_life() == math.inf


def test_rank_is_the_participation_ratio(rng):
    states = rng.normal(size=(20, 100, 3)) * [1.0, 1.0, 1e-3]
    assert prepare_states(states, 1e-6).rank == pytest.approx(2, abs=0.02)


def test_coefficients_of_a_memory_are_read_off_a_delay_line(rng):
    x = rng.normal(size=(40, 300, 1))
    view = look(delayed(x, 20), x, 24)
    read = view.coefficients(LegT(4, 10.0))
    assert (read.value[:4] > 0.97).all()
    assert look(delayed(x, 3), x, 24).coefficients(LegT(4, 10.0)).value[0] < 0.6


def test_nonlinear_content_is_found_beside_linear(rng):
    """A saturated sign-less code of the sample: no line reads it, a bent readout does."""
    x = rng.normal(size=(40, 300, 1))
    states = np.concatenate([np.cos(2 * x), np.sin(2 * x) * np.sign(np.cos(2 * x))], -1)
    view = look(states, x, 4)
    assert view.nonlinear.value[0] > view.profile.value[0] + 0.05
    assert any("Not linearly readable is not forgotten" in note for note in view.notes)


def test_many_numbers_are_reduced_or_refused(rng):
    few = rng.normal(size=(10, 30, 4))
    wide = few @ rng.normal(size=(4, 200)) + 1e-4 * rng.normal(size=(10, 30, 200))
    states = prepare_states(wide, 1e-6)
    assert states.features.shape[2] == 30
    assert "reduced to 30 principal components" in states.notes[0]
    with pytest.raises(ValueError, match="pass at least 2000 rows, or components=30"):
        prepare_states(rng.normal(size=(10, 30, 200)), 1e-6)
    assert prepare_states(rng.normal(size=(10, 30, 200)), 1e-6, components=30).features.shape[2] == 30


def test_classes_are_decoded_in_bits(rng):
    labels = rng.integers(4, size=(40, 30))
    states = np.eye(4)[labels] + 0.02 * rng.normal(size=(40, 30, 4))
    scores = classify(states, labels[..., None], 1e-6, rng)
    assert scores.right.mean() == 1
    assert scores.readable()[0] == pytest.approx(2, abs=0.1)
    nothing = classify(rng.normal(size=(40, 30, 4)), labels[..., None], 1e-6, rng)
    assert abs(nothing.readable()[0]) < 0.05


def test_a_noisy_class_has_the_bits_of_its_channel(rng):
    """A bit through a channel that flips one in ten: 1 - h bits, by Shannon."""
    label = rng.integers(2, size=(60, 100))
    flipped = np.where(rng.random(label.shape) < 0.1, 1 - label, label)
    scores = classify(np.eye(2)[flipped], label[..., None], 1e-6, rng)
    flips = (flipped != label).mean()
    bits = 1 + flips * math.log2(flips) + (1 - flips) * math.log2(1 - flips)
    assert scores.readable()[0] == pytest.approx(bits, abs=0.02)
    assert scores.right.mean() == pytest.approx(0.9, abs=0.02)


def test_decode_reads_labels_of_sequences_and_of_samples(rng):
    x = rng.normal(size=(200, 30, 1))
    view = look(delayed(x, 3), x, 4)
    last = x[:, -1, 0]
    assert view.decode(last).value[0] > 0.99
    assert view.decode(np.stack([last, x[:, -2, 0]], 1)).value.min() > 0.99
    assert view.decode((last > 0).astype(int)).accuracy[0] > 0.95
    assert view.decode((x[..., 0] > 0).astype(int)).accuracy[0] > 0.95
    assert abs(view.decode(rng.normal(size=200)).value[0]) < 0.1


def test_units_hold_what_they_are(rng):
    x = rng.normal(size=(20, 300, 1))
    by_unit = look(delayed(x, 3), x, 5).by_unit
    assert by_unit.shape == (3, 5)
    assert_allclose(by_unit, np.eye(3, 5), atol=0.02)


def test_questions_do_not_depend_on_their_order():
    one, other = (look(LegT(4, 8.0), "noise", 8) for _ in range(2))
    first = one.profile.value, one.capacity.value
    held = other.capacity.value
    assert (first[0] == other.profile.value).all()
    assert first[1] == held


def test_classes_beyond_the_bound_of_memory_are_scored_in_turn(monkeypatch, rng):
    from hippozoo.microscope import classifier

    labels = rng.integers(3, size=(20, 10, 4)) * 1000  # of a large alphabet, three symbols
    features = np.eye(3)[labels[..., 0] // 1000] + 0.5 * rng.normal(size=(20, 10, 3))
    at_once = classify(features, labels, 1e-6, np.random.default_rng(0))
    monkeypatch.setattr(classifier, "AT_A_TIME", 1)
    for one, other in zip(at_once, classify(features, labels, 1e-6, np.random.default_rng(0)), strict=True):
        assert_allclose(one, other, atol=1e-5)
    assert at_once.readable()[0] > 0.5
    assert abs(at_once.readable()[1]) < 0.1


def test_factors_beyond_the_bound_of_memory_are_made_again(monkeypatch, rng):
    features, targets = rng.normal(size=(10, 20, 5)), rng.normal(size=(10, 20, 3))
    scores = [Crossfit(features, 1e-6, np.random.default_rng(0)).scores(targets, np.arange(3))]
    monkeypatch.setattr(module, "MOST_FACTORS", 1)
    monkeypatch.setattr(module, "AT_A_TIME", 2)
    scores.append(Crossfit(features, 1e-6, np.random.default_rng(0)).scores(targets, np.arange(3)))
    assert_allclose(scores[0].r2(), scores[1].r2(), rtol=1e-9)


def test_lags_that_are_the_same_in_all_sequences_have_no_value(rng):
    x = rng.normal(size=(20, 40, 1))
    x[:, 30:] = 0.1
    view = look(delayed(x, 20), x, 8, at=[-2, -1], components=4)
    assert np.isnan(view.profile.value).all()
    assert view.half_life == 0


def test_the_noise_is_relative_to_the_whole_state_also_where_it_is_reduced(rng):
    """The same noise on 8 numbers, and on 8 components of 40 numbers that hold them."""
    plain = rng.normal(size=(20, 30, 8)) * np.geomspace(1, 1e-3, 8)
    wide = prepare_states(plain @ np.linalg.qr(rng.normal(size=(40, 8)))[0].T, 1e-4, components=8)
    assert wide.noise * wide.scale == pytest.approx(1e-4 * (plain - plain.mean((0, 1))).var() * 8 / 40)
