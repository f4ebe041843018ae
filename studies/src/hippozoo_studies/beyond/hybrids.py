"""Hybrids: parts of LSTM, Mamba and attention joined with explicit memories (the paper's Discussion asks for them).

Five hybrids of about 25,000 parameters on the paper's two tasks, selective copying and associative recall, beside the
models they are made of: an LSTM and Mamba with a bank behind them (each value is stored under the moment before it),
Mamba with one clock for all channels (salience, whose measure can be drawn), Mamba's gates around a bank of windows,
and a plain memory whose coefficients are attended to. And which part of Mamba matters: its input-dependent write, read
and clock, its gate and its short convolution are taken away one by one, at equal size.

The protocol is that of ``memory-tasks``: three rates compared by validation loss with the first seed, then all seeds at
the rate chosen. What a trained hybrid still shows is drawn for one episode of the first seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hippozoo._internal.files import write_whole
from hippozoo.baselines import LSTM, Mamba
from hippozoo.layers import SequenceLayer, SequenceModel
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
)
from hippozoo_studies.beyond._hybrid_layers import AttentiveMemory, SelectiveWindows
from hippozoo_studies.beyond._state_size import numbers_of_state
from hippozoo_studies.framework.claims import Asked, answers, listed
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
from hippozoo_studies.paper.memory_tasks import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "rates", "models", "tasks", "parts")
ASSEMBLES_PARTS = True
MORE_AT_ANY_TIME = True
WORDS = {"task": {"copying": "sc", "recall": "ar"}}
PARAMS = 25_000
#: Models that hybrids are made of, and the hybrids.
TITLE = {
    "lstm": "LSTM",
    "lstm_2": "LSTM, two layers",
    "lstm_bank": "LSTM + bank",
    "mamba": "Mamba",
    "mamba_2": "Mamba, two layers",
    "mamba_bank": "Mamba + bank",
    "mamba_clock": "Mamba with one clock (salience)",
    "memory": "Plain memory, two blocks",
    "mamba_windows": "Mamba's gates around a bank of windows",
    "memory_attention": "Memory + attention over its coefficients",
}
#: The models that a hybrid is compared with: those it is made of, also with as many layers as it has, since a second
#: layer alone may be what helps.
MADE_OF = {
    "lstm_bank": ("lstm", "lstm_2"),
    "mamba_bank": ("mamba", "mamba_2"),
    "mamba_clock": ("mamba",),
    "mamba_windows": ("mamba", "mamba_2", "memory"),
    "memory_attention": ("memory",),
}


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


#: A hybrid keeps what its expressive part can if it loses no more, in points.
KEEPS = 1.0


def gains(hybrid: str) -> Callable[[Config, dict[str, Any]], dict[str, Any] | None]:
    """A hybrid beside what it is made of, task by task; whether it was run to the end."""

    def numbers(config: Config, metrics: dict[str, Any]) -> dict[str, Any] | None:
        bases = MADE_OF[hybrid]
        rows = {task: row for task, row in metrics["accuracy"].items() if {hybrid, *bases} <= row.keys()}
        if not rows:
            return None
        seeds = min(len(row[model]["seeds"]) for row in rows.values() for model in (hybrid, *bases))
        each = []
        for task, row in rows.items():
            others = ", ".join(f"{TITLE[base]} {percent(row[base])}" for base in bases)
            each.append(f"{TITLES[task]}: {percent(row[hybrid])} % ({others})")
        return {
            "title": TITLE[hybrid],
            "each": "; ".join(each),
            "margins": [row[hybrid]["mean"] - max(row[base]["mean"] for base in bases) for row in rows.values()],
            "first_margins": [row[hybrid]["mean"] - row[bases[0]]["mean"] for row in rows.values()],
            "done": len(rows) == len(config.tasks) and seeds == len(config.seeds),
            "seeds": seeds,
        }

    return numbers


def middle_ground(config: Config, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """All hybrids of an expressive model, each beside that model of one layer."""
    found = {hybrid: gains(hybrid)(config, metrics) for hybrid in MADE_OF if hybrid != "memory_attention"}
    there = {hybrid: one for hybrid, one in found.items() if one}
    if not there:
        return None
    each = [
        f"{one['title']} {', '.join(f'{margin:+.1f}' for margin in one['first_margins'])}" for one in there.values()
    ]
    return {
        "kept": [margin >= -KEEPS for one in there.values() for margin in one["first_margins"]],
        "each": "; ".join(each),
        "tasks": listed(TITLES[task] for task in metrics["accuracy"]),
        "done": len(there) == len(found) and all(one["done"] for one in there.values()),
    }


def lost_parts(task: str) -> Callable[[Config, dict[str, Any]], dict[str, Any] | None]:
    """What Mamba loses with each of its parts, in points."""

    def numbers(config: Config, metrics: dict[str, Any]) -> dict[str, Any] | None:
        row = metrics["accuracy"].get(task, {})
        if len(config.parts) < 2 or not {"mamba", *(f"without_{part}" for part in config.parts)} <= row.keys():
            return None
        lost = {part: row["mamba"]["mean"] - row[f"without_{part}"]["mean"] for part in config.parts}
        most = max(lost, key=lost.__getitem__)
        each = [f"without {PARTS[part]} {-loss:+.1f}" for part, loss in lost.items()]
        return {"part": PARTS[most], "task": TITLES[task], "most": lost[most], "each": ", ".join(each)}

    return numbers


CLAIMS = (
    Asked(
        "LSTM and Mamba lose no more than a point by an explicit part, and something of their memory can be drawn",
        "Hybrid architectures embedding interpretable components within expressive SSMs offer a middle ground",
        middle_ground,
        lambda n: n["kept"] if n["done"] else None,
        "In points of accuracy, against the expressive model of one layer and equal size, on {tasks}: {each}. Pictures "
        "show what each hybrid still shows: carriers of the bank, clocks, windows.",
    ),
    *(
        Asked(
            "ours: {title} is more accurate than what it is made of, at equal size, on both tasks",
            "",
            gains(hybrid),
            lambda n: [margin > 0 for margin in n["margins"]] if n["done"] else None,
            "{each}; seeds: {seeds}.",
        )
        for hybrid in MADE_OF
    ),
    *(
        Asked(
            "ours: Mamba lives by its {part} on {task} (the part whose loss costs most)",
            "",
            lost_parts(task),
            lambda n: n["most"] > 5.0,
            "Points of accuracy, {each}.",
        )
        for task in TITLES
    ),
)


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
                cells += [f"{percent(one)} ({len(one['seeds'])})", f"{metrics['params'][task][model]:,}"]
                cells += [f"{metrics['state'][task][model]:,}"]
        rows.append(cells)
    header = ["model"]
    for task in config.tasks:
        header += [f"{TITLES[task]} (%)", "parameters", "numbers of state"]
    short = "Fewer steps than in the paper: this table shows the form, not a result.\n" if config.is_short else ""
    return (
        f"{markdown_table(header, rows)}\n\nTest accuracy in per cent, mean ± standard error over seeds (how many); "
        f"{config.steps:,} steps.\n{short}"
    )


def report(result: Result, folder: Path) -> None:
    """The table, accuracies, and what each model still shows."""
    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    quick = " (a quick run, no result)" if config.is_short else ""
    models = all_models(config)
    with drawing(folder, "accuracy", (9.0, 0.3 * len(models) + 1.4)) as figure:
        for ax, task in zip(
            figure.subplots(1, len(config.tasks), squeeze=False, sharey=True)[0], config.tasks, strict=True
        ):
            for place, model in enumerate(models):
                one = result.metrics["accuracy"][task].get(model)
                if one:
                    ax.plot(one["seeds"], [place] * len(one["seeds"]), ".", color="C0", alpha=0.6)
                    ax.plot(one["mean"], place, "o", color="C1" if model in MADE_OF else "C0")
            ax.set_yticks(range(len(models)), [label(model) for model in models], fontsize=8)
            ax.set(title=f"{TITLES[task]}{quick}", xlabel="test accuracy (%)", xlim=(0, 104))
        figure.axes[0].invert_yaxis()
    for task, pictures in result.arrays["pictures"].items():
        drawn = {model: one for model, one in pictures.items() if model in MADE_OF}
        if drawn:
            with drawing(folder, f"shown-{'copying' if task == 'sc' else 'recall'}", (3.2 * len(drawn), 3.0)) as figure:
                for ax, (model, one) in zip(
                    figure.subplots(1, len(drawn), squeeze=False)[0], drawn.items(), strict=True
                ):
                    draw_shown(figure, ax, one)
                    ax.set_title(f"{TITLE[model]}\n{one['title']}", fontsize=8)
                figure.suptitle(f"{TITLES[task]}: what can still be drawn{quick}", fontsize=10)


def draw_shown(figure: Figure, ax: Axes, one: dict[str, Any]) -> None:
    """A matrix as an image, a single row as a line."""
    from matplotlib.ticker import MaxNLocator

    if len(one["values"]) == 1:
        ax.step(range(len(one["values"][0])), one["values"][0], where="mid")
        ax.set(xlabel="sample", ylabel=one["title"])
    else:
        image = ax.imshow(one["values"], aspect="auto", interpolation="nearest")
        figure.colorbar(image, ax=ax, shrink=0.8)
        ax.grid(False)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="sample", ylabel=one["rows"])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
