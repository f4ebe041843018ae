"""The report as Markdown: verdicts first, then departures, then every experiment with its table and figures."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from hippozoo_studies import Verdict, duration_text, load, markdown_table
from hippozoo_studies.report.captions import CAPTIONS, CHAPTERS, Chapter
from hippozoo_studies.report.paper import EVERYWHERE, FORMULAS, SENTENCES
from hippozoo_studies.report.studies import Study
from hippozoo_studies.report.summary import summary_for_authors
from hippozoo_studies.report.verdicts import Sentence, first_sentence, sentences, verdict_of

__all__ = ["heading_anchor", "report_text"]

_INTRODUCTION = (
    "Goffinet, Hanks and Carlson, *HiPPO Zoo: Explicit Memory Mechanisms for Interpretable State Space Models* (2026): "
    "what the paper says, in its own words, and what came out when it was built and run anew. A sentence **holds**, "
    "**holds in part**, **does not hold**, or **cannot be told** by what was run; the reason stands beside it and can "
    "be read alone. All numbers behind it are in the chapter of its experiment, below."
)


def report_text(studies: Sequence[Study], beside: Path) -> str:
    """The whole report; pictures are linked as seen from the folder `beside`."""
    told = sentences(studies)
    paper, ours = [one for one in told if one.quoted], [one for one in told if not one.quoted]
    parts = ["# What holds", _INTRODUCTION, _warnings(studies)]
    if paper:
        parts += summary_for_authors(studies, paper)
    if paper:
        parts += ["## The paper's sentences", _counts(paper), *_by_part(paper), _untold(paper)]
        parts += ["## The paper's formulas", _formulas()]
    if any(study.departures for study in studies):
        parts += ["## Departures", _departures(studies)]
    if ours:
        parts += ["## Targets and findings of ours", _findings(ours)]
    parts += ["## Cost", _cost(studies)]
    parts += [_chapter(study, beside) for study in studies]
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def _chapter_of(name: str) -> Chapter:
    return CHAPTERS.get(name, Chapter(name, "an experiment of your own"))


def _link(name: str) -> str:
    return f"[{name}](#{heading_anchor(_chapter_of(name).title)})"


def heading_anchor(title: str) -> str:
    """The anchor that a heading gets, on the page as in the docs.

    Examples
    --------
    >>> heading_anchor("Salience HiPPO: selective copying")
    'salience-hippo-selective-copying'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _warnings(studies: Sequence[Study]) -> str:
    quick = [study.name for study in studies if study.document["quick"]]
    missing = {study.name: study.document.get("units_missing", 0) for study in studies}
    lines = []
    if quick:
        lines.append(f"Quick runs, which show that an experiment runs and are no results: {', '.join(quick)}.")
    if any(missing.values()):
        open_units = ", ".join(f"{name} {count}" for name, count in missing.items() if count)
        lines.append(f"Not final. Units still to be run, and more may follow from what they say: {open_units}.")
    return "\n\n".join(f"> {line}" for line in lines)


def _counts(told: Sequence[Sentence]) -> str:
    counts = {verdict: sum(one.verdict == verdict for one in told) for verdict in get_args(Verdict)}
    words = ", ".join(f"{count} {_plural(verdict, count)}" for verdict, count in counts.items() if count)
    return f"{len(told)} sentence{'s' * (len(told) != 1)}: {words}."


def _plural(verdict: str, count: int) -> str:
    if count == 1:
        return verdict
    return {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}.get(verdict, verdict)


def _by_part(told: Sequence[Sentence]) -> list[str]:
    """A table for each part of the paper, in the paper's order; sentences it does not list come last."""
    left = {one.quote: one for one in told}
    parts = {part: [left.pop(quote) for quote in quotes if quote in left] for part, quotes in SENTENCES.items()}
    parts["Other sentences"] = list(left.values())
    found = []
    for part, some in parts.items():
        if some:
            where = ", ".join(_link(name) for name in dict.fromkeys(name for one in some for name in one.studies))
            rows = [[f"“{one.quote}”", f"**{one.verdict}**", reason(one)] for one in some]
            found += [f"### {part}", f"Measured in {where}.", markdown_table(["sentence", "verdict", "why"], rows)]
    return found


def _untold(told: Sequence[Sentence]) -> str:
    """The sentences that nothing in this folder speaks about, by the experiment that would."""
    known = {one.quote for one in told}
    missing: dict[str, list[str]] = {}
    for quotes in SENTENCES.values():
        for quote, name in quotes.items():
            if quote not in known:
                missing.setdefault(name, []).append(quote)
    if not missing:
        return ""
    count = sum(map(len, missing.values()))
    lines = [
        f"- `hippozoo reproduce {name}`: {', '.join(f'“{quote}”' for quote in quotes)}."
        for name, quotes in missing.items()
    ]
    of_them = f"{count} sentence{'s' * (count != 1)} of the paper"
    heading = f"These results say nothing yet of {of_them}; the run that would tell stands before each:"
    return "\n".join(["### Not told yet", "", heading, "", *lines])


def _formulas() -> str:
    rows = [[one.says, f"**{one.verdict}**", one.why, f"`{one.test}`"] for one in FORMULAS]
    words = "No run decides these. A test of the library does, at every check of its code."
    return f"{words}\n\n{markdown_table(['the paper', 'verdict', 'why', 'test'], rows)}"


def _findings(told: Sequence[Sentence]) -> str:
    rows = []
    for one in told:
        where = ", ".join(_link(name) for name in one.studies)
        words = one.quote.removeprefix("ours: ").removeprefix("target: ")
        rows.append([words, f"**{one.verdict}**", reason(one), where])
    return markdown_table(["sentence", "verdict", "why", "where"], rows)


def reason(one: Sentence) -> str:
    """Why a sentence has its verdict: the first sentences of what was measured, short enough for a table."""
    told = [first_sentence(reading.evidence) for reading in one.readings]
    kinds = {reading.verdict for reading in one.readings}
    if len(kinds) > 1:
        return " ".join(f"*{reading.verdict}:* {words}" for reading, words in zip(one.readings, told, strict=True))
    if kinds == {"holds in part"}:  # each in another part
        return " ".join(told)
    others = {1: "", 2: " The other way in which it was measured says the same."}
    return told[0] + others.get(len(told), f" The {len(told) - 1} other ways in which it was measured say the same.")


def _departures(studies: Sequence[Study]) -> str:
    rows = [["all", one.what, one.paper, one.here, one.effect] for one in EVERYWHERE]
    rows += [
        [_link(study.name), one.what, one.paper, one.here, one.effect] for study in studies for one in study.departures
    ]
    words = "Where an experiment does otherwise than the paper, or fills in what the paper leaves open."
    return f"{words}\n\n{markdown_table(['experiment', 'what', 'the paper', 'here', 'why, or what it changes'], rows)}"


def _cost(studies: Sequence[Study]) -> str:
    rows = []
    for study in studies:
        document = study.document
        own = getattr(load(study.name).module, "seeds_text", None) if study.is_ours else None
        seeds = ", ".join(map(str, document.get("seeds", []))) or "nothing is random"
        seeds = own(document["metrics"]) if own is not None and not document["quick"] else seeds
        missing = document.get("units_missing", 0)
        versions = document["versions"]
        rows.append(
            [
                _link(study.name),
                duration_text(document["seconds"]) + (f", {missing} units to come" if missing else ""),
                seeds,
                f"`{_command(study)}`",
                f"torch {versions.get('torch', '?')}, numpy {versions.get('numpy', '?')}",
            ]
        )
    words = "Seconds of one core, mostly on a loaded machine. Each command goes on from the units that are there."
    return f"{words}\n\n{markdown_table(['experiment', 'computing', 'seeds', 'command', 'versions'], rows)}"


def _command(study: Study) -> str:
    return f"hippozoo reproduce {study.name}{' --quick' if study.document['quick'] else ''}"


def _chapter(study: Study, beside: Path) -> str:
    chapter = _chapter_of(study.name)
    parts = [f"## {chapter.title}", f"{chapter.place[0].upper()}{chapter.place[1:]}."]
    parts.append(f"Again: `{_command(study)}`.")
    if study.document["quick"]:
        parts.append("> A quick run: this shows the form, and is no result.")
    # Its headings stand below that of the chapter.
    parts.append(re.sub(r"(?m)^#+ ", "### ", study.table.strip()))
    if study.document["claims"] and not study.document["quick"]:
        parts.append(_claims(study))
    for path in study.figures:
        caption = CAPTIONS.get((study.name, path.stem), f"{path.stem.replace('-', ' ').capitalize()}.")
        link = Path(os.path.relpath(path, beside)).as_posix()
        parts.append(f"![{caption}]({link})\n\n*{caption}*")
    return "\n\n".join(part for part in parts if part)


def _claims(study: Study) -> str:
    rows = [[one["claim"], f"**{verdict_of(one)}**", one["evidence"]] for one in study.document["claims"]]
    return markdown_table(["what was asked", "verdict", "evidence"], rows)
