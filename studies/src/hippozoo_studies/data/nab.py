"""The Numenta Anomaly Benchmark: labelled streams, and its rule for scoring alarms.

A detector sees readings one at a time and no labels. An alarm inside a labelled window earns more the earlier it comes,
and only the best one in a window counts; a missed window and every alarm outside cost. No alarm at all scores 0, an
alarm in the first row of every window and nowhere else scores 100.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from jaxtyping import Float

from hippozoo.tasks.data_files import data_file

__all__ = [
    "PROFILES",
    "PUBLISHED",
    "LabelledStream",
    "Outcome",
    "load_stream",
    "outcome",
    "stream_names",
    "total_score",
]

Window = tuple[int, int]

#: What an alarm outside costs, and what a missed window costs, by profile.
PROFILES: dict[str, tuple[float, float]] = {"standard": (0.11, 1.0), "low_fp": (0.22, 1.0), "low_fn": (0.11, 2.0)}

#: Standard profile on the 31 files of this half, from the detectors' published scores of every reading (Lavin and
#: Ahmad 2015, and the benchmark's repository), each at its published threshold.
PUBLISHED: dict[str, float] = {
    "ARTime": 78.1,
    "contextOSE": 74.1,
    "Numenta HTM": 71.2,
    "KNN-CAD": 64.4,
    "relative entropy": 56.3,
    "random cut forest": 52.0,
    "Twitter ADVec": 46.4,
    "Etsy Skyline": 37.2,
    "windowed Gaussian": 36.7,
    "EXPoSE": 16.3,
}

_PROBATION, _LONGEST_PROBATION = 0.15, 750


@dataclass(frozen=True, eq=False)
class LabelledStream:
    """A stream and the windows in which something happened.

    Windows are pairs of the first and the last row, both included; times are as they are written in the file.
    """

    name: str
    values: Float[np.ndarray, " time"]
    windows: tuple[Window, ...]
    times: tuple[str, ...]

    @property
    def probation(self) -> int:
        """Rows at the beginning that count for nothing."""
        return probation(len(self.values))


@dataclass(frozen=True)
class Outcome:
    """What alarms on one stream came to, under one profile."""

    score: float
    windows: int
    found: int
    outside: int
    missed_cost: float


def probation(rows: int) -> int:
    """How many rows at the beginning of a file count for nothing.

    Examples
    --------
    >>> probation(1000), probation(10_000)
    (150, 750)
    """
    return min(int(_PROBATION * rows), _LONGEST_PROBATION)


def stream_names(data: str | Path | None = None) -> list[str]:
    """The streams that the labels speak of, in order."""
    return sorted(json.loads(data_file("nab/windows.json", data).read_text(encoding="utf-8")))


def load_stream(name: str, data: str | Path | None = None) -> LabelledStream:
    """One stream with its windows."""
    labels = json.loads(data_file("nab/windows.json", data).read_text(encoding="utf-8"))
    if name not in labels:
        raise ValueError(f"name={name!r} has no labels in windows.json; pass one of stream_names().")
    path = data_file(f"nab/{name}", data)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    if header != ["timestamp", "value"] or not rows or any(len(row) != 2 for row in rows):
        raise ValueError(f"{path} is not a file of the benchmark: it needs rows of timestamp,value; use another copy.")
    times = [_moment(row[0]) for row in rows]
    windows = []
    for first, last in labels[name]:
        inside = [row for row, time in enumerate(times) if _moment(first) <= time <= _moment(last)]
        if not inside:
            raise ValueError(f"{path} has no row in the window {first} to {last}; it is cut, use another copy.")
        windows.append((inside[0], inside[-1]))
    values = np.array([float(row[1]) for row in rows])
    return LabelledStream(name, values, tuple(windows), tuple(row[0] for row in rows))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def outcome(rows: int, windows: Sequence[Window], alarms: Sequence[int], profile: str = "standard") -> Outcome:
    """Score the alarms on one stream.

    Examples
    --------
    An alarm in the first row of the window earns 1, one far outside costs 0.11.

    >>> outcome(1000, [(500, 599)], [500]).score
    1.0
    >>> round(outcome(1000, [(500, 599)], [500, 300]).score, 2)
    0.89
    """
    outside_cost, missed_cost = PROFILES[profile]
    begin = probation(rows)
    counted = [window for window in windows if window[1] >= begin]
    best: dict[Window, float] = {}
    score, outside = 0.0, 0
    for row in alarms:
        if row < begin:
            continue
        inside = next((window for window in counted if window[0] <= row <= window[1]), None)
        if inside is not None:
            first, last = inside
            earned = _sigmoid(-(last - row + 1) / (last - first + 1)) / _sigmoid(-1.0)
            best[inside] = max(best.get(inside, -math.inf), earned)
            continue
        outside += 1
        before = [window for window in counted if window[1] < row]
        distance = (row - before[-1][1]) / max(before[-1][1] - before[-1][0], 1) if before else math.inf
        score += outside_cost * _sigmoid(distance)
    score += sum(best.values()) - missed_cost * (len(counted) - len(best))
    return Outcome(score, len(counted), len(best), outside, missed_cost)


def _sigmoid(distance: float) -> float:
    return -1.0 if distance > 3 else 2 / (1 + math.exp(5 * distance)) - 1


def total_score(outcomes: Sequence[Outcome]) -> float:
    """All streams together, on the scale of the benchmark.

    Examples
    --------
    >>> found, missed = (outcome(1000, [(500, 599)], alarms) for alarms in ([500], []))
    >>> total_score([found, missed]), total_score([missed])
    (50.0, 0.0)
    """
    windows = sum(one.windows for one in outcomes)
    if not windows:
        raise ValueError("no window counts in these streams, so there is no scale; pass streams with labels.")
    nothing = -sum(one.missed_cost * one.windows for one in outcomes)
    return 100 * (sum(one.score for one in outcomes) - nothing) / (windows - nothing)
