"""The report as Markdown: verdicts on the paper's claims, and the studies in detail, on two pages or on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hippozoo_studies import markdown_table
from hippozoo_studies.report.chapters import chapter_link, chapters_parts, figure_text
from hippozoo_studies.report.paper import FORMULAS, SENTENCES, Formula
from hippozoo_studies.report.studies import Study
from hippozoo_studies.report.summary import summary_for_authors
from hippozoo_studies.report.verdicts import Sentence, first_sentence, sentences
from hippozoo_studies.report.wording import share_clauses, show_verdict

__all__ = ["CHAPTERS_FILE", "Pages", "report_pages", "report_text"]

#: The file of the second page, beside the first.
CHAPTERS_FILE = "chapters.md"
_TABLE_ONE = ("memory-tasks", "accuracy")

_PAPER = (
    "Goffinet, Hanks and Carlson, *HiPPO Zoo: Explicit Memory Mechanisms for Interpretable State Space Models* (2026)"
)
_INTRODUCTION = (
    f"{_PAPER}, reimplemented and rerun: the paper's claims, in its own words, and our measurements. A claim "
    "**holds**, **holds in part**, **does not hold**, or is **undecided**. "
)
_ON_ONE_PAGE = "All numbers are in the chapter of each study, below."
_ON_TWO_PAGES = f"Numbers, figures, costs, departures and our own findings: [chapters of the studies]({CHAPTERS_FILE})."


class Pages(NamedTuple):
    """The report on two pages, as Markdown."""

    verdicts: str
    chapters: str


def report_pages(studies: Sequence[Study], file: Path) -> Pages:
    """The report on two pages: the verdicts, to be written to `file`, and :data:`CHAPTERS_FILE` beside it."""
    paper, ours = _split(studies)
    warnings = _warnings(studies, paper)
    verdicts = ["# What holds", _INTRODUCTION + _ON_TWO_PAGES, warnings, *_verdicts(studies, paper, file)]
    words = (
        f"One chapter per study: tables, statements, figures. [What holds]({file.name}) has the verdicts on the paper."
    )
    chapters = ["# Studies, chapter by chapter", words, warnings, *chapters_parts(studies, ours, file.parent)]
    return Pages(_joined(verdicts), _joined(chapters))


def report_text(studies: Sequence[Study], beside: Path) -> str:
    """The whole report on one page; pictures are linked as seen from the folder `beside`."""
    paper, ours = _split(studies)
    parts = ["# What holds", _INTRODUCTION + _ON_ONE_PAGE, _warnings(studies, paper), *_verdicts(studies, paper)]
    return _joined([*parts, *chapters_parts(studies, ours, beside)])


def _split(studies: Sequence[Study]) -> tuple[list[Sentence], list[Sentence]]:
    found = sentences(studies)
    return [one for one in found if one.quoted], [one for one in found if not one.quoted]


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def _warnings(studies: Sequence[Study], paper: Sequence[Sentence]) -> str:
    """What is not final: quick runs, and runs that are pending, those behind verdicts on the paper first."""
    quick = [study.name for study in studies if study.document["quick"]]
    missing = {study.name: study.document.get("units_missing", 0) for study in studies}
    lines = []
    if quick:
        lines.append(f"Quick runs check that a study works and are not results: {', '.join(quick)}.")
    if any(missing.values()):
        judging = {name for one in paper for name in one.studies}
        told = [
            f"{lead}{', '.join(some)}"
            for lead, is_judging in (("", True), ("beyond the paper: ", False))
            if (
                some := [
                    f"{name} {count}" for name, count in missing.items() if count and (name in judging) is is_judging
                ]
            )
        ]
        lines.append(f"Preliminary. Runs pending (more may follow): {'; '.join(told)}.")
    return "\n\n".join(f"> {line}" for line in lines)


def _verdicts(studies: Sequence[Study], paper: Sequence[Sentence], file: Path | None = None) -> list[str]:
    """The sections on the paper; none where no study quotes it. A page of their own shows the paper's Table 1."""
    if not paper:
        return []
    page, pictures = "", []
    if file is not None:
        page, found = CHAPTERS_FILE, [(study, path) for study in studies for path in study.figures]
        pictures = [figure_text(*one, file.parent) for one in found if (one[0].name, one[1].stem) == _TABLE_ONE]
    words = "“(4×)” after a verdict means that four measurements agree; the evidence is that of the first."
    return [
        *summary_for_authors(studies, paper),
        *pictures,
        "## The paper's claims",
        words,
        *_by_part(paper, page),
        _untested(paper),
        "## The paper's formulas",
        _formulas(page),
    ]


def _by_part(paper: Sequence[Sentence], page: str) -> list[str]:
    """A table for each part of the paper, in the paper's order; claims it does not list come last."""
    left = {one.quote: one for one in paper}
    parts = {part: [left.pop(quote) for quote in quotes if quote in left] for part, quotes in SENTENCES.items()}
    parts["Other claims"] = list(left.values())
    found = []
    for part, some in parts.items():
        if some:
            names = dict.fromkeys(name for one in some for name in one.studies)
            notes, reasons = share_clauses([reason(one) for one in some])
            rows = [[f"“{one.quote}”", _verdict(one), why] for one, why in zip(some, reasons, strict=True)]
            where = f"Measured in {', '.join(chapter_link(name, page) for name in names)}."
            found += [f"### {part}", where, *notes, markdown_table(["claim", "verdict", "evidence"], rows)]
    return found


def _verdict(one: Sentence) -> str:
    agree = len(one.readings) if len(one.readings) > 1 and not _is_told_in_full(one) else 0
    return f"**{show_verdict(one.verdict)}**" + (f" ({agree}×)" if agree else "")


def reason(one: Sentence) -> str:
    """Why a claim has its verdict: the first sentence of each measurement; of those that agree, that of the first."""
    first = [first_sentence(reading.evidence) for reading in one.readings]
    if not _is_told_in_full(one):
        return first[0]
    if len({reading.verdict for reading in one.readings}) == 1:
        return " ".join(first)
    told = zip(one.readings, first, strict=True)
    return " ".join(f"*{show_verdict(reading.verdict)}:* {words}" for reading, words in told)


def _is_told_in_full(one: Sentence) -> bool:
    """Whether measurements differ, in verdict or in the part that holds."""
    return len({reading.verdict for reading in one.readings}) > 1 or one.verdict == "holds in part"


def _untested(paper: Sequence[Sentence]) -> str:
    """The claims that no result in this folder tests, by the study that would."""
    known = {one.quote for one in paper}
    missing: dict[str, list[str]] = {}
    for quotes in SENTENCES.values():
        for quote, name in quotes.items():
            if quote not in known:
                missing.setdefault(name, []).append(quote)
    if not missing:
        return ""
    lines = [
        f"- `hippozoo reproduce {name}`: {', '.join(f'“{quote}”' for quote in quotes)}."
        for name, quotes in missing.items()
    ]
    return "\n".join(["### Not tested yet", "", "Each command tests the claims after it:", "", *lines])


def _formulas(page: str) -> str:
    rows = [
        [one.says, f"**{show_verdict(one.verdict)}**", one.why, number] for number, one in enumerate(FORMULAS, start=1)
    ]
    words = "Tests of the library decide these, not runs."
    if page:  # errata.md lies beside it
        words += " [Errata](errata.md) has the correct formulas."
    table = markdown_table(["paper", "verdict", "reason", "test"], rows)
    return "\n\n".join([words, table, "The tests:", "\n".join(map(_test, range(1, len(rows) + 1), FORMULAS))])


def _test(number: int, formula: Formula) -> str:
    """A test as an item of a list; its name is a sentence."""
    file, _, name = formula.test.partition("::")
    return f"{number}. {name.removeprefix('test_').replace('_', ' ')} (`{file}`)"
