"""Tables as Markdown, which people, GitHub and `hippozoo report` read alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""A table; a bar in a cell is escaped, and a line break becomes a space.

    Examples
    --------
    >>> print(markdown_table(["model", "error"], [["linear", 0.5], ["a|b", ""]]))
    | model | error |
    |---|---|
    | linear | 0.5 |
    | a\|b |  |
    """
    lines = [_row(header), "|" + "---|" * len(header)]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def _row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(' '.join(str(cell).split()).replace('|', chr(92) + '|') for cell in cells)} |"


def spread_text(found: Mapping[str, Any], form: str = ".3g", factor: float | int = 1) -> str:
    """Mean and standard error of a number over seeds.

    Examples
    --------
    >>> spread_text({"mean": 0.321, "sem": 0.0123}, ".1f", 100)
    '32.1 ± 1.2'
    >>> spread_text({"mean": 2.0, "sem": None})
    '2'
    """
    about = "" if found.get("sem") is None else f" ± {format(factor * found['sem'], form)}"
    return f"{format(factor * found['mean'], form)}{about}"
