"""One verdict for each sentence of the paper, put together from everything that was measured about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hippozoo_studies import Verdict
from hippozoo_studies.report.studies import Study

__all__ = ["Finding", "Sentence", "first_sentence", "joint_verdict", "sentences", "verdict_of"]


@dataclass(frozen=True)
class Finding:
    """One thing that was measured about a sentence.

    Parameters
    ----------
    study
        The experiment.
    claim, verdict, evidence
        What was asked, what came out, and the numbers.
    """

    study: str
    claim: str
    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Sentence:
    """The paper's words, and what becomes of them.

    Parameters
    ----------
    quote
        The paper's words; where there are none, the claim itself.
    readings
        All that was measured about it.
    quoted
        Whether these are the paper's own words.
    """

    quote: str
    readings: tuple[Finding, ...]
    quoted: bool = True

    @property
    def verdict(self) -> Verdict:
        """What all readings together say."""
        return joint_verdict([one.verdict for one in self.readings])

    @property
    def studies(self) -> list[str]:
        """The experiments that speak about it."""
        return list(dict.fromkeys(one.study for one in self.readings))


def verdict_of(claim: Mapping[str, Any]) -> Verdict:
    """The verdict of one claim; results from before there were four words have only `holds`.

    Examples
    --------
    >>> verdict_of({"claim": "it fails", "holds": False, "evidence": ""})
    'does not hold'
    """
    plain: Verdict = "cannot be told" if claim["holds"] is None else "holds" if claim["holds"] else "does not hold"
    return claim.get("verdict") or plain


def joint_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """One word for several: the same if all agree; what cannot be told stays open unless something speaks against it.

    Examples
    --------
    >>> joint_verdict(["holds", "does not hold"]), joint_verdict(["holds", "cannot be told"])
    ('holds in part', 'cannot be told')
    """
    kinds = set(verdicts)
    if len(kinds) == 1:
        return kinds.pop()
    return "cannot be told" if kinds == {"holds", "cannot be told"} else "holds in part"


def sentences(studies: Iterable[Study]) -> list[Sentence]:
    """Every sentence that some study speaks about, once, in the order of the studies.

    Quick runs say nothing: they show that an experiment runs.
    """
    readings: dict[tuple[str, bool], list[Finding]] = {}
    for study in studies:
        if study.document["quick"]:
            continue
        for claim in study.document["claims"]:
            quote = claim.get("quote", "")
            key = (quote, True) if quote else (claim["claim"], False)
            reading = Finding(study.name, claim["claim"], verdict_of(claim), claim["evidence"])
            readings.setdefault(key, []).append(reading)
    return [Sentence(quote, tuple(found), quoted) for (quote, quoted), found in readings.items()]


def first_sentence(text: str) -> str:
    """The beginning of a text, up to its first full stop.

    Examples
    --------
    >>> first_sentence("It holds at ridge 0.01 only. Errors: 0.1 against 0.2.")
    'It holds at ridge 0.01 only.'
    """
    return re.split(r"(?<!Assoc\.)(?<=[.!?]) (?=[A-Z])", text.strip(), maxsplit=1)[0]
