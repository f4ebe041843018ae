"""The report as one HTML file that needs no network: its pictures are inside."""

from __future__ import annotations

import base64
import io
import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt

from hippozoo import __version__
from hippozoo.apps.pages import Page
from hippozoo_studies.report.chapters import heading_anchor

__all__ = ["render_page"]

# Beside the look of all pages: verdicts have colours that can be read on light and on dark paper.
_STYLE = """
body{max-width:72rem}
:root{--good:#11653a;--part:#8a5a00;--bad:#a3231d;--open:#4a545e;--soft:#f5f7f9;--note:#fff6df}
@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){DARK}}
@media screen{:root[data-theme=dark]{DARK}}
h2{margin-top:2.6rem;border-top:1px solid var(--faint);padding-top:1.2rem}
img{max-width:100%;height:auto;background:#fff}em{opacity:.85}
blockquote{background:var(--note);margin:1rem 0;padding:.6rem 1rem}
.wide table{font-size:.88rem;line-height:1.4}
.wide th,.wide td{padding:.4rem .8rem .4rem 0;overflow-wrap:normal}th{background:var(--soft)}
td:first-child{min-width:15rem}code{background:var(--soft);padding:.1rem .3rem;overflow-wrap:anywhere}
strong.holds{color:var(--good)}strong.part{color:var(--part)}strong.not{color:var(--bad)}strong.open{color:var(--open)}
td:has(strong.holds,strong.part,strong.not,strong.open){white-space:nowrap}
@media print{body{max-width:none}.theme{display:none}}
""".replace("DARK", "--good:#5fd39a;--part:#e8b23a;--bad:#ff8f86;--open:#a3adb7;--soft:#1e242b;--note:#3a3116")
_CLASSES = {"holds in part": "part", "does not hold": "not", "undecided": "open", "holds": "holds"}


def render_page(text: str, beside: Path, within: Path | None = None) -> str:
    r"""The page of a report's Markdown; pictures are found as seen from the folder `beside`.

    Parameters
    ----------
    text
        Markdown; the results it speaks of may come from anyone.
    beside
        What links are relative to.
    within
        Pictures outside of this folder are not taken in, and none is fetched; `beside` by default.

    Examples
    --------
    >>> '<strong class="not">does not hold</strong>' in render_page("**does not hold**", Path("."))
    True
    """
    # No HTML of a results folder gets through.
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    body = re.sub(
        r"<h2>(.*?)</h2>", lambda found: f'<h2 id="{heading_anchor(unescape(found[1]))}">{found[1]}</h2>', body
    )
    inside = (beside if within is None else within).resolve()
    body = re.sub(r'<img src="([^"]*)" alt="([^"]*)"[^>]*>', lambda found: _picture(found, beside, inside), body)
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
    for verdict, name in _CLASSES.items():
        body = body.replace(f"<strong>{verdict}</strong>", f'<strong class="{name}">{verdict}</strong>')
    # The page has a heading of its own.
    body = re.sub(r"<h1>.*?</h1>", "", body, count=1)
    page = Page("What holds: the HiPPO Zoo reimplemented and rerun")
    page.add_style(_STYLE)
    page.add(f"<main>\n{body}</main>")
    page.add(f"<footer><p>Written by hippozoo {escape(__version__)} with <code>hippozoo report</code>.</p></footer>")
    return page.html()


def _picture(found: re.Match[str], beside: Path, inside: Path) -> str:
    """A picture as a data address, with 256 colours, which halves the page; its words where it cannot be taken in."""
    from PIL import Image, UnidentifiedImageError

    path, content = (beside / unquote(unescape(found[1]))).resolve(), io.BytesIO()
    try:
        if not path.is_relative_to(inside):
            raise FileNotFoundError(path)
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(256).save(content, "PNG", optimize=True)
    except (OSError, ValueError, UnidentifiedImageError):
        return f"<em>(no picture: {found[2] or found[1]})</em>"
    return f'<img src="data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}" alt="{found[2]}">'
