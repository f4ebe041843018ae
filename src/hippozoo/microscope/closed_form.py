"""Exact profiles of linear memories under white noise, and the plain memory that remembers most alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

__all__ = ["NearestSystem", "exact_profile", "nearest_system", "system_profile"]

FAMILIES = (LegT, LegS, LagT, FouT)
# Below this share of the profile's squares a memory counts as like none of ours.
ALIKE = 0.5
TIMESCALES = 16
# Orders of the grid from which the search goes on: the nearest profile on the grid is not always near the nearest one.
STARTS = 4


def exact_profile(
    impulse: Float[np.ndarray, "time size"],
    lags: int,
    noise: float = 1e-6,
    seen: Float[np.ndarray, " time"] | None = None,
) -> Float[np.ndarray, " lags"]:
    r"""R² by lag of a linear memory under white noise: :math:`b_k^T (\Sigma + \epsilon\, tr \Sigma / N)^{-1} b_k`.

    Parameters
    ----------
    impulse
        The states :math:`b_k` after a unit sample and k samples of zero, as many as the memory has been warmed up for:
        :math:`\Sigma` is the sum of all :math:`b_k b_k^T`.
    lags
        How many lags, from 0.
    noise
        Variance of the noise on the state, relative to its mean variance.
    seen
        Share of moments at which a sample k steps ago had been seen, for a state that has not settled.

    Examples
    --------
    A delay line of three numbers holds three samples and no more.

    >>> exact_profile(np.eye(5, 3), lags=5).round(3).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    gram = impulse.T @ (impulse if seen is None else impulse * seen[:, None])
    size = len(gram)
    recent = impulse[:lags]
    shifted = gram + noise * np.trace(gram) / size * np.eye(size)
    return np.einsum("kn,nk->k", recent, np.linalg.solve(shifted, recent.T))


def system_profile(
    system: HippoSystem, lags: int, seen: Float[np.ndarray, " time"], noise: float = 1e-6
) -> Float[np.ndarray, " lags"]:
    """The exact profile of a plain memory whose samples are one unit of time apart; `seen` as in `exact_profile`."""
    A_d, b_d = zero_order_hold(system, 1.0)
    impulse, power = b_d[None], A_d.T
    while len(impulse) < len(seen):
        impulse, power = np.concatenate([impulse, impulse @ power]), power @ power
    return exact_profile(impulse[: len(seen)], lags, noise, seen)


@dataclass(frozen=True)
class NearestSystem(Immutable):
    """The plain memory whose profile is nearest to a measured one.

    Parameters
    ----------
    system
        Family, order and timescale; the timescale in samples.
    explained
        1 - Σ(p - q)² / Σp² of the measured profile p and the exact profile q of the system.
    canonical
        Mean squared canonical correlation of both states: the share of the system's that can be read off the model's.
    profile
        q.

    Examples
    --------
    >>> print(NearestSystem(LegT(11, 60.0), 0.914, 0.88, (1.0, 0.9)))
    as LegT(order=11, timescale=60), 91 % explained
    """

    system: HippoSystem
    explained: float
    canonical: float
    profile: tuple[float, ...]

    @property
    def is_alike(self) -> bool:
        """Whether half of the profile or more is explained."""
        return self.explained >= ALIKE

    def __str__(self) -> str:
        if not self.is_alike:
            return "like none of ours"
        kind, order, scale = type(self.system).__name__, self.system.order, self.system.timescale
        return f"as {kind}(order={order}, timescale={scale:.3g}), {100 * self.explained:.0f} % explained"

    def numbers(self) -> dict[str, Any]:
        """A plain dictionary, for JSON."""
        said = {"system": repr(self.system), "text": str(self)}
        return said | {"explained": self.explained, "canonical": self.canonical, "profile": list(self.profile)}


def nearest_system(
    profile: Float[np.ndarray, " lags"], most: int, seen: Float[np.ndarray, " time"], noise: float
) -> tuple[HippoSystem, float, Float[np.ndarray, " lags"]]:
    """System, share explained and exact profile of the nearest plain memory of order at most `most`.

    A grid of orders and timescales, each a factor 2^½ apart, then steps of shrinking size from the best of each family.
    """
    lags = len(profile)
    most = min(most, lags)  # of more coefficients than lags, the profile tells nothing

    @cache
    def error(system: HippoSystem) -> float:
        return float(((profile - system_profile(system, lags, seen, noise)) ** 2).sum())

    timescales = np.geomspace(1.0, 4.0 * lags, TIMESCALES + 1)
    orders = sorted({min(most, round(2 ** (step / 2))) for step in range(2 * most.bit_length() + 1)})

    def refined(best: HippoSystem) -> HippoSystem:
        """Steps of shrinking size, of order and timescale apart or in proportion, as long as they help."""
        ratio = float(timescales[1] / timescales[0]) ** 0.5
        while ratio > 1.002:
            near = [
                replace(best, order=order, timescale=best.timescale * factor * along)
                for order in range(max(1, best.order - 2), min(most, best.order + 2) + 1)
                for factor in (1 / ratio, 1.0, ratio)
                for along in {1.0, order / best.order}
                if not isinstance(best, FouT) or order % 2 == 1  # Fou-T has odd orders only
            ]
            found = min(near, key=error)
            ratio, best = (ratio**0.5, best) if error(found) >= error(best) else (ratio, found)
        return best

    def nearest(family: type[HippoSystem]) -> HippoSystem:
        fits = {(order - 1) | 1 for order in orders} if family is FouT else orders
        grid = [min((family(order, float(scale)) for scale in timescales), key=error) for order in fits]
        return min(map(refined, sorted(grid, key=error)[:STARTS]), key=error)

    # Of each family: the nearest on a coarse grid is often not of the family that is nearest in the end.
    best = min(map(nearest, FAMILIES), key=error)
    total = float((profile**2).sum())
    return best, 1 - error(best) / total, system_profile(best, lags, seen, noise)
