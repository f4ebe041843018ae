"""States as rows of a regression: numbers that tell nothing are dropped, too many are reduced or refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh

__all__ = ["States", "prepare_states"]

# Rows that a readout needs for each number of the state.
ROWS_PER_NUMBER = 10
# Share of the state's variance that the components must keep, where they are reduced without being asked to.
KEPT_SHARE = 0.99


@dataclass(frozen=True, eq=False)
class States:
    """The rows that readouts see."""

    #: The numbers that depend on the input, or their principal components.
    features: Float[np.ndarray, "sequences moments components"]
    #: Maps all numbers carried to the features: ``features = (states - mean) @ basis``.
    basis: Float[np.ndarray, "carried components"]
    #: Numbers that depend on the input, before any reduction.
    size: int
    #: Variance of the noise that is added to the covariance, relative to `scale`.
    noise: float
    #: What was dropped or reduced, in sentences.
    notes: tuple[str, ...]
    #: The numbers that depend on the input, centred.
    kept: Float[np.ndarray, "rows size"]

    @cached_property
    def scale(self) -> float:
        """Mean variance of the numbers that depend on the input, before any reduction."""
        return float(np.einsum("rn,rn->", self.kept, self.kept)) / self.kept.size

    @cached_property
    def rank(self) -> float:
        """Participation ratio of the covariance of all numbers, (tr Σ)² / tr Σ², by whichever product is smaller."""
        tall = len(self.kept) >= self.kept.shape[1]
        gram = self.kept.T @ self.kept if tall else self.kept @ self.kept.T
        return float(np.trace(gram)) ** 2 / float((gram**2).sum())

    @cached_property
    def whitening(self) -> Float[np.ndarray, "components components"]:
        """Maps features to Σ^(-1/2) of them, the largest component first, with the noise in Σ."""
        flat = self.features.reshape(-1, self.features.shape[2])
        values, vectors = np.linalg.eigh(flat.T @ flat / len(flat))
        return vectors[:, ::-1] / np.sqrt(np.maximum(values[::-1], 0) + self.noise * self.scale)


def prepare_states(
    states: Float[np.ndarray, "sequences moments carried"], noise: float, components: int | None = None
) -> States:
    """Rows for readouts; raises where states say nothing, or have more numbers than the rows can tell apart."""
    sequences, moments, carried = states.shape
    if not np.isfinite(states).all():
        where = np.argwhere(~np.isfinite(states))[0]
        raise ValueError(
            f"the state of sequence {where[0]} is {states[tuple(where)]} at its {where[1] + 1}. moment, number "
            f"{where[2]}; look at a model whose states are finite."
        )
    tells = informative(states)
    if not len(tells):
        raise ValueError(
            "the states do not change with the input: every number is the same in all sequences; check that the model "
            "sees the input and returns its state."
        )
    notes = []
    if len(tells) < carried:
        notes.append(f"{carried - len(tells)} of {carried} numbers do not depend on the input and were left out.")
    flat = (states if len(tells) == carried else states[:, :, tells]).reshape(-1, len(tells))
    flat = flat - np.ones(len(flat)) @ flat / len(flat)
    kept = flat.reshape(sequences, moments, -1)
    room = max(1, len(flat) // ROWS_PER_NUMBER)
    wanted = min(room, components or room)
    if len(tells) <= wanted:
        basis = np.eye(carried)[:, tells]
        return States(kept, basis, len(tells), noise, tuple(notes), flat)
    vectors, share = leading(flat, wanted)
    if share < KEPT_SHARE and components is None:
        raise ValueError(
            f"the state has {len(tells)} numbers, but {sequences} sequences x {moments} moments are only {len(flat)} "
            f"rows, and {wanted} principal components would keep {share:.0%} of its variance; pass at least "
            f"{ROWS_PER_NUMBER * len(tells)} rows, or components={wanted} to look at these alone."
        )
    notes.append(
        f"{len(tells)} numbers were reduced to {wanted} principal components ({share:.2%} of the variance), a tenth of "
        f"the {len(flat)} rows or what was asked for; what lies in the others is not seen."
    )
    basis = np.zeros((carried, wanted))
    basis[tells] = vectors
    return States((flat @ vectors).reshape(sequences, moments, -1), basis, len(tells), noise, tuple(notes), flat)


def standardised(values: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 over sequences and moments; 0 where nothing varies."""
    spread = np.where(np.ptp(values, (0, 1)) > 0, values.std((0, 1)), np.inf)
    return (values - values.mean((0, 1))) / spread


def informative(states: np.ndarray) -> Int[np.ndarray, " numbers"]:
    """Numbers that differ between sequences at some moment by more than rounding."""
    return np.flatnonzero(np.ptp(states, 0).max(0) > 1e-10 * np.maximum(states.max((0, 1)), -states.min((0, 1))))


def leading(flat: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """The leading principal directions and their share of the variance, by whichever product is smaller."""
    rows, size = flat.shape
    gram = flat.T @ flat if size <= rows else flat @ flat.T
    most = len(gram)
    values, vectors = eigh(gram, subset_by_index=[most - count, most - 1])
    if size > rows:
        vectors = flat.T @ vectors
        vectors /= np.sqrt((vectors**2).sum(0))
    return vectors[:, ::-1], float(values.sum() / np.trace(gram))
