"""Long gaps: what was observed counts, not the time between."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Forecaster, forecaster_for, gaps


@pytest.fixture
def wave(rng):
    time = np.arange(1440)
    return 100 + 20 * np.sin(time * 2 * np.pi / 24) + 2 * rng.normal(size=1440)


def learn(forecaster, signal, state=None):
    state = forecaster.initial_state() if state is None else state
    return forecaster.learn(state, signal, mask=np.isfinite(signal))


@pytest.mark.parametrize("gap", [9_000, 200_000])
def test_a_few_samples_long_ago_change_neither_the_forecast_nor_its_band(wave, gap):
    forecaster = forecaster_for(24.0, season=24.0)
    alone = learn(forecaster, wave)
    after_gap = learn(forecaster, np.concatenate([wave[:5], np.full(gap, np.nan), wave]))
    truth = 100 + 20 * np.sin(np.arange(1440, 1464) * 2 * np.pi / 24)
    errors = [np.abs(forecaster.forecast(state).samples() - truth).mean() for state in (alone, after_gap)]
    assert errors[1] < errors[0] + 0.2
    assert_allclose(after_gap.validation.weight, alone.validation.weight, rtol=0.05)
    spreads = [np.sqrt(forecaster.forecast(state).variance(12.0)) for state in (alone, after_gap)]
    assert_allclose(spreads[1], spreads[0], rtol=0.1)


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
        "hippozoo.zoo.forecasting.forecaster.cross_gap",
        lambda state, recent, pasts, duration: crossed.append(duration) or before(state, recent, pasts, duration),
    )
    learn(forecaster_for(24.0), np.concatenate([wave[:100], np.full(500_000, np.nan), wave]))
    assert_allclose(crossed, [500_000 - 25])
