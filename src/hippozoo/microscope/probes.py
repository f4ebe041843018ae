"""Noise probes, and the polynomials of independent samples that capacity by degree is counted in."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

__all__ = ["Probe", "degree_targets", "draw_probe", "variables_within"]

#: ``"noise"``: normal samples, with Hermite polynomials; ``"uniform"``: uniform samples, with Legendre polynomials.
Probe = Literal["noise", "uniform"]
PROBES = get_args(Probe)
# Products of one degree that are counted at most. The window of lags is as long as that allows.
MOST_TERMS = 600


def draw_probe(probe: Probe, shape: tuple[int, int, int], rng: np.random.Generator) -> Float[np.ndarray, "b t c"]:
    """Independent samples of mean 0 and variance 1, (batch, time, channels)."""
    if probe == "noise":
        return rng.normal(size=shape)
    return rng.uniform(-math.sqrt(3), math.sqrt(3), size=shape)


def polynomial(probe: Probe, degree: int, x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The orthonormal polynomial of one probe sample."""
    unit = [0] * degree + [1]
    if probe == "noise":
        return np.polynomial.hermite_e.hermeval(x, unit) / math.sqrt(math.factorial(degree))
    return np.polynomial.legendre.legval(x / math.sqrt(3), unit) * math.sqrt(2 * degree + 1)


def variables_within(degree: int, variables: int) -> int:
    """How many past samples, most recent first, have at most `MOST_TERMS` products of a degree."""
    while math.comb(variables + degree - 1, degree) > MOST_TERMS and variables > 1:
        variables -= 1
    return variables


def degree_targets(
    probe: Probe, degree: int, past: Float[np.ndarray, "sequences rows variables"]
) -> Float[np.ndarray, "sequences rows terms"]:
    """All orthonormal products of a total degree of past samples; independent samples make them uncorrelated."""
    values = [polynomial(probe, power, past) for power in range(degree + 1)]
    columns = []
    for term in combinations_with_replacement(range(past.shape[2]), degree):
        column = np.ones(past.shape[:2])
        for variable in sorted(set(term)):
            column = column * values[term.count(variable)][:, :, variable]
        columns.append(column)
    return np.stack(columns, -1)
