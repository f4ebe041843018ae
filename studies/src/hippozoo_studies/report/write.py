"""Writing the report."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hippozoo._internal.files import make_folder, write_whole
from hippozoo_studies.report.page import render_page
from hippozoo_studies.report.studies import read_studies
from hippozoo_studies.report.text import CHAPTERS_FILE, report_pages, report_text

__all__ = ["Written", "write_markdown", "write_report"]


class Written(NamedTuple):
    """The two files of a report.

    Parameters
    ----------
    page
        One self-contained HTML file.
    markdown
        The same as text, with links to the pictures.
    """

    page: Path
    markdown: Path


def write_markdown(results: str | Path, file: str | Path) -> tuple[Path, Path]:
    """The report as two Markdown files, with links to the pictures in the results folder.

    Parameters
    ----------
    results
        The folder that `hippozoo reproduce` wrote.
    file
        Where the verdicts go; ``chapters.md``, with all studies, is written beside it. The folder must exist.
    """
    first = Path(file)
    second = first.with_name(CHAPTERS_FILE)
    if first == second:
        raise ValueError(f"{first} is the name of the second page; give the first page another name.")
    pages = report_pages(read_studies(results), first)
    write_whole(first, pages.verdicts.encode())
    write_whole(second, pages.chapters.encode())
    return first, second


def write_report(results: str | Path = "results", out: str | Path | None = None) -> Written:
    """Turn a results folder into ``report.html`` and ``report.md``.

    Parameters
    ----------
    results
        The folder that `hippozoo reproduce` wrote.
    out
        Folder of the two files; by default the results folder itself.

    Examples
    --------
    >>> write_report("no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hippozoo_studies.report.studies.NoResultsError: there is no folder no/such/folder; ...
    """
    studies = read_studies(results)
    folder = Path(results if out is None else out)
    text = report_text(studies, beside=folder)
    make_folder(folder)
    written = Written(folder / "report.html", folder / "report.md")
    write_whole(written.markdown, text.encode())
    write_whole(written.page, render_page(text, folder, Path(results)).encode())
    return written
