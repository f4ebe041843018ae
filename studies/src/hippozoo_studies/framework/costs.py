"""What each study costs, in seconds of one core, as the committed results say; and what a results folder holds.

``python -m hippozoo_studies.framework.costs RESULTS`` writes it down anew.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from hippozoo_studies.framework.duration import duration_text

__all__ = ["MORE", "cost_lines", "cost_text", "more_will_follow", "there_text", "write_costs"]

#: Said of a study that names rows it has not run.
MORE = "more will follow"

_FILE = Path(__file__).with_name("costs.json")


@cache
def _costs() -> dict[str, float]:
    return {name: float(seconds) for name, seconds in json.loads(_FILE.read_text(encoding="utf-8")).items()}


def cost_text(name: str | None = None) -> str:
    """The computing time of a study, or of all; "?" for one that nobody has run.

    Examples
    --------
    >>> cost_text("nonsense")
    '?'
    """
    if name is None:
        return duration_text(sum(_costs().values()))
    return duration_text(_costs()[name]) if name in _costs() else "?"


def cost_lines() -> str:
    """All of them in one line, the longest last.

    Examples
    --------
    >>> "memory-tasks" in cost_lines()
    True
    """
    by_size = sorted(_costs(), key=lambda name: _costs()[name])
    return ", ".join(f"{name} {cost_text(name)}" for name in (*by_size,)) + f"; all {cost_text()}"


def there_text(folder: Path) -> str:
    """What is computed already in the folder of a study.

    Examples
    --------
    >>> there_text(Path("no/such/folder"))
    'nothing'
    """
    units = folder / "units.jsonl"
    count = len(units.read_text(encoding="utf-8").splitlines()) if units.is_file() else 0
    try:
        document = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        missing = document.get("units_missing", 0)
        state = f"{_units(missing)} missing" if missing else "quick" if document.get("quick") else "all"
        state += f"; {MORE}" if more_will_follow(document) else ""
    except (OSError, ValueError, AttributeError):
        state = "no metrics yet" if count else "nothing"
    return f"{state} ({_units(count)})" if count else state


def more_will_follow(document: dict[str, Any]) -> bool:
    """Whether a result names rows that are yet to be run.

    Examples
    --------
    >>> more_will_follow({"metrics": {"not_yet": ["LSTM"]}}), more_will_follow({"metrics": {}})
    (True, False)
    """
    return bool(document.get("metrics", {}).get("not_yet"))


def _units(count: int) -> str:
    return f"{count} unit{'s' * (count != 1)}"


def write_costs(results: Path) -> None:
    """Take the times from the results of full runs; units that are missing count as much as the others in the mean."""
    costs = {}
    for path in sorted(results.glob("*/metrics.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.get("quick") is False:
            units, missing = path.with_name("units.jsonl"), document.get("units_missing", 0)
            count = len(units.read_text(encoding="utf-8").splitlines()) if missing else 1
            costs[document["name"]] = round(document["seconds"] * (1 + missing / max(1, count)))
    _FILE.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_costs(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
