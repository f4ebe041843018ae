"""Cross-fitted linear readouts: what can be read off states in sequences that the readout was not fitted on.

The definitions are those of docs/studies/microscope.md. Readable means above noise on the state, which enters by its
expectation; none is drawn. Readouts are fitted to sums over folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from hippozoo.microscope.states import ROWS_PER_NUMBER

__all__ = ["Crossfit", "canonical", "recent_window"]

FOLDS = 5
DRAWS = 20
# Ridge penalties, relative to the mean variance of the state and in addition to the noise; 0 is plain least squares.
RIDGES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Targets that the chance level is taken from. Of more, some of each group are chosen at random, to bound the cost.
CHANCE_TARGETS = 256
# Targets that are fitted at a time, which bounds the memory that their covariances take.
AT_A_TIME = 512
# Bytes of factorised covariances that are kept for the next targets.
MOST_FACTORS = 1 << 28

Progress = Callable[[str, float], None]


class Scores(NamedTuple):
    """Squared errors of the readout and of the mean, by held-out sequence and group of targets; R² by chance."""

    sse: Float[np.ndarray, "sequences groups"]
    sst: Float[np.ndarray, "sequences groups"]
    chance: Float[np.ndarray, " groups"]

    def r2(self) -> Float[np.ndarray, " groups"]:
        """(R² - c) / (1 - c), not clipped; NaN where the target is the same in all sequences."""
        return self._corrected(self.sse.sum(0), self.sst.sum(0))

    def r2_without_each(self) -> Float[np.ndarray, "sequences groups"]:
        """The same with one sequence left out, for the jackknife; nothing is fitted again."""
        return self._corrected(self.sse.sum(0) - self.sse, self.sst.sum(0) - self.sst)

    def _corrected(self, sse: np.ndarray, sst: np.ndarray) -> np.ndarray:
        kept = sst * (1 - self.chance)
        return 1 - np.divide(sse, kept, out=np.full(sse.shape, np.nan), where=kept > 0)


class Sums(NamedTuple):
    """Sums over the rows of every fold: of feature times target, of targets, of squared targets."""

    cross: Float[np.ndarray, "folds size targets"]
    targets: Float[np.ndarray, "folds targets"]
    squares: Float[np.ndarray, "folds targets"]


class Readout(NamedTuple):
    """A linear readout of centred features: ``(features - mean) @ weights + target_mean``."""

    weights: Float[np.ndarray, "size targets"]
    mean: Float[np.ndarray, " size"]
    target_mean: Float[np.ndarray, " targets"]


class Crossfit:
    """Readouts of one set of features, (sequences, rows, size), fitted on four fifths of the sequences.

    A readout must rise above `noise`, a variance relative to `scale`, as ridge penalties are (by default the mean
    variance of the features); the first `free` features are under no penalty. `rng` assigns sequences to folds and
    draws other sequences' pasts; `progress` is called with a phrase and the share that is done.
    """

    def __init__(
        self,
        features: Float[np.ndarray, "sequences rows size"],
        noise: float,
        rng: np.random.Generator,
        progress: Progress | None = None,
        scale: float | None = None,
        free: int = 0,
    ) -> None:
        sequences, self.rows, size = features.shape
        self.progress = progress or (lambda phrase, share: None)
        self._seed = int(rng.integers(2**62))  # the same draws for every question, whatever was asked before
        self.folds = np.array_split(rng.permutation(sequences), min(FOLDS, sequences))
        counts = self.rows * np.array([len(fold) for fold in self.folds])
        # Fold by fold, so that the rows of a fold are one matrix and nothing is copied again.
        flat = features[np.concatenate(self.folds)].reshape(-1, size)
        flat -= np.ones(len(flat)) @ flat / len(flat)
        self._parts = np.split(flat, counts.cumsum()[:-1])
        self._sums = np.stack([np.ones(len(part)) @ part for part in self._parts])
        self._grams = np.stack([part.T @ part for part in self._parts])
        self._total = self._grams.sum(0)
        self._kept = counts.sum() - counts  # rows outside each fold
        self.scale = float(np.trace(self._total)) / flat.size if scale is None else scale
        self.noise, self._penalised = noise * self.scale, self.scale * (np.arange(size) >= free)
        self._factors: dict[tuple[int, int], Any] = {}

    def _solve(self, fold: int, ridge: int, cross: np.ndarray) -> np.ndarray:
        if (fold, ridge) not in self._factors:
            mean = self._outside(self._sums, fold)
            covariance = (self._total - self._grams[fold]) / self._kept[fold]
            covariance -= mean[:, None] * mean
            covariance[np.diag_indices_from(covariance)] += self.noise + RIDGES[ridge] * self._penalised
            while len(self._factors) * covariance.nbytes > MOST_FACTORS:
                self._factors.pop(next(iter(self._factors)))
            self._factors[fold, ridge] = cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
        return cho_solve(self._factors[fold, ridge], cross, check_finite=False)

    def _outside(self, sums: np.ndarray, fold: int) -> np.ndarray:
        """Mean over the rows outside a fold."""
        return (sums.sum(0) - sums[fold]) / self._kept[fold]

    def _fold_sums(self, targets: np.ndarray, other: np.ndarray | None = None) -> Sums:
        """Of the features of each sequence with the targets of the same one, or of another."""
        found = []
        for fold, part in zip(self.folds, self._parts, strict=True):
            own = targets[fold if other is None else other[fold]].reshape(len(part), -1)
            ones = np.ones(len(own))
            found.append((part.T @ own, ones @ own, ones @ own**2))
        return Sums(*(np.stack(one) for one in zip(*found, strict=True)))

    def _fitted(self, fold: int, sums: Sums, ridges: Int[np.ndarray, " targets"]) -> Readout:
        """The readout of all other folds, with a penalty for each target."""
        mean, target_mean = self._outside(self._sums, fold), self._outside(sums.targets, fold)
        covariance = self._outside(sums.cross, fold) - np.outer(mean, target_mean)
        weights = np.empty_like(covariance)
        for ridge in np.unique(ridges):
            weights[:, ridges == ridge] = self._solve(fold, int(ridge), covariance[:, ridges == ridge])
        return Readout(weights, mean, target_mean)

    def _spread(self, fold: int, sums: Sums, readout: Readout) -> Float[np.ndarray, " targets"]:
        """Squared errors of the training mean in a held-out fold."""
        count, mean = len(self.folds[fold]) * self.rows, readout.target_mean
        return sums.squares[fold] - 2 * mean * sums.targets[fold] + count * mean**2

    def _errors(self, fold: int, sums: Sums, readout: Readout) -> Float[np.ndarray, " targets"]:
        """Squared errors of a held-out fold; noise adds its variance times the squared weights."""
        weights, mean, target_mean = readout
        count, held = len(self.folds[fold]) * self.rows, self._sums[fold]
        shift, said = mean @ weights, held @ weights
        cross = np.einsum("nm,nm->m", sums.cross[fold], weights)
        cross += (count * shift - said) * target_mean - sums.targets[fold] * shift
        squared = np.einsum("nm,nm->m", self._grams[fold] @ weights, weights) - 2 * said * shift + count * shift**2
        return self._spread(fold, sums, readout) - 2 * cross + squared + count * self.noise * (weights**2).sum(0)

    def _by_sequence(self, fold: int, targets: np.ndarray, readout: Readout) -> Iterator[np.ndarray]:
        """Squared errors in each held-out sequence, of the readout and of the training mean, (held, targets)."""
        weights, mean, target_mean = readout
        wanted = targets[self.folds[fold]] - target_mean
        said = (self._parts[fold] @ weights - mean @ weights).reshape(wanted.shape)
        yield ((wanted - said) ** 2).sum(1) + self.rows * self.noise * (weights**2).sum(0)
        yield (wanted**2).sum(1)

    def scores(
        self,
        targets: Float[np.ndarray, "sequences rows targets"],
        groups: Int[np.ndarray, " targets"],
        phrase: str = "reading the past",
    ) -> Scores:
        """Held-out errors of every group of targets, with the ridge that serves the other folds best."""
        count, folds = int(groups.max()) + 1, range(len(self.folds))
        chunks = [slice(start, start + AT_A_TIME) for start in range(0, len(groups), AT_A_TIME)]
        by_ridge = np.zeros((len(RIDGES), len(self.folds), count))
        for some in chunks:
            self.progress(phrase, 0.4 * some.start / len(groups))
            sums, into = self._fold_sums(targets[:, :, some]), np.eye(count)[groups[some]]
            for fold in folds:
                for ridge in range(len(RIDGES)):
                    readout = self._fitted(fold, sums, np.full(into.shape[0], ridge))
                    by_ridge[ridge, fold] += self._errors(fold, sums, readout) @ into
        # A fold's penalty is the one that serves the other folds best: what is scored had no say.
        chosen = (by_ridge.sum(1, keepdims=True) - by_ridge).argmin(0)
        sse, sst = (np.zeros((len(targets), count)) for _ in range(2))
        for some in chunks:
            self.progress(phrase, 0.4 + 0.1 * some.start / len(groups))
            sums, into = self._fold_sums(targets[:, :, some]), np.eye(count)[groups[some]]
            for fold, held in enumerate(self.folds):
                readout = self._fitted(fold, sums, chosen[fold][groups[some]])
                for total, errors in zip(
                    (sse, sst), self._by_sequence(fold, targets[:, :, some], readout), strict=True
                ):
                    total[held] += errors @ into
        # Targets that are the same in all sequences leave rounding errors.
        sst[:, sst.sum(0) <= 1e-20 * (1 + np.abs(targets).max()) ** 2 * len(targets) * self.rows] = 0
        chance = self._chance(targets, groups, chosen, phrase)
        self._factors.clear()
        return Scores(sse, sst, chance)

    def _chance(self, targets: np.ndarray, groups: np.ndarray, chosen: np.ndarray, phrase: str) -> np.ndarray:
        """R² by group where the pasts are those of other sequences, with the penalties that were chosen."""
        sequences, count = len(targets), int(groups.max()) + 1
        sse, sst = np.zeros(count), np.zeros(count)
        rng = np.random.default_rng(self._seed)
        some = chosen_targets(groups, rng)
        drawn = targets if len(some) == len(groups) else targets[:, :, some]
        # Several draws at a time, as if they were more targets: covariances are factorised once for all of them.
        together = max(1, MOST_FACTORS // (8 * len(self.folds) * len(self._total) * len(some)))
        for start in range(0, DRAWS, together):
            self.progress(phrase, 0.5 + 0.5 * start / DRAWS)
            drawings = []
            for _ in range(start, min(start + together, DRAWS)):
                order = rng.permutation(sequences)
                other = np.empty(sequences, int)
                other[order] = np.roll(order, 1)  # one cycle through all: no sequence keeps its own past
                drawings.append(self._fold_sums(drawn, other))
            sums = Sums(*(np.concatenate(parts, -1) for parts in zip(*drawings, strict=True)))
            into, repeated = (
                np.tile(np.eye(count)[groups[some]], (len(drawings), 1)),
                np.tile(groups[some], len(drawings)),
            )
            for fold in range(len(self.folds)):
                readout = self._fitted(fold, sums, chosen[fold][repeated])
                sse += self._errors(fold, sums, readout) @ into
                sst += self._spread(fold, sums, readout) @ into
        return 1 - np.divide(sse, sst, out=np.ones(count), where=sst > 0)


def chosen_targets(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All targets, or so many of each group that they fit together into `CHANCE_TARGETS`."""
    if len(groups) <= CHANCE_TARGETS:
        return np.arange(len(groups))
    each = max(1, CHANCE_TARGETS // (int(groups.max()) + 1))
    shuffled = rng.permutation(len(groups))
    members = (shuffled[groups[shuffled] == group][:each] for group in range(int(groups.max()) + 1))
    return np.sort(np.concatenate(list(members)))


def canonical(
    fit: Crossfit,
    targets: Float[np.ndarray, "sequences rows targets"],
    noise: float,
    groups: Int[np.ndarray, " targets"],
    phrase: str,
) -> tuple[Float[np.ndarray, " groups"], Float[np.ndarray, " groups"], Float[np.ndarray, "sequences groups"]]:
    """Squared canonical correlations of features and targets, summed by group; their most; without each sequence.

    Each target is reduced to what is new in it, given those before it, and scaled to variance one. These innovations
    are uncorrelated, so that the R² with which they can be read off the features add up to the sum of squared canonical
    correlations, whichever way they are grouped. Noise on the targets, of variance `noise` relative to their mean
    variance, keeps apart what is new from what is rounding.
    """
    flat = targets.reshape(-1, targets.shape[2])
    flat = flat - flat.mean(0)
    covariance = flat.T @ flat / len(flat)
    covariance += noise * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    new = solve_triangular(cholesky(covariance, lower=True), flat.T, lower=True).T
    most = np.bincount(groups, new.var(0))
    scores = fit.scores(new.reshape(targets.shape), groups, phrase)
    return most * np.nan_to_num(scores.r2()), most, most * np.nan_to_num(scores.r2_without_each())


def recent_window(past: Float[np.ndarray, "sequences rows lags channels"]) -> np.ndarray:
    """As much of the past as the rows can tell apart: leading components of the channels, then fewer lags."""
    sequences, rows, lags, channels = past.shape
    room = max(1, sequences * rows // ROWS_PER_NUMBER)
    if lags * channels > room:
        kept = max(1, room // lags)
        present = past[:, :, 0].reshape(-1, channels)
        vectors = np.linalg.svd(present - present.mean(0), full_matrices=False)[2]
        past = past[:, :, :room] @ vectors[:kept].T
    return past
