"""Claims as rows of a table: whose words, which numbers, what must be true of them, and how to say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hippozoo_studies.framework.protocol import Claim

__all__ = ["Asked", "Share", "answers", "listed"]


class Asked(NamedTuple):
    """One row.

    Parameters
    ----------
    claim
        What is asked, in words.
    quote
        The paper's own words; empty where the claim is ours.
    numbers
        From what `answers` is given to the numbers by name; None where they are not there yet.
    predicate
        From the numbers to whether it holds: a bool, one for each part, or None where it cannot be told.
    sentence
        The evidence. Names in braces, here and in the claim, stand for the numbers.
    """

    claim: str
    quote: str
    numbers: Callable[..., Mapping[str, Any] | None]
    predicate: Callable[[Mapping[str, Any]], bool | Sequence[bool] | None]
    sentence: str


def answers(table: Iterable[Asked], *given: Any) -> list[Claim]:
    """The claims of a table, as far as their numbers are there.

    Parameters
    ----------
    table
        The rows.
    given
        Handed to `Asked.numbers`: the metrics, and what else the study has.

    Examples
    --------
    >>> row = Asked("it falls", "", lambda m: m, lambda n: n["late"] < n["early"], "From {early:.1f} to {late:.1f}.")
    >>> answers([row], {"early": 2.0, "late": 1.0})[0].evidence
    'From 2.0 to 1.0.'
    """
    found = []
    for row in table:
        numbers = row.numbers(*given)
        if numbers is None:
            continue
        words, evidence = (text.format_map(numbers) for text in (row.claim, row.sentence))
        held = row.predicate(numbers)
        if held is None or isinstance(held, bool):
            found.append(Claim(words, held, evidence, quote=row.quote))
        else:
            found.append(Claim.judged(words, list(held), evidence, row.quote))
    return found


class Share(NamedTuple):
    """An accuracy over seeds, in per cent; as text, "72.6 ± 1.6 %".

    Examples
    --------
    >>> f"{Share(72.61, 1.62, [71.0, 74.2])}", f"{Share(72.61, None, [72.61]):mean}"
    ('72.6 ± 1.6 %', '72.6')
    """

    mean: float
    sem: float | None
    seeds: Sequence[float]

    def __format__(self, form: str) -> str:
        if form == "mean":
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f}{'' if self.sem is None else f' ± {self.sem:.1f}'} %"


def listed(texts: Iterable[str]) -> str:
    """Items as a sentence has them.

    Examples
    --------
    >>> listed(["one", "two", "three"]), listed(["one"])
    ('one, two and three', 'one')
    """
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last
