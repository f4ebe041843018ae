"""A cross-fitted linear classifier of tokens and labels, many questions at once.

Softmax regression on whitened states by accelerated gradient descent. With whitened features the curvature is at most
one half, so that the step needs no search; when to stop is chosen on the other folds, in place of a ridge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hippozoo.microscope.crossfit import FOLDS

__all__ = ["classify"]

# Iterations after which held-out sequences are scored.
CHECKS = (1, 2, 4, 8, 16, 32, 64)
STEP = 1.6
# Added to the count of every class, so that one that was not seen in training costs a finite number of bits.
UNSEEN = 0.5
# Scores of classes that are held at a time: 128 MB in single precision.
AT_A_TIME = 1 << 25


class ClassScores(NamedTuple):
    """Held-out means by sequence and question: bits of the classifier and by frequencies alone, and right answers."""

    bits: Float[np.ndarray, "sequences questions"]
    right: Float[np.ndarray, "sequences questions"]
    chance_bits: Float[np.ndarray, "sequences questions"]
    chance_right: Float[np.ndarray, "sequences questions"]

    def readable(self) -> Float[np.ndarray, " questions"]:
        """Bits per answer that the state adds to the frequencies."""
        return (self.chance_bits - self.bits).mean(0)

    def readable_without_each(self) -> Float[np.ndarray, "sequences questions"]:
        """The same with one sequence left out."""
        each = self.chance_bits - self.bits
        return (each.sum(0) - each) / (len(each) - 1)


def classify(
    features: Float[np.ndarray, "sequences rows size"],
    labels: Int[np.ndarray, "sequences rows questions"],
    noise: float,
    rng: np.random.Generator,
    progress: Callable[[str, float], None] | None = None,
) -> ClassScores:
    """Score a linear classifier for every question on sequences that it was not fitted on.

    `noise` is a variance. It keeps directions apart from rounding: where features move less, the classifier sees
    little of them.
    """
    seen, found = np.unique(labels, return_inverse=True)
    found, classes = found.reshape(labels.shape), len(seen)
    sequences, rows, questions = labels.shape
    folds = np.array_split(rng.permutation(sequences), min(FOLDS, sequences))
    bits, right = (np.zeros((len(CHECKS), sequences, questions)) for _ in range(2))
    chance_bits, chance_right = (np.zeros((sequences, questions)) for _ in range(2))
    each = max(1, AT_A_TIME // (max(sequences * rows, features.shape[2]) * classes))
    for number, held in enumerate(folds):
        kept = np.setdiff1d(np.arange(sequences), held)
        mean = features[kept].mean((0, 1))
        train = (features[kept] - mean).reshape(len(kept) * rows, -1)
        values, vectors = np.linalg.eigh(train.T @ train / len(train))
        whiten = vectors / np.sqrt(np.maximum(values, 0) + noise)
        train = with_constant(train @ whiten)
        test = with_constant((features[held] - mean).reshape(len(held) * rows, -1) @ whiten)
        for start in range(0, questions, each):
            if progress:
                progress("classifying", (number + start / questions) / len(folds))
            some = slice(start, start + each)
            answers, wanted = (found[which, :, some].reshape(len(which) * rows, -1) for which in (kept, held))

            def by_sequence(values: np.ndarray, held: np.ndarray = held) -> np.ndarray:
                return values.reshape(len(held), rows, -1).mean(1)

            counts = np.stack([np.bincount(column, minlength=classes) for column in answers.T], 1) + UNSEEN
            shares = counts / counts.sum(0)
            chance_bits[held, some] = by_sequence(-np.log2(np.take_along_axis(shares, wanted, 0)))
            chance_right[held, some] = by_sequence(wanted == shares.argmax(0))
            first = np.zeros((train.shape[1], *shares.shape), np.float32)
            first[-1] = np.log(shares)
            for check, weights in enumerate(_descend(train, answers, first)):
                logits = (test @ weights.reshape(len(weights), -1)).reshape(len(test), *shares.shape)
                logits -= logits.max(1, keepdims=True)
                loss = np.log(np.exp(logits).sum(1)) - np.take_along_axis(logits, wanted[:, None], 1)[:, 0]
                bits[check, held, some] = by_sequence(loss.astype(float)) / np.log(2)
                right[check, held, some] = by_sequence(logits.argmax(1) == wanted)
    by_fold = np.stack([bits[:, held].sum(1) for held in folds], 1)
    chosen = (by_fold.sum(1, keepdims=True) - by_fold).argmin(0)
    final = np.empty((2, sequences, questions))
    for number, held in enumerate(folds):
        for which, source in enumerate((bits, right)):
            final[which][held] = np.take_along_axis(source[:, held], chosen[number][None, None], 0)[0]
    return ClassScores(final[0], final[1], chance_bits, chance_right)


def _descend(train: np.ndarray, answers: np.ndarray, start: np.ndarray) -> Iterator[np.ndarray]:
    """Weights after each number of iterations in `CHECKS`."""
    count, questions = answers.shape
    shape = start.shape
    weights = ahead = start
    rows, each = np.arange(count)[:, None], np.arange(questions)
    for iteration in range(1, CHECKS[-1] + 1):
        wrong = (train @ ahead.reshape(shape[0], -1)).reshape(count, *shape[1:])
        wrong -= wrong.max(1, keepdims=True)
        np.exp(wrong, out=wrong)
        wrong /= wrong.sum(1, keepdims=True)
        wrong[rows, answers, each] -= 1
        gradient = (train.T @ wrong.reshape(count, -1)).reshape(shape) / count
        after = ahead - np.float32(STEP) * gradient
        ahead = after + np.float32((iteration - 1) / (iteration + 2)) * (after - weights)
        weights = after
        if iteration in CHECKS:
            yield weights


def with_constant(rows: np.ndarray) -> np.ndarray:
    """The rows in single precision with a column of ones behind them."""
    return np.concatenate([rows, np.ones((len(rows), 1))], 1).astype(np.float32)
