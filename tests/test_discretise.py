import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.signal import cont2discrete

from hippozoo.discretise import bilinear, discretise, zero_order_hold
from hippozoo.polynomials import Legendre, shifted_legendre, shifted_legendre_integrals
from hippozoo.systems import FouT, LagT, LegS, LegT

ALL = [LegT, LegS, LagT, FouT]
every_system = pytest.mark.parametrize("system_class", ALL)
steps = st.floats(1e-4, 20.0)


def by_scipy(system, dt, method):
    A, b = system.A / system.timescale, system.b[:, None] / system.timescale
    A_d, b_d, *_ = cont2discrete((A, b, np.eye(system.order), np.zeros_like(b)), dt, method=method)
    return A_d, b_d[:, 0]


@every_system
@pytest.mark.parametrize("order", [1, 9, 65])
@pytest.mark.parametrize("dt", [1e-3, 0.2, 3.0])
def test_the_zero_order_hold_is_that_of_scipy(system_class, order, dt):
    system = system_class(order, timescale=2.0)
    for ours, theirs in zip(zero_order_hold(system, dt), by_scipy(system, dt, "zoh"), strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


@every_system
def test_the_bilinear_rule_gives_scipys_matrix(system_class):
    # scipy's input vector belongs to another convention (its states are shifted), the matrix is the same.
    system = system_class(9, timescale=2.0)
    assert_allclose(bilinear(system, 0.2)[0], by_scipy(system, 0.2, "bilinear")[0], atol=1e-13)


@every_system
@given(steps)
def test_two_half_steps_make_one(system_class, dt):
    system = system_class(11, timescale=1.5)
    A_half, b_half = zero_order_hold(system, dt / 2)
    A_d, b_d = zero_order_hold(system, dt)
    assert_allclose(A_half @ A_half, A_d, atol=1e-12)
    assert_allclose(A_half @ b_half + b_half, b_d, atol=1e-12)


@every_system
@pytest.mark.parametrize("rule", [zero_order_hold, bilinear])
@given(steps)
def test_a_constant_past_stays_constant(system_class, rule, dt):
    A_d, b_d = rule(system_class(11, timescale=1.0), dt)
    assert_allclose(A_d[:, 0] + b_d, np.eye(11)[0], atol=1e-11)


def legs_zero_order_hold(system, dt):
    """Leg-S without a matrix exponential: while dt passes, the past shrinks by q = exp(-dt / timescale).

    A_d[n, k] = q ∫ L_n(1 - q (1 - s)) L_k(s) ds, by a Gauss rule that makes no error, and b_d[n] = ∫ L_n up to 1 - q.
    """
    step = dt / system.timescale
    kept, fresh = np.exp(-step), -np.expm1(-step)
    family = Legendre(system.order, positive_at="left")
    nodes, weights = family.gauss_rule()
    shrunk = shifted_legendre(fresh + kept * nodes, system.order)
    return kept * shrunk.T @ (weights[:, None] * family.values(nodes)), shifted_legendre_integrals(fresh, system.order)


@given(st.integers(1, 96), st.floats(1e-6, 60.0), st.floats(0.01, 100.0))
def test_leg_s_in_closed_form_is_its_matrix_exponential(order, step, timescale):
    system = LegS(order, timescale)
    A_d, b_d = zero_order_hold(system, step * timescale)
    A_closed, b_closed = legs_zero_order_hold(system, step * timescale)
    assert_allclose(A_closed, A_d, atol=2e-12)
    assert_allclose(b_closed, b_d, atol=2e-12)


def test_leg_s_in_closed_form_has_no_upper_triangle():
    A_d, _ = legs_zero_order_hold(LegS(64, timescale=1.0), 0.3)
    assert_allclose(np.triu(A_d, 1), 0, atol=1e-13)


@pytest.mark.parametrize("rule", [zero_order_hold, bilinear])
def test_an_array_of_steps_gives_a_stack_of_updates(rule):
    system = LegS(5, timescale=2.0)
    dt = np.array([[0.1, 0.2, 3.0], [0.5, 1e-4, 0.7]])
    A_d, b_d = rule(system, dt)
    assert A_d.shape == (2, 3, 5, 5)
    assert b_d.shape == (2, 3, 5)
    for index in np.ndindex(2, 3):
        A_one, b_one = rule(system, float(dt[index]))
        assert_allclose(A_d[index], A_one, atol=1e-14)
        assert_allclose(b_d[index], b_one, atol=1e-14)


@every_system
def test_the_bilinear_rule_converges_to_the_hold_at_second_order(system_class):
    system = system_class(5, timescale=1.0)

    def error(pieces):
        A_d, b_d = bilinear(system, 0.1 / pieces)
        state = np.zeros(5)
        for _ in range(pieces):
            state = A_d @ state + b_d
        return np.abs(state - zero_order_hold(system, 0.1)[1]).max()

    assert error(64) / error(128) == pytest.approx(4, rel=0.05)


@every_system
@pytest.mark.parametrize("rule", [zero_order_hold, bilinear])
def test_no_rule_ever_grows(system_class, rule):
    for dt in (1e-3, 1.0, 1e3):
        assert np.linalg.norm(rule(system_class(33, timescale=1.0), dt)[0], 2) <= 1 + 1e-10


@every_system
@pytest.mark.parametrize("dt", [1e9, 1e40, 1e300])
def test_after_an_endless_step_only_the_sample_is_left(system_class, dt):
    A_d, b_d = zero_order_hold(system_class(9, timescale=1e-3), dt)
    assert_allclose(A_d, 0, atol=1e-12)
    assert_allclose(b_d, np.eye(9)[0], atol=1e-12)


def test_a_method_goes_by_its_name():
    system = LegT(4, timescale=1.0)
    assert_allclose(discretise(system, 0.1)[0], zero_order_hold(system, 0.1)[0], rtol=0)
    assert_allclose(discretise(system, 0.1, "bilinear")[0], bilinear(system, 0.1)[0], rtol=0)
