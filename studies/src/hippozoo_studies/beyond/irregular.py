"""Samples at uneven times: a frequency, and a heart rate from a thinned electrocardiogram, at equal processor time.

Two regressions from samples at random times. **Sine**: the frequency of a noisy sine from 60 samples with random gaps.
**Heart rate**: beats per minute in four seconds of an electrocardiogram (MIT-BIH record 100), of which 120 of 360
samples are left; the first 20 minutes to learn from, the next 5 to choose by, the last 5 to report. All models have
about 10,000 parameters and the same processor time, from which the number of gradient steps follows: a slow model
learns less. Three learning rates are tried with the first seed and chosen by the validation error; then all seeds. At
test time gaps are also half and twice as long as in training: a model that knows time should hardly care.

Stacks of memories take every gap as it is. The GRU beside them ignores time, has its logarithm as a feature, or fades
by it (GRU-D).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from hippozoo._internal.files import write_whole
from hippozoo.baselines import GRU, parameter_count
from hippozoo.models import build_model
from hippozoo.tasks.ecg import load_ecg
from hippozoo.training import Plan, report_to, seeded, train
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
from hippozoo_studies.paper._two_tasks import check_names

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "models", "tasks", "rates")
ASSEMBLES_PARTS = True
MORE_AT_ANY_TIME = True
TITLE = {
    "memory": "Memories",
    "lags": "Lag functionals",
    "salience": "Salience with lags",
    "gru": "GRU, without time",
    "gru-feature": "GRU, time as a feature",
    "gru-d": "GRU-D",
}
OURS = ("memory", "lags", "salience")
TASKS = {"sine": "frequency of a noisy sine", "heart": "heart rate from an electrocardiogram"}
#: Test gaps, relative to those of training.
FACTORS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    models: tuple[str, ...] = tuple(TITLE)
    tasks: tuple[str, ...] = tuple(TASKS)
    rates: tuple[float, ...] = (3e-3, 1e-2, 3e-2)
    params: int = 10_000
    batch: int = 64
    core_seconds: float = 30.0
    tested: int = 2_000
    # The most gradient steps, for a quick run; None for as many as the time allows.
    most_steps: int | None = None


QUICK = Config(
    seeds=(0,),
    models=("memory", "gru-feature", "gru-d"),
    tasks=("sine",),
    rates=(1e-2,),
    params=1_000,
    batch=4,
    core_seconds=0.1,
    tested=8,
    most_steps=3,
)


class Samples(NamedTuple):
    """Values, how long each is held, and what is asked for, standardised."""

    x: Tensor
    dt: Tensor
    target: Tensor


# -- the tasks --------------------------------------------------------------------------------------------------------

#: Cycles per mean gap: 1.2 to 6 cycles in 60 samples.
SLOWEST, FASTEST, SINE_SAMPLES, NOISE = 0.02, 0.1, 60, 0.3
#: Of an electrocardiogram at 360 Hz every fourth sample is used; a window holds so many, and a third of them is left.
EVERY, WINDOW, LEFT = 4, 360, 120


def sine(rng: np.random.Generator, count: int, factor: float = 1.0) -> Samples:
    """Sines of unit amplitude in noise, at times whose gaps are 0.2 and an exponential, `factor` on average."""
    gaps = factor * (0.2 + 0.8 * rng.exponential(size=(count, SINE_SAMPLES)))
    times = np.cumsum(gaps, 1) - gaps
    frequency, phase = rng.uniform(SLOWEST, FASTEST, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    x = np.sin(2 * np.pi * frequency * times + phase) + NOISE * rng.normal(size=times.shape)
    target = (frequency[:, 0] - (SLOWEST + FASTEST) / 2) / ((FASTEST - SLOWEST) / math.sqrt(12))
    return _samples(x, gaps, target)


class Heart(NamedTuple):
    """Windows of an electrocardiogram, and the heart rate in each, by part of the record."""

    voltage: np.ndarray
    rate: dict[str, tuple[np.ndarray, np.ndarray]]


@lru_cache(maxsize=1)
def heart(data: Path | None) -> Heart:
    """Voltage, standardised, and for every part the starts of its windows and the standardised rates in them."""
    record = load_ecg("100", data)
    voltage = record.voltage[::EVERY, 0]
    beats = record.beats / EVERY
    per_minute = 60 * record.rate / EVERY
    ends = (20, 25, 30)
    found, moments = {}, (0.0, 1.0)
    for name, begin, end in zip(("learn", "choose", "test"), (0, *ends), ends, strict=False):
        starts = np.arange(int(begin * per_minute), int(end * per_minute) - WINDOW, 9)
        starts = starts[starts + WINDOW < len(voltage)]
        rates = np.array([_rate(beats, start, per_minute) for start in starts])
        if name == "learn":
            moments = rates.mean(), rates.std()
        found[name] = starts, (rates - moments[0]) / moments[1]
    first = voltage[: int(ends[0] * per_minute)]
    return Heart((voltage - first.mean()) / first.std(), found)


def _rate(beats: np.ndarray, start: int, per_minute: float) -> float:
    """Beats per minute, by the mean interval between the beats of a window."""
    inside = beats[(beats >= start) & (beats < start + WINDOW)]
    return per_minute / np.diff(inside).mean()


def thinned(record: Heart, part: str, rng: np.random.Generator, count: int, factor: float = 1.0) -> Samples:
    """Windows of which as many samples are left, at random, as make the mean gap `factor` times that of training."""
    starts, rates = record.rate[part]
    chosen = rng.integers(len(starts), size=count)
    left = round(LEFT / factor)
    places = np.sort(rng.random((count, WINDOW)).argsort(1)[:, :left], 1)
    x = record.voltage[starts[chosen][:, None] + places]
    # In units of the mean gap of training; the last sample lasts to the end of the window.
    gaps = np.diff(places, axis=1, append=WINDOW) * LEFT / WINDOW
    return _samples(x, gaps, rates[chosen])


def _samples(x: np.ndarray, gaps: np.ndarray, target: np.ndarray) -> Samples:
    return Samples(
        torch.from_numpy(x.astype(np.float32))[..., None],
        torch.from_numpy(gaps),
        torch.from_numpy(target.astype(np.float32)),
    )


def draw(task: str, part: str, rng: np.random.Generator, count: int, factor: float, data: Path | None) -> Samples:
    """Examples of a task; those of the sine are endless, and no part has those of another."""
    return sine(rng, count, factor) if task == "sine" else thinned(heart(data), part, rng, count, factor)


# -- the models -------------------------------------------------------------------------------------------------------


class Answering(nn.Module):
    """A model that gives one number from all samples and their steps."""

    def __init__(self, model: nn.Module, *, time: bool, last: bool) -> None:
        super().__init__()
        self.model, self.time, self.last = model, time, last

    def forward(self, some: Samples) -> Tensor:
        """The answers."""
        y, _ = self.model(some.x, dt=some.dt if self.time else None)
        return (y[:, -1] if self.last else y)[..., 0]


def build(model: str, task: str, params: int) -> Answering:
    """About so many parameters; our stacks answer from the mean over time, a GRU from its last state."""
    sizes: dict[str, Any] = {"inputs": 1, "outputs": 1}
    if model in OURS:
        history = SINE_SAMPLES if task == "sine" else LEFT
        return Answering(
            build_model(model, history=history, params=params, pool="mean", **sizes), time=True, last=False
        )
    kind: Any = {"gru": None, "gru-feature": "feature", "gru-d": "fading"}[model]
    return Answering(GRU.match(params, time=kind, **sizes), time=kind is not None, last=True)


def loss_of(model: nn.Module, some: Samples) -> Tensor:
    """Mean square of the standardised error."""
    return mse_loss(model(some), some.target)


def steps_in(model: nn.Module, some: Samples, seconds: float) -> int:
    """Gradient steps that take so much processor time, by the best of a few."""
    best, optimiser = math.inf, torch.optim.AdamW(model.parameters(), 0.0)
    for _ in range(6):  # the first one compiles
        began = time.process_time()
        optimiser.zero_grad()
        loss_of(model, some).backward()
        optimiser.step()
        best = min(best, time.process_time() - began)
    return max(1, int(seconds / best))


# -- units ------------------------------------------------------------------------------------------------------------


def units(config: Config) -> list[dict[str, Any]]:
    """All rates with the first seed; `more_units` adds the other seeds."""
    check_names("models", config.models, TITLE)
    check_names("tasks", config.tasks, TASKS)
    return [
        {"task": task, "model": model, "rate": rate, "seed": config.seeds[0]}
        for task in config.tasks
        for model in config.models
        for rate in config.rates
    ]


def chosen_rate(config: Config, finished: list[Finished], task: str, model: str) -> float | None:
    """The rate of the smallest validation error with the first seed; None until all have been tried."""
    tried = select(finished, task=task, model=model, seed=config.seeds[0])
    errors = {one.unit["rate"]: one.result["validation"] for one in tried}
    return min(config.rates, key=errors.__getitem__) if set(config.rates) <= set(errors) else None


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The other seeds at the rate that was chosen."""
    found = []
    for task in config.tasks:
        for model in config.models:
            rate = chosen_rate(config, finished, task, model)
            if rate is not None:
                found += [{"task": task, "model": model, "rate": rate, "seed": seed} for seed in config.seeds[1:]]
    return found


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train for the time that all have; errors of validation and test examples."""
    task, seed = unit["task"], unit["seed"]

    def some(part: str, number: int, count: int, factor: float = 1.0) -> Samples:
        rng = np.random.default_rng([seed, ("learn", "choose", "test").index(part), number])
        return draw(task, part, rng, count, factor, context.data)

    with seeded(seed):
        model = build(unit["model"], task, config.params)
    steps = steps_in(model, some("learn", 0, config.batch), config.core_seconds)
    steps = steps if config.most_steps is None else min(steps, config.most_steps)
    plan = Plan(steps, unit["rate"], seed, warm_up=steps // 20, schedule="cosine", validate_every=steps)
    began = time.process_time()
    train(
        model,
        lambda step, rng: some("learn", step, config.batch),
        loss_of,  # pyright: ignore[reportArgumentType]
        plan,
        on_progress=report_to(context.progress),
    )
    seconds = time.process_time() - began
    tests = {f"{factor:g}": error(model, some("test", 0, config.tested, factor)) for factor in FACTORS}
    return {
        "validation": error(model, some("choose", 0, config.tested)),
        "test": tests,
        "steps": steps,
        "parameters": parameter_count(model),
        "core_seconds": round(seconds, 1),
    }


def error(model: nn.Module, some: Samples) -> float:
    """Root mean square error in standard deviations of the target; large where a model ran away."""
    model.eval()
    with torch.no_grad():
        found = loss_of(model, some).sqrt().item()
    return found if math.isfinite(found) else 1e9


# -- what it shows ----------------------------------------------------------------------------------------------------


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Errors by task, model and gap, as far as they are there."""
    metrics: dict[str, Any] = {name: {} for name in ("rmse", "rate", "steps", "parameters")}
    for task in config.tasks:
        for name in metrics:
            metrics[name][task] = {}
        for model in config.models:
            rate = chosen_rate(config, finished, task, model)
            found = [] if rate is None else select(finished, task=task, model=model, rate=rate)
            found = [one.result for one in found if one.unit["seed"] in config.seeds]
            if not found:
                continue
            metrics["rmse"][task][model] = {
                f"{factor:g}": over_seeds(one["test"][f"{factor:g}"] for one in found) for factor in FACTORS
            }
            metrics["rate"][task][model], metrics["parameters"][task][model] = rate, found[0]["parameters"]
            metrics["steps"][task][model] = round(sum(one["steps"] for one in found) / len(found))
    return Result(metrics, claims(metrics), {"config": config})


def claims(metrics: dict[str, Any]) -> list[Claim]:
    """The best of ours against the best GRU, at every gap."""
    found = []
    words = {"0.5": "gaps half as long", "1": "gaps as in training", "2": "gaps twice as long"}
    for task, rows in metrics["rmse"].items():
        for factor, gap in words.items():
            errors = {model: row[factor]["mean"] for model, row in rows.items()}
            ours, theirs = ({m: e for m, e in errors.items() if (m in OURS) == ok} for ok in (True, False))
            if ours and theirs:
                best, peer = min(ours, key=ours.__getitem__), min(theirs, key=theirs.__getitem__)
                text = f"ours: at equal processor time an explicit stack has the smallest error, {TASKS[task]}, {gap}"
                told = (TITLE[one] + " " + spread_text(rows[one][factor], ".3f") for one in (best, peer))
                found.append(Claim(text, ours[best] <= theirs[peer], ", ".join(told)))
    return found


def table(result: Result) -> str:
    """Errors, sizes and steps, as Markdown."""
    config: Config = result.arrays["config"]
    metrics, lines = result.metrics, []
    for task in config.tasks:
        rows = [
            [
                TITLE[model],
                f"{metrics['parameters'][task][model]:,}",
                f"{metrics['rate'][task][model]:g}",
                f"{metrics['steps'][task][model]:,}",
                *(f"{spread_text(one, '.3f')}" for one in row.values()),
            ]
            for model, row in metrics["rmse"][task].items()
        ]
        header = ["model", "parameters", "rate", "steps", "gaps halved", "as in training", "doubled"]
        lines += [f"**{TASKS[task].capitalize()}**", "", markdown_table(header, rows), ""]
    lines.append(
        "Root mean square error in standard deviations of the target, mean ± standard error over "
        f"{len(config.seeds)} seeds; {config.core_seconds:g} s of one core for every training."
    )
    return "\n".join(lines) + "\n"


def report(result: Result, folder: Path) -> None:
    """The table, and errors against the gap."""
    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    with drawing(folder, "irregular", (4.6 * len(config.tasks), 3.8)) as figure:
        panels = figure.subplots(1, len(config.tasks), squeeze=False)[0]
        for ax, task in zip(panels, config.tasks, strict=True):
            for number, model in enumerate(config.models):
                row = result.metrics["rmse"][task].get(model)
                if row is None:
                    continue
                means, spreads = ([one[name] or 0.0 for one in row.values()] for name in ("mean", "sem"))
                kind = "o-" if model in OURS else "s--"
                ax.errorbar(FACTORS, means, spreads, fmt=kind, color=f"C{number}", label=TITLE[model], capsize=2)
            ax.set_xscale("log", base=2)
            ax.set_yscale("log")
            ax.set_xticks(FACTORS, [f"{factor:g}" for factor in FACTORS])
            ax.set(
                title=TASKS[task],
                xlabel="gaps at test time, relative to training",
                ylabel="error (standard deviations)",
            )
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
