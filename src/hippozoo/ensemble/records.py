"""The numbers of an ensemble by names, as compiled loops and Python read them.

Numbers that belong together are a NumPy record, ``log[now].value`` in compiled code and ``log["value"]`` in Python. All
that changes with a cell lies in one row per channel, so that a new state is one copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.compiled import compiled
from hippozoo.ensemble.brake import BRAKE
from hippozoo.ensemble.calibration import ERRORS
from hippozoo.ensemble.cleaner import CLEANER
from hippozoo.ensemble.doubt import DOUBT, LEAD_DOUBT, Doubt
from hippozoo.ensemble.scale import LEAD_SCALE, STEP, Scale
from hippozoo.ensemble.scores import EXPERT_SCORE, LEAD_SCORE, Scores

__all__ = [
    "CELL",
    "DUE",
    "LEAD",
    "ROW",
    "UNDER_WAY",
    "Channel",
    "Clock",
    "Maps",
    "Past",
    "Pending",
    "Plan",
    "channel_parts",
    "open_channel",
    "open_channels",
    "weights_at",
]

# A cell of the log of a channel.
CELL = np.dtype(
    [
        ("value", float),  # what was measured; what was expected where nothing was
        ("observed", float),  # 1 if it was measured
        ("surprise", float),  # its absolute error in units of the expected one
        ("learnt", float),  # the value that memories learn: winsorised, and in gaps as expected
        ("shift", float),  # how far the level has come by surprises alone, up to this cell
        ("returned", float),  # how many cells before this one were shown by it to be outliers
        ("expected", float),  # what was expected in place of an outlier
    ]
)
# One lead of a pending forecast.
LEAD = np.dtype(
    [
        ("mean", float),  # of the ensemble, and its expected absolute error
        ("size", float),
        ("seasonal", float),  # two of the ways to expect an error (see `scale`)
        ("spread", float),
    ]
)
# A pending forecast: the other ways to expect an error, the same at all leads, and how far its origin was believed; 0
# in a gap.
ROW = np.dtype([("long", float), ("short", float), ("middle", float), ("trust", float)])
# The same while its values come: the last error in expected sizes, clipped, and what it has cost so far beside the last
# value.
UNDER_WAY = np.dtype([("z", float), ("cost", float)])
# A pending forecast of the present cell: row, lead, place of `UNDER_WAY`, and how much it counts.
DUE = np.dtype([("row", np.int64), ("lead", np.int64), ("place", np.int64), ("trust", float)])


class Plan(NamedTuple):
    """What never changes; times are in cells.

    Parameters
    ----------
    horizon, stride
        Cells ahead, and cells between two origins whose forecasts are scored.
    decay, keep
        What is left after a cell: of the weight of a score, and of what the mean remembers.
    silence
        After so many cells without a sample nothing is left in any memory but the last value.
    seasons
        Periods, the shortest first.
    orders, timescales, inputs, A_T, b
        Of each memory: order, timescale in the user's unit, what it reads (-1: the signal; else the change over that
        season), A_d transposed, b_d.
    memory_of, anchors
        Of each kind of map: its memory, and what it corrects (0: the mean, 1: the last value, 2 + s: season s).
    views, extra
        Of each kind of map: which view of the inputs it reads beside its memory, -1 for none; numbers of a view.
    ridges
        Maps of each kind.
    experts, simple
        How many there are, and how many of them are not maps.
    own, parts
        Where the numbers of each line of the table of experts begin, and the end; the same of the parts of a channel.
    guard
        Whether outliers, leverage and losses to the last value hold the ensemble back.
    """

    horizon: int
    stride: int
    decay: float
    keep: float
    silence: float
    seasons: Any
    orders: Any
    timescales: Any
    inputs: Any
    A_T: Any
    b: Any
    memory_of: Any
    anchors: Any
    views: Any
    extra: int
    ridges: int
    experts: int
    simple: int
    own: Any
    parts: Any
    guard: bool


class Maps(NamedTuple):
    """The ridge maps of a channel, by kinds, as in `ridge.Solved`.

    `leverage` is noted cell by cell, (cells, kinds); `features` are those of the inputs, (cells, views, numbers).
    """

    means: Any
    whitening: Any
    freedom: Any
    maps: Any
    constants: Any
    solved: Any
    leverage: Any
    features: Any


class Clock(NamedTuple):
    """Where the present is: its place in the log, its number, and the pending forecasts in use."""

    now: int
    cell: int
    first: int
    used: int


class Pending(NamedTuple):
    """Forecasts of a channel that wait for their values.

    Parameters
    ----------
    experts
        (rows, leads, experts): of every expert.
    leads, rows
        Records of `LEAD`, (rows, leads), and of `ROW`.
    origins
        The number of the cell after which each was made; the same for all channels.
    under_way
        A ring of `UNDER_WAY`.
    """

    experts: Any
    leads: Any
    rows: Any
    origins: Any
    under_way: Any


class Past(NamedTuple):
    """What experts forecast from.

    Parameters
    ----------
    log, now
        Records of `CELL`, and the place of the present.
    cleaner
        One record of `cleaner.CLEANER`.
    held
        The present value; in a gap, what was expected of it.
    bases
        (seasons, leads): the value one season before each lead.
    """

    log: Any
    now: int
    cleaner: Any
    held: float
    bases: Any


class Channel(NamedTuple):
    """State of a channel: single records of `cleaner`, `brake`, `doubt.last`, `scale.step`; else by lead or expert."""

    cleaner: Any
    brake: Any
    doubt: Doubt
    scale: Scale
    errors: Any
    scores: Scores
    under_way: Any
    own: Any


def channel_parts(plan: Plan) -> Int[np.ndarray, " parts"]:
    """Where each part of a row begins, in the order of `open_channel`, and the end."""
    H, E = plan.horizon, plan.experts
    # As many origins are under way as there are in a horizon, and one.
    records = ((CLEANER, 1), (BRAKE, 1), (STEP, 1), (LEAD_SCALE, H), (ERRORS, H), (LEAD_SCORE, H), (EXPERT_SCORE, E),
               (UNDER_WAY, -(-H // plan.stride) + 1), (DOUBT, 1), (LEAD_DOUBT, H))  # fmt: skip
    phases = int(plan.seasons[0]) if len(plan.seasons) else 0
    return np.cumsum([0, *(one.itemsize // 8 * count for one, count in records), phases, H * E, int(plan.own[-1])])


@compiled(inner=True)
@no_type_check
def open_channel(row, plan):
    """A row of numbers by names."""
    at = plan.parts
    scale = Scale(
        row[at[2] : at[3]].view(STEP), row[at[3] : at[4]].view(LEAD_SCALE), row[at[10] : at[11]],
    )  # fmt: skip
    scores = Scores(
        row[at[5] : at[6]].view(LEAD_SCORE), row[at[6] : at[7]].view(EXPERT_SCORE), row[at[11] : at[12]],
    )  # fmt: skip
    doubt = Doubt(row[at[8] : at[9]].view(DOUBT), row[at[9] : at[10]].view(LEAD_DOUBT))
    return Channel(
        row[at[0] : at[1]].view(CLEANER), row[at[1] : at[2]].view(BRAKE), doubt, scale, row[at[4] : at[5]].view(ERRORS),
        scores, row[at[7] : at[8]].view(UNDER_WAY), row[at[12] : at[13]],
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
