"""The page of the tour: one HTML file that needs no network and no script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from hippozoo import __version__
from hippozoo.tour._look import CSS
from hippozoo.tour.section import Section, Table

__all__ = ["Shown", "render_page"]


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


def render_page(shown: Sequence[Shown]) -> str:
    """The whole page as text.

    Examples
    --------
    >>> render_page([]).startswith("<!doctype html>")
    True
    """
    contents = "\n".join(f'      <li><a href="#{one.anchor}">{escape(one.section.title)}</a></li>' for one in shown)
    sections = "\n".join(render_section(one) for one in shown)
    return f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>A tour of hippozoo</title>
  <style>{CSS}  </style>
</head>
<body>
  <header>
    <h1>A tour of hippozoo</h1>
    <p>hippozoo keeps the past of a stream as a few coefficients in a basis of orthogonal functions. At any
    moment they can be turned back into the past they stand for, so one sees what is remembered, and how
    well.</p>
    <p>Each section asks one question and answers it with one picture. The code below a picture is the code
    that made it: it ran when this page was written, and it runs when pasted into Python. All data are
    synthetic, made from seeds by <code>hippozoo.tour.signals</code>.</p>
  </header>
  <nav aria-label="Contents">
    <ol>
{contents}
    </ol>
  </nav>
  <main>
{sections}
  </main>
  <footer>
    <p>Written by hippozoo {escape(__version__)} with <code>hippozoo tour</code>.</p>
  </footer>
</body>
</html>
"""


def render_section(one: Shown) -> str:
    """Question, picture, caption, table and code of one section."""
    width, height = one.size
    return f"""    <section id="{one.anchor}">
      <p class="title">{escape(one.section.title)}</p>
      <h2>{escape(one.section.question)}</h2>
      <figure>
        <img class="light" src="{one.light}" width="{width}" height="{height}" alt="{escape(one.alt)}">
        <img class="dark" src="{one.dark}" width="{width}" height="{height}" alt="{escape(one.alt)}">
        <figcaption>{typeset(one.caption)}</figcaption>
      </figure>
{render_table(one.table) if one.table else ""}{render_code(one.section)}
    </section>"""


def render_code(section: Section) -> str:
    """The listing: what was imported in a quieter voice, then the lines that matter."""
    lexer, formatter = PythonLexer(), HtmlFormatter(nowrap=True)
    setup = highlight(section.setup.strip(), lexer, formatter).rstrip()
    code = highlight(section.code.strip(), lexer, formatter).rstrip()
    return (
        '      <pre tabindex="0" aria-label="The code that was run">'
        f'<code><span class="setup">{setup}</span>\n\n{code}</code></pre>'
    )


def render_table(table: Table) -> str:
    """The table in a box that scrolls on a narrow screen instead of widening the page."""
    header = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "\n".join(
        f'          <tr><th scope="row">{typeset(first)}</th>'
        + "".join(f"<td>{typeset(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in table.rows
    )
    return f"""      <div class="table" tabindex="0" role="region" aria-label="Table">
        <table>
          <thead><tr>{header}</tr></thead>
          <tbody>
{rows}
          </tbody>
        </table>
      </div>
"""


def typeset(text: str) -> str:
    r"""Escaped for HTML, with powers of ten as one writes them and names that do not break across lines.

    Examples
    --------
    >>> typeset("Leg-T: 2e-14 < 1")
    'Leg‑T: 2\xa0×\xa010<sup>−14</sup> &lt; 1'
    """
    text = re.sub(r"\b(Leg|Lag|Fou)-([ST])\b", "\\1\u2011\\2", escape(text))
    return re.sub(r"\b(\d(?:\.\d+)?)e-0?(\d+)\b", "\\1\xa0×\xa010<sup>−\\2</sup>", text)
