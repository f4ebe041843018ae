import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import roots_laguerre, roots_legendre, roots_sh_chebyt

from hippozoo.polynomials import (
    Chebyshev,
    Laguerre,
    Legendre,
    OrthonormalFamily,
    Tabulated,
    from_weight,
)

BOUNDED = {
    "Legendre": Legendre(order=512, interval=(0.001, 1.0)),
    "Legendre, left": Legendre(order=512, interval=(-7.0, 0.0), positive_at="left"),
    "Chebyshev": Chebyshev(order=512, interval=(2.0, 3.0)),
    "Jeffreys": from_weight(lambda x: 1 / x, (1e-3, 1.0), 512),
    "Jeffreys, six decades": from_weight(lambda x: 1 / x, (1e-6, 1.0), 512, positive_at="left"),
}
SMALL = {
    "Legendre": Legendre(order=9, interval=(-2.0, 1.0)),
    "Chebyshev": Chebyshev(order=9),
    "Laguerre": Laguerre(order=9),
    "Jeffreys": from_weight(lambda x: 1 / x, (1e-3, 1.0), 9),
}
# Weights of Gauss rules that fall far below the rounding of 1: to 1e-101 in the first.
FALLING = {
    "Laguerre": Laguerre(order=64),
    "Laguerre, near the end of floats": Laguerre(order=180),
    "exponential": from_weight(lambda x: np.exp(-200 * x), (0.0, 1.0), 64),
    "Gaussian": from_weight(lambda x: np.exp(-(((x - 0.5) / 0.02) ** 2)), (0.0, 1.0), 128),
    "two islands": from_weight(lambda x: np.where((x < 0.01) | (x > 0.99), 1.0, 0.0), (0.0, 1.0), 149),
}
bounded = pytest.mark.parametrize("family", BOUNDED.values(), ids=BOUNDED.keys())
small = pytest.mark.parametrize("family", SMALL.values(), ids=SMALL.keys())


@bounded
def test_families_are_orthonormal_up_to_order_512(family: OrthonormalFamily):
    nodes, weights = family.gauss_rule()
    values = family.values(nodes)
    # The three-term recurrence loses digits close to the narrow end of six decades, 2e-12; the others have 4e-13.
    assert_allclose(values.T @ (weights[:, None] * values), np.eye(512), atol=5e-12)


@pytest.mark.parametrize("family", FALLING.values(), ids=FALLING.keys())
def test_families_are_orthonormal_where_the_weight_is_nearly_nothing(family: OrthonormalFamily):
    nodes, weights = family.gauss_rule()
    values = family.values(nodes)
    assert_allclose(values.T @ (weights[:, None] * values), np.eye(family.order), atol=5e-12)


@small
def test_the_measure_is_a_probability_and_the_first_polynomial_is_one(family: OrthonormalFamily):
    nodes, weights = family.gauss_rule()
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert (weights > 0).all()
    assert (np.diff(nodes) > 0).all()
    assert_allclose(family.values(nodes)[:, 0], 1, rtol=1e-15)


@small
def test_the_jacobi_matrix_multiplies_by_x(family: OrthonormalFamily):
    x = np.linspace(0.1, 0.9, 7)
    values = family.values(x)
    # The last row is cut: it would need the next polynomial.
    assert_allclose((x[:, None] * values)[:, :-1], (values @ family.jacobi_matrix())[:, :-1], atol=1e-11)


@small
def test_a_gauss_node_is_where_the_next_polynomial_vanishes(family: OrthonormalFamily):
    nodes, _ = family.gauss_rule(8)
    scale = np.linalg.norm(family.values(nodes, 9), axis=1)
    assert_allclose(family.values(nodes, 9)[:, 8] / scale, 0, atol=1e-12)


@small
def test_the_first_few_of_many_polynomials_are_the_few(family: OrthonormalFamily):
    x = np.array([0.2, 0.5])
    assert_allclose(family.values(x, 4), family.values(x)[:, :4], rtol=1e-15)
    assert family.jacobi_matrix(4).shape == (4, 4)


@pytest.mark.parametrize("positive_at", ["left", "right"])
@pytest.mark.parametrize("family_class", [Legendre, Chebyshev])
def test_orientation_makes_all_polynomials_positive_at_one_end(family_class, positive_at):
    family = family_class(order=12, interval=(1.0, 4.0), positive_at=positive_at)
    end, other = (1.0, 4.0) if positive_at == "left" else (4.0, 1.0)
    assert (family.values(end) > 0).all()
    assert_allclose(family.values(other), family.values(end) * (-1.0) ** np.arange(12), atol=1e-12)
    assert (np.sign(family.jacobi_matrix()[0, 1]) < 0) == (positive_at == "left")


def test_the_classical_rules_are_those_of_scipy():
    nodes, weights = Legendre(order=64, interval=(-1.0, 1.0)).gauss_rule()
    theirs, their_weights = roots_legendre(64)
    assert_allclose(nodes, theirs, atol=1e-14)
    assert_allclose(weights, their_weights / 2, rtol=1e-11)
    nodes, weights = Chebyshev(order=64).gauss_rule()
    theirs, their_weights = roots_sh_chebyt(64)
    assert_allclose(nodes, theirs, atol=1e-14)
    assert_allclose(weights, 1 / 64, rtol=1e-11)
    nodes, weights = Laguerre(order=64).gauss_rule()
    theirs, their_weights = roots_laguerre(64)
    assert_allclose(nodes, theirs, rtol=1e-12)
    assert_allclose(weights, their_weights, rtol=1e-10)  # theirs have 11 digits, down to 1e-101


@given(st.integers(1, 40), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_a_gauss_rule_finds_mean_and_variance_on_any_interval(order, lower, width):
    upper = lower + width
    nodes, weights = Legendre(order + 1, interval=(lower, upper)).gauss_rule()
    centre = (lower + upper) / 2
    assert weights @ nodes == pytest.approx(centre, rel=1e-9, abs=1e-9)
    assert weights @ (nodes - centre) ** 2 == pytest.approx((upper - lower) ** 2 / 12, rel=1e-8)


@small
def test_the_reproducing_kernel_reproduces_polynomials(family: OrthonormalFamily):
    def past(x):
        return 1 - 2 * x + 0.5 * x**3

    nodes, weights = family.gauss_rule()
    x = np.array([0.15, 0.4, 0.8])
    kernel = family.reproducing_kernel(x, nodes)
    assert kernel.shape == (3, 9)
    assert_allclose(kernel @ (weights * past(nodes)), past(x), atol=1e-9)


@small
def test_the_kernel_is_one_on_its_diagonal_only_when_normalised(family: OrthonormalFamily):
    x = np.linspace(0.1, 0.9, 5)
    plain = family.reproducing_kernel(x, x)
    assert (np.diag(plain) > 1.1).all()
    normalised = family.reproducing_kernel(x, x, normalised=True)
    assert_allclose(np.diag(normalised), 1, rtol=1e-14)
    assert_allclose(normalised, plain / np.sqrt(np.outer(np.diag(plain), np.diag(plain))), rtol=1e-12)


def test_keys_are_never_short_and_much_longer_at_the_ends_of_the_address_space():
    family = Legendre(order=32)
    x = np.linspace(0.0, 1.0, 401)
    squared = np.square(family.values(x)).sum(-1)
    assert_allclose(squared, np.diag(family.reproducing_kernel(x, x)), rtol=1e-12)
    assert squared.min() > 20
    assert_allclose(squared[[0, -1]], 32**2)
    assert round(squared[0] / squared[200]) == 51


def test_the_normalised_kernel_of_values_whose_squares_overflow():
    family = Laguerre(order=800)  # at x = 1300 the values reach 1e282
    kernel = family.reproducing_kernel(np.array([1300.0, 20.0]), np.array([1300.0, 20.0]), normalised=True)
    x = np.array([1300.0, 20.0])
    functions = family.values(x) * np.exp(-x / 2)[:, None]
    assert_allclose(np.diag(kernel), 1, rtol=1e-13)
    assert_allclose(kernel[0, 1], functions[0] @ functions[1] / np.prod(np.linalg.norm(functions, axis=1)), rtol=1e-10)


@small
def test_families_pickle_compare_hash_and_print(family: OrthonormalFamily):
    family.values(0.5)
    again = pickle.loads(pickle.dumps(family))
    assert again == family
    assert hash(again) == hash(family)
    assert repr(again) == repr(family)
    assert_allclose(again.values(0.3), family.values(0.3), rtol=0)
    assert family != Legendre(order=3)
    assert "order=9" in repr(family)


@small
def test_nobody_can_write_into_a_family(family: OrthonormalFamily):
    for numbers in (*family.recurrence, *pickle.loads(pickle.dumps(family)).recurrence):
        with pytest.raises(ValueError, match="read-only"):
            numbers[0] = 5.0


def test_a_table_keeps_its_own_copy():
    diagonal = np.array([0.5, 0.5])
    family = Tabulated(diagonal, np.array([0.2]), (0.0, 1.0))
    diagonal[0] = 9.0
    assert family.recurrence[0][0] == 0.5


def test_order_one_is_the_constant():
    for family in (Legendre(1), Chebyshev(1), Laguerre(1), from_weight(lambda x: x, (0.0, 1.0), 1)):
        assert family.values(np.array([0.1, 0.7])).tolist() == [[1.0], [1.0]]
        nodes, weights = family.gauss_rule()
        assert nodes.shape == (1,)
        assert weights.tolist() == [1.0]
