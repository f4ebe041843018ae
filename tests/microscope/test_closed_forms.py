"""Measured profiles of linear memories are the closed forms, every lag within .02 at 20,000 samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from hippozoo.discretise import zero_order_hold
from hippozoo.memory import Memory, MemoryLayer
from hippozoo.microscope import exact_profile, look
from hippozoo.microscope.closed_form import nearest_system, system_profile
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory

LAGS, WARM_UP = 64, 256


def reservoir(size=10, radius=0.9):
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(size, size))
    return weights * radius / np.abs(np.linalg.eigvals(weights)).max(), rng.normal(size=size)


def stepped(A_d, b_d):
    return (lambda state, x: state @ A_d.T + x * b_d), (lambda batch: np.zeros((batch, len(b_d))))


SYSTEMS = {
    "delay line": (np.eye(12, k=-1), np.eye(12)[0]),
    "Leg-T": zero_order_hold(LegT(16, 40.0), 1.0),
    "Leg-S": zero_order_hold(LegS(16, 20.0), 1.0),
    "reservoir": reservoir(),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_lag_of_a_linear_memory_is_its_closed_form(name):
    A_d, b_d = SYSTEMS[name]
    exact = oracles.exact_profile(A_d, b_d, LAGS, WARM_UP, 1e-6)
    view = look(stepped(A_d, b_d), "noise", LAGS)
    assert len(view.profile) == LAGS
    assert_allclose(view.profile.value, exact, atol=0.02)
    assert_allclose(float(view.capacity), exact.sum(), atol=0.4)
    assert (view.profile.low <= view.profile.value).all()
    assert (view.profile.value <= view.profile.high).all()


def test_the_reservoir_is_well_conditioned():
    A_d, b_d = SYSTEMS["reservoir"]
    responses = np.array([np.linalg.matrix_power(A_d, k) @ b_d for k in range(WARM_UP)])
    assert np.linalg.cond(responses.T @ responses) < 1e8


def test_a_multiscale_bank_is_its_closed_form():
    bank = MultiscaleMemory(LegT(4, 8.0), longest=64.0, scales=4)
    responses = bank.scan(np.eye(WARM_UP)[0]).reshape(WARM_UP, -1)
    view = look(bank, "noise", LAGS)
    assert view.exact is not None
    assert_allclose(view.exact, exact_profile(responses, LAGS), rtol=1e-9)
    assert_allclose(view.profile.value, view.exact, atol=0.02)


@pytest.mark.parametrize("channels", [1, 2])
def test_layers_know_their_exact_profile(channels):
    layers = (
        MemoryLayer(LegT(6, 10.0), channels=channels),
        MultiscaleLayer(MultiscaleMemory(LegT(3, 4.0), longest=12.0, scales=2), channels=channels),
    )
    for layer in layers:
        view = look(layer, "noise", 12, sequences=60, length=248)
        assert view.exact is not None
        assert_allclose(view.profile.value, view.exact, atol=0.025)


@pytest.mark.parametrize("system", [LegT(6, 24.0), LegS(5, 10.0), LagT(4, 6.0), FouT(5, 20.0)])
def test_closed_forms_agree_with_the_definition(system):
    A_d, b_d = zero_order_hold(system, 1.0)
    assert_allclose(
        system_profile(system, 40, np.ones(160)), oracles.exact_profile(A_d, b_d, 40, 160, 1e-6), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("system", [LegT(6, 24.0), LegS(5, 10.0), LagT(4, 6.0), FouT(5, 20.0)])
def test_a_system_is_most_like_itself(system):
    found, explained, _ = nearest_system(system_profile(system, 64, np.ones(256)), 16, np.ones(256), 1e-6)
    assert explained > 0.999
    assert type(found) is type(system)
    assert found.order == system.order
    assert found.timescale == pytest.approx(system.timescale, rel=0.03)


def test_a_look_finds_the_system_that_was_looked_at():
    nearest = look(LegS(6, 8.0), "noise", 48).as_system()
    assert nearest.is_alike
    assert type(nearest.system) is LegS
    assert nearest.canonical > 0.98
    assert str(nearest).startswith("as LegS(order=6, timescale=")


def test_what_resembles_none_of_ours_is_said_so():
    def echo(state, x):  # remembers only what is 20 samples old
        return np.concatenate([x, state[:, :-1]], 1)

    def old(x):
        return np.concatenate([np.zeros((len(x), 20, 1)), x[:, :-20]], 1)

    assert str(look(old, "noise", 40).as_system()) == "like none of ours"
    assert str(look((echo, lambda batch: np.zeros((batch, 5))), "noise", 40).as_system()).startswith("as ")


@pytest.mark.parametrize("make", [lambda: Memory(LegT(8, 20.0)), lambda: MemoryLayer(LegT(8, 20.0), channels=1)])
def test_the_sensitivity_of_a_linear_memory_under_white_noise_is_its_profile(make):
    """By finite differences of the NumPy memory, and by random projections of the torch layer."""
    view = look(make(), "noise", 32)
    assert view.exact is not None
    # Three standard errors of 32 random projections of each of 40 sequences, 3 (2 / 1280)^½.
    assert_allclose(view.sensitivity.value, view.exact, atol=0.12)


def test_linear_memories_hold_no_products():
    degrees = look(LegT(6, 12.0), "noise", 16).degrees
    assert degrees[1].value == pytest.approx(6, abs=0.2)
    assert abs(degrees[2].value) < 0.1
    assert abs(degrees[3].value) < 0.1


@pytest.mark.parametrize("probe", ["noise", "uniform"])
def test_a_square_is_of_the_second_degree(probe):
    view = look(lambda x: x**2, probe, 8)
    degrees = view.degrees
    assert abs(degrees[1].value) < 0.02
    assert degrees[2].value == pytest.approx(1, abs=0.02)
    assert degrees[3].value == pytest.approx(0, abs=0.02)


def test_a_product_of_two_lags_is_of_the_second_degree():
    def product(x):
        return x * np.concatenate([np.zeros((len(x), 3, 1)), x[:, :-3]], 1)

    degrees = look(product, "uniform", 8).degrees
    assert degrees[2].value == pytest.approx(1, abs=0.02)
    assert abs(degrees[1].value) + abs(degrees[3].value) < 0.03


def test_a_probe_lasts_until_the_state_has_settled():
    """The closed form of a memory of 300 samples, summed to its end."""
    A_d, b_d = zero_order_hold(LegS(6, 300.0), 1.0)
    view = look(LegS(6, 300.0), "noise", 32)
    assert view.asked.moments[0] > 4 * 32
    assert_allclose(view.profile.value, oracles.exact_profile(A_d, b_d, 32, 6000, 1e-6), atol=0.02)


def test_what_never_settles_is_said_so():
    total = (lambda state, x: state + x, lambda batch: np.zeros((batch, 1)))
    assert any("had not settled" in note for note in look(total, "noise", 4).notes)


def test_the_exact_curve_is_that_of_the_moments_looked_at():
    """Before a memory has settled, its covariance is the mean over the moments."""
    view = look(LegS(4, 200.0), "noise", 8, length=200, sequences=100)
    first = look(LegS(4, 200.0), "noise", 8, at=[int(view.asked.moments[0])], length=200, sequences=100)
    assert view.exact is not None
    assert first.exact is not None
    assert np.abs(view.exact - first.exact).max() > 0.03
    assert_allclose(view.profile.value, view.exact, atol=0.02)


def test_the_capacity_of_a_correlated_input_is_its_closed_form():
    """Sum of squared canonical correlations of a linear state and the past of an autoregression, and its window."""
    rng, lags, correlation = np.random.default_rng(3), 16, 0.8
    A_d, b_d = reservoir(6, 0.8)
    x = rng.normal(size=(60, 500, 1)) * np.sqrt(1 - correlation**2)
    for t in range(1, 500):
        x[:, t] += correlation * x[:, t - 1]
    view = look(stepped(A_d, b_d), x, lags, at=range(100, 500))
    held = oracles.held_of_autoregression(A_d, b_d, correlation, lags, 1e-6)
    assert_allclose(float(view.capacity), held[-1], atol=0.05)
    assert view.window == np.searchsorted(held, 0.95 * held[-1]) + 1
    assert float(view.capacity) < 6


def test_nonlinear_readouts_gain_nothing_where_all_is_normal():
    """State and past of a linear memory under normal noise are jointly normal: the best readout is linear."""
    view = look(LegT(8, 12.0), "noise", 16)
    assert_allclose(view.nonlinear.value, view.profile.value, atol=0.01)
