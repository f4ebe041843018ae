"""Variable-horizon reconstruction: one multiscale state against plain memories (paper, section "Multiscale HiPPO").

The paper's base timescale and smallest rate are not given; 10 samples and 1e-3 span its plain systems, 10 to 10,000,
which are three decades. "More than three" is asked of a second log-timescale memory, ``log_wide``, whose range goes on
to 20,000, with as many scales as that range needs. Everything is judged in the paper's time and in cell time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hippozoo._internal.files import write_whole
from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.ou_mixture import ou_mixture
from hippozoo.zoo.multiscale import MultiscaleMemory, smallest_memory
from hippozoo_studies import (
    QUIET,
    Context,
    Departure,
    Result,
    drawing,
    markdown_table,
    mean_and_sem,
    over_seeds,
    spread_text,
)
from hippozoo_studies.paper._multiscale_claims import TIMES, claims, plain_names, worst_ratio
from hippozoo_studies.paper._multiscale_figures import (
    arcsine_law,
    draw_all_errors,
    draw_coverages,
    draw_examples,
    draw_spectra,
)

if TYPE_CHECKING:
    pass

# The paper shows curves and no numbers; "matches or improves upon all single-scale baselines" is a ratio of at most 1.
PAPER = {"log_over_best_plain": 1.0}

DEPARTURES = (
    Departure(
        "base timescale, smallest rate",
        "not given",
        "10 samples and 1e-3, so that the range is that of the plain systems",
        "outside it a query is refused, where the paper clips",
    ),
    Departure("components of the signal", "K, not given", "16", "no known effect"),
    Departure(
        "horizon and scale", "u = -log H", "u = log(base timescale / H)", "the printed one needs a base timescale of 1"
    ),
    Departure(
        "place of a sample",
        "at the left edge of its cell",
        "both: there, and in the middle of its cell",
        "at horizon 10 it changes the error from 0.030 to 0.0023",
    ),
    Departure(
        "update",
        "one coupled system, dense",
        "the same as a bank of windows and an interpolation, equal to rounding",
        "about 400 times faster",
    ),
)
# Sample t fills the cell from t to t + 1. The paper compares the state with the cell's left edge; its centre is right.
CONVENTIONS = {"paper_time": 0.0, "cell_time": 0.5}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    # Of each seed.
    trajectories: int = 64
    n_steps: int = 30_000
    components: int = 16
    component_timescales: tuple[float, float] = (2.0, 2000.0)
    order: int = 16
    scales: int = 128
    comfortable_scales: int = 160
    shortest: float = 10.0
    longest: float = 1e4
    longest_wide: float = 2e4
    scales_wide: int = 144
    bank_excess: float = 0.02
    plain: tuple[int, ...] = (10, 100, 1000, 10_000)
    horizons: int = 31
    grid: int = 128


QUICK = Config(
    seeds=(0,),
    trajectories=3,
    n_steps=12_000,
    order=6,
    scales=40,
    comfortable_scales=60,
    longest_wide=11_000.0,
    scales_wide=44,
    horizons=7,
    bank_excess=0.1,
)


def run(config: Config, context: Context = QUIET) -> Result:
    """Roll every system over all signals, ask it at every horizon, and measure."""
    signal = np.concatenate([draw(config, seed) for seed in config.seeds], axis=1)
    context.progress(0.1, "signals drawn")
    memories = build(config)
    context.progress(0.3, "memories built")
    states = {name: memory.final(signal) for name, memory in memories.items()}
    context.progress(0.6, "signals remembered")
    horizons = asked_horizons(config)
    # A fixed window may be asked for anything: beyond itself it knows nothing.
    reach = {name: getattr(memory, "longest", max(horizons)) for name, memory in memories.items()}
    readers = {name: reader_of(memory, states[name], config.order) for name, memory in memories.items()}
    own = {horizon: Memory(LegT(config.order, float(horizon))).final(signal) for horizon in horizons}
    context.progress(0.8, "plain memories of every horizon")
    errors: dict[str, dict[str, dict[int, np.ndarray]]] = {}
    for convention, shift in CONVENTIONS.items():
        truth = {h: true_past(signal, h, shift, config.grid) for h in horizons}
        lags = {h: np.linspace(0.0, h, config.grid) for h in horizons}
        errors[convention] = {
            name: {h: squared_error(read(h, lags[h]), truth[h]) for h in horizons if h <= reach[name]}
            for name, read in readers.items()
        }
        errors[convention]["plain_of_horizon"] = {
            h: squared_error(LegT(config.order, float(h)).reconstruct(own[h], lags[h]), truth[h]) for h in horizons
        }
    context.progress(0.95, "errors measured")
    mse = {
        convention: {name: {h: mean_and_sem(per) for h, per in curve.items()} for name, curve in curves.items()}
        for convention, curves in errors.items()
    }
    coverages = {
        name: memory.coverage(order=config.order)
        for name, memory in memories.items()
        if isinstance(memory, MultiscaleMemory)
    }
    metrics = {
        **ratios(mse, config),
        "of_each_seed": over_seeds(ratios(of_one(errors, config, place), config) for place in range(len(config.seeds))),
        "expected_worst_excess": {name: coverage.worst_excess for name, coverage in coverages.items()},
        "numbers_stored": stored(memories),
        **spectra(memories),
        "mse": mse,
    }
    shown = [timescale for timescale in config.plain if timescale <= config.longest]
    arrays = {
        "memories": memories,
        "coverages": coverages,
        "past": {h: true_past(signal[:, :1], h, 0.5, 600)[0] for h in shown},
        "remembered": {
            h: {name: readers[name](h, np.linspace(0.0, h, 600))[0] for name in ("log", *plain_names(config))}
            for h in shown
        },
    }
    return Result(metrics=metrics, claims=claims(config, metrics), arrays=arrays)


def draw(config: Config, seed: int) -> np.ndarray:
    """The signals of one seed, (time, trajectories)."""
    rng = np.random.default_rng(seed)
    return ou_mixture(rng, config.n_steps, config.trajectories, config.components, config.component_timescales)


def build(config: Config) -> dict[str, MultiscaleMemory | Memory]:
    """Everything that competes, by the names of the metrics."""
    system = LegT(config.order, config.shortest)
    memories: dict[str, MultiscaleMemory | Memory] = {
        name: MultiscaleMemory(system, config.longest, config.scales, name) for name in ("log", "basic", "jeffreys")
    }
    memories[f"log_{config.comfortable_scales}"] = MultiscaleMemory(system, config.longest, config.comfortable_scales)
    memories["log_wide"] = MultiscaleMemory(system, config.longest_wide, config.scales_wide)
    memories["bank"] = smallest_memory(system, config.longest, config.bank_excess)
    for timescale in config.plain:
        memories[f"plain_{timescale}"] = Memory(LegT(config.order, float(timescale)))
    return memories


def asked_horizons(config: Config) -> list[int]:
    """Whole numbers, evenly spread over the decades; the plain timescales among them."""
    spread = np.geomspace(config.shortest, config.longest, config.horizons).round().astype(int).tolist()
    within = [timescale for timescale in config.plain if config.shortest <= timescale <= config.longest]
    beyond = np.geomspace(config.longest, config.longest_wide, 4).round().astype(int).tolist()
    return sorted({*spread, *within, *beyond})


def reader_of(memory: MultiscaleMemory | Memory, state: np.ndarray, order: int) -> Any:
    """``read(horizon, lags)``: what `order` coefficients of that horizon say, (trajectories, lags)."""
    if isinstance(memory, Memory):
        # A fixed window is read on its own lags, and says nothing beyond them.
        def read_plain(horizon: int, lags: np.ndarray) -> np.ndarray:
            window = memory.system.window
            known = lags <= window * (1 + 1e-12)
            return memory.reconstruct(state, np.minimum(lags, window)) * known

        return read_plain

    def read(horizon: int, lags: np.ndarray) -> np.ndarray:
        # A bank may know more coefficients than the others are allowed.
        coefficients = memory.coefficients(state, float(horizon))[..., :order]
        return LegT(order, float(horizon)).reconstruct(coefficients, lags)

    return read


def true_past(signal: np.ndarray, horizon: int, shift: float, grid: int) -> np.ndarray:
    """The signal on a uniform grid of lags by linear interpolation, (trajectories, grid)."""
    last = len(signal) - 1
    time = np.clip(last + shift - np.linspace(0.0, horizon, grid), 0, last)
    before = np.minimum(np.floor(time).astype(int), last - 1)
    share = (time - before)[:, None]
    return ((1 - share) * signal[before] + share * signal[before + 1]).T


def squared_error(remembered: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean over the grid, one number per trajectory."""
    return ((remembered - truth) ** 2).mean(axis=1)


def ratios(mse: dict[str, Any], config: Config) -> dict[str, Any]:
    """Worst over the horizons: how far a curve lies above the best plain one, and above the plain of each horizon."""
    comfortable = f"log_{config.comfortable_scales}"
    found: dict[str, Any] = {
        "log_over_best_plain": worst_ratio(mse["paper_time"], "log", plain_names(config)),
        "log_over_best_plain_in": {
            convention: worst_ratio(curves, "log", plain_names(config)) for convention, curves in mse.items()
        },
        "log_wide_over_best_plain": {
            convention: worst_ratio(curves, "log_wide", plain_names(config)) for convention, curves in mse.items()
        },
        f"{comfortable}_over_best_plain": worst_ratio(mse["paper_time"], comfortable, plain_names(config)),
    }
    for name in ("log", comfortable, "log_wide", "basic", "jeffreys", "bank"):
        found[f"{name}_over_plain_of_horizon"] = {
            convention: worst_ratio(curves, name, ["plain_of_horizon"]) for convention, curves in mse.items()
        }
    return found


def of_one(errors: dict[str, Any], config: Config, place: int) -> dict[str, Any]:
    """The curves of one seed's trajectories alone."""
    some = slice(place * config.trajectories, (place + 1) * config.trajectories)
    return {
        convention: {
            name: {h: {"mean": per[some].mean()} for h, per in curve.items()} for name, curve in curves.items()
        }
        for convention, curves in errors.items()
    }


def stored(memories: dict[str, MultiscaleMemory | Memory]) -> dict[str, int]:
    """How many numbers each one keeps per trajectory."""
    return {name: memory.initial_state().size for name, memory in memories.items()}


def spectra(memories: dict[str, MultiscaleMemory | Memory]) -> dict[str, Any]:
    """How far the timescales of each construction are from log-uniform and from the arcsine law in log-timescale."""
    distances = {}
    for name, memory in memories.items():
        if isinstance(memory, MultiscaleMemory):
            place = np.clip(np.log(memory.windows / memory.shortest) / np.log(memory.longest / memory.shortest), 0, 1)
            share = (np.arange(place.size) + 0.5) / place.size
            distances[name] = {
                "log_uniform": float(np.abs(place - share).max()),
                "arcsine": float(np.abs(arcsine_law(place) - share).max()),
            }
    return {"distance_of_timescales_from": distances}


def table(result: Result) -> str:
    """Errors at the plain windows and at the widest horizon, in both conventions."""
    mse = result.metrics["mse"]
    last = max(mse["paper_time"]["plain_of_horizon"])
    asked = [h for h in mse["paper_time"]["plain_of_horizon"] if f"plain_{h}" in mse["paper_time"] or h == last]
    rows = [
        [
            TIMES[time],
            name.replace("_", " "),
            *(spread_text(one[h], ".4f") if h in one else "out of range" for h in asked),
        ]
        for time, curves in mse.items()
        for name, one in curves.items()
    ]
    return (
        f"{markdown_table(['time', 'system', *(f'horizon {h:,}' for h in asked)], rows)}\n\n"
        "Mean squared error ± standard "
        "error over trajectories. *plain of horizon* is the plain system of each horizon. "
        "The paper shows curves and no numbers.\n"
    )


def report(result: Result, folder: Path) -> None:
    """Error against horizon, example reconstructions, spectra of timescales, and expected errors."""
    write_whole(folder / "table.md", table(result).encode())
    draw_all_errors(result, ("log_wide", "log", "bank"), folder, "error-against-horizon")  # figure 4
    draw_all_errors(result, ("basic", "jeffreys", "log"), folder, "constructions")  # figure 7

    with drawing(folder, "reconstructions", (11, 7.0)) as figure:
        draw_examples(figure, result)

    with drawing(folder, "timescales", (7, 4.4)) as figure:
        draw_spectra(figure.subplots(), result.arrays["memories"])

    with drawing(folder, "coverage", (7, 4.0)) as figure:
        draw_coverages(figure.subplots(), result)
