"""What every readout of a memory state can do: predict, be learnt, and (if it is a polynomial) show its tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array

__all__ = ["Readout"]

Parameters = Float[np.ndarray, " parameters"]


class Readout(ABC):
    """A function of the state whose parameters are one row of numbers, kept by the caller.

    A readout is a frozen description; `initial_parameters` gives a row to start from, learners return a new one.
    """

    inputs: int
    linear_in_parameters: ClassVar[bool] = False
    """Whether least squares applies."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Length of the row of parameters."""

    @property
    def groups(self) -> int:
        """How many groups of parameters the normalised learner measures separately."""
        return 1

    @abstractmethod
    def initial_parameters(self, rng: np.random.Generator | None = None) -> Parameters:
        """Where learning starts; what is random comes from `rng` (default: seed 0)."""

    @abstractmethod
    def tensor(self, parameters: Parameters, k: int) -> Float[np.ndarray, "..."]:
        """The full symmetric coefficient tensor of degree k, beta^(k) in the paper."""

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
    def _predict(self, states: np.ndarray, parameters: np.ndarray, predictions: np.ndarray) -> None:
        """Fill `predictions`; everything has been checked."""

    @abstractmethod
    def _learn(
        self, states: np.ndarray, targets: np.ndarray, parameters: np.ndarray, step: Any, predictions: np.ndarray
    ) -> int:
        """Change `parameters` sample by sample; the index of the sample that diverged, or -1."""

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

    def _checked_degree(self, k: int, degree: int) -> int:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k <= degree:
            raise ValueError(f"k={k!r}: {self!r} has tensors of degree 0 to {degree}; ask for one of these.")
        return int(k)
