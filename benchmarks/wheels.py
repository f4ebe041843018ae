"""`make wheels`: build both projects, install each extra in a fresh environment, try it, weigh it, time it.

Nothing of the checkout is on the path of the environments: they are made in a temporary folder, and every trial runs
in an empty one. Results go to ``benchmarks/wheels.json`` and ``benchmarks/wheels.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import venv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_suffix(".json")
TABLE = Path(__file__).with_suffix(".md")

LIMITS = {"core MB": 450, "import hippozoo, ms": 20, "hippozoo --help, ms": 300}
# Every fresh environment has them, whatever is installed into it.
_ALWAYS = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}

_TABLE = "rows = ['when,load'] + [f'2024-01-{1 + h // 24:02d} {h % 24:02d}:00,{h % 24 + h % 7}' for h in range(480)]\n"
_TABLE += "open('load.csv', 'w').write('\\n'.join(rows) + '\\n')\n"
_CORE = (
    _TABLE
    + """
import numpy as np
from hippozoo import LegT, Memory, MultiscaleMemory, VolterraModel, suggest
assert Memory(LegT(order=16, timescale=100.0)).verify(np.sin(np.arange(300) / 9)) < 1e-10
"""
)
# What each environment must be able to do; code, then commands with their exit codes and what they say.
SMOKE: dict[str, tuple[str, list[tuple[str, int, str]]]] = {
    "core": (
        _CORE,
        [
            ("forecast load.csv --horizon 24", 0, "hippozoo[pages]"),
            ("watch load.csv --out load.db", 0, ""),
            ("watch --show load.db", 1, "hippozoo[pages]"),
            ("tour", 1, "hippozoo[torch,plot,pages]"),
            ("reproduce volterra", 2, "pip install ./studies"),
            ("--version", 0, "hippozoo 0.1.0"),
        ],
    ),
    "torch": ("import torch, hippozoo\nhippozoo.MemoryLayer(hippozoo.LegT(8, 50.0))(torch.ones(1, 5, 1))", []),
    "plot": ("import hippozoo.memory.plots, hippozoo.zoo.volterra.plots", []),
    "data": (
        _TABLE + "import pandas; pandas.read_csv('load.csv').to_parquet('load.parquet')",
        [("forecast load.parquet --horizon 24", 0, "wrote")],
    ),
    "pages": (_TABLE, [("forecast load.csv --horizon 24", 0, "index.html"), ("watch load.csv --out load.db", 0, "")]),
    "frames": (
        "import hippozoo, narwhals\nprint(hippozoo.forecast([float(n % 7) for n in range(99)], horizon=7).verdict)",
        [],
    ),
    "holidays": (_TABLE, [("forecast load.csv --horizon 24 --country DE", 0, "")]),
    "explore": ("import hippozoo.apps.explore.app", []),
    "serve": (_TABLE + "import hippozoo.apps.serve.server", [("serve load.csv", 2, "load.csv")]),
    "mqtt": ("import paho.mqtt.client, hippozoo.apps.watch.mqtt", []),
    "river": ("from hippozoo.estimators import RiverHippoForecaster; RiverHippoForecaster()", []),
    "sklearn": ("from hippozoo.estimators import MemoryFeatures; MemoryFeatures()", []),
    "sktime": ("from hippozoo.estimators import HippoForecaster; HippoForecaster()", []),
    "dask": (
        "import numpy as np, dask.array as da\nfrom hippozoo import LegT, Memory\nfrom hippozoo.scale import states\n"
        "states(Memory(LegT(4, 9.0)), da.from_array(np.ones((2, 50)), chunks=(1, 25))).compute()",
        [],
    ),
    "all": (_CORE, [("tour --out tour", 0, "index.html")]),
    "studies": (
        "import hippozoo_studies",
        [("reproduce volterra --quick --out results", 0, ""), ("--help", 0, "report")],
    ),
}


def build(folder: Path) -> dict[str, Path]:
    """Wheels of both projects; each is built from its sdist, so that the sdist is known to be whole."""
    wheels = {}
    for name, source in (("hippozoo", ROOT), ("hippozoo-studies", ROOT / "studies")):
        code = f"import setuptools.build_meta as backend; print(backend.build_sdist({str(folder)!r}))"
        sdist = folder / _run([sys.executable, "-c", code], cwd=source, streams="stdout").split()[-1]
        _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(sdist)])
        stem = name.replace("-", "_")
        wheels[name] = next(path for path in folder.glob("*.whl") if path.name.startswith(f"{stem}-"))
    return wheels


def install(name: str, wheels: dict[str, Path], folder: Path) -> Path:
    """A fresh environment with one extra; gives its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    extras = {"core": "", "studies": "[torch,plot,data,pages]"}.get(name, f"[{name}]")
    given = [f"{wheels['hippozoo']}{extras}", *([str(wheels["hippozoo-studies"])] if name == "studies" else [])]
    _run([str(python), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), *given])
    return python


def try_out(name: str, python: Path, folder: Path) -> None:
    """The smoke test of an environment, in an empty folder."""
    code, commands = SMOKE[name]
    folder.mkdir()
    _run([str(python), "-c", code], cwd=folder)
    for command, expected, said in commands:
        found = _run([str(python.with_name("hippozoo")), *command.split()], cwd=folder, expected=expected)
        if said not in found:
            raise SystemExit(f"{name}: hippozoo {command} does not say {said!r}:\n{found}")


def weigh(python: Path) -> dict[str, float]:
    """Megabytes (2^20 bytes) by package, the largest first, with caches of bytecode, without what is always there."""
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    sizes: dict[str, int] = {}
    for path in site.rglob("*"):
        name = re.sub(r"(\.libs|-[\d.]+.*\.dist-info)$", "", path.relative_to(site).parts[0])
        if path.is_file() and not path.is_symlink() and name not in _ALWAYS:
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return {name: round(size / 2**20, 1) for name, size in sorted(sizes.items(), key=lambda item: -item[1])}


def processor_time(command: list[str], cwd: Path, repeats: int = 7) -> float:
    """Milliseconds of processor time of a process, user and system; the least of several."""
    best = float("inf")
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=cwd, env=_bare(), capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * best


def time_core(python: Path, cwd: Path) -> dict[str, float]:
    """What the first import and the first help cost, in milliseconds of processor time."""
    empty = processor_time([str(python), "-c", "pass"], cwd)
    imported = processor_time([str(python), "-c", "import hippozoo"], cwd)
    shown = processor_time([str(python.with_name("hippozoo")), "--help"], cwd)
    return {
        "python, ms": round(empty, 1),
        "import hippozoo, ms": round(imported - empty, 1),
        "hippozoo --help, ms": round(shown, 1),
    }


def _bare() -> dict[str, str]:
    """The environment without what would lead to the checkout."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "HIPPOZOO_DATA")}


def _run(command: list[str], cwd: Path | None = None, expected: int = 0, streams: str = "both") -> str:
    found = subprocess.run(command, cwd=cwd, env=_bare(), capture_output=True, text=True)
    if found.returncode != expected:
        raise SystemExit(f"{' '.join(command)} ended with {found.returncode}:\n{found.stdout}\n{found.stderr}")
    return found.stdout if streams == "stdout" else found.stdout + found.stderr


def table(results: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        "# What is installed",
        "",
        "`make wheels` builds both projects, installs each extra with the constraints file into a fresh environment,",
        "runs a smoke test from an empty folder, and writes this page. Sizes are what is on disk, bytecode included.",
        "",
        f"Python {results['python']}, {results['date']}. Processor time: `import hippozoo` "
        f"{results['times']['import hippozoo, ms']:g} ms (limit {LIMITS['import hippozoo, ms']}), `hippozoo --help` "
        f"{results['times']['hippozoo --help, ms']:g} ms (limit {LIMITS['hippozoo --help, ms']}; an empty Python takes "
        f"{results['times']['python, ms']:g}).",
        "",
        "| install | MB | beyond core | largest packages |",
        "|---|---|---|---|",
    ]
    core = results["environments"].get("core", {}).get("megabytes", 0.0)
    for name, one in results["environments"].items():
        largest = ", ".join(f"{package} {size:.0f}" for package, size in list(one["packages"].items())[:6])
        spelled = {"core": "`hippozoo`", "studies": "`hippozoo-studies`"}.get(name, f"`hippozoo[{name}]`")
        beyond = "" if name == "core" else f"{one['megabytes'] - core:+.0f}"
        lines.append(f"| {spelled} | {one['megabytes']:.0f} | {beyond} | {largest} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Build, install, try, weigh and time."""
    parser = argparse.ArgumentParser(prog="make wheels", description=main.__doc__)
    parser.add_argument("names", nargs="*", help=f"environments; all by default: {', '.join(SMOKE)}")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where wheels and sdists go")
    chosen = parser.parse_args()
    names = chosen.names or list(SMOKE)
    shutil.rmtree(chosen.dist, ignore_errors=True)
    chosen.dist.mkdir(parents=True)
    wheels = build(chosen.dist.resolve())
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if chosen.names and RESULTS.exists() else {}
    results |= {"python": sys.version.split()[0], "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    results.setdefault("environments", {})
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            python = install(name, wheels, Path(folder) / "venv")
            try_out(name, python, Path(folder) / "empty")
            packages = weigh(python)
            total = round(sum(packages.values()), 1)
            results["environments"][name] = {"megabytes": total, "packages": dict(list(packages.items())[:12])}
            print(f"{name}: {total:.0f} MB")
            if name == "core":
                results["times"] = time_core(python, Path(folder) / "empty")
                print(", ".join(f"{key} {value:g}" for key, value in results["times"].items()))
        results["environments"] = {one: results["environments"][one] for one in SMOKE if one in results["environments"]}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        TABLE.write_text(table(results))
    core = results["environments"]["core"]["megabytes"]
    measured = {"core MB": core, **results["times"]}
    over = [f"{key} is {measured[key]:g}, above {limit}" for key, limit in LIMITS.items() if measured[key] > limit]
    if over:
        raise SystemExit("; ".join(over))


if __name__ == "__main__":
    main()
