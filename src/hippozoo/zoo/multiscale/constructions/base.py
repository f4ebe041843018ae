"""What a construction decides: which windows are kept, and how the horizons between them are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo._internal.immutable import Immutable, read_only
from hippozoo.polynomials import OrthonormalFamily
from hippozoo.systems import HippoSystem

__all__ = ["Bank", "Coefficients", "Construction", "ScaleExpansion"]

#: States of all windows, and the coefficients of one horizon.
Bank = Float[np.ndarray, "*batch order scales"]
Coefficients = Float[np.ndarray, "*batch order"]


@dataclass(frozen=True)
class Construction(Immutable, ABC):
    """Windows between the timescale of `system` and `longest`, and a way to read any horizon between them.

    Column m of a state is the plain memory of ``windows[m]``, whatever the construction; what differs is where the
    windows stand and how a horizon is put together from them.

    Parameters
    ----------
    system
        What each window runs; its timescale is the shortest horizon (the paper's base timescale).
    longest
        The longest horizon.
    scales
        How many windows, M in the paper.
    """

    system: HippoSystem
    longest: float
    scales: int

    def __post_init__(self) -> None:
        longest = positive_number("longest", self.longest, why="it is a horizon in your time unit")
        if longest <= self.system.timescale:
            raise ValueError(
                f"longest={longest} is not beyond the shortest horizon, the system's timescale "
                f"{self.system.timescale}; pass a longer one, or a system with a smaller timescale."
            )
        scales = whole_number("scales", self.scales, why="a range of horizons takes several windows", minimum=2)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "scales", scales)

    @classmethod
    @abstractmethod
    def comfortable_scales(cls, system: HippoSystem, longest: float) -> int:
        """How many windows serve this range well."""

    @cached_property
    @abstractmethod
    def windows(self) -> Float[np.ndarray, " scales"]:
        """The timescale of each window, in the user's unit, short to long (read-only)."""

    @abstractmethod
    def read(self, state: Bank, horizon: float) -> Coefficients:
        """The coefficients of the plain memory of `horizon`, which has been checked to lie in the range."""

    def plain_system(self, horizon: float) -> HippoSystem:
        """The system at the timescale of a horizon."""
        return replace(self.system, timescale=horizon)

    @property
    def min_rate(self) -> float:
        """The rate of the longest horizon, epsilon in the paper; the shortest has rate 1."""
        return self.system.timescale / self.longest


@dataclass(frozen=True)
class ScaleExpansion(Construction):
    r"""The state as a polynomial in some coordinate of scale, :math:`s(u) = S\,\psi(u)`, as in the paper.

    With Gauss nodes :math:`u_j` and weights :math:`w_j` of the family :math:`\psi`, the coupled system
    :math:`\dot S = A S G + b\,(G e_0)^\top f` is a bank of plain systems at the rates of the nodes:
    :math:`S = P\,\operatorname{diag}(w)\,\psi(u_j)`, where column j of P is the plain state of that rate. Reading is
    then interpolation over scale through the nodes.
    """

    @cached_property
    @abstractmethod
    def family(self) -> OrthonormalFamily:
        """The scale basis psi, orthonormal under a probability measure, over the coordinate of scale."""

    @abstractmethod
    def coordinate(self, rate: float) -> float:
        """Where a rate stands in the coordinate of the scale basis."""

    @abstractmethod
    def rate_at(self, coordinate: Float[np.ndarray, "*nodes"]) -> Float[np.ndarray, "*nodes"]:
        """The rate that stands at a coordinate."""

    @cached_property
    def windows(self) -> Float[np.ndarray, " scales"]:
        """The timescales of the Gauss nodes."""
        nodes, _ = self.family.gauss_rule()
        # Coordinates rise with the rate, and windows shrink.
        return read_only(self.system.timescale / self.rate_at(nodes)[::-1])

    @cached_property
    def scale_transform(self) -> Float[np.ndarray, "scales degrees"]:
        """From node coordinates to the paper's coefficients: ``S = state @ scale_transform``."""
        nodes, weights = self.family.gauss_rule()
        return read_only((weights[:, None] * self.family.values(nodes))[::-1])

    @cached_property
    def rate_matrix(self) -> Float[np.ndarray, "degrees degrees"]:
        """Multiplication by the rate in the scale basis, G in the paper."""
        nodes, weights = self.family.gauss_rule()
        eigenvectors = self.family.values(nodes) * np.sqrt(weights)[:, None]
        return eigenvectors.T @ (self.rate_at(nodes)[:, None] * eigenvectors)

    def interpolation(self, horizon: float) -> Float[np.ndarray, " scales"]:
        """How much each window speaks at a horizon; at a window's own horizon, that one alone."""
        return self.scale_transform @ self.family.values(self.coordinate(self.system.timescale / horizon))

    def read(self, state: Bank, horizon: float) -> Coefficients:
        """Interpolation over scale, coefficient by coefficient."""
        return state @ self.interpolation(horizon)
