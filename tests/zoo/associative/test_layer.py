"""The layer: the paper's formulas, by fewer operations; its start; its padding and its steps of time."""

import pytest
import torch
from numpy.testing import assert_allclose

import oracles
from hippozoo.discretise import zero_order_hold
from hippozoo.polynomials import Chebyshev, Legendre
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.associative import AssociativeMemory, AssociativeState


def a_layer(seed=0, **changes):
    settings = {"channels": 5, "outputs": 3, "width": 4, "hidden": 6, "dtype": torch.float64} | changes
    return AssociativeMemory(**settings, generator=torch.Generator().manual_seed(seed))


def samples(rng, batch=3, n_steps=20, channels=5):
    return torch.from_numpy(rng.normal(size=(batch, n_steps, channels)))


@pytest.mark.parametrize(
    ("system", "family", "start"),
    [
        (LegT(8, timescale=2.0), Legendre(6), "previous"),
        (LegS(5, timescale=3.0), Chebyshev(9), "random"),
        (LegT(8, timescale=2.0), Legendre(6), "random"),
    ],
)
def test_the_layer_is_the_papers_formulas_one_after_the_other(rng, system, family, start):
    layer = a_layer(system=system, family=family, start=start)
    x = samples(rng, n_steps=70)
    y, state = layer(x)
    weights = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    A_d, b_d = zero_order_hold(system, 1.0)
    for item in range(len(x)):
        outputs, S, C = oracles.associative_episode(weights, A_d, b_d, family.values, x[item].numpy(), 1e-6)
        assert_allclose(y[item].detach(), outputs, atol=1e-12)
        assert_allclose(state.memory[item].detach(), S, atol=1e-12)
        assert_allclose(state.bank[item].detach(), C, atol=1e-12)


def test_functionals_of_samples_are_those_of_the_states(rng):
    layer, x = a_layer(), samples(rng, n_steps=90)
    _, state = layer(samples(rng))
    lengths = torch.tensor([90, 33, 0])
    for ends in (None, lengths):
        found, found_state = layer(x, state, lengths=ends)
        # A step length given in words takes the other path, by the states themselves.
        expected, expected_state = layer(x, state, dt=1.0, lengths=ends)
        assert_allclose(found.detach(), expected.detach(), atol=1e-12)
        assert_allclose(found_state.memory.detach(), expected_state.memory.detach(), atol=1e-12)
        assert_allclose(found_state.bank.detach(), expected_state.bank.detach(), atol=1e-12)


def test_gradients_of_one_call_equal_those_of_the_steps(rng):
    layer, x = a_layer(), samples(rng, n_steps=70)
    y, _ = layer(x)
    state, outputs = layer.initial_state(len(x)), []
    for sample in x.unbind(1):
        output, state = layer.step(sample, state)
        outputs.append(output)
    parameters = dict(layer.named_parameters())
    found = torch.autograd.grad(y.square().sum(), list(parameters.values()))
    expected = torch.autograd.grad(torch.stack(outputs, 1).square().sum(), list(parameters.values()))
    for name, ours, theirs in zip(parameters, found, expected, strict=True):
        assert theirs.abs().max() > 0, name
        assert_allclose(ours, theirs, atol=1e-9 * float(theirs.abs().max()), err_msg=name)


def test_padding_may_hold_anything_and_writes_nothing(rng):
    layer, x = a_layer(), samples(rng)
    lengths = torch.tensor([20, 7, 0])
    spoilt = x.clone()
    spoilt[1, 7:], spoilt[2] = float("nan"), float("inf")
    _, state = layer(samples(rng))
    y, after = layer(spoilt, state, lengths=lengths)
    assert (y[1, 7:] == 0).all()
    assert (y[2] == 0).all()
    assert_allclose(after.bank[2].detach(), state.bank[2].detach(), atol=0)
    assert_allclose(after.memory[2].detach(), state.memory[2].detach(), atol=0)


def test_both_addresses_start_as_one_function_of_the_previous_sample(rng):
    layer = a_layer(system=LegT(32, timescale=2.0))
    x = samples(rng, batch=1)
    other = x.clone()
    other[:, 8] += 1.0
    one, two = layer.signals(x), layer.signals(other)
    assert_allclose(one.write_address.detach(), one.read_address.detach(), atol=0)
    moved = (one.write_address - two.write_address).abs()[0] > 1e-3
    assert moved.nonzero().flatten().tolist() == [9]


def test_gates_start_nearly_shut_unless_the_start_is_random(rng):
    x = samples(rng) / 5
    shut, plain = a_layer().signals(x), a_layer(start="random").signals(x)
    for name in ("write_gate", "output_gate"):
        assert getattr(shut, name).max() < 0.15
        assert getattr(plain, name).mean() > 0.3


def test_the_start_comes_from_the_generator_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two, other = (torch.cat([p.flatten() for p in a_layer(seed).parameters()]) for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_the_papers_size_has_22148_parameters():
    assert sum(parameter.numel() for parameter in AssociativeMemory(channels=24).parameters()) == 22_148


def test_a_detached_state_cuts_the_gradient(rng):
    layer, x = a_layer(), samples(rng)
    first = x[:, :10].clone().requires_grad_()
    _, state = layer(first)
    y, _ = layer(x[:, 10:], AssociativeState(*(part.detach() for part in state)))
    y.sum().backward()
    assert first.grad is None


def test_under_autocast_the_layer_keeps_its_precision(rng):
    layer, x = a_layer(dtype=torch.float32), samples(rng).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state = layer(x)
    assert y.dtype == state.bank.dtype == torch.float32
    assert_allclose(y.detach(), layer(x)[0].detach(), atol=0)
