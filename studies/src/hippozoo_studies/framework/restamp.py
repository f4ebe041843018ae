"""Stamp finished units with the present code where it is shown to give them still; no number changes.

``python -m hippozoo_studies.framework.restamp --old TREE --write``

Every line of ``units.jsonl`` names the code that computed it. After a change that means to move code and not numbers,
one cheap unit of each kind (its model, task, and whatever else its key says in words) is computed again:

- as written: a unit that took at most ``--longest`` seconds, at full size, against the line itself: to the last digit,
  or to six digits, since another processor rounds otherwise;
- as the old tree: else the same unit at the sizes of the quick configuration, by the old tree and by this one, on one
  processor, to the last digit.

Where they agree, all lines of that kind get the stamp of the present code; ``stamped`` says by which of the two, and
``before`` keeps the stamp that they had. The second says less than the first: from the old tree on, nothing has changed
this line. What the code did before the old tree was not compared, so that a line is as good as it was there. All other
lines stay as they are, and the report says why.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hippozoo._internal.files import write_whole
from hippozoo_studies.framework.check import results_agree
from hippozoo_studies.framework.code import code_hash
from hippozoo_studies.framework.compute import Failed, Task, compute_here
from hippozoo_studies.framework.plain import canonical, plain
from hippozoo_studies.framework.progress import unit_text
from hippozoo_studies.framework.registry import Experiment, load, names
from hippozoo_studies.framework.unit_log import check_value, read_lines

_HERE = Path(__file__).resolve()
AS_WRITTEN, ROUNDED = "as written", "as written, but for rounding"
OLD_TREE = "as the old tree, at small size"


class Compared(NamedTuple):
    """What is known of the lines of one kind: how they were compared, or why they were not."""

    how: str | None
    why: str = ""


def kind_of(unit: dict[str, Any]) -> str:
    """What a unit's key says in words: units that differ in numbers only go through the same code.

    Examples
    --------
    >>> kind_of({"model": "lstm", "task": "ar", "rate": 0.001, "seed": 2})
    '{"model":"lstm","task":"ar"}'
    """
    return canonical({name: value for name, value in unit.items() if isinstance(value, str | bool)})


def restamp(
    results: Path, name: str, *, old: Path | None = None, longest: float = 10.0, patience: int = 60, write: bool = False
) -> dict[str, tuple[Compared, int]]:
    """Compare one unit of each kind of a study, and stamp the lines of those that agree.

    Parameters
    ----------
    results
        The folder above those of the studies.
    name
        The study.
    old
        A checkout from before the change; without it, units above `longest` are not compared.
    longest
        Units that took so many seconds are computed at full size.
    patience
        Seconds that a small unit may take in each tree.
    write
        Whether to write the stamps; without it, this only tells.

    Returns
    -------
    For each kind: how it was compared, and how many of its lines had another stamp.
    """
    experiment = load(name)
    path = results / name / "units.jsonl"
    entries, _ = read_lines(path)
    code = code_hash(experiment.module)
    fingerprint = experiment.fingerprint(experiment.config())
    stale: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        if entry["fingerprint"] == fingerprint and entry.get("code") != code:
            stale.setdefault(kind_of(entry["unit"]), []).append(entry)
    cheapest = {kind: min(some, key=lambda one: one["seconds"]) for kind, some in stale.items()}
    compared = {kind: _as_written(experiment, one) for kind, one in cheapest.items() if one["seconds"] <= longest}
    # Another processor rounds otherwise: then the line itself says nothing, and both trees on this one do.
    others = [kind for kind in cheapest if kind not in compared or compared[kind].how is None]
    if old is None:
        long = Compared(None, f"takes more than {longest:g} s, and no old tree is given")
        compared = {kind: compared.get(kind, long) for kind in cheapest}
    elif others:
        found = _by_trees(old, name, [cheapest[kind]["unit"] for kind in others], patience)
        compared |= dict(zip(others, found, strict=True))
    if write:
        for kind, some in stale.items():
            if compared[kind].how is not None:
                for entry in some:
                    before = entry.get("before", entry.get("code"))
                    entry |= {"code": code, "stamped": compared[kind].how, "before": before}
        lines = "".join(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n" for entry in entries)
        write_whole(path, lines.encode())
    return {kind: (compared[kind], len(some)) for kind, some in stale.items()}


def _as_written(experiment: Experiment, entry: dict[str, Any]) -> Compared:
    """Compute a unit at full size, beside nothing: what it leaves goes to a folder of its own."""
    with TemporaryDirectory() as folder:
        task = Task(entry["unit"], Path(folder) / ".unfinished" / "unit")
        (outcome,) = compute_here(experiment, experiment.config(), [task], None, lambda *_: None)
    if isinstance(outcome, Failed):
        return Compared(None, f"{unit_text(entry['unit'])} fails now: {outcome.error}")
    if check_value(outcome.result) == check_value(entry["result"]):
        return Compared(AS_WRITTEN)
    if results_agree(entry["result"], outcome.result):
        return Compared(ROUNDED)
    return Compared(None, f"{unit_text(entry['unit'])} comes out otherwise than written; see reproduce --check")


def _by_trees(old: Path, name: str, units: Sequence[dict[str, Any]], patience: int) -> list[Compared]:
    """Compute units at small size in both trees, side by side."""
    trees = (old, _HERE.parents[4])
    sizes = sizes_of(load(name))
    with ThreadPoolExecutor(2) as pool:
        before, after = pool.map(lambda tree: _probe(tree, name, units, sizes, patience), trees)
    found = []
    for unit, one, other in zip(units, before, after, strict=True):
        if "error" in one or "error" in other:
            where = "old" if "error" in one else "new"
            text = one.get("error") or other.get("error")
            found.append(
                Compared(None, f"{unit_text(unit)} cannot be computed at small size by the {where} tree: {text}")
            )
        elif check_value(one["result"]) == check_value(other["result"]):
            found.append(Compared(OLD_TREE))
        else:
            found.append(Compared(None, f"{unit_text(unit)} comes out otherwise in the old tree, at small size"))
    return found


def sizes_of(experiment: Experiment) -> dict[str, Any]:
    """The quick configuration with all the units of the full one: both trees compute at these sizes."""
    module = experiment.module
    full = {name: getattr(module.Config(), name) for name in experiment.selects if hasattr(module.Config(), name)}
    return plain(dataclasses.replace(module.QUICK, **full), "config")


def _probe(
    tree: Path, name: str, units: Sequence[dict[str, Any]], sizes: dict[str, Any], patience: int
) -> list[dict[str, Any]]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    tasks = json.dumps([patience, sizes, [[name, unit] for unit in units]])
    ran = subprocess.run(
        [sys.executable, str(_HERE.with_name("probe.py")), str(tree)],
        input=tasks,
        capture_output=True,
        text=True,
        env=environment | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    last = ran.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return found + [{"error": f"the process ended ({last[0]})"}] * (len(units) - len(found))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command; it prints one line per kind, and what it could not compare."""
    parser = argparse.ArgumentParser(
        description="Stamp finished units with the present code where it is shown to give them still."
    )
    parser.add_argument("names", nargs="*", help="studies; all without it")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--old", type=Path, help="a checkout from before the change")
    parser.add_argument("--longest", type=float, default=10.0, help="seconds of a unit that is computed at full size")
    parser.add_argument("--patience", type=int, default=60, help="seconds for a small unit in each tree")
    parser.add_argument("--write", action="store_true", help="write the stamps")
    given = parser.parse_args(arguments)
    if given.old is not None and not (given.old / "src" / "hippozoo").is_dir():
        parser.error(f"--old {given.old}: no checkout of hippozoo is there (no src/hippozoo)")
    total = {True: 0, False: 0}
    for name in given.names or names():
        if not load(name).has_units or not (given.results / name / "units.jsonl").exists():
            continue
        found = restamp(
            given.results, name, old=given.old, longest=given.longest, patience=given.patience, write=given.write
        )
        for kind, (compared, count) in found.items():
            total[compared.how is not None] += count
            print(f"{name} {kind}: {count} lines: {compared.how or 'NOT STAMPED: ' + compared.why}", flush=True)  # noqa: T201
    done = "stamped" if given.write else "would be stamped (pass --write)"
    print(f"{total[True]} lines {done}, {total[False]} stay as they are.")  # noqa: T201


if __name__ == "__main__":
    main()
