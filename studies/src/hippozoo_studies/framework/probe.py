"""Small units of studies, computed by the code of one tree: what `restamp` runs in the old tree and in the new one.

It is run as a file, ``python probe.py TREE < tasks.json``, and imports nothing of its own package: an old tree may have
other names. Each line that it prints is the result of one unit, or says why there is none.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    """Read ``[patience, sizes, [[study, unit], …]]`` from stdin, print one JSON line for each."""
    tree = Path(sys.argv[1])
    second = tree / "studies" / "src"
    sys.path[:0] = [str(tree / "src"), *([str(second)] if second.is_dir() else [])]
    studies = importlib.import_module("hippozoo_studies" if second.is_dir() else "hippozoo.experiments")
    out, sys.stdout = sys.stdout, sys.stderr
    patience, sizes, tasks = json.load(sys.stdin)
    for name, unit in tasks:
        print(
            json.dumps(_outcome(studies, name, unit, sizes, patience), default=lambda one: one.tolist()),
            file=out,
            flush=True,
        )


def _outcome(studies: Any, name: str, unit: dict[str, Any], sizes: dict[str, Any], patience: int) -> dict[str, Any]:
    def too_long(number: int, frame: Any) -> None:
        raise TimeoutError(f"it takes more than {patience} s")

    module = studies.load(name).module  # an import that is interrupted spoils all that follow
    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, patience)  # of the processor: a busy machine does not count
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder) / ".unfinished" / "unit"
            scratch.mkdir(parents=True)
            return {"result": module.run_unit(small(module, sizes), unit, studies.Context(scratch=scratch))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def small(module: Any, sizes: dict[str, Any]) -> Any:
    """The quick configuration, of the sizes that the other tree has too."""
    known = {field.name for field in dataclasses.fields(module.Config)}
    return dataclasses.replace(module.QUICK, **{key: _tuples(one) for key, one in sizes.items() if key in known})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


if __name__ == "__main__":
    main()
