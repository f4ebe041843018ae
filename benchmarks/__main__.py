"""`python -m benchmarks [NAME …]`: run the benchmarks and print their tables."""

from __future__ import annotations

import benchmarks.timing as timing  # first: it sets one thread  # isort: skip

import argparse
import json
import pkgutil
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import benchmarks


def table(title: str, rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    lines = [
        f"### {title}",
        "",
        "| work | time per sample | reference | ratio | target | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for entry in rows:
        ratio = "" if entry.get("ratio") is None else f"{entry['ratio']:.3g}x"
        target = "" if entry.get("target") is None else f"{entry['target']}x"
        peak = "" if entry.get("peak_megabytes") is None else f"{entry['peak_megabytes']:.1f} MB"
        each = "" if entry.get("microseconds_per_sample") is None else f"{entry['microseconds_per_sample']:.4g} µs"
        lines.append(f"| {entry['name']} | {each} | {entry.get('against', '')} | {ratio} | {target} | {peak} |")
    return "\n".join(lines) + "\n"


HEADER = """# Benchmarks

`make bench` runs them all, `.venv/bin/python -m benchmarks memory` one; both write this page and `results.json`.

Each row is checked against its reference before it is timed. Times are the shortest of several runs, in seconds of
processor time on one core; the reference runs beside it, on the same machine, so that the ratio means something
elsewhere too. References that would take minutes are timed on fewer samples and scaled, being linear in their number.
Peak memory is what NumPy and Python held at once, inputs not counted; torch's own memory is not seen by it.
"""


def page(results: dict[str, Any]) -> str:
    """The tables with the machine they were measured on."""
    parts = [HEADER]
    for name, result in sorted(results.items()):
        setting = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
        what = "against its alternative" if name.endswith(".run") else "growth"
        parts.append(table(f"{name.rsplit('.', 1)[0]}: {what}", result["rows"]) + f"\n{result['date']}; {setting}.\n")
    return "\n".join(parts)


def main() -> None:
    """Run the benchmarks asked for, or all; print their tables and keep them in results.json and README.md."""
    names = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("names", nargs="*", help=f"which of {', '.join(n.removeprefix('bench_') for n in names)}")
    asked = parser.parse_args().names or [n.removeprefix("bench_") for n in names]
    unknown = [name for name in asked if f"bench_{name}" not in names]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; all: {', '.join(n.removeprefix('bench_') for n in names)}")
    path = Path(__file__).with_name("results.json")
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in asked:
        module = import_module(f"benchmarks.bench_{name}")
        for part in ("run", "growth"):
            if hasattr(module, part):
                rows = getattr(module, part)()
                title = f"{name}: {'against its alternative' if part == 'run' else 'growth'}"
                print(table(title, rows), flush=True)
                results[f"{name}.{part}"] = {
                    "date": datetime.now(UTC).date().isoformat(),
                    "machine": timing.machine(),
                    "rows": rows,
                }
    path.write_text(json.dumps(results, indent=1) + "\n")
    path.with_name("README.md").write_text(page(results))


if __name__ == "__main__":
    main()
