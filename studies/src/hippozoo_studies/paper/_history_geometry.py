"""How far back an objective looks: eigenfunctions of Q that streams taught, beside those of the process itself.

An eigenfunction at the far end of the window may be a feature or noise. Second-order statistics of a Gaussian process
are known without a sample, so each learnt eigenfunction is held against the one that an endless stream would teach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import toeplitz

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Explanation, Forecaster, Moments, reduced_rank
from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import number_word

# How System 2 is fed, and what each is called in a claim.
DELAYS = {"exact": "exact delay", "endpoint": "endpoint of System 1, as printed"}
FED = {"exact": "With an exact delay", "endpoint": "With the endpoint of System 1, as printed"}
# "The leading eigenfunctions": the paper does not say how many.
LEADING = 3
ORDINALS = {"1": "first", "2": "second", "3": "third"}
# By this factor further back counts as broader; this much of the square in common counts as the same function.
BROADER, ALIKE = 1.2, 0.5


def expected_moments(
    process: GaussianMixture, forecaster: Forecaster, reading: LegT | None = None, count: int = 1024
) -> Moments:
    """What an endless stream of the process teaches: both systems are weights of samples whose covariance is known.

    Parameters
    ----------
    process
        Where the samples come from.
    forecaster
        Systems 1 and 2, and how System 2 is fed.
    reading
        The system whose endpoint System 2 is fed with, in place of System 1; held back until it is as late.
    count
        Samples after which nothing of one is left.
    """
    future, history = forecaster.future, forecaster.histories[0]
    impulse = np.zeros(count)
    impulse[0] = 1.0
    if forecaster.delay == "exact":
        fed = np.roll(impulse, int(future.timescale))
    else:
        source = future if reading is None else reading
        # Read before the sample enters, hence one later.
        late = 1 + int(future.timescale - source.timescale)
        fed = np.roll(Memory(source).scan(impulse) @ source.basis(source.timescale), late)
    x, y = Memory(history).scan(fed), Memory(future).scan(impulse)
    covariance = toeplitz(process.covariance(np.arange(count)))
    return Moments(
        1.0,
        np.zeros(history.order),
        np.zeros(future.order),
        x.T @ covariance @ x,
        y.T @ covariance @ x,
        y.T @ covariance @ y,
        np.zeros(1),
    )


def open_moments(forecaster: Forecaster, moments: Moments) -> dict[float, Explanation]:
    """The maps that the forecaster would learn from these moments around zero, by ridge; no past is known."""
    history = forecaster.histories[0]
    nothing, metric = np.zeros(history.order), forecaster.horizon * np.eye(forecaster.future.order)
    return {
        float(one.ridge): Explanation(
            history,
            reduced_rank(moments, one.rank, one.ridge, intercept=False),
            one,
            nothing,
            0.0,
            nothing,
            metric,
            forecaster,
        )
        for one in forecaster.candidates
    }


def fine_lags(window: float, count: int = 4000) -> Float[np.ndarray, " count"]:
    """The middles of equal cells, so that a mean over them is an integral over the window."""
    return (np.arange(count) + 0.5) * window / count


def shapes(explanation: Explanation) -> dict[str, dict[str, float]]:
    """For each leading eigenfunction the lag before which half of its square lies, and how gradually it varies.

    The length scale is the root of the ratio of the squares of the function and of its slope.
    """
    lags = fine_lags(explanation.system.timescale)
    found = {}
    for number, function in enumerate(explanation.eigenfunctions(lags, LEADING)[1], start=1):
        mass = np.cumsum(function**2)
        slope = np.diff(function) / (lags[1] - lags[0])
        found[str(number)] = {
            "half_mass_lag": float(lags[np.searchsorted(mass, mass[-1] / 2)]),
            "length_scale": float(np.sqrt(np.square(function).mean() / np.square(slope).mean())),
        }
    return found


def shapes_beside(learnt: Explanation, expected: Explanation) -> dict[str, dict[str, float]]:
    """`shapes` of what was learnt, and how much of its square each function has in common with the expected one."""
    lags = fine_lags(learnt.system.timescale)
    # Functions have norm 1 under the window's weight, so this mean is a cosine.
    cosines = (learnt.eigenfunctions(lags, LEADING)[1] * expected.eigenfunctions(lags, LEADING)[1]).mean(axis=1)
    return {
        number: shape | {"alike": float(cosine**2)}
        for (number, shape), cosine in zip(shapes(learnt).items(), cosines, strict=True)
    }


def likeness(explanations: Iterable[Explanation]) -> dict[str, float]:
    """Least agreement (absolute cosine) of the first pattern, and of the first eigenfunction, over all ridges."""
    given = list(explanations)
    lags = fine_lags(given[0].system.timescale)
    found = {
        "patterns": np.stack([one.patterns(lags)[0] for one in given]),
        "eigenfunctions": np.stack([one.eigenfunctions(lags, 1)[1][0] for one in given]),
    }
    directions = {name: one / np.linalg.norm(one, axis=1, keepdims=True) for name, one in found.items()}
    return {name: float(np.abs(one @ one.T).min()) for name, one in directions.items()}


CLAIMS = (
    *(
        Asked(
            "the first {count} eigenfunctions of Q are broader for the long horizon, with every seed and by theory "
            "({delay})",
            "the top eigenfunctions of Q, the predictive history metric, show broader features for the long-horizon "
            "objective",
            lambda *given, delay=delay: broader(delay, *given),
            lambda n: n["held"],
            "{fed}{where}. Half-mass lag, short -> long: {rows}.",
        )
        for delay in DELAYS
    ),
    Asked(
        "ours: what broadens the first eigenfunction is the endpoint's reading and not the objective: with System 2 "
        "fed by the short horizon's reading, the long horizon's is as narrow",
        "",
        lambda *given: reading(*given),
        lambda n: bool(n["lags"]) and all(alike < 1.1 * near for near, _, alike in n["lags"].values()),
        "half-mass lag of the process's own, short, long, long with the short one's reading: {each}",
    ),
    Asked(
        "ours: the first pattern of the past is the same at every ridge, where the first eigenfunction is not",
        "",
        lambda *given: steadiness(*given),
        lambda n: all(pattern > 0.99 > function for _, pattern, function in n["pairs"]),
        "{each}",
    ),
)


def geometry_claims(metrics: Mapping[str, Any], short: str, long: str, own: str) -> list[Claim]:
    """The paper's sentence about the leading eigenfunctions, one by one, for both ways to feed System 2; and ours."""
    return answers(CLAIMS, metrics, short, long, own)


def reading(metrics: Mapping[str, Any], short: str, long: str, own: str) -> dict[str, Any]:
    """The breadth of the first eigenfunction wherever the endpoint makes it broader, also if both are fed alike."""
    expected = metrics["expected"]["eigenfunctions"]
    sources = (("endpoint", short), ("endpoint", long), ("endpoint_read_alike", long))
    lags = {
        ridge: [expected[source][horizon][ridge]["1"]["half_mass_lag"] for source, horizon in sources]
        for ridge in _where_broader(metrics, "endpoint", "1", short, long)
    }
    each = [f"ridge {ridge}: {', '.join(f'{lag:.2f}' for lag in some)}" for ridge, some in lags.items()]
    return {"lags": lags, "each": "; ".join(each)}


def steadiness(metrics: Mapping[str, Any], short: str, long: str, own: str) -> dict[str, Any]:
    """How alike the first patterns of all ridges are, and the first eigenfunctions."""
    steady = metrics["likeness_over_ridges"]
    pairs = [
        (f"{delay} {horizon}", *(steady[delay][horizon][kind]["mean"] for kind in ("patterns", "eigenfunctions")))
        for delay in DELAYS
        for horizon in (short, long)
    ]
    each = [f"{name}: least cosine {pattern:.4f} against {function:.4f}" for name, pattern, function in pairs]
    return {"pairs": pairs, "each": ", ".join(each)}


def broader(delay: str, metrics: Mapping[str, Any], short: str, long: str, own: str) -> dict[str, Any]:
    """The leading eigenfunctions: which are broader with every seed and by theory, and at which ridges."""
    numbers = [str(number) for number in range(1, LEADING + 1)]
    learnt, expected = metrics["eigenfunctions"][delay], metrics["expected"]["eigenfunctions"][delay]
    ridges = list(learnt[short])

    def lags(number: str, horizon: str, ridge: str) -> str:
        spread = learnt[horizon][ridge][number]["half_mass_lag"]
        about = "" if spread["sem"] is None else f" ± {spread['sem']:.2g}"
        return f"{spread['mean']:.2f}{about} (expected {expected[horizon][ridge][number]['half_mass_lag']:.2f})"

    where = {number: _where_broader(metrics, delay, number, short, long) for number in numbers}
    held = {number: [ridge in where[number] for ridge in ridges] for number in numbers}
    rows = [
        f"number {number}, ridge {ridge}: {lags(number, short, ridge)} -> {lags(number, long, ridge)}"
        for number in numbers
        for ridge in ridges
    ]
    return {
        "count": len(numbers),
        "delay": DELAYS[delay],
        "fed": FED[delay],
        "where": _told(held, ridges, own),
        "held": [one for number in numbers for one in held[number]],
        "ridges": len(ridges),
        "rows": "; ".join(rows),
    }


def _told(held: Mapping[str, Sequence[bool]], ridges: Sequence[str], own: str) -> str:
    """Which of the leading eigenfunctions are broader, and at which ridges, as the end of a sentence.

    Examples
    --------
    >>> _told({"1": [False, False], "2": [False, True]}, ["0", "0.01"], "0")
    ', only the second of two eigenfunctions is broader, and only at ridge 0.01 of two ridges'
    >>> _told({"1": [True, True], "2": [False, True]}, ["0", "0.01"], "0")
    ', of two eigenfunctions and two ridges, the first is broader at every ridge, the second at ridge 0.01'
    """
    count, among = number_word(len(held)), f"{number_word(len(ridges))} ridges"
    some = [number for number in held if any(held[number])]
    if not some:
        return f", none of the first {count} eigenfunctions is broader at any of {among}"
    at = {number: at_ridges(ridges, held[number], own) for number in some}
    if len(some) == 1:
        ordinal, only = ORDINALS[some[0]], "" if all(held[some[0]]) else ", and only"
        among = "" if all(held[some[0]]) else f" of {among}"
        return f", only the {ordinal} of {count} eigenfunctions is broader{only} {at[some[0]]}{among}"
    each = [f"the {ORDINALS[number]}{' is broader' * (place == 0)} {at[number]}" for place, number in enumerate(some)]
    return f", of {count} eigenfunctions and {among}, {', '.join(each)}"


def _where_broader(metrics: Mapping[str, Any], delay: str, number: str, short: str, long: str) -> list[str]:
    """The ridges at which it is broader with every seed and by theory, and the seeds' functions are the theory's.

    Without the last, noise at the far end of the window would count as a long memory.
    """
    learnt, expected = metrics["eigenfunctions"][delay], metrics["expected"]["eigenfunctions"][delay]

    def broader_at(ridge: str) -> bool:
        near, far = (learnt[horizon][ridge][number] for horizon in (short, long))
        pairs = list(zip(near["half_mass_lag"]["seeds"], far["half_mass_lag"]["seeds"], strict=True))
        pairs.append(tuple(expected[horizon][ridge][number]["half_mass_lag"] for horizon in (short, long)))
        alike = min(near["alike"]["mean"], far["alike"]["mean"])
        return alike > ALIKE and all(there > BROADER * here for here, there in pairs)

    return [ridge for ridge in learnt[short] if broader_at(ridge)]


def at_ridges(ridges: Sequence[str], held: Sequence[bool], own: str) -> str:
    """At which ridges, in words; the study's default is named as such.

    Examples
    --------
    >>> at_ridges(["0", "1e-06", "0.01"], [False, True, True], "1e-06")
    "at ridge 1e-06 (the study's default) and 0.01"
    >>> at_ridges(["0", "0.01"], [False, False], "0"), at_ridges(["0", "0.01"], [True, True], "0")
    ('at no ridge', 'at every ridge')
    """
    where = [ridge for ridge, held_here in zip(ridges, held, strict=True) if held_here]
    if len(where) in (0, len(ridges)):
        return "at every ridge" if where else "at no ridge"
    named = [f"{ridge} (the study's default)" if ridge == own else ridge for ridge in where]
    return "at ridge " + " and ".join([", ".join(named[:-1]), named[-1]] if named[:-1] else named)
