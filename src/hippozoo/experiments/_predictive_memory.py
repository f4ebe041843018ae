"""What two horizons keep of the past: errors of the decoded predictive memories, on a stream and by theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import toeplitz

from hippozoo.experiments import Claim
from hippozoo.experiments._history_geometry import DELAYS, where_it_holds
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture

# Which lags: the newest sample, those within the short horizon, from there to half the window, and the older half.
PLACES = ("newest", "near", "middle", "far")


def by_place(errors: Float[np.ndarray, " lags"], short: int) -> dict[str, float]:
    """Means of an error per sample of the window, newest first."""
    half = len(errors) // 2
    parts = (errors[:1], errors[:short], errors[short:half], errors[half:])
    return {name: float(part.mean()) for name, part in zip(PLACES, parts, strict=True)}


def errors_on(
    test: Float[np.ndarray, " time"],
    states: Float[np.ndarray, "time order"],
    history: LegT,
    kept: Float[np.ndarray, "order order"],
) -> Float[np.ndarray, " lags"]:
    """Mean squared error at each lag, over many presents of a stream whose System 3 is `states`.

    `kept` is applied to the states, and what is left decoded at the middles of cells: the projector P_x for a
    predictive memory, the identity for all of it.
    """
    count = int(history.timescale)
    presents = np.arange(4 * count, len(test), 7)
    past = np.lib.stride_tricks.sliding_window_view(test, count)[presents - count + 1][:, ::-1]
    decoded = states[presents] @ kept.T @ history.basis(np.arange(count) + 0.5).T
    return np.square(decoded - past).mean(axis=0)


def expected_errors(
    process: GaussianMixture, history: LegT, kept: Float[np.ndarray, "order order"], count: int = 1024
) -> Float[np.ndarray, " lags"]:
    """`errors_on` an endless stream: each error is a sum of samples with weights, whose covariance is known."""
    window = int(history.timescale)
    impulse = np.zeros(count)
    impulse[0] = 1.0
    weights = Memory(history).scan(impulse) @ kept.T @ history.basis(np.arange(window) + 0.5).T
    weights[np.arange(window), np.arange(window)] -= 1.0
    return np.einsum("jl,jl->l", weights, toeplitz(process.covariance(np.arange(count))) @ weights)


def memory_claims(metrics: Mapping[str, Any], short: str, long: str, own: str) -> list[Claim]:
    """The paper's sentences about the two predictive memories, for both ways to feed System 2."""
    within = short.removeprefix("H")
    fine = "the short-horizon forecaster emphasizes fine detail at small lags"
    smooth = "the long-horizon forecaster retains smoother structure extending further into the past"
    sentences = (
        (f"the short-horizon predictive memory keeps more detail at lags below {within}", fine, "near", short, long),
        (f"the long-horizon one keeps more from lag {within} to half the window", smooth, "middle", long, short),
        ("the long-horizon one keeps more of the older half of the window", smooth, "far", long, short),
    )
    return [_better(metrics, delay, own, *sentence) for delay in DELAYS for sentence in sentences]


def _better(
    metrics: Mapping[str, Any], delay: str, own: str, words: str, quote: str, place: str, better: str, worse: str
) -> Claim:
    """It has to hold in the mean over the seeds and by theory: one without the other is chance, or not what was run."""
    learnt, expected = metrics["memory"][delay], metrics["expected"]["memory"][delay]
    held, reversed_at, errors = [], [], []
    for ridge in learnt[better]:
        here, there = (learnt[horizon][ridge][place]["mean"] for horizon in (better, worse))
        in_theory, against = (expected[horizon][ridge][place] for horizon in (better, worse))
        held.append(here < there and in_theory < against)
        if here > there and in_theory > against:
            reversed_at.append(ridge)
        errors.append(f"ridge {ridge}: {here:.4f} against {there:.4f} (expected {in_theory:.4f} against {against:.4f})")
    where = where_it_holds(list(learnt[better]), held, own, reversed_at)
    return Claim.judged(f"{words} ({DELAYS[delay]})", held, f"{where} Mean squared error, {'; '.join(errors)}.", quote)
