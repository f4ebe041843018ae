"""Long gaps: what was observed counts, not the time between."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Forecaster, forecaster_with_candidates, gaps


@pytest.fixture
def wave(rng):
    time = np.arange(1440)
    return 100 + 20 * np.sin(time * 2 * np.pi / 24) + 2 * rng.normal(size=1440)


def learn(forecaster, signal, state=None):
    state = forecaster.initial_state() if state is None else state
    return forecaster.learn(state, signal, mask=np.isfinite(signal))


@pytest.mark.parametrize("gap", [500, 9_000, 200_000])
@pytest.mark.parametrize("level", [1.0, 110.0])
def test_a_stray_sample_long_ago_changes_no_forecast(wave, gap, level):
    forecaster = forecaster_with_candidates(24.0, season=24.0)
    alone = learn(forecaster, wave)
    after_gap = learn(forecaster, np.concatenate([[level], np.full(gap, np.nan), wave]))
    expected, found = forecaster.forecast(alone), forecaster.forecast(after_gap)
    assert_allclose(found.samples(), expected.samples(), rtol=1e-9)
    # The stray sample was seen: stretches end one sample earlier, and hold other errors at their ends.
    assert_allclose(found.variance(found.leads()), expected.variance(expected.leads()), rtol=0.05)
    assert_allclose(after_gap.validation.weight, alone.validation.weight, rtol=0.01)
    assert after_gap.time == alone.time + gap + 1


def test_a_few_samples_long_ago_change_little(wave):
    forecaster = forecaster_with_candidates(24.0, season=24.0)
    alone = learn(forecaster, wave)
    after_gap = learn(forecaster, np.concatenate([wave[:50], np.full(9000, np.nan), wave]))
    assert_allclose(forecaster.forecast(after_gap).samples(), forecaster.forecast(alone).samples(), atol=1.0)
    spreads = [np.sqrt(forecaster.forecast(state).variance(12.0)) for state in (alone, after_gap)]
    assert_allclose(spreads[1], spreads[0], rtol=0.2)


@pytest.mark.parametrize("together", ["independent", "shared", "joint"])
def test_each_channel_begins_anew_after_its_own_silence(wave, together):
    forecaster = Forecaster(LegT(12, 20.0), horizon=5.0, ridge=1e-3, together=together)
    both, mask = np.column_stack([wave[:900], wave[500:1400]]), np.ones((900, 2), bool)
    mask[100:400, 1] = False
    whole = forecaster.learn(forecaster.initial_state(2), both, mask=mask)
    pieces = forecaster.initial_state(2)
    for begin, end in [(0, 50), (50, 130), (130, 400), (400, 401), (401, 900)]:
        pieces = forecaster.learn(pieces, both[begin:end], mask=mask[begin:end])
    assert_allclose(pieces.age, [900.0, 500.0])
    assert_allclose(whole.age, [900.0, 500.0])
    assert_allclose(pieces.learnt[-1][0].xx, whole.learnt[-1][0].xx, rtol=1e-9, atol=1e-6)
    if together == "independent":
        apart = forecaster.merge(learn(forecaster, wave[900:1400]), learn(forecaster, wave[500:600]))
        # Futures that reach into the silence count too, by what was seen of them: 4/5 + 3/5 + 2/5 + 1/5.
        assert_allclose(whole.learnt[1][0].weight, apart.learnt[0][0].weight + 2.0)


def test_stretches_end_by_what_was_observed(wave):
    forecaster = Forecaster(LegT(6, 20.0), horizon=5.0)
    alone = learn(forecaster, wave[:300])
    before = learn(forecaster, wave[:100])
    gap = learn(forecaster, np.full(70, np.nan), before)
    assert gap.validation.boundary == before.validation.boundary
    assert (gap.time, gap.seen) == (170.0, 100.0)
    assert learn(forecaster, wave[100:300], gap).validation.boundary == alone.validation.boundary


@pytest.mark.parametrize("forgetting", [None, 2000.0])
def test_a_gap_crossed_in_one_step_equals_one_crossed_step_by_step(wave, monkeypatch, forgetting):
    forecaster = Forecaster(
        (LegT(24, 48.0), LegS(12, 200.0)),
        horizon=24.0,
        ridge=(1e-1, 1e-4),
        anchor=("none", "last"),
        forgetting=forgetting,
    )
    broken = np.concatenate([wave[:300], np.full(3000, np.nan), wave[300:900], np.full(60, np.nan), wave[900:]])
    crossed = learn(forecaster, broken)
    in_pieces = forecaster.initial_state()
    for piece in np.split(broken, [310, 2000, 3250]):
        in_pieces = learn(forecaster, piece, in_pieces)
    monkeypatch.setattr(gaps, "_LONG", 10**9)
    walked = learn(forecaster, broken)
    for found in (crossed, in_pieces):
        assert_allclose(found.learnt[0][0].yx, walked.learnt[0][0].yx, rtol=1e-9, atol=1e-6)
        assert_allclose(found.validation.errors, walked.validation.errors, rtol=1e-5, atol=1e-5)
        assert (found.time, found.seen, found.validation.boundary) == (
            walked.time,
            walked.seen,
            walked.validation.boundary,
        )
        assert_allclose(found.detail.squares, walked.detail.squares, rtol=1e-9)
        assert_allclose(forecaster.forecast(found).samples(), forecaster.forecast(walked).samples(), rtol=1e-7)


def test_a_gap_is_crossed_in_one_step(wave, monkeypatch):
    crossed = []
    before = gaps.cross_gap
    monkeypatch.setattr(
        "hippozoo.zoo.forecasting.one_pass.cross_gap",
        lambda state, recent, pasts, duration: crossed.append(duration) or before(state, recent, pasts, duration),
    )
    learn(forecaster_with_candidates(24.0), np.concatenate([wave[:100], np.full(500_000, np.nan), wave]))
    assert_allclose(crossed, [500_000 - 25])
