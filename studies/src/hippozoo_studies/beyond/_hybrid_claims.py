"""What hybrids gain, keep and lose, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hippozoo_studies import (
    spread_text,
)
from hippozoo_studies.framework.claims import Asked, listed
from hippozoo_studies.paper._mamba_parts import PARTS
from hippozoo_studies.paper._two_tasks import (
    TITLES,
)

if TYPE_CHECKING:
    from hippozoo_studies.beyond.hybrids import Config


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
    "mamba_windows": "Mamba's gates around windows (no convolution)",
    "mamba_windows_taps": "Mamba's gates around windows",
    "memory_attention": "Memory + attention over its coefficients",
}


#: The models that a hybrid is compared with: those it is made of, also with as many layers as it has, since a second
#: layer alone may be what helps.
MADE_OF = {
    "lstm_bank": ("lstm", "lstm_2"),
    "mamba_bank": ("mamba", "mamba_2"),
    "mamba_clock": ("mamba",),
    "mamba_windows": ("mamba", "mamba_2", "memory"),
    "mamba_windows_taps": ("mamba", "mamba_2", "memory"),
    "memory_attention": ("memory",),
}


#: No part of an expressive model, and one that lacks parts of Mamba: rows of their own.
APART = ("memory_attention", "mamba_windows")

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
            others = ", ".join(f"{TITLE[base]} {spread_text(row[base], '.1f')}" for base in bases)
            each.append(f"{TITLES[task]}: {spread_text(row[hybrid], '.1f')} % ({others})")
        return {
            "title": TITLE[hybrid],
            "tasks": list(rows),
            "each": "; ".join(each),
            "margins": [row[hybrid]["mean"] - max(row[base]["mean"] for base in bases) for row in rows.values()],
            "first_margins": [row[hybrid]["mean"] - row[bases[0]]["mean"] for row in rows.values()],
            "done": len(rows) == len(config.tasks) and seeds == len(config.seeds),
            "seeds": seeds,
            "caution": _windows(metrics) if hybrid == "mamba_windows" else "",
        }

    return numbers


def middle_ground(config: Config, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """All hybrids of an expressive model, each beside that model of one layer."""
    found = {hybrid: gains(hybrid)(config, metrics) for hybrid in MADE_OF if hybrid not in APART}
    there = {hybrid: one for hybrid, one in found.items() if one}
    if not there:
        return None
    each = [
        f"{one['title']} " + _in_points(dict(zip(one["tasks"], one["first_margins"], strict=True)), metrics["accuracy"])
        for one in there.values()
    ]
    states = [state for task in metrics["state"].values() for state in [_states(task)] if state]
    return {
        "kept": [margin >= -KEEPS for one in there.values() for margin in one["first_margins"]],
        "keeps": KEEPS,
        "tasks": listed(TITLES[task] for task in metrics["accuracy"]),
        "each": "; ".join(each),
        "deeper": _deeper(metrics),
        "states": f"; state sizes on {TITLES[next(iter(metrics['state']))]}: {states[0]}" if states else "",
        "done": len(there) == len(found) and all(one["done"] for one in there.values()),
    }


def _deeper(metrics: Mapping[str, Any]) -> str:
    """What a second layer alone gives LSTM and Mamba at equal size, as hybrids have two."""
    each = []
    for one, two in (("lstm", "lstm_2"), ("mamba", "mamba_2")):
        rows = {task: row for task, row in metrics["accuracy"].items() if {one, two} <= row.keys()}
        if rows:
            margins = {task: row[two]["mean"] - row[one]["mean"] for task, row in rows.items()}
            each.append(f"{TITLE[one]} {_in_points(margins, metrics['accuracy'])}")
    return f"; a second layer alone: {', '.join(each)}" if each else ""


def _states(state: Mapping[str, int]) -> str:
    """Numbers carried on, of the hybrids with a bank and what they are made of."""
    return ", ".join(
        f"{TITLE[name]} {state[name]:,}" for name in ("lstm", "lstm_bank", "mamba", "mamba_bank") if name in state
    )


def _windows(metrics: Mapping[str, Any]) -> str:
    """What the hybrid of windows lacks, and what Mamba loses without it."""
    words = " The hybrid of windows has neither Mamba's short convolution nor its input-dependent time"
    row = metrics["accuracy"].get("ar", {})
    if not {"mamba", "without_taps"} <= row.keys():
        return f"{words}."
    lost = row["mamba"]["mean"] - row["without_taps"]["mean"]
    return f"{words}; Mamba itself loses {lost:.0f} points on {TITLES['ar']} without its short convolution."


def _in_points(margins: Mapping[str, float], tasks: Iterable[str]) -> str:
    """One number a task, in the order of the tasks; a dash where there is none."""
    return " and ".join(f"{margins[task]:+.1f}" if task in margins else "–" for task in tasks)


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
        "An explicit part costs LSTM and Mamba at most one point, and part of their memory can then be drawn",
        "Hybrid architectures embedding interpretable components within expressive SSMs offer a middle ground",
        middle_ground,
        lambda n: n["kept"] if n["done"] else None,
        "Points of accuracy gained on {tasks} over the expressive model of equal size with one layer ({keeps:g} may be "
        "lost): {each}{deeper}{states}. Mamba of one layer is that of Table 1, of the same rate and seeds, "
        "recomputed by a later scan that rounds otherwise. Pictures show what each hybrid still shows: carriers of "
        "the bank, clocks, windows.",
    ),
    *(
        Asked(
            "ours: {title} is more accurate than its component models, at equal size, on both tasks",
            "",
            gains(hybrid),
            lambda n: [margin > 0 for margin in n["margins"]] if n["done"] else None,
            "{each}; seeds: {seeds}.{caution}",
        )
        for hybrid in MADE_OF
    ),
    *(
        Asked(
            "ours: on {task}, removing the {part} costs Mamba the most",
            "",
            lost_parts(task),
            lambda n: n["most"] > 5.0,
            "Points of accuracy, {each}.",
        )
        for task in TITLES
    ),
)
