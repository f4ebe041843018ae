"""Cubic kernels of low rank: what the paper's O(kNr) remark buys, on a known system (beyond the paper).

"Volterra HiPPO exposes nonlinear kernels but grows as O(N^k) for order-k systems; low-rank tensor approximations could
reduce this to O(kNr) while preserving interpretability" (paper, section on limitations). The system is a sum of a
filter and of two products of three filters of white noise, so that its third kernel is known and has rank 2. Full
tensors and sums of `rank` products learn it online from one memory at several orders: error, kernel, time per sample.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.files import write_whole
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.zoo.volterra import NLMS, LowRankReadout, PolynomialReadout, sample_kernel, sample_responses
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

# The paper remarks, and measures nothing.
PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "models", "orders")
ASSEMBLES_PARTS = True
DEGREE = 3
# Damped oscillations: decay and period in samples, and size.
FILTERS = ((6.0, 23.0), (4.0, 11.0), (5.0, 16.0), (3.0, 8.0))
PRODUCTS = ((0, 1, 2), (1, 1, 3))
FULL = "full"
BLOCK = 8192
SHOWN = 12  # lags of the kernel in a picture: beyond them it is nothing


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    models: tuple[str, ...] = (FULL, "rank 1", "rank 2", "rank 4")
    orders: tuple[int, ...] = (8, 16, 32, 48)
    timescale: float = 48.0
    n_steps: int = 300_000
    rate: float = 0.3


QUICK = Config(seeds=(0,), models=(FULL, "rank 2"), orders=(4, 8), n_steps=3_000)


def filters(length: int) -> Float[np.ndarray, "filters length"]:
    """The filters of the system, each of length one.

    Examples
    --------
    >>> bool(np.allclose(np.linalg.norm(filters(32), axis=1), 1))
    True
    """
    lag = np.arange(length)
    rows = np.array([np.exp(-lag / decay) * np.sin(2 * np.pi * (lag + 1) / period) for decay, period in FILTERS])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def kernel_of(rows: Float[np.ndarray, "filters length"]) -> Float[np.ndarray, "length length length"]:
    """The third kernel: the products of filters, symmetric."""
    products = [np.einsum("i,j,k->ijk", *(rows[index] for index in product)) for product in PRODUCTS]
    kernel = np.sum(products, axis=0)
    return np.mean([np.transpose(kernel, axes) for axes in permutations(range(DEGREE))], axis=0)


def cubic_system(
    n_steps: int, rng: np.random.Generator, length: int
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """White noise, and what the system makes of it.

    Parameters
    ----------
    n_steps
        Samples.
    rng
        Where the noise comes from.
    length
        Lags of the filters.
    """
    signal = rng.normal(size=n_steps)
    filtered = np.array([np.convolve(signal, row)[:n_steps] for row in filters(length)])
    return signal, filtered[0] + sum(np.prod(filtered[list(product)], axis=0) for product in PRODUCTS)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per model, order and seed; the dear ones last."""
    return [
        {"model": model, "order": order, "seed": seed}
        for order in config.orders
        for model in config.models
        for seed in config.seeds
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Learn from one stream, sample by sample."""
    memory, length = Memory(LegT(unit["order"], config.timescale)), int(config.timescale)
    readout = _readout(unit["model"], unit["order"])
    signal, target = cubic_system(config.n_steps, np.random.default_rng([unit["seed"], 0]), length)
    learner = NLMS(config.rate)
    learnt = learner.initial_state(readout, np.random.default_rng([unit["seed"], 1]))
    state, predictions, seconds = memory.initial_state(), np.empty_like(target), 0.0
    learner.learn(readout, memory.scan(signal[:2]), target[:2], learnt)  # compiled before the clock starts
    for begin in range(0, config.n_steps, BLOCK):
        here = slice(begin, begin + BLOCK)
        states = memory.scan(signal[here], state)
        state = states[-1]
        started = time.process_time()
        predictions[here], learnt = learner.learn(readout, states, target[here], learnt)
        seconds += time.process_time() - started
        context.progress(min(1.0, (begin + BLOCK) / config.n_steps), unit["model"])
    late = slice(9 * config.n_steps // 10, None)
    kernel, truth = sample_kernel(memory, readout.tensor(learnt.parameters, DEGREE), length), kernel_of(filters(length))
    return {
        "relative_error": float(np.mean((predictions - target)[late] ** 2) / target.var()),
        "kernel_relative_error": float(np.linalg.norm(kernel - truth) / np.linalg.norm(truth)),
        "parameters": readout.n_parameters,
        "seconds_per_million": 1e6 * seconds / config.n_steps,
        "slice": [float(f"{value:.4g}") for value in kernel[_shown_lag(truth)].ravel()] if unit["seed"] == 0 else None,
    }


def _readout(model: str, order: int) -> PolynomialReadout | LowRankReadout:
    if model == FULL:
        return PolynomialReadout(order, DEGREE)
    word, _, rank = model.partition(" ")
    if word != "rank" or not rank.isdigit():
        raise ValueError(f"models has {model!r}; choose {FULL!r} or for example 'rank 2'.")
    return LowRankReadout(order, DEGREE, int(rank))


@lru_cache(maxsize=16)
def _least_kernel_error(order: int, timescale: float) -> float:
    """With each filter as near as functionals of this memory come: what its order alone costs."""
    length = int(timescale)
    responses, rows = sample_responses(Memory(LegT(order, timescale)), length), filters(length)
    nearest = (responses @ np.linalg.lstsq(responses, rows.T)[0]).T
    truth = kernel_of(rows)
    return float(np.linalg.norm(kernel_of(nearest) - truth) / np.linalg.norm(truth))


def _shown_lag(truth: Float[np.ndarray, "length length length"]) -> int:
    """The lag whose slice of the kernel has most in it."""
    return int(np.argmax(np.square(truth).sum((1, 2))))


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Errors and times over seeds, how times grow, and whether the remark holds."""
    metrics: dict[str, Any] = {}
    slices: dict[str, dict[int, Any]] = {}
    for model in config.models:
        for order in config.orders:
            found = select(finished, model=model, order=order)
            if not found:
                continue
            for name in ("relative_error", "kernel_relative_error", "seconds_per_million"):
                rows = metrics.setdefault(name, {}).setdefault(model, {})
                rows[order] = over_seeds(one.result[name] for one in found)
            metrics.setdefault("parameters", {}).setdefault(model, {})[order] = found[0].result["parameters"]
            metrics.setdefault("least_kernel_error", {})[order] = _least_kernel_error(order, config.timescale)
            drawn = [one.result["slice"] for one in found if one.result["slice"] is not None]
            if drawn:
                slices.setdefault(model, {})[order] = drawn[0]
    # Between the two largest orders: small ones are mostly the cost of a call.
    metrics["growth"] = {
        model: float(
            np.polyfit(np.log(list(rows)[-2:]), [np.log(one["mean"]) for one in list(rows.values())[-2:]], 1)[0]
        )
        for model, rows in metrics["seconds_per_million"].items()
        if len(rows) > 1
    }
    return Result(metrics, _claims(metrics), {"slices": slices, "length": int(config.timescale)})


QUOTE = "low-rank tensor approximations could reduce this to O(kNr) while preserving interpretability"
CLAIMS = (
    Asked(
        "low rank: the cost per sample grows with the order to a power of 1 or less, with full tensors more than as "
        "its square",
        QUOTE,
        lambda n: n,
        lambda n: n["growth"] < 1.3 and n["full_growth"] > 2,
        "Between the two largest orders the time per sample grows with the order to the power {growth:.2f} with two "
        "products and {full_growth:.2f} with a full tensor, which takes {ratio:.0f} times as long at order {order}.",
    ),
    Asked(
        "the kernel can still be read: two products estimate it at least as well as the full tensor does",
        QUOTE,
        lambda n: n,
        lambda n: list(n["better"].values()),
        "{where} Relative error of the third kernel, two products against the full tensor: {each}.",
    ),
)


def _claims(metrics: dict[str, Any]) -> list[Claim]:
    growth, seconds = metrics["growth"], metrics["seconds_per_million"]
    if FULL not in growth or "rank 2" not in growth:
        return []
    order = max(set(seconds[FULL]) & set(seconds["rank 2"]))
    full, two = (metrics["kernel_relative_error"][model] for model in (FULL, "rank 2"))
    better = {order: two[order]["mean"] <= full[order]["mean"] for order in two if order in full}
    each = [f"order {one}: {two[one]['mean']:.3f} against {full[one]['mean']:.3f}" for one in better]
    numbers = {
        "growth": growth["rank 2"],
        "full_growth": growth[FULL],
        "ratio": seconds[FULL][order]["mean"] / seconds["rank 2"][order]["mean"],
        "order": order,
        "better": better,
        "where": _where_better(better),
        "each": ", ".join(each),
    }
    return answers(CLAIMS, numbers)


def _where_better(better: dict[Any, bool]) -> str:
    """At which orders two products are no worse than the full tensor, in words."""
    where = {held: " and ".join(str(order) for order, one in better.items() if one is held) for held in (True, False)}
    told = [f"{words} at order {where[held]}" for held, words in ((True, "better"), (False, "worse")) if where[held]]
    return f"Two products estimate the third kernel {', '.join(told)} than the full tensor does."


def table(result: Result) -> str:
    """Parameters, errors and times by model and order."""
    metrics = result.metrics
    rows = []
    for model, orders in metrics["relative_error"].items():
        for order, error in orders.items():
            seconds = metrics["seconds_per_million"][model][order]["mean"]
            rows.append(
                [
                    model,
                    f"{order}",
                    f"{metrics['parameters'][model][order]:,}",
                    spread_text(
                        {key: _percent(error[key]) for key in ("mean", "sem")} | {"seeds": error["seeds"]}, ".2g"
                    ),
                    f"{100 * metrics['kernel_relative_error'][model][order]['mean']:.2g}",
                    f"{100 * metrics['least_kernel_error'][order]:.2g}",
                    f"{seconds:.2g}",
                ]
            )
    header = ["readout", "order", "parameters", "error (%)", "kernel error (%)", "least possible (%)", "µs per sample"]
    growth = ", ".join(f"{model} {power:.2f}" for model, power in metrics["growth"].items())
    return (
        f"{markdown_table(header, rows)}\n\n"
        "Error: of the last tenth of the stream, squared, over the output's variance, mean ± standard error over "
        "seeds. Kernel error: relative, of the third kernel; least possible: filters as near as this memory comes. "
        f"A full cubic readout of N numbers has {comb(11, 3)} parameters at N = 8. "
        f"Time grows with the order, between the two largest, to the power: {growth}.\n"
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def report(result: Result, folder: Path) -> None:
    """Time and kernel error against the order, and one slice of the kernel, true and learnt."""
    write_whole(folder / "table.md", table(result).encode())
    metrics = result.metrics
    with drawing(folder, "cost-and-kernel", (9, 3.6)) as figure:
        cost, error = figure.subplots(1, 2)
        for model, rows in metrics["seconds_per_million"].items():
            cost.loglog(list(rows), [one["mean"] for one in rows.values()], "o-", label=model)
            kernel = metrics["kernel_relative_error"][model]
            error.loglog(list(kernel), [one["mean"] for one in kernel.values()], "o-")
        least = metrics["least_kernel_error"]
        error.loglog(list(least), list(least.values()), color="0.5", linestyle=":", label="least possible")
        for ax in (cost, error):
            ax.set_xticks(list(least), [str(order) for order in least])
            ax.minorticks_off()
            ax.set_xlabel("order of the memory")
        cost.set(ylabel="processor time to learn a sample (µs)", title="cost")
        error.set(ylabel="relative error", title="third kernel")
        error.set_ylim(bottom=1e-3)
        cost.legend(title="readout")
        error.legend()
    _draw_slices(result, folder)


def _draw_slices(result: Result, folder: Path) -> None:

    length = result.arrays["length"]
    truth = kernel_of(filters(length))
    lag = _shown_lag(truth)
    shown = {"true": truth[lag]}
    for model, orders in result.arrays["slices"].items():
        if orders:
            order = max(orders)
            shown[f"{model}, order {order}"] = np.array(orders[order]).reshape(length, length)
    limit = np.abs(truth[lag]).max()
    with drawing(folder, "slices", (2.5 * len(shown) + 0.6, 2.9)) as figure:
        axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
        for ax, (name, one) in zip(axes, shown.items(), strict=True):
            ax.imshow(one[:SHOWN, :SHOWN], origin="lower", cmap="RdBu_r", vmin=-limit, vmax=limit)
            ax.set(title=name, xlabel="lag 3 (samples)", xticks=range(0, SHOWN, 5), yticks=range(0, SHOWN, 5))
            ax.grid(visible=False)
        axes[0].set_ylabel("lag 2 (samples)")
        figure.colorbar(axes[0].images[0], ax=axes, label=f"kernel at lag 1 = {lag}")
