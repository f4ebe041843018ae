import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.polynomials import Legendre, from_weight


def test_a_constant_weight_gives_back_legendre():
    found = from_weight(lambda x: np.full_like(x, 7.0), (-1.0, 2.0), 256)
    assert_allclose(found.jacobi_matrix(), Legendre(256, interval=(-1.0, 2.0)).jacobi_matrix(), atol=1e-13)


def test_a_singular_weight_gives_back_a_known_family():
    # 1 / sqrt(x) on [0, 1]: Legendre polynomials of even degree in sqrt(x).
    found = from_weight(lambda x: 1 / np.sqrt(x), (0.0, 1.0), 64)
    even = Legendre(128, interval=(-1.0, 1.0))
    x = np.linspace(0, 1, 33)
    assert_allclose(found.values(x), even.values(np.sqrt(x))[:, ::2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6])
@pytest.mark.parametrize("order", [8, 128, 512])
def test_jeffreys_weight_is_orthonormal_by_an_independent_rule(smallest, order):
    family = from_weight(lambda rate: 1 / rate, (smallest, 1.0), order)
    # In u = log(rate) the weight is uniform. Panels there, crowded at both ends as the zeros of polynomials are,
    # share nothing with the panels in rate.
    node, mass = np.polynomial.legendre.leggauss(40)
    edges = np.log(smallest) * (1 + np.cos(np.linspace(0, np.pi, 301))) / 2
    width = np.diff(edges)[:, None]
    log_rate = edges[:-1, None] + width * (node + 1) / 2
    values = family.values(np.exp(log_rate).ravel())
    weights = (width * mass / 2 / -np.log(smallest)).ravel()
    assert_allclose(values.T @ (weights[:, None] * values), np.eye(order), atol=2e-12)


def test_moments_of_jeffreys_weight_come_out_by_its_gauss_rule():
    nodes, weights = from_weight(lambda rate: 1 / rate, (1e-6, 1.0), 40).gauss_rule()
    for power in (1, 2, 10, 60):
        assert weights @ nodes**power == pytest.approx((1 - 1e-6**power) / power / np.log(1e6), rel=1e-12)


def test_the_scale_of_a_weight_does_not_matter():
    small = from_weight(lambda x: 1e-200 * np.exp(x), (0.0, 1.0), 12)
    large = from_weight(lambda x: 1e200 * np.exp(x), (0.0, 1.0), 12)
    assert_allclose(small.jacobi_matrix(), large.jacobi_matrix(), atol=1e-14)


def test_jumps_and_gaps_are_found_and_breakpoints_only_save_work():
    def two_islands(x):
        return np.where(x < 0.2, 1.0, 0.0) + np.where(x > 2 / 3, 2.0, 0.0)

    found = from_weight(two_islands, (0.0, 1.0), 300)
    helped = from_weight(two_islands, (0.0, 1.0), 300, breakpoints=(0.2, 2 / 3))
    assert_allclose(found.jacobi_matrix(), helped.jacobi_matrix(), atol=1e-12)
    nodes, weights = helped.gauss_rule()
    mass = 0.2 + 2 / 3
    assert weights @ nodes == pytest.approx((0.02 + (1 - 4 / 9)) / mass, rel=1e-12)


def test_two_narrow_islands_far_apart_come_out_all_the_same():
    # Between them the polynomials reach 1e100; the rule that suffices without gaps is noticed not to suffice.
    def islands(x):
        return np.where((x < 0.01) | (x > 0.99), 1.0, 0.0)

    family = from_weight(islands, (0.0, 1.0), 150, breakpoints=(0.01, 0.99))
    node, mass = np.polynomial.legendre.leggauss(200)
    island = 0.01 * (node + 1) / 2
    values = family.values(np.concatenate([island, 0.99 + island]))
    weights = np.concatenate([mass, mass]) / 4
    assert_allclose(values.T @ (weights[:, None] * values), np.eye(150), atol=1e-10)


def test_a_breakpoint_reveals_a_peak_too_narrow_to_be_found():
    def peak(x):
        return 1 + np.exp(-(((x - 0.3217) / 1e-6) ** 2)) * 1e6

    nodes, weights = from_weight(peak, (0.0, 1.0), 20, breakpoints=(0.3217,)).gauss_rule()
    mass = np.sqrt(np.pi)
    assert weights @ nodes == pytest.approx((0.5 + mass * 0.3217) / (1 + mass), rel=1e-9)


def test_orientation_only_flips_odd_polynomials():
    right = from_weight(np.exp, (0.0, 1.0), 10)
    left = from_weight(np.exp, (0.0, 1.0), 10, positive_at="left")
    assert (right.values(1.0) > 0).all()
    assert (left.values(0.0) > 0).all()
    assert_allclose(left.values(0.4), right.values(0.4) * (-1.0) ** np.arange(10), atol=1e-13)
