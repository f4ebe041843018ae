import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_sh_legendre

from hippozoo.polynomials import Legendre, shifted_legendre, shifted_legendre_integrals
from oracles import legendre_in_60_digits

# Points close to both ends count: there neighbouring degrees differ least and rounding shows first.
POINTS = [0.0, 1e-12, 3e-7, 0.004, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9, 1.0]


@pytest.mark.parametrize("s", POINTS)
def test_values_are_accurate_to_rounding_up_to_degree_512(s):
    exact = legendre_in_60_digits(s, 513)
    largest = np.sqrt(2 * np.arange(513) + 1)
    assert_allclose(shifted_legendre(s, 513) / largest, exact / largest, rtol=0, atol=2e-14)


def test_values_agree_with_scipy():
    s = np.linspace(0, 1, 101)
    n = np.arange(40)
    theirs = (-1.0) ** n * np.sqrt(2 * n + 1) * eval_sh_legendre(n, s[:, None])
    assert_allclose(shifted_legendre(s, 40), theirs, rtol=0, atol=1e-11)


def test_every_polynomial_is_positive_at_the_present():
    assert_allclose(shifted_legendre(0.0, 8), np.sqrt(2 * np.arange(8) + 1))


def test_points_keep_their_shape_and_order_comes_last():
    grid = np.linspace(0, 1, 24).reshape(2, 3, 4)
    values = shifted_legendre(grid, 7)
    assert values.shape == (2, 3, 4, 7)
    assert_allclose(values[1, 2, 3], shifted_legendre(float(grid[1, 2, 3]), 7))


@pytest.mark.parametrize("points", [0, 1, 511, 512, 513, 1500])
def test_blocks_of_points_do_not_show(points, rng):
    s = rng.uniform(size=points)
    one_by_one = np.array([shifted_legendre(float(x), 9) for x in s]).reshape(points, 9)
    assert_allclose(shifted_legendre(s, 9), one_by_one, rtol=1e-15)
    assert_allclose(
        shifted_legendre_integrals(s, 9),
        np.array([shifted_legendre_integrals(float(x), 9) for x in s]).reshape(points, 9),
        rtol=1e-15,
    )


def test_integrals_are_the_integrals_of_the_values():
    node, mass = np.polynomial.legendre.leggauss(40)
    for s in (1e-9, 0.01, 0.4, 0.5, 0.9, 1.0):
        by_quadrature = s / 2 * mass @ shifted_legendre(s * (node + 1) / 2, 24)
        assert_allclose(
            shifted_legendre_integrals(s, 24), by_quadrature, rtol=1e-10, atol=1e-13
        )  # leggauss is no better


def test_small_integrals_keep_their_digits():
    # Over a cell of 1e-12 the integral is the value times the length; a difference of values would be noise.
    assert_allclose(shifted_legendre_integrals(1e-12, 64), 1e-12 * shifted_legendre(0.0, 64), rtol=1e-8)


@pytest.mark.parametrize("positive_at", ["left", "right"])
def test_the_family_on_another_interval_is_the_same_family_moved(positive_at):
    family = Legendre(order=6, interval=(-3.0, 5.0), positive_at=positive_at)
    s = np.linspace(0, 1, 11)
    from_positive_end = s if positive_at == "left" else 1 - s
    assert_allclose(family.values(-3 + 8 * s), shifted_legendre(from_positive_end, 6), atol=1e-13)
