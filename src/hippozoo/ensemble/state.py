"""What an ensemble carries along, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from hippozoo._internal.immutable import Immutable
from hippozoo.ensemble.brake import BRAKE
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.inputs import InputState
from hippozoo.ensemble.moments import Moments
from hippozoo.ensemble.records import CELL

__all__ = ["EnsembleState", "Issued", "Mixture", "Rolled"]

_CLEANER, _BRAKE = CLEANER.itemsize // 8, BRAKE.itemsize // 8


@dataclass(frozen=True, eq=False)
class Mixture(Immutable):
    """All that an ensemble carries along, channels first; see `Mixer`.

    Parameters
    ----------
    live
        What changes with every cell: one row per channel, laid out by `records.open_channel`.
    log, leverage, features, now, cell
        The last cells, records of `records.CELL` as plain numbers; the leverage of the past up to each, of every kind
        of map; what inputs say after each, the same for all channels; the next place in them, and the number of the
        next cell.
    tip
        Up to which cell anybody has written into the logs: they only grow, and a state whose end is no longer the
        tip copies them before it goes on.
    delayed, ages, paired
        Memories as they were after the last cell whose future was learnt from, and the number of the next.
    moments, mapped
        What maps are learnt from. The maps in use follow from them; where pairs have been added since these were
        solved, from `mapped`.
    seen, renewal
        Cells with a sample, and at which number of them the maps are renewed next.
    offset
        Time since the end of the last cell; 0 where steps are equal.
    """

    live: Float[np.ndarray, "channels numbers"]
    log: Float[np.ndarray, "channels log_numbers"]
    leverage: Float[np.ndarray, "channels cells kinds"]
    features: Float[np.ndarray, "one cells views features"]
    now: int
    cell: int
    tip: Int[np.ndarray, " one"]
    delayed: Float[np.ndarray, "channels memories memory_width"]
    ages: Float[np.ndarray, "channels two"]
    paired: int
    moments: Moments
    mapped: Moments
    seen: int
    renewal: int
    offset: float = 0.0

    @property
    def cells(self) -> Shaped[np.ndarray, "channels cells"]:
        """The log by names: ``mixture.cells["value"]``."""
        return self.log.view(CELL)

    @property
    def cleaner(self) -> np.ndarray:
        """Records of the cleaner, one for each channel: ``mixture.cleaner["age"]``."""
        return self.live[:, :_CLEANER].view(CLEANER)[:, 0]

    @property
    def brake(self) -> np.ndarray:
        """Records of the brake, one for each channel."""
        return self.live[:, _CLEANER : _CLEANER + _BRAKE].view(BRAKE)[:, 0]

    @property
    def is_count(self) -> Bool[np.ndarray, " channels"]:
        """Which channels hold whole-number counts."""
        return (self.cleaner["is_begun"] > 0) & (self.cleaner["is_whole"] > 0)

    def channels(self, which: slice | Int[np.ndarray, " some"]) -> Mixture:
        """Some of the channels by themselves."""
        arrays = {name: getattr(self, name)[which] for name in ("live", "log", "leverage", "delayed", "ages")}
        moments = {"moments": self.moments.channels(which), "mapped": self.mapped.channels(which)}
        # The logs are shared with the whole, which may go on: whoever continues from here copies them.
        return replace(self, tip=np.array([-1]), **moments, **arrays)


class Issued(NamedTuple):
    """A forecast from the present: mean and expected absolute error of the ensemble, and the mean of every expert."""

    mean: Float[np.ndarray, "channels leads"]
    size: Float[np.ndarray, "channels leads"]
    experts: Float[np.ndarray, "channels leads experts"]


class Rolled(NamedTuple):
    """Forecasts that were issued on the way: after how many cells each, the mean, and the mean of every expert."""

    origins: Int[np.ndarray, " origins"]
    mean: Float[np.ndarray, "channels origins leads"]
    experts: Float[np.ndarray, "channels origins leads experts"]


@dataclass(frozen=True, eq=False)
class EnsembleState:
    """Everything an `EnsembleForecaster` needs to go on; it is never changed, each sample gives a new one.

    Parameters
    ----------
    single
        Whether samples are single numbers; arrays have a channel axis of length 1 then.
    time
        The present: how much time has passed since the beginning.
    seen
        How much of it was observed, in any channel: gaps do not count.
    mixture
        What was learnt, and how each expert has done.
    inputs
        What was told of known inputs, if there are any.
    """

    single: bool
    time: float
    seen: float
    mixture: Mixture
    inputs: InputState | None = None

    def in_use(self) -> Mixture:
        """The mixture without the room at the ends, which it shares with states after this one."""
        mixture, now = self.mixture, self.mixture.now
        return replace(
            mixture,
            log=mixture.log[:, : now * (CELL.itemsize // 8)],
            leverage=mixture.leverage[:, :now],
            features=mixture.features[:, :now],
            tip=np.zeros(1, np.int64),
        )

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        return len(self.mixture.live)

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from: the complete ones, summed when maps are renewed."""
        return float(self.mixture.cleaner["pairs"].sum())

    @property
    def begun(self) -> Bool[np.ndarray, " channels"]:
        """Which channels have had their first sample."""
        return self.mixture.cleaner["is_begun"] > 0

    @property
    def held(self) -> Float[np.ndarray, " channels"]:
        """The last value seen in each channel."""
        return self.mixture.cleaner["last_value"]
