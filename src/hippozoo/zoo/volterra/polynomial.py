"""The full polynomial readout: one coefficient for every product of state coefficients, up to a degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number
from hippozoo.zoo.volterra._kernels import learn_polynomial, predict_polynomial
from hippozoo.zoo.volterra.monomials import Monomials, monomials, unpack
from hippozoo.zoo.volterra.readout import Parameters, Readout

__all__ = ["PolynomialReadout"]

# 800 MB of coefficients: beyond this a full tensor is a mistake, and the low-rank readout is meant.
_MOST_TERMS = 100_000_000


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

    @property
    def groups(self) -> int:
        """One per degree."""
        return self.degree + 1

    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """All zero, as in the paper."""
        return np.zeros(self.n_parameters)

    def coefficients(self, parameters: Parameters, k: int) -> Float[np.ndarray, " terms"]:
        """The different entries of the tensor of degree k, in the order of `multi_indices`."""
        k = self._checked_degree(k, self.degree)
        return self.checked_parameters(parameters)[self.products.of_degree(k)].copy()

    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric tensor of degree k, shape (inputs,) * k."""
        packed = self.coefficients(parameters, k)
        return packed.reshape(()) if k == 0 else unpack(packed, self.inputs, k)

    def _predict(self, states: np.ndarray, parameters: np.ndarray, predictions: np.ndarray) -> None:
        predict_polynomial(states, parameters, self.products.last, self.products.weights, predictions)

    def _learn(
        self, states: np.ndarray, targets: np.ndarray, parameters: np.ndarray, step: Any, predictions: np.ndarray
    ) -> int:
        table = self.products
        ends = table.offsets[1:-1]
        return learn_polynomial(states, targets, parameters, table.last, table.weights, ends, predictions, step)
