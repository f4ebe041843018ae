"""Text from foreign files inside a page: always shown as it is, never taken for HTML or script; also in tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["copyable_table", "json_for_script", "shown"]


def shown(text: object) -> str:
    """HTML that shows this text as it is, also angle brackets, quotes and line ends.

    >>> shown('<b>"load"</b>')
    '&lt;b&gt;&quot;load&quot;&lt;/b&gt;'
    """
    return escape(str(text), quote=True)


def json_for_script(value: Any) -> str:
    r"""JSON that may stand inside a script element: no text in it can end the element.

    >>> json_for_script({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in ("<", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def copyable_table(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]], *, name: str) -> str:
    """HTML of a table with a button that copies it, cells separated by tabs; the first cell of a row names it.

    >>> "&lt;load&gt;" in copyable_table("Next values", ["column", "mean"], [["<load>", 3]], name="next")
    True
    """
    names = "".join(f'<th scope="col">{shown(one)}</th>' for one in head)
    body = "".join(
        f'<tr><th scope="row">{shown(first)}</th>' + "".join(f"<td>{shown(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="table"><button type="button" class="copy" data-table="{shown(name)}">Copy table</button>'
        f'<div class="scroll" tabindex="0"><table id="{shown(name)}"><caption>{shown(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )
