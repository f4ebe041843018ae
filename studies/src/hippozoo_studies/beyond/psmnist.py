"""Permuted sequential MNIST: 784 pixels one by one, a memory read once at the end, beside published results.

A plain memory of 784 samples is linear, so all final states are one product with a fixed matrix, and training its
readout is training a small network on them. Three memories are read so, with at most 166,000 parameters: a plain
window (order 468, two hidden layers), a bank of windows (multiscale, as many coefficients, the same network) and a
plain window through a polynomial of degree two and rank 17 (Volterra). 468 coefficients hold nearly the whole image:
the row says how well a small network reads an image in another basis, and less about memory; so the order is varied.

AdamW with a warm-up and a cosine; no augmentation knows that the pixels form a picture: hidden units are dropped, and
half of the loss is that of states moved a little in the direction in which the loss rises fastest (adversarial
training, which on the validation images did more than dropout, noise or mixup). The rate of every model is chosen on
10,000 of the 60,000 training images with the permuted pixels and the first seed; what is reported is trained on all
60,000 with the rate chosen, one seed after the other, and tested once. Pixels row by row, and smaller orders, use the
same rates.

Models that read at every sample (a stack of memories, salience, LSTM, S4D, Mamba) have 25,000 parameters and one seed;
their rate is chosen by one pass over 10,000 images, and each is trained for as many passes as about 25 minutes of one
core allow (the budget was three hours; that is what was to be had), on the permuted pixels only.

The permutation is `RandomState(92916)`, scoRNN's. Published numbers were measured with several permutations and sizes:
they stand beside ours, not in one ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippozoo._internal.files import write_whole
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
from hippozoo_studies.beyond._pixel_readers import ALWAYS, ONCE, Recipe, read_always, read_once, shape_of
from hippozoo_studies.framework.door import Door, entered
from hippozoo_studies.paper._two_tasks import check_names

PAPER: dict[str, Any] = {}
SELECTS = ("seeds", "once", "orders", "always", "views", "always_views", "rates", "always_rates")
ASSEMBLES_PARTS = True
TITLE = {
    "plain": "Memory, two hidden layers",
    "multiscale": "Multiscale, two hidden layers",
    "volterra": "Memory, polynomial of degree two (Volterra)",
    "memory": "Stack of memories",
    "salience": "Stack of salience",
    "lstm": "LSTM",
    "s4d": "S4D",
    "mamba": "Mamba",
}
VIEWS = {"permuted": "permuted pixels", "sequential": "pixels row by row"}
#: Test accuracy on permuted sequential MNIST in per cent, parameters where they are given, and who measured it.
PUBLISHED: dict[str, tuple[float, str, str]] = {
    "LSTM": (89.9, "", "Voelker, Kajić and Eliasmith (2019)"),
    "LMU": (97.15, "102,000", "Voelker, Kajić and Eliasmith (2019)"),
    "HiPPO-LegS": (98.3, "", "Gu, Dao, Ermon, Rudra and Ré (2020)"),
    "parallel LMU": (98.49, "165,000", "Chilkuri and Eliasmith (2021)"),
    "CKConv": (98.5, "", "Romero et al. (2022)"),
    "S5": (98.67, "", "Smith, Warrington and Linderman (2023)"),
    "S4": (98.70, "", "Gu, Goel and Ré (2022)"),
}
MOST_PARAMETERS = 166_000
#: Wanted of the best memory that is read once, in per cent.
TARGET, AIM = 98.6, 98.8
RECIPE = Recipe()


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    seeds: tuple[int, ...] = (0, 1, 2)
    once: tuple[str, ...] = tuple(ONCE)
    always: tuple[str, ...] = tuple(ALWAYS)
    views: tuple[str, ...] = tuple(VIEWS)
    always_views: tuple[str, ...] = ("permuted",)
    orders: tuple[int, ...] = (16, 64, 256)
    rates: tuple[float, ...] = (1e-3, 2e-3)
    always_rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2)
    recipe: Recipe = RECIPE
    held_out: int = 10_000
    # Images for choosing the rate of a model that reads at every sample.
    few: int = 10_000
    always_params: int = 25_000
    always_batch: int = 50
    # Passes over the training images of models that read at every sample; None for what each can do in 25 minutes.
    passes: int | None = None
    # Training and test images used; None for all.
    images: int | None = None


QUICK = Config(
    seeds=(0,),
    once=("plain", "volterra"),
    always=("lstm",),
    views=("permuted",),
    orders=(16,),
    rates=(2e-3,),
    always_rates=(3e-3,),
    recipe=Recipe(epochs=1, batch=8),
    held_out=8,
    few=8,
    always_params=1_000,
    always_batch=4,
    passes=1,
    images=32,
)


DOOR = Door("model", "always", lambda config: [shape_of(config.always_params)])


def title_of(model: str) -> str:
    """A row in words; a model of the user's own by its name."""
    return TITLE.get(model, model)


def units(config: Config) -> list[dict[str, Any]]:
    """Rates first, all with the first seed; `more_units` adds what is reported."""
    check_names("once", config.once, ONCE)
    check_names("always", config.always, [*ALWAYS, *entered()])
    check_names("views", config.views, VIEWS)
    check_names("always_views", config.always_views, VIEWS)
    view, seed = "permuted", config.seeds[0]
    rates = [
        *((model, ONCE[model], rate) for model in config.once for rate in config.rates),
        *((model, None, rate) for model in config.always for rate in config.always_rates),
    ]
    return [_unit("choose", model, view, order, rate, seed) for model, order, rate in rates]


def _unit(part: str, model: str, view: str, order: int | None, rate: float, seed: int) -> dict[str, Any]:
    return {"part": part, "model": model, "view": view, "order": order, "rate": rate, "seed": seed}


def chosen_rate(config: Config, finished: list[Finished], model: str) -> float | None:
    """The rate of the highest validation accuracy, the lowest loss among equals; None until all have been tried."""
    rates = config.rates if model in ONCE else config.always_rates
    tried = {one.unit["rate"]: one.result for one in select(finished, part="choose", model=model)}
    if not set(rates) <= set(tried):
        return None
    return max(rates, key=lambda rate: (tried[rate]["validation_accuracy"], -tried[rate]["validation_loss"]))


def more_units(config: Config, finished: list[Finished]) -> list[dict[str, Any]]:
    """All seeds at the rate chosen; smaller orders of the plain memory; one seed of what reads at every sample."""
    found = []
    for view in config.views:
        for model in config.once:
            rate = chosen_rate(config, finished, model)
            orders = [ONCE[model], *(config.orders if model == "plain" and view == "permuted" else ())]
            if rate is not None:
                found += [_unit("report", model, view, order, rate, seed) for order in orders for seed in config.seeds]
    for view in config.always_views:
        for model in config.always:
            rate = chosen_rate(config, finished, model)
            if rate is not None:
                found.append(_unit("report", model, view, None, rate, config.seeds[0]))
    return found


MORE_AT_ANY_TIME = True


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Train one model, and score it on validation images or, trained on all images, on the test images."""
    run = read_once if unit["model"] in ONCE else read_always
    return run(config, unit, context)


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Accuracy, size, state and time of what is there."""
    metrics: dict[str, Any] = {name: {} for name in ("accuracy", "orders", "rate", "parameters", "state")}
    metrics["core_minutes"], metrics["published"] = {}, {name: one[0] for name, one in PUBLISHED.items()}
    for view in config.views:
        metrics["accuracy"][view], metrics["core_minutes"][view] = {}, {}
        for model in (*config.once, *config.always):
            rate = chosen_rate(config, finished, model)
            order = ONCE.get(model)
            found = select(finished, part="report", model=model, view=view, order=order, rate=rate)
            found = [one.result for one in found if one.unit["seed"] in config.seeds]
            if rate is None or not found:
                continue
            metrics["accuracy"][view][model] = over_seeds(one["accuracy"] for one in found)
            metrics["rate"][model] = rate
            metrics["parameters"][model], metrics["state"][model] = found[0]["parameters"], found[0]["state"]
            minutes = [one["core_seconds"] / 60 for one in found]
            metrics["core_minutes"][view][model] = round(sum(minutes) / len(minutes), 2)
    rate = chosen_rate(config, finished, "plain") if "plain" in config.once else None
    for order in sorted({*config.orders, ONCE["plain"]}):
        found = select(finished, part="report", model="plain", view="permuted", order=order, rate=rate)
        found = [one.result for one in found if one.unit["seed"] in config.seeds]
        if found:
            spread = over_seeds(one["accuracy"] for one in found)
            kept = {name: found[0][name] for name in ("parameters", "pixel_variance_explained", "ridge_accuracy")}
            metrics["orders"][order] = {"accuracy": spread, **kept}
    return Result(metrics, claims(config, metrics), {"config": config})


def claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    """Targets, and what the page says about the order."""
    found = []
    rows = {model: one for model, one in metrics["accuracy"].get("permuted", {}).items() if model in ONCE}
    if rows:
        best = max(rows, key=lambda model: rows[model]["mean"])
        told = ", ".join(f"{TITLE[model]} {spread_text(one, '.2f')} %" for model, one in rows.items())
        seeds = min(len(one["seeds"]) for one in rows.values())
        enough = seeds == len(config.seeds) and len(rows) == len(config.once)
        evidence = f"{told}; seeds: {seeds}; one standard error of 10,000 images is 0.11."
        for level, words in ((TARGET, "target"), (AIM, "stretch target")):
            text = f"{words}: a memory read once, with at most {MOST_PARAMETERS:,} parameters, has {level} % or more"
            found.append(Claim(text, rows[best]["mean"] >= level if enough else None, evidence))
        over = [metrics["parameters"][model] for model in rows if metrics["parameters"][model] > MOST_PARAMETERS]
        sizes = ", ".join(f"{metrics['parameters'][model]:,}" for model in rows)
        found.append(Claim("no model that is read once has more parameters than allowed", not over, sizes))
    orders = metrics["orders"]
    if len(orders) > 1:
        told = ", ".join(
            f"order {order}: {spread_text(one['accuracy'], '.2f')} %, {100 * one['pixel_variance_explained']:.0f} % "
            f"of the variance of the pixels can be reconstructed linearly"
            for order, one in orders.items()
        )
        means = [one["accuracy"]["mean"] for one in orders.values()]
        words = (
            "ours: accuracy grows with the number of coefficients; at 468 nearly the whole image is still in the state"
        )
        found.append(Claim(words, means == sorted(means), told))
    return found


def seeds_text(metrics: dict[str, Any]) -> str:
    """For the page: models that read at every sample have one seed."""
    counts = [len(one["seeds"]) for one in metrics["accuracy"]["permuted"].values()]
    return f"{max(counts, default=0)}; 1 in {counts.count(1)} of {len(counts)} models"


def table(result: Result) -> str:
    """Ours, then what others published."""
    config: Config = result.arrays["config"]
    metrics, rows = result.metrics, []
    for model in (*config.once, *config.always):
        if model not in metrics["parameters"]:
            continue
        cells: list[str] = [title_of(model), "once" if model in ONCE else "every sample"]
        state = metrics["state"][model]
        cells += [f"{metrics['parameters'][model]:,}", "" if state is None else f"{state:,}"]
        cells.append(f"{metrics['rate'][model]:g}")
        for view in config.views:
            one = metrics["accuracy"][view].get(model)
            is_due = model in config.once or view in config.always_views
            if one is None:
                cells.append("not run yet" if is_due else "")
            else:
                cells.append(f"{spread_text(one, '.2f')} ({len(one['seeds'])})")
        minutes = [metrics["core_minutes"][view].get(model) for view in config.views]
        cells.append(f"{max(one for one in minutes if one is not None):.1f}")
        rows.append(cells)
    for name, (value, parameters, source) in PUBLISHED.items():
        blank = [""] * (len(config.views) - 1)
        rows.append([f"*{name}: {source}*", "", parameters, "", "", f"*{value:g}*", *blank, ""])
    header = ["model", "reads", "parameters", "state size", "rate", *map(VIEWS.__getitem__, config.views)]
    lines = [markdown_table([*header, "core-minutes"], rows), ""]
    lines += [
        "Test accuracy in per cent, mean ± standard error over seeds (their number), on all 10,000 test images: one "
        "standard error of so many images is 0.11. Published numbers (in italics) are on permuted pixels, with other "
        "permutations and other sizes. 468 coefficients hold nearly the whole image.",
        "",
    ]
    if metrics["orders"]:
        by_order = [
            [
                order,
                f"{one['parameters']:,}",
                f"{100 * one['pixel_variance_explained']:.1f}",
                f"{one['ridge_accuracy']:.2f}",
                f"{spread_text(one['accuracy'], '.2f')} ({len(one['accuracy']['seeds'])})",
            ]
            for order, one in metrics["orders"].items()
        ]
        header = [
            "order",
            "parameters",
            "variance of pixels reconstructed (%)",
            "linear readout (%)",
            "two hidden layers (%)",
        ]
        lines += [markdown_table(header, by_order), "", "The plain memory by its order, permuted pixels.", ""]
    return "\n".join(lines)


def points_of(rows: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Rows of the figure: name, accuracy and kind. A model trained here may be called as a published one is."""
    points = [(name, value, "published, other permutations") for name, (value, _, _) in PUBLISHED.items()]
    for model, one in rows.items():
        kind = "trained here, read once" if model in ONCE else "trained here, read at every sample"
        points.append((title_of(model), one["mean"], kind))
    return points


def report(result: Result, folder: Path) -> None:
    """The table, and accuracy against the order beside published levels."""
    from hippozoo.plotting import ink

    write_whole(folder / "table.md", table(result).encode())
    config: Config = result.arrays["config"]
    rows, orders = result.metrics["accuracy"].get("permuted", {}), result.metrics["orders"]
    quick = " (a quick run, no result)" if config.images is not None else ""
    with drawing(folder, "accuracy", (9.0, 4.6)) as figure:
        left, right = figure.subplots(1, 2)
        points = points_of(rows)
        styles = {
            "published, other permutations": ("|", "C1"),
            "trained here, read once": ("o", "C0"),
            "trained here, read at every sample": ("s", "C2"),
        }
        for label in dict.fromkeys(label for _, _, label in points):
            marker, colour = styles[label]
            places = [place for place, one in enumerate(points) if one[2] == label]
            values = [points[place][1] for place in places]
            left.plot(values, places, marker, color=colour, markersize=8, linestyle="none", label=label)
        left.set_yticks(range(len(points)), [name for name, _, _ in points], fontsize=8)
        left.set(xlabel="test accuracy (%)", title=f"permuted sequential MNIST{quick}")
        if orders:
            means = [one["accuracy"]["mean"] for one in orders.values()]
            spreads = [one["accuracy"]["sem"] or 0.0 for one in orders.values()]
            right.errorbar(list(orders), means, spreads, fmt="o-", color="C0", label="two hidden layers")
            linear = [one["ridge_accuracy"] for one in orders.values()]
            right.plot(list(orders), linear, "s--", color="C2", label="linear readout")
            kept = [100 * one["pixel_variance_explained"] for one in orders.values()]
            right.plot(list(orders), kept, ":", color=ink(), label="variance of pixels reconstructed (%)")
            right.set_xscale("log", base=2)
            right.set_xticks(list(orders), [str(order) for order in orders])
        right.set(xlabel="order of the memory", ylabel="test accuracy (%)", title="accuracy against the order")
        for ax, place in ((left, 0.3), (right, 0.5)):
            if ax.get_legend_handles_labels()[0]:
                ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(place, -0.14))
