"""The dynamics carry the projection forward: what makes a pair (A, b) the memory that its weight and basis say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from numpy.testing import assert_allclose

from hippozoo.discretise import zero_order_hold
from hippozoo.systems import FouT, LagT, LegS, LegT
from oracles import project, roll

POLYNOMIAL = [LegT, LegS, LagT]
ALL = [*POLYNOMIAL, FouT]


def trigonometric(period, coefficients):
    """A signal of the given period and its derivative."""
    turn = 2 * np.pi / period

    def signal(time):
        return sum(c * np.cos(turn * k * time + k) for k, c in enumerate(coefficients))

    def velocity(time):
        return sum(-c * turn * k * np.sin(turn * k * time + k) for k, c in enumerate(coefficients))

    return signal, velocity


@pytest.mark.parametrize("system_class", POLYNOMIAL)
@pytest.mark.parametrize("timescale", [1.0, 2.5])
def test_dynamics_carry_the_projection_of_a_polynomial_forward(system_class, timescale):
    system, now, edges = system_class(order=6, timescale=timescale), 1.7, np.arange(0.0, 121.0)
    signal = Polynomial([0.3, -1.0, 0.5, 0.2])  # degree < order: nothing is truncated
    state = project(system, lambda lag: signal(now - lag), edges)
    velocity = project(system, lambda lag: signal.deriv()(now - lag), edges)
    found = (system.A @ state + system.b * signal(now)) / timescale
    assert_allclose(found, velocity, atol=1e-9 * np.abs(state).max())


@pytest.mark.parametrize("timescale", [1.0, 2.5])
def test_dynamics_carry_the_projection_of_a_periodic_signal_forward(timescale):
    system, now, edges = FouT(order=9, timescale=timescale), 1.7, np.linspace(0, timescale, 41)
    signal, velocity = trigonometric(timescale, [0.3, -1.0, 0.5, 0.2, -0.7])  # four harmonics: all that fit
    state = project(system, lambda lag: signal(now - lag), edges)
    found = (system.A @ state + system.b * signal(now)) / timescale
    assert_allclose(found, project(system, lambda lag: velocity(now - lag), edges), atol=1e-9)


@pytest.mark.parametrize("system_class", [LegS, LagT])
@pytest.mark.parametrize("order", [1, 5, 24])
def test_the_state_of_a_fading_memory_is_the_projection_for_any_signal(system_class, order, rng):
    system, dt = system_class(order=order, timescale=3.0), 0.4
    signal = rng.normal(size=60)
    state = roll(*zero_order_hold(system, dt), signal)[-1]
    edges = np.arange(61) * dt
    assert_allclose(state, project(system, lambda lag: signal[::-1, None], edges), atol=1e-12)


def test_a_window_forgets_what_has_left_it():
    system, dt = LegT(order=8, timescale=1.0), 1e-3
    cubic = Polynomial([0.2, 1.0, -0.4, 0.3])
    time = (np.arange(6000) + 0.5) * dt - 6.0  # the present is 0
    A_d, b_d = zero_order_hold(system, dt)
    plain = roll(A_d, b_d, cubic(time))[-1]
    disturbed = roll(A_d, b_d, np.where(time < -5.5, 30.0, cubic(time)))[-1]
    # The end of the window is read off the state itself, so traces fade over a few windows.
    assert_allclose(disturbed, plain, atol=1e-8)
    expected = project(system, lambda lag: cubic(-lag), np.linspace(0, 1, 21))
    assert_allclose(plain, expected, atol=1e-5)  # samples hold where the signal moves on


def test_a_periodic_signal_is_remembered_by_its_fourier_coefficients():
    system, dt = FouT(order=7, timescale=1.0), 1 / 2000
    signal, _ = trigonometric(1.0, [0.5, 1.0, -0.3, 0.8])
    time = (np.arange(40_000) + 0.5) * dt
    state = roll(*zero_order_hold(system, dt), signal(time))[-1]
    expected = project(system, lambda lag: signal(20.0 - lag), np.linspace(0, 1, 41))
    assert_allclose(state, expected, atol=1e-5)  # samples hold where the signal moves on


@pytest.mark.parametrize("system_class", ALL)
def test_the_basis_is_orthonormal_under_its_weight(system_class):
    system = system_class(order=9, timescale=0.7)
    columns = [
        project(system, lambda lag, n=n: system.basis(lag)[..., n], np.arange(0.0, 81.0) * 0.7) for n in range(9)
    ]
    assert_allclose(columns, np.eye(9), atol=1e-10)


@pytest.mark.parametrize("system_class", ALL)
@pytest.mark.parametrize("timescale", [0.3, 1.0, 20.0])
def test_the_weight_integrates_to_one(system_class, timescale):
    system = system_class(order=3, timescale=timescale)
    edges = np.minimum(np.linspace(0, 50, 201) * timescale, system.window)
    node, mass = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    assert (half * mass * system.weight(edges[:-1, None] + half * (node + 1))).sum() == pytest.approx(1, abs=1e-12)
    assert system.weight(np.array([-1.0])).tolist() == [0.0]


@pytest.mark.parametrize("system_class", ALL)
@pytest.mark.parametrize("order", [1, 3, 65, 255])
def test_a_constant_past_stays_what_it_is(system_class, order):
    system = system_class(order=order, timescale=1.0)
    assert_allclose(system.A[:, 0], -system.b, rtol=1e-13)


def contraction(system):
    """-(A + A') as the notes on the paper give it."""
    b, N = system.b, system.order
    return {
        LegT: np.outer(b, b) + np.outer(b, b) * np.outer((-1.0) ** np.arange(N), (-1.0) ** np.arange(N)),
        LegS: np.outer(b, b) + np.eye(N),
        LagT: np.outer(b, b) + np.eye(N),
        FouT: np.outer(b, b),
    }[type(system)]


@pytest.mark.parametrize("system_class", ALL)
def test_no_state_ever_grows_by_itself(system_class):
    system = system_class(order=33, timescale=1.0)
    assert_allclose(-(system.A + system.A.T), contraction(system), atol=1e-12)
    for step in (1e-3, 0.3, 7.0):
        assert np.linalg.norm(zero_order_hold(system, step)[0], 2) <= 1 + 1e-12


@pytest.mark.parametrize("system_class", ALL)
@given(st.floats(0.01, 100.0), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_time_and_timescale_stretched_together_change_nothing(system_class, timescale, stretch, seed):
    signal = np.random.default_rng(seed).normal(size=12)
    plain = roll(*zero_order_hold(system_class(7, timescale), 0.3), signal)
    stretched = roll(*zero_order_hold(system_class(7, timescale * stretch), 0.3 * stretch), signal)
    assert_allclose(stretched, plain, atol=1e-10)


@pytest.mark.parametrize("system_class", ALL)
@given(st.floats(0.05, 100.0), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_sampling_rate_does_not_change_what_is_remembered(system_class, timescale, faster, seed):
    signal = np.random.default_rng(seed).normal(size=12)
    system = system_class(7, timescale)
    slow = roll(*zero_order_hold(system, 1.0), signal)
    fast = roll(*zero_order_hold(system, 1.0 / faster), np.repeat(signal, faster))
    assert_allclose(fast[faster - 1 :: faster], slow, atol=1e-10)


@pytest.mark.parametrize("system_class", ALL)
def test_basis_weight_and_reconstruction_take_lags_in_the_users_unit(system_class, rng):
    seconds, milliseconds = system_class(5, 0.25), system_class(5, 250.0)
    lag, state = np.linspace(0, 0.25, 9), rng.normal(size=(2, 5))
    assert_allclose(milliseconds.basis(1000 * lag), seconds.basis(lag), atol=1e-12)
    assert_allclose(1000 * milliseconds.weight(1000 * lag[:-1]), seconds.weight(lag[:-1]))
    assert_allclose(milliseconds.reconstruct(state, 1000 * lag), seconds.reconstruct(state, lag), atol=1e-12)


def test_leg_s_keeps_its_digits_at_far_lags():
    # At a lag of 30 timescales exp(-30) is lost in 1 - exp(-30), but its square root times n^2 is not.
    system, lag = LegS(order=512, timescale=1.0), 30.0
    n = np.arange(512)
    slope = (-1.0) ** n * np.sqrt(2 * n + 1) * n * (n + 1)  # L_n(1 - q) = (-1)^n b_n (1 - n (n + 1) q + ...)
    at_infinity = (-1.0) ** n * np.sqrt(2 * n + 1)
    expected = at_infinity - slope * np.exp(-lag)
    assert_allclose(system.basis(lag), expected, rtol=1e-14)
