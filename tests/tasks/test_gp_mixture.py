"""The Gaussian-process mixture: its samples have its covariance, and its forecast is the posterior."""

import numpy as np
from numpy.testing import assert_allclose

from hippozoo.tasks.gp_mixture import GaussianMixture


def test_samples_have_the_covariance_of_the_process():
    process, rng = GaussianMixture(), np.random.default_rng(0)
    signals = np.stack([process.sample(200, rng) for _ in range(4000)])
    for lag in (0, 1, 3, 20, 100):
        found = (signals[:, 50] * signals[:, 50 + lag]).mean()
        assert abs(found - process.covariance(lag)) < 0.08  # 4000 draws of a product of unit variance: 4 sigma
    assert abs((signals[:, 0] * signals[:, 199]).mean() - process.covariance(199)) < 0.08  # the circle is not closed


def test_the_forecast_is_the_posterior_of_gaussian_conditioning(rng):
    process, signal = GaussianMixture(), rng.normal(size=40)
    leads = np.array([1.0, 4.0, 9.0])
    mean, variance = process.forecast(signal, leads)
    times, ahead = np.arange(40.0), 39 + leads
    inside = process.covariance(times[:, None] - times)
    across = process.covariance(ahead[:, None] - times)
    assert_allclose(mean, across @ np.linalg.solve(inside, signal), atol=1e-7)
    expected = 1 - np.einsum("ij,ji->i", across, np.linalg.solve(inside, across.T))
    assert_allclose(variance, expected, atol=1e-7)


def test_the_weights_are_scaled_to_unit_variance():
    assert_allclose(GaussianMixture((2.0, 5.0), (3.0, 4.0)).covariance(0.0), 1.0)


def test_the_optimum_is_the_known_one():
    process = GaussianMixture()
    for horizon, known in ((4, 0.0411), (32, 0.3793)):
        _, variance = process.weights_of(np.arange(1, horizon + 1))
        assert abs(variance.mean() - known) < 1e-4
