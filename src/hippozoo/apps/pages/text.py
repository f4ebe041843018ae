"""Text from foreign files inside a page: always shown as it is, never taken for HTML or script."""

from __future__ import annotations

import json
from html import escape
from typing import Any

__all__ = ["json_for_script", "shown"]


def shown(text: object) -> str:
    """HTML that shows this text as it is, also angle brackets, quotes and line ends.

    Examples
    --------
    >>> shown('<b>"load"</b>')
    '&lt;b&gt;&quot;load&quot;&lt;/b&gt;'
    """
    return escape(str(text), quote=True)


def json_for_script(value: Any) -> str:
    r"""JSON that may stand inside a script element: no text in it can end the element.

    Examples
    --------
    >>> json_for_script({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in ("<", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
