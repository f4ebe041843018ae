"""What the paper's appendix says of Salience beside Mamba's time steps, and which part Mamba lives by, as rows."""

from __future__ import annotations

from typing import Any

from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers
from hippozoo_studies.paper._mamba_parts import PARTS

__all__ = ["clock_claims"]


CLAIMS = (
    Asked(
        "Mamba's time steps are nearly of rank one: the first component explains 60 % or more",
        "the first PC explains 79% of variance, suggesting approximate low-rank structure",
        lambda n: n,
        lambda n: [one > 0.6 for one in n["first"]],
        "It explains {first_text} here (one seed), 79 % in the paper, whose rate is 0.001; 60 % or more counts as "
        "approximately low-rank.",
    ),
    Asked(
        "salience follows from the time steps in part (R² between 0.1 and 0.9)",
        "Salience and Mamba identify partially overlapping patterns of input importance",
        lambda n: n,
        lambda n: [0.1 < one < 0.9 for one in n["there"]],
        "R² of salience from the time steps is {there_text} here (one seed), 0.38 in the paper; 0.1 to 0.9 count as "
        "partial.",
    ),
    Asked(
        "the time steps follow less from salience: R² at most half of that the other way",
        "Mamba's entrywise parameterization captures additional structure that cannot be reduced to a scalar",
        lambda n: n,
        lambda n: [back < there / 2 for back, there in zip(n["back"], n["there"], strict=True)],
        "R² of the time steps from salience is {back_text}, less than half of that the other way, {there_text} (one "
        "seed); 0.01 and 0.38 in the paper.",
    ),
)
# What is compared, by its name in the sentences: where it stands, and how it is written.
COMPARED = {
    "first": ("first_component", ".0%"),
    "there": ("r2_salience_from_steps", ".2f"),
    "back": ("r2_steps_from_salience", ".2f"),
}


def parts_taken(metrics: dict[str, Any]) -> dict[str, Any] | None:
    """Mamba without each of its parts, beside Mamba and the best of Salience."""
    found = metrics["validation_perplexity"]
    whole, without_each = found.get("mamba"), {part: found.get(f"mamba_without_{part}") for part in PARTS}
    salience = [value for name, value in found.items() if name.startswith("salience")]
    if whole is None or None in without_each.values() or not salience:
        return None
    best = min(salience)
    each = sorted(without_each.items(), key=lambda item: -item[1])
    lost = {part: (value - whole) / (best - whole) for part, value in each}
    return {
        "whole": whole,
        "salience": best,
        "lost": list(lost.values()),
        "each": ", ".join(f"{PARTS[part]} {value:.3f} ({lost[part]:.0%})" for part, value in each),
    }


OF_PARTS = Asked(
    "ours: no single part of Mamba carries its lead over Salience: each alone accounts for less than half of it",
    "",
    parts_taken,
    lambda n: [lost < 0.5 for lost in n["lost"]],
    "Validation perplexity after one pass: Mamba {whole:.3f}, the best Salience {salience:.3f}; Mamba without its "
    "{each} (one seed; in brackets the share of the lead that goes with the part).",
)


def clock_claims(compared: dict[str, dict[str, Any]], metrics: dict[str, Any]) -> list[Claim]:
    """What the appendix says of the two models, at every rate at which they were trained; and of Mamba's parts."""
    of_parts = answers([OF_PARTS], metrics)
    if not compared:
        return of_parts
    numbers: dict[str, Any] = {}
    for name, (key, form) in COMPARED.items():
        numbers[name] = [found[key] for found in compared.values()]
        texts = [f"{found[key]:{form}} at rate {rate}" for rate, found in compared.items()]
        numbers[f"{name}_text"] = ", ".join(reversed(texts))
    return answers(CLAIMS, numbers) + of_parts
