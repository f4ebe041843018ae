"""What does each expert and each rule of the ensemble earn? One is taken away at a time.

    python benchmarks/ablation.py [--out benchmarks/ablation] [--only brake] [--sets m4,m1]
    python benchmarks/ablation.py --table

Every variant (`ablation_variants`) is a copy of the package with a line or two changed, compiled and run in a process
of its own. It is measured on the last horizon of the *training* values of M4 (our half, hourly and weekly) and M1
(yearly, quarterly, monthly), on the first twelve months of ETTh1 with and without gaps, on the danger streams of the
tests, by the interval score of 95 % bands on the same series, and by alarms on synthetic streams. No test value is
read.

`base.json` holds the loss of every series for the whole ensemble. Each finished unit (variant, set) is a line of
`units.jsonl` with the change of the mean loss in per cent and its standard error over series (paired). It is not run
again, so the study can be interrupted and resumed; units of other code are refused. All of it takes about an hour of
one core. A part that changes every set by less than two standard errors and less than 0.3 % does not earn its place.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from ablation_variants import VARIANTS, Edit

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hippozoo"
Losses = Iterator[tuple[float, float]]


# -- what is measured: (loss of the mean, loss of the band) of every series --------------------------------------------


def _rows(path: Path) -> Iterator[np.ndarray]:
    for line in path.read_text().splitlines()[1:]:
        yield np.array([float(cell) for cell in line.split(",")[1:] if cell])


def _last_horizon(
    values: np.ndarray, horizon: int, season: Any, is_observed: np.ndarray | None = None
) -> tuple[float, float]:
    """Mean absolute error and interval score of the last horizon, in mean absolute changes of the values before."""
    from hippozoo.ensemble import forecaster_for

    past, future = values[:-horizon], values[-horizon:]
    forecaster = forecaster_for(horizon, season=season)
    mask = None if is_observed is None else is_observed[:-horizon]
    forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), past, mask=mask))
    unit = max(float(np.abs(np.diff(past)).mean()), 1e-9 * float(np.abs(past).max()), 1e-300)
    leads = forecast.leads()
    lower, upper = forecast.band(leads, 0.95)
    outside = np.maximum(lower - future, 0.0) + np.maximum(future - upper, 0.0)
    error = float(np.abs(forecast.mean(leads) - future).mean() / unit)
    return error, float((upper - lower + 40 * outside).mean() / unit)


def _competition(files: dict[str, tuple[int, Any]], data: Path) -> Losses:
    for name, (horizon, season) in files.items():
        for values in _rows(data / name):
            if len(values) >= 2 * horizon + 4:
                yield _last_horizon(values, horizon, season)


def m4(data: Path) -> Losses:
    """Training values of M4, with the seasons of the study."""
    return _competition({"m4/hourly-train.csv": (48, (24, 168)), "m4/weekly-train.csv": (13, 52)}, data)


def m1(data: Path) -> Losses:
    """Training values of M1."""
    files = {"m1/yearly-train.csv": (6, None), "m1/quarterly-train.csv": (8, 4), "m1/monthly-train.csv": (18, 12)}
    return _competition(files, data)


def _ett(data: Path) -> np.ndarray:
    """The seven columns of ETTh1 in its first twelve months, which are the training split of the benchmark."""
    table = np.genfromtxt(data / "ett/ETTh1.csv", delimiter=",", skip_header=1, usecols=range(1, 8))
    return table[: 12 * 30 * 24].T


def ett(data: Path) -> Losses:
    """Horizons of a day, from 20 origins of each column."""
    for column in _ett(data):
        for end in np.linspace(1500, len(column), 20).astype(int):
            yield _last_horizon(column[end - 1500 : end], 24, 24)


def gaps(data: Path) -> Losses:
    """The same after outages, the last of which ends shortly before the origin; every second one with a season."""
    for number, column in enumerate(_ett(data)):
        for end in np.linspace(1500, len(column), 20).astype(int):
            rng = np.random.default_rng(100 * number + end)
            is_observed = np.ones(1500, bool)
            for begin in [*rng.integers(100, 1350, 8), 1500 - 24 - int(rng.integers(0, 40))]:
                is_observed[begin : begin + 1 + int(rng.exponential(12))] = False
            is_observed[-24:] = True
            yield _last_horizon(column[end - 1500 : end], 24, 24 if end % 2 else None, is_observed)


def danger(data: Path) -> Losses:
    """Mean errors beside those of the last value over the two hundred origins after a change."""
    del data
    sys.path.insert(0, str(ROOT / "tests" / "ensemble"))
    from test_danger import CHANGE, dangers

    from hippozoo.ensemble import forecaster_for

    horizon = 6
    for seed in range(4):
        for values in dangers(seed).values():
            forecaster = forecaster_for(horizon)
            state = forecaster.learn(forecaster.initial_state(), values[:CHANGE])
            ours, last = 0.0, 0.0
            for t in range(CHANGE, min(CHANGE + 200, len(values) - horizon)):
                future = values[t : t + horizon]
                forecast = forecaster.forecast(state)
                ours += float(np.abs(forecast.mean(forecast.leads()) - future).mean())
                last += float(np.abs(values[t - 1] - future).mean())
                state = forecaster.learn(state, values[t : t + 1])
            yield ours / max(last, 1e-9 * float(np.abs(values).max())), np.nan


def alarms(data: Path) -> Losses:
    """Waves with a level shift of 1.5 to 4 deviations: readings to the alarm, and false ones per 1,000 readings."""
    del data
    from hippozoo.ensemble import ForecastStream, forecaster_for

    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = np.sin(np.arange(2300) / 4) + 0.2 * rng.normal(size=2300)
        values[2000:] += rng.choice([-0.2, 0.2]) * rng.uniform(1.5, 4.0)
        stream = ForecastStream(forecaster_for(6))
        numbers = [alarm.number for alarm in stream.push_many(values).alarms]
        later = [number - 2000 for number in numbers if number >= 2000]
        yield (later[0] if later else 300.0) + 1.0, sum(number < 2000 for number in numbers) / 2.0


SETS: dict[str, Callable[[Path], Losses]] = {
    "m4": m4, "m1": m1, "ett": ett, "gaps": gaps, "danger": danger, "alarms": alarms,
}  # fmt: skip
COLUMNS = {
    ("m4", "loss"): "M4", ("m1", "loss"): "M1", ("ett", "loss"): "ETT", ("gaps", "loss"): "ETT with gaps",
    ("danger", "loss"): "danger", ("m4", "band"): "M4 band", ("m1", "band"): "M1 band", ("ett", "band"): "ETT band",
    ("gaps", "band"): "gaps band", ("alarms", "loss"): "delay of alarms", ("alarms", "band"): "false alarms",
}  # fmt: skip


# -- running -----------------------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """Of the code that is measured."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / "ensemble").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def copied(edits: list[Edit], folder: Path) -> Path:
    """The package in a folder of its own, edited; an edit that fits nowhere is an error."""
    shutil.copytree(PACKAGE, folder / "hippozoo", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, other in edits:
        path = folder / "hippozoo" / "ensemble" / name
        source = path.read_text()
        if source.count(text) != 1:
            raise ValueError(f"{text!r} occurs {source.count(text)} times in {name}; correct the variant.")
        path.write_text(source.replace(text, other))
    return folder


def known_units(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Units that are finished."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["variant"], line["set"]): line for line in lines}


def known_base(path: Path) -> dict[str, Any]:
    """Losses of the whole ensemble; refuses those of other code."""
    base = json.loads(path.read_text()) if path.exists() else {"code": fingerprint()}
    if base["code"] != fingerprint():
        raise SystemExit(f"{path} is of other code ({base['code']}); delete the folder, or pass a new one by --out.")
    return base


def run(arguments: argparse.Namespace) -> None:
    """All units that are wanted and not finished, one variant after the other."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    at, path = arguments.out / "base.json", arguments.out / "units.jsonl"
    for variant, edits in VARIANTS.items():
        base = known_base(at)
        finished = base if variant == "all" else {name for known, name in known_units(path) if known == variant}
        wanted = [name for name in arguments.sets.split(",") if name not in finished]
        if not wanted or (arguments.only not in variant and variant != "all"):
            continue
        print(f"{variant}: {', '.join(wanted)}", file=sys.stderr, flush=True)
        for name, losses in _measured(edits, wanted, arguments.data):
            if variant == "all":
                base[name] = losses
                at.write_text(json.dumps(base))
                continue
            line = {"variant": variant, "set": name, "seconds": losses["seconds"]}
            line |= {part: _change(base[name][part], losses[part]) for part in ("loss", "band")}
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _measured(edits: list[Edit], sets: list[str], data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Losses of one variant, set by set, from a process that sees nothing else."""
    with tempfile.TemporaryDirectory() as place:
        folder = copied(edits, Path(place))
        environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": place, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--measure", ",".join(sets), "--data", str(data)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                yield found.pop("set"), found
        if process.returncode:
            raise SystemExit(f"a variant failed with code {process.returncode}.")


def measure(sets: str, data: Path) -> None:
    """Some sets, in a process that sees one variant."""
    for name in sets.split(","):
        begun = time.process_time()
        losses = np.array(list(SETS[name](data)))
        rounded = [[None if np.isnan(one) else float(f"{one:.6g}") for one in column] for column in losses.T]
        seconds = round(time.process_time() - begun, 1)
        print(json.dumps({"set": name, "loss": rounded[0], "band": rounded[1], "seconds": seconds}), flush=True)


def _change(base: list[float], other: list[float]) -> list[float] | None:
    """The change of the mean in per cent, and its standard error; for a mean of 0 not relative."""
    before, after = np.array(base, float), np.array(other, float)
    usual = before.mean()
    if np.isnan(usual):
        return None
    change = 100 * (after - before) / (usual if usual > 0 else 1.0)
    return [round(float(change.mean()), 3), round(float(change.std(ddof=1) / np.sqrt(len(change))), 3)]


def table(path: Path) -> str:
    """Changes of the mean loss in per cent, with their standard errors, one line for each variant."""
    units = known_units(path)
    lines = [f"| variant | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for variant in VARIANTS:
        found = [units.get((variant, name), {}).get(part) for name, part in COLUMNS]
        if any(found):
            cells = [f"{one[0]:+.2f} ± {one[1]:.2f}" if one else "" for one in found]
            small = all(one is None or (abs(one[0]) < 0.3 and abs(one[0]) <= 2 * one[1]) for one in found)
            lines.append(f"| {variant}{' (drop)' if small else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "ablation", help="folder of the units")
    parser.add_argument("--only", default="", help="variants that have this in their names")
    parser.add_argument("--sets", default=",".join(SETS), help="of " + ", ".join(SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HIPPOZOO_DATA", "data")), help="data folder")
    parser.add_argument("--table", action="store_true", help="only print what is known")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.data)
        return
    if not arguments.table:
        run(arguments)
    print(table(arguments.out / "units.jsonl"))


if __name__ == "__main__":
    main()
