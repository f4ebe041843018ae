"""The paper's rival: one hidden layer of tanh on the state, learnt online in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number
from hippozoo.zoo.volterra._kernels import learn_network, predict_network
from hippozoo.zoo.volterra.readout import Parameters, Readout

__all__ = ["NetworkReadout"]


@dataclass(frozen=True)
class NetworkReadout(Readout):
    """y = b0 + Wo tanh(Wh s + bh): learns any readout, and shows no kernel.

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
        """There is none: a network is no polynomial."""
        raise ValueError(
            f"{self!r} is no polynomial and has no coefficient tensors; use PolynomialReadout or LowRankReadout."
        )

    def _predict(self, states: np.ndarray, parameters: np.ndarray, predictions: np.ndarray) -> None:
        predict_network(states, parameters, self.hidden, predictions)

    def _learn(
        self, states: np.ndarray, targets: np.ndarray, parameters: np.ndarray, step: Any, predictions: np.ndarray
    ) -> int:
        return learn_network(states, targets, parameters, self.hidden, predictions, step)
