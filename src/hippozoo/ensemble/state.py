"""What an ensemble carries along, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hippozoo._internal.immutable import Immutable
from hippozoo.ensemble._kernels import Arrays
from hippozoo.ensemble.brake import BRAKE
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.inputs import InputState
from hippozoo.ensemble.moments import Moments
from hippozoo.ensemble.records import CELL, LEAD, ROW
from hippozoo.ensemble.ridge import Solved

__all__ = ["EnsembleState", "Issued", "Mixture", "Rolled", "fields_of", "with_rows"]

_BY_CHANNEL = (
    "live", "log", "leverage", "experts", "leads", "rows", "delayed", "ages", *Moments._fields, *Solved._fields,
)  # fmt: skip
_RECORDS = {"log": CELL, "leads": LEAD, "rows": ROW}
_CLEANER, _BRAKE = CLEANER.itemsize // 8, BRAKE.itemsize // 8


def fields_of(arrays: Arrays) -> dict[str, Any]:
    """The arrays as fields of a `Mixture`, which keeps records as plain numbers, so that they can be saved."""
    return arrays._asdict() | {name: _plain(getattr(arrays, name)) for name in _RECORDS}


def _plain(records: np.ndarray) -> np.ndarray:
    return records.view(float).reshape(*records.shape, -1)


def with_rows(arrays: Arrays, in_use: slice, rows: int) -> Arrays:
    """The same with pending forecasts in arrays of their own, of so many rows, those in use first."""
    kept = in_use.stop - in_use.start
    experts = np.zeros((len(arrays.experts), rows, *arrays.experts.shape[2:]), arrays.experts.dtype)
    leads, of_rows = (np.zeros((len(one), rows, *one.shape[2:]), one.dtype) for one in (arrays.leads, arrays.rows))
    origins = np.zeros(rows, np.int64)
    experts[:, :kept], origins[:kept] = arrays.experts[:, in_use], arrays.origins[in_use]
    for old, new in ((arrays.leads, leads), (arrays.rows, of_rows)):  # as plain numbers: records are copied slowly
        _plain(new)[:, :kept] = _plain(old)[:, in_use]
    return arrays._replace(experts=experts, leads=leads, rows=of_rows, origins=origins)


@dataclass(frozen=True, eq=False)
class Mixture(Immutable):
    """All that an ensemble carries along, channels first; see `Mixer`.

    Parameters
    ----------
    live
        What changes with every cell: one row per channel, laid out by `records.open_channel`.
    log, leverage, features, now, cell
        The last cells, records of `records.CELL`; the leverage of the past up to each, of every kind of map; what
        inputs say after each, the same for all channels; the next place in them, and the number of the next cell.
    experts, leads, rows, origins, first_row, used
        Forecasts that are pending, as in `records.Pending`, and which rows are in use.
    tip
        Up to which cell anybody has written into the logs: they only grow, and a state whose end is no longer the
        tip copies them before it goes on.
    delayed, ages, paired
        Memories as they were after the last cell whose future was learnt from, and the number of the next.
    weight, mean_x, mean_y, xx, yx
        See `moments.Moments`.
    means, whitening, freedom, maps, constants, solved
        The maps that are in use; see `ridge.Solved`.
    seen, renewal
        Cells with a sample, and at which number of them the maps are renewed next.
    offset
        Time since the end of the last cell; 0 where steps are equal.
    """

    live: Float[np.ndarray, "channels numbers"]
    log: Float[np.ndarray, "channels cells cell_fields"]
    leverage: Float[np.ndarray, "channels cells kinds"]
    features: Float[np.ndarray, "one cells views features"]
    now: int
    cell: int
    experts: Float[np.ndarray, "channels rows leads experts"]
    leads: Float[np.ndarray, "channels rows leads lead_fields"]
    rows: Float[np.ndarray, "channels rows row_fields"]
    origins: Int[np.ndarray, " rows"]
    first_row: int
    used: int
    tip: Int[np.ndarray, " one"]
    delayed: Float[np.ndarray, "channels memories memory_width"]
    ages: Float[np.ndarray, "channels two"]
    paired: int
    weight: Float[np.ndarray, "channels kinds"]
    mean_x: Float[np.ndarray, "channels kinds width"]
    mean_y: Float[np.ndarray, "channels kinds leads"]
    xx: Float[np.ndarray, "channels kinds width width"]
    yx: Float[np.ndarray, "channels kinds leads width"]
    means: Float[np.ndarray, "channels kinds width"]
    whitening: Float[np.ndarray, "channels kinds width width"]
    freedom: Float[np.ndarray, "channels kinds"]
    maps: Float[np.ndarray, "channels kinds width ridges_leads"]
    constants: Float[np.ndarray, "channels kinds ridges leads"]
    solved: Bool[np.ndarray, "channels kinds"]
    seen: int
    renewal: int
    offset: float = 0.0

    @cached_property
    def solution(self) -> Solved:
        """The maps in use; states between two renewals share them."""
        return Solved(*(np.ascontiguousarray(getattr(self, name)) for name in Solved._fields))

    @cached_property
    def moments(self) -> Moments:
        """What maps are learnt from."""
        return Moments(*(getattr(self, name) for name in Moments._fields))

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

    @cached_property
    def arrays(self) -> Arrays:
        """What the compiled loop writes into, records by names."""
        arrays = {name: getattr(self, name) for name in Arrays._fields}
        named = {name: arrays[name].view(kind)[..., 0] for name, kind in _RECORDS.items()}
        return Arrays(**(arrays | named))

    def channels(self, which: slice | Int[np.ndarray, " some"]) -> Mixture:
        """Some of the channels by themselves."""
        # The logs are shared with the whole, which may go on: whoever continues from here copies them.
        return replace(self, tip=np.array([-1]), **{name: getattr(self, name)[which] for name in _BY_CHANNEL})


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
        mixture = self.mixture
        under_way = slice(mixture.first_row, mixture.used)
        return replace(
            mixture,
            log=mixture.log[:, : mixture.now],
            leverage=mixture.leverage[:, : mixture.now],
            features=mixture.features[:, : mixture.now],
            experts=mixture.experts[:, under_way],
            leads=mixture.leads[:, under_way],
            rows=mixture.rows[:, under_way],
            origins=mixture.origins[under_way],
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
