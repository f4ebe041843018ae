"""Numbers beside a picture: a table that can be read aloud, scrolled and copied into a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hippozoo.apps.pages.text import shown

__all__ = ["copyable_table"]


def copyable_table(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]], *, name: str) -> str:
    """HTML of a table with a button that copies it, cells separated by tabs.

    Parameters
    ----------
    caption
        What the numbers are.
    head, rows
        The names of the columns, and the cells; the first cell of a row names it.
    name
        The id of the table in its page.

    Examples
    --------
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
