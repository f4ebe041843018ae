"""Addresses of several dimensions: products of polynomials, each coordinate with its own."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import AssociativeMemory, PolynomialBank, trace
from hippozoo.zoo.associative.trace import bank_functions


@pytest.fixture
def bank():
    return PolynomialBank(channels=2, family=Legendre(5), dtype=torch.float64, dimensions=2)


def points(rng, *shape):
    return torch.from_numpy(rng.uniform(size=(*shape, 2)))


def test_features_are_all_products_of_polynomials(bank, rng):
    where = points(rng, 7)
    first, second = (Legendre(5).values(where[:, axis].numpy()) for axis in range(2))
    expected = np.einsum("pi,pj->pij", first, second).reshape(7, 25)
    assert_allclose(bank.features(where).numpy(), expected, atol=1e-12)


def test_the_kernel_is_the_product_of_the_kernels(bank, rng):
    where = points(rng, 6)
    features = bank.features(where).numpy()
    one = [Legendre(5).values(where[:, axis].numpy()) for axis in range(2)]
    assert_allclose(features @ features.T, (one[0] @ one[0].T) * (one[1] @ one[1].T), atol=1e-10)


def test_what_is_written_is_read_and_other_nodes_do_not_notice(bank, rng):
    nodes = torch.from_numpy(Legendre(5).gauss_rule()[0])
    grid = torch.cartesian_prod(nodes, nodes)
    value = torch.from_numpy(rng.normal(size=(1, 2)))
    state = bank.write(bank.initial_state(1), grid[7:8], value)
    found = bank.read(state, grid[None])[0]
    expected = torch.zeros(25, 2, dtype=torch.float64)
    expected[7] = value
    assert_allclose(found, expected, atol=1e-6)


def test_a_sequence_of_writes_is_one_after_the_other(bank, rng):
    wrote, read = points(rng, 3, 90), points(rng, 3, 90)
    value, gate = torch.from_numpy(rng.normal(size=(3, 90, 2))), torch.from_numpy(rng.uniform(size=(3, 90)))
    found, last = bank(wrote, value, read, gate)
    state = bank.initial_state(3)
    for t in range(90):
        state = bank.write(state, wrote[:, t], value[:, t], gate[:, t])
        assert_allclose(found[:, t], bank.read(state, read[:, t]), atol=1e-9)
    assert_allclose(last, state, atol=1e-9)


def test_one_dimension_draws_and_computes_as_before(rng):
    """Value and shapes of the layer as the paper has it are untouched."""
    x = torch.from_numpy(rng.normal(size=(2, 9, 4)))
    one, same = (
        AssociativeMemory(4, width=3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), **more)
        for more in ({}, {"dimensions": 1})
    )
    assert torch.equal(one(x)[0], same(x)[0])
    assert one.signals(x).write_address.shape == (2, 9)
    assert one.addresses.weight.shape[0] == 2


def test_a_trace_has_the_coordinates_and_a_curve_is_refused(rng):
    layer = AssociativeMemory(3, width=4, family=Legendre(4), hidden=8, dimensions=2, dtype=torch.float64)
    x = torch.from_numpy(rng.normal(size=(6, 3)))
    found = trace(layer, x)
    assert found.write_address.shape == (6, 2)
    assert_allclose(found.outputs, layer(x[None])[0][0].detach(), atol=1e-12)
    with pytest.raises(ValueError, match="dimensions=2"):
        bank_functions(layer, found.banks[0])


def test_both_addresses_start_as_one_function_of_different_samples(rng):
    layer = AssociativeMemory(
        3, width=4, family=Legendre(4), hidden=8, dimensions=2, start="present", dtype=torch.float64
    )
    signals = layer.signals(torch.from_numpy(rng.normal(size=(1, 12, 3))))
    # Reading under the present sample is where the next step writes; the memory's window makes it a close match.
    assert_allclose(signals.write_address[0, 2:].detach(), signals.read_address[0, 1:-1].detach(), atol=0.05)
