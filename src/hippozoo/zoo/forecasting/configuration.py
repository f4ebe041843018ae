"""Arguments of the paper's forecaster, checked, and the parts that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Literal

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.forecasts.forecaster import OnlineForecaster, check_choice
from hippozoo.forecasts.leads import usual_order
from hippozoo.forecasts.settings import several
from hippozoo.memory import Memory
from hippozoo.systems import HippoSystem, LegT
from hippozoo.zoo.forecasting.candidates import Anchor, Candidate, Solver
from hippozoo.zoo.forecasting.early_uncertainty import EarlyUncertainty
from hippozoo.zoo.forecasting.grouping import Together
from hippozoo.zoo.forecasting.one_pass import OnePass
from hippozoo.zoo.forecasting.regression import checked_metric
from hippozoo.zoo.forecasting.small_sample import SmallSampleShrinkage
from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["Configuration"]

Delay = Literal["exact", "endpoint"]


@dataclass(frozen=True, eq=False)
class Configuration(OnlineForecaster[ForecasterState]):
    """The fields of a `Forecaster`, where they are explained; it learns and forecasts by the parts made here."""

    history: HippoSystem | tuple[HippoSystem, ...]
    horizon: float | int
    dt: float | int = 1.0
    rank: int | tuple[int | None, ...] | None = None
    ridge: float | int | tuple[float | int, ...] = 1e-6
    future_order: int | None = None
    anchor: Anchor | tuple[Anchor, ...] = "none"
    together: Together = "independent"
    delay: Delay = "exact"
    intercept: bool = True
    forgetting: float | int | None = None
    warmup: float | int = 0.0
    future_metric: Float[np.ndarray, "order order"] | None = None
    lower: float | int | None = None

    def __post_init__(self) -> None:
        self._check_arguments(Anchor, Together)
        check_choice("delay", self.delay, Delay)
        for rank in self.ranks:
            if rank is not None:
                whole_number("rank", rank, why="a forecast reads at least one number of the past")
        if not self.ranks:
            raise ValueError("rank=(): pass a whole number, None, or a tuple of candidates.")
        if not isinstance(self.warmup, Real) or not 0 <= self.warmup < math.inf:
            raise ValueError(f"warmup={shorten(self.warmup)}: a time in your unit; pass a finite number >= 0.")
        if self.future_order is None:
            object.__setattr__(self, "future_order", usual_order(self.horizon, self.dt))
        order = whole_number("future_order", self.future_order, why="the future needs at least one coefficient")
        if self.future_metric is not None:
            object.__setattr__(self, "future_metric", checked_metric(self.future_metric, order))

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The ranks to choose from."""
        return several(self.rank)

    @property
    def ridges(self) -> tuple[float | int, ...]:
        """The ridges to choose from."""
        return several(self.ridge)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors to choose from."""
        return several(self.anchor)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every way to forecast that is tried."""
        return tuple(
            Candidate(*one) for one in product(range(len(self.histories)), self.anchors, self.ranks, self.ridges)
        )

    @cached_property
    def future(self) -> LegT:
        """System 1: the basis in which recent past and future are written."""
        assert self.future_order is not None  # __post_init__ has filled it in
        return LegT(self.future_order, self.horizon)

    @cached_property
    def solver(self) -> Solver:
        """How maps are made of statistics."""
        return Solver(
            self.candidates,
            tuple(product(range(len(self.histories)), self.anchors)),
            tuple(system.order for system in self.histories),
            tuple(system.basis(0.0) for system in self.histories),
            tuple(_mean_reading(system, self.horizon) for system in self.histories),
            self.future.order,
            EarlyUncertainty(self.future.order, self.dt / self.horizon),
            SmallSampleShrinkage(self.dt / self.horizon),
            self.together,
            self.intercept,
            self.future_metric,
        )

    @cached_property
    def one_pass(self) -> OnePass:
        """How samples are taken in."""
        pasts = tuple(Memory(system, self.dt) for system in self.histories)
        endpoint = self.delay == "endpoint"
        return OnePass(Memory(self.future, self.dt), pasts, self.solver, endpoint, self.forgetting, self.warmup)


def _mean_reading(system: HippoSystem, span: float) -> np.ndarray:
    """The row that reads from a memory the mean over its last `span`, or over its window if that is shorter."""
    node, mass = np.polynomial.legendre.leggauss(max(64, system.order))
    return mass / 2 @ system.basis((node + 1) / 2 * min(span, system.window))
