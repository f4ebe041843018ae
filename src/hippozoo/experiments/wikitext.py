"""WikiText-2 by characters: the paper's ten rows, and a contest of thin stacks (paper, appendix on language modelling).

The paper uses the raw text, whose training part has no `<unk>`; here the tokenised one is the default. Perplexities of
the two cannot be compared, ratios between models can.

What the paper leaves open, and what is done differently, stands in `CHOICES`. Everything is chosen on the validation
split; the test split is read once, by the finished model. Units come in the order of what they tell: whether embeddings
are tied, the cheap rows, our own stack, then what takes hours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippozoo import checkpoint
from hippozoo._files import write_whole
from hippozoo.experiments import QUIET, Claim, Context, Finished, Result, over_seeds, save_figure, select
from hippozoo.experiments._character_models import ABLATIONS, ROWS, STACKS, build_explicit, build_row, build_stack
from hippozoo.experiments._characters import Protocol, learn
from hippozoo.experiments._two_tasks import check_names
from hippozoo.memory import LagLayer
from hippozoo.training import best_rate, seeded

PAPER: dict[str, Any] = {
    "test_perplexity": {
        "lstm": 5.46,
        "s4d": 5.75,
        "mamba": 5.54,
        "lstm_2": 4.75,
        "s4d_2": 5.28,
        "mamba_2": 4.65,
        "vanilla": 9.68,
        "vanilla_mlp": 6.80,
        "salience": 7.52,
        "assoc": 20.41,
    },
    "params": {
        "lstm": 25_000,
        "s4d": 25_000,
        "mamba": 26_000,
        "lstm_2": 42_000,
        "s4d_2": 39_000,
        "mamba_2": 43_000,
        "vanilla": 25_000,
        "vanilla_mlp": 25_000,
        "salience": 25_000,
        "assoc": 25_000,
    },
}
PAPER["ratio_to_lstm"] = {
    name: round(found / PAPER["test_perplexity"]["lstm"], 4) for name, found in PAPER["test_perplexity"].items()
}
#: What the paper leaves open or does otherwise: its words, and ours.
CHOICES = {
    "text": ("raw WikiText-2", "tokenised WikiText-2 with <unk>, official splits"),
    "alphabet": (
        "96 characters after preprocessing",
        "printable ASCII and newline; anything else becomes one stand-in",
    ),
    "embedding": (
        "not given; the sizes of its Mamba rows fit untied ones",
        "tied for all or for none, as the LSTM validates",
    ),
    "batch": ("not given", "32 streams, 128 characters a step, states handed on"),
    "rate": ("1e-3, constant", "best of 1e-3, 2e-3, 4e-3 (8e-3) on one pass; warm-up, then linear to zero"),
    "stopping": ("patience of five epochs", "at most 12 passes, patience of five looks, two looks a pass"),
    "clipping, decay": ("not given", "gradient norm 1; weight decay 1e-4"),
    "Vanilla": ("order and timescale not given", "Leg-T, order 12, window 12"),
    "Salience": ("order and timescale not given", "Leg-T, order 32, window 32; salience sees sample and state"),
    "Assoc. Memory": ("sizes not given", "width 32, bank of 32, Leg-T order 32, window 2"),
    "perplexity": ("not given", "every character of the test split, one state from its first to its last"),
}
SELECTS = ("seeds", "rows", "families", "sizes", "ablations")
ASSEMBLES_PARTS = True
OURS = "explicit"
#: The recipe of our stack; a unit names it, so that a better recipe leaves the old lines standing.
RECIPE = 1
#: By how much ours should lie below the best other family.
MARGIN = 0.03
# The cheapest model decides whether embeddings are tied.
DECIDERS = ("lstm",)
# Rows of the agenda that are open at the same time, so that two processes have work.
SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Config(Protocol):
    """Everything that may change the outcome."""

    rows: tuple[str, ...] = (
        "lstm",
        "vanilla_mlp",
        "vanilla",
        "lstm_2",
        "s4d",
        "assoc",
        "s4d_2",
        "mamba",
        "mamba_2",
        "salience",
    )
    families: tuple[str, ...] = (OURS, "lstm", "gru", "mamba")
    sizes: tuple[int, ...] = (25_000, 43_000)
    layers: tuple[int, ...] = (1, 2, 3, 4)
    # The rate at which depths are compared.
    depth_rate: float = 4e-3
    tying_rate: float = 2e-3
    ablations: tuple[str, ...] = tuple(ABLATIONS)
    ablation_passes: int = 3


QUICK = Config(
    seeds=(0, 1),
    characters=2_000,
    batch=4,
    length=32,
    passes=1,
    rates=(2e-3, 4e-3),
    rows=("lstm", "vanilla_mlp"),
    families=("lstm", OURS),
    sizes=(25_000,),
    layers=(1, 2),
    ablations=("no bank",),
    ablation_passes=1,
)

Unit = dict[str, Any]


# -- what is to be done, in which order ------------------------------------------------------------------------------


def units(config: Config) -> list[Unit]:
    """Whether embeddings are tied; all else depends on it, and comes from `more_units`."""
    check_names("rows", config.rows, ROWS)
    check_names("families", config.families, (*STACKS, OURS))
    check_names("ablations", config.ablations, ABLATIONS)
    return [
        {"stage": "tying", "model": model, "tied": tied, "rate": config.tying_rate, "seed": config.seeds[0]}
        for model in DECIDERS
        for tied in (True, False)
    ]


def more_units(config: Config, finished: list[Finished]) -> list[Unit]:
    """The next units of the first unfinished entries of the agenda."""
    done = Done(finished)
    following: list[Unit] = []
    entries = 0
    for entry in agenda(config):
        open_units = [unit for unit in entry(config, done) if done.result(unit) is None]
        following += [unit for unit in open_units if unit not in following]
        entries += bool(open_units)
        if entries == SIDE_BY_SIDE:
            break
    return following


class Done:
    """Finished units, found by their keys."""

    def __init__(self, finished: Sequence[Finished]) -> None:
        self.finished = list(finished)
        self.results = {tuple(sorted(one.unit.items())): one.result for one in finished}

    def result(self, unit: Unit) -> dict[str, Any] | None:
        """What became of a unit; None if it has not been run."""
        return self.results.get(tuple(sorted(unit.items())))

    def perplexity(self, unit: Unit) -> float | None:
        """On validation; infinite for what diverged, None for what has not been run."""
        found = self.result(unit)
        if found is None:
            return None
        return found["validation_perplexity"] if found["validation_perplexity"] is not None else float("inf")


def agenda(config: Config) -> Iterator[Any]:
    """Functions of configuration and finished units that list the units of one row as far as they are known."""
    cheap, rest = config.rows[:2], config.rows[2:]
    for size in config.sizes[:1]:
        yield from (_entrant(family, size, trials_only=True) for family in config.families)
    yield from (_row(name) for name in cheap)
    for size in config.sizes[:1]:
        yield from (_entrant(family, size) for family in config.families)
    yield from (_row(name) for name in rest)
    yield from (_ablation(name) for name in config.ablations)
    for size in config.sizes[1:]:
        yield from (_entrant(family, size) for family in config.families)


def tied(done: Done) -> bool:
    """Whether embeddings are tied: the smaller geometric mean of the deciders' validation perplexities."""
    means = {}
    for choice in (True, False):
        found = [done.perplexity(one.unit) for one in select(done.finished, stage="tying", tied=choice)]
        product = 1.0
        for value in found:
            product *= value if value is not None else float("inf")
        means[choice] = product
    return means[True] <= means[False]


def _trials(config: Config, done: Done, key: Unit) -> tuple[list[Unit], float | None]:
    """One pass at every rate, one more if the largest is best; and the chosen rate, once all are there."""
    seed = config.seeds[0]
    trials = [{**key, "stage": "rate", "rate": rate, "seed": seed} for rate in sorted(config.rates, reverse=True)]
    found = {unit["rate"]: done.perplexity(unit) for unit in trials}
    if None in found.values():
        return trials, None
    if best_rate(found) == max(config.rates) and config.one_more_rate not in found:
        trials.append({**key, "stage": "rate", "rate": config.one_more_rate, "seed": seed})
        found[config.one_more_rate] = done.perplexity(trials[-1])
        if found[config.one_more_rate] is None:
            return trials, None
    return trials, best_rate(found)


def _row(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        key = {"model": name, "tied": tied(done)}
        trials, rate = _trials(config, done, key)
        whole = [] if rate is None else [{**key, "stage": "row", "rate": rate, "seed": config.seeds[0]}]
        return trials + whole

    return entry


def _entrant(family: str, size: int, trials_only: bool = False) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        key: Unit = {"family": family, "size": size, "tied": tied(done)}
        depths: list[Unit] = []
        if family == OURS:
            key["recipe"] = RECIPE
        else:
            depths = [
                {**key, "layers": layers, "stage": "depth", "rate": config.depth_rate, "seed": config.seeds[0]}
                for layers in config.layers
            ]
            best = _deepest(done, depths)
            if best is None:
                return depths
            key["layers"] = best
        trials, rate = _trials(config, done, key)
        seeds = (
            [] if rate is None else [{**key, "stage": "contest", "rate": rate, "seed": seed} for seed in config.seeds]
        )
        return depths + trials + seeds

    return entry


def _deepest(done: Done, depths: Sequence[Unit]) -> int | None:
    """The number of layers with the smallest validation perplexity, once all have been tried."""
    found = {unit["layers"]: done.perplexity(unit) for unit in depths}
    known = {layers: value for layers, value in found.items() if value is not None}
    return min(known, key=known.__getitem__) if len(known) == len(found) else None


def _ablation(name: str) -> Any:
    def entry(config: Config, done: Done) -> list[Unit]:
        own = select(done.finished, stage="contest", family=OURS, size=config.sizes[0], recipe=RECIPE)
        if not own:
            return []
        key = {"ablation": name, "size": config.sizes[0], "recipe": RECIPE, "tied": tied(done)}
        return [{**key, "stage": "ablation", "rate": own[0].unit["rate"], "seed": config.seeds[0]}]

    return entry


# -- one unit --------------------------------------------------------------------------------------------------------


def run_unit(config: Config, unit: Unit, context: Context = QUIET) -> dict[str, Any]:
    """Train one model; the test split is read by finished rows, and by no trial."""
    text = config.text(context)
    with seeded(unit["seed"]):
        model = build(unit)
    passes = {"row": config.passes, "contest": config.passes, "ablation": config.ablation_passes}
    plan = config.plan(text, unit["rate"], unit["seed"], passes.get(unit["stage"], 1))
    found = learn(model, text, config, plan, context, test=unit["stage"] in ("row", "contest"))
    if unit["stage"] == "contest" and unit["family"] == OURS and unit["seed"] == config.seeds[0] and context.folder:
        checkpoint.save(context.folder / f"{OURS}-{unit['size']}.safetensors", model)
    return found | {"width": model.width, "counts": text.counts() if unit["stage"] == "tying" else None}


def build(unit: Unit) -> Any:
    """The model of a unit, drawn afresh."""
    if "model" in unit:
        return build_row(unit["model"], unit["tied"])
    if "ablation" in unit:
        return build_explicit(unit["size"], unit["tied"], unit["ablation"])
    if unit["family"] == OURS:
        return build_explicit(unit["size"], unit["tied"])
    return build_stack(unit["family"], unit["layers"], unit["size"], unit["tied"])


# -- what came of it -------------------------------------------------------------------------------------------------

SINGLE = ("test_perplexity", "validation_perplexity", "test_perplexity_outside_unknown")


def assemble(config: Config, finished: list[Finished]) -> Result:
    """The table, the contest and the ablations, as far as their units are there."""
    done = Done(finished)
    metrics: dict[str, Any] = {name: {} for name in (*SINGLE, "params", "ratio_to_lstm", "rate", "characters_seen")}
    metrics["seconds"] = {}
    looks: dict[str, dict[str, Any]] = {}
    for name in config.rows:
        rows = select(finished, stage="row", model=name, seed=config.seeds[0])
        if rows and rows[0].result["validation_perplexity"] is not None:
            found = rows[0].result
            for key in SINGLE:
                metrics[key][name] = over_seeds([found[key]])
            metrics["params"][name], metrics["rate"][name] = found["parameters"], rows[0].unit["rate"]
            metrics["characters_seen"][name] = found["characters_seen"]
            metrics["seconds"][name] = found["training_seconds"]
            looks[ROWS[name].title] = found
    lstm = metrics["test_perplexity"].get("lstm")
    if lstm:
        metrics["ratio_to_lstm"] = {
            name: round(found["mean"] / lstm["mean"], 4) for name, found in metrics["test_perplexity"].items()
        }
    metrics["contest"] = {size: _contest(config, done, size) for size in config.sizes}
    metrics["depth"] = {size: _depths(config, done, size) for size in config.sizes}
    metrics["ablations"] = _ablations(config, done)
    metrics["trials"] = _trial_rows(finished)
    metrics["tying"] = {
        name: {
            _tied_name(one): one.result["validation_perplexity"] for one in select(finished, stage="tying", model=name)
        }
        for name in DECIDERS
        if select(finished, stage="tying", model=name)
    }
    decided = all(done.result(unit) is not None for unit in units(config))
    metrics["tied"] = tied(done) if decided else None
    counts = [one.result["counts"] for one in select(finished, stage="tying")]
    metrics["characters"] = counts[0] if counts else {}
    metrics["not_yet"] = not_yet(config, done, metrics)
    for size, entrants in metrics["contest"].items():
        for family, entrant in entrants.items():
            looks[f"{STACK_TITLES[family]}, {size:,}"] = entrant.pop("first")
    return Result(metrics, claims(config, metrics), {"config": config, "looks": looks})


STACK_TITLES = {"lstm": "LSTM stack", "gru": "GRU stack", "mamba": "Mamba stack", OURS: "explicit stack"}


def _tied_name(one: Finished) -> str:
    return "tied" if one.unit["tied"] else "untied"


def _contest(config: Config, done: Done, size: int) -> dict[str, Any]:
    """Each family's stack of one size, over the seeds that are there."""
    entrants = {}
    for family in config.families:
        recipe = {"recipe": RECIPE} if family == OURS else {}
        rows = select(done.finished, stage="contest", family=family, size=size, **recipe)
        rows = [one for one in rows if one.result["validation_perplexity"] is not None]
        if rows:
            first = rows[0]
            entrants[family] = {
                **{key: over_seeds(one.result[key] for one in rows) for key in SINGLE},
                "params": first.result["parameters"],
                "layers": first.unit.get("layers"),
                "width": first.result["width"],
                "rate": first.unit["rate"],
                "characters_seen": first.result["characters_seen"],
                "seconds": first.result["training_seconds"],
                "first": first.result,
            }
    return entrants


def _trial_rows(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Every trial of one pass: which model, how deep, at which rate, and how it did on validation."""
    trials = [one for one in finished if one.unit["stage"] in ("rate", "depth")]
    return [
        {
            "model": _named(one.unit),
            "layers": one.unit.get("layers"),
            "rate": one.unit["rate"],
            "params": one.result["parameters"],
            "validation_perplexity": one.result["validation_perplexity"],
            "seconds": one.result["training_seconds"],
        }
        for one in trials
    ]


def _named(unit: Unit) -> str:
    if "model" in unit:
        return ROWS[unit["model"]].title
    return f"{STACK_TITLES[unit['family']]}, at most {unit['size']:,}"


def _depths(config: Config, done: Done, size: int) -> dict[str, Any]:
    """Validation perplexity of each family by its number of layers, after one pass."""
    return {
        family: {
            one.unit["layers"]: one.result["validation_perplexity"]
            for one in select(done.finished, stage="depth", family=family, size=size)
        }
        for family in config.families
        if select(done.finished, stage="depth", family=family, size=size)
    }


def _ablations(config: Config, done: Done) -> dict[str, Any]:
    found = {}
    for name in config.ablations:
        rows = select(done.finished, stage="ablation", ablation=name, recipe=RECIPE)
        if rows:
            found[name] = {
                "validation_perplexity": rows[0].result["validation_perplexity"],
                "params": rows[0].result["parameters"],
                "seconds": rows[0].result["training_seconds"],
            }
    return found


def not_yet(config: Config, done: Done, metrics: dict[str, Any]) -> list[str]:
    """What a finished study has and this one has not."""
    rows = [name for name in config.rows if name not in metrics["test_perplexity"]]
    missing = [
        f"{family} at {size}, seed {seed}"
        for size in config.sizes
        for family in config.families
        for seed in config.seeds
        if not select(
            done.finished,
            stage="contest",
            family=family,
            size=size,
            seed=seed,
            **({"recipe": RECIPE} if family == OURS else {}),
        )
    ]
    ablations = [f"ablation {name}" for name in config.ablations if name not in metrics["ablations"]]
    return rows + missing + ablations


def claims(config: Config, metrics: dict[str, Any]) -> list[Claim]:
    """What the paper says of its table, and what was aimed at; those whose rows are there."""
    found = []
    test = {name: one["mean"] for name, one in metrics["test_perplexity"].items()}

    def compare(words: str, one: str, other: str, ratio: float) -> None:
        """`one` is above `other` by at least half of what the paper has."""
        if one in test and other in test:
            ours = test[one] / test[other]
            evidence = f"{ours - 1:+.0%} here, {ratio - 1:+.0%} in the paper"
            found.append(Claim(words, ours - 1 >= (ratio - 1) / 2, evidence))

    paper = PAPER["test_perplexity"]
    for one, other, words in (
        ("vanilla_mlp", "mamba", "Vanilla HiPPO with an MLP is far behind Mamba"),
        ("salience", "mamba", "Salience HiPPO is far behind Mamba"),
        ("assoc", "mamba", "Associative Memory HiPPO performs very poorly"),
        ("s4d", "lstm", "S4D is behind the LSTM of one layer"),
        ("lstm", "lstm_2", "a second layer helps the LSTM"),
        ("mamba", "mamba_2", "a second layer helps Mamba"),
    ):
        compare(words, one, other, paper[one] / paper[other])
    for size, entrants in metrics["contest"].items():
        others = {family: one["test_perplexity"] for family, one in entrants.items() if family != OURS}
        if OURS not in entrants or len(others) < len(config.families) - 1:
            continue
        best = min(others, key=lambda family: others[family]["mean"])
        ours = entrants[OURS]["test_perplexity"]
        gain = 1 - ours["mean"] / others[best]["mean"]
        words = f"target: an explicit memory of {size:,} parameters is at least {MARGIN:.0%} below the best other stack"
        seeds = min(len(ours["seeds"]), *(len(one["seeds"]) for one in others.values()))
        evidence = (
            f"{gain:+.1%} below the {STACK_TITLES[best]}, {ours['mean']:.3f} and {others[best]['mean']:.3f}; "
            f"{seeds} of {len(config.seeds)} seeds"
        )
        found.append(Claim(words, gain >= MARGIN and seeds == len(config.seeds), evidence))
    return found


# -- for people ------------------------------------------------------------------------------------------------------


def report(result: Result, folder: Path) -> None:
    """The tables as text; the rows beside the paper's, and how each model learnt, as pictures."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style

    config: Config = result.arrays["config"]
    write_whole(folder / "table.md", tables(result).encode())
    ratios = result.metrics["ratio_to_lstm"]
    names = [name for name in ROWS if name in ratios]
    quick = " (a quick run, no result)" if config.characters is not None else ""
    with style():
        if names:
            figure = Figure(figsize=(6, 0.34 * len(names) + 1.2), layout="constrained")
            ax = figure.subplots()
            ax.plot([ratios[name] for name in names], range(len(names)), "o", color="C0", label="ours")
            paper = [PAPER["ratio_to_lstm"][name] for name in names]
            ax.plot(paper, range(len(names)), "|", color="C1", markersize=13, markeredgewidth=2, label="paper")
            ax.set_yticks(range(len(names)), [ROWS[name].title for name in names])
            ax.set(xlabel="test perplexity, that of the LSTM being 1", xscale="log", title=f"Ten rows{quick}")
            ticks = [0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
            ax.invert_yaxis()
            ax.legend()
            save_figure(figure, folder, "rows")
        for size in config.sizes:
            draw_kernels(folder, size)
        looks = result.arrays["looks"]
        if looks:
            figure = Figure(figsize=(7, 4), layout="constrained")
            ax = figure.subplots()
            for name, found in looks.items():
                steps = [step * config.batch * config.length / 1e6 for step in found["looks"]["step"]]
                perplexity = [math.nan if loss is None else math.exp(loss) for loss in found["looks"]["validation"]]
                ax.plot(steps, perplexity, label=name)
            ax.set(xlabel="million characters read", ylabel="validation perplexity", title=f"Learning{quick}")
            ax.set_yscale("log")
            ticks = [4, 4.5, 5, 6, 7, 8, 10, 15, 20, 40]
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
            figure.legend(loc="outside right upper", fontsize=7)
            save_figure(figure, folder, "learning")


def draw_kernels(folder: Path, size: int, shown: int = 6) -> None:
    """What some channels of each block of the trained stack read of the past, if it has been trained."""
    from matplotlib.figure import Figure

    file = folder / f"{OURS}-{size}.safetensors"
    if not file.exists():
        return
    layers = [block.layer for block in checkpoint.load(file).layers if isinstance(block.layer, LagLayer)]
    figure = Figure(figsize=(3.2 * len(layers), 3), layout="constrained")
    for number, (ax, layer) in enumerate(zip(figure.subplots(1, len(layers), squeeze=False)[0], layers, strict=True)):
        kernels = layer.kernels(64)[0]
        loudest = kernels.abs().amax(1).argsort(descending=True)[:shown]
        ax.plot(kernels[loudest].T.numpy(), linewidth=1)
        ax.set(title=f"block {number + 1}", xlabel="lag (characters)", xscale="symlog", xlim=(0, 63))
        ax.set_xticks([0, 1, 3, 10, 30], ["0", "1", "3", "10", "30"])
    figure.axes[0].set_ylabel("weight in the linear read")
    save_figure(figure, folder, f"kernels-{size}")


def tables(result: Result) -> str:
    """The ten rows, the contest, the ablations and the choices, as Markdown."""
    metrics = result.metrics
    lines = []
    if metrics["test_perplexity"]:
        lines += [
            "| model | parameters | test | outside `<unk>` | validation | of the LSTM | paper | of its LSTM | rate |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|---|"]
    for name in (name for name in ROWS if name in metrics["test_perplexity"]):
        cells = [ROWS[name].title, f"{metrics['params'][name]:,}"]
        cells += [f"{metrics[key][name]['mean']:.3f}" for key in (SINGLE[0], SINGLE[2], SINGLE[1])]
        ratio = metrics["ratio_to_lstm"].get(name)
        cells += ["" if ratio is None else f"{ratio:.3f}", f"{PAPER['test_perplexity'][name]:.2f}"]
        cells += [f"{PAPER['ratio_to_lstm'][name]:.3f}", f"{metrics['rate'][name]:g}"]
        lines.append(f"| {' | '.join(cells)} |")
    for size, entrants in metrics["contest"].items():
        if entrants:
            lines += ["", f"Stacks of at most {size:,} parameters, mean ± standard error over seeds:", ""]
            lines += ["| stack | layers | parameters | test | outside `<unk>` | validation | seeds | rate |"]
            lines += ["|---|---|---|---|---|---|---|---|"]
        for family, one in sorted(entrants.items(), key=lambda item: item[1]["test_perplexity"]["mean"]):
            cells = [STACK_TITLES[family], str(one["layers"] or ""), f"{one['params']:,}"]
            cells += [spread(one[key]) for key in (SINGLE[0], SINGLE[2], SINGLE[1])]
            cells += [str(len(one[SINGLE[0]]["seeds"])), f"{one['rate']:g}"]
            lines.append(f"| {' | '.join(cells)} |")
    if metrics["ablations"]:
        lines += ["", "One mechanism changed, three passes, one seed:", ""]
        lines += ["| explicit stack | parameters | validation |", "|---|---|---|"]
        for name, one in metrics["ablations"].items():
            lines.append(f"| {name} | {one['params']:,} | {one['validation_perplexity']:.3f} |")
    trials = metrics["trials"]
    if trials:
        lines += ["", "Trials of one pass, one seed, by which rates and depths are chosen:", ""]
        lines += ["| stack | layers | parameters | rate | validation |", "|---|---|---|---|---|"]
        for one in trials:
            cells = [one["model"], str(one["layers"] or ""), f"{one['params']:,}", f"{one['rate']:g}"]
            found = one["validation_perplexity"]
            lines.append(f"| {' | '.join([*cells, 'diverged' if found is None else f'{found:.3f}'])} |")
    said = {True: "tied", False: "not tied", None: "still undecided"}[metrics["tied"]]
    told = "; ".join(
        f"{ROWS[name].title} {one.get('tied', float('nan')):.3f} tied, {one.get('untied', float('nan')):.3f} untied"
        for name, one in metrics["tying"].items()
    )
    lines += ["", f"Embeddings are {said}, by validation perplexity after one pass: {told}."]
    lines += ["", "| | paper | here |", "|---|---|---|"]
    lines += [f"| {name} | {paper} | {ours} |" for name, (paper, ours) in CHOICES.items()]
    if metrics["not_yet"]:
        lines += ["", f"Not run yet: {', '.join(metrics['not_yet'])}."]
    return "\n".join(lines) + "\n"


def spread(found: dict[str, Any]) -> str:
    """Mean and standard error."""
    return f"{found['mean']:.3f}" + ("" if found["sem"] is None else f" ± {found['sem']:.3f}")
