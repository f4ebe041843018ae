"""The paper's sentences about multiscale memories, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import at_most

__all__ = ["MATCHES", "TIMES", "claims", "plain_names", "worst_ratio"]

TIMES = {"paper_time": "the paper's time", "cell_time": "cell time"}
#: "Matches", as a ratio of errors.
MATCHES = 1.01
OTHERS = ("basic", "jeffreys")

Numbers = Mapping[str, Any]


def plain_names(config: Any) -> list[str]:
    """The names of the fixed windows."""
    return [f"plain_{timescale}" for timescale in config.plain]


def worst_ratio(curves: Numbers, name: str, others: list[str]) -> float:
    """The largest ratio of a curve to the best of others, over the horizons."""
    return max(_ratios(curves, name, others).values())


def _ratios(curves: Numbers, name: str, others: list[str]) -> dict[Any, float]:
    return {h: one["mean"] / min(curves[other][h]["mean"] for other in others) for h, one in curves[name].items()}


def _seeds_text(config: Any) -> str:
    return "one seed" if len(config.seeds) == 1 else f"{len(config.seeds)} seeds"


def _by_time(found: Mapping[str, Any], form: str = "{}") -> str:
    return " and ".join(f"{form.format(one)} (in {TIMES[time]})" for time, one in found.items())


def matching(name: str) -> Callable[..., Numbers]:
    """A log-timescale memory beside the plain one of every horizon: in expectation, and on the signals of all seeds."""

    def numbers(config: Any, metrics: Numbers) -> Numbers:
        asked = list(metrics["mse"]["paper_time"][name])
        seen = metrics["of_each_seed"][f"{name}_over_plain_of_horizon"]
        ratios = {time: _ratios(one, name, ["plain_of_horizon"]) for time, one in metrics["mse"].items()}
        return {
            "decades": np.log10(max(asked) / min(asked)),
            "scales": config.scales if name == "log" else config.scales_wide,
            "expected": 1 + metrics["expected_worst_excess"][name],
            "expected_most": at_most(1 + metrics["expected_worst_excess"][name], 4),
            "matches": MATCHES,
            "in_papers_time": max(ratios["paper_time"].values()),
            "pooled": _by_time({time: max(one.values()) for time, one in ratios.items()}, "{:.3f}"),
            "where": _by_time({time: max(one, key=one.__getitem__) for time, one in ratios.items()}, "{:,}"),
            "each": _by_time(
                {time: f"{min(one['seeds']):.3f} to {max(one['seeds']):.3f}" for time, one in seen.items()}
            ),
            "horizons": len(asked),
            "seeds": _seeds_text(config),
        }

    return numbers


def _match_row(name: str) -> Asked:
    return Asked(
        "log-timescale matches or beats every plain system at every horizon, over {decades:.1f} decades, with {scales} "
        "scales",
        "a single Multiscale HiPPO system matches or improves upon the reconstruction error of all single-scale "
        "baselines across horizons",
        matching(name),
        lambda n: [n["expected"] <= MATCHES, n["in_papers_time"] <= MATCHES],
        "With {scales} scales over {decades:.1f} decades its expected error is at most {expected_most} times that of "
        "the plain system made for the horizon; up to {matches} counts as a match. That is computed without a "
        "simulation, for a signal like the paper's (Ornstein-Uhlenbeck processes, log-uniform time constants), errors "
        "weighted over the window. On the signals of {seeds} together it is at most {pooled} times, of {horizons} "
        "horizons at {where}; one seed by itself has at most {each}.",
    )


def beside_others(config: Any, metrics: Numbers) -> Numbers:
    """Log-timescale beside the basic and Jeffreys constructions."""
    mse = metrics["mse"]
    longest = max(mse["paper_time"]["log"])
    behind = {time: worst_ratio(one, "log", list(OTHERS)) for time, one in mse.items()}
    ahead = [
        all(one["log"][h]["mean"] < 0.99 * one[name][h]["mean"] for one in mse.values() for name in OTHERS)
        for h in mse["paper_time"]["log"]
    ]
    gain = [min(one[name][longest]["mean"] for name in OTHERS) / one["log"][longest]["mean"] for one in mse.values()]
    return {
        "behind": list(behind.values()),
        "behind_most": at_most(100 * (max(behind.values()) - 1), 1),
        "ahead": ahead,
        "times_ahead": sum(ahead),
        "horizons": len(ahead),
        "longest": longest,
        "gains": gain,
        "gain": min(gain),
        "scales": config.scales,
    }


def away_from_home(config: Any, metrics: Numbers) -> Numbers:
    """Plain systems at horizons a decade and more from their own, over the plain system made for these."""
    ratios = {
        time: [
            one[f"plain_{timescale}"][h]["mean"] / one["plain_of_horizon"][h]["mean"]
            for timescale in config.plain
            for h in one["log"]
            if max(h / timescale, timescale / h) >= 10
        ]
        for time, one in metrics["mse"].items()
    }
    each = [f"{min(one):.2f} to {max(one):.1f} in {TIMES[time]}" for time, one in ratios.items()]
    least, most = ([choose(one) for one in ratios.values()] for choose in (min, max))
    return {"least": least, "lowest": min(least), "highest": max(most), "each": ", ".join(each)}


def accuracy(config: Any, metrics: Numbers) -> Numbers:
    """How large the error of log-timescale is, and how far from what its coefficients allow."""
    means = [cell["mean"] for one in metrics["mse"].values() for cell in one["log"].values()]
    largest = [max(cell["mean"] for cell in one["log"].values()) for one in metrics["mse"].values()]
    return {
        "expected": 1 + metrics["expected_worst_excess"]["log"],
        "expected_most": at_most(1 + metrics["expected_worst_excess"]["log"], 4),
        "seen_most": at_most(max(metrics["log_over_plain_of_horizon"].values()), 3),
        "seeds": _seeds_text(config),
        "least": min(means),
        "largest": largest,
        "most": max(largest),
        "order": config.order,
    }


def spread_of_timescales(config: Any, metrics: Numbers) -> Numbers:
    """How far the timescales are from log-uniform and from the arcsine law, beside those of the basic construction."""
    found = metrics["distance_of_timescales_from"]
    return {**found["log"], "basic": found["basic"]["log_uniform"]}


def sizes(config: Any, metrics: Numbers) -> Numbers:
    """Numbers kept, beside a bank of geometric windows."""
    bank = metrics["bank_over_plain_of_horizon"]
    return {
        "log": metrics["numbers_stored"]["log"],
        "bank": metrics["numbers_stored"]["bank"],
        "expected": 1 + metrics["expected_worst_excess"]["log"],
        "bank_expected": 1 + metrics["expected_worst_excess"]["bank"],
        "bank_most": at_most(1 + metrics["expected_worst_excess"]["bank"], 3),
        "matches": MATCHES,
        "seeds": _seeds_text(config),
        "worst_most": at_most(max(bank.values()), 2),
        "each": ", ".join(f"{bank[time]:.3f} in {TIMES[time]}" for time in metrics["mse"]),
    }


CLAIMS = (
    _match_row("log"),
    _match_row("log_wide"),
    Asked(
        "log-timescale consistently outperforms the basic and Jeffreys constructions",
        "The log-timescale Multiscale HiPPO variant consistently outperforms the basic and Jeffreys-style variants",
        beside_others,
        lambda n: [ratio <= MATCHES for ratio in n["behind"]] + [any(n["ahead"]), all(n["ahead"])],
        "It is at most {behind_most} % behind the better of them, and ahead of both by more than 1 % at "
        "{times_ahead} of {horizons} horizons, at {longest:,} by a factor of {gain:.2f}.",
    ),
    Asked(
        "plain systems are accurate near their own horizon only",
        "Single-timescale HiPPO systems are only accurate near their intrinsic horizon",
        away_from_home,
        lambda n: [one > 1.1 for one in n["least"]],
        "At horizons a decade or more away from their own their error is {lowest:.2f} to {highest:.0f} times that of "
        "the plain system made for that horizon. By convention of time: {each}.",
    ),
    Asked(
        "log-timescale is accurate at every horizon: as good as 16 coefficients allow, and below half of the variance",
        "Multiscale HiPPO produces accurate reconstructions across all queried scales",
        accuracy,
        lambda n: [n["expected"] <= MATCHES, *(most < 0.5 for most in n["largest"])],
        "At every horizon it is as good as the plain system made for it (at most {expected_most} times its error in "
        "expectation, and {seen_most} times on the signals of {seeds}), but that error grows from {least:.3f} to "
        "{most:.2f} of a variance of 1, where up to 0.5 counts as accurate: {order} coefficients cannot represent a "
        "long past any better.",
    ),
    Asked(
        "with as many scales, log-timescale resolves long horizons better than the other two",
        "allowing substantially more resolution at long horizons for a fixed scale dimension M",
        beside_others,
        lambda n: [ratio > 1.05 for ratio in n["gains"]],
        "At horizon {longest:,}, with {scales} scales each, the error of the better of the two others is {gain:.2f} "
        "times that of log-timescale.",
    ),
    Asked(
        "the timescales of the log construction are approximately log-uniform",
        "effective timescales are approximately log-uniformly distributed",
        spread_of_timescales,
        lambda n: [n["log_uniform"] < n["basic"] / 2, n["log_uniform"] < n["arcsine"]],
        "Their distribution is {log_uniform:.2f} off log-uniform (largest distance), that of the basic construction "
        "{basic:.2f}, but it is not log-uniform: it follows the arcsine law in the logarithm to {arcsine:.3f}, crowded "
        "at both ends.",
    ),
    Asked(
        "one state represents every horizon, and no bank of half its size does as well",
        "Multiscale HiPPO learns a parsimonious, explicit representation over a continuum of timescales",
        sizes,
        lambda n: [n["expected"] <= MATCHES, n["bank_expected"] > MATCHES or n["bank"] > n["log"] / 2],
        "It represents every horizon as well as a plain system made for it, but in {log:,} numbers; a bank of {bank} "
        "at geometric windows has at most {bank_most} times the error of those systems in expectation, where "
        "up to {matches} counts as a match, and {worst_most} times on the signals of {seeds}. By convention of time: "
        "{each}.",
    ),
)


def claims(config: Any, metrics: Numbers) -> list[Claim]:
    """The paper's sentences, one by one; where time matters, in both conventions."""
    return answers(CLAIMS, config, metrics)
