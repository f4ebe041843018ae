"""The page of the tour: one HTML file that needs no network; its pictures lie beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import hippozoo
from hippozoo.apps.pages import Page
from hippozoo.apps.tour.measured import CODE
from hippozoo.apps.tour.section import Section, Table
from hippozoo.apps.tour.sliders import Sliders

__all__ = ["Shown", "docs_link", "render_page"]


@dataclass(frozen=True)
class Shown:
    """A section that has been run: what the page needs to know of it."""

    section: Section
    anchor: str
    light: str
    dark: str
    size: tuple[int, int]
    caption: str
    alt: str
    table: Table | None
    sliders: Sliders | None = None


_OPENING = """<header>
<p>hippozoo keeps the past of a stream as a few coefficients in a basis of orthogonal functions. At any moment they can
be turned back into the past they stand for. So one sees what is remembered, and how well.</p>
<p>Each section asks one question and answers it with one picture. The code below a picture made it: it ran when this
page was written, and it runs when pasted into Python. All data are synthetic, made from seeds by
<code>hippozoo.apps.tour.signals</code>.</p>
</header>"""


def render_page(shown: Sequence[Shown], folder: Path | None = None, machine: Table | None = None) -> Page:
    """The whole page.

    Parameters
    ----------
    shown
        The sections.
    folder
        Where the page will lie; links to the docs start from there.
    machine
        What was measured on this machine, if it was.

    Examples
    --------
    >>> render_page([]).html().startswith("<!doctype html>")
    True
    """
    page = Page("A tour of hippozoo", pictures_beside=True)
    page.add_style((Path(__file__).parent / "tour.css").read_text(encoding="utf-8"))
    page.add(_OPENING)
    entries = [(one.anchor, one.section.title) for one in shown]
    entries += [("this-machine", "On this machine")] if machine is not None else []
    contents = "\n".join(f'<li><a href="#{anchor}">{escape(title)}</a></li>' for anchor, title in entries)
    page.add(f'<nav aria-label="Contents"><ol>\n{contents}\n</ol></nav>\n<main>')
    for one in shown:
        _add_section(page, one, Path() if folder is None else folder)
    if machine is not None:
        page.add(
            '<section id="this-machine"><p class="title">On this machine</p>'
            "<h2>Is it right here too, and how fast is it?</h2>"
            "<p>Measured on the machine that wrote this page, while it was writing. Times are the best of three.</p>"
            f"{render_table(machine)}{render_code('', CODE, 'this-machine')}</section>"
        )
    page.add(
        f"</main>\n<footer><p>Written by hippozoo {escape(hippozoo.__version__)} with <code>hippozoo tour</code>. "
        "<code>hippozoo explore</code> lets you play with all of it.</p></footer>"
    )
    return page


def _add_section(page: Page, one: Shown, folder: Path) -> None:
    """Question, picture, caption, table and code of one section."""
    width, height = one.size
    page.add(
        f'<section id="{one.anchor}"><p class="title">{escape(one.section.title)}</p>'
        f"<h2>{escape(one.section.question)}</h2>\n<figure>"
        f'<img class="light" src="{one.light}" width="{width}" height="{height}" alt="{escape(one.alt)}">'
        f'<img class="dark" src="{one.dark}" width="{width}" height="{height}" alt="{escape(one.alt)}">'
        f"<figcaption>{typeset(one.caption)}</figcaption></figure>"
    )
    if one.sliders is not None:
        page.add("<h3>Try it</h3>")
        one.sliders.add_to(
            page, one.anchor, f"Interactive: {one.section.title}, at an order and timescale of your choice"
        )
    page.add(
        (render_table(one.table) if one.table else "")
        + render_code(one.section.setup, one.section.code, one.anchor)
        + _read_on(one.section.read_on, folder)
        + "</section>"
    )


def _read_on(name: str | None, folder: Path) -> str:
    if name is None:
        return ""
    link, title = docs_link(name, folder), f"docs/{name}.md"
    linked = f'<a href="{escape(link)}">{title}</a>' if link else f"<code>{title}</code>"
    return f'\n<p class="quiet">Read on: {linked}.</p>'


def docs_link(name: str, folder: Path) -> str | None:
    """From a folder to a page of the docs, built or not; None where hippozoo was installed without them.

    Examples
    --------
    >>> docs_link("no-such-page", Path("."))
    """
    root = Path(hippozoo.__file__).parents[2]
    for page in (root / "site" / f"{name}.html", root / "docs" / f"{name}.md"):
        if page.is_file():
            return Path(os.path.relpath(page, folder.resolve())).as_posix()
    return None


def render_code(setup: str, code: str, name: str) -> str:
    """The listing: what was imported in a quieter voice, then the lines that matter; and a button that copies all."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer, formatter = PythonLexer(), HtmlFormatter(nowrap=True)
    before = highlight(setup.strip(), lexer, formatter).rstrip() if setup.strip() else ""
    lines = highlight(code.strip(), lexer, formatter).rstrip()
    quiet = f'<span class="setup">{before}</span>\n\n' if before else ""
    return (
        f'\n<div class="listing"><button type="button" class="copy" data-text="{name}-code">Copy code</button>'
        f'<pre tabindex="0" aria-label="The code that was run"><code id="{name}-code">{quiet}{lines}</code></pre></div>'
    )


def render_table(table: Table) -> str:
    """The table in a box that scrolls on a narrow screen instead of widening the page."""
    header = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "\n".join(
        f'<tr><th scope="row">{typeset(first)}</th>' + "".join(f"<td>{typeset(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in table.rows
    )
    return (
        '\n<div class="wide" tabindex="0" role="region" aria-label="Table"><table>'
        f"<thead><tr>{header}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def typeset(text: str) -> str:
    r"""Escaped for HTML, with powers of ten as one writes them and names that do not break across lines.

    Examples
    --------
    >>> typeset("Leg-T: 2e-14 < 1")
    'Leg‑T: 2\xa0×\xa010<sup>−14</sup> &lt; 1'
    """
    text = re.sub(r"\b(Leg|Lag|Fou)-([ST])\b", "\\1\u2011\\2", escape(text))
    return re.sub(r"\b(\d(?:\.\d+)?)e-0?(\d+)\b", "\\1\xa0×\xa010<sup>−\\2</sup>", text)
