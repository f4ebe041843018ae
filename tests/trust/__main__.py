"""Everything, for hours: ``make trust``. Results go to ``results/trust``, one JSON file each, as they come."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from hippozoo.experiments._framework.plain import write_json
from hippozoo.experiments._framework.run import versions
from trust.crashes import faults, kills
from trust.jobs import JOBS


def main() -> None:
    """Run the crash matrix and write what was seen."""
    parser = argparse.ArgumentParser(prog="python -m trust", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="random moments per job")
    parser.add_argument("--faults", type=int, default=None, help="at most so many calls of each kind per job")
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS), help="which jobs")
    parser.add_argument("--out", type=Path, default=Path("results") / "trust", help="folder of the results")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "about": "jobs killed and failed, then run again: mishaps are what was not as it should be"
    }
    document |= {"machine": platform.machine(), "cores": os.cpu_count(), "versions": versions(), "jobs": {}}
    mishaps = 0
    for name in options.jobs:
        began = time.monotonic()
        found = document["jobs"][name] = {"kills": kills(JOBS[name], options.kills, seed=len(name))}
        found["faults"] = faults(JOBS[name], options.faults)
        found["minutes"] = round((time.monotonic() - began) / 60, 1)
        mishaps += sum(len(one["mishaps"]) for one in (found["kills"], found["faults"]))
        write_json(options.out / "crashes.json", document)
        sys.stderr.write(
            f"{name}: {found['kills']['kills']} kills, {found['faults']['faults']} faults, {mishaps} mishaps\n"
        )
    sys.exit(1 if mishaps else 0)


if __name__ == "__main__":
    main()
