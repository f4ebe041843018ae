"""Products of coefficients, each kept once: multi-indices, their multiplicity, packing and unpacking.

All products up to a degree stand in one row, the constant 1 first, then degree 1, 2, …, each in lexicographic order of
i1 <= … <= ik. In this order the products that continue a *prefix* (i1, …, i(k-1)) lie side by side and are that prefix
times a stretch of the inputs, so that loops over them need no table of indices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo._internal.immutable import Immutable

__all__ = ["multi_indices", "pack", "unpack"]


def multi_indices(inputs: int, degree: int) -> Int[np.ndarray, "terms degree"]:
    """All i1 <= … <= ik (k is the degree) below the number of inputs, in lexicographic order, one row each.

    Examples
    --------
    >>> multi_indices(3, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]
    """
    n = whole_number("inputs", inputs)
    k = whole_number("degree", degree, minimum=0)
    return _multi_indices(n, k).copy()


def multiplicities(inputs: int, degree: int) -> Int[np.ndarray, " terms"]:
    """How often each multi-index stands in the full tensor: k! / (n1! n2! …)."""
    rows = multi_indices(inputs, degree)
    return np.array([_multiplicity(row) for row in rows.tolist()], np.int64)


def pack(tensor: Float[np.ndarray, "..."]) -> Float[np.ndarray, " terms"]:
    """The different entries of the symmetric part of a tensor, each once.

    Examples
    --------
    >>> pack(np.array([[1.0, 4.0], [2.0, 5.0]])).tolist()
    [1.0, 3.0, 5.0]
    """
    array = real_array("tensor", tensor)
    if array.ndim == 0 or len(set(array.shape)) != 1:
        raise ValueError(f"tensor has shape {array.shape}; pass one with equal sides, for example (n, n).")
    degree = array.ndim
    symmetric = sum(array.transpose(order) for order in permutations(range(degree))) / math.factorial(degree)
    return np.asarray(symmetric)[tuple(_multi_indices(array.shape[0], degree).T)]


def unpack(packed: Float[np.ndarray, " terms"], inputs: int, degree: int) -> Float[np.ndarray, "..."]:
    """The full symmetric tensor, degree axes of length `inputs`, from its different entries.

    Examples
    --------
    >>> unpack(np.array([1.0, 3.0, 5.0]), inputs=2, degree=2).tolist()
    [[1.0, 3.0], [3.0, 5.0]]
    """
    values = real_array("packed", packed)
    rows = multi_indices(inputs, degree)
    if values.shape != (len(rows),):
        raise ValueError(
            f"packed has shape {values.shape}, but {inputs} inputs have {len(rows)} products of degree {degree}; "
            f"pass ({len(rows)},)."
        )
    tensor = np.empty((inputs,) * degree)
    for order in permutations(range(degree)):
        tensor[tuple(rows[:, order].T)] = values
    return tensor


@dataclass(frozen=True)
class Monomials(Immutable):
    """All products up to a degree, and the tables that the compiled loops walk along."""

    inputs: int
    degree: int

    @cached_property
    def offsets(self) -> Int[np.ndarray, " degrees"]:
        """Where each degree 0 .. K begins in the row of all products, and where the row ends."""
        counts = [math.comb(self.inputs + k - 1, k) for k in range(self.degree + 1)]
        return np.cumsum([0, *counts])

    @property
    def terms(self) -> int:
        """Length of the row."""
        return int(self.offsets[-1])

    def of_degree(self, k: int) -> slice:
        """Where the products of degree k stand."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    @cached_property
    def last(self) -> Int[np.ndarray, " prefixes"]:
        """The last index of each prefix (each product of degree below K): its continuations begin there."""
        rows = [_multi_indices(self.inputs, k)[:, -1] for k in range(1, self.degree)]
        return np.concatenate([np.zeros(1, np.int64), *rows])

    @cached_property
    def multiplicity(self) -> Float[np.ndarray, " terms"]:
        """The multiplicity of every product in the row."""
        return np.concatenate([multiplicities(self.inputs, k) for k in range(self.degree + 1)]).astype(float)

    @cached_property
    def weights(self) -> Float[np.ndarray, "prefixes 2"]:
        """The multiplicities of a prefix's first continuation, which repeats its last index, and of all others."""
        first = np.concatenate([[1], np.cumsum(self.inputs - self.last)[:-1] + 1])
        # A prefix that ends at the last input has one continuation; what stands after it is not read.
        other = np.minimum(first + 1, self.terms - 1)
        return np.stack([self.multiplicity[first], self.multiplicity[other]], axis=1)


@lru_cache(maxsize=32)
def monomials(inputs: int, degree: int) -> Monomials:
    """The tables for these numbers, built once."""
    return Monomials(inputs, degree)


def _multiplicity(row: list[int]) -> int:
    repeats = math.prod(math.factorial(row.count(i)) for i in set(row))
    return math.factorial(len(row)) // repeats


@lru_cache(maxsize=32)
def _multi_indices(inputs: int, degree: int) -> np.ndarray:
    rows = np.empty((1, 0), np.int64)
    for _ in range(degree):
        starts = rows[:, -1] if rows.shape[1] else np.zeros(1, np.int64)
        counts = inputs - starts
        following = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), following])
    return rows
