"""Forecasts of series that come with packages, beside those of statsforecast.

    python -m venv ENV && ENV/bin/pip install -r benchmarks/other_series/requirements.txt
    python -m benchmarks.other_series --rivals ENV/bin/python

writes results/other-series/metrics.json and table.md. Every method forecasts from the same origins, at most eight, a
horizon apart, so that no two forecasts overlap; each knows only what came before. Rivals are fitted to the last 1,000
values; ours learns on from origin to origin. Nothing is tuned here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import hippozoo
from benchmarks.other_series.series import SERIES, Case

HERE = Path(__file__).parent
OURS, SEASONAL = "hippozoo", "season repeated"
RIVALS = ("AutoETS", "AutoTheta", "AutoARIMA")
ORIGINS, FITTED = 8, 1000


def origins_of(case: Case, values: np.ndarray) -> list[int]:
    """The last ones, a horizon apart, as long as four horizons and two seasons have come before."""
    first = max(4 * case.horizon, 2 * max(case.seasons, default=1), len(values) // 3)
    return [at for k in range(ORIGINS, 0, -1) if (at := len(values) - k * case.horizon) >= first]


def ours(case: Case, values: np.ndarray, origins: list[int]) -> tuple[list[dict[str, Any]], float, str]:
    """Means and bands from every origin, seconds of one forecast with its back-test, and the last verdict."""
    begin, result, made = time.process_time(), None, []
    for at in origins:
        if result is None:
            result = hippozoo.forecast(values[:at], case.horizon, season=case.seasons or 1)
        else:
            result.update(values[at - case.horizon : at])
        leads, forecast = result.run.forecast.leads(), result.run.forecast
        one: dict[str, Any] = {"mean": forecast.mean(leads)[0]}
        for level in (80, 95):
            lower, upper = forecast.band(leads, level / 100)
            one |= {f"lo-{level}": lower[0], f"hi-{level}": upper[0]}
        made.append(one)
    assert result is not None
    return made, (time.process_time() - begin) / len(origins), str(result.verdict["value"].sentence)


def repeated(case: Case, values: np.ndarray, origins: list[int]) -> list[dict[str, Any]]:
    """The last season once more; without one, the last value."""
    season = case.seasons[0] if case.seasons else 1
    return [{"mean": values[at - season + np.arange(case.horizon) % season]} for at in origins]


def score(values: np.ndarray, origins: list[int], made: list[dict[str, Any]], unit: float) -> dict[str, float]:
    """Mean absolute error in units of the mean change, and shares inside the bands."""
    ahead = len(made[0]["mean"])
    truth = np.stack([values[at : at + ahead] for at in origins])
    found = {"error": float(np.abs(np.stack([one["mean"] for one in made]) - truth).mean() / unit)}
    for level in (80, 95):
        if f"lo-{level}" in made[0]:
            lower, upper = (np.stack([one[f"{side}-{level}"] for one in made]) for side in ("lo", "hi"))
            found[f"inside_{level}"] = float(((lower <= truth) & (truth <= upper)).mean())
            found[f"width_{level}"] = float((upper - lower).mean() / unit)
    return found


def run(rivals: str, folder: Path) -> None:
    """All series; numbers and table."""
    tasks, found = [], {}
    for name, case in SERIES.items():
        values = case.make()
        origins = origins_of(case, values)
        unit = float(np.abs(np.diff(values[: origins[0]])).mean())
        made, seconds, said = ours(case, values, origins)
        entry: dict[str, Any] = {
            "horizon": case.horizon,
            "values": len(values),
            "origins": len(origins),
            "verdict": said,
        }
        entry["methods"] = {OURS: score(values, origins, made, unit) | {"seconds": seconds}}
        entry["methods"][SEASONAL] = score(values, origins, repeated(case, values, origins), unit)
        found[name] = entry
        season = case.seasons[0] if case.seasons else 1
        pasts = [values[max(0, at - FITTED) : at].tolist() for at in origins]
        tasks.append({"name": name, "season": season, "horizon": case.horizon, "pasts": pasts})
        print(name, entry["methods"][OURS], flush=True)
    worker = subprocess.Popen(
        [rivals, str(HERE / "rivals.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_clean()
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(tasks))
    worker.stdin.close()
    for line in worker.stdout:
        answer = json.loads(line)
        case, values = SERIES[answer["name"]], SERIES[answer["name"]].make()
        origins = origins_of(case, values)
        unit = float(np.abs(np.diff(values[: origins[0]])).mean())
        scored = score(values, origins, answer["made"], unit) | {"seconds": answer["seconds"]}
        found[answer["name"]]["methods"][answer["model"]] = scored
        print(answer["name"], answer["model"], scored, flush=True)
        write(found, folder)
    if worker.wait():
        raise SystemExit(f"{rivals} ended with {worker.returncode}")


def _clean() -> dict[str, str]:
    """The environment without our packages, which the rivals' Python has not."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def write(found: dict[str, Any], folder: Path) -> None:
    """Numbers, and a table of errors beside ours."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {name: one for name, one in found.items() if len(one["methods"]) == len(RIVALS) + 2}
    content = {"origins": ORIGINS, "rivals_fitted_to_the_last": FITTED, "summary": summary(whole), "series": found}
    (folder / "metrics.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "table.md").write_text(table(whole))


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Error of each rival beside ours: geometric mean of the ratios, one standard error, median; bands and seconds."""
    answer: dict[str, Any] = {}
    for kind, chosen in (
        ("all", list(found)),
        ("short", [name for name, one in found.items() if one["values"] < 300]),
        ("long", [name for name, one in found.items() if one["values"] >= 300]),
    ):
        answer[kind] = {"series": len(chosen)}
        for method in (OURS, SEASONAL, *RIVALS):
            scores = [found[name]["methods"][method] for name in chosen]
            ratio = [
                np.log(one["error"] / found[n]["methods"][OURS]["error"]) for n, one in zip(chosen, scores, strict=True)
            ]
            if not ratio:
                continue
            spread = float(np.std(ratio) / np.sqrt(max(len(ratio) - 1, 1)))
            told = {
                "ratio": float(np.exp(np.mean(ratio))),
                "standard_error": spread,
                "median": float(np.exp(np.median(ratio))),
            }
            for key in ("inside_80", "inside_95", "width_95", "seconds"):
                if key in scores[0]:
                    told[key] = float(np.mean([one[key] for one in scores]))
            answer[kind][method] = told
    return answer


def table(found: dict[str, Any]) -> str:
    """Markdown: mean absolute errors relative to ours; above 1 we are better."""
    methods = (SEASONAL, *RIVALS)
    rows = [f"| series | values | steps ahead | {' | '.join(methods)} | inside our 95 % | the command says |"]
    rows.append("|" + "---|" * (len(methods) + 5))
    for name, one in found.items():
        scores = one["methods"]
        cells = [f"{scores[method]['error'] / scores[OURS]['error']:.2f}" for method in methods]
        rows.append(
            f"| {name} | {one['values']:,} | {one['horizon']} | {' | '.join(cells)} | "
            f"{scores[OURS]['inside_95']:.0%} | {one['verdict']} |"
        )
    for kind, told in summary(found).items():
        if not told["series"]:
            continue
        cells = [f"{told[one]['ratio']:.2f} ± {told[one]['standard_error']:.2f}" for one in methods]
        rows.append(
            f"| **{kind}, {told['series']} series** | | | {' | '.join(cells)} | {told[OURS]['inside_95']:.0%} | |"
        )
    told = summary(found).get("all", {"series": 0})
    notes = ["", "Mean absolute errors relative to ours: above 1 we are better. Short: fewer than 300 values.", ""]
    if told["series"]:
        bands = "; ".join(
            f"{one} {told[one]['inside_80']:.0%} and {told[one]['inside_95']:.0%}" for one in (OURS, *RIVALS)
        )
        seconds = "; ".join(f"{one} {told[one]['seconds']:.2f}" for one in (OURS, *RIVALS))
        notes += [f"Inside 80 and 95 % bands: {bands}.", "", f"Seconds of processor time a forecast: {seconds}.", ""]
    return "\n".join([*rows, *notes])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rivals", required=True, help="Python of the environment with statsforecast")
    parser.add_argument("--out", type=Path, default=Path("results/other-series"))
    given = parser.parse_args()
    run(given.rivals, given.out)
