"""Readouts of a memory state: predict, be learnt, and (if they are polynomials) show their tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo.zoo.volterra._kernels import learn_network, learn_polynomial, predict_network, predict_polynomial
from hippozoo.zoo.volterra._low_rank_kernels import learn_low_rank, predict_low_rank
from hippozoo.zoo.volterra.monomials import Monomials, monomials, unpack

__all__ = ["LowRankReadout", "NetworkReadout", "PolynomialReadout", "Readout"]

Parameters = Float[np.ndarray, " parameters"]
# 800 MB of coefficients: beyond this a full tensor is a mistake, and the low-rank readout is meant.
_MOST_TERMS = 100_000_000


class Readout(ABC):
    """A function of the state whose parameters are one row of numbers, kept by the caller.

    A readout is a frozen description; `initial_parameters` gives a row to start from, learners return a new one.
    """

    inputs: int
    degree: int = 0
    linear_in_parameters: ClassVar[bool] = False
    """Whether least squares applies."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Length of the row of parameters."""

    @property
    def groups(self) -> int:
        """How many groups of parameters the normalised learner measures separately: one per degree."""
        return self.degree + 1

    @abstractmethod
    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """Where learning starts; what is random comes from `rng` (default: seed 0)."""

    @abstractmethod
    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric coefficient tensor of degree k, beta^(k) in the paper: shape (inputs,) * k."""

    def predict(
        self, parameters: Parameters, states: Float[np.ndarray, "*times inputs"]
    ) -> Float[np.ndarray, "*times"]:
        """The output at one state or at many."""
        row = self.checked_parameters(parameters)
        rows = self.checked_states(states)
        predictions = np.empty(rows.shape[:-1])
        self._predict(rows.reshape(-1, self.inputs), row, predictions.reshape(-1))
        return predictions

    @abstractmethod
    def _predict(self, *arrays: Any) -> None:
        """Fill the last of states, parameters and predictions; everything has been checked."""

    @abstractmethod
    def _learn(self, *arrays: Any) -> int:
        """Of states, targets, parameters, predictions and step, change the third and fill the fourth.

        The index of the sample that diverged, or -1.
        """

    def checked_parameters(self, parameters: Any) -> np.ndarray:
        """The parameters, if they fit."""
        row = real_array("parameters", parameters)
        if row.shape != (self.n_parameters,):
            raise ValueError(
                f"parameters has shape {row.shape}, but {self!r} has {self.n_parameters}; begin with "
                f"initial_parameters() or pass those that a learner returned."
            )
        return np.ascontiguousarray(row)

    def checked_states(self, states: Any) -> np.ndarray:
        """The states, if they fit."""
        rows = real_array("states", states)
        if rows.ndim == 0 or rows.shape[-1] != self.inputs:
            raise ValueError(
                f"states has shape {rows.shape}, but {self!r} reads {self.inputs} coefficients; "
                f"pass (..., {self.inputs})."
            )
        return np.ascontiguousarray(rows)

    def _checked_degree(self, k: int) -> int:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k <= self.degree:
            raise ValueError(f"k={k!r}: {self!r} has tensors of degree 0 to {self.degree}; ask for one of these.")
        return int(k)


@dataclass(frozen=True)
class PolynomialReadout(Readout):
    r"""y = β⁽⁰⁾ + Σ β⁽¹⁾ s + Σ β⁽²⁾ s s + …, each symmetric tensor stored without repetition.

    The parameters are the different entries of all tensors, the constant first, then degree 1, 2, …, each in the
    order of `multi_indices`. An entry of multiplicity m stands for its m copies: it counts m times in the output, and
    a learner moves it as it would move each of the copies.

    Parameters
    ----------
    inputs
        Number of coefficients that are read: the order of the memory, times its channels.
    degree
        Highest degree, K in the paper: 1 is the linear readout, 2 the quadratic one.

    Examples
    --------
    >>> readout = PolynomialReadout(inputs=2, degree=2)
    >>> readout.n_parameters  # 1, s0, s1, s0 s0, s0 s1, s1 s1
    6
    >>> parameters = np.array([1.0, 0.0, 2.0, 0.0, 3.0, 0.0])
    >>> float(readout.predict(parameters, np.array([1.0, 10.0])))  # 1 + 2 * 10 + 2 * 3 * 10
    81.0

    References
    ----------
    Paper, "Volterra HiPPO Readout".
    """

    inputs: int
    degree: int = 2
    linear_in_parameters: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inputs = whole_number("inputs", self.inputs, why="a readout reads at least one coefficient")
        degree = whole_number("degree", self.degree, why="degree 1 is the linear readout")
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "degree", degree)
        if self.n_parameters > _MOST_TERMS:
            raise ValueError(
                f"inputs={inputs}, degree={degree}: that is {self.n_parameters:.2g} coefficients; take LowRankReadout, "
                f"fewer inputs (leading directions of the state), or a lower degree."
            )

    @property
    def products(self) -> Monomials:
        """Tables of the products."""
        return monomials(self.inputs, self.degree)

    @property
    def n_parameters(self) -> int:
        """One for every different product, the constant included."""
        return self.products.terms

    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """All zero, as in the paper."""
        return np.zeros(self.n_parameters)

    def coefficients(self, parameters: Parameters, k: int) -> Float[np.ndarray, " terms"]:
        """The different entries of the tensor of degree k, in the order of `multi_indices`."""
        k = self._checked_degree(k)
        return self.checked_parameters(parameters)[self.products.of_degree(k)].copy()

    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric tensor of degree k."""
        packed = self.coefficients(parameters, k)
        return packed.reshape(()) if k == 0 else unpack(packed, self.inputs, k)

    def _predict(self, *arrays: Any) -> None:
        predict_polynomial(*arrays, self.products.last, self.products.weights)

    def _learn(self, *arrays: Any) -> int:
        return learn_polynomial(*arrays, self.products.last, self.products.weights, self.products.offsets[1:-1])


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
        return self._of_degree(self.degree).stop

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
        k = self._checked_degree(k)
        row = self.checked_parameters(parameters)
        if k < 2:
            raise ValueError(f"k={k}: functionals are multiplied from degree 2 on; for less ask tensor(parameters, k).")
        return row[self._of_degree(k)].reshape(self.rank, k, self.inputs).copy()

    def _of_degree(self, k: int) -> slice:
        begin = 1 + self.inputs * (1 + self.rank * (k * (k - 1) // 2 - 1))
        return slice(begin, begin + self.rank * k * self.inputs)

    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric tensor of degree k."""
        k = self._checked_degree(k)
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

    def _predict(self, *arrays: Any) -> None:
        predict_low_rank(*arrays, self.degree, self.rank)

    def _learn(self, *arrays: Any) -> int:
        return learn_low_rank(*arrays, self.degree, self.rank)


@dataclass(frozen=True)
class NetworkReadout(Readout):
    """The paper's rival, y = b0 + Wo tanh(Wh s + bh): learns any readout, and shows no kernel.

    Parameters
    ----------
    inputs
        Number of coefficients that are read.
    hidden
        Width of the hidden layer.

    Examples
    --------
    >>> readout = NetworkReadout(inputs=64)
    >>> readout.n_parameters
    8449
    """

    inputs: int
    hidden: int = 128

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", whole_number("inputs", self.inputs))
        object.__setattr__(self, "hidden", whole_number("hidden", self.hidden))

    @property
    def n_parameters(self) -> int:
        """Rows of Wh, then bh, Wo and b0."""
        return self.hidden * (self.inputs + 2) + 1

    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """Uniform up to 1 / sqrt(fan-in), as torch starts its linear layers."""
        rng = np.random.default_rng(0) if rng is None else rng
        inward = rng.uniform(-1, 1, self.hidden * (self.inputs + 1)) / np.sqrt(self.inputs)
        outward = rng.uniform(-1, 1, self.hidden + 1) / np.sqrt(self.hidden)
        return np.concatenate([inward, outward])

    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """There is none: a network is not a polynomial."""
        raise ValueError(
            f"{self!r} is no polynomial and has no coefficient tensors; use PolynomialReadout or LowRankReadout."
        )

    def _predict(self, *arrays: Any) -> None:
        predict_network(*arrays, self.hidden)

    def _learn(self, *arrays: Any) -> int:
        return learn_network(*arrays, self.hidden)
