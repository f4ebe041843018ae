"""What known inputs buy, and what a useless one costs.

    python -m benchmarks.known_inputs [--every 6]

writes results/known-inputs/metrics.json and table.md, and docs/images/known-inputs.png:

- a shuffled input beside every so many of M4's weekly and hourly training series (test values are never read);
- an hourly load that temperature and holidays move, seeds 1 to 5, with the true kernels drawn beside ours (the window
  of an input was chosen on seed 0);
- daily counts that a campaign moves, seeds 1 to 5;
- ETTh1, its first 8,640 hours: oil temperature with the six loads up to now (`past`), and over the horizon (`known`);
- microseconds of processor time for each step and input, the back-test and those without inputs included.

Errors are those of the rolling-origin back-test, with and without the inputs on the same origins.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import hippozoo
from hippozoo_studies.data.long_term import load_long_term
from hippozoo_studies.data.m4 import FREQUENCIES, load_m4

SEEDS = range(1, 6)
OUT = Path("results/known-inputs")


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard error and the values."""
    found = np.array(values)
    return {"mean": found.mean(), "sem": found.std(ddof=1) / np.sqrt(len(found)), "count": len(found)}


def shuffled_cost(every: int) -> dict[str, Any]:
    """By which share a shuffled copy of the series, known over the horizon, makes the error larger."""
    found: dict[str, Any] = {}
    for frequency in ("weekly", "hourly"):
        costs = []
        for number, series in enumerate(load_m4(frequency)[::every]):
            values, horizon = series.train, FREQUENCIES[frequency].horizon
            rng = np.random.default_rng(number)
            noise = rng.permutation(np.concatenate([values, rng.choice(values, horizon)]))
            table = np.column_stack([np.append(values, np.full(horizon, np.nan)), noise])
            result = hippozoo.forecast(table, horizon, columns=("value", "noise"), known="noise")
            gain = result.inputs["value"][""].better_by
            if gain is not None:
                costs.append(-gain)
        found[frequency] = spread(costs)
        print(frequency, found[frequency], flush=True)
        found.setdefault("all", []).extend(costs)
    found["all"] = spread(found["all"])
    return found


def load_curve(seed: int, days: int = 180, ahead: int = 24) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Hours of a load that follows the temperature of the last day and rests on holidays; and the true kernels."""
    rng, count = np.random.default_rng(seed), 24 * days + ahead
    hours = np.arange(count)
    weather = np.zeros(count)
    for at in range(1, count):
        weather[at] = 0.97 * weather[at - 1] + 1.2 * rng.normal()
    temperature = 10 - 8 * np.cos(2 * np.pi * hours / 8766) + 5 * np.sin(2 * np.pi * (hours - 9) / 24) + weather
    kernel = -2.0 * np.exp(-np.arange(24) / 6)
    kernel *= 2.0 / np.abs(kernel).sum()
    free = np.repeat(rng.random(count // 24 + 1) < 0.05, 24)[:count].astype(float)
    load = 100 + 12 * np.sin(2 * np.pi * (hours - 8) / 24) + np.convolve(temperature, kernel)[:count] - 15 * free
    load += 1.5 * rng.normal(size=count)
    load[-ahead:] = np.nan
    frame = pd.DataFrame({"load": load, "temperature": temperature, "holiday": free})
    frame.index = pd.date_range("2024-01-01", periods=count, freq="h")
    return frame, {"temperature": kernel, "holiday": np.array([-15.0])}


def counts(seed: int, days: int = 900, ahead: int = 14) -> pd.DataFrame:
    """Sales of a day: a week, and campaigns that sell more on that day and fewer on the next."""
    rng, day = np.random.default_rng(seed), np.arange(days + ahead)
    campaign = (rng.random(len(day)) < 0.15).astype(float)
    rate = np.exp(1.5 + 0.4 * np.sin(2 * np.pi * day / 7) + 0.8 * campaign - 0.3 * np.roll(campaign, 1))
    sales = rng.poisson(rate).astype(float)
    sales[-ahead:] = np.nan
    return pd.DataFrame({"sales": sales, "campaign": campaign}, pd.date_range("2022-01-01", periods=len(day)))


def gain_of(frame: pd.DataFrame, horizon: int, target: str, **inputs: Any) -> tuple[float, Any]:
    """By which share all inputs make the error smaller, and the result."""
    result = hippozoo.forecast(frame, horizon, columns=target, **inputs)
    found = result.inputs[target][""].better_by
    assert found is not None
    return found, result


def microseconds(rows: int = 4000) -> dict[str, float]:
    """Processor time of a step, for each number of inputs."""
    rng, found = np.random.default_rng(0), {}
    signal = rng.normal(size=rows).cumsum()
    names = [f"x{k}" for k in range(4)]
    table = pd.DataFrame({"y": np.append(signal, [np.nan] * 24)} | {n: rng.normal(size=rows + 24) for n in names})
    for number in (0, 1, 2, 4):
        begin = time.process_time()
        hippozoo.forecast(table[["y", *names[:number]]], 24, columns="y", season=1, known=names[:number])
        found[str(number)] = (time.process_time() - begin) / rows * 1e6
    return found


def draw_kernels(result: Any, truths: dict[str, np.ndarray]) -> None:
    """Our kernels beside the true ones."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(truths), figsize=(9, 3), layout="constrained")
    for ax, (name, truth) in zip(axes, truths.items(), strict=True):
        gain = result.inputs["load"][name]
        ax.plot(gain.lags, gain.kernel, label="ours")
        known = np.zeros(len(gain.lags))
        known[(gain.lags >= 0) & (gain.lags < len(truth))] = truth[
            : int(((gain.lags >= 0) & (gain.lags < len(truth))).sum())
        ]
        ax.plot(gain.lags, known, "--", label="true")
        ax.set(title=name, xlabel="hours from the input to the load", ylabel="load per unit")
        ax.legend()
    figure.savefig(Path("docs/images") / "known-inputs.png", dpi=130)
    plt.close(figure)


def main() -> None:
    """Run all of it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=6, help="take every so many of M4's series")
    every = parser.parse_args().every
    OUT.mkdir(parents=True, exist_ok=True)
    loads, sold = [], []
    for seed in SEEDS:
        frame, truths = load_curve(seed)
        gain, result = gain_of(frame, 24, "load", known=("temperature", "holiday"))
        loads.append(gain)
        if seed == SEEDS[0]:
            draw_kernels(result, truths)
        sold.append(gain_of(counts(seed), 14, "sales", known="campaign")[0])
    print("load", loads, "counts", sold, flush=True)
    ett = load_long_term("ETTh1").values[: 8640 + 24]
    names = [f"load {k}" for k in range(ett.shape[1] - 1)]
    table = pd.DataFrame(ett, columns=[*names, "oil"])
    found = {
        "load_better_by": spread(loads),
        "counts_better_by": spread(sold),
        "ett_past_better_by": gain_of(table.head(8640), 24, "oil", past=names)[0],
        "ett_known_better_by": gain_of(
            table.assign(oil=table["oil"].where(table.index < 8640)), 24, "oil", known=names
        )[0],
        "microseconds_a_step": microseconds(),
        "shuffled_costs": shuffled_cost(every),
        "every": every,
    }
    (OUT / "metrics.json").write_text(json.dumps(found, indent=1) + "\n")
    (OUT / "table.md").write_text(as_table(found))
    print(as_table(found))


def as_table(found: dict[str, Any]) -> str:
    """The same as a table of Markdown."""
    said = lambda one: f"{one['mean']:.1%} ± {one['sem']:.1%} ({one['count']})"  # noqa: E731
    rows = [
        ("load with temperature and holidays: error smaller by", said(found["load_better_by"])),
        ("counts with campaigns: error smaller by", said(found["counts_better_by"])),
        ("ETTh1, oil temperature with six loads up to now: smaller by", f"{found['ett_past_better_by']:.1%}"),
        ("ETTh1, with six loads known over 24 hours: smaller by", f"{found['ett_known_better_by']:.1%}"),
        *((f"shuffled input, M4 {name}: larger by", said(one)) for name, one in found["shuffled_costs"].items()),
        *(
            (f"{name} inputs: µs a step, with all back-tests", f"{one:.0f}")
            for name, one in found["microseconds_a_step"].items()
        ),
    ]
    return "| | mean ± standard error (series) |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in rows)


if __name__ == "__main__":
    main()
