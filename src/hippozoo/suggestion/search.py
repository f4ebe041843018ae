"""The search: orders and timescales of each system, tried on the signal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.memory.missing import hold_missing
from hippozoo.suggestion.measure import Care, Question, slowest_period
from hippozoo.suggestion.result import Suggestion, Trial
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

__all__ = ["suggest"]

ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_SAMPLES = 20_000
MOST_CHANNELS = 8
ACCURACY = 0.1
# Timescales to try, in horizons. A window shorter than what is asked for knows nothing of the rest.
_TIMESCALES: dict[Care, dict[type[HippoSystem], tuple[float, ...]]] = {
    "even": {LegT: (1.0, 1.1), FouT: (1.0, 1.25), LegS: (0.35, 0.6), LagT: (0.1, 0.25)},
    "recent": {LegS: (0.7, 1.0, 1.5), LegT: (2.0, 3.0), LagT: (0.15, 0.3, 0.6)},
}


def suggest(
    signal: Float[np.ndarray, "time"] | Float[np.ndarray, "time channels"],
    horizon: float | None = None,
    *,
    accuracy: float | None = None,
    budget: int | None = None,
    dt: float = 1.0,
    care: Care = "even",
    systems: Sequence[type[HippoSystem]] | None = None,
) -> Suggestion:
    """Find system, order and timescale for a signal, by how well they give back its past.

    Memories of every kind run over the signal, and their reconstructions are compared with what was there. The smallest
    one that is accurate enough is suggested; with a budget, the most accurate one that keeps within it.

    Parameters
    ----------
    signal
        A sample of what the memory will see, (time,) or (time, channels); NaN holds the last value. The more it is
        like the later data, the better the promise holds. It looks at the last 20,000 samples of the first 8 channels.
    horizon
        How far back the past is wanted, in the unit of `dt`. Without it, one turn of the slowest wave that matters.
    accuracy
        The error that is allowed: root mean square, in units of the signal's standard deviation. 0.1 unless a budget
        is given.
    budget
        How many numbers the state of a channel may have.
    dt
        Time between samples.
    care
        ``"even"``: every lag up to the horizon counts alike. ``"recent"``: a lag counts exp(-lag / horizon), so the
        recent past is wanted in detail and the rest in outline.
    systems
        Which kinds to try, for example ``[LegT]``; all that serve by default.

    Examples
    --------
    >>> signal = np.sin(np.arange(3000) / 10)
    >>> found = suggest(signal, horizon=100.0, accuracy=0.05)
    >>> found.met, found.error <= 0.05, found.system.order <= 16
    (True, True, True)
    >>> found.memory.final(signal).shape == (found.system.order,)
    True
    """
    dt = positive_number("dt", dt, why="the time between two samples")
    if care not in get_args(Care):
        raise ValueError(f"care={shorten(care)} is unknown; pass 'even' or 'recent'.")
    if accuracy is not None:
        accuracy = positive_number("accuracy", accuracy, why="the error allowed, in standard deviations of the signal")
        if accuracy >= 1:
            raise ValueError(f"accuracy={accuracy}: knowing only the mean gives an error of 1; pass a number below 1.")
    if budget is not None:
        budget = whole_number("budget", budget, why="a memory has at least one coefficient")
    wanted = ACCURACY if accuracy is None and budget is None else accuracy
    values = _standardised(signal)
    longest = len(values) * dt / (2.5 if care == "even" else 10.0)
    if horizon is None:
        horizon = float(f"{min(max(slowest_period(values, dt), 4 * dt), longest):.3g}")
    horizon = positive_number("horizon", horizon, why="how far back, in your time unit")
    if not dt <= horizon <= longest * (1 + 1e-9):
        raise ValueError(
            f"horizon={horizon:g}, but a signal of {len(values)} samples (dt={dt:g}) can be tried from {dt:g} to "
            f"{longest:g}; ask for another horizon, or pass a longer signal."
        )
    question = Question(values, dt, horizon, care)
    kinds = _TIMESCALES[care] if systems is None else _chosen(systems, care)
    trials: list[Trial] = []
    for kind, factors in kinds.items():
        mine = _tried(question, kind, factors, wanted, budget)
        best = _best(mine, wanted)
        if wanted is not None and best.error <= wanted:
            mine += _smaller(question, best, wanted)
        trials += mine
    best = _best(trials, wanted)
    met = wanted is None or best.error <= wanted
    return Suggestion(best.system, best.error, met, wanted, budget, question, tuple(trials))


def _standardised(signal: np.ndarray) -> np.ndarray:
    values = np.asarray(signal)
    if values.dtype.kind not in "iufb" or values.ndim not in (1, 2) or not values.size:
        raise ValueError(
            f"signal has shape {values.shape} and dtype {values.dtype}; pass numbers, (time,) or (time, channels)."
        )
    rows = values.astype(float).reshape(len(values), -1)[-MOST_SAMPLES:, :MOST_CHANNELS]
    if np.isinf(rows).any():
        raise ValueError("signal has infinite values; pass finite numbers, and NaN where a value is missing.")
    seen = ~np.isnan(rows)
    if len(rows) < 10 or not seen.any(axis=0).all():
        raise ValueError(
            f"signal has {len(rows)} samples, and no channel may be all missing; pass ten samples at least."
        )
    first = np.array([column[column == column][0] for column in rows.T])
    rows = hold_missing(rows, seen, held=first)
    spread = rows.std(axis=0)
    if (spread <= 1e-12 * np.abs(rows).max(axis=0)).any():
        raise ValueError("signal is constant in at least one channel; one coefficient remembers that, leave it out.")
    return (rows - rows.mean(axis=0)) / spread


def _chosen(systems: Sequence[type[HippoSystem]], care: Care) -> dict[type[HippoSystem], tuple[float, ...]]:
    known = _TIMESCALES[care]
    for kind in systems:
        if kind not in known:
            names = ", ".join(one.__name__ for one in known)
            raise ValueError(f"systems has {shorten(kind)}; with care={care!r} pass some of {names}.")
    if not systems:
        raise ValueError("systems is empty; pass some, or leave it out to try all.")
    return {kind: known[kind] for kind in systems}


def _allowed(kind: type[HippoSystem], order: int) -> int:
    """The order itself, or the next lower one that a Fourier memory has."""
    return order - 1 + order % 2 if kind is FouT and order > 1 else order


def _tried(
    question: Question, kind: type[HippoSystem], factors: Sequence[float], wanted: float | None, budget: int | None
) -> list[Trial]:
    """One kind at growing orders, each with its best timescale, until it is accurate enough or the budget is spent."""
    found: list[Trial] = []
    orders = ORDERS if budget is None else sorted({*(one for one in ORDERS if one < budget), budget})
    samples = math.ceil(question.span / question.dt)
    for order in dict.fromkeys(_allowed(kind, one) for one in orders):
        if (budget is not None and order > budget) or order > max(8, 2 * samples):
            break
        systems = [kind(order, factor * question.horizon) for factor in factors]
        trials = [Trial(system, question.error(system)) for system in systems]
        found.append(min(trials, key=lambda one: one.error))
        if wanted is not None and found[-1].error <= 0.7 * wanted:
            break
    return found


def _best(trials: Sequence[Trial], wanted: float | None) -> Trial:
    """The smallest that is accurate enough; where none is, the most accurate."""
    good = [one for one in trials if wanted is not None and one.error <= wanted]
    if good:
        return min(good, key=lambda one: (one.system.order, one.error))
    return min(trials, key=lambda one: (one.error, one.system.order))


def _smaller(question: Question, best: Trial, wanted: float) -> list[Trial]:
    """Further trials that find the smallest order of this kind and timescale, by halving the gap below it."""
    kind, timescale = type(best.system), best.system.timescale
    low = max((one for one in (0, *ORDERS) if one < best.system.order), default=0)
    high, tried = best, []
    while high.system.order - low > 1:
        order = _allowed(kind, (low + high.system.order) // 2)
        if not low < order < high.system.order:
            break
        system = kind(order, timescale)
        trial = Trial(system, question.error(system))
        tried.append(trial)
        low, high = (low, trial) if trial.error <= wanted else (order, high)
    return tried
