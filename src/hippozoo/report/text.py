"""The report as Markdown: verdicts first, then departures, then every experiment with its table and figures."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from hippozoo.experiments import Verdict, duration_text, markdown_table
from hippozoo.report.captions import CAPTIONS, CHAPTERS, Chapter
from hippozoo.report.studies import Study
from hippozoo.report.verdicts import Sentence, first_sentence, sentences, verdict_of

__all__ = ["heading_anchor", "report_text"]

_INTRODUCTION = (
    "Goffinet, Hanks and Carlson, *HiPPO Zoo: Explicit Memory Mechanisms for Interpretable State Space Models* (2026): "
    "what the paper says, in its own words, and what came out when it was built and run anew. A sentence **holds**, "
    "**holds in part**, **does not hold**, or **cannot be told** by what was run; the reason stands beside it and can "
    "be read alone. Where a sentence was measured in several ways, each is listed."
)


def report_text(studies: Sequence[Study], beside: Path) -> str:
    """The whole report; pictures are linked as seen from the folder `beside`."""
    told = sentences(studies)
    paper, ours = [one for one in told if one.quoted], [one for one in told if not one.quoted]
    parts = ["# What holds", _INTRODUCTION, _warnings(studies)]
    if paper:
        parts += ["## The paper's sentences", _counts(paper), _verdicts(paper)]
    if any(study.departures for study in studies):
        parts += ["## Departures", _departures(studies)]
    if ours:
        parts += ["## Targets and findings of ours", _verdicts(ours)]
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
        lines.append(f"Units that are still to be run, so that these results are not final: {open_units}.")
    return "\n\n".join(f"> {line}" for line in lines)


def _counts(told: Sequence[Sentence]) -> str:
    counts = {verdict: sum(one.verdict == verdict for one in told) for verdict in get_args(Verdict)}
    words = ", ".join(f"{count} {_plural(verdict, count)}" for verdict, count in counts.items() if count)
    return f"{len(told)} sentence{'s' * (len(told) != 1)}: {words}."


def _plural(verdict: str, count: int) -> str:
    if count == 1:
        return verdict
    return {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}.get(verdict, verdict)


def _verdicts(told: Sequence[Sentence]) -> str:
    rows = []
    for one in told:
        words = f"“{one.quote}”" if one.quoted else one.quote.removeprefix("ours: ").removeprefix("target: ")
        where = ", ".join(_link(name) for name in one.studies)
        rows.append([words, f"**{one.verdict}**", _why(one), where])
    return markdown_table(["sentence", "verdict", "why", "where"], rows)


def _why(one: Sentence) -> str:
    if len(one.readings) == 1:
        return first_sentence(one.readings[0].evidence)
    if len({reading.verdict for reading in one.readings}) == 1:
        first, count = one.readings[0], len(one.readings)
        how_many = "Both" if count == 2 else f"All {count}"
        return f"{how_many} readings say so. The first, {first.claim}: {first_sentence(first.evidence)}"
    held = sum(reading.verdict == "holds" for reading in one.readings)
    told = " ".join(
        f"({number}) *{reading.verdict}*, {reading.claim}: {first_sentence(reading.evidence)}"
        for number, reading in enumerate(one.readings, start=1)
    )
    return f"{held} of {len(one.readings)} readings hold. {told}"


def _departures(studies: Sequence[Study]) -> str:
    rows = [
        [_link(study.name), one.what, one.paper, one.here, one.effect] for study in studies for one in study.departures
    ]
    words = "Where an experiment does otherwise than the paper, or fills in what the paper leaves open."
    return f"{words}\n\n{markdown_table(['experiment', 'what', 'the paper', 'here', 'why, or what it changes'], rows)}"


def _cost(studies: Sequence[Study]) -> str:
    rows = []
    for study in studies:
        document = study.document
        seeds = ", ".join(map(str, document.get("seeds", []))) or "nothing is random"
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
    parts.append(study.table.strip())
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
