"""Claims about multi-query recall, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from hippozoo_studies import spread_text
from hippozoo_studies.framework.claims import Asked
from hippozoo_studies.framework.words import at_least, at_most

__all__ = ["CLAIMS", "TITLE"]

TITLE = {
    "assoc": "Associative Memory",
    "assoc_2d": "Associative Memory, two-dimensional addresses",
    "assoc_previous": "Associative Memory, read address from the previous token",
    "deltanet": "DeltaNet",
    "gated_deltanet": "Gated DeltaNet",
    "mamba": "Mamba",
    "lstm": "LSTM",
}


def level(model: str) -> Callable[[Any, dict[str, Any]], dict[str, Any] | None]:
    """A model of ours beside DeltaNet at every size where both have been run."""

    def numbers(config: Any, metrics: dict[str, Any]) -> dict[str, Any] | None:
        rows = _rows_with(metrics, model, "deltanet")
        if not rows:
            return None
        seeds = min(len(row[name]["seeds"]) for row in rows.values() for name in (model, "deltanet"))
        # Runs that learn nothing lower a mean, and a median not.
        mean, middle = (
            [value(row[model]) >= value(row["deltanet"]) - 0.01 for row in rows.values()]
            for value in (lambda one: one["mean"], lambda one: median(one["seeds"]))
        )
        return {
            "plane": " with two-dimensional addresses" if model == "assoc_2d" else "",
            "title": TITLE[model],
            "each": _against(rows, model, "deltanet"),
            "held": mean + middle if seeds == len(config.seeds) and len(rows) == len(config.sizes) else None,
            "by_mean": sum(mean),
            "by_median": sum(middle),
            "sizes": len(rows),
            "seeds": seeds,
        }

    return numbers


def two_dimensions(config: Any, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """Addresses of two dimensions beside those of one."""
    rows = _rows_with(metrics, "assoc_2d", "assoc")
    better = [row["assoc_2d"]["mean"] > row["assoc"]["mean"] for row in rows.values()]
    return {"better": better, "each": _against(rows, "assoc_2d", "assoc")} if rows else None


def longer(config: Any, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """Addresses of two dimensions beside DeltaNet where both were trained for longer."""
    rows = {size: row for size, row in metrics.get("longer", {}).items() if {"assoc_2d", "deltanet"} <= row.keys()}
    if not rows:
        return None
    pairs = {size: (100 * row["assoc_2d"], 100 * row["deltanet"]) for size, row in rows.items()}
    return {
        "steps": config.longer,
        "level": [ours >= theirs - 1 for ours, theirs in pairs.values()],
        "each": ", ".join(
            f"{size.replace('_', ' ')}: {ours:.1f} against {theirs:.1f} %" for size, (ours, theirs) in pairs.items()
        ),
    }


def starts(config: Any, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """The two starts of the read address: the best under the previous token, the worst under the present one."""
    rows = _rows_with(metrics, "assoc_previous", "assoc")
    if not rows:
        return None
    least, most = (
        choose(row[model]["mean"] for row in rows.values())
        for choose, model in ((min, "assoc"), (max, "assoc_previous"))
    )
    return {
        "present": 100 * least,
        "present_least": at_least(100 * least, 1),
        "previous": 100 * most,
        "previous_most": at_most(100 * most, 1),
    }


def _rows_with(metrics: dict[str, Any], *models: str) -> dict[str, Any]:
    return {size: row for size, row in metrics["accuracy"].items() if set(models) <= row.keys()}


def _against(rows: dict[str, Any], model: str, other: str) -> str:
    pairs = {size: [spread_text(row[name], ".1f", 100) for name in (model, other)] for size, row in rows.items()}
    return ", ".join(f"{size.replace('_', ' ')}: {one} against {two} %" for size, (one, two) in pairs.items())


CLAIMS = (
    *(
        Asked(
            "target{plane}: at least DeltaNet's accuracy at every size, at equal size and steps (within one point)",
            "",
            level(model),
            lambda n: n["held"],
            "It is on par or ahead at {by_mean} of {sizes} sizes by the mean over seeds, at {by_median} by the median. "
            "Test accuracy of {title} against DeltaNet, {each}; seeds: {seeds}.",
        )
        for model in ("assoc", "assoc_2d")
    ),
    Asked(
        "ours: two-dimensional addresses outperform one-dimensional ones with as many coefficients",
        "",
        two_dimensions,
        lambda n: n["better"],
        "Test accuracy, {each}.",
    ),
    Asked(
        "ours: with {steps:,} steps, two-dimensional addresses still have at least DeltaNet's accuracy (within one "
        "point)",
        "",
        longer,
        lambda n: n["level"],
        "Test accuracy, {each} (one seed).",
    ),
    Asked(
        "ours: the initial read address decides: it must come from the current token, not from the previous one",
        "",
        starts,
        lambda n: n["present"] > 2 * n["previous"],
        "Addressed by the previous token it reaches at most {previous_most} %, by the current one at least "
        "{present_least} %.",
    ),
)
