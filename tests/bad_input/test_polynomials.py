import numpy as np
import pytest

from hippozoo.polynomials import (
    Chebyshev,
    Laguerre,
    Legendre,
    Tabulated,
    from_weight,
    shifted_legendre,
    shifted_legendre_integrals,
)

FAMILIES = [Legendre(4), Chebyshev(4), Laguerre(4), from_weight(np.exp, (0.0, 1.0), 4)]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
builders = pytest.mark.parametrize(
    "build",
    [
        Legendre,
        Chebyshev,
        Laguerre,
        lambda order: from_weight(np.exp, (0.0, 1.0), order),
        lambda order: shifted_legendre(0.5, order),
        lambda order: shifted_legendre_integrals(0.5, order),
    ],
)


@builders
@pytest.mark.parametrize(("order", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("2", TypeError)])
def test_a_basis_has_at_least_one_polynomial(build, order, error):
    with pytest.raises(error, match="least one polynomial"):
        build(order)


@every_family
@pytest.mark.parametrize("method", ["jacobi_matrix", "gauss_rule"])
def test_a_family_has_no_more_polynomials_than_it_was_built_with(family, method):
    with pytest.raises(ValueError, match=r"order=5"):
        getattr(family, method)(5)
    with pytest.raises(ValueError, match="order=5"):
        family.values(0.5, 5)
    with pytest.raises(ValueError, match="order=0"):
        family.reproducing_kernel(0.5, 0.5, 0)


@every_family
def test_points_lie_in_the_interval(family):
    with pytest.raises(ValueError, match=r"x=-0.1 is .* pass"):
        family.values(np.array([0.5, -0.1]))
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"x is .* finite"):
            family.values(wrong)
    with pytest.raises(TypeError, match="x has dtype"):
        family.values("a")


@pytest.mark.parametrize("family", FAMILIES[:2] + FAMILIES[3:], ids=lambda family: type(family).__name__)
def test_a_bounded_interval_ends_on_the_right_too(family):
    assert family.values(1.0 + 1e-13).shape == (4,)
    with pytest.raises(ValueError, match=r"interval 0.0 to 1.0"):
        family.values(1.01)


@pytest.mark.parametrize("family_class", [Legendre, Chebyshev])
@pytest.mark.parametrize(
    ("interval", "error", "message"),
    [
        ((1.0, 0.0), ValueError, "is empty; pass .lower, upper. with lower < upper"),
        ((1.0, 1.0), ValueError, "is empty"),
        ((0.0, np.inf), ValueError, "For the half-line use Laguerre"),
        ((np.nan, 1.0), ValueError, "finite"),
        ((-1e308, 1e308), ValueError, "longer than a float can say"),
        (3.0, TypeError, "pass two numbers"),
        ((0.0, 1.0, 2.0), TypeError, "pass two numbers"),
        (("a", "b"), TypeError, "interval has dtype"),
    ],
)
def test_an_interval_is_two_numbers_in_order(family_class, interval, error, message):
    with pytest.raises(error, match=message):
        family_class(4, interval)


@pytest.mark.parametrize("build", [Legendre, Chebyshev])
def test_an_interval_has_two_ends(build):
    with pytest.raises(ValueError, match="positive_at='top'"):
        build(4, positive_at="top")
    with pytest.raises(ValueError, match="positive_at='top'"):
        from_weight(np.exp, (0.0, 1.0), 4, positive_at="top")


def test_laguerre_ends_where_it_is_no_longer_accurate():
    evaluate = Laguerre(4).values
    assert np.isfinite(evaluate(1400.0)).all()
    with pytest.raises(ValueError, match=r"x=1400.1 is beyond 1400.0"):
        evaluate(1400.1)
    with pytest.raises(ValueError, match=r"x=-1.0 is left"):
        evaluate(-1.0)


def test_laguerre_orders_end_where_accuracy_was_measured():
    with pytest.raises(ValueError, match="order=1025"):
        Laguerre(1025)


@pytest.mark.parametrize("function", [shifted_legendre, shifted_legendre_integrals])
def test_shifted_legendre_takes_finite_numbers(function):
    with pytest.raises(ValueError, match=r"s\[1\] is nan"):
        function(np.array([0.1, np.nan]), 3)
    with pytest.raises(TypeError, match="s has dtype"):
        function(np.array(["a"]), 3)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (lambda x: -x, ValueError, r"weight\(.*\) = -.*; a weight is finite and nowhere negative"),
        (lambda x: x - 0.5, ValueError, "nowhere negative"),
        (lambda x: np.full_like(x, np.nan), ValueError, "nan; a weight is finite"),
        (lambda x: 0 * x, ValueError, "weight is zero wherever it was asked"),
        (lambda x: 1.0, ValueError, r"weight gave shape \(\) for points of shape .*np.vectorize"),
        (lambda x: x + 1j, TypeError, "weight gave dtype complex128"),
        (lambda x: 1 / np.sqrt(1 - x), ValueError, "shift x so that a singularity stands at 0"),
        (lambda x: 1 / x, ValueError, "cut that part off the interval"),  # its mass is infinite
    ],
)
def test_a_weight_is_a_finite_nonnegative_function_of_arrays(weight, error, message):
    with pytest.raises(error, match=message):
        from_weight(weight, (0.0, 1.0), 8)


def test_an_order_that_rounding_cannot_carry_is_refused():
    def needle(x):
        return np.where(np.abs(x - 0.3) < 1e-6, 1.0, 0.0)

    with pytest.raises(ValueError, match=r"order=150 is too"):
        from_weight(needle, (0.0, 1.0), 150, breakpoints=(0.3 - 1e-6, 0.3 + 1e-6))


@pytest.mark.parametrize("breakpoints", [(0.0,), (0.5, 1.0), (2.0,)])
def test_breakpoints_stand_inside_the_interval(breakpoints):
    with pytest.raises(ValueError, match=r"strictly between 0.0 and 1.0"):
        from_weight(np.exp, (0.0, 1.0), 8, breakpoints=breakpoints)


def test_a_weight_lives_on_a_bounded_interval():
    with pytest.raises(ValueError, match="use Laguerre"):
        from_weight(np.exp, (0.0, np.inf), 8)


@pytest.mark.parametrize(
    ("diagonal", "off_diagonal", "message"),
    [
        (np.zeros(3), np.ones(3), r"diagonal has shape \(3,\) and off_diagonal \(3,\); pass \(order,\) and"),
        (np.zeros((3, 1)), np.ones(2), "diagonal has shape"),
        (np.zeros(0), np.ones(0), "with order >= 1"),
        (np.zeros(3), np.array([1.0, 0.0]), "off_diagonal holds a zero"),
        (np.array([0.0, np.nan]), np.ones(1), r"diagonal\[1\] is nan"),
    ],
)
def test_a_table_is_a_jacobi_matrix(diagonal, off_diagonal, message):
    with pytest.raises(ValueError, match=message):
        Tabulated(diagonal, off_diagonal, (0.0, 1.0))
