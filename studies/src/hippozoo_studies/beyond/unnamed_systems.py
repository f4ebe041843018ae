"""Unnamed systems: `fit_system` finds the form by itself, on simulated plants and real circuits (beyond the paper).

Nothing is told about the systems. What the experiment ``system-identification`` reaches with the structure named by
hand stands beside the two circuits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.tasks.system_identification import load_benchmark
from hippozoo.tasks.two_tanks import two_tanks
from hippozoo.zoo.volterra import fit_system
from hippozoo_studies import QUIET, Claim, Context, Finished, Result, drawing, markdown_table
from hippozoo_studies.data.plants import converter, position_drive

# The paper has no such study.
PAPER: dict[str, Any] = {}
SELECTS = ("systems",)
MODEL = "system"
ASSEMBLES_PARTS = True
#: Mean and swing of the pump's voltage: tanks that overflow often, and now and then.
TANKS = {"tanks, often full": (3.3, 1.6), "tanks, seldom full": (2.9, 1.0)}
#: A drive that integrates force to position, and a converter in which polynomial loops fall into false cycles: how a
#: record is made, and from metres or volts to the unit of the table. Errors are the worst of several other records.
PLANTS = {"drive": (position_drive, 4_000, 1000.0, "mm"), "converter": (converter, 600, 1.0, "V")}
_OTHERS = 7
#: Test errors with the structure named by hand, in mV (`hippozoo reproduce system-identification`).
NAMED = {
    "wiener-hammerstein": {"test": 0.278},
    "silverbox": {"multisine": 0.243, "arrow_full": 0.437, "arrow_no_extrapolation": 0.237},
}


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    systems: tuple[str, ...] = (*TANKS, *PLANTS, *NAMED)
    rows: int = 1_024
    forms: tuple[str, ...] = ("linear", "polynomial", "cascade", "loop", "integrator")
    blocks: int = 4


QUICK = Config(systems=("tanks, seldom full",), rows=240, forms=("linear",), blocks=2)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per system."""
    return [{"system": name} for name in config.systems]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Fit one system, and simulate what it has not seen."""
    name = unit["system"]
    if name in TANKS:
        level, swing = TANKS[name]
        (u, y), test = (two_tanks(config.rows, np.random.default_rng([5, part]), level, swing) for part in (0, 1))
        tests, known, factor, unit_of = {"test": test}, 10, 1.0, "V"
    elif name in PLANTS:
        make, rows, factor, unit_of = PLANTS[name]
        u, y = make(rows, np.random.default_rng(0))
        tests = {f"record {seed}": make(rows, np.random.default_rng(seed)) for seed in range(1, 1 + _OTHERS)}
        known = 10
    else:
        benchmark = load_benchmark(name, context.data)
        u, y = benchmark.signal[benchmark.train], benchmark.target[benchmark.train]
        tests = {key: (benchmark.signal[rows], benchmark.target[rows]) for key, rows in benchmark.tests.items()}
        known, factor, unit_of = benchmark.known, 1000.0, "mV"
    found = fit_system(u, y, known=known, blocks=config.blocks, forms=config.forms, progress=context.progress)
    errors = {}
    for key, (signal, target) in tests.items():
        left = (found.simulate(signal, known=target[:known]) - target)[known:]
        errors[key] = factor * float(np.sqrt(np.mean(left**2)))
    if name in PLANTS:
        errors = {f"worst of {_OTHERS}": max(errors.values()), "median": float(np.median(list(errors.values())))}
    best: dict[str, float] = {}
    for one in found.tried:
        if one.error is not None:
            best.setdefault(one.form, factor * one.error)
    _, measured, simulated = found.held_out[-1]
    return {
        "unit": unit_of,
        "error": errors,
        "held_out_error": factor * found.error,
        "form": found.form,
        "memory": str(found.memory.system),
        "unknowns": found.unknowns,
        "forms": best,
        "shown": [[float(f"{v:.5g}") for v in row[:400]] for row in (measured, simulated)],
    }


def assemble(config: Config, finished: list[Finished]) -> Result:
    """What was found for each system, and whether naming the structure would have helped."""
    found = {one.unit["system"]: one.result for one in finished}
    metrics = {name: {key: value for key, value in one.items() if key != "shown"} for name, one in found.items()}
    claims = [
        Claim.judged(
            f"target: {name}, no worse than with the hand-specified structure (within 5 %)",
            [found[name]["error"][test] <= 1.05 * value for test, value in named.items()],
            ", ".join(
                f"{test.replace('_', ' ')} {found[name]['error'][test]:.3f} against {value} mV"
                for test, value in named.items()
            )
            + f"; identified: {found[name]['form']}.",
        )
        for name, named in NAMED.items()
        if name in found
    ]
    if "drive" in found:
        worst = found["drive"]["error"][f"worst of {_OTHERS}"]
        claims.append(
            Claim("target: a simulated drive below 10 mm", worst < 10, f"{worst:.2g} mm; {found['drive']['form']}.")
        )
    if "converter" in found:
        worst, held = found["converter"]["error"][f"worst of {_OTHERS}"], found["converter"]["held_out_error"]
        claims.append(
            Claim(
                "target: no spurious limit cycle of a simulated converter on other records",
                worst < 2 * held,
                f"worst of {_OTHERS} records {worst:.2f} V, held-out blocks {held:.2f} V",
            )
        )
    return Result(metrics, claims, {"shown": {name: one["shown"] for name, one in found.items()}})


def table(result: Result) -> str:
    """One row per system and test."""
    rows = [
        [
            name,
            test.replace("_", " "),
            f"{value:.3f} {one['unit']}",
            f"{NAMED[name][test]} mV" if name in NAMED else "",
            one["form"],
            one["memory"],
            one["unknowns"],
        ]
        for name, one in result.metrics.items()
        for test, value in one["error"].items()
    ]
    header = ["system", "test", "error", "hand-specified structure", "identified form", "memory", "numbers"]
    return f"{markdown_table(header, rows)}\n\nRoot mean squared error of a free simulation.\n"


def report(result: Result, folder: Path) -> None:
    """The table, and a held-out block of each system."""
    from hippozoo.plotting import ink

    (folder / "table.md").write_text(table(result), encoding="utf-8")
    shown = result.arrays["shown"]
    with drawing(folder, "held-out", (8.0, 1.9 * len(shown) + 0.4)) as figure:
        axes = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
        for ax, (name, (measured, simulated)) in zip(axes, shown.items(), strict=True):
            ax.plot(measured, color=ink(), linewidth=0.9, label="measured")
            ax.plot(simulated, color="C1", linewidth=1.0, label="simulated, held out")
            unit = result.metrics[name]["unit"]  # of the errors, a thousandth of the record's where it begins with m
            ax.set(ylabel=f"output ({unit.removeprefix('m')})", title=f"{name}: {result.metrics[name]['form']}")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=8)
        axes[-1].set_xlabel("sample")
