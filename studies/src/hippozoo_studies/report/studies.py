"""Reading a results folder: one study for each NAME/metrics.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from hippozoo_studies import Departure, Verdict, load, names

__all__ = ["NoResultsError", "Study", "read_studies"]

_NEEDED = {"name": str, "quick": bool, "metrics": dict, "claims": list, "seconds": (int, float), "versions": dict}
_OPTIONAL = {"seeds": list, "units_missing": int}
#: In the order of the paper; what is not named here follows.
ORDER = (
    "volterra",
    "cubic-kernels",
    "system-identification",
    "unnamed-systems",
    "selective-copying",
    "salience-start",
    "associative-recall",
    "multi-query-recall",
    "memory-tasks",
    "recall-scaling",
    "multiscale",
    "forecasting",
    "long-term-forecasting",
    "m4",
    "alarms",
    "nab",
    "digits",
    "wikitext",
    "salience-vs-mamba",
    "hybrids",
    "microscope",
    "psmnist",
    "irregular",
    "learnt-windows",
)


class NoResultsError(ValueError):
    """The folder is missing, empty, or no results folder."""


class ForeignResultError(NoResultsError):
    """A metrics.json that something else has written."""


@dataclass(frozen=True)
class Study:
    """One experiment's results.

    Parameters
    ----------
    name
        As `hippozoo reproduce` takes it.
    folder
        Where its files are.
    document
        What stands in metrics.json.
    figures
        Its pictures as PNG, by name.
    table
        What stands in table.md; empty without one.
    """

    name: str
    folder: Path
    document: dict[str, Any]
    figures: tuple[Path, ...]
    table: str

    @property
    def is_ours(self) -> bool:
        """Whether `hippozoo reproduce` knows it here."""
        return self.name in names()

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where it does otherwise than the paper; none for experiments that are not here."""
        return tuple(getattr(load(self.name).module, "DEPARTURES", ())) if self.is_ours else ()


def read_studies(results: str | Path) -> list[Study]:
    """All studies of a results folder, in the order of the paper; what something else has written there is left out.

    Parameters
    ----------
    results
        The folder that `hippozoo reproduce --out` was given.

    Examples
    --------
    >>> read_studies("no/such/folder")
    Traceback (most recent call last):
    hippozoo_studies.report.studies.NoResultsError: there is no folder no/such/folder; run hippozoo reproduce all \
--out no/such/folder first, or name the folder that holds your results.
    """
    folder = Path(results)
    if not folder.is_dir():
        what = "is a file, no folder" if folder.exists() else ""
        raise NoResultsError(
            (f"{folder} {what}" if what else f"there is no folder {folder}")
            + f"; run hippozoo reproduce all --out {folder} first, or name the folder that holds your results."
        )
    found, foreign = [], []
    for path in sorted(folder.glob("*/metrics.json")):
        try:
            found.append(_study(path))
        except ForeignResultError as error:  # other studies may lie beside ours
            foreign.append(error)
    if foreign and not found:
        raise foreign[0]
    if not found:
        one = " It looks like the folder of one experiment; name the one above it." if _is_one(folder) else ""
        raise NoResultsError(
            f"{folder} holds no results: there is no NAME/metrics.json in it.{one} hippozoo reproduce NAME writes them."
        )
    places = {name: place for place, name in enumerate(ORDER)}
    return sorted(found, key=lambda study: (places.get(study.name, len(places)), study.name))


def _is_one(folder: Path) -> bool:
    return (folder / "metrics.json").is_file()


def _study(path: Path) -> Study:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoResultsError(f"{path} cannot be read ({error}); run its experiment again, or delete it.") from None
    if not isinstance(document, dict):
        raise ForeignResultError(
            f"{path} holds a {type(document).__name__}, no result of hippozoo reproduce; move it away."
        )
    wrong = [key for key, kind in _NEEDED.items() if not isinstance(document.get(key), kind)]
    if wrong:
        raise ForeignResultError(
            f"{path} is no result of hippozoo reproduce: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} "
            "missing or of another kind; move it away, or name another folder."
        )
    damaged = [key for key, kind in _OPTIONAL.items() if not isinstance(document.get(key, kind()), kind)]
    damaged += [] if isfinite(document["seconds"]) else ["seconds"]
    if damaged:
        raise NoResultsError(f"{path} is damaged: {damaged[0]} is {document[damaged[0]]!r}; run its experiment again.")
    for number, claim in enumerate(document["claims"]):
        wrong = "no object" if not isinstance(claim, dict) else _wrong_in(claim)
        if wrong:
            raise NoResultsError(f"{path} is damaged: claim {number} has {wrong}; run its experiment again.")
    table = path.with_name("table.md")
    return Study(
        name=path.parent.name,
        folder=path.parent,
        document=document,
        figures=tuple(sorted(path.parent.glob("*.png"))),
        table=_text_of(table) if table.is_file() else "",
    )


def _wrong_in(claim: dict[str, Any]) -> str:
    """What of a claim is missing or of another kind; nothing where all is well."""
    kinds = {"claim": str, "evidence": str, "quote": str, "holds": bool | None}
    defaults = {"quote": ""}
    for key, kind in kinds.items():
        if key not in claim and key not in defaults:
            return f"no {key}"
        if not isinstance(claim.get(key, defaults.get(key)), kind):
            return f"{key} {claim[key]!r}"
    verdict = claim.get("verdict")
    return "" if verdict is None or verdict in get_args(Verdict) else f"verdict {verdict!r}"


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoResultsError(f"{path} cannot be read ({error}); run its experiment again, or delete it.") from None
