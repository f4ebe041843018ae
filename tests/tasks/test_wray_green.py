"""The Wray-Green benchmark is the system that the paper describes."""

import numpy as np
from numpy.testing import assert_allclose

import oracles
from hippozoo.tasks.wray_green import band_limited_noise, true_kernel, wray_green


def test_the_output_is_the_quadratic_volterra_series_of_the_true_kernel():
    data = wray_green(60, np.random.default_rng(1), cutoff=40.0)
    assert_allclose(data.target, oracles.volterra_series([true_kernel()], data.signal), atol=1e-10)


def test_the_kernel_is_the_one_printed_with_lags_counted_in_samples():
    lag = np.arange(50)
    response = 2 / 0.3 * np.exp(-0.08 * lag) * np.sin(0.3 * lag)
    assert_allclose(true_kernel(), 0.004 * np.outer(response, response))
    assert_allclose(true_kernel(60)[50:], 0)


def test_noise_has_no_power_above_the_cutoff_and_equal_power_below():
    noise = band_limited_noise(100_000, np.random.default_rng(0), cutoff=10.0, rms=2.0)
    frequency = np.fft.rfftfreq(100_000, 0.01)
    power = np.abs(np.fft.rfft(noise)) ** 2
    assert power[frequency > 10.0].max() < 1e-18 * power.max()
    low, high = (power[(frequency > a) & (frequency <= a + 5)].mean() for a in (0.0, 5.0))
    assert abs(low / high - 1) < 0.1
    assert_allclose(np.sqrt(np.mean(noise**2)), 2.0)


def test_a_seed_gives_one_signal():
    first, second, other = (wray_green(500, np.random.default_rng(seed)).signal for seed in (0, 0, 1))
    assert_allclose(first, second)
    assert not np.allclose(first, other)
