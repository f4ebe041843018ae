"""What two horizons keep of the past: errors of the decoded predictive memories, on a stream and by theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import toeplitz

from hippozoo.experiments import Claim
from hippozoo.experiments._history_geometry import DELAYS, FED, at_ridges
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
    near = {"near": f"at lags below {within}"}
    beyond = {"middle": f"from lag {within} to half the window", "far": "in the older half"}
    return [
        _better(metrics, delay, own, *sentence)
        for delay in DELAYS
        for sentence in (("short", fine, near, short, long), ("long", smooth, beyond, long, short))
    ]


def _better(
    metrics: Mapping[str, Any], delay: str, own: str, which: str, quote: str, places: dict[str, str], *horizons: str
) -> Claim:
    """It has to hold in the mean over the seeds and by theory: one without the other is chance, or not what was run."""
    learnt, expected = metrics["memory"][delay], metrics["expected"]["memory"][delay]
    ridges = list(learnt[horizons[0]])
    held, told, rows = [], [], []
    for place, words in places.items():
        signs = []  # smaller, larger, or seeds and theory do not agree
        for ridge in ridges:
            here, there = (learnt[horizon][ridge][place]["mean"] for horizon in horizons)
            ours, theirs = (expected[horizon][ridge][place] for horizon in horizons)
            signs.append((here < there) - (here > there) if (here < there) == (ours < theirs) else 0)
            rows.append(
                f"{words}, ridge {ridge}: {here:.4f} against {there:.4f} (expected {ours:.4f} against {theirs:.4f})"
            )
        more, less = ([sign == kind for sign in signs] for kind in (1, -1))
        reverse = f" and less {at_ridges(ridges, less, own)}" if any(less) else ""
        told.append(f"{words} {at_ridges(ridges, more, own)}{reverse}")
        held += more
    return Claim.judged(
        f"the {which}-horizon predictive memory keeps more {' and '.join(places.values())} ({DELAYS[delay]})",
        held,
        f"{FED[delay]} the {which}-horizon memory keeps more {', '.join(told)} ({len(ridges)} ridges were tried). "
        f"Mean squared "
        f"error, {'; '.join(rows)}.",
        quote,
    )
