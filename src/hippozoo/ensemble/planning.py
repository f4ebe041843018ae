"""The plan of an ensemble: which memories, maps and experts it has, and what follows from its horizon and seasons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.ensemble import experts as table
from hippozoo.ensemble.beginning import BEGINNING
from hippozoo.ensemble.channel import begins
from hippozoo.ensemble.experts.recent_drift import LEAST_CELLS
from hippozoo.ensemble.experts.ridge_map import LAST, MEAN, SEASON
from hippozoo.ensemble.inputs import Inputs
from hippozoo.ensemble.known import Known
from hippozoo.ensemble.plan import Plan
from hippozoo.ensemble.scale import STEP
from hippozoo.systems import HippoSystem

__all__ = ["SLACK", "Planner"]

# Origins per horizon whose forecasts are scored, at most; a longer horizon issues every second, third, … cell. Chosen
# before 2026-11; see the ablation.
_ORIGINS = 48
# Rows of pending forecasts that are free before those that are over are cleared away.
SLACK = 8
# Errors count for so many horizons, and so many cells at least. Chosen before 2026-11; see the ablation.
_SCORED_HORIZONS, _SCORED_CELLS = 4, 50


@dataclass(frozen=True, eq=False)
class Planner(Immutable):
    """The parts of an ensemble, in cells of `dt`.

    Parameters
    ----------
    histories
        Windows over the signal.
    anchors
        What maps correct, of "last", "none" and "season".
    ridges
        Of the maps, the largest first.
    seasons
        In cells.
    horizon
        In cells.
    dt
        Time between samples.
    simple
        Whether simple experts are among them.
    guard
        Whether outliers, leverage, losses to the last value and stuck sensors hold the ensemble back.
    forgetting
        In cells; None to remember everything equally.
    seasonal
        The memory of changes from season to season.
    together
        "independent", "shared" or "panel".
    inputs
        What is known beside the signal.
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
        plain = [(h, one, -1) for h in range(len(self.histories)) for one in self.anchors if one != "season"]
        seasonal = [(len(self.histories) + s, "season", s) for s in range(len(self.seasons))]
        without = (*plain, *(seasonal if "season" in self.anchors else ()))
        # Inputs stand beside the shortest history, and beside the changes over each season.
        beside = [one for one in without if one[0] == 0 or one[0] >= len(self.histories)] if self.inputs else []
        return (*without, *beside)

    @cached_property
    def views(self) -> tuple[int, ...]:
        """Which view of the inputs every kind of map reads: 0 for themselves, 1 + s for season s, -1 for none."""
        first = len(self.kinds)
        if self.inputs:
            first -= sum(1 for one in self.kinds if one[0] == 0 or one[0] >= len(self.histories)) // 2
        return tuple(-1 if n < first else season + 1 for n, (_, _, season) in enumerate(self.kinds))

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
    def rows(self) -> int:
        """Forecasts that may be pending at once, and a few more."""
        return math.ceil(self.horizon / self.stride) + 1 + SLACK

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
            inputs=np.array([-1] * count + list(range(len(self.systems) - count)), np.int64),
            A_T=A_T,
            b=b,
            memory_of=np.array([memory for memory, _, _ in self.kinds], np.int64),
            anchors=np.array([codes.get(anchor, SEASON + s) for _, anchor, s in self.kinds], np.int64),
            views=np.array(self.views, np.int64),
            extra=self.extra,
            ridges=len(self.ridges),
            experts=0,
            simple=0,
            own=np.zeros(1, np.int64),
            parts=np.zeros(0, np.int64),
            guard=bool(self.guard),
        )
        known = Known(plan, self._timescales)
        experts = len(table.names(known, simple=self.simple))
        plan = plan._replace(
            experts=experts,
            simple=experts - len(self.kinds) * len(self.ridges),
            own=np.cumsum([0, *table.numbers(known)]),
        )
        return plan._replace(parts=begins(plan))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each of the experts is called."""
        return table.names(Known(self.plan, self._timescales), simple=self.simple)

    @cached_property
    def _timescales(self) -> tuple[float, ...]:
        return tuple(system.timescale for system in self.systems)

    @cached_property
    def before(self) -> int:
        """Cells that must stay in the log: futures under way, a season before them, what drifts are read off.

        And the beginning, in which outliers are looked for once.
        """
        H = self.horizon
        return max(H + max(self.seasons, default=0), 2 * H + 3, LEAST_CELLS + 3, BEGINNING) + 1

    @cached_property
    def known_place(self) -> int:
        """Where a row of `Mixture.live` holds the weight of one-step errors: before any their size is unknown."""
        return int(self.plan.parts[2]) + STEP.fields["weight"][1] // 8  # pyright: ignore[reportOptionalSubscript]
