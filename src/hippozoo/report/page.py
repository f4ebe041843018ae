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
from hippozoo.report.text import heading_anchor

__all__ = ["render_page"]

_STYLE = """
:root{color-scheme:light;--ink:#1c2126;--line:#d9dee3;--soft:#f5f7f9}
body{font:16px/1.55 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1.25rem;color:var(--ink)}
h1{font-size:2rem}h2{margin-top:2.6rem;border-top:1px solid var(--line);padding-top:1.2rem}
img{max-width:100%;height:auto}em{color:#4a545e}blockquote{background:#fff6df;margin:1rem 0;padding:.6rem 1rem}
.table{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.88rem;line-height:1.4}
th,td{border-bottom:1px solid var(--line);padding:.4rem .8rem .4rem 0;text-align:left;vertical-align:top}
th{background:var(--soft)}td:first-child{min-width:15rem}code{background:var(--soft);padding:.1rem .3rem}
strong.holds{color:#11653a}strong.part{color:#8a5a00}strong.not{color:#a3231d}strong.open{color:#4a545e}
td:has(strong.holds,strong.part,strong.not,strong.open){white-space:nowrap}
@media print{body{max-width:none}}
"""
_CLASSES = {"holds in part": "part", "does not hold": "not", "cannot be told": "open", "holds": "holds"}


def render_page(text: str, beside: Path) -> str:
    r"""The page of a report's Markdown; pictures are found as seen from the folder `beside`.

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
    body = re.sub(r'<img src="([^"]*)"', lambda found: f'<img src="{_inline(found[1], beside)}"', body)
    body = body.replace("<table>", '<div class="table" tabindex="0"><table>').replace("</table>", "</table></div>")
    for verdict, name in _CLASSES.items():
        body = body.replace(f"<strong>{verdict}</strong>", f'<strong class="{name}">{verdict}</strong>')
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What holds: the HiPPO Zoo, built and run anew</title><style>{_STYLE}</style></head>
<body><main>
{body}</main>
<footer><p>Written by hippozoo {escape(__version__)} with <code>hippozoo report</code>.</p></footer></body></html>
"""


def _inline(link: str, beside: Path) -> str:
    """A picture as a data address, with 256 colours, which halves the page; one that is gone stays a link."""
    from PIL import Image, UnidentifiedImageError

    path, content = beside / unquote(link), io.BytesIO()
    try:
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(256).save(content, "PNG", optimize=True)
    except (OSError, UnidentifiedImageError):
        return link
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
