"""Arguments of an ensemble, checked, and the machinery that they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo.ensemble.inputs import Inputs
from hippozoo.ensemble.mixer import Mixer
from hippozoo.ensemble.state import EnsembleState
from hippozoo.forecasts.forecaster import OnlineForecaster, check_bound
from hippozoo.forecasts.leads import cell_count
from hippozoo.forecasts.settings import several
from hippozoo.systems import HippoSystem, LegT

__all__ = ["Configuration"]

Anchor = Literal["none", "last", "season"]
Together = Literal["independent", "shared", "panel"]


@dataclass(frozen=True, eq=False)
class Configuration(OnlineForecaster[EnsembleState]):
    """The fields of an `EnsembleForecaster`, where they are explained; it works by the machinery made here."""

    history: HippoSystem | tuple[HippoSystem, ...]
    horizon: float | int
    dt: float | int = 1.0
    season: float | int | tuple[float | int, ...] | None = None
    ridge: float | int | tuple[float | int, ...] = (1e-1, 1e-2)
    anchor: Anchor | tuple[Anchor, ...] = ("last", "none")
    together: Together = "independent"
    forgetting: float | int | None = None
    simple: bool = True
    guard: bool = True
    calibrated: bool = True
    lower: float | int | None = None
    upper: float | int | None = None
    known: int = 0
    past: int = 0

    def __post_init__(self) -> None:
        self._check_arguments(Anchor, Together)
        check_bound("upper", self.upper, "rises above")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(
                f"lower={self.lower} is not below upper={self.upper}; pass bounds that values lie between."
            )
        for name, count in (("known", self.known), ("past", self.past)):
            whole_number(name, count, minimum=0, why="how many inputs there are")
        for season in self.seasons:
            period = positive_number("season", season, why="a period, in your time unit")
            if round(period / self.dt) < 2:
                raise ValueError(
                    f"season={season} is less than two steps of {self.dt}: nothing can repeat within it; leave it "
                    f"out, or pass the period in the unit of dt."
                )
        if "season" in several(self.anchor) and not self.seasons:
            raise ValueError("anchor='season' needs to know the season; pass season=, a period in your time unit.")

    @property
    def seasons(self) -> tuple[float | int, ...]:
        """The periods that are known."""
        return () if self.season is None else several(self.season)

    @cached_property
    def mixer(self) -> Mixer:
        """The machinery in cells of `dt`."""
        dt = self.dt
        cells = cell_count(self.horizon, dt)
        seasons = tuple(sorted({round(one / dt) for one in self.seasons}))
        window = max(16, 2 * cells)
        return Mixer(
            histories=self.histories,
            anchors=several(self.anchor),
            ridges=tuple(sorted((float(one) for one in several(self.ridge)), reverse=True)),
            seasons=seasons,
            horizon=cells,
            dt=float(dt),
            simple=bool(self.simple),
            guard=self.guard,
            forgetting=None if self.forgetting is None else self.forgetting / dt,
            seasonal=LegT(int(min(32, window // 2)), window * dt),
            together=self.together,
            inputs=Inputs(self.known, self.past, cells, seasons) if self.known or self.past else None,
        )
