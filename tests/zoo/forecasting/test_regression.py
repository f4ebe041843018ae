"""Reduced-rank regression: least squares at full rank, the best of its rank below."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Moments, future_metric, lead_basis, reduced_rank


@pytest.fixture
def pairs(rng):
    x = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5))
    return x, x @ rng.normal(size=(5, 4)) + rng.normal(size=(300, 4))


def learnt(x, y):
    return Moments.empty(x.shape[1], y.shape[1]).add(x, y)


def test_full_rank_forecasting_is_least_squares(pairs):
    x, y = pairs
    with_ones = np.column_stack([x, np.ones(len(x))])
    expected = np.linalg.lstsq(with_ones, y)[0].T
    fitted = reduced_rank(learnt(x, y))
    assert_allclose(fitted.forecast_map, expected[:, :-1], atol=1e-9)
    assert_allclose(fitted.intercept, expected[:, -1], atol=1e-9)


def test_a_ridge_is_a_ridge(pairs):
    x, y = pairs
    cov_xx, cov_yx, _ = learnt(x, y).covariances()
    expected = cov_yx @ np.linalg.inv(cov_xx + 0.1 * np.trace(cov_xx) / 5 * np.eye(5))
    assert_allclose(reduced_rank(learnt(x, y), ridge=0.1).forecast_map, expected, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_map_of_the_same_rank_has_a_smaller_error(pairs, rng, weighted):
    x, y = pairs
    moments = learnt(x, y)
    W = np.diag([1.0, 10.0, 0.1, 3.0]) if weighted else np.eye(4)

    def loss(numbers):
        left, right = numbers[:8].reshape(4, 2), numbers[8:].reshape(2, 5)
        T = left @ right
        return np.trace(W @ moments.errors_of(T, moments.mean_y - T @ moments.mean_x)) / moments.weight

    fitted = reduced_rank(moments, rank=2, future_metric=W if weighted else None)
    ours = np.trace(W @ fitted.residual)
    found = min(minimize(loss, rng.normal(size=18), method="BFGS").fun for _ in range(6))
    assert_allclose(ours, found, rtol=1e-5)
    assert np.linalg.matrix_rank(fitted.forecast_map) == 2


def test_at_full_rank_the_weight_of_leads_changes_nothing(pairs):
    x, y = pairs
    W = np.diag([1.0, 10.0, 0.1, 3.0])
    assert_allclose(
        reduced_rank(learnt(x, y), future_metric=W).forecast_map, reduced_rank(learnt(x, y)).forecast_map, atol=1e-9
    )


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_the_projector_keeps_what_the_forecast_reads_and_nothing_else(pairs, ridge):
    x, y = pairs
    fitted = reduced_rank(learnt(x, y), rank=2, ridge=ridge)
    P, T = fitted.predictive_projector, fitted.forecast_map
    assert_allclose(P @ P, P, atol=1e-10)
    assert_allclose(T @ P, T, atol=1e-10)
    assert np.linalg.matrix_rank(P, tol=1e-8) == 2


def test_directions_in_which_the_past_never_varies_are_left_out(rng):
    x = rng.normal(size=(200, 2)) @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    y = x[:, :1] - 2 * x[:, 1:2]
    fitted = reduced_rank(learnt(x, y))
    assert_allclose(x @ fitted.forecast_map.T + fitted.intercept, y, atol=1e-9)
    assert np.abs(fitted.forecast_map).max() < 10


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_rounding_of_a_level_is_no_past_to_forecast_from(pairs, rng, ridge, intercept):
    x, y = pairs
    wavering = 1e-10 * rng.normal(size=(300, 5))  # differences from a level of 1e4: fourteen digits are right
    levels = np.column_stack([np.full(300, 1e4), np.ones(300)])
    both = Moments.empty(10, 4, signals=2).add(np.column_stack([wavering, x]), y, levels=levels)
    fitted, alone = (reduced_rank(one, ridge=ridge, intercept=intercept) for one in (both, learnt(x, y)))
    assert (fitted.forecast_map[:, :5] == 0).all()
    # The mean variance, which is the ridge's unit, is half as large with as many inputs again.
    if ridge == 0:
        assert_allclose(fitted.forecast_map[:, 5:], alone.forecast_map, atol=1e-9)


def test_the_history_metric_is_positive_semidefinite(pairs):
    x, y = pairs
    Q = reduced_rank(learnt(x, y), rank=3).history_metric(np.diag([1.0, 2.0, 3.0, 4.0]))
    assert np.linalg.eigvalsh(Q).min() > -1e-12


def test_inputs_in_other_units_give_the_same_forecast(pairs):
    x, y = pairs
    unit = np.array([1.0, 1e3, 1e-3, 1.0, 50.0])
    plain = reduced_rank(learnt(x, y), rank=2, ridge=0.1)
    other = reduced_rank(learnt(x * unit, y), rank=2, ridge=0.1, scale=unit)
    assert_allclose(other.forecast_map * unit, plain.forecast_map, atol=1e-9)
    assert_allclose(other.patterns / unit, plain.patterns, atol=1e-9)


def test_the_metric_of_a_weight_is_its_integral():
    future = LegT(order=6, timescale=5.0)
    coefficients = np.array([0.3, -1.0, 0.5, 0.2, 0.0, 0.7])
    W = future_metric(future, lambda lead: np.exp(-lead) * (lead < 2.5))  # jumps on a panel's edge
    lead = (np.arange(250_000) + 0.5) / 100_000
    function = lead_basis(future, lead) @ coefficients
    assert_allclose(coefficients @ W @ coefficients, (np.exp(-lead) * function**2).sum() / 100_000, rtol=1e-6)
    assert_allclose(future_metric(future, np.ones_like), 5.0 * np.eye(6), atol=1e-12)
