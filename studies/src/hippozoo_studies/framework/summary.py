"""A result as a person reads it: ours beside the paper's, and which claims hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hippozoo_studies.framework.duration import duration_text

ROWS = 40


def leaves(metrics: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each number of a nest, with its path and as text.

    Examples
    --------
    >>> list(leaves({"mse": {"log": {"10": {"mean": 0.0309, "sem": 0.002}}}, "ratio": 1.0006}))
    [('mse.log.10', '0.0309 ± 0.002'), ('ratio', '1.001')]
    """
    for name, value in metrics.items():
        here = (*path, name)
        if isinstance(value, Mapping) and "mean" not in value:
            yield from leaves(value, here)
        else:
            yield ".".join(here), _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        spread = value.get("sem")
        return _text(value["mean"]) + (f" ± {spread:.2g}" if spread is not None else "")
    if isinstance(value, list):
        return ", ".join(map(_text, value)) if len(value) <= 5 else f"({len(value)} values)"
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def summary(document: Mapping[str, Any], folder: Path) -> RenderableType:
    """The table and the claims of one metrics.json, for `rich.console.Console.print`.

    Parameters
    ----------
    document
        What `reproduce` returned.
    folder
        Where it was written.
    """
    title = Text(document["name"], style="bold")
    if document["quick"]:
        title.append(" (quick: a check that it runs, not a result)", style="yellow")
    parts: list[RenderableType] = [title, _table(document, folder)]
    parts += [_claim(claim, judged=not document["quick"]) for claim in document["claims"]]
    missing = document.get("units_missing", 0)
    if missing:
        words = f"not final: {missing} unit{'s are' if missing > 1 else ' is'} still to be run, and more may follow; "
        parts.append(Text(f"{words}hippozoo reproduce {document['name']} goes on", style="yellow"))
    seeds = document["seeds"]
    of_seeds = f", seeds {', '.join(map(str, seeds))}" if seeds else ""
    parts.append(Text(f"{duration_text(document['seconds'])} of computing{of_seeds}; written to {folder}", style="dim"))
    return Group(*parts)


def _table(document: Mapping[str, Any], folder: Path) -> RenderableType:
    ours = dict(leaves(document["metrics"]))
    papers = dict(leaves(document["paper"]))
    # With too many numbers for a screen, those that the paper has come first.
    shown = list(ours) if len(ours) <= ROWS else sorted(ours, key=lambda name: name not in papers)[:ROWS]
    table = Table("metric", "ours", box=None, pad_edge=False)
    compares = any(name in papers for name in shown)
    if compares:
        table.add_column("paper")
    for name in shown:
        table.add_row(Text(name), Text(ours[name]), *([Text(papers.get(name, ""))] if compares else []))
    if len(shown) == len(ours):
        return table
    rest = Text(f"… and {len(ours) - len(shown)} more numbers in {folder / 'metrics.json'}", style="dim")
    return Group(table, rest)


_COLOURS = {"holds": "green", "holds in part": "yellow", "does not hold": "red", "cannot be told": "yellow"}


def _claim(claim: Mapping[str, Any], *, judged: bool = True) -> Text:
    if not judged:  # small sizes decide nothing, so no number of theirs stands beside a claim
        return Text.assemble(("not judged", "dim"), f": {claim['claim']}")
    # Results from before verdicts were written have only `holds`.
    verdict = claim.get("verdict") or ("holds" if claim["holds"] else "does not hold")
    text = Text.assemble((verdict, _COLOURS.get(verdict, "red")), f": {claim['claim']}")
    return text.append(f" ({claim['evidence']})", style="dim") if claim["evidence"] else text
