"""Lag functionals: what a channel remembers, read without holding it."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from hippozoo.layers.lag_functionals import functionals_of_states, lag_functionals
from hippozoo.memory import LagLayer, Memory, MemoryLayer
from hippozoo.systems import LegS, LegT

SYSTEMS = LegT(4, 8.0), LegS(3, 20.0)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return LagLayer(SYSTEMS, channels=2, taps=3, reads=2, products=1, dtype=torch.float64)


def test_mixtures_of_shared_kernels_read_like_kernels_of_their_own(layer):
    shared = LagLayer(SYSTEMS, channels=2, taps=3, reads=2, products=1, shapes=2, dtype=torch.float64)
    with torch.no_grad():
        for own, mixtures in zip(layer.weight, shared.mixture, strict=True):
            for channel, (first, second) in zip(own, mixtures, strict=True):
                channel.copy_(first * shared.shape_weight[0] + second * shared.shape_weight[1])
    x = torch.randn(3, 40, 2, dtype=torch.float64)
    for call in ({}, {"dt": torch.rand(3, 40) + 0.5}):
        (y, state), (wanted, last) = shared(x, **call), layer(x, **call)
        torch.testing.assert_close(y, wanted)
        torch.testing.assert_close(state, last)
    before = layer.initial_state(3)
    torch.testing.assert_close(shared.step(x[:, 0], before)[0], layer.step(x[:, 0], before)[0])
    torch.testing.assert_close(shared.kernels(30), layer.kernels(30))
    assert sum(one.numel() for one in shared.parameters()) == 6 * 2 * 2 + 2 * shared.order


def test_only_shared_kernels_can_be_drawn_alone(layer):
    with pytest.raises(ValueError, match="shapes=None"):
        layer.shape_kernels(10)


def test_a_read_is_a_weighted_sum_of_coefficients_and_recent_samples(layer, rng):
    x = rng.normal(size=(50, 2))
    states = [Memory(system).scan(x) for system in SYSTEMS]
    recent = np.stack([np.concatenate([np.zeros((lag, 2)), x[: 50 - lag]]) for lag in range(3)], -1)
    everything = np.concatenate([*states, recent], -1)
    found = np.einsum("tcn,fcn->tfc", everything, layer.weight.detach().numpy())
    wanted = [found[:, read] + found[:, read + 1] * found[:, read + 2] for read in (0, 3)]
    y, state = layer(torch.from_numpy(x)[None])
    np.testing.assert_allclose(y[0].detach(), np.concatenate(wanted, -1), atol=1e-10)
    np.testing.assert_allclose(state[0].detach(), everything[-1], atol=1e-10)


def test_a_kernel_is_what_one_sample_leaves_behind(rng):
    layer = LagLayer(SYSTEMS, channels=2, taps=3, dtype=torch.float64)
    x = torch.zeros(1, 40, 2, dtype=torch.float64)
    x[0, 0] = 1.0
    y, _ = layer(x)
    torch.testing.assert_close(y[0].T, layer.kernels(40)[0], atol=1e-10, rtol=0)


def test_taps_alone_are_a_short_convolution():
    layer = LagLayer((), channels=1, taps=4, dtype=torch.float64)
    x = torch.randn(1, 20, 1, dtype=torch.float64)
    wanted = np.convolve(x[0, :, 0], layer.weight[0, 0].detach())[:20]
    np.testing.assert_allclose(layer(x)[0][0, :, 0].detach(), wanted, atol=1e-12)


def test_taps_count_samples_and_windows_time(layer):
    x = torch.randn(2, 12, 2, dtype=torch.float64)
    _, regular = layer(x)
    _, slow = layer(x, dt=torch.linspace(0.5, 3.0, 12))
    assert torch.equal(regular[..., -3:], slow[..., -3:])
    assert not torch.allclose(regular[..., :-3], slow[..., :-3])


@pytest.mark.parametrize("n_steps", [5, 32, 37])
def test_its_own_backward_pass_is_the_derivative(layer, n_steps):
    x, state = torch.randn(2, n_steps, 2, dtype=torch.float64), torch.randn(2, 2, layer.order, dtype=torch.float64)
    inputs = [tensor.requires_grad_() for tensor in (x, state, layer.weight.detach().clone())]

    def run(x, state, weight):
        return lag_functionals(x, state, weight, layer._tables(None, n_steps), 16, None)

    assert gradcheck(run, inputs, fast_mode=True)
    assert gradgradcheck(run, inputs, fast_mode=True)


def test_states_at_hand_say_the_same(layer):
    x, state = torch.randn(3, 40, 2, dtype=torch.float64), torch.randn(3, 2, layer.order, dtype=torch.float64)
    lengths = torch.tensor([40, 17, 0])
    found, last = lag_functionals(x, state, layer.weight, layer._tables(None, 40), 16, lengths)
    states = []
    for sample in x.unbind(1):
        states.append((states[-1] if states else state) @ layer.A_d.T + sample[..., None] * layer.b_d)
    torch.testing.assert_close(found, functionals_of_states(torch.stack(states, 1), layer.weight))
    torch.testing.assert_close(last, torch.stack([states[39][0], states[16][1], state[2]]))


def test_per_sample_gradients_agree(layer):
    x = torch.randn(3, 20, 2, dtype=torch.float64)
    parameters = dict(layer.named_parameters())

    def loss(parameters, one):
        y, _ = torch.func.functional_call(layer, parameters, (one[None],))
        return (y**2).sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)["weight"]
    for one, gradient in zip(x, each, strict=True):
        layer.zero_grad()
        loss(parameters, one).backward()
        torch.testing.assert_close(gradient, layer.weight.grad)


@pytest.mark.parametrize("outputs", [None, 5])
@pytest.mark.parametrize(("readout", "reads"), [("shared", 1), ("per_channel", 1), ("per_channel", 3)])
def test_a_readout_by_lag_functionals_is_linear_in_the_states(readout, reads, outputs):
    layer = MemoryLayer(LegT(6, 9.0), channels=3, readout=readout, reads=reads, outputs=outputs, dtype=torch.float64)
    x = torch.randn(2, 70, 3, dtype=torch.float64)
    states, last = MemoryLayer(LegT(6, 9.0), dtype=torch.float64)(x)
    wanted = functionals_of_states(states, layer.functional.expand(reads, 3, 6)).flatten(2)
    y, state = layer(x)
    torch.testing.assert_close(y, layer.readout(wanted) if outputs else wanted)
    torch.testing.assert_close(state, last)


def test_a_frozen_layer_reads_the_same():
    layer = MemoryLayer(LegT(6, 9.0), channels=3, readout="per_channel", trainable_timescale=True)
    x = torch.randn(2, 40, 3)
    torch.testing.assert_close(layer.frozen()(x)[0], layer(x)[0])
