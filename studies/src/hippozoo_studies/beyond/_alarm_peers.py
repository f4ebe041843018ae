"""Detectors that `alarms` scores beside ours, each with settings of its own library and nothing tuned."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hippozoo.ensemble import Detector, ForecastStream, forecaster_for

__all__ = ["DETECTORS", "Scorer"]

#: Readings that half-space trees and the local outlier factor see at a time; random cut trees see four.
WINDOW, CUT_WINDOW = 8, 4
#: Readings of the mean and the deviation that a z-score is taken by.
RECENT = 288
#: Readings whose mean and deviation scale the columns of windows.
FIRST = 200


class Scorer(Protocol):
    """Gives every reading a score when it comes; higher is stranger."""

    def push(self, rows: np.ndarray) -> np.ndarray:
        """Scores of further rows, (time, columns) in and (time,) out."""
        ...


class Ours:
    """-log10 p of a `ForecastStream` as it comes; of several columns the strangest counts.

    Parameters
    ----------
    columns
        How many.
    joint
        Whether columns are compared with each other, as they are by default.
    """

    def __init__(self, columns: int, *, joint: bool = True) -> None:
        apart = columns > 1 and not joint
        self.streams = [
            ForecastStream(forecaster_for(24), None if columns == 1 or apart else columns, detector=Detector())
            for _ in range(columns if apart else 1)
        ]
        self.alarms = 0

    def push(self, rows: np.ndarray) -> np.ndarray:
        """-log10 p."""
        found = []
        for place, stream in enumerate(self.streams):
            given = rows if stream.channels else rows[:, place]
            pushed = stream.push_many(given)
            self.alarms += len(pushed.alarms)
            p = np.where(np.isnan(pushed.p), 1.0, pushed.p)
            found.append(p.min(axis=1) if stream.channels else p)
        return -np.log10(np.min(found, axis=0))


class ZScore:
    """How many deviations a reading is from the mean of the last 288; of several columns the largest counts."""

    def __init__(self, columns: int) -> None:
        self.past: deque[np.ndarray] = deque(maxlen=RECENT)

    def push(self, rows: np.ndarray) -> np.ndarray:
        """Deviations from the mean."""
        found = np.zeros(len(rows))
        for place, row in enumerate(rows):
            if len(self.past) > 1:
                past = np.array(self.past)
                found[place] = np.max(np.abs(row - past.mean(axis=0)) / (past.std(axis=0) + 1e-12))
            self.past.append(row)
        return found


class Gaussian:
    """river's GaussianScorer, one for each column."""

    def __init__(self, columns: int) -> None:
        from river import anomaly

        self.scorers = [anomaly.GaussianScorer(window_size=None, grace_period=100) for _ in range(columns)]

    def push(self, rows: np.ndarray) -> np.ndarray:
        """The share of a normal distribution that is nearer to its mean."""
        found = np.zeros(len(rows))
        for place, row in enumerate(rows.tolist()):
            for scorer, value in zip(self.scorers, row, strict=True):
                found[place] = max(found[place], scorer.score_one({}, value))
                scorer.learn_one({}, value)
        return found


class _Windows:
    """The last readings of all columns as one vector, in deviations of the first readings."""

    def __init__(self, length: int) -> None:
        self.past: deque[np.ndarray] = deque(maxlen=length)
        self.first: list[np.ndarray] = []

    def add(self, row: np.ndarray) -> np.ndarray | None:
        """The vector that ends with this row; None while there is none."""
        if len(self.first) < FIRST:
            self.first.append(row)
            self.centre, self.unit = np.mean(self.first, axis=0), np.std(self.first, axis=0) + 1e-12
        self.past.append(row)
        if len(self.first) < FIRST or len(self.past) < (self.past.maxlen or 0):
            return None
        return ((np.array(self.past) - self.centre) / self.unit).ravel()


class HalfSpace:
    """river's HalfSpaceTrees on the last eight readings, min-max scaled as they come."""

    def __init__(self, columns: int) -> None:
        from river import anomaly, preprocessing

        self.windows = _Windows(WINDOW)
        self.model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=0)

    def push(self, rows: np.ndarray) -> np.ndarray:
        """Scores of the trees."""
        found = np.zeros(len(rows))
        for place, row in enumerate(rows):
            vector = self.windows.add(row)
            if vector is not None:
                given = dict(enumerate(vector.tolist()))
                found[place] = self.model.score_one(given)
                self.model.learn_one(given)
        return found


class OutlierFactor:
    """scikit-learn's LocalOutlierFactor: windows of eight readings against the last 1,000, fitted every 100."""

    def __init__(self, columns: int) -> None:
        self.windows, self.kept = _Windows(WINDOW), deque[np.ndarray](maxlen=1000)
        self.fitted: Any = None
        self.until_next = 0

    def push(self, rows: np.ndarray) -> np.ndarray:
        """The factor of each window."""
        found = np.zeros(len(rows))
        waiting: list[tuple[int, np.ndarray]] = []
        for place, row in enumerate(rows):
            vector = self.windows.add(row)
            if vector is None:
                continue
            if self.until_next <= 0 and len(self.kept) >= 100:
                self._score(found, waiting)
                self._fit()
            self.until_next -= 1
            self.kept.append(vector)
            if self.fitted is not None:
                waiting.append((place, vector))
        self._score(found, waiting)
        return found

    def _fit(self) -> None:
        from sklearn.neighbors import LocalOutlierFactor

        self.fitted, self.until_next = LocalOutlierFactor(novelty=True).fit(np.array(self.kept)), 100

    def _score(self, found: np.ndarray, waiting: list[tuple[int, np.ndarray]]) -> None:
        if waiting:
            places, vectors = zip(*waiting, strict=True)
            found[list(places)] = -self.fitted.score_samples(np.array(vectors))
            waiting.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> OutlierFactor:
        other = OutlierFactor(1)
        other.windows, other.kept = copy.deepcopy(self.windows, memo), self.kept.copy()
        other.fitted, other.until_next = self.fitted, self.until_next
        return other


class RandomCutForest:
    """A robust random cut forest (rrcf): ten trees of the last 256 windows of four readings each."""

    trees, size = 10, 256

    def __init__(self, columns: int) -> None:
        try:
            from rrcf import RCTree  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise ImportError("the random cut forest needs rrcf: pip install rrcf 'setuptools<81'.") from error
        self.windows = _Windows(CUT_WINDOW)
        self.forest = [RCTree(random_state=seed) for seed in range(self.trees)]
        self.number = 0

    def push(self, rows: np.ndarray) -> np.ndarray:
        """Mean collusive displacement."""
        found = np.zeros(len(rows))
        for place, row in enumerate(rows):
            vector = self.windows.add(row)
            if vector is None:
                continue
            for tree in self.forest:
                if len(tree.leaves) >= self.size:
                    tree.forget_point(self.number - self.size)
                tree.insert_point(vector, index=self.number)
                found[place] += tree.codisp(self.number) / self.trees
            self.number += 1
        return found


#: Each takes the number of columns.
DETECTORS: dict[str, Callable[[int], Scorer]] = {
    "hippozoo": Ours,
    "hippozoo, columns apart": lambda columns: Ours(columns, joint=False),
    "HalfSpaceTrees": HalfSpace,
    "GaussianScorer": Gaussian,
    "LocalOutlierFactor": OutlierFactor,
    "z-score": ZScore,
    "random cut forest": RandomCutForest,
}
