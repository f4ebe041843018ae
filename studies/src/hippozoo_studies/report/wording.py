"""The words of the page: verdicts as shown, and clauses that rows share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase

from hippozoo_studies import Verdict

__all__ = ["VERDICTS", "share_clauses", "show_verdict"]

#: Stored verdict -> singular and plural on the page.
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "cannot be told": ("undecided", "undecided"),
}


def show_verdict(verdict: Verdict, count: int = 1) -> str:
    """A stored verdict in the words of the page.

    Examples
    --------
    >>> show_verdict("cannot be told"), show_verdict("holds", 3)
    ('undecided', 'hold')
    """
    return VERDICTS[verdict][count != 1]


def share_clauses(reasons: Sequence[str], at_least: int = 3) -> tuple[list[str], list[str]]:
    """Take clauses that several reasons repeat out of them, so that a note above the table says each once.

    Parameters
    ----------
    reasons
        One for each row.
    at_least
        How many rows must share a clause.

    Returns
    -------
    The notes, each with its letter, and the reasons, which cite them by letter.

    Examples
    --------
    >>> share_clauses([f"Row {n} has {n} %; measured with one seed on this machine." for n in (1, 2, 3)])[0]
    ['(a) Measured with one seed on this machine.']
    """
    left, cited, notes = list(reasons), [""] * len(reasons), []
    for pattern in (_ENDING, _BRACKETS, _OPENING):
        for clause, rows in _repeated(pattern, left, at_least).items():
            letter = ascii_lowercase[len(notes)]
            notes.append(f"({letter}) {clause[:1].upper()}{clause[1:]}.")
            for row in rows:
                left[row] = pattern.sub(lambda found: found["kept"], left[row], count=1)
                left[row] = left[row][:1].upper() + left[row][1:]
                cited[row] += f", {letter}" if cited[row] else letter
    return notes, [f"{text} ({letters})" if letters else text for text, letters in zip(left, cited, strict=True)]


# The last clause of a text, what brackets at the end of a statement add, and what precedes the statement.
_ENDING = re.compile(r"; (?P<clause>(?:[^;()]|\([^()]*\)){25,})(?P<kept>\.)$")
_BRACKETS = re.compile(r" \((?P<clause>[^()]{25,})\)(?P<kept>)(?=[.;]|$)")
_OPENING = re.compile(r"^(?P<kept>)(?P<clause>On [^.;]{25,}?), (?=(a|the|at|no) )")


def _repeated(pattern: re.Pattern[str], texts: Iterable[str], at_least: int) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        found = pattern.search(text)
        if found:
            rows.setdefault(found["clause"], []).append(row)
    often = Counter({clause: len(some) for clause, some in rows.items() if len(some) >= at_least})
    return {clause: rows[clause] for clause, _ in often.most_common()}
