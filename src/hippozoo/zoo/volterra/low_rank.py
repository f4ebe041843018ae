"""The low-rank readout: a sum of products of linear functionals, at a cost linear in the order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number
from hippozoo.zoo.volterra._low_rank_kernels import learn_low_rank, predict_low_rank
from hippozoo.zoo.volterra.readout import Parameters, Readout

__all__ = ["LowRankReadout"]


@dataclass(frozen=True)
class LowRankReadout(Readout):
    r"""y = β⁽⁰⁾ + w·s + Σ_k Σ_r (a_kr1·s)(a_kr2·s)…(a_krk·s): `rank` products in each degree from 2 on.

    A step costs O(K² N r) instead of O(N^K). Its tensors are sums of outer products of the functionals, and each
    functional is a filter of the past that can be drawn.

    Parameters
    ----------
    inputs
        Number of coefficients that are read.
    degree
        Highest degree, K in the paper; at least 2.
    rank
        Number of products in each degree.

    Examples
    --------
    >>> readout = LowRankReadout(inputs=64, degree=2, rank=1)
    >>> readout.n_parameters  # 1 + 64 + 2 * 64, where the full quadratic readout has 2145
    193
    """

    inputs: int
    degree: int = 2
    rank: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", whole_number("inputs", self.inputs))
        degree = whole_number("degree", self.degree, minimum=2, why="products begin at degree 2")
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "rank", whole_number("rank", self.rank))

    @property
    def n_parameters(self) -> int:
        """A constant, one linear functional, and k functionals for each product of degree k."""
        return 1 + self.inputs * (1 + self.rank * (self.degree * (self.degree + 1) // 2 - 1))

    @property
    def groups(self) -> int:
        """One per degree."""
        return self.degree + 1

    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """Random functionals, but zero for the constant, the linear one and the last of each product.

        So the first prediction is zero whatever the scale of the input, and products still learn.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        parameters = np.zeros(self.n_parameters)
        random = parameters[1 + self.inputs :]
        random[:] = rng.normal(scale=1.0 / np.sqrt(self.inputs), size=random.shape)
        for k in range(2, self.degree + 1):
            parameters[self._of_degree(k)].reshape(self.rank, k, self.inputs)[:, -1] = 0.0
        return parameters

    def functionals(self, parameters: Parameters, k: int) -> Float[np.ndarray, "rank k inputs"]:
        """The functionals whose products make up degree k."""
        k = self._checked_degree(k, self.degree)
        row = self.checked_parameters(parameters)
        if k < 2:
            raise ValueError(f"k={k}: functionals are multiplied from degree 2 on; for less ask tensor(parameters, k).")
        return row[self._of_degree(k)].reshape(self.rank, k, self.inputs).copy()

    def _of_degree(self, k: int) -> slice:
        begin = 1 + self.inputs * (1 + self.rank * (k * (k - 1) // 2 - 1))
        return slice(begin, begin + self.rank * k * self.inputs)

    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric tensor of degree k, shape (inputs,) * k."""
        k = self._checked_degree(k, self.degree)
        row = self.checked_parameters(parameters)
        if k < 2:
            return row[:1].reshape(()) if k == 0 else row[1 : 1 + self.inputs].copy()
        tensor = np.zeros((self.inputs,) * k)
        for factors in self.functionals(parameters, k):
            product = factors[0]
            for factor in factors[1:]:
                product = np.multiply.outer(product, factor)
            tensor += sum(product.transpose(order) for order in permutations(range(k))) / factorial(k)
        return tensor

    def _predict(self, states: np.ndarray, parameters: np.ndarray, predictions: np.ndarray) -> None:
        predict_low_rank(states, parameters, self.degree, self.rank, predictions)

    def _learn(
        self, states: np.ndarray, targets: np.ndarray, parameters: np.ndarray, step: Any, predictions: np.ndarray
    ) -> int:
        return learn_low_rank(states, targets, parameters, self.degree, self.rank, predictions, step)
