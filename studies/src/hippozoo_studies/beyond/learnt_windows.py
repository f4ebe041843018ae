"""Learnt windows: how long a past serves a horizon, learnt through the forecast (beyond the paper, section 3.5).

The paper forecasts its Gaussian-process mixture from a window of 32 samples, whatever the horizon. Here the window is
learnt for each horizon: states of a memory with a trainable timescale go into `ForecastLayer`, whose reduced-rank map
is fitted in closed form to segments of the first half of the training stream; the error on segments of the second half
falls by gradient steps on the timescale, through the fit. Few segments would favour short windows, whose coefficients
are easier to estimate: a batch has about as many samples as the stream. Then the map is fitted once more to the whole
training stream, at the window learnt and at fixed ones, and all are tested on a stream of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hippozoo._internal.files import write_whole
from hippozoo.memory import Memory, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.training import Plan, report_to, train
from hippozoo.zoo.forecasting import ForecastLayer, Moments, reduced_rank
from hippozoo_studies import (
    QUIET,
    Claim,
    Context,
    Finished,
    Result,
    drawing,
    markdown_table,
    over_seeds,
    select,
    spread_text,
)
from hippozoo_studies.framework.claims import Asked, answers

PAPER: dict[str, Any] = {"window": 32.0}
SELECTS = ("seeds", "horizons", "starts")
ASSEMBLES_PARTS = True


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    horizons: tuple[int, ...] = (4, 32)
    # Where the window begins: the paper's, and four times as long.
    starts: tuple[float, ...] = (32.0, 128.0)
    # Fixed windows beside the learnt one; the paper's among them.
    windows: tuple[float, ...] = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
    order: int = 64
    rank: int = 4
    ridge: float = 1e-6
    n_steps: int = 20_000
    test_steps: int = 50_000
    gradient_steps: int = 160
    rate: float = 0.05
    segments: int = 32
    # Samples of a segment, and those at its beginning in which the memory fills.
    segment: int = 768
    filling: int = 256


QUICK = Config(
    seeds=(0,),
    starts=(32.0,),
    windows=(16.0, 32.0),
    order=8,
    n_steps=2_000,
    test_steps=2_000,
    gradient_steps=2,
    segments=4,
)


def units(config: Config) -> list[dict[str, Any]]:
    """Every horizon from every start, seed by seed."""
    return [
        {"horizon": horizon, "start": start, "seed": seed}
        for seed in config.seeds
        for horizon in config.horizons
        for start in config.starts
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Learn one window, and test it beside fixed ones."""
    horizon, seed = unit["horizon"], unit["seed"]
    process = GaussianMixture()
    lengths = (config.n_steps, config.test_steps)
    stream, test = (process.sample(n, np.random.default_rng([seed, part])) for part, n in enumerate(lengths))
    layer = MemoryLayer(LegT(config.order, unit["start"]), channels=1, trainable_timescale=True)
    head = ForecastLayer(config.rank, config.ridge)
    windows = [unit["start"]]

    def batch(step: int, rng: np.random.Generator) -> torch.Tensor:
        # To fit and to judge from different halves of the stream, so that no sample serves both.
        middle = len(stream) // 2
        begin = rng.integers(middle - config.segment, size=config.segments)
        begin[config.segments // 2 :] += middle
        return torch.from_numpy(stream[begin[:, None] + np.arange(config.segment)]).float()

    def loss(model: Any, signals: torch.Tensor) -> torch.Tensor:
        windows.append(model.timescale)
        states = model(signals[..., None])[0][:, config.filling : -horizon, 0]
        futures = signals.unfold(1, horizon, 1)[:, config.filling + 1 :]
        half = len(signals) // 2
        errors = head(states[:half], futures[:half], states[half:]) - futures[half:]
        return errors.square().mean()

    plan = Plan(
        steps=config.gradient_steps,
        rate=config.rate,
        seed=seed,
        weight_decay=0.0,
        schedule="cosine",
        validate_every=config.gradient_steps,
    )
    train(layer, batch, loss, plan, on_progress=report_to(context.progress))
    learnt = float(layer.timescale)
    windows.append(learnt)
    return {
        "window": learnt,
        "mse": held_out_error(config, learnt, horizon, stream, test),
        "fixed": {f"{one:g}": held_out_error(config, one, horizon, stream, test) for one in config.windows},
        "path": [float(f"{one:.5g}") for one in windows],
    }


def held_out_error(config: Config, window: float, horizon: int, stream: np.ndarray, test: np.ndarray) -> float:
    """Mean squared error over the samples 1 to H ahead, on a stream that nothing was learnt from."""
    memory = Memory(LegT(config.order, window))
    x, y = pairs(memory, stream, horizon)
    fitted = reduced_rank(Moments.empty(config.order, horizon).add(x, y), config.rank, config.ridge)
    x, y = pairs(memory, test, horizon)
    return float(np.square(x @ fitted.forecast_map.T + fitted.intercept - y).mean())


def pairs(memory: Memory, signal: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """States, and the samples 1 to H after each; those in which the longest fixed window fills are left out."""
    begin = min(1_000, len(signal) // 4)
    futures = np.lib.stride_tricks.sliding_window_view(signal[1:], horizon)
    return memory.scan(signal)[begin : len(futures)], futures[begin:]


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Windows and errors by horizon, over the seeds that are there."""
    metrics: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for horizon in config.horizons:
        for start in config.starts:
            found = [one.result for one in select(finished, horizon=horizon, start=start)]
            if found:
                row = metrics.setdefault(f"H{horizon}", {"fixed": over_seeds(one["fixed"] for one in found)})
                row[f"from_{start:g}"] = {
                    "window": over_seeds(one["window"] for one in found),
                    "mse": over_seeds(one["mse"] for one in found),
                    "over_32": over_seeds(one["mse"] / one["fixed"]["32"] for one in found),
                }
                paths.setdefault(f"H{horizon}", {})[start] = [one["path"] for one in found]
    return Result(metrics, claims(metrics), {"config": config, "paths": paths})


OF_HORIZON = Asked(
    "ours: a window learnt for {horizon} samples ahead forecasts better than the paper's 32",
    "",
    lambda n: n,
    lambda n: n["better"],
    "{each}; the best fixed window is {best} ({best_ratio:.4f}).",
)


def claims(metrics: dict[str, Any]) -> list[Claim]:
    """Whether learning the window helps, horizon by horizon."""
    found = []
    for horizon, row in metrics.items():
        learnt = {name.removeprefix("from_"): one for name, one in row.items() if name.startswith("from_")}
        fixed = {window: one["mean"] for window, one in row["fixed"].items()}
        best = min(fixed, key=fixed.__getitem__)
        each = [
            f"from {start}: window {spread_text(one['window'], '.1f')}, error {spread_text(one['over_32'], '.4f')} of "
            "that at 32"
            for start, one in learnt.items()
        ]
        numbers = {
            "horizon": horizon[1:],
            "better": [one["over_32"]["mean"] < 1.0 for one in learnt.values()],
            "each": ", ".join(each),
            "best": best,
            "best_ratio": fixed[best] / fixed["32"],
        }
        found += answers([OF_HORIZON], numbers)
    return found


def table(result: Result) -> str:
    """Learnt windows beside fixed ones."""
    rows = []
    for horizon, row in result.metrics.items():
        for name, one in row.items():
            if name != "fixed":
                cells = [horizon[1:], f"learnt from {name.removeprefix('from_')}", spread_text(one["window"], ".1f")]
                rows.append([*cells, spread_text(one["mse"], ".5f"), spread_text(one["over_32"], ".4f")])
        for window, one in row["fixed"].items():
            share = one["mean"] / row["fixed"]["32"]["mean"]
            rows.append([horizon[1:], "fixed", window, spread_text(one, ".5f"), f"{share:.4f}"])
    header = ["samples ahead", "window", "samples", "test error", "over that at 32"]
    note = "Mean squared error over all samples ahead, mean ± standard error over seeds; the paper's window is 32."
    return f"{markdown_table(header, rows)}\n\n{note}\n"


def report(result: Result, folder: Path) -> None:
    """The table; windows while they are learnt, and errors by window."""
    from matplotlib.ticker import FixedLocator, NullLocator

    from hippozoo.plotting import ink

    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    quick = " (a quick run, no result)" if config.gradient_steps < Config.gradient_steps else ""
    with drawing(folder, "windows", (8.0, 3.4)) as figure:
        left, right = figure.subplots(1, 2)
        for number, (horizon, row) in enumerate(result.metrics.items()):
            for start, paths in result.arrays["paths"][horizon].items():
                for path in paths:
                    left.plot(path, color=f"C{number}", alpha=0.7, linestyle="-" if start == 32.0 else "--")
            windows = [float(window) for window in row["fixed"]]
            at_32 = row["fixed"].get("32", next(iter(row["fixed"].values())))["mean"]
            means = [one["mean"] / at_32 for one in row["fixed"].values()]
            right.plot(windows, means, "o-", color=f"C{number}", label=f"{horizon[1:]} samples ahead")
            for name, one in row.items():
                if name != "fixed":
                    share = one["mse"]["mean"] / at_32
                    right.plot(one["window"]["mean"], share, "*", color=f"C{number}", markersize=12)
        left.set(xlabel="gradient step", ylabel="window (samples)", yscale="log", title=f"learnt windows{quick}")
        right.set(xlabel="window (samples)", ylabel="test error, relative to 32 samples", xscale="log")
        right.set_title("fixed windows, and learnt ones (stars)")
        for ax in (left, right):
            axis = ax.yaxis if ax is left else ax.xaxis
            axis.set_major_locator(FixedLocator([8, 16, 32, 64, 128, 256]))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        left.plot([], [], color=ink(), label="from 32 samples")
        left.plot([], [], "--", color=ink(), label="from 128 samples")
        left.legend(fontsize=8)
        right.legend(fontsize=8)
