"""The torch readout is the NumPy readout, with gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.volterra import LowRankReadout, PolynomialReadout, VolterraLayer, VolterraModel, VolterraReadout


@pytest.mark.parametrize(("degree", "rank"), [(1, None), (2, None), (3, None), (4, None), (2, 1), (4, 3)])
def test_it_computes_what_the_numpy_readout_computes(rng, degree, rank):
    readout = PolynomialReadout(4, degree) if rank is None else LowRankReadout(4, degree, rank)
    parameters, states = rng.normal(size=(2, readout.n_parameters)), rng.normal(size=(3, 5, 4))
    module = VolterraReadout(4, 2, degree, rank, dtype=torch.float64)
    module.set_parameters(parameters)
    ours = module(torch.from_numpy(states)).detach().numpy()
    for output in range(2):
        assert_allclose(ours[..., output], readout.predict(parameters[output], states))
        assert_allclose(module.parameters_of(output), parameters[output])


@pytest.mark.parametrize("rank", [None, 2])
def test_gradients_are_derivatives(rank):
    module = VolterraReadout(3, 2, degree=3, rank=rank, dtype=torch.float64)
    torch.nn.init.normal_(module.weight)
    states = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(module, (states,))


def test_plain_gradient_steps_are_those_of_the_full_tensor(rng):
    module = VolterraReadout(3, 1, degree=2, dtype=torch.float64)
    start = rng.normal(size=10)
    module.set_parameters(start)
    state, rate = torch.from_numpy(rng.normal(size=3)), 0.1
    (module(state) ** 2).sum().backward()
    readout = PolynomialReadout(3, 2)
    error = readout.predict(start, state.numpy())
    with torch.no_grad():
        module.weight -= rate * module.weight.grad
    step = readout.tensor(start, 2) - readout.tensor(module.parameters_of(), 2)
    assert_allclose(step, rate * 2 * error * np.outer(state, state))


def test_what_was_learnt_online_goes_on_inside_a_network(rng):
    system, signal = LegT(order=4, timescale=6.0), rng.normal(size=80)
    model = VolterraModel(Memory(system))
    _, state = model.learn(model.initial_state(), signal, signal**2)
    layer = VolterraLayer(system, dtype=torch.float64)
    layer.readout.set_parameters(state.learnt.parameters)
    y, _ = layer(torch.from_numpy(signal)[None, :, None])
    expected, _ = model.predict(state._replace(memory=np.zeros(4)), signal)
    assert_allclose(y[0, :, 0].detach().numpy(), expected, atol=1e-9)


def test_it_learns_by_backpropagation():
    torch.manual_seed(0)
    x = torch.randn(8, 60, 1)
    target = x * torch.roll(x, 1, dims=1)
    layer = VolterraLayer(LegT(order=4, timescale=4.0))
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.03)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (layer(x)[0] - target)[:, 5:].pow(2).mean()
        loss.backward()
        optimiser.step()
    assert loss < 0.15 * target.var()


def test_a_converted_readout_is_as_precise_as_one_made_so(rng):
    parameters, states = rng.normal(size=35), rng.normal(size=(5, 3))
    module = VolterraReadout(3, degree=4).double()
    module.set_parameters(parameters)
    ours = module(torch.from_numpy(states)).detach().numpy()
    assert_allclose(ours[:, 0], PolynomialReadout(3, 4).predict(parameters, states), rtol=1e-12)


@pytest.mark.parametrize("rank", [None, 2])
def test_autocast_leaves_the_polynomial_in_its_own_precision(rank):
    layer = VolterraLayer(LegT(4, timescale=9.0), channels=2, outputs=3, degree=3, rank=rank)
    torch.nn.init.normal_(layer.readout.weight)
    x = torch.randn(2, 7, 2)
    wanted, state = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, _ = layer(x)
        stepped, _ = layer.step(x[:, 0], state)
    assert found.dtype == stepped.dtype == torch.float32
    assert torch.equal(found, wanted)
