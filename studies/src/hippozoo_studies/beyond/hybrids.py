"""Hybrids: parts of LSTM, Mamba and attention joined with explicit memories (the paper's Discussion asks for them).

Five hybrids of about 25,000 parameters on the paper's two tasks, selective copying and associative recall, beside the
models they are made of: an LSTM and Mamba with a bank behind them (each value is stored under the moment before it),
Mamba with one clock for all channels (salience, whose measure is drawn), Mamba's gates around a bank of windows
(without its short convolution and input-dependent time: what that loses is not to be charged to the windows), and a
plain memory whose coefficients are attended to. And which part of Mamba matters: its input-dependent write, read and
clock, its gate and its short convolution are taken away one by one, at equal size.

The protocol is that of ``memory-tasks``: three rates compared by validation loss with the first seed, then all seeds at
the rate chosen. What a trained hybrid still shows is drawn for one episode of the first seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hippozoo._internal.files import write_whole
from hippozoo.baselines import LSTM, Mamba
from hippozoo.layers import SequenceLayer, SequenceModel
from hippozoo.memory import LagLayer
from hippozoo.models import recipe
from hippozoo.systems import LegT
from hippozoo.training import seeded
from hippozoo.zoo.associative import Recall
from hippozoo_studies import (
    QUIET,
    Context,
    Finished,
    Result,
    drawing,
    markdown_table,
    over_seeds,
    select,
    spread_text,
)
from hippozoo_studies.beyond._hybrid_claims import CLAIMS, MADE_OF, TITLE
from hippozoo_studies.beyond._hybrid_figures import draw_pictures, episode_of
from hippozoo_studies.beyond._hybrid_layers import AttentiveMemory, SelectiveWindows
from hippozoo_studies.beyond._state_size import numbers_of_state
from hippozoo_studies.framework.claims import answers
from hippozoo_studies.paper._character_models import count, largest_within
from hippozoo_studies.paper._mamba_parts import PARTS, without
from hippozoo_studies.paper._two_tasks import (
    LENGTHS,
    LEVELS,
    SIZES,
    TITLES,
    Protocol,
    check_names,
    learn,
    make_data,
)

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "rates", "models", "tasks", "parts")
ASSEMBLES_PARTS = True
MORE_AT_ANY_TIME = True
WORDS = {"task": {"copying": "sc", "recall": "ar"}}
PARAMS = 25_000
# Samples in the short convolution, as in Mamba.
TAPS = 4


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    models: tuple[str, ...] = tuple(TITLE)
    tasks: tuple[str, ...] = ("sc", "ar")
    parts: tuple[str, ...] = tuple(PARTS)
    params: int = PARAMS


QUICK = Config(
    seeds=(0,),
    rates=(1e-3,),
    sequences=60,
    steps=2,
    validate_every=1,
    batch=8,
    params=3_000,
    parts=("gate", "write"),
)


def build(name: str, task: str, params: int) -> SequenceLayer:
    """A model of about so many parameters; ``without_PART`` is Mamba without a part."""
    size, length = SIZES[task], LENGTHS[task]
    sizes = {"inputs": size, "outputs": size}
    if name in ("lstm", "lstm_2"):
        return LSTM.match(params, **sizes, layers=2 if name == "lstm_2" else 1)
    if name in ("mamba", "mamba_2", "mamba_clock"):
        depth = 2 if name == "mamba_2" else 1
        return Mamba.match(params, **sizes, layers=depth, shared_step=name == "mamba_clock")
    if name.startswith("without_"):
        part = name.removeprefix("without_")

        def make(width: int) -> Mamba:
            return without(part, width, **sizes)

        below = largest_within(make, params)
        return make(min((below, below + 1), key=lambda width: abs(count(make, width) - params)))

    def bank(width: int) -> Recall:
        return Recall(width, factors=min(2, width))  # the search for a width begins with one channel

    layers: dict[str, list[Callable[[int], nn.Module]]] = {
        "memory": [recipe("memory", length)] * 2,
        "lstm_bank": [lambda width: LSTM(width, width, width), bank],
        "mamba_bank": [lambda width: Mamba(width, width, width), bank],
        "mamba_windows": [lambda width: SelectiveWindows(width, length)] * 2,
        # A block of recent samples before each bank stands for Mamba's short convolution.
        "mamba_windows_taps": [lambda width: LagLayer((), width, TAPS), lambda width: SelectiveWindows(width, length)]
        * 2,
        "memory_attention": [lambda width: AttentiveMemory(width, LegT(min(16, length), float(length)))] * 2,
    }
    return SequenceModel.match(params, layers=layers[name], **sizes)


def units(config: Config) -> list[dict[str, Any]]:
    """All rates with the first seed; `more_units` adds the other seeds at the rate that was best."""
    check_names("models", config.models, TITLE)
    check_names("tasks", config.tasks, SIZES)
    check_names("parts", config.parts, PARTS)
    # Hybrids and what they are made of come first, on the shorter task first; Mamba's parts last.
    parts = [f"without_{part}" for part in config.parts]
    return [
        {"model": model, "task": task, "rate": rate, "seed": config.seeds[0]}
        for models in (config.models, parts)
        for task in sorted(config.tasks, key=LENGTHS.__getitem__)
        for model in models
        for rate in config.rates
    ]


def all_models(config: Config) -> list[str]:
    """Hybrids, what they are made of, and Mamba without its parts."""
    return [*config.models, *(f"without_{part}" for part in config.parts)]


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """The other seeds, each row at its own rate."""
    return [
        {"model": model, "task": task, "rate": config.chosen_rate(finished, model=model, task=task), "seed": seed}
        for task in config.tasks
        for model in all_models(config)
        if config.has_all_rates(finished, model=model, task=task)
        for seed in config.seeds[1:]
    ]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train and score one model, and keep what it still shows of one episode."""
    task, seed = unit["task"], unit["seed"]
    data = make_data(task, seed, config.sequences)
    with seeded(seed):
        model = build(unit["model"], task, config.params)
    found = learn(model, data, config.plan(unit["rate"], seed), config.batch, context)
    found["state"] = numbers_of_state(model)
    if seed == config.seeds[0]:
        found["shown"] = shown(model, data.test.inputs[:1])
    return found


@torch.no_grad()
def shown(model: Any, x: Tensor) -> dict[str, Any]:
    """What can be drawn of a model reading one episode: a matrix, its axes in words, and a title; empty for an LSTM."""
    model.eval()
    if isinstance(model, Mamba):
        steps = model.time_steps(x)[0, :, 0]
        spread = (steps - steps[:, :1]).abs().max() < 1e-6 * steps.abs().max()
        values = steps[:, :1] if spread else steps
        return _picture("time steps, one clock" if spread else "time steps by channel", "channel", values.T)
    if not isinstance(model, SequenceModel):
        return {}
    inside: list[Tensor] = []
    kinds = (Recall, AttentiveMemory, SelectiveWindows)
    part = next((one for one in reversed(list(model.modules())) if isinstance(one, kinds)), None)
    if part is None:
        return {}
    hook = part.register_forward_pre_hook(lambda _, given: inside.append(given[0]))
    try:
        model(x)
    finally:
        hook.remove()
    seen = inside[0]
    if isinstance(part, Recall):
        return _picture("carriers: which moment is recalled", "moment written", part.carriers(seen)[0].mT)
    if isinstance(part, AttentiveMemory):
        return _picture("attention to coefficients", "degree", part.attention(seen)[0, 0].mT)
    functionals = part.functionals(seen)[0].abs().sum(1)
    return _picture("windows that are read", "window, short to long", functionals.mT)


def _picture(title: str, rows: str, values: Tensor) -> dict[str, Any]:
    return {"title": title, "rows": rows, "values": [[float(f"{one:.4g}") for one in row] for row in values.tolist()]}


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy over seeds of every row whose rates have all been tried."""
    metrics: dict[str, Any] = {name: {} for name in ("accuracy", "train_accuracy", "params", "state", "rate")}
    pictures: dict[str, Any] = {}
    for task in config.tasks:
        for name in metrics:
            metrics[name][task] = {}
        for model in all_models(config):
            if not config.has_all_rates(finished, model=model, task=task):
                continue
            rate = config.chosen_rate(finished, model=model, task=task)
            found = [
                one.result
                for seed in config.seeds
                for one in select(finished, model=model, task=task, rate=rate, seed=seed)
            ]
            for name in ("accuracy", "train_accuracy"):
                metrics[name][task][model] = over_seeds(one[name] for one in found)
            metrics["params"][task][model], metrics["state"][task][model] = found[0]["parameters"], found[0]["state"]
            metrics["rate"][task][model] = rate
            if found[0].get("shown"):
                pictures.setdefault(task, {})[model] = found[0]["shown"]
    metrics["levels"] = LEVELS
    return Result(metrics, answers(CLAIMS, config, metrics), {"config": config, "pictures": pictures})


def label(model: str) -> str:
    """A row in words."""
    return TITLE.get(model) or f"Mamba without its {PARTS[model.removeprefix('without_')]}"


def table(result: Result) -> str:
    """Accuracy, size and state, task by task."""
    config: Config = result.arrays["config"]
    metrics, rows = result.metrics, []
    for model in all_models(config):
        cells = [label(model)]
        for task in config.tasks:
            one = metrics["accuracy"][task].get(model)
            if one is None:
                cells += ["not run yet", "", ""]
            else:
                cells += [f"{spread_text(one, '.1f')} ({len(one['seeds'])})", f"{metrics['params'][task][model]:,}"]
                cells += [f"{metrics['state'][task][model]:,}"]
        rows.append(cells)
    header = ["model"]
    for task in config.tasks:
        header += [f"{TITLES[task]} (%)", "parameters", "state size"]
    short = "Fewer steps than in the paper: this table shows the form, not a result.\n" if config.is_short else ""
    return (
        f"{markdown_table(header, rows)}\n\nTest accuracy in per cent, mean ± standard error over seeds (their "
        f"number); {config.steps:,} steps. {TITLE['mamba_windows']}: Mamba's gated write and read, with neither its "
        f"short convolution nor its input-dependent time.\n{short}"
    )


def report(result: Result, folder: Path) -> None:
    """The table, accuracies, and what each model still shows."""
    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    quick = " (a quick run, no result)" if config.is_short else ""
    models, tasks = all_models(config), [task for task in config.tasks if result.metrics["accuracy"][task]]
    with drawing(folder, "accuracy", (1.6 + 3.7 * len(tasks), 0.3 * len(models) + 1.6)) as figure:
        for ax, task in zip(figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0], tasks, strict=True):
            for place, model in enumerate(models):
                one = result.metrics["accuracy"][task].get(model)
                if one:
                    ax.plot(one["seeds"], [place] * len(one["seeds"]), ".", color="C0", alpha=0.6)
                    ax.plot(one["mean"], place, "o", color="C1" if model in MADE_OF else "C0")
            ax.set_yticks(range(len(models)), [label(model) for model in models], fontsize=8)
            ax.set(title=f"{TITLES[task]}{quick}", xlabel="test accuracy (%)", xlim=(0, 104))
        figure.axes[0].invert_yaxis()
        figure.axes[0].plot([], [], "o", color="C1", label="hybrid")
        figure.axes[0].plot([], [], "o", color="C0", label="component models, and Mamba ablations")
        figure.axes[0].plot([], [], ".", color="C0", alpha=0.6, label="one seed")
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    for task, pictures in result.arrays["pictures"].items():
        episode = episode_of(task, config.seeds[0], config.sequences)
        draw_pictures(pictures, task, episode, result.metrics["accuracy"][task], folder, quick)
