"""The plan of an ensemble: which memories, maps and experts it has, and what follows from its horizon and seasons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.ensemble import experts as table
from hippozoo.ensemble.cleaner import FIRST_CELLS
from hippozoo.ensemble.experts.recent_drift import LEAST_CELLS
from hippozoo.ensemble.experts.ridge_map import LAST, MEAN, SEASON
from hippozoo.ensemble.inputs import Inputs
from hippozoo.ensemble.pending import slots
from hippozoo.ensemble.records import Plan, channel_parts, lengths_of_map
from hippozoo.systems import HippoSystem

__all__ = ["Planner"]

# Origins per horizon whose forecasts are scored, at most; a longer horizon issues every second, third, … cell.
_ORIGINS = 48
# Errors count for so many horizons, and so many cells at least.
_SCORED_HORIZONS, _SCORED_CELLS = 4, 50


@dataclass(frozen=True, eq=False)
class Planner(Immutable):
    """The parts of an ensemble, by the arguments of an `EnsembleForecaster`; times but `dt` are in cells of it.

    Ridges begin with the largest, and `seasonal` is the memory of changes from season to season.
    """

    histories: tuple[HippoSystem, ...]
    anchors: tuple[str, ...]
    ridges: tuple[float, ...]
    seasons: tuple[int, ...]
    horizon: int
    dt: float
    simple: bool
    guard: bool
    forgetting: float | None
    seasonal: HippoSystem
    together: str = "independent"
    inputs: Inputs | None = None

    @cached_property
    def kinds(self) -> tuple[tuple[int, str, int], ...]:
        """(memory, anchor, season) of every kind of map; the season is -1 where there is none."""
        return (*self._kinds_without_inputs, *self._kinds_with_inputs)

    @cached_property
    def _kinds_without_inputs(self) -> list[tuple[int, str, int]]:
        plain = [(h, one, -1) for h in range(len(self.histories)) for one in self.anchors if one != "season"]
        seasonal = [(len(self.histories) + s, "season", s) for s in range(len(self.seasons))]
        return [*plain, *(seasonal if "season" in self.anchors else ())]

    @property
    def _kinds_with_inputs(self) -> list[tuple[int, str, int]]:
        """Inputs stand beside the shortest history, and beside the changes over each season."""
        first = len(self.histories)
        return [one for one in self._kinds_without_inputs if one[0] == 0 or one[0] >= first] if self.inputs else []

    @cached_property
    def views(self) -> tuple[int, ...]:
        """Which view of the inputs every kind of map reads: 0 for themselves, 1 + s for season s, -1 for none."""
        return (*[-1] * len(self._kinds_without_inputs), *(season + 1 for _, _, season in self._kinds_with_inputs))

    @cached_property
    def systems(self) -> tuple[HippoSystem, ...]:
        """The memories: of the signal, and of its change from season to season."""
        seasonal = len(self.seasons) if "season" in self.anchors else 0
        return (*self.histories, *[self.seasonal] * seasonal)

    @cached_property
    def orders(self) -> tuple[int, ...]:
        """Numbers that every kind of map reads: of its memory, and of the inputs."""
        return tuple(
            self.systems[memory].order + (self.extra if view >= 0 else 0)
            for (memory, _, _), view in zip(self.kinds, self.views, strict=True)
        )

    @property
    def extra(self) -> int:
        """Numbers of all inputs in one view."""
        return self.inputs.features if self.inputs else 0

    @cached_property
    def width(self) -> int:
        """Coefficients of the largest memory."""
        return max(system.order for system in self.systems)

    @cached_property
    def stride(self) -> int:
        """Forecasts are kept to be scored from every so many cells; in time at every phase of the first season."""
        stride = math.ceil(self.horizon / _ORIGINS)
        while self.seasons and math.gcd(stride, int(self.seasons[0])) > 1:
            stride += 1
        return stride

    @cached_property
    def silence(self) -> float:
        """After so many cells without a sample nothing is left in any memory but the last value."""
        reach = (2 * one.window if math.isfinite(one.window) else 10 * one.timescale for one in self.systems)
        return float(self.horizon + max([*(one / self.dt for one in reach), *self.seasons]))

    @cached_property
    def decay(self) -> float:
        """What is left after a cell of the weight of a score."""
        return math.exp(-1 / max(_SCORED_HORIZONS * self.horizon, _SCORED_CELLS))

    @cached_property
    def plan(self) -> Plan:
        """All of this as the compiled loops read it."""
        A_T, b = np.zeros((len(self.systems), self.width, self.width)), np.zeros((len(self.systems), self.width))
        for m, system in enumerate(self.systems):
            A_d, b_d = zero_order_hold(system, self.dt)
            A_T[m, : system.order, : system.order], b[m, : system.order] = A_d.T, b_d
        count, codes = len(self.histories), {"none": MEAN, "last": LAST}
        plan = Plan(
            horizon=self.horizon,
            stride=self.stride,
            decay=self.decay,
            keep=1.0 if self.forgetting is None else math.exp(-1 / self.forgetting),
            silence=self.silence,
            seasons=np.array(self.seasons, np.int64),
            orders=np.array([system.order for system in self.systems], np.int64),
            timescales=np.array([system.timescale for system in self.systems], float),
            inputs=np.array([-1] * count + list(range(len(self.systems) - count)), np.int64),
            A_T=A_T,
            b=b,
            memory_of=np.array([memory for memory, _, _ in self.kinds], np.int64),
            anchors=np.array([codes.get(anchor, SEASON + s) for _, anchor, s in self.kinds], np.int64),
            views=np.array(self.views, np.int64),
            extra=self.extra,
            widths=np.array(self.orders, np.int64),
            maps_at=np.zeros(1, np.int64),
            ridges=len(self.ridges),
            experts=0,
            simple=0,
            slots=slots(self.horizon, self.stride),
            own=np.zeros(1, np.int64),
            parts=np.zeros(0, np.int64),
            guard=bool(self.guard),
        )
        experts = len(table.names(plan, simple=self.simple))
        maps = len(self.kinds) * len(self.ridges)
        maps_at = np.cumsum([0, *(sum(lengths_of_map(width, plan)) for width in self.orders)])
        own = np.cumsum([0, *table.sizes(plan)])
        plan = plan._replace(experts=experts, simple=experts - maps, maps_at=maps_at, own=own)
        return plan._replace(parts=channel_parts(plan))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each of the experts is called."""
        return table.names(self.plan, simple=self.simple)

    @cached_property
    def before(self) -> int:
        """Cells that must stay in the log: futures under way, a season before them, what drifts are read off.

        And the first cells, in which outliers are looked for once.
        """
        H = self.horizon
        return max(H + max(self.seasons, default=0), 2 * H + 3, LEAST_CELLS + 3, FIRST_CELLS) + 1
