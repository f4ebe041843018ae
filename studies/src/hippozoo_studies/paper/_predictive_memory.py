"""What two horizons keep of the past: errors of the decoded predictive memories, on a stream and by theory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import toeplitz

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import number_word
from hippozoo_studies.paper._history_geometry import DELAYS, FED, at_ridges

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


class Asks(NamedTuple):
    """One sentence of the paper about a predictive memory: whose, where it should keep more, and the paper's words."""

    which: str
    quote: str
    places: Mapping[str, str]


def memory_claims(metrics: Mapping[str, Any], short: str, long: str, own: str, samples: int) -> list[Claim]:
    """The paper's sentences about the two predictive memories, for both ways to feed System 2."""
    within = short.removeprefix("H")
    asked = (
        Asks(
            "short",
            "the short-horizon forecaster emphasizes fine detail at small lags",
            {"near": f"at lags below {within}"},
        ),
        Asks(
            "long",
            "the long-horizon forecaster retains smoother structure extending further into the past",
            {"middle": f"from lag {within} to half the window", "far": "in the older half"},
        ),
    )
    table = [
        Asked(
            "the {which}-horizon predictive memory keeps more {where} ({delay})",
            one.quote,
            partial(_kept, one, delay),
            lambda n: n["held"],
            "{fed}, it keeps more {short}. On streams of {samples:,} samples, as in the paper, "
            "{as_run}; on an infinite stream, by theory, {by_theory}. Mean squared error, {rows}.",
        )
        for delay in DELAYS
        for one in asked
    ]
    return answers(table, metrics, {"short": (short, long), "long": (long, short)}, own, samples)


def _kept(
    asks: Asks,
    delay: str,
    metrics: Mapping[str, Any],
    horizons: Mapping[str, tuple[str, str]],
    own: str,
    samples: int,
) -> dict[str, Any]:
    """What one memory keeps more than the other: by the seeds on streams of finite length, and by theory."""
    this, other = horizons[asks.which]
    learnt, expected = metrics["memory"][delay], metrics["expected"]["memory"][delay]
    ridges = list(learnt[this])
    held: list[bool] = []
    rows, as_run, by_theory, short = [], [], [], []
    for place, words in asks.places.items():
        measured, predicted, pairs, sure, errors = [], [], [], 0, []
        for ridge in ridges:
            ours, theirs = (learnt[horizon][ridge][place] for horizon in (this, other))
            expects, of_other = (expected[horizon][ridge][place] for horizon in (this, other))
            wins = sum(one < two for one, two in zip(ours["seeds"], theirs["seeds"], strict=True))
            measured.append(ours["mean"] < theirs["mean"])
            predicted.append(expects < of_other)
            sure += wins == len(ours["seeds"])
            errors.append([(ours["mean"], theirs["mean"]), (expects, of_other)])
            seeds = f"{wins} of {len(ours['seeds'])} seeds"
            pairs.append(f"{ours['mean']:.3f} against {theirs['mean']:.3f} on {seeds}")
            rows.append(
                f"{words}, ridge {ridge}: {ours['mean']:.4f} against {theirs['mean']:.4f}, smaller on {seeds} "
                f"(expected {expects:.4f} against {of_other:.4f})"
            )
        short.append(f"{words} {_how_often(samples, measured, predicted, sure, errors[0])}")
        as_run.append(f"{words} {at_ridges(ridges, measured, own)} (at ridge {ridges[0]} {pairs[0]})")
        by_theory.append(f"{words} {at_ridges(ridges, predicted, own)}")
        held += [*measured, *predicted]
    return {
        "which": asks.which,
        "where": " and ".join(asks.places.values()),
        "delay": DELAYS[delay],
        "fed": FED[delay],
        "samples": samples,
        "held": held,
        "short": "; ".join(short),
        "as_run": " and ".join(as_run),
        "by_theory": " and ".join(by_theory),
        "rows": "; ".join(rows),
    }


def _how_often(
    samples: int, measured: list[bool], predicted: list[bool], sure: int, errors: list[tuple[float, float]]
) -> str:
    """At how many ridges it does, and both errors at the first of them; both where the stream's length decides."""
    if all(measured) and all(predicted):
        return "at every ridge"
    (ours, theirs), (expects, of_other) = errors
    run = f"on {samples:,} samples at {_of_all(sum(measured), len(measured))} ridges"
    seeds = f"on every seed at {_some(sure, len(measured))}; {ours:.2f} against {theirs:.2f}"
    theory = f"on an infinite stream at {_some(sum(predicted), len(predicted))} ({expects:.2f} against {of_other:.2f})"
    return f"{run} ({seeds}), {'and' if measured == predicted else 'but'} {theory}"


def _of_all(count: int, total: int) -> str:
    """How many of all, before the noun.

    Examples
    --------
    >>> _of_all(4, 4), _of_all(1, 4), _of_all(0, 4)
    ('all four', 'one of four', 'none of four')
    """
    return f"all {number_word(total)}" if count == total else f"{_some(count, total)} of {number_word(total)}"


def _some(count: int, total: int) -> str:
    """How many of those just named."""
    return "all" if count == total else number_word(count) if count else "none"
