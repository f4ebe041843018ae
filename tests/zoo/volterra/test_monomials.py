"""Symmetric tensors, each entry stored once."""

from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.zoo.volterra import multi_indices, pack, unpack
from hippozoo.zoo.volterra.monomials import monomials, multiplicities


@given(st.integers(1, 6), st.integers(1, 4))
def test_multi_indices_are_all_sorted_tuples(inputs, degree):
    expected = list(combinations_with_replacement(range(inputs), degree))
    assert [tuple(row) for row in multi_indices(inputs, degree).tolist()] == expected


@given(st.integers(1, 5), st.integers(1, 4))
def test_multiplicity_counts_the_copies_in_the_full_tensor(inputs, degree):
    copies = [len(set(permutations(row))) for row in multi_indices(inputs, degree).tolist()]
    assert_array_equal(multiplicities(inputs, degree), copies)
    assert sum(copies) == inputs**degree


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_packing_a_symmetric_tensor_loses_nothing(rng, degree):
    packed = rng.normal(size=len(multi_indices(4, degree)))
    tensor = unpack(packed, 4, degree)
    for order in permutations(range(degree)):
        assert_array_equal(tensor, tensor.transpose(order))
    assert_allclose(pack(tensor), packed, rtol=1e-13)


def test_packing_keeps_the_symmetric_part(rng):
    tensor = rng.normal(size=(3, 3, 3))
    vector = rng.normal(size=3)
    symmetric = unpack(pack(tensor), 3, 3)
    contracted = [np.einsum("ijk,i,j,k->", each, vector, vector, vector) for each in (tensor, symmetric)]
    assert_allclose(*contracted)


@given(st.integers(1, 5), st.integers(1, 4))
def test_the_continuations_of_a_prefix_lie_side_by_side(inputs, degree):
    table = monomials(inputs, degree)
    rows = [tuple(row) for k in range(degree + 1) for row in multi_indices(inputs, k).tolist()]
    position = 1
    for p, last in enumerate(table.last.tolist()):
        for j in range(last, inputs):
            assert rows[position] == (*rows[p], j)
            weight = table.weights[p, 0] if j == last else table.weights[p, 1]
            assert weight == table.multiplicity[position] == len(set(permutations(rows[position])))
            position += 1
    assert position == len(rows) == table.terms
