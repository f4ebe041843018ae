"""The study of character models for people: tables as text, rows, learning curves and lag kernels as pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import safe_open
from safetensors.torch import load_file

from hippozoo import checkpoint
from hippozoo.memory import LagLayer
from hippozoo_studies import Departure, Result, drawing, markdown_table, over_seeds, spread_text
from hippozoo_studies.paper._character_addresses import PIECES, draw_addresses
from hippozoo_studies.paper._character_bank import draw_bank, draw_clock
from hippozoo_studies.paper._character_hybrids import HAS_BANK, HYBRIDS, build_unit
from hippozoo_studies.paper._character_models import ABLATIONS, CACHED, OTHER_FORMS, OURS, ROWS
from hippozoo_studies.paper._character_settings import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SINGLE = ("test_perplexity", "validation_perplexity", "test_perplexity_outside_unknown")
#: In the order of the columns.
SHOWN = (SINGLE[0], SINGLE[2], SINGLE[1])
STACK_TITLES = {
    "lstm": "LSTM stack",
    "gru": "GRU stack",
    "mamba": "Mamba stack",
    "deltanet": "DeltaNet stack",
    "gated_deltanet": "gated DeltaNet stack",
    CACHED: "LSTM stack + n-gram cache",
    OURS: "explicit stack",
}
#: What the paper leaves open or does otherwise.
DEPARTURES = (
    Departure(
        "text",
        "raw WikiText-2",
        "tokenised WikiText-2 with <unk>, official splits",
        "ratios between models can be compared with the paper's, perplexities cannot",
    ),
    Departure(
        "alphabet",
        "96 characters after preprocessing",
        "printable ASCII and newline; anything else becomes one placeholder",
        "0.06 to 0.1 % of the characters",
    ),
    Departure(
        "embedding",
        "not given; the sizes of its Mamba rows fit untied ones",
        "tied for all or for none, whichever gives the LSTM the better validation",
        "tied is better by 1.4 % for the LSTM after one pass",
    ),
    Departure("batch", "not given", "32 streams, 128 characters per step, states carried over", "no alternative tried"),
    Departure(
        "rate",
        "1e-3, constant",
        "1.6e-2, then twice or half of it as long as that helps, each on one pass; warm-up, then linear to zero",
        "at 1e-3 three passes are far too few for any model",
    ),
    Departure(
        "stopping",
        "patience of five epochs",
        "three passes, patience of five evaluations, two evaluations per pass",
        "the limit of two cores in a day; every model would gain from more, to different degrees",
    ),
    Departure("clipping, decay", "not given", "gradient norm 1; weight decay 1e-4", "no alternative tried"),
    Departure(
        "Mamba",
        "`dt_rank` 6, 88 time steps",
        "`dt_rank` 6; 98 time steps with tied embeddings, 88 with untied ones",
        "26,000 parameters as in the paper, either way",
    ),
    Departure("Vanilla", "order and timescale not given", "Leg-T, order 12, window 12", "32 and 32 validates worse"),
    Departure(
        "Salience",
        "order, timescale and readout not given",
        "Leg-T, order 12, window 12, all coefficients are read, as by Vanilla; salience sees sample and state",
        "one lag functional for all channels is much worse, with order and window 12 or 32",
    ),
    Departure(
        "Assoc. Memory", "sizes not given", "width 32, bank of 32, Leg-T order 32, window 2", "no alternative tried"
    ),
    Departure(
        "perplexity",
        "not given",
        "every character of the test split, one state from its first to its last",
        "no known effect",
    ),
)


def draw(result: Result, folder: Path, paper_ratios: Mapping[str, float]) -> None:
    """The rows beside the paper's, what the trained stack reads of the past, and how each model learnt."""
    config: Config = result.arrays["config"]
    ratios = result.metrics["ratio_to_lstm"]
    names = [name for name in ROWS if name in ratios]
    quick = " (a quick run, no result)" if config.characters is not None else ""
    if names:
        with drawing(folder, "rows", (6, 0.34 * len(names) + 1.2)) as figure:
            ax = figure.subplots()
            ax.plot([ratios[name] for name in names], range(len(names)), "o", color="C0", label="ours")
            paper = [paper_ratios[name] for name in names]
            ax.plot(paper, range(len(names)), "|", color="C1", markersize=13, markeredgewidth=2, label="paper")
            ax.set_yticks(range(len(names)), [ROWS[name].title for name in names])
            ax.set(xlabel="test perplexity, that of the LSTM being 1", xscale="log", title=f"The paper's rows{quick}")
            ticks = [0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
            ax.invert_yaxis()
            ax.legend()
    for size in config.sizes:
        draw_kernels(folder, size)
    trained = folder / f"{OURS}-{config.sizes[0]}.safetensors" if config.sizes else None
    if trained is not None and trained.exists():
        draw_bank(checkpoint.load(trained), folder, "bank", f"What the bank of the explicit stack recalls{quick}")
    for file in sorted(folder.glob("weights/hybrid-*-seed0.safetensors")):
        draw_hybrid(file, folder, quick)
    draw_learning(config, result.arrays["looks"], folder, quick)
    if addresses := result.metrics["addresses"]:
        draw_addresses({_titled(name): one for name, one in addresses.items()}, folder, quick)


def draw_hybrid(file: Path, folder: Path, quick: str) -> None:
    """What a trained hybrid shows of its memory: what its bank recalls, or how its clock runs."""
    with safe_open(file, "pt") as kept:
        unit = json.loads(kept.metadata()["unit"])
    model, name = build_unit(unit), unit["hybrid"]
    model.load_state_dict(load_file(file))
    title = HYBRIDS[name].title
    if name in HAS_BANK:
        draw_bank(model, folder, f"bank-{name}", f"{title}: what its bank recalls{quick}")
    else:
        draw_clock(model, folder, f"clock-{name}", f"{title}: the time that each character takes{quick}")


def draw_learning(config: Config, looks: Mapping[str, Any], folder: Path, quick: str) -> None:
    """Validation perplexity as training goes on: rows of one layer, of two layers, and each contest apart."""
    one_layer = {ROWS[name].title for name in ROWS if not name.endswith("_2")}
    two_layers = {row.title for row in ROWS.values()} - one_layer
    cached = STACK_TITLES[CACHED]  # the curve of the LSTM behind it: the cache joins at the end
    looks = {name: one for name, one in looks.items() if not name.startswith(cached)}
    panels = {
        "The paper's rows of one layer": [name for name in looks if name in one_layer],
        "The paper's rows of two layers": [name for name in looks if name in two_layers],
    }
    for size in config.sizes:
        panels[f"Stacks of {size:,} parameters"] = [name for name in looks if name.endswith(f", {size:,}")]
    panels = {title: names for title, names in panels.items() if names}
    if not panels:
        return
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with drawing(folder, "learning", (5.6 * columns, 3.6 * rows)) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, (title, names) in zip(axes, panels.items(), strict=False):
            for name in names:
                _draw_learning(ax, config, name, looks[name]["looks"])
            ax.set(xlabel="million characters read", ylabel="validation perplexity", title=title + quick, yscale="log")
            low, high = ax.get_ylim()
            ticks = [tick for tick in (3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 10, 12, 15, 20, 40) if low <= tick <= high]
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
            _label_ends(ax)
        for ax in axes[len(panels) :]:
            ax.remove()


def _label_ends(ax: Axes, apart: float = 0.06) -> None:
    """Each curve's name where it ends, moved up where it would stand on another; apart is a share of the height."""
    to_height = ax.transScale + ax.transLimits
    ends = {line: to_height.transform(np.asarray(line.get_xydata())[-1])[1] for line in ax.get_lines()}
    below = -1.0
    for line, height in sorted(ends.items(), key=lambda item: item[1]):
        below = max(height, below + apart)
        place = (1.02, below)
        ax.annotate(
            str(line.get_label()), place, xycoords="axes fraction", va="center", fontsize=8, color=line.get_color()
        )


def _draw_learning(ax: Axes, config: Config, name: str, looks: Mapping[str, Any]) -> None:
    steps = [step * config.batch * config.length / 1e6 for step in looks["step"]]
    perplexity = [math.nan if loss is None else math.exp(loss) for loss in looks["validation"]]
    is_stack = name.rpartition(", ")[2].replace(",", "").isdigit()
    again = "--" if len(ax.get_lines()) >= 6 else "-"  # the cycle has six colours
    ax.plot(steps, perplexity, again, label=name.rpartition(", ")[0] if is_stack else name)


def draw_kernels(folder: Path, size: int, shown: int = 6) -> None:
    """What some channels of each block of the trained stack read of the past, if it has been trained."""
    file = folder / f"{OURS}-{size}.safetensors"
    if not file.exists():
        return
    layers = [block.layer for block in checkpoint.load(file).layers if isinstance(block.layer, LagLayer)]
    with drawing(folder, f"kernels-{size}", (3.2 * len(layers), 4.6)) as figure:
        # Recent samples are read a hundred times as strongly as the windows behind them: each has a scale of its own.
        parts = {"kernel, lags 0 to 8": slice(0, 9), "kernel, lags from 8 on": slice(8, 160)}
        rows = figure.subplots(len(parts), len(layers), squeeze=False)
        for number, layer in enumerate(layers):
            kernels = layer.kernels(160)[0].numpy()
            for axes, (name, lags) in zip(rows, parts.items(), strict=True):
                ax, part = axes[number], kernels[:, lags]
                loudest = np.abs(part).max(1).argsort()[::-1][:shown]
                ax.plot(range(*lags.indices(160)), part[loudest].T, linewidth=1)
                ax.set(xlabel="lag (characters)", ylabel=name if number == 0 else "")
            rows[0, number].set_title(f"block {number + 1}")
        figure.suptitle(f"the {shown} channels of each block with the largest kernels, a colour each", fontsize=10.5)


def tables(result: Result, paper_numbers: Mapping[str, Any]) -> str:
    """The ten rows, the contest, the ablations and the choices, as Markdown."""
    metrics, trials = result.metrics, result.arrays["trials"]
    parts: list[str] = []
    if metrics["test_perplexity"]:
        parts.append(_rows(metrics, paper_numbers))
    if metrics["form"]:
        forms = [(ROWS | OTHER_FORMS)[form].label for form in metrics["form"].values()]
        parts.append(f"Chosen on validation: {'; '.join(forms)}.")
    if metrics["other_forms"]:
        header = ["model", "parameters", "test", "outside `<unk>`", "validation", "rate"]
        rows = [
            [(ROWS | OTHER_FORMS)[name].label, f"{one['params']:,}", *(f"{one[key]:.3f}" for key in SHOWN), _rate(one)]
            for name, one in metrics["other_forms"].items()
        ]
        parts += ["Trained in the same way, but not the form chosen on validation:", markdown_table(header, rows)]
    for size, entrants in metrics["contest"].items():
        if entrants:
            parts.append(f"Stacks of at most {size:,} parameters, mean ± standard error over seeds:")
            parts.append(_stacks({STACK_TITLES[family]: one for family, one in entrants.items()}))
    if metrics["hybrids"]:
        size = next(iter(metrics["contest"]))
        parts.append(f"Hybrids of at most {size:,} parameters, chosen and trained likewise:")
        parts.append(_stacks({HYBRIDS[name].title: one for name, one in metrics["hybrids"].items()}))
    parts += [
        *_emptied(metrics),
        *_addresses(metrics),
        *_cached(metrics),
        *_raw(metrics),
        *_as_the_paper(metrics, paper_numbers),
    ]
    if metrics["ablations"]:
        rows = [
            [name if ABLATIONS[name] else "unchanged", f"{one['params']:,}", f"{one['validation_perplexity']:.3f}"]
            for name, one in metrics["ablations"].items()
        ]
        parts.append("Ablations, trained as in the contest, one seed:")
        parts.append(markdown_table(["explicit stack", "parameters", "validation"], rows))
    if trials:
        rows = []
        for one in trials:
            found = one["validation_perplexity"]
            cells = [one["model"], layers_of(one), f"{one['params']:,}", _rate(one)]
            rows.append([*cells, "diverged" if found is None else f"{found:.3f}"])
        parts.append("One-pass trials with one seed, used to choose rates and depths:")
        parts.append(markdown_table(["stack", "layers", "parameters", "rate", "validation"], rows))
    said = {True: "tied", False: "not tied", None: "still undecided"}[metrics["tied"]]
    told = "; ".join(
        f"{ROWS[name].title} {one.get('tied', float('nan')):.3f} tied, {one.get('untied', float('nan')):.3f} untied"
        for name, one in metrics["tying"].items()
    )
    parts.append(f"Embeddings are {said}, by validation perplexity after one pass: {told}.")
    parts.append(markdown_table(["", "paper", "here"], [[one.what, one.paper, one.here] for one in DEPARTURES]))
    if metrics["not_yet"]:
        parts.append(f"Not run yet: {', '.join(metrics['not_yet'])}.")
    return "\n\n".join(parts) + "\n"


def _rate(one: Mapping[str, Any]) -> str:
    return f"{one['rate']:g}"


def _spreads(one: Mapping[str, Any]) -> list[str]:
    """Perplexities on the test split, outside unknown words and on validation, and of how many seeds."""
    return [*(spread_text(one[key], ".3f") for key in SHOWN), str(len(one[SHOWN[0]]["seeds"]))]


def _rows(metrics: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    rows = []
    for name in (name for name in ROWS if name in metrics["test_perplexity"]):
        ratio = metrics["ratio_to_lstm"].get(name)
        cells = [
            ROWS[name].title,
            f"{metrics['params'][name]:,}",
            *_spreads({key: metrics[key][name] for key in SHOWN}),
        ]
        cells += ["" if ratio is None else f"{ratio:.3f}", f"{paper['test_perplexity'][name]:.2f}"]
        rows.append([*cells, f"{paper['ratio_to_lstm'][name]:.3f}", f"{metrics['rate'][name]:g}"])
    header = ["model", "parameters", "test", "outside `<unk>`", "validation", "seeds", "relative to LSTM", "paper"]
    return markdown_table([*header, "paper, relative to LSTM", "rate"], rows)


def _stacks(stacks: Mapping[str, Mapping[str, Any]]) -> str:
    """Stacks from the best to the worst."""
    rows = []
    for title, one in sorted(stacks.items(), key=lambda item: item[1]["test_perplexity"]["mean"]):
        cells = [title, layers_of(one), f"{one['params']:,}", f"{one['state']:,}", *_spreads(one)]
        rows.append([*cells, _rate(one), f"{one['seconds'] / 60:.0f}"])
    header = ["stack", "layers", "parameters", "state size", "test", "outside `<unk>`", "validation", "seeds"]
    return markdown_table([*header, "rate", "minutes"], rows)


def _emptied(metrics: Mapping[str, Any]) -> list[str]:
    """Validation perplexities of models that are made to forget."""
    span = metrics["span"]
    rows = {"explicit stack": (span["validation_perplexity"], span["emptied"])} if span else {}
    for name, one in metrics["hybrids"].items():
        emptied = {every: found["mean"] for every, found in one["emptied"].items()}
        rows[HYBRIDS[name].title] = (one["validation_perplexity"]["mean"], emptied)
    rows = {title: row for title, row in rows.items() if row[1]}
    if not rows:
        return []
    lengths = list(next(iter(rows.values()))[1])[::-1]
    cells = [
        [title, f"{never:.3f}", *(f"{emptied[every]:.3f}" for every in lengths)]
        for title, (never, emptied) in rows.items()
    ]
    return [
        "Validation perplexity of trained models that forget everything after so many characters:",
        markdown_table(["model", "never", *(f"{int(every):,}" for every in lengths)], cells),
    ]


def _single_seed(numbers: Mapping[str, float]) -> Mapping[str, Any]:
    return {key: over_seeds([value]) for key, value in numbers.items()}


def _titled(name: str) -> str:
    return HYBRIDS[name].title if name in HYBRIDS else STACK_TITLES[name]


def _addresses(metrics: Mapping[str, Any]) -> list[str]:
    """What the banks of trained stacks keep under which addresses, and what they add."""
    found = metrics["addresses"]
    if not found:
        return []
    shown = [str(count) for count in range(6)]
    rows = []
    for name, one in found.items():
        right = one["bank_right_where_rest_is_wrong"]
        cells = [
            _titled(name),
            f"{one['addresses']:,}",
            *(f"{one['overlap'].get(count, math.nan):.2f}" for count in shown),
        ]
        cells += [f"{one['bank_right']:.1%}", "" if right is None else f"{right:.1%}"]
        rows.append([*cells, f"{one['perplexity']:.3f}", f"{one['perplexity_silenced']:.3f}"])
    header = ["stack", "addresses", *(f"overlap, {count} in common" for count in shown), "bank is right"]
    header += ["… where the rest is wrong", "validation, first 2,048 characters", "… bank silenced"]
    return [
        f"Banks of trained stacks, one seed, on {PIECES} pieces of the validation text, each read from an empty bank: "
        "mean overlap of the addresses of two moments that have so many latest characters in common; how often the "
        "character next to what is recalled is the one that comes:",
        markdown_table(header, rows),
    ]


def _cached(metrics: Mapping[str, Any]) -> list[str]:
    """A cache of n-grams beside the LSTM and beside our stack, by its context."""
    found = metrics["cached"]
    if not found:
        return []
    contexts = list(next(iter(found.values()))["cache"]["validation_by_context"])
    rows = []
    for name, one in found.items():
        cache, without = one["cache"], one["without_cache"]
        cells = [_titled(name), *(f"{cache['validation_by_context'][context]:.3f}" for context in contexts)]
        cells += [f"{without['validation_perplexity']:.3f}", f"{cache['weight']:g}"]
        rows.append([*cells, f"{without['test_perplexity']:.3f}", f"{one['test_perplexity']:.3f}"])
    header = ["stack", *(f"{context} character{'s' * (context != '1')}" for context in contexts), "no cache", "weight"]
    return [
        "A cache of n-grams beside a stack, one seed: validation perplexity, read with one state, by the characters in "
        "a context, at the best weight of each; and test perplexity with what validation chose:",
        markdown_table([*header, "test, no cache", "test"], rows),
    ]


def _raw(metrics: Mapping[str, Any]) -> list[str]:
    """The raw text, read by models of the tokenised one."""
    size, entrants = next(iter(metrics["contest"].items()), (0, {}))
    found = {ROWS[name].title: one for name, one in metrics["raw"].items()}
    found |= {f"{STACK_TITLES[name]}, {size:,}": one["raw"] for name, one in entrants.items() if one["raw"]}
    found |= {f"{HYBRIDS[name].title}, {size:,}": one["raw"] for name, one in metrics["hybrids"].items() if one["raw"]}
    alone = {name: one["raw"] for name, one in metrics["cached"].items() if one["raw"]}
    found |= {f"{_titled(name)}, {size:,}": _single_seed(one) for name, one in alone.items()}
    if not found:
        return []
    keys = ("test_perplexity", "validation_perplexity")
    rows = [
        [title, *(spread_text(one[key], ".3f") for key in keys), len(one[keys[0]]["seeds"])]
        for title, one in found.items()
    ]
    return [
        "The raw text, whose rare words are spelled out, read by models of the tokenised text:",
        markdown_table(["model", "raw test", "raw validation", "seeds"], rows),
    ]


def _as_the_paper(metrics: Mapping[str, Any], paper: Mapping[str, Any]) -> list[str]:
    """Rows trained as the paper says, and the bank that is emptied."""
    parts, rows = [], []
    for name, one in metrics["as_paper"].items():
        ratio = one.get("ratio_to_lstm")
        cells = [ROWS[name].title, one["passes"], one["ending"], *(f"{one[key]:.3f}" for key in SINGLE[:2])]
        cells += ["" if ratio is None else f"{ratio:.3f}", f"{paper['test_perplexity'][name]:.2f}"]
        rows.append([*cells, f"{paper['ratio_to_lstm'][name]:.3f}"])
    if rows:
        parts.append("Trained as the paper says (rate 1e-3, patience of five passes; at most 15 passes), one seed:")
        header = ["model", "passes", "ended by", "test", "validation", "relative to LSTM", "paper"]
        parts.append(markdown_table([*header, "paper, relative to LSTM"], rows))
    if one := metrics["reset"]:
        parts.append(
            f"{OTHER_FORMS['assoc_reset'].label}: test {one[SINGLE[0]]:.3f}, validation {one[SINGLE[1]]:.3f}, "
            f"rate {one['rate']:g}, one seed."
        )
    return parts


def layers_of(one: Mapping[str, Any]) -> str:
    """How many layers, where that was a choice, and of which form."""
    return ", ".join(filter(None, [str(one["layers"] or ""), one["form"]]))


def form_text(unit: Mapping[str, Any]) -> str:
    """The form of a stack in words, where it is not the first one."""
    emptied = unit.get("emptied")
    parts = [
        "no skip connections" if unit.get("around") is False else "",
        "two memories" if unit.get("heads") == 2 else "",
        "" if emptied is None else f"emptied every {emptied:,}",
    ]
    return ", ".join(filter(None, parts))
