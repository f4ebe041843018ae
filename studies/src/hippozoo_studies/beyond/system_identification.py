"""System identification: explicit memories against recurrent networks on two measured circuits (not in the paper).

Wiener-Hammerstein is filter, curve, filter; the Silverbox is an oscillator with its curve in a feedback loop. Four
explicit structures are fitted to both: a linear readout, a cubic polynomial of one memory, a cascade of two memories,
and a feedback loop of memories. Settings are chosen on the last part of the training rows, then the choice is fitted to
all of them, and simulated on the official test sets from the input and 50 measured samples alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.files import write_whole
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.tasks.system_identification import BENCHMARKS, Benchmark, load_benchmark, published_errors, rmse_mv
from hippozoo.zoo.volterra import (
    BoundedPolynomial,
    Cascade,
    CascadeWeights,
    DivergenceError,
    FeedbackLoop,
    FeedbackWeights,
    RidgeRLS,
    VolterraModel,
    identify,
    leading_directions,
)
from hippozoo_studies import QUIET, Claim, Context, Finished, Result, drawing, markdown_table, select

# Not an experiment of the paper's: the published figures beside ours are those of arXiv 2405.10779.
PAPER: dict[str, Any] = {}
SELECTS = ("benchmarks", "models")
SYSTEMS = {"LegS": LegS, "LegT": LegT}
BEST = {"wiener-hammerstein": "cascade", "silverbox": "loop"}

# What is tried, by model and benchmark; the first one is what --quick runs.
CANDIDATES: dict[str, dict[str, list[dict[str, Any]]]] = {
    "linear": {
        "wiener-hammerstein": [
            {"system": "LegS", "order": 32, "timescale": 16.0},
            {"system": "LegT", "order": 48, "timescale": 96.0},
        ],
        "silverbox": [
            {"system": "LegS", "order": 48, "timescale": 24.0},
            {"system": "LegT", "order": 64, "timescale": 140.0},
        ],
    },
    "polynomial": {
        "wiener-hammerstein": [
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 2, "directions": 16},
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 3, "directions": 10},
        ],
        "silverbox": [
            {"system": "LegT", "order": 64, "timescale": 140.0, "degree": 2, "directions": 16},
            {"system": "LegT", "order": 64, "timescale": 140.0, "degree": 3, "directions": 10},
        ],
    },
    "cascade": {
        "wiener-hammerstein": [
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 9, "reach": 2.5},
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 15, "reach": 2.0},
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 15, "reach": 2.5},
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 21, "reach": 2.5},
            {"system": "LegS", "order": 32, "timescale": 16.0, "degree": 21, "reach": 3.0},
            {"system": "LegS", "order": 48, "timescale": 16.0, "degree": 21, "reach": 2.5},
            {"system": "LegS", "order": 32, "timescale": 10.0, "degree": 21, "reach": 2.5},
        ],
        "silverbox": [{"system": "LegT", "order": 64, "timescale": 140.0, "degree": 5, "reach": 3.0}],
    },
    "loop": {
        "wiener-hammerstein": [{"system": "LegT", "order": 8, "timescale": 8.0, "degree": 3}],
        "silverbox": [
            {"system": "LegT", "order": 8, "timescale": 8.0, "degree": 3},
            {"system": "LegT", "order": 6, "timescale": 6.0, "degree": 3},
            {"system": "LegT", "order": 12, "timescale": 12.0, "degree": 3},
            {"system": "LegS", "order": 8, "timescale": 4.0, "degree": 3},
            {"system": "LegT", "order": 8, "timescale": 8.0, "degree": 5},
        ],
    },
}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome; nothing is random."""

    benchmarks: tuple[str, ...] = BENCHMARKS
    models: tuple[str, ...] = tuple(CANDIDATES)
    candidates: int = 7
    validation_share: float = 0.2
    # The oldest training rows are left out first; 0 keeps all.
    most_rows: int = 0
    warm_up: int = 300
    iterations: int = 40
    ridge: float = 1e-6


QUICK = Config(candidates=1, most_rows=3000, iterations=4)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per benchmark, model and candidate."""
    return [
        {"part": "search", "benchmark": benchmark, "model": model, "candidate": number}
        for benchmark in config.benchmarks
        for model in config.models
        for number in range(min(config.candidates, len(CANDIDATES[model][benchmark])))
    ]


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The best candidate on validation, once more on all training rows."""
    return [
        {"part": "final", "benchmark": benchmark, "model": model, "candidate": _chosen(finished, benchmark, model)}
        for benchmark in config.benchmarks
        for model in config.models
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Fit one candidate, and simulate rows it has not seen."""
    benchmark = load_benchmark(unit["benchmark"], context.data)
    settings = CANDIDATES[unit["model"]][unit["benchmark"]][unit["candidate"]]
    begin, end = benchmark.train.start, benchmark.train.stop
    final = unit["part"] == "final"
    cut = end if final else end - round(config.validation_share * (end - begin))
    if config.most_rows:
        begin = max(begin, cut - config.most_rows)
    model = _fit(config, unit["model"], settings, benchmark, slice(begin, cut), context)
    if not final:
        return {"validation_mv": _error(model, benchmark, slice(cut, end))}
    result = {"rmse_mv": {name: _error(model, benchmark, rows) for name, rows in benchmark.tests.items()}}
    return result | {"settings": settings, "unknowns": model.unknowns, "shown": model.shown(benchmark)}


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Errors on the test sets beside the published ones, and whether ours are smaller."""
    errors: dict[str, Any] = {}
    choices: dict[str, Any] = {}
    unknowns: dict[str, Any] = {}
    published: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name in config.benchmarks:
        finals = {one.unit["model"]: one.result for one in select(finished, part="final", benchmark=name)}
        tests = published_errors(name)
        errors[name] = {test: {model: run["rmse_mv"][test] for model, run in finals.items()} for test in tests}
        choices[name] = {model: run["settings"] for model, run in finals.items()}
        unknowns[name] = {model: run["unknowns"] for model, run in finals.items()}
        published[name] = tests
        if BEST[name] in finals:
            arrays[name] = finals[BEST[name]]["shown"]
    claims = []
    for name in config.benchmarks:
        ours = BEST[name]
        for test, values in published[name].items():
            if ours not in errors[name][test]:
                continue
            found = errors[name][test][ours]
            best = min(values, key=lambda rival: values[rival])
            claims.append(
                Claim(
                    f"{name}, {test}: the {ours} is ahead of the networks of arXiv 2405.10779",
                    holds=found is not None and found < values[best],
                    evidence=f"{_mv(found)} against {values[best]} ({best})",
                )
            )
    metrics = {"rmse_mv": errors, "published_mv": published, "chosen": choices, "unknowns": unknowns}
    return Result(metrics=metrics, claims=claims, arrays=arrays)


def table(result: Result) -> str:
    """Errors on every test, ours and published."""
    rows = []
    for name, tests in result.metrics["rmse_mv"].items():
        for test, ours in tests.items():
            published = result.metrics["published_mv"][name][test]
            rows += [[name, test.replace("_", " "), model, _mv(value), ""] for model, value in ours.items()]
            rows += [[name, test.replace("_", " "), rival, "", f"{value:g} mV"] for rival, value in published.items()]
    header = ["benchmark", "test", "model", "ours", "published"]
    return f"{markdown_table(header, rows)}\n\nRMSE of a free simulation. Published: arXiv 2405.10779.\n"


def report(result: Result, folder: Path) -> None:
    """Errors of all models, and what the best one has learnt: filters, curve, kernels."""
    from hippozoo.zoo.volterra.plots import plot_kernel, plot_nonlinearity

    write_whole(folder / "table.md", table(result).encode())
    _draw_errors(result, folder)
    for name, shown in result.arrays.items():
        with drawing(folder, name, (10.5, 3.1)) as figure:
            axes = figure.subplots(1, 3)
            for label, response in shown["filters"].items():
                plot_kernel(np.array(response), shown["ms_per_sample"], unit="ms", label=label, ax=axes[0])
            axes[0].set(ylabel="impulse response", title="impulse responses, in the input's band")
            axes[0].legend()
            plot_nonlinearity(np.array(shown["curve"][0]), np.array(shown["curve"][1]), ax=axes[1])
            axes[1].set(title="static nonlinearity", **shown["curve_labels"])
            kernel = np.array(shown["kernel"])
            plot_kernel(kernel, shown["ms_per_sample"], unit="ms", label=shown["kernel_label"], ax=axes[2])
            figure.colorbar(axes[2].images[0], ax=axes[2], shrink=0.85, label="kernel")
            figure.suptitle(f"{name.title()}, as identified by the {BEST[name]}", x=0.01, ha="left")


def _draw_errors(result: Result, folder: Path) -> None:
    from hippozoo.plotting import Patch

    errors, published = result.metrics["rmse_mv"], result.metrics["published_mv"]
    tests = [(name, test) for name in errors for test in errors[name]]
    with drawing(folder, "errors", (2.8 * len(tests) + 0.6, 3.2)) as figure:
        for ax, (name, test) in zip(figure.subplots(1, len(tests), squeeze=False)[0], tests, strict=True):
            bars = [(model, value, "C0") for model, value in errors[name][test].items() if value is not None]
            bars += [(_RIVALS.get(rival, rival), value, "0.65") for rival, value in published[name][test].items()]
            labels, values, colours = zip(*sorted(bars, key=lambda bar: -bar[1]), strict=True)
            ax.barh(labels, values, color=colours)
            # What ran away has no error to draw; it is named all the same.
            lost = [f"{model}: simulation ran away" for model, value in errors[name][test].items() if value is None]
            for place, words in enumerate(lost):
                ax.barh(words, 0.0)
                ax.text(min(values), len(values) + place, " no finite error", va="center", fontsize=8, style="italic")
            ax.set(xscale="log", xlabel="RMSE (mV)", title=f"{name.title()},\n{test.replace('_', ' ')}")
            ax.grid(False, axis="y")
            for place, value in enumerate(values):
                ax.text(value, place, f" {value:.3g}", va="center", fontsize=8)
            ax.set_xlim(min(values) / 2, max(values) * 4)
        kinds = [Patch(color="C0", label="ours"), Patch(color="0.65", label="published")]
        figure.legend(handles=kinds, loc="outside lower center", ncols=2, fontsize=8)


_RIVALS = {"gru": "GRU", "lstm": "LSTM", "rnn": "RNN", "fir_mlp": "FIR + MLP"}


# -- the models -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Readout:
    """A linear or polynomial readout of one memory."""

    model: VolterraModel
    state: Any

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        return self.model.predict(self.state._replace(memory=self.model.memory.initial_state()), signal)[0]

    @property
    def unknowns(self) -> int:
        return self.model.readout.n_parameters

    def shown(self, benchmark: Benchmark) -> None:
        return None


@dataclass(frozen=True, eq=False)
class _Cascade:
    cascade: Cascade
    weights: CascadeWeights

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        return self.cascade.simulate(self.weights, signal)

    @property
    def unknowns(self) -> int:
        return sum(len(part) for part in self.weights)

    def shown(self, benchmark: Benchmark, length: int = 48) -> dict[str, Any]:
        # The inputs are band-limited: only what they excite in each memory is known, and only that is shown.
        signal = benchmark.signal[benchmark.train]
        middle = self.cascade.first.readout(signal, self.weights.first)
        bent = self.cascade.curve.value(self.weights.curve, middle)
        excited = [identify(self.cascade.first, signal), identify(self.cascade.second, bent)]
        known = self.weights._replace(
            first=excited[0].identified(self.weights.first), second=excited[1].identified(self.weights.second)
        )
        first, second = self.cascade.filters(known, length)
        places = np.linspace(middle.min(), middle.max(), 201)
        return {
            "ms_per_sample": 1e3 / benchmark.rate,
            "filters": {"first": _rounded(first), "second": _rounded(second)},
            "curve": [_rounded(places), _rounded(self.cascade.curve.value(self.weights.curve, places))],
            "curve_labels": {"xlabel": "after the first filter", "ylabel": "before the second"},
            "kernel": _rounded(self.cascade.kernel(known, 2, length)),
            "kernel_label": "Kernel of degree 2",
            "excited_directions": [[one.count, len(one.strength)] for one in excited],
        }


@dataclass(frozen=True, eq=False)
class _Loop:
    loop: FeedbackLoop
    weights: FeedbackWeights

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        return self.loop.simulate(self.weights, signal, known)

    @property
    def unknowns(self) -> int:
        return self.loop.n_parameters

    def shown(self, benchmark: Benchmark, length: int = 64) -> dict[str, Any]:
        drive = self.loop.kernel(self.weights, 1, length)
        reach = float(np.abs(benchmark.target[benchmark.train]).max())
        places = np.linspace(-reach, reach, 201)
        # The static force law: the input that holds the output at a level.
        ones = np.zeros(self.loop.memory.system.order)
        ones[0] = 1.0  # the state of a constant past
        gains = self.weights.feedback @ ones
        static = places - self.weights.constant - sum(g * places ** (m + 1) for m, g in enumerate(gains))
        return {
            "ms_per_sample": 1e3 / benchmark.rate,
            "filters": {"kernel of degree 1": _rounded(drive)},
            "curve": [_rounded(places), _rounded(static / float(self.weights.drive @ ones))],
            "curve_labels": {"xlabel": "output held (V)", "ylabel": "input needed (V)"},
            "kernel": _rounded(self.loop.kernel(self.weights, 3, length)[12]),
            "kernel_label": "Kernel of degree 3, one lag\nat 12 samples",
        }


def _fit(
    config: Config, model: str, settings: dict[str, Any], benchmark: Benchmark, rows: slice, context: Context
) -> _Readout | _Cascade | _Loop:
    memory = Memory(SYSTEMS[settings["system"]](settings["order"], settings["timescale"]))
    signal, target = benchmark.signal[rows], benchmark.target[rows]

    def progress(done: float) -> None:
        context.progress(done, f"{benchmark.name} {model}")

    if model == "cascade":
        cascade = Cascade(memory, memory, BoundedPolynomial(settings["degree"], settings["reach"]))
        found = cascade.fit(signal, target, config.warm_up, iterations=config.iterations, progress=progress)
        return _Cascade(cascade, found)
    if model == "loop":
        loop = FeedbackLoop(memory, settings["degree"])
        return _Loop(loop, loop.fit(signal, target, config.warm_up, config.iterations, progress=progress))
    linear = VolterraModel(memory, 1, learner=RidgeRLS(config.ridge))
    learnt = linear.learn(linear.initial_state(), signal, target)[1]
    if model == "linear":
        return _Readout(linear, learnt)
    # The best linear functional, and with it the directions in which this input moves the state most.
    functional = linear.tensor(learnt, 1)
    spread = memory.readout(signal, functional).std()
    leading = leading_directions(memory, signal, settings["directions"] - 1)
    directions = np.column_stack([functional / spread, leading])
    readout = VolterraModel(memory, settings["degree"], learner=RidgeRLS(config.ridge), directions=directions)
    return _Readout(readout, readout.learn(readout.initial_state(), signal, target)[1])


def _error(model: Any, benchmark: Benchmark, rows: slice) -> float | None:
    """RMSE in mV of a simulation that begins at these rows; None if it runs away."""
    measured = benchmark.target[rows]
    try:
        simulated = model.simulate(benchmark.signal[rows], measured[: benchmark.known])
    except DivergenceError:
        return None
    return rmse_mv(simulated, measured, benchmark.known)


def _chosen(finished: list[Finished], benchmark: str, model: str) -> int:
    tried = select(finished, part="search", benchmark=benchmark, model=model)
    errors = [one.result["validation_mv"] for one in tried]
    best = min(range(len(tried)), key=lambda i: np.inf if errors[i] is None else errors[i])
    return tried[best].unit["candidate"]


def _mv(value: float | None) -> str:
    return "the simulation diverged" if value is None else f"{value:.3f} mV"


def _rounded(values: np.ndarray) -> list[Any]:
    return [[float(f"{v:.5g}") for v in row] if np.ndim(row) else float(f"{row:.5g}") for row in values]
