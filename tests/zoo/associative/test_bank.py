"""The polynomial bank: what is written is read, with the least change, and writes are a delta rule."""

import functools

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

import oracles
from hippozoo.layers import delta_rule
from hippozoo.polynomials import Chebyshev, Legendre
from hippozoo.zoo.associative import PolynomialBank

FAMILIES = [Legendre(12), Legendre(7, positive_at="left"), Chebyshev(9), Legendre(1)]


def numbers(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


def a_sequence(rng, batch=3, n_steps=150, channels=4, order=12):
    bank = PolynomialBank(channels, Legendre(order), dtype=torch.float64)
    address, read_address, gate = (torch.from_numpy(rng.uniform(size=(batch, n_steps))) for _ in range(3))
    state = numbers(rng, batch, channels, order)
    return bank, (address, numbers(rng, batch, n_steps, channels), read_address, gate, state)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_features_are_the_polynomials_at_the_address(family):
    address = np.append(np.linspace(0.0, 1.0, 41), [1e-12, 1 - 1e-12])
    bank = PolynomialBank(channels=1, family=family, dtype=torch.float64)
    # The last rounding before the end of the interval, magnified by the steepest slope there.
    assert_allclose(bank.features(torch.from_numpy(address)).numpy(), family.values(address), atol=1e-11)


def test_features_in_float32_keep_its_precision_at_order_256():
    address = np.linspace(0.0, 1.0, 1001)
    found = PolynomialBank(channels=1, family=Legendre(256)).features(torch.from_numpy(address).float()).numpy()
    exact = Legendre(256).values(address.astype(np.float32).astype(float))
    # One rounding of an address is a phase of 256 angles' roundings.
    assert np.abs(found - exact).max() < 2e-4 * np.abs(exact).max()


@pytest.mark.parametrize("address", [0.0, 1e-30, 0.3, 1.0])
def test_features_have_a_finite_slope_everywhere(address):
    where = torch.tensor([address], dtype=torch.float64, requires_grad=True)
    PolynomialBank(channels=1, dtype=torch.float64).features(where).sum().backward()
    assert torch.isfinite(where.grad).all()


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_at_both_ends_the_slope_is_that_of_the_polynomials_from_inside(family, end, dtype, rtol):
    bank = PolynomialBank(channels=1, family=family, dtype=dtype)
    inwards = 1e-6 * (1 - 2 * end)
    difference = np.array([-3.0, 4.0, -1.0]) @ family.values(end + inwards * np.arange(3)) / (2 * inwards)
    where = torch.tensor(end, dtype=dtype)
    for address in (where, torch.nextafter(where, 1 - where)):  # the end, and the first float inside
        slope = torch.autograd.functional.jacobian(bank.features, address).numpy()
        assert_allclose(slope, difference, atol=rtol * np.abs(difference).max() + 1e-12)


def test_a_full_write_is_read_back_and_moves_the_bank_least(rng):
    bank = PolynomialBank(channels=3, family=Legendre(10), epsilon=0.0, dtype=torch.float64)
    state, where, value = numbers(rng, 2, 3, 10), torch.tensor([0.13, 0.9], dtype=torch.float64), numbers(rng, 2, 3)
    after = bank.write(state, where, value)
    assert_allclose(bank.read(after, where), value, atol=1e-12)
    for item in range(2):
        key = bank.family.values(float(where[item]))
        for channel in range(3):
            expected = oracles.least_change(state[item, channel].numpy(), key, float(value[item, channel]))
            assert_allclose(after[item, channel], expected, atol=1e-12)


def test_a_half_open_gate_goes_half_the_way_and_a_shut_one_nowhere(rng):
    bank = PolynomialBank(channels=3, epsilon=0.0, dtype=torch.float64)
    state, where, value = numbers(rng, 2, 3, 32), torch.tensor([0.4, 0.4]).double(), numbers(rng, 2, 3)
    after = bank.write(state, where, value, torch.tensor([0.5, 0.0]).double())
    before = bank.read(state, where)
    assert_allclose(bank.read(after, where)[0], (before[0] + value[0]) / 2, atol=1e-12)
    assert_allclose(after[1], state[1], atol=0)


def test_an_orthogonal_query_notices_nothing(rng):
    family = Legendre(16)
    nodes = torch.from_numpy(family.gauss_rule()[0])
    bank = PolynomialBank(channels=2, family=family, dtype=torch.float64)
    state = numbers(rng, 1, 2, 16)
    after = bank.write(state, nodes[5:6], numbers(rng, 1, 2))
    change = (bank.read(after, nodes[None]) - bank.read(state, nodes[None])).abs()[0].amax(-1)
    assert change[5] > 0.1
    assert np.delete(change.numpy(), 5).max() < 1e-12


def test_a_write_adds_a_bump_in_the_shape_of_the_kernel(rng):
    bank = PolynomialBank(channels=1, epsilon=0.0, dtype=torch.float64)
    grid = np.linspace(0, 1, 101)
    after = bank.write(bank.initial_state(1), torch.tensor([0.37], dtype=torch.float64), torch.ones(1, 1).double())
    bump = bank.family.reproducing_kernel(grid, 0.37) / bank.family.reproducing_kernel(0.37, 0.37)
    assert_allclose(bank.read(after, torch.from_numpy(grid)[None])[0, :, 0], bump, atol=1e-11)


def test_writes_are_the_delta_rule_with_unit_keys_and_values_divided_by_the_keys_length(rng):
    bank, (address, value, read_address, gate, state) = a_sequence(rng, batch=2, n_steps=40)
    bank = PolynomialBank(4, Legendre(12), epsilon=0.0, dtype=torch.float64)
    _, last = bank(address, value, read_address, gate, state)
    for item in range(2):
        keys = bank.family.values(address[item].numpy())
        lengths = np.linalg.norm(keys, axis=-1, keepdims=True)
        expected = oracles.delta_rule(
            keys / lengths, value[item].numpy() / lengths, gate[item].numpy(), state[item].numpy()
        )
        assert_allclose(last[item], expected, atol=1e-11)


def one_by_one(bank, write_address, value, read_address, gate, state):
    """Write, then read, at every time."""
    reads = []
    parts = (part.unbind(1) for part in (write_address, value, read_address, gate))
    for where, what, asked, far in zip(*parts, strict=True):
        state = bank.write(state, where, what, far)
        reads.append(bank.read(state, asked))
    return torch.stack(reads, 1), state


@pytest.mark.parametrize("n_steps", [1, 2, 63, 64, 65, 150])
def test_the_triangular_solve_equals_the_loop(rng, n_steps):
    bank, arguments = a_sequence(rng, n_steps=n_steps)
    reads, last = bank(*arguments)
    expected_reads, expected_last = one_by_one(bank, *arguments)
    assert_allclose(reads, expected_reads, atol=1e-11)
    assert_allclose(last, expected_last, atol=1e-11)


def test_the_triangular_solve_equals_the_loop_in_float32_too(rng):
    bank, arguments = a_sequence(rng, n_steps=12)
    bank, arguments = bank.float(), [argument.float() for argument in arguments]
    reads, _ = bank(*arguments)
    expected, _ = one_by_one(bank, *arguments)
    assert (reads - expected).abs().max() < 2e-6 * expected.abs().max()


def test_gradients_of_the_triangular_solve_equal_those_of_the_loop(rng):
    bank, arguments = a_sequence(rng, n_steps=70)
    for argument in arguments:
        argument.requires_grad_()
    gradients = []
    for form in (bank, functools.partial(one_by_one, bank)):
        reads, last = form(*arguments)
        weights = numbers(np.random.default_rng(1), *reads.shape)
        gradients.append(torch.autograd.grad((reads * weights).sum() + last.square().sum(), arguments))
    for ours, theirs in zip(*gradients, strict=True):
        assert_allclose(ours, theirs, atol=1e-8 * float(theirs.abs().max()))


def test_gradients_are_those_of_finite_differences(rng, monkeypatch):
    monkeypatch.setattr(delta_rule, "STRETCH", 3)
    bank, arguments = a_sequence(rng, batch=2, n_steps=5, channels=2, order=4)
    arguments = tuple(argument.requires_grad_() for argument in arguments)
    assert torch.autograd.gradcheck(bank, arguments, atol=1e-6)


def test_without_gates_every_write_is_in_full(rng):
    bank, (address, value, read_address, gate, state) = a_sequence(rng, n_steps=9)
    found = bank(address, value, read_address, None, state)
    expected = bank(address, value, read_address, torch.ones_like(gate), state)
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, atol=0)


def test_converting_the_bank_makes_its_tables_again():
    once = PolynomialBank(2, dtype=torch.float64)
    there_and_back = nn.Sequential(PolynomialBank(2, dtype=torch.float64).float()).double()[0]
    assert torch.equal(there_and_back._cosines, once._cosines)
