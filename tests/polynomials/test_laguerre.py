import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_laguerre

from hippozoo.polynomials import Laguerre
from oracles import laguerre_in_60_digits

POINTS = [0.0, 1e-9, 0.003, 0.4, 3.0, 17.5, 90.0, 400.25, 1000.0, 1400.0]


def weighted_functions(x, order):
    """exp(-x/2) L_n(x), orthonormal on the half-line and never above 1."""
    return np.exp(-np.asarray(x) / 2)[..., None] * Laguerre(order).values(x)


@pytest.mark.parametrize("x", POINTS)
def test_weighted_values_keep_the_accuracy_that_the_limit_promises(x):
    assert_allclose(weighted_functions(x, 1024), laguerre_in_60_digits(x, 1024), rtol=0, atol=5e-15)


def test_values_agree_with_scipy_where_it_is_accurate():
    x = np.linspace(0, 30, 61)
    assert_allclose(
        Laguerre(order=20).values(x) * np.exp(-x / 2)[:, None],
        eval_laguerre(np.arange(20), x[:, None]) * np.exp(-x / 2)[:, None],
        atol=1e-10,  # scipy's own recurrence loses these digits
    )


def test_weighted_functions_never_exceed_one():
    assert np.abs(weighted_functions(np.linspace(0, 1400, 5001), 64)).max() == 1.0


def test_weighted_functions_are_orthonormal_on_the_half_line():
    # Panels of unit length hold at most a few waves of the first 48 functions, which end before x = 300.
    node, mass = np.polynomial.legendre.leggauss(32)
    x = (np.arange(300)[:, None] + (node + 1) / 2).ravel()
    values = weighted_functions(x, 48)
    gram = values.T @ (np.tile(mass / 2, 300)[:, None] * values)
    assert_allclose(gram, np.eye(48), atol=1e-12)


def test_all_polynomials_are_one_at_zero():
    assert Laguerre(order=6).values(0.0).tolist() == [1.0] * 6
