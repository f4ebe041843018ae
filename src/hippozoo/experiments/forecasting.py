"""Forecasting HiPPO: horizons shape memory, and an exact delay forecasts as well as anything can (paper, section 3.5).

The Gaussian-process mixture of the paper, its two horizons, its three systems. `delay` is the exact delay line,
`endpoint` the paper's reading of System 1; `gp` the exact Gaussian-process posterior, which nothing linear can beat.
Errors are means over the samples 1 to H after the present, each read in the middle of its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import fftconvolve

from hippozoo.experiments import QUIET, Claim, Context, Result, over_seeds, save_figure
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Explanation, Forecast, Forecaster, ForecasterState, explain

# The paper prints no numbers for this experiment; these are its settings' own optimum and persistence, exactly.
PAPER: dict[str, Any] = {}


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


QUICK = Config(seeds=(0,), n_steps=3_000, test_steps=5_000, shown_ridges=(0.0, 1e-4), gp_history=256)


def run(config: Config, context: Context = QUIET) -> Result:
    """Learn and test once per seed; open up the first seed for the figure."""
    process = GaussianMixture()
    found: dict[str, list[dict[str, Any]]] = {"mse": [], "coverage": [], "gp_coverage": [], "full_rank": []}
    arrays: dict[str, Any] = {}
    shapes: dict[str, list[dict[str, Any]]] = {"memory": [], "widths": [], "likeness_over_ridges": []}
    for step, seed in enumerate(config.seeds):
        context.progress(step / len(config.seeds), f"seed {seed}")
        train, test = (process.sample(n, np.random.default_rng([seed, part])) for part, n in enumerate(lengths(config)))
        results = {horizon: one_horizon(config, process, horizon, train, test) for horizon in config.horizons}
        for key in found:
            found[key].append(by_horizon(results, key))
        opened = {horizon: results[horizon]["explanations"] for horizon in config.horizons}
        shapes["memory"].append(memory_shape(config, results, test))
        shapes["widths"].append(
            {f"H{h}": {f"{r:g}": width(config, e) for r, e in one.items()} for h, one in opened.items()}
        )
        shapes["likeness_over_ridges"].append({f"H{h}": likeness(config, one) for h, one in opened.items()})
        if not arrays:
            arrays = {"results": results, "signal": train, "process": process, "config": config}
    metrics: dict[str, Any] = {key: over_seeds(values) for key, values in found.items()}
    metrics |= {key: over_seeds(values) for key, values in shapes.items()}
    metrics["expected"] = expected(config, process)
    metrics["delay_over_gp"] = {
        f"H{h}": metrics["mse"]["delay"][f"H{h}"]["mean"] / metrics["mse"]["gp"][f"H{h}"]["mean"]
        for h in config.horizons
    }
    return Result(metrics, claims(config, metrics), arrays)


def lengths(config: Config) -> tuple[int, int]:
    """Samples to learn from and to test on."""
    return config.n_steps, config.test_steps


def forecaster_of(config: Config, horizon: int, **others: Any) -> Forecaster:
    """The paper's systems; zero-mean, so without an intercept."""
    settings = {"rank": config.rank, "ridge": config.ridge, "intercept": False} | others
    return Forecaster(
        LegT(config.order, config.timescale),
        horizon=float(horizon),
        future_order=config.order,
        warmup=config.timescale,
        **settings,
    )


def learn(forecaster: Forecaster, signal: np.ndarray) -> ForecasterState:
    """One pass."""
    return forecaster.learn(forecaster.initial_state(), signal)


def one_horizon(
    config: Config, process: GaussianMixture, horizon: int, train: np.ndarray, test: np.ndarray
) -> dict[str, Any]:
    """Errors and bands of every method on the same test stream, and the learnt maps opened up."""
    leads = np.arange(horizon) + 0.5
    begin = config.gp_history  # all methods are tested where the reference has its whole history
    origins = np.arange(begin, len(test) - horizon)
    truth = np.lib.stride_tricks.sliding_window_view(test, horizon)[origins + 1]

    exact = forecaster_of(config, horizon)
    state = learn(exact, train)
    endpoint = forecaster_of(config, horizon, delay="endpoint")
    full = forecaster_of(config, horizon, rank=None)
    weights, variance = process.weights_of(np.arange(1, horizon + 1), config.gp_history)
    best = np.stack([fftconvolve(test, taps)[origins] for taps in weights], axis=1)
    ahead = {
        "delay": exact.replay(state, test, leads)[origins],
        "endpoint": endpoint.replay(learn(endpoint, train), test, leads)[origins],
        "persistence": np.repeat(test[origins, None], horizon, axis=1),
        "gp": best,
    }
    forecast = exact.forecast(state)
    bands = {"80": 0.8, "95": 0.95}
    half = {name: np.subtract(*forecast.band(leads, share)[::-1]) / 2 for name, share in bands.items()}
    gp = Forecast(LegT(1, 1.0), np.zeros(1), np.ones((1, 1)))
    gp_half = {name: gp.band(0.5, share)[1] * np.sqrt(variance) for name, share in bands.items()}
    replayed = full.replay(learn(full, train), test, leads)[origins]
    return {
        "mse": {name: float(np.square(one - truth).mean()) for name, one in ahead.items()},
        "coverage": {name: float((np.abs(ahead["delay"] - truth) < one).mean()) for name, one in half.items()},
        "gp_coverage": {name: float((np.abs(best - truth) < one).mean()) for name, one in gp_half.items()},
        "full_rank": float(np.square(replayed - truth).mean()),
        "forecaster": exact,
        "state": state,
        "explanations": {ridge: opened(config, horizon, train, ridge) for ridge in config.shown_ridges},
    }


def opened(config: Config, horizon: int, train: np.ndarray, ridge: float) -> Explanation:
    """The learnt map at one ridge, as functions of lag."""
    forecaster = forecaster_of(config, horizon, ridge=ridge)
    return explain(forecaster, learn(forecaster, train))


def by_horizon(results: dict[int, dict[str, Any]], key: str) -> dict[str, Any]:
    """``{method: {"H4": …}}`` for errors, ``{"H4": {…}}`` for what has no method."""
    if key != "mse":
        return {f"H{horizon}": one[key] for horizon, one in results.items()}
    methods = next(iter(results.values()))["mse"]
    return {name: {f"H{horizon}": one["mse"][name] for horizon, one in results.items()} for name in methods}


def memory_shape(config: Config, results: dict[int, dict[str, Any]], test: np.ndarray) -> dict[str, Any]:
    """Mean squared error of each predictive memory against the true past, at near and at far lags, and its detail.

    Over many presents of the test stream: the projector applied to the states, decoded at the middles of cells.
    """
    count = int(config.timescale)
    lags = np.arange(count) + 0.5
    basis = LegT(config.order, config.timescale).basis(lags)
    presents = np.arange(4 * count, len(test), 7)
    past = np.lib.stride_tricks.sliding_window_view(test, count)[presents - count + 1][:, ::-1]
    states = Memory(LegT(config.order, config.timescale)).scan(test)[presents]
    places = {"newest": lags < 1, "near": lags < min(config.horizons), "far": lags > count / 2}

    def errors(kept: np.ndarray) -> dict[str, float]:
        return {name: float(np.square(kept - past)[:, where].mean()) for name, where in places.items()}

    shape: dict[str, Any] = {"all_of_it": errors(states @ basis.T)}
    for horizon, one in results.items():
        projector = one["forecaster"].maps(one["state"])[0].predictive_projector
        shape[f"H{horizon}"] = errors(states @ projector.T @ basis.T)
    return shape


def width(config: Config, explanation: Explanation) -> float:
    """The lag before which half of the first eigenfunction's square lies."""
    lags = np.linspace(0.0, config.timescale, 4001)
    _, functions = explanation.eigenfunctions(lags, 1)
    mass = np.cumsum(functions[0] ** 2)
    return float(lags[np.searchsorted(mass, mass[-1] / 2)])


def likeness(config: Config, explanations: dict[float, Explanation]) -> dict[str, float]:
    """Least agreement (absolute cosine) of the first pattern, and of the first eigenfunction, over all ridges."""
    lags = np.linspace(0.0, config.timescale, 2001)
    found = {
        "patterns": np.stack([one.patterns(lags)[0] for one in explanations.values()]),
        "eigenfunctions": np.stack([one.eigenfunctions(lags, 1)[1][0] for one in explanations.values()]),
    }
    directions = {name: one / np.linalg.norm(one, axis=1, keepdims=True) for name, one in found.items()}
    return {name: float(np.abs(one @ one.T).min()) for name, one in directions.items()}


def expected(config: Config, process: GaussianMixture) -> dict[str, Any]:
    """Errors of the optimum and of persistence by theory, without a sample."""
    answer: dict[str, Any] = {"gp": {}, "persistence": {}}
    for horizon in config.horizons:
        leads = np.arange(1, horizon + 1)
        answer["gp"][f"H{horizon}"] = float(process.weights_of(leads, config.gp_history)[1].mean())
        answer["persistence"][f"H{horizon}"] = float((2 - 2 * process.covariance(leads)).mean())
    return answer


def claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    """The paper's sentences one by one, and our targets."""
    short, long = (f"H{h}" for h in (min(config.horizons), max(config.horizons)))
    both = (short, long)
    mse, memory, widths = metrics["mse"], metrics["memory"], metrics["widths"]

    def mean(*path: str) -> float:
        found: Any = metrics
        for key in path:
            found = found[key]
        return found["mean"]

    ratios = metrics["delay_over_gp"]
    off = {name: max(abs(mean("coverage", h, name) - int(name) / 100) for h in both) for name in ("80", "95")}
    wider = {ridge: mean("widths", long, ridge) / mean("widths", short, ridge) for ridge in widths[short]}
    return [
        Claim(
            "target: with an exact delay, within 1 % of the Gaussian-process optimum at both horizons",
            max(ratios.values()) <= 1.01,
            ", ".join(f"{h}: ratio {value:.4f}" for h, value in ratios.items()),
        ),
        Claim(
            "target: 80 % and 95 % bands hold what they promise, within 2 points",
            max(off.values()) < 0.02,
            f"off by at most {off['80']:.4f} and {off['95']:.4f}",
        ),
        Claim(
            "as printed (endpoint of System 1), forecasts are useful: better than persistence at both horizons",
            all(mse["endpoint"][h]["mean"] < mse["persistence"][h]["mean"] for h in both),
            ", ".join(
                f"{h}: {mse['endpoint'][h]['mean']:.3f} against {mse['persistence'][h]['mean']:.3f}" for h in both
            ),
        ),
        Claim(
            "a low-rank map is enough",
            all(mse["delay"][h]["mean"] < 1.01 * metrics["full_rank"][h]["mean"] for h in both),
            f"rank {config.rank} over full rank: "
            + ", ".join(f"{h} {mse['delay'][h]['mean'] / metrics['full_rank'][h]['mean']:.4f}" for h in both),
        ),
        Claim(
            "both forecasters' memories reconstruct the recent history accurately (System 3, lags below 4)",
            memory["all_of_it"]["near"]["mean"] < 0.05,
            f"mean squared error {memory['all_of_it']['near']['mean']:.4f} of a variance of 1",
        ),
        Claim(
            "the short-horizon predictive memory keeps more detail at small lags",
            memory[short]["near"]["mean"] < memory[long]["near"]["mean"],
            f"error at lags below {min(config.horizons)}: "
            f"{mean('memory', short, 'near'):.4f} against {mean('memory', long, 'near'):.4f}; at the newest sample "
            f"{mean('memory', short, 'newest'):.4f} against {mean('memory', long, 'newest'):.4f}",
        ),
        Claim(
            "the long-horizon predictive memory reaches further into the past",
            memory[long]["far"]["mean"] < memory[short]["far"]["mean"],
            f"error in the older half: {memory[long]['far']['mean']:.4f} against {memory[short]['far']['mean']:.4f}",
        ),
        Claim(
            "the first eigenfunction of Q is broader for the long horizon, whatever the ridge",
            all(ratio > 1.2 for ratio in wider.values()),
            "half-mass lag, long over short: " + ", ".join(f"ridge {r}: {ratio:.2f}" for r, ratio in wider.items()),
        ),
        Claim(
            "ours: the first pattern of the past is the same at every ridge, where the first eigenfunction is not",
            all(
                mean("likeness_over_ridges", h, "patterns") > 0.99 > mean("likeness_over_ridges", h, "eigenfunctions")
                for h in both
            ),
            ", ".join(
                f"{h}: least cosine {mean('likeness_over_ridges', h, 'patterns'):.4f} "
                f"against {mean('likeness_over_ridges', h, 'eigenfunctions'):.4f}"
                for h in both
            ),
        ),
    ]


def report(result: Result, folder: Path) -> None:
    """Figure A (schematic), B (predictive memories and forecasts) and C (geometry)."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import ink, style
    from hippozoo.zoo.forecasting import plots

    config: Config = result.arrays["config"]
    results, signal, process = (result.arrays[key] for key in ("results", "signal", "process"))
    lags = np.linspace(0.0, config.timescale, 800)
    with style():
        figure = Figure(figsize=(10, 2.4), layout="constrained")
        for ax, horizon in zip(figure.subplots(1, 2, width_ratios=[1, 1.5]), config.horizons, strict=True):
            plots.plot_schematic(float(horizon), config.timescale, ax=ax)
            ax.set(title=f"horizon {horizon}", xlabel="time from the present (samples)")
        save_figure(figure, folder, "a-schematic")

        figure = Figure(figsize=(10, 5.6), layout="constrained")
        for row, horizon in zip(figure.subplots(2, 2, width_ratios=[3, 2]), config.horizons, strict=True):
            one = results[horizon]
            present = len(signal) - max(config.horizons)  # so that the truth is known
            forecaster: Forecaster = one["forecaster"]
            learnt = learn(forecaster, signal[:present])
            seen = explain(forecaster, learnt)
            ahead = forecaster.forecast(learnt)
            past, future = signal[present - int(config.timescale) : present], signal[present : present + horizon]
            plots.plot_forecast(ahead, past, future, label="forecast", ax=row[0])
            plots.plot_predictive_memory(seen, lags, color="C1", ax=row[0])
            mean, variance = process.forecast(signal[:present], np.arange(1, horizon + 1))
            middles = np.arange(horizon) + 0.5
            row[0].errorbar(
                middles, mean, 1.2816 * np.sqrt(variance), fmt=".", color="C2", markersize=3, linewidth=0.7,
                label="GP posterior, 80 %",
            )  # fmt: skip
            title = f"horizon {horizon}: what is kept, and what is forecast"
            row[0].set(title=title, xlabel="time from the present (samples)")
            row[0].legend(fontsize=7.5, ncols=2)
            plots.plot_patterns(seen, lags, ax=row[1])
            row[1].set(title="patterns of the past it looks for", xlabel="lag (samples)")
            row[1].legend(fontsize=7.5)
        save_figure(figure, folder, "b-predictive-memory")

        shown = config.shown_ridges
        figure = Figure(figsize=(2.5 * (len(shown) + 1), 4.6), layout="constrained")
        grid = figure.subplots(len(config.horizons), len(shown) + 1, sharex=True, squeeze=False)
        for row, horizon in zip(grid, config.horizons, strict=True):
            explanations = results[horizon]["explanations"]
            for ax, ridge in zip(row, shown, strict=False):
                plots.plot_eigenfunctions(explanations[ridge], lags, ax=ax)
                ax.set_title(f"H = {horizon}, ridge {ridge:g}")
                ax.set_ylabel("eigenfunction of Q" if ridge == shown[0] else "")
            for ridge in shown:
                plots.plot_patterns(explanations[ridge], lags, ax=row[-1])
            row[-1].set(title="patterns, all ridges", ylabel="")
            for ax in row:
                ax.axhline(0.0, color=ink(), linewidth=0.5)
                ax.set_xlabel("lag (samples)" if horizon == config.horizons[-1] else "")
        save_figure(figure, folder, "c-geometry")

        figure = Figure(figsize=(8, 3), layout="constrained")
        for ax, horizon in zip(figure.subplots(1, 2), config.horizons, strict=True):
            seen = results[horizon]["explanations"][shown[-2]]
            grid_lags = np.linspace(0.0, config.timescale, 200)
            kernel = seen.history_kernel(grid_lags)
            limit = np.abs(kernel).max()
            picture = ax.pcolormesh(
                grid_lags, grid_lags, kernel, cmap="RdBu_r", vmin=-limit, vmax=limit, rasterized=True
            )
            figure.colorbar(picture, ax=ax)
            ax.set(xlabel="lag (samples)", ylabel="lag (samples)")
            ax.set_title(f"history kernel, H = {horizon}, ridge {shown[-2]:g}")
            ax.grid(visible=False)
        save_figure(figure, folder, "c-history-kernel")
