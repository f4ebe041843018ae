"""Rows of the recall-scaling study that the paper does not have: summary, table and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hippozoo_studies import Finished, over_seeds, select, spread_text
from hippozoo_studies.paper._recall_rows import FACTORS, POSITIONS, ROWS
from hippozoo_studies.paper._two_tasks import Protocol, draw_levels, draw_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_factors", "evidence_of", "further_rows", "summarise"]

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


def evidence_of(further: Mapping[str, Any], names: Sequence[str], lead: str) -> str:
    """The best of these rows and the range of the others, to end a sentence with; nothing where none is there.

    `lead` introduces the best and says ``{seeds}`` where their number stands.
    """
    rows = FACTORS | POSITIONS
    there = sorted((name for name in names if name in further), key=lambda name: -further[name]["accuracy"]["mean"])
    if not there:
        return ""
    best, *others = there
    seeds = len(further[best]["accuracy"]["seeds"])
    words = lead.format(seeds="one seed" if seeds == 1 else f"{seeds} seeds")
    found = (
        f"; {words} {rows[best].setting} "
        f"({further[best]['parameters']:,} parameters) {spread_text(further[best]['accuracy'], '.1f')} %"
    )
    if others:
        low, high = (further[name]["accuracy"]["mean"] for name in (others[-1], others[0]))
        found += f", {len(others)} other{'s' * (len(others) > 1)} {low:.1f} to {high:.1f} %"
    return found


def further_rows(further: Mapping[str, Any]) -> list[list[str]]:
    """Rows of the table, in the columns of the paper's."""
    rows = []
    for name, found in further.items():
        row = (FACTORS | POSITIONS)[name]
        seeds = len(found["accuracy"]["seeds"])
        cells = [f"*{row.setting}*", row.title, str(row.layers), f"{found['parameters']:,}", f"{found['rate']:g}"]
        cells += [spread_text(found["train_accuracy"], ".1f"), spread_text(found["accuracy"], ".1f"), ""]
        rows.append([*cells, f"not in the paper, seeds: {seeds}"])
    return rows


def draw_factors(ax: Axes, model: str, accuracy: Mapping[str, Any], further: Mapping[str, Any]) -> None:
    """Accuracy of one layer with none, one, two or all of the three factors, and with still more steps."""
    places, labels = [], []
    for place, end in enumerate((*STEPS_UP, "_data_steps_4")):
        name = f"{model}{end}"
        found = accuracy.get(name) if name in ROWS else further.get(name, {}).get("accuracy")
        places.append(place)
        labels.append(WORDS[end])
        if found:
            draw_row(ax, place, found, ROWS[name].paper if name in ROWS else None)
    ax.set_yticks(places, labels, fontsize=8)
    ax.invert_yaxis()
    draw_levels(ax, "ar")
    ax.set(title=ROWS[model].title)
