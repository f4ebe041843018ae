"""Run every section, draw its picture, and write the page: one HTML file that needs no network."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

import hippozoo
from hippozoo._internal.files import make_folder
from hippozoo.apps.pages import Page
from hippozoo.apps.tour.measured import CODE, measure_machine
from hippozoo.apps.tour.section import Section, Table, discover_sections, run_section
from hippozoo.plotting import style, write_figure

__all__ = ["render_tour", "write_tour"]

WIDTH = 5.6  # inches: text of 10 points is then legible on a phone and not clumsy on a desk
_OPENING = """<header>
<p>hippozoo keeps the past of a stream as a few coefficients in a basis of orthogonal functions. At any moment they can
be turned back into the past they stand for. So one sees what is remembered, and how well.</p>
<p>Each section asks one question and answers it with one picture. The code below a picture made it: it ran when this
page was written, and it runs when pasted into Python. All data are synthetic, made from seeds by
<code>hippozoo.apps.tour.signals</code>.</p>
</header>"""


def write_tour(
    folder: Path | str,
    report: Callable[[str], None] | None = None,
    sections: Sequence[Section] | None = None,
) -> Path:
    """Run the tour and write ``index.html`` and its pictures into `folder`; gives the path of the page.

    Parameters
    ----------
    folder
        Made if it does not exist. Files of other names in it are left alone.
    report
        Called with one line of text after each section.
    sections
        Which ones to show; all of them unless told otherwise.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_tour(folder, sections=[])
    ...     page.name
    'index.html'
    """
    folder = make_folder(folder)
    chosen = discover_sections() if sections is None else list(sections)
    # The page appears when everything it shows is there.
    page = render_tour(chosen, folder, machine=sections is None, report=report or (lambda line: None))
    return page.write(folder / "index.html")


def render_tour(
    sections: Sequence[Section], folder: Path, *, machine: bool, report: Callable[[str], None] = lambda line: None
) -> Page:
    """The page, its pictures written below `folder`; `machine` adds what this machine does."""
    page = Page("A tour of hippozoo", pictures_beside=True)
    page.add_style((Path(__file__).parent / "tour.css").read_text(encoding="utf-8"))
    page.add(_OPENING)
    entries = [(_anchor(one), one.title) for one in sections]
    entries += [("this-machine", "On this machine")] if machine else []
    contents = "\n".join(f'<li><a href="#{anchor}">{escape(title)}</a></li>' for anchor, title in entries)
    page.add(f'<nav aria-label="Contents"><ol>\n{contents}\n</ol></nav>\n<main>')
    make_folder(folder / "pictures")
    for number, section in enumerate(sections, start=1):
        began = time.perf_counter()
        try:
            _add_section(page, section, folder)
        except Exception as error:
            raise RuntimeError(
                f"section {number} of the tour, {section.title!r}, failed: {type(error).__name__}: {error}"
            ) from error
        report(f"{number}/{len(sections)}  {section.title}: {time.perf_counter() - began:.1f} s")
    if machine:
        page.add(
            '<section id="this-machine"><p class="title">On this machine</p>'
            "<h2>Is it right here too, and how fast is it?</h2>"
            "<p>Measured on the machine that wrote this page, while it was writing. Times are the best of three.</p>"
            f"{_table(measure_machine())}{_listing('', CODE, 'this-machine')}</section>"
        )
    page.add(
        f"</main>\n<footer><p>Written by hippozoo {escape(hippozoo.__version__)} with <code>hippozoo tour</code>. "
        "<code>hippozoo explore</code> lets you play with all of it.</p></footer>"
    )
    return page


def _anchor(section: Section) -> str:
    return re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")


def _add_section(page: Page, section: Section, folder: Path) -> None:
    """Run one section: question, picture for light and for dark pages, caption, sliders, table and code."""
    names, anchor = run_section(section), _anchor(section)
    numbers = dict(section.measure(names))
    width, height, alt = round(96 * WIDTH), round(96 * section.height), escape(section.alt.format(**numbers))
    page.add(
        f'<section id="{anchor}"><p class="title">{escape(section.title)}</p>'
        f"<h2>{escape(section.question)}</h2>\n<figure>"
    )
    for theme in ("light", "dark"):
        place = f"pictures/{anchor}-{theme}.svg"
        with style(dark=theme == "dark"):
            figure = Figure(figsize=(WIDTH, section.height), layout="constrained")
            section.draw(names, figure)
            # Without a date the same tour gives the same bytes.
            write_figure(figure, folder / place, metadata={"Date": None})
        page.add(f'<img class="{theme}" src="{place}" width="{width}" height="{height}" alt="{alt}">')
    page.add(f"<figcaption>{typeset(section.caption.format(**numbers))}</figcaption></figure>")
    if section.sliders is not None:
        page.add("<h3>Try it</h3>")
        alternative = f"Interactive: {section.title}, at an order and timescale of your choice"
        section.sliders(names).add_to(page, anchor, alternative)
    page.add(
        (_table(section.table(names)) if section.table else "")
        + _listing(section.setup, section.code, anchor)
        + _read_on(section.read_on, folder)
        + "</section>"
    )


def _read_on(name: str | None, folder: Path) -> str:
    """A link to a page of the docs, built or not; only its name where hippozoo was installed without them."""
    if name is None:
        return ""
    root, linked = Path(hippozoo.__file__).parents[2], f"<code>docs/{name}.md</code>"
    for page in (root / "docs" / f"{name}.md", root / "site" / f"{name}.html"):
        if page.is_file():
            link = Path(os.path.relpath(page, folder.resolve())).as_posix()
            linked = f'<a href="{escape(link)}">docs/{name}.md</a>'
    return f'\n<p class="quiet">Read on: {linked}.</p>'


def _listing(setup: str, code: str, name: str) -> str:
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


def _table(table: Table) -> str:
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
