"""ForecastLayer: the map of zoo.forecasting, with gradients through its fit."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from hippozoo.memory import Memory, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import ForecastLayer, Moments, future_metric, reduced_rank


def pairs(rng, horizon=8, order=12):
    signal = GaussianMixture().sample(1500, rng)
    states = Memory(LegT(order, 32.0)).scan(signal)
    futures = np.lib.stride_tricks.sliding_window_view(signal[1:], horizon)
    return states[100 : len(futures)], futures[100:].copy()


@pytest.mark.parametrize("rank", [None, 1, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_it_is_the_map_of_the_forecaster_on_the_same_states(rank, intercept, weighted, rng):
    x, y = pairs(rng)
    metric = future_metric(LegT(8, 8.0), lambda lead: np.exp(-lead / 4)) if weighted else None
    wanted = reduced_rank(Moments.empty(12, 8).add(x, y), rank, 1e-4, metric, intercept)
    layer = ForecastLayer(rank, 1e-4, metric, intercept)
    fitted = layer.fit(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(fitted.forecast_map.numpy(), wanted.forecast_map, atol=1e-6)
    np.testing.assert_allclose(fitted.intercept.numpy(), wanted.intercept, atol=1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_gradients_are_those_of_finite_differences(rank, rng):
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape)).requires_grad_()  # noqa: E731
    layer = ForecastLayer(rank, ridge=0.1)
    assert torch.autograd.gradcheck(layer, (draw(9, 4), draw(9, 3), draw(2, 4)))


def test_equally_strong_directions_have_a_gradient():
    """Autograd through single eigenvectors would divide by the gap between them."""
    x = torch.eye(4, dtype=torch.float64).repeat(2, 1) * torch.tensor([[1.0], [-1.0]]).repeat_interleave(4, 0)
    x = x.requires_grad_()
    y = x.detach() * torch.tensor([2.0, 2.0, 1.0, 1.0])
    ForecastLayer(rank=2, ridge=1e-3)(x, y).square().sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_leading_axes_may_stand_anywhere_and_float32_stays_float32(rng):
    x, y = (torch.from_numpy(part[:1000]).float() for part in pairs(rng))
    layer = ForecastLayer(rank=3)
    flat = layer(x, y)
    assert flat.dtype == torch.float32
    torch.testing.assert_close(layer(x.reshape(10, 100, -1), y.reshape(10, 100, -1)).reshape(1000, -1), flat)


def test_a_batch_that_stands_still_forecasts_its_mean():
    x, y = torch.ones(5, 3), torch.full((5, 2), 7.0)
    torch.testing.assert_close(ForecastLayer(rank=1)(x, y), y)


def test_a_window_is_learnt_for_a_horizon(rng):
    """A sine of 20 samples under noise: four coefficients of a window of 80 cannot follow it, so the window shrinks."""
    time = torch.arange(1200.0)
    signal = torch.sin(2 * torch.pi * time / 20) + 0.5 * torch.from_numpy(rng.normal(size=1200)).float()
    memory = MemoryLayer(LegT(4, 80.0), channels=1, trainable_timescale=True)
    optimiser = torch.optim.Adam(memory.parameters(), lr=0.1)
    head = ForecastLayer(ridge=1e-4)
    errors = []
    for _ in range(12):
        states = memory(signal[None, :, None])[0][0, 100:-10, 0]
        future = signal[110:, None]
        error = (head(states[:500], future[:500], states[500:]) - future[500:]).square().mean()
        optimiser.zero_grad()
        error.backward()
        optimiser.step()
        errors.append(error.item())
    assert 15.0 < memory.timescale < 60.0
    assert errors[-1] < 0.8 * errors[0]


def test_the_package_needs_no_torch():
    code = "import sys; import hippozoo.zoo.forecasting; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
