"""What the compiled loop reads: the plan of an ensemble, the log of cells, and forecasts that wait for their values.

Numbers that belong together are a NumPy record, and a state keeps few arrays of them, so that a copy is cheap and
every number has a name: ``log[now].value`` in compiled code, ``log["value"]`` in Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CELL", "DUE", "LEAD", "ROW", "UNDER_WAY", "Clock", "Maps", "Past", "Pending", "Plan"]

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
    orders, inputs, A_T, b
        Of each memory: order, what it reads (-1: the signal; else the change over that season), A_d transposed, b_d.
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
