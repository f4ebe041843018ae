"""The studies in detail: cost, departures from the paper, findings of ours, and a chapter each."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from hippozoo_studies import duration_text, load, markdown_table
from hippozoo_studies.framework.costs import MORE, more_will_follow
from hippozoo_studies.report.captions import CAPTIONS, CHAPTERS, Chapter
from hippozoo_studies.report.paper import EVERYWHERE
from hippozoo_studies.report.studies import Study
from hippozoo_studies.report.verdicts import Sentence, verdict_of
from hippozoo_studies.report.wording import share_clauses, show_verdict

__all__ = ["chapter_link", "chapters_parts", "figure_text", "heading_anchor"]


def chapters_parts(studies: Sequence[Study], findings: Sequence[Sentence], beside: Path) -> list[str]:
    """All sections, as Markdown; pictures are linked as seen from the folder `beside`."""
    parts = ["## The studies and their cost", _cost(studies)]
    if any(study.departures for study in studies):
        parts += ["## Departures from the paper", _departures(studies)]
    if findings:
        parts += ["## Targets and findings of ours", _findings(findings)]
    return [*parts, *(_chapter(study, beside) for study in studies)]


def chapter_link(name: str, page: str = "") -> str:
    """A link to the chapter of a study, on another page or on this one."""
    return f"[{name}]({page}#{heading_anchor(_chapter_of(name).title)})"


def heading_anchor(title: str) -> str:
    """The anchor that a heading gets, on the page as in the docs.

    Examples
    --------
    >>> heading_anchor("Salience HiPPO: selective copying")
    'salience-hippo-selective-copying'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _chapter_of(name: str) -> Chapter:
    return CHAPTERS.get(name, Chapter(name, "your own study"))


def _cost(studies: Sequence[Study]) -> str:
    versions = {_versions(study) for study in studies}
    words = "Core time, mostly on a busy machine. `hippozoo reproduce NAME` resumes from the finished runs."
    if len(versions) == 1:
        words += f" Computed with {versions.pop()}."
        header = ["study", "about", "core time", "seeds"]
    else:
        header = ["study", "about", "core time", "seeds", "versions"]
    rows = []
    for study in studies:
        document = study.document
        own = getattr(load(study.name).module, "seeds_text", None) if study.is_ours else None
        seeds = ", ".join(map(str, document.get("seeds", []))) or "deterministic"
        seeds = own(document["metrics"]) if own is not None and not document["quick"] else seeds
        missing = document.get("units_missing", 0)
        pending = [f"{missing} run{'s' * (missing != 1)} pending"] * bool(missing) + [MORE] * more_will_follow(document)
        time = ", ".join([duration_text(document["seconds"]), *pending])
        chapter = _chapter_of(study.name)
        about = f"{chapter.title} ({chapter.place})"
        row = [chapter_link(study.name), about, time, seeds, _versions(study)]
        rows.append(row[: len(header)])
    return f"{words}\n\n{markdown_table(header, rows)}"


def _versions(study: Study) -> str:
    versions = study.document["versions"]
    return f"torch {versions.get('torch', '?')}, numpy {versions.get('numpy', '?')}"


def _departures(studies: Sequence[Study]) -> str:
    rows = [["all", one.what, one.paper, one.here, one.effect] for one in EVERYWHERE]
    rows += [
        [chapter_link(study.name), one.what, one.paper, one.here, one.effect]
        for study in studies
        for one in study.departures
    ]
    words = "Where a study deviates from the paper, or fills in what the paper does not specify."
    return f"{words}\n\n{markdown_table(['study', 'what', 'paper', 'here', 'reason or effect'], rows)}"


def _findings(findings: Sequence[Sentence]) -> str:
    rows = []
    for one in findings:
        words = one.quote.removeprefix("ours: ").removeprefix("target: ")
        where = ", ".join(chapter_link(name) for name in one.studies)
        rows.append([words, f"**{show_verdict(one.verdict)}**", where])
    words = "Statements of ours, most of them targets set in advance. The evidence is in the chapter of the study."
    return f"{words}\n\n{markdown_table(['statement', 'verdict', 'study'], rows)}"


def _chapter(study: Study, beside: Path) -> str:
    chapter = _chapter_of(study.name)
    quick = study.document["quick"]
    command = f"hippozoo reproduce {study.name}{' --quick' * quick}"
    place = f"{chapter.place[0].upper()}{chapter.place[1:]}"
    parts = [f"## {chapter.title}", f"{place}. Rerun with `{command}`."]
    if quick:
        parts.append("> A quick run: it shows the format, not a result.")
    # Its headings stand below that of the chapter.
    parts.append(re.sub(r"(?m)^#+ ", "### ", study.table.strip()))
    if study.document["claims"] and not quick:
        parts.append(_claims(study))
    parts += [figure_text(study, path, beside) for path in study.figures]
    return "\n\n".join(part for part in parts if part)


def figure_text(study: Study, path: Path, beside: Path) -> str:
    """A figure with its caption, linked as seen from the folder `beside`."""
    caption = CAPTIONS.get((study.name, path.stem), f"{path.stem.replace('-', ' ').capitalize()}.")
    link = Path(os.path.relpath(path, beside)).as_posix()
    return f"![{caption}]({link})\n\n*{caption}*"


def _claims(study: Study) -> str:
    claims = study.document["claims"]
    notes, evidence = share_clauses([one["evidence"] for one in claims])
    rows = [
        [one["claim"], f"**{show_verdict(verdict_of(one))}**", words]
        for one, words in zip(claims, evidence, strict=True)
    ]
    return "\n\n".join([*notes, markdown_table(["statement", "verdict", "evidence"], rows)])
