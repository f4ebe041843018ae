"""Rows of the recall-scaling study that the paper does not have: summary, table and figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from hippozoo_studies import Finished, over_seeds, select, spread_text
from hippozoo_studies.framework.claims import listed
from hippozoo_studies.framework.words import number_word, seeds_word
from hippozoo_studies.paper._recall_rows import FACTORS, POSITIONS, ROWS, Row
from hippozoo_studies.paper._two_tasks import Protocol, draw_levels, draw_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "SameWeights",
    "changes_in_words",
    "draw_factors",
    "draw_seeds",
    "evidence_of",
    "further_rows",
    "same_weights",
    "same_weights_text",
    "summarise",
]

#: From none of the three factors to all of them, with the row of each for one layer.
STEPS_UP = ("", "_capacity", "_data", "_steps", "_capacity_data", "_capacity_steps", "_data_steps", "_all")
WORDS = {
    "": "none",
    "_capacity": "capacity 10x",
    "_data": "data 10x",
    "_steps": "steps 2x",
    "_capacity_data": "capacity, data",
    "_capacity_steps": "capacity, steps",
    "_data_steps": "data, steps",
    "_all": "all three",
    "_data_steps_4": "data 10x, steps 4x",
}


def summarise(config: Protocol, finished: Sequence[Finished], rows: Sequence[str]) -> dict[str, Any]:
    """Accuracy over seeds of every row whose rates have all been tried, at the rate that was best on validation.

    A row that varies another is at the rate of that one.
    """
    found: dict[str, Any] = {}
    for name in rows:
        searched = (FACTORS | POSITIONS)[name].varies or name
        if not config.has_all_rates(finished, row=searched):
            continue
        rate = config.chosen_rate(finished, row=searched)
        results = [one.result for seed in config.seeds for one in select(finished, row=name, rate=rate, seed=seed)]
        if not results:
            continue
        found[name] = {
            "accuracy": over_seeds(one["accuracy"] for one in results),
            "train_accuracy": over_seeds(one["train_accuracy"] for one in results),
            "parameters": results[0]["parameters"],
            "rate": rate,
        }
    return found


def changes_in_words(row: Row) -> str:
    """What a row changes of the baseline setting, as a sentence has it.

    Examples
    --------
    >>> changes_in_words(FACTORS["lstm_data_steps_4"])
    'ten times the data and four times the steps'
    >>> changes_in_words(POSITIONS["transformer_2_capacity_learnt_batch"])
    'ten times the parameters, learnt positions and batches of 256'
    """
    found = [f"{_times(count)} the {what}" for what, count in _factors_of(row).items() if count > 1]
    found += ["learnt positions"] if row.positions == "learnt" else ["positions"] if row.positions else []
    found += ["a loss on the answer alone"] if row.answer_alone else []
    found += [f"batches of {row.batch}"] if row.batch else []
    return listed(found)


def _factors_of(row: Row) -> dict[str, int]:
    # Sizes are those of the paper's table: 25 and 250 thousand.
    return {"parameters": 10 if row.params >= 250 else 1, "data": row.data, "steps": row.steps}


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{number_word(count)} times"


def evidence_of(further: Mapping[str, Any], names: Sequence[str]) -> str:
    """The best of these rows and the range of the others, as a clause; nothing where none is there."""
    rows = FACTORS | POSITIONS
    there = sorted((name for name in names if name in further), key=lambda name: -further[name]["accuracy"]["mean"])
    if not there:
        return ""
    best, *others = there
    found = f"{changes_in_words(rows[best])} give {_seen(further, best)}"
    if others:
        low, high = (f"{further[name]['accuracy']['mean']:.1f}" for name in (others[-1], others[0]))
        span = f"{low} to {high}" if len(others) > 1 else high
        found += f", {number_word(len(others))} other setting{'s' * (len(others) > 1)} {span} %"
        seeds = [len(further[name]["accuracy"]["seeds"]) for name in others]
        if set(seeds) != {len(further[best]["accuracy"]["seeds"])}:
            found += f" ({seeds_word(*seeds)})"
    return found


def _seen(further: Mapping[str, Any], name: str) -> str:
    """An accuracy and its seeds, as in "84.3 ± 1.2 % (three seeds)"."""
    accuracy = further[name]["accuracy"]
    return f"{spread_text(accuracy, '.1f')} % ({seeds_word(len(accuracy['seeds']))})"


class SameWeights(NamedTuple):
    """Two rows that differ in their steps and have the same weights on every seed, and how many seeds that are."""

    shorter: str
    longer: str
    seeds: int


def same_weights(config: Protocol, finished: Sequence[Finished], rates: Mapping[str, float]) -> list[SameWeights]:
    """Pairs of rows of which the longer one was best on validation, on every seed, before the shorter one ended.

    Both train alike up to there, and the weights that were best on validation are the ones that count.

    Parameters
    ----------
    config
        Steps of the baseline setting, and the seeds.
    finished
        The units, whose results say at which step they were best.
    rates
        The rate of each row.
    """
    rows = ROWS | FACTORS | POSITIONS
    found = []
    for longer, shorter in permutations([name for name in rates if name in rows], 2):
        one, other = rows[longer], rows[shorter]
        alike = replace(one, setting=other.setting, paper=other.paper, steps=other.steps, varies=other.varies)
        if one.steps <= other.steps or repr(alike) != repr(other) or rates[longer] != rates[shorter]:
            continue
        ended = config.steps * other.steps
        units = [select(finished, row=longer, rate=rates[longer], seed=seed) for seed in config.seeds]
        best = [unit.result.get("best_step", ended + 1) for some in units for unit in some]
        if len(best) == len(config.seeds) and max(best) <= ended:
            found.append(SameWeights(shorter, longer, len(best)))
    return found


def same_weights_text(config: Protocol, pairs: Sequence[SameWeights]) -> str:
    """The note below the table; empty where there are none."""
    rows = ROWS | FACTORS | POSITIONS
    each = [
        f"{rows[one.longer].title}: “{rows[one.shorter].setting}” and “{rows[one.longer].setting}” have equal weights, "
        f"as validation was best by step {config.steps * rows[one.shorter].steps:,} on {_every(one.seeds)}"
        for one in pairs
    ]
    return f"{'; '.join(each)}." if each else ""


def _every(seeds: int) -> str:
    return {1: "the one seed", 2: "both seeds"}.get(seeds, f"all {number_word(seeds)} seeds")


def further_rows(further: Mapping[str, Any]) -> list[list[str]]:
    """Rows of the table, in the columns of the paper's."""
    rows = []
    for name, found in further.items():
        row = (FACTORS | POSITIONS)[name]
        seeds = len(found["accuracy"]["seeds"])
        cells = [f"*{row.setting}*", row.title, str(row.layers), f"{found['parameters']:,}", f"{found['rate']:g}"]
        cells += [spread_text(found["train_accuracy"], ".1f"), spread_text(found["accuracy"], ".1f"), ""]
        rows.append([*cells, f"not in the paper, {seeds_word(seeds)}"])
    return rows


def draw_seeds(ax: Axes, place: int, found: Mapping[str, Any], paper: float | None) -> None:
    """A row, whose mean is drawn where it has several seeds: one seed is no mean."""
    mean = found["mean"] if len(found["seeds"]) > 1 else math.nan
    draw_row(ax, place, {**found, "mean": mean}, paper)


def draw_factors(ax: Axes, model: str, accuracy: Mapping[str, Any], further: Mapping[str, Any]) -> None:
    """Accuracy of one layer with none, one, two or all of the three factors, and with still more steps."""
    places, labels = [], []
    for place, end in enumerate((*STEPS_UP, "_data_steps_4")):
        name = f"{model}{end}"
        found = accuracy.get(name) if name in ROWS else further.get(name, {}).get("accuracy")
        places.append(place)
        labels.append(WORDS[end])
        if found:
            draw_seeds(ax, place, found, ROWS[name].paper if name in ROWS else None)
    ax.set_yticks(places, labels, fontsize=8)
    ax.invert_yaxis()
    draw_levels(ax, "ar")
    ax.set(title=ROWS[model].title)
