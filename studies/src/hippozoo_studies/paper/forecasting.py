"""Forecasting HiPPO: horizons shape memory, and an exact delay forecasts as well as anything can (paper, section 3.5).

The Gaussian-process mixture of the paper, its two horizons, its three systems. System 2 is fed by an `exact` delay
line, or by the `endpoint` of System 1, as the paper has it; `gp` is the exact Gaussian-process posterior, which nothing
linear can beat. Errors are means over the samples 1 to H after the present, each read in the middle of its cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import fftconvolve

from hippozoo._internal.files import write_whole
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Explanation, Forecaster, ForecasterState, GaussianForecast, explain, lead_basis
from hippozoo_studies import QUIET, Claim, Context, Departure, Result, markdown_table, over_seeds, spread_text
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.framework.words import at_most
from hippozoo_studies.paper._history_geometry import (
    DELAYS,
    expected_moments,
    geometry_claims,
    likeness,
    open_moments,
    shapes,
    shapes_beside,
)
from hippozoo_studies.paper._predictive_memory import by_place, errors_on, expected_errors, memory_claims
from hippozoo_studies.paper._weighted_horizons import weighted_claims, weighted_memories

DEPARTURES = (
    Departure(
        "what feeds System 2",
        "the left endpoint of System 1",
        "an exact delay of H samples; the endpoint as a second run of everything",
        "the endpoint smooths, and forecasts at the short horizon become worse than persistence",
    ),
    Departure(
        "ridge",
        "not given; the covariance is singular to rounding",
        "1e-6 of its mean eigenvalue; 0, 1e-4 and 1e-2 as well",
        "the eigenfunctions of Q depend on it, the forecasts do not",
    ),
    Departure("rank", "d, not given", "4", "as good as full rank"),
    Departure("whitening", "of the cross-covariance", "of the past alone", "what minimises the printed error"),
    Departure(
        "predictive memory",
        "minimum norm, whitened",
        "the likeliest past with the same forecast",
        "the Euclidean projector is uninformative here",
    ),
)
# The paper prints no numbers for this experiment; these are its settings' own optimum and persistence, exactly.
PAPER: dict[str, Any] = {}

# By how System 2 is fed, horizon and ridge.
Opened = dict[str, dict[int, dict[float, Explanation]]]


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    horizons: tuple[int, ...] = (4, 32)
    n_steps: int = 20_000
    test_steps: int = 200_000
    order: int = 64
    timescale: float = 32.0
    rank: int = 4
    ridge: float = 1e-6
    shown_ridges: tuple[float, ...] = (0.0, 1e-6, 1e-4, 1e-2)  # of the eigenfunctions
    gp_history: int = 512
    decays: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)  # of the weight over the long horizon
    weighted_ranks: tuple[int, ...] = (2, 4)

    @property
    def history(self) -> LegT:
        """Systems 2 and 3."""
        return LegT(self.order, self.timescale)

    def future(self, horizon: int) -> LegT:
        """System 1."""
        return LegT(self.order, float(horizon))


# Others look for the exact delay under this name in metrics.json.
SCORED = {"exact": "delay"}
QUICK = Config(seeds=(0,), n_steps=3_000, test_steps=5_000, shown_ridges=(0.0, 1e-4), gp_history=256)


def run(config: Config, context: Context = QUIET) -> Result:
    """Learn and test once per seed; open up the first seed for the figures."""
    process = GaussianMixture()
    theory = in_theory(config, process)
    found: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for step, seed in enumerate(config.seeds):
        context.progress(step / len(config.seeds), f"seed {seed}")
        numbers, opened, train = one_seed(config, process, theory, seed)
        found.append(numbers)
        if not arrays:
            arrays = {"opened": opened, "signal": train, "process": process, "config": config}
    metrics = over_seeds(found)
    metrics["expected"] = expected(config, process, theory)
    long, weighted = max(config.horizons), {}
    for rank in config.weighted_ranks:
        forecaster = forecaster_of(config, long, rank=rank)
        weighted[str(rank)] = weighted_memories(forecaster, process, config.decays, min(config.horizons))
    metrics["weighted"] = {rank: places for rank, (places, _) in weighted.items()}
    arrays["weighted"] = {rank: errors for rank, (_, errors) in weighted.items()}
    metrics["delay_over_gp"] = {
        f"H{h}": metrics["mse"]["delay"][f"H{h}"]["mean"] / metrics["mse"]["gp"][f"H{h}"]["mean"]
        for h in config.horizons
    }
    return Result(metrics, claims(config, metrics), arrays)


def one_seed(
    config: Config, process: GaussianMixture, theory: Opened, seed: int
) -> tuple[dict[str, Any], Opened, np.ndarray]:
    """All numbers of one seed, the learnt maps opened up, and the stream they were learnt from."""
    lengths = (config.n_steps, config.test_steps)
    train, test = (process.sample(n, np.random.default_rng([seed, part])) for part, n in enumerate(lengths))
    states, short = Memory(config.history).scan(test), min(config.horizons)
    results = {horizon: one_horizon(config, process, horizon, train, test, states) for horizon in config.horizons}
    opened = {delay: {h: open_up(at_ridges(config, h, delay), train) for h in config.horizons} for delay in DELAYS}

    def kept(projector: np.ndarray) -> dict[str, float]:
        return by_place(errors_on(test, states, config.history, projector), short)

    numbers = {key: by_horizon(results, key) for key in next(iter(results.values()))} | {
        "whole_memory": kept(np.eye(config.order)),
        "memory": each(opened, lambda _, __, ___, one: kept(one.fitted.predictive_projector)),
        "eigenfunctions": each(opened, lambda delay, h, ridge, one: shapes_beside(one, theory[delay][h][ridge])),
        "likeness_over_ridges": {
            delay: {f"H{h}": likeness(ridges.values()) for h, ridges in one.items()} for delay, one in opened.items()
        },
    }
    return numbers, opened, train


def forecaster_of(config: Config, horizon: int, **others: Any) -> Forecaster:
    """The paper's systems; zero-mean, so without an intercept."""
    settings = {"rank": config.rank, "ridge": config.ridge, "intercept": False} | others
    return Forecaster(
        config.history,
        horizon=float(horizon),
        future_order=config.order,
        warmup=config.timescale,
        **settings,
    )


def learn(forecaster: Forecaster, signal: np.ndarray) -> ForecasterState:
    """One pass."""
    return forecaster.learn(forecaster.initial_state(), signal)


def one_horizon(
    config: Config, process: GaussianMixture, horizon: int, train: np.ndarray, test: np.ndarray, states: np.ndarray
) -> dict[str, Any]:
    """Errors and bands of every method on the same test stream, of which `states` is System 3."""
    leads = np.arange(horizon) + 0.5
    begin = config.gp_history  # all methods are tested where the reference has its whole history
    origins = np.arange(begin, len(test) - horizon)
    truth = np.lib.stride_tricks.sliding_window_view(test, horizon)[origins + 1]

    forecasters = {delay: forecaster_of(config, horizon, delay=delay) for delay in DELAYS}
    learnt = {delay: learn(one, train) for delay, one in forecasters.items()}
    full = forecaster_of(config, horizon, rank=None)
    weights, variance = process.weights_of(np.arange(1, horizon + 1), config.gp_history)
    best = np.stack([fftconvolve(test, taps)[origins] for taps in weights], axis=1)
    ahead = {
        **{delay: one.replay(learnt[delay], test, leads)[origins] for delay, one in forecasters.items()},
        "persistence": np.repeat(test[origins, None], horizon, axis=1),
        "gp": best,
    }
    forecast = forecasters["exact"].forecast(learnt["exact"])
    bands = {"80": 0.8, "95": 0.95}
    half = {name: np.subtract(*forecast.band(leads, share)[::-1]) / 2 for name, share in bands.items()}
    gp = GaussianForecast(LegT(1, 1.0), np.zeros(1), np.ones((1, 1)))
    gp_half = {name: gp.band(0.5, share)[1] * np.sqrt(variance) for name, share in bands.items()}
    replayed = full.replay(learn(full, train), test, leads)[origins]
    exact = forecasters["exact"].maps(learnt["exact"])[0].forecast_map
    averages = states[origins] @ exact.T @ cell_averages(config.future(horizon)).T
    return {
        "mse": {SCORED.get(name, name): float(np.square(one - truth).mean()) for name, one in ahead.items()},
        "coverage": {name: float((np.abs(ahead["exact"] - truth) < one).mean()) for name, one in half.items()},
        "gp_coverage": {name: float((np.abs(best - truth) < one).mean()) for name, one in gp_half.items()},
        "full_rank": float(np.square(replayed - truth).mean()),
        "cell_averages": float(np.square(averages - truth).mean()),
    }


def cell_averages(future: LegT) -> np.ndarray:
    """The basis of System 1 averaged over the cell of each sample to come."""
    node, mass = np.polynomial.legendre.leggauss(16)
    leads = np.arange(int(future.timescale))[:, None] + (node + 1) / 2
    return np.einsum("q,cqn->cn", mass / 2, lead_basis(future, leads))


def at_ridges(config: Config, horizon: int, delay: str) -> Forecaster:
    """A forecaster whose map can be opened up at each ridge that is shown."""
    return forecaster_of(config, horizon, delay=delay, ridge=config.shown_ridges)


def open_up(forecaster: Forecaster, train: np.ndarray) -> dict[float, Explanation]:
    """The learnt map at each ridge, as functions of lag."""
    state = learn(forecaster, train)
    return {float(one.ridge): explain(forecaster, state, candidate=one) for one in forecaster.candidates}


def in_theory(config: Config, process: GaussianMixture) -> Opened:
    """The maps that an endless stream would teach, by the delay, the horizon and the ridge.

    ``endpoint_read_alike`` has the objective of the long horizon and the endpoint of the short one, later by the
    difference: what changes from the short horizon to it, the objective did.
    """
    found: Opened = {}
    for delay in DELAYS:
        forecasters = {horizon: at_ridges(config, horizon, delay) for horizon in config.horizons}
        found[delay] = {h: open_moments(one, expected_moments(process, one)) for h, one in forecasters.items()}
    long, read = at_ridges(config, max(config.horizons), "endpoint"), config.future(min(config.horizons))
    found["endpoint_read_alike"] = {max(config.horizons): open_moments(long, expected_moments(process, long, read))}
    return found


def each(explanations: Opened, measure: Callable[..., Any]) -> dict[str, Any]:
    """``measure(delay, horizon, ridge, explanation)`` of each, by keys that a file can have."""
    return {
        delay: {
            f"H{horizon}": {f"{ridge:g}": measure(delay, horizon, ridge, one) for ridge, one in ridges.items()}
            for horizon, ridges in horizons.items()
        }
        for delay, horizons in explanations.items()
    }


def by_horizon(results: dict[int, dict[str, Any]], key: str) -> dict[str, Any]:
    """``{method: {"H4": …}}`` for errors, ``{"H4": {…}}`` for what has no method."""
    if key != "mse":
        return {f"H{horizon}": one[key] for horizon, one in results.items()}
    methods = next(iter(results.values()))["mse"]
    return {name: {f"H{horizon}": one["mse"][name] for horizon, one in results.items()} for name in methods}


def expected(config: Config, process: GaussianMixture, theory: Opened) -> dict[str, Any]:
    """By theory, without a sample: errors of the optimum and of persistence, and what an endless stream teaches."""
    answer: dict[str, Any] = {"gp": {}, "persistence": {}}
    for horizon in config.horizons:
        leads = np.arange(1, horizon + 1)
        answer["gp"][f"H{horizon}"] = float(process.weights_of(leads, config.gp_history)[1].mean())
        answer["persistence"][f"H{horizon}"] = float((2 - 2 * process.covariance(leads)).mean())

    def kept(projector: np.ndarray) -> dict[str, float]:
        return by_place(expected_errors(process, config.history, projector), min(config.horizons))

    answer["memory"] = each(theory, lambda _, __, ___, one: kept(one.fitted.predictive_projector))
    answer["eigenfunctions"] = each(theory, lambda _, __, ___, one: shapes(one))
    return answer


CLAIMS = (
    Asked(
        "target: with an exact delay, within 1 % of the Gaussian-process optimum at both horizons",
        "",
        lambda n: n,
        lambda n: max(n["over_gp"].values()) <= 1.01,
        "{over_gp_text}",
    ),
    Asked(
        "target: 80 % and 95 % bands have their nominal coverage, within 2 points (exact delay)",
        "",
        lambda n: n,
        lambda n: max(n["off_80"], n["off_95"]) < 0.02,
        "off by at most {most_80} and {most_95}",
    ),
    Asked(
        "ours: as printed (endpoint of System 1), forecasts are better than persistence at both horizons",
        "",
        lambda n: n,
        lambda n: all(ours < theirs for ours, theirs in n["endpoint"].values()),
        "{endpoint_text}",
    ),
    Asked(
        "ours: reading the average of a cell instead of its middle changes the error by less than 0.1 %",
        "",
        lambda n: n,
        lambda n: all(abs(average / middle - 1) < 1e-3 for average, middle in n["cells"].values()),
        "{cells_text}",
    ),
    Asked(
        "a low-rank map is enough (exact delay)",
        "",
        lambda n: n,
        lambda n: max(n["over_full"].values()) < 1.01,
        "rank {rank} over full rank: {over_full_text}",
    ),
    Asked(
        "both forecasters' memories reconstruct the recent history accurately (System 3, lags below 4)",
        "both short- and long-horizon forecasters can accurately reconstruct the recent history",
        lambda n: n,
        lambda n: n["near"] < 0.05,
        "The memory that both read from reconstructs lags below 4 with a mean squared error of {near:.4f} of a "
        "variance of 1.",
    ),
)


def claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    """The paper's sentences one by one, our targets, and what is ours to say."""
    short, long = (f"H{h}" for h in (min(config.horizons), max(config.horizons)))
    own = f"{config.ridge:g}"
    return [
        *answers(CLAIMS, _numbers(config, metrics, (short, long))),
        *memory_claims(metrics, short, long, own, config.n_steps),
        *geometry_claims(metrics, short, long, own),
        *weighted_claims(metrics["weighted"]),
    ]


def _numbers(config: Config, metrics: dict[str, Any], horizons: tuple[str, str]) -> dict[str, Any]:
    """What the claims about errors look at, and the same as text."""

    def mean(*path: str) -> float:
        found: Any = metrics
        for key in path:
            found = found[key]
        return found["mean"]

    def texts(pairs: dict[str, tuple[float, float]], form: str) -> str:
        return ", ".join(f"{h}: {one:{form}} against {other:{form}}" for h, (one, other) in pairs.items())

    off = {name: max(abs(mean("coverage", h, name) - int(name) / 100) for h in horizons) for name in ("80", "95")}
    endpoint = {h: (mean("mse", "endpoint", h), mean("mse", "persistence", h)) for h in horizons}
    cells = {h: (mean("cell_averages", h), mean("mse", "delay", h)) for h in horizons}
    over_full = {h: mean("mse", "delay", h) / mean("full_rank", h) for h in horizons}
    return {
        "over_gp": metrics["delay_over_gp"],
        "over_gp_text": ", ".join(f"{h}: ratio {value:.4f}" for h, value in metrics["delay_over_gp"].items()),
        "off_80": off["80"],
        "off_95": off["95"],
        "most_80": at_most(off["80"], 4),
        "most_95": at_most(off["95"], 4),
        "endpoint": endpoint,
        "endpoint_text": texts(endpoint, ".3f"),
        "cells": cells,
        "cells_text": texts(cells, ".5f"),
        "rank": config.rank,
        "over_full": over_full,
        "over_full_text": ", ".join(f"{h} {value:.4f}" for h, value in over_full.items()),
        "near": mean("whole_memory", "near"),
    }


def table(result: Result) -> str:
    """Errors of every method at both horizons, beside what theory expects."""
    metrics = result.metrics
    words = {
        "delay": "Forecasting HiPPO, exact delay",
        "endpoint": "Forecasting HiPPO, endpoint (as printed)",
        "persistence": "persistence",
        "gp": "Gaussian-process posterior, the optimum",
    }
    rows = []
    for name, by_horizon in metrics["mse"].items():
        expected = metrics["expected"].get(name, {})
        cells = [
            [spread_text(one, ".4f"), f"{expected[h]:.4f}" if h in expected else ""] for h, one in by_horizon.items()
        ]
        rows.append([words[name], *cells[0], *cells[1]])
    heads = [f"{h.replace('H', 'horizon ')}{more}" for h in metrics["mse"]["gp"] for more in ("", ", by theory")]
    return (
        f"{markdown_table(['method', *heads], rows)}\n\n"
        "Mean squared error over all leads, mean ± standard error over seeds. "
        "The paper prints pictures and no numbers.\n"
    )


def report(result: Result, folder: Path) -> None:
    """Figure A (schematic), B (predictive memories and forecasts) and C (geometry)."""
    from hippozoo_studies.paper import _forecasting_figures as figures
    from hippozoo_studies.paper import _weighted_horizons as weighted_horizons

    config: Config = result.arrays["config"]
    write_whole(folder / "table.md", table(result).encode())
    opened, signal, process = (result.arrays[key] for key in ("opened", "signal", "process"))
    figures.draw_schematic(config.horizons, config.timescale, folder)
    for delay in DELAYS:
        forecasters = {h: forecaster_of(config, h, delay=delay) for h in config.horizons}
        figures.draw_predictive_memory(forecasters, delay, signal, process, folder)
        figures.draw_geometry(opened[delay], delay, config.ridge, folder)
    figures.draw_history_kernels(opened, folder)
    whole = expected_errors(process, config.history, np.eye(config.order))
    weighted_horizons.draw(result.arrays["weighted"], whole, float(max(config.horizons)), folder)
