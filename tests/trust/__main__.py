"""Everything, for hours: ``make trust``. Results go to ``results/trust``, one JSON file each, as they come."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
import warnings
from pathlib import Path
from typing import Any

# All else is imported below: the workers of a job read this file too, and they are started hundreds of times.


def main() -> None:
    """Run the crash matrix and the fuzz, and write what was seen."""
    import torch

    from hippozoo_studies.framework.run import versions
    from trust.damage import FILES
    from trust.grid import LIMITS
    from trust.jobs import JOBS
    from trust.live import LIVE
    from trust.soak import FORMS

    parser = argparse.ArgumentParser(prog="python -m trust", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="random moments per job")
    parser.add_argument("--faults", type=int, default=None, help="at most so many calls of each kind per job")
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS), help="which jobs")
    parser.add_argument(
        "--live", nargs="*", default=list(LIVE), choices=list(LIVE), help="which with a broker or clients"
    )
    parser.add_argument("--panel", type=int, default=10_000_000, help="readings of 100 sensors through one watch")
    parser.add_argument("--files", nargs="*", default=list(FILES), choices=list(FILES), help="which files to damage")
    parser.add_argument("--systems", nargs="*", default=list(LIMITS), choices=list(LIMITS), help="which to sweep")
    parser.add_argument("--fuzz-minutes", type=float, default=60.0, help="how long to fuzz")
    parser.add_argument("--anew", action="store_true", help="forget what earlier runs have seen")
    parser.add_argument("--soak", type=float, default=1e8, help="samples through every streaming form; 0 for none")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS), help="which streaming forms")
    parser.add_argument("--readings", type=int, default=10_000_000, help="readings of a stream that must not grow")
    parser.add_argument("--out", type=Path, default=Path("results") / "trust", help="folder of the results")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": platform.machine(), "cores": os.cpu_count(), "versions": versions()}
    mishaps = crash_matrix(options, about) + lives(options, about) + panel(options, about)
    mishaps += damages(options, about) + grids(options, about)
    mishaps += fuzz(options, about) + memory(options, about)
    if options.soak:
        soaks(options, about)
    sys.exit(1 if mishaps else 0)


def crash_matrix(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Kill and fail every job; the number of mishaps. What an earlier run has seen of other jobs stays."""
    from hippozoo_studies.framework.plain import write_json
    from trust.crashes import faults, kills
    from trust.jobs import JOBS

    document = {"about": "jobs killed or failed, then run again; a mishap is what was not as it should be", **about}
    path = options.out / "crashes.json"
    document["jobs"] = json.loads(path.read_text())["jobs"] if path.exists() else {}
    mishaps = 0
    for name in options.jobs:
        began = time.monotonic()
        earlier = document["jobs"].get(name, {})
        known = earlier.get("kills", {})
        # A run that was interrupted has no faults yet.
        goes_on = "faults" not in earlier and not options.anew and known
        found = {"kills": known if goes_on else None, "minutes": earlier["minutes"] if goes_on else 0.0}
        before = found["minutes"]

        def tell(summary: dict[str, Any], name=name, found=found, began=began, before=before) -> None:
            found |= {"kills": summary, "minutes": round(before + (time.monotonic() - began) / 60, 1)}
            document["jobs"][name] = found
            write_json(path, document)

        tell(kills(JOBS[name], options.kills, len(name), found["kills"], tell))
        found["faults"] = faults(JOBS[name], options.faults)
        tell(found["kills"])
        mishaps += sum(len(one["mishaps"]) for one in (found["kills"], found["faults"]))
        sys.stderr.write(f"{name}: {found['kills']['kills']} kills, {found['faults']['faults']} faults, ")
        sys.stderr.write(f"{mishaps} mishaps so far\n")
    return mishaps


def lives(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Kill what works with a broker or with clients; the number of mishaps."""
    from hippozoo_studies.framework.plain import write_json
    from trust.live import LIVE

    path = options.out / "live.json"
    document = {"about": "killed again and again while others send and ask", **about}
    known = json.loads(path.read_text(encoding="utf-8"))["jobs"] if path.exists() else {}
    for name in options.live:
        began = time.monotonic()
        if name == "watch, MQTT" and not shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin"):
            sys.stderr.write(f"{name}: left out, there is no mosquitto\n")
            continue
        known[name] = LIVE[name](options.kills) | {"minutes": round((time.monotonic() - began) / 60, 1)}
        write_json(path, document | {"jobs": known})
        sys.stderr.write(f"{name}: {known[name]['kills']} kills, {len(known[name]['mishaps'])} mishaps\n")
    return sum(len(known[name]["mishaps"]) for name in options.live if name in known)


def panel(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Watch a long panel; the number of mishaps."""
    from hippozoo_studies.framework.plain import write_json
    from trust.watch_soak import soak as soak_watch

    if not options.panel:
        return 0
    found = soak_watch(options.panel)
    document = {"about": "a panel through one watch, from standard input, the newest readings kept", **about, **found}
    write_json(options.out / "panel.json", document)
    sys.stderr.write(f"panel: {found['readings']:,} readings in {found['minutes']} minutes\n")
    return len(found["mishaps"])


def damages(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Cut files at every length and flip their every bit; the number of mishaps. Other files stay as they were seen."""
    from hippozoo_studies.framework.plain import write_json
    from trust.damage import FILES, sweep

    path = options.out / "damage.json"
    document = {"about": "files cut at every length, and with every bit flipped: refused, or read", **about}
    known = json.loads(path.read_text(encoding="utf-8"))["files"] if path.exists() else {}
    for name in options.files:
        known[name] = sweep(name, FILES[name][1])
        document["files"] = {file: known[file] for file in FILES if file in known}
        write_json(path, document)
        sys.stderr.write(f"{name}: {known[name]['ways']} ways, {len(known[name]['mishaps'])} mishaps\n")
    return sum(len(known[name]["mishaps"]) for name in options.files)


def grids(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Every system over orders and steps; how many are worse than they may be. Other systems stay as they were seen."""
    from hippozoo_studies.framework.plain import write_json
    from trust.grid import LIMITS, sweep

    path = options.out / "grid.json"
    document = {"about": "largest error over largest coefficient, against 80 bits, in all modes", **about}
    known = json.loads(path.read_text(encoding="utf-8"))["systems"] if path.exists() else {}
    for name in options.systems:
        known[name] = sweep(name)
        document["systems"] = {system: known[system] for system in LIMITS if system in known}
        write_json(path, document)
        sys.stderr.write(f"{name}: worst error {known[name]['worst']:.1e} ({known[name]['where']})\n")
    return sum(known[name]["worst"] > LIMITS[name] for name in options.systems)


def soaks(options: argparse.Namespace, about: dict[str, Any]) -> None:
    """Feed every streaming form; what an earlier run has seen of other forms stays."""
    from hippozoo_studies.framework.plain import write_json
    from trust.soak import FORMS, soak

    path = options.out / "soak.json"
    document = {"about": "a long stream: error against the plain definition, peak of memory, at some lengths", **about}
    known = json.loads(path.read_text(encoding="utf-8"))["forms"] if path.exists() else {}
    for name in options.forms:
        known[name] = soak(name, int(options.soak))
        document["forms"] = {form: known[form] for form in FORMS if form in known}
        write_json(path, document)
        sys.stderr.write(f"{name}: {known[name]['samples']:,} samples in {known[name]['minutes']} minutes\n")


def fuzz(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Call everything for so long in all, going on where an earlier run of the same calls ended; the troubles."""
    from hippozoo_studies.framework.plain import write_json
    from trust.fuzz import ENTRIES, draw, trouble

    if not options.fuzz_minutes:
        return 0
    path = options.out / "fuzz.json"
    document = {"about": "calls with numbers of every size; a trouble is neither right nor refused", **about}
    document |= {"cases": 0, "minutes": 0.0, "entries": dict.fromkeys(ENTRIES, 0), "troubles": {}}
    if path.exists() and not options.anew:
        known = json.loads(path.read_text(encoding="utf-8"))
        if list(known["entries"]) == list(ENTRIES) and known["minutes"] < options.fuzz_minutes:
            document |= {name: known[name] for name in ("cases", "minutes", "entries")}
            again = {number: trouble(draw(int(number))) for number in known["troubles"]}
            document["troubles"] = {
                number: f"{draw(int(number)).entry}: {wrong}" for number, wrong in again.items() if wrong
            }
    began, before = time.monotonic(), document["minutes"]
    while document["minutes"] < options.fuzz_minutes:
        for number in range(document["cases"], document["cases"] + 1000):
            case = draw(number)
            document["entries"][case.entry] += 1
            if wrong := trouble(case):
                document["troubles"][str(number)] = f"{case.entry}: {wrong}"
        document["cases"] += 1000
        document["minutes"] = round(before + (time.monotonic() - began) / 60, 2)
        write_json(path, document)
    sys.stderr.write(f"fuzz: {document['cases']} cases, {len(document['troubles'])} troubles\n")
    return len(document["troubles"])


def memory(options: argparse.Namespace, about: dict[str, Any]) -> int:
    """Push readings for a long time; 1 if memory has grown by more than a few megabytes."""
    from hippozoo_studies.framework.plain import write_json
    from trust.memory import growth

    if not options.readings:
        return 0
    found = growth(options.readings)
    document = {"about": "memory of a process that pushes readings into one ForecastStream", **about, **found}
    write_json(options.out / "memory.json", document)
    sys.stderr.write(f"memory: {found['grown_bytes'] / 1e6:.1f} MB more after {found['readings']:,} readings\n")
    return int(found["grown_bytes"] > 10_000_000)


if __name__ == "__main__":
    from trust.faulty import run_again_preloaded

    run_again_preloaded()
    main()
