"""One screen for the authors of the paper: what holds, and where its tables and ours are far apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from hippozoo_studies import Verdict, load, markdown_table
from hippozoo_studies.framework.words import seeds_word
from hippozoo_studies.report.paper import FORMULAS, SENTENCES, Formula
from hippozoo_studies.report.studies import Study
from hippozoo_studies.report.verdicts import Sentence, first_sentence
from hippozoo_studies.report.wording import show_verdict

__all__ = ["LARGE", "Gap", "large_gaps", "summary_for_authors"]

#: From here on two accuracies are far apart, in points: beyond what seeds, batch or loss have changed anywhere here.
LARGE = 40.0

#: The claim that stands for its part of the paper, where it holds; else the first one that does.
CENTRAL = (
    "the correct kernel can be inferred",
    "Salience HiPPO achieves 100.0% test accuracy",
    "Associative Memory HiPPO achieves 100.0% test accuracy",
    "a single Multiscale HiPPO system matches or improves upon the reconstruction error of all single-scale baselines "
    "across horizons",
)
#: What a figure may depend on, by study and row, as far as variants of it have shown. Names in braces stand for the
#: accuracy and the seeds of a variant.
DEPENDS_ON = {
    ("memory-tasks", "vanilla_mlp", "sc"): (
        "the window of the memory: {vanilla_mlp_window_300} with 300 samples in place of 30; width, order and window "
        "are unspecified"
    ),
    ("memory-tasks", "salience", "ar"): (
        "what salience sees: {salience_token} from the token alone, with half the parameters; order, width and window "
        "are unspecified"
    ),
    ("memory-tasks", "assoc", "sc"): (
        "its window and initialisation, both unspecified: {assoc_window_20_random} with 20 samples in place of two and "
        "a random initialisation"
    ),
    ("recall-scaling", "s4d_2_all"): (
        "the learning rate: every large model that binds was best at the largest of the three"
    ),
    ("recall-scaling", "transformer_2_capacity_pe"): (
        "a loss on the answer alone, {transformer_2_capacity_pe_answer}, a batch of 256, "
        "{transformer_2_capacity_pe_batch}, or learnt positions, {transformer_2_capacity_learnt}, do not help"
    ),
    ("recall-scaling", "transformer_2_steps_pe"): (
        "a loss on the answer alone, {transformer_2_steps_pe_answer}, a batch of 256, {transformer_2_steps_pe_batch}, "
        "or learnt positions, {transformer_2_steps_learnt}, do not help; with 20 times the data, 8 times the steps and "
        "a loss on the answer alone, two layers solve it, {transformer_2_long_pe}"
    ),
}


class Gap(NamedTuple):
    """A figure of the paper that is far from ours."""

    study: str
    row: tuple[str, ...]
    ours: float
    paper: float


def large_gaps(studies: Sequence[Study]) -> list[Gap]:
    """All accuracies of the paper that are far from ours, the farthest first."""
    found = []
    for study in studies:
        document = study.document
        if not document["quick"]:
            pairs = _pairs(document["metrics"].get("accuracy", {}), document.get("paper", {}).get("accuracy", {}))
            found += [Gap(study.name, row, ours, paper) for row, ours, paper in pairs if abs(ours - paper) >= LARGE]
    return sorted(found, key=lambda one: -abs(one.ours - one.paper))


def _pairs(ours: Any, paper: Any, row: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], float, float]]:
    if isinstance(paper, (int, float)):
        mean = ours.get("mean") if isinstance(ours, dict) else None
        return [] if mean is None else [(row, mean, float(paper))]
    if not isinstance(paper, dict) or not isinstance(ours, dict):
        return []
    return [pair for key in paper if key in ours for pair in _pairs(ours[key], paper[key], (*row, key))]


def summary_for_authors(studies: Sequence[Study], paper: Sequence[Sentence]) -> list[str]:
    """The part of the report, as paragraphs of Markdown; the table is left out where nothing is far apart."""
    parts = [
        "## Summary for the authors",
        f"{len(paper)} testable claim{'s' * (len(paper) != 1)}: {_counted(paper)}. Each member does what it was "
        "designed for: Salience when initialised with a bump, Forecasting only with an exact delay. Of "
        f"{len(FORMULAS)} [formulas](#the-papers-formulas), by tests: {_counted(FORMULAS)}.",
    ]
    held = _held(paper)
    if held:
        parts.append("\n".join(["Claims that hold, by part, with an example:", "", *held]))
    refuted = [f"- “{one.quote}”: {_first_clause(one)}" for one in paper if one.verdict == "does not hold"]
    if refuted:
        parts.append("\n".join(["These claims do not hold:", "", *refuted]))
    gaps = large_gaps(studies)
    if gaps:
        rows = [
            [_words(one), f"{one.ours:.1f}", f"{one.paper:.1f}", f"{one.ours - one.paper:+.0f}", _reason(one, studies)]
            for one in gaps
        ]
        parts += [
            f"Accuracies that differ from the paper's by {LARGE:g} points or more, and what that may depend on:",
            markdown_table(["accuracy", "ours (%)", "paper (%)", "difference", "may depend on"], rows),
        ]
    return parts


def _counted(judged: Sequence[Sentence | Formula]) -> str:
    """How many have each verdict."""
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in get_args(Verdict)}
    return ", ".join(f"{count} {show_verdict(verdict, count)}" for verdict, count in counts.items() if count)


def _held(paper: Sequence[Sentence]) -> list[str]:
    """For each part of the paper how many claims hold, and one of them."""
    verdicts, lines = {one.quote: one.verdict for one in paper}, []
    for part, quotes in SENTENCES.items():
        tested = [quote for quote in quotes if quote in verdicts]
        held = [quote for quote in tested if verdicts[quote] == "holds"]
        if held:
            shown = next((quote for quote in CENTRAL if quote in held), held[0])
            lines.append(f"- {part}, {len(held)} of {len(tested)}: “{shown}”")
    return lines


def _first_clause(one: Sentence) -> str:
    """How the evidence begins: why a claim does not hold, and what does."""
    clause = first_sentence(one.readings[0].evidence).partition("; ")[0].removesuffix(".")
    clause = re.sub(r" \([^()]{25,}\)", "", clause)  # numbers are in the table of claims
    return f"{clause[:1].lower()}{clause[1:]}." if clause.startswith("As stated") else f"{clause}."


def _reason(gap: Gap, studies: Sequence[Study]) -> str:
    """What a figure may depend on, with the accuracies of our variants and their seeds."""
    words = DEPENDS_ON.get((gap.study, *gap.row))
    metrics = next(study.document["metrics"] for study in studies if study.name == gap.study)
    try:
        return "unknown" if words is None else words.format_map(_variants(metrics))
    except KeyError:  # not run there
        return "unknown"


def _variants(metrics: Mapping[str, Any]) -> dict[str, str]:
    """The accuracy of each row beyond a table, and its seeds, by name."""
    seeds = {name: one["seeds"] for name, one in metrics.get("variants", {}).items()}
    seeds |= {name: one["accuracy"]["seeds"] for name, one in metrics.get("further", {}).items()}
    seeds |= {name: [one["accuracy"]] for name, one in metrics.get("beyond", {}).items()}
    return {name: f"{_span(some)} % ({seeds_word(len(some))})" for name, some in seeds.items()}


def _span(values: Sequence[float]) -> str:
    """From the least to the most, as one number where these are within five points.

    Examples
    --------
    >>> _span([100.0, 55.6, 97.4]), _span([32.0, 33.2])
    ('56 to 100', '33')
    """
    low, high, mean = min(values), max(values), sum(values) / len(values)
    return f"{mean:.0f}" if high - low < 5 else f"{low:.0f} to {high:.0f}"


def _words(gap: Gap) -> str:
    """A row in the words of its study."""
    module = load(gap.study).module
    if gap.study == "recall-scaling":
        row = module.ROWS[gap.row[0]]
        return f"{row.title}{', two layers' if row.layers == 2 else ''}: {row.setting}, recall"
    tasks = getattr(module, "TITLES", {})
    return ", ".join((module.TITLE.get(gap.row[0], gap.row[0]), *(tasks.get(one, one) for one in gap.row[1:])))
