"""Known inputs: memories that reach ahead, maps that read them, weights they earn, and what may go wrong."""

import numpy as np
import pytest

from hippozoo import checkpoint
from hippozoo.ensemble import ForecastStream, forecaster_for, input_effects
from hippozoo.ensemble.inputs import Inputs

HORIZON = 6


def driven(rng, rows=900, season=0):
    """A signal that an input moves two steps later, and the input over the horizon too."""
    price = rng.normal(size=rows + HORIZON)
    signal = 20.0 - 3.0 * np.roll(price, 2)[:rows] + 0.3 * rng.normal(size=rows)
    if season:
        signal = signal + 5 * np.sin(np.arange(rows) * 2 * np.pi / season)
    return signal, price[:, None]


def errors(forecaster, signal, begin, **inputs):
    state, found = forecaster.initial_state(), []
    for _state, rolled in forecaster.roll(state, signal, **inputs):
        keep = (rolled.origins >= begin) & (rolled.origins <= len(signal) - HORIZON)
        truth = np.stack([signal[o : o + HORIZON] for o in rolled.origins[keep]]) if keep.any() else np.zeros((0, 6))
        found.append(np.abs(rolled.mean[0][keep] - truth).ravel())
    return np.concatenate(found).mean()


@pytest.mark.parametrize("season", [0, 12])
def test_an_input_whose_future_is_known_pays_and_a_shuffled_one_costs_little(rng, season):
    signal, price = driven(rng, season=season)
    plain = errors(forecaster_for(HORIZON, season=season or None), signal, 400)
    forecaster = forecaster_for(HORIZON, season=season or None, known=1)
    assert errors(forecaster, signal, 400, known=price) < 0.4 * plain
    assert errors(forecaster, signal, 400, known=rng.permutation(price)) < 1.03 * plain


def test_an_input_known_up_to_now_pays_where_it_leads(rng):
    """What comes two steps later is known two steps ahead, and not more."""
    signal, price = driven(rng)
    plain = errors(forecaster_for(HORIZON), signal, 400)
    past = errors(forecaster_for(HORIZON, past=1), signal, 400, past=price[: len(signal)])
    known = errors(forecaster_for(HORIZON, known=1), signal, 400, known=price)
    assert known < past < 0.85 * plain


def test_forecasts_know_no_signal_of_the_future_and_no_input_beyond_the_window(rng):
    signal, price = driven(rng, rows=300)
    forecaster = forecaster_for(HORIZON, known=1)
    before = forecaster.learn(forecaster.initial_state(), signal[:200], known=price[: 200 + HORIZON])
    longer = forecaster.learn(forecaster.initial_state(), signal[:200], known=price)
    one, other = (forecaster.forecast(state).samples() for state in (before, longer))
    np.testing.assert_allclose(one, other, rtol=1e-9)  # sums of longer blocks round otherwise


@pytest.mark.parametrize("channels", [None, 2])
def test_pieces_single_samples_and_streams_equal_one_call(rng, channels, tmp_path):
    signal, price = driven(rng, rows=260)
    others = rng.normal(size=(260, 2))
    signal = signal if channels is None else np.column_stack([signal, signal**2])
    forecaster = forecaster_for(HORIZON, season=12, known=1, past=2)
    whole = forecaster.learn(forecaster.initial_state(channels), signal, known=price, past=others)
    state, told = forecaster.initial_state(channels), 0
    for begin, end in ((0, 37), (37, 38), (38, 38), (38, 199)):
        state = forecaster.learn(state, signal[begin:end], known=price[told : end + HORIZON], past=others[begin:end])
        told = end + HORIZON
    checkpoint.save(tmp_path / "state.safetensors", {"forecaster": forecaster, "state": state})
    saved = checkpoint.load(tmp_path / "state.safetensors")
    forecaster, state = saved["forecaster"], saved["state"]
    for t in range(199, 260):
        state = forecaster.tell(state, price[told : t + 1 + HORIZON], others[t : t + 1])
        told = t + 1 + HORIZON
        state = forecaster.learn_one(state, signal[t])
    expected = forecaster.forecast(whole)
    np.testing.assert_allclose(forecaster.forecast(state).samples(), expected.samples(), rtol=1e-8)
    stream = ForecastStream(forecaster, channels)
    stream.tell(known=price[:HORIZON])
    for t in range(260):
        stream.tell(known=price[t + HORIZON : t + HORIZON + 1], past=others[t : t + 1])
        stream.push(signal[t])
    np.testing.assert_allclose(stream.forecast.samples(), expected.samples(), rtol=1e-8)


def test_a_kernel_shows_when_an_input_acts_and_how_strongly(rng):
    signal, price = driven(rng)
    calm = rng.normal(size=price.shape)
    forecaster = forecaster_for(HORIZON, known=2)
    inputs = np.column_stack([price, calm])
    state = forecaster.learn(forecaster.initial_state(), signal, known=inputs)
    found = input_effects(forecaster.mixer, state.mixture)
    assert found.lags[np.abs(found.kernels[0, 0]).argmax()] == 2
    assert found.kernels[0, 0].min() == pytest.approx(-2.5, abs=0.6)  # a ridge shrinks it
    assert found.sizes[0, 0] == pytest.approx(3.0, rel=0.2)
    assert found.sizes[0, 1] < 0.2 * found.sizes[0, 0]
    assert found.weights[0] > 0.8
    assert input_effects(forecaster_for(HORIZON).mixer, state.mixture) is None


def test_constant_inputs_have_no_weight_and_gaps_hold_the_last_value(rng):
    signal, price = driven(rng, rows=400)
    plain, with_one = forecaster_for(HORIZON), forecaster_for(HORIZON, known=1)
    constant = with_one.learn(with_one.initial_state(), signal, known=np.full((406, 1), 7e5))
    found = input_effects(with_one.mixer, constant.mixture)
    assert (found.kernels == 0).all()
    assert np.isfinite(with_one.forecast(constant).samples()).all()
    assert with_one.forecast(constant).samples() == pytest.approx(
        plain.forecast(plain.learn(plain.initial_state(), signal)).samples(), abs=0.5
    )
    holes = price.copy()
    holes[100:110] = np.nan
    held = price.copy()
    held[100:110] = price[99]
    states = [with_one.learn(with_one.initial_state(), signal, known=one) for one in (holes, held)]
    assert np.array_equal(*(with_one.forecast(one).samples() for one in states))
    late = np.where(np.arange(406)[:, None] < 50, np.nan, price)
    assert np.isfinite(with_one.forecast(with_one.learn(with_one.initial_state(), signal, known=late)).samples()).all()


def test_windows_reach_one_horizon_before_and_as_far_ahead_as_is_known():
    inputs = Inputs(known=1, past=1, horizon=24, seasons=(24, 168))
    assert inputs.reach(24) == (24, 24)
    assert inputs.reach(0) == (24, 0)
    assert Inputs(1, 0, 3, ()).reach(3) == (12, 3)  # at least a dozen rows
    assert inputs.taps(0).shape == (48, 32)
    assert inputs.taps(1).shape == (24, 24)


def test_bad_inputs_are_refused_and_change_nothing(rng):
    signal, price = driven(rng, rows=100)
    forecaster = forecaster_for(HORIZON, known=1)
    state = forecaster.initial_state()
    for given, said in (
        ({}, "100 rows of the inputs known= are missing"),
        ({"known": price[:100]}, "6 rows of the inputs known= are missing"),
        ({"known": np.column_stack([price, price])}, "made for 1 such inputs"),
        ({"known": price, "past": price}, "made for 0 such inputs"),
        ({"known": np.where(price > 2, np.inf, price)}, "pass NaN"),
    ):
        with pytest.raises(ValueError, match=said):
            forecaster.learn(state, signal, **given)
    with pytest.raises(ValueError, match="dt apart"):
        forecaster.learn(state, signal, dt=0.5, known=price)
    with pytest.raises(ValueError, match="replay takes no inputs"):
        forecaster.replay(forecaster.learn(state, signal, known=price), signal, 0.5)
    with pytest.raises(ValueError, match="known=-1"):
        forecaster_for(HORIZON, known=-1)
    assert state.time == 0


def test_panels_and_columns_share_their_inputs(rng):
    signal, price = driven(rng, rows=500)
    table = np.column_stack([signal, 100 * signal + rng.normal(size=500)])
    for together in ("independent", "panel"):
        forecaster = forecaster_for(HORIZON, known=1, together=together)
        state = forecaster.learn(forecaster.initial_state(2), table, known=price)
        kernels = input_effects(forecaster.mixer, state.mixture).kernels
        assert kernels[1, 0].sum() == pytest.approx(100 * kernels[0, 0].sum(), rel=0.2)
