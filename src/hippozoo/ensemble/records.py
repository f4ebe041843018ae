"""The numbers of an ensemble by names, as compiled loops and Python read them.

Numbers that belong together are a NumPy record, ``log[now].value`` in compiled code and ``log["value"]`` in Python. All
that changes with a cell lies in one row per channel, so that a new state is one copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.brake import BRAKE
from hippozoo.ensemble.calibration import ERRORS
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.doubt import DOUBT, LEAD_DOUBT, Doubt
from hippozoo.ensemble.pending import LEAD, ORIGIN, Pending
from hippozoo.ensemble.scale import LEAD_SCALE, STEP, Scale
from hippozoo.ensemble.scores import EXPERT_SCORE, LEAD_SCORE, Scores

# A cell of the log of a channel.
CELL = np.dtype(
    [
        ("value", float),  # what was measured; what was expected where nothing was
        ("surprise", float),  # its absolute error in units of the expected one; -1 where nothing was measured
        ("learnt", float),  # the value that memories learn: winsorised, and in gaps as expected
        ("shift", float),  # how far the level has come by surprises alone, up to this cell
        ("returned", float),  # how many cells before this one were shown by it to be outliers
        ("expected", float),  # what was expected in place of an outlier
    ]
)


class Plan(NamedTuple):
    """What never changes; times are in cells."""

    horizon: int  # cells ahead
    stride: int  # cells between two origins whose forecasts are scored
    decay: float  # what is left after a cell of the weight of a score
    keep: float  # and of what the mean remembers
    silence: float  # after so many cells without a sample nothing is left in any memory but the last value
    seasons: Any  # periods, the shortest first
    orders: Any  # of each memory
    timescales: Any  # of each memory, in the user's time unit
    inputs: Any  # what each memory reads; -1: the signal, else the change over that season
    A_T: Any  # of each memory: A_d transposed, and b_d
    b: Any
    memory_of: Any  # of each kind of map
    anchors: Any  # what each kind corrects; 0: the mean, 1: the last value, 2 + s: season s
    views: Any  # which view of the inputs each kind reads beside its memory; -1 for none
    extra: int  # numbers of a view
    widths: Any  # numbers that each kind reads, of its memory and of the inputs
    maps_at: Any  # where the numbers of each kind begin in a row of maps, and the end
    ridges: int  # maps of each kind
    experts: int
    simple: int  # experts that are not maps
    slots: Any  # where the pending forecasts of each lead begin, and the end
    own: Any  # where the numbers of each line of the table of experts begin, and the end
    parts: Any  # the same of the parts of a channel
    guard: bool  # whether outliers, leverage and losses to the last value hold the ensemble back


class Maps(NamedTuple):
    """What the ridge maps of a channel read and write."""

    numbers: Any  # of all kinds, see `open_map`
    leverage: Any  # cell by cell, (cells, kinds)
    features: Any  # of the inputs, (cells, views, numbers)


class RidgeMap(NamedTuple):
    """One kind of map, with columns first."""

    solved: Any  # 1 if there were enough pairs
    freedom: Any  # effective degrees of freedom, the unit of a leverage
    means: Any  # of the pasts
    constants: Any  # what is added at each lead
    # The inverse of the lower Cholesky factor of their covariance, by columns: it gives the leverage of a past.
    whitening: Any
    columns: Any  # (width, ridges * leads)


class Clock(NamedTuple):
    """Where the present is: its place in the log, and its number."""

    now: int
    cell: int


class Past(NamedTuple):
    """What experts forecast from."""

    log: Any  # records of `CELL`
    now: int  # the place of the present
    cleaner: Any  # one record of `cleaner.CLEANER`
    held: float  # the present value; in a gap, what was expected of it
    bases: Any  # (seasons, leads): the value one season before each lead


class Channel(NamedTuple):
    """State of a channel: single records of `cleaner`, `brake`, `doubt.last`, `scale.step`; else by lead or expert."""

    cleaner: Any
    brake: Any
    doubt: Doubt
    scale: Scale
    errors: Any
    scores: Scores
    pending: Pending
    own: Any


def channel_parts(plan: Plan) -> Int[np.ndarray, " parts"]:
    """Where each part of a row begins, in the order of `open_channel`, and the end."""
    H, E, slots = plan.horizon, plan.experts, int(plan.slots[-1])
    # As many origins are pending as there are in a horizon, and one.
    records = ((CLEANER, 1), (BRAKE, 1), (STEP, 1), (LEAD_SCALE, H), (ERRORS, H), (LEAD_SCORE, H), (EXPERT_SCORE, E),
               (ORIGIN, -(-H // plan.stride) + 1), (LEAD, slots), (DOUBT, 1), (LEAD_DOUBT, H))  # fmt: skip
    phases = int(plan.seasons[0]) if len(plan.seasons) else 0
    plain = (phases, H * E, slots * E, int(plan.own[-1]))
    return np.cumsum([0, *(one.itemsize // 8 * count for one, count in records), *plain])


@compiled(inner=True)
def open_channel(row, plan):
    """A row of numbers by names."""
    at = plan.parts
    scale = Scale(
        row[at[2] : at[3]].view(STEP), row[at[3] : at[4]].view(LEAD_SCALE), row[at[11] : at[12]],
    )  # fmt: skip
    scores = Scores(
        row[at[5] : at[6]].view(LEAD_SCORE), row[at[6] : at[7]].view(EXPERT_SCORE), row[at[12] : at[13]],
    )  # fmt: skip
    pending = Pending(row[at[7] : at[8]].view(ORIGIN), row[at[8] : at[9]].view(LEAD), row[at[13] : at[14]])
    doubt = Doubt(row[at[9] : at[10]].view(DOUBT), row[at[10] : at[11]].view(LEAD_DOUBT))
    return Channel(
        row[at[0] : at[1]].view(CLEANER), row[at[1] : at[2]].view(BRAKE), doubt, scale, row[at[4] : at[5]].view(ERRORS),
        scores, pending, row[at[14] : at[15]],
    )  # fmt: skip


def lengths_of_map(width: int, plan: Plan) -> tuple[int, ...]:
    """Numbers of each part of a `RidgeMap`."""
    H = plan.horizon
    return 1, 1, width, H, width**2, width * plan.ridges * H


@compiled(inner=True)
def open_map(row, n, plan):
    """One kind of map in a row of numbers."""
    q, H = plan.widths[n], plan.horizon
    means = plan.maps_at[n] + 2
    whitening = means + q + H
    columns = whitening + q * q
    return RidgeMap(
        row[means - 2 : means - 1], row[means - 1 : means], row[means : means + q], row[means + q : whitening],
        row[whitening:columns].reshape((q, q)),
        row[columns : columns + q * plan.ridges * H].reshape((q, plan.ridges * H)),
    )  # fmt: skip


def open_channels(live: Float[np.ndarray, "*channels numbers"], plan: Plan) -> Channel:
    """Rows of numbers by names, in Python: the same function, which opens one row or all of them."""
    return open_channel.py_func(_Rows(live), plan)


class _Rows:
    """Rows that are cut like one."""

    def __init__(self, live: np.ndarray) -> None:
        self.live = live

    def __getitem__(self, part: slice) -> np.ndarray:
        return self.live[..., part]


def weights_at(count: int, weights: dict[int, float]) -> Float[np.ndarray, " count"]:
    """Weights at some lags, none elsewhere; what lies further back than `count` is left out."""
    found = np.zeros(count)
    for lag, weight in weights.items():
        if lag < count:
            found[lag] += weight
    return found
