import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.signal import cont2discrete

from hippozoo.discretise import zero_order_hold
from hippozoo.systems import (
    FouT,
    LagT,
    LegS,
    LegT,
    from_lmu,
    from_s4,
    lmu_matrices,
    s4_matrices,
    s4_step,
    to_lmu,
    to_s4,
)
from oracles import roll


def published_lmu(order):
    """Voelker et al. (2019), equation 2, entry by entry."""
    A = np.empty((order, order))
    B = np.empty(order)
    for i in range(order):
        B[i] = (2 * i + 1) * (-1) ** i
        for j in range(order):
            A[i, j] = (2 * i + 1) * (-1 if i < j else (-1) ** (i - j + 1))
    return A, B


def published_legs(order):
    """Gu et al. (2020), theorem 2, entry by entry, with the sign of x' = A x + B u."""
    A = np.zeros((order, order))
    for n in range(order):
        A[n, n] = -(n + 1)
        for k in range(n):
            A[n, k] = -np.sqrt((2 * n + 1) * (2 * k + 1))
    return A, np.sqrt(2 * np.arange(order) + 1)


def published_legt(order):
    """Gu et al. (2020), theorem 1 in the orthonormal scaling, on the window of length 2 that s4 uses."""
    A = np.empty((order, order))
    for n in range(order):
        for k in range(order):
            A[n, k] = -np.sqrt((2 * n + 1) * (2 * k + 1)) * (1 if n >= k else (-1) ** (n - k)) / 2
    return A, np.sqrt(2 * np.arange(order) + 1) / 2


def published_fout(order):
    """Gu et al. (2023): the mean, an idle coefficient, then cosine and sine of each harmonic; a window of 2."""
    reading = np.zeros(order)
    reading[0], reading[2::2] = 1, np.sqrt(2)
    A = -np.outer(reading, reading)
    for harmonic in range(1, order // 2):
        A[2 * harmonic, 2 * harmonic + 1] -= np.pi * harmonic
        A[2 * harmonic + 1, 2 * harmonic] += np.pi * harmonic
    return A, reading


def hold(A, B, step):
    A_d, B_d, *_ = cont2discrete((A, B[:, None], np.eye(len(B)), np.zeros((len(B), 1))), step, method="zoh")
    return A_d, B_d[:, 0]


def test_lmu_matrices_are_the_published_ones():
    A, B = lmu_matrices(LegT(order=9, timescale=1.0))
    published_A, published_B = published_lmu(9)
    assert_allclose(A, published_A, rtol=1e-13)
    assert_allclose(B, published_B, rtol=1e-13)


@pytest.mark.parametrize(
    ("system", "published"),
    [
        (LegT(9, timescale=1.0), published_legt(9)),
        (LegS(9, timescale=1.0), published_legs(9)),
        (FouT(9, timescale=1.0), published_fout(10)),
    ],
    ids=["legt", "legs", "fout"],
)
def test_s4_matrices_are_the_published_ones(system, published):
    A, B = s4_matrices(system)
    assert_allclose(A, published[0], rtol=1e-13, atol=1e-13)
    assert_allclose(B, published[1], rtol=1e-13)


def test_a_legendre_memory_unit_run_on_a_signal_keeps_our_state_in_its_own_coordinates(rng):
    theta, signal = 20.0, rng.normal(size=100)
    A, B = published_lmu(8)
    theirs = roll(*hold(A / theta, B / theta, 1.0), signal)
    ours = roll(*zero_order_hold(LegT(8, timescale=theta), 1.0), signal)
    assert_allclose(to_lmu(ours), theirs, atol=1e-11)
    assert_allclose(from_lmu(theirs), ours, atol=1e-11)


def test_a_legendre_memory_unit_decodes_its_window_as_ours_does(rng):
    system, state = LegT(8, timescale=20.0), rng.normal(size=8)
    lags = np.linspace(0, 20, 11)
    decoders = np.polynomial.legendre.legvander(2 * lags / 20 - 1, 7)
    assert_allclose(decoders @ to_lmu(state), system.reconstruct(state, lags), atol=1e-11)


@pytest.mark.parametrize(
    ("system", "published"),
    [
        (LegT(8, 20.0), published_legt(8)),
        (LegS(8, 20.0), published_legs(8)),
        (FouT(7, 20.0), published_fout(8)),
    ],
    ids=["legt", "legs", "fout"],
)
def test_s4_run_on_a_signal_keeps_our_state_in_its_own_coordinates(system, published, rng):
    signal = rng.normal(size=100)
    theirs = roll(*hold(*published, s4_step(system, dt=0.5)), signal)
    ours = roll(*zero_order_hold(system, 0.5), signal)
    assert_allclose(to_s4(system, ours), theirs, atol=1e-11)
    assert_allclose(from_s4(system, theirs), ours, atol=1e-11)


@pytest.mark.parametrize("system", [LegT(6, 4.0), LegS(6, 4.0), FouT(7, 4.0)])
def test_converted_states_convert_back_in_any_batch(system, rng):
    states = rng.normal(size=(2, 3, system.order))
    assert_allclose(from_s4(system, to_s4(system, states)), states, rtol=0)
    assert_allclose(from_lmu(to_lmu(states)), states, rtol=1e-15)


def test_the_laguerre_memory_of_s4_keeps_other_functions():
    # Why there is no converter: exp(tA) B spans polynomials times exp(-t) here, times exp(-t/2) there.
    time, order = np.linspace(0, 8, 200), 5
    theirs = np.eye(order) / 2 - np.tril(np.ones((order, order)))
    kernels = np.array([expm(t * theirs) @ np.ones(order) for t in time])
    ours = np.array([expm(t * LagT(order, timescale=1.0).A) @ LagT(order, timescale=1.0).b for t in time])
    residual = kernels - ours @ np.linalg.lstsq(ours, kernels, rcond=None)[0]
    assert np.abs(residual).max() > 0.01
