"""Polynomials of the state, full and of low rank, and the network beside them."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.zoo.volterra import LowRankReadout, NetworkReadout, PolynomialReadout


def by_definition(tensors, state):
    total = 0.0
    for tensor in tensors:
        for _ in range(tensor.ndim):
            tensor = tensor @ state
        total += float(tensor)
    return total


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_a_polynomial_readout_is_the_sum_over_all_ordered_tuples(rng, inputs, degree):
    readout = PolynomialReadout(inputs, degree)
    parameters = rng.normal(size=readout.n_parameters)
    states = rng.normal(size=(7, inputs))
    tensors = [readout.tensor(parameters, k) for k in range(degree + 1)]
    assert_allclose(readout.predict(parameters, states), [by_definition(tensors, state) for state in states])


@pytest.mark.parametrize(("degree", "rank"), [(2, 1), (2, 3), (3, 2), (4, 1)])
def test_a_low_rank_readout_is_the_sum_over_all_ordered_tuples(rng, degree, rank):
    readout = LowRankReadout(4, degree, rank)
    parameters = rng.normal(size=readout.n_parameters)
    states = rng.normal(size=(6, 4))
    tensors = [readout.tensor(parameters, k) for k in range(degree + 1)]
    assert_allclose(readout.predict(parameters, states), [by_definition(tensors, state) for state in states])


def test_a_low_rank_tensor_is_a_sum_of_symmetrised_products_of_its_functionals(rng):
    readout = LowRankReadout(3, degree=2, rank=2)
    parameters = rng.normal(size=readout.n_parameters)
    expected = sum((np.outer(a, b) + np.outer(b, a)) / 2 for a, b in readout.functionals(parameters, 2))
    assert_allclose(readout.tensor(parameters, 2), expected)


def test_states_may_have_any_leading_axes(rng):
    readout = PolynomialReadout(3)
    parameters = rng.normal(size=readout.n_parameters)
    states = rng.normal(size=(2, 5, 3))
    assert readout.predict(parameters, states).shape == (2, 5)
    assert_allclose(readout.predict(parameters, states)[1, 2], readout.predict(parameters, states[1, 2]))


def test_the_network_is_the_one_that_torch_computes(rng):
    readout = NetworkReadout(inputs=5, hidden=7)
    parameters = readout.initial_parameters(rng)
    inward, outward = torch.nn.Linear(5, 7, dtype=torch.float64), torch.nn.Linear(7, 1, dtype=torch.float64)
    parts = np.split(parameters, [35, 42, 49])
    shapes = [(7, 5), (7,), (1, 7), (1,)]
    with torch.no_grad():
        for target, part, shape in zip(
            (inward.weight, inward.bias, outward.weight, outward.bias), parts, shapes, strict=True
        ):
            target.copy_(torch.from_numpy(part.reshape(shape)))
        states = rng.normal(size=(9, 5))
        expected = outward(torch.tanh(inward(torch.from_numpy(states))))[:, 0].numpy()
    assert_allclose(readout.predict(parameters, states), expected)


@pytest.mark.parametrize("readout", [LowRankReadout(6, 3, 2), NetworkReadout(6, 4)])
def test_a_random_start_comes_from_the_generator_given(readout):
    first, second = (readout.initial_parameters(np.random.default_rng(3)) for _ in range(2))
    assert_allclose(first, second)
    assert not np.allclose(first, readout.initial_parameters(np.random.default_rng(4)))
