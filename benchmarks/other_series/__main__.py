"""Forecasts of series that come with packages, beside those of statsforecast.

    python -m venv ENV && ENV/bin/pip install -r benchmarks/other_series/requirements.txt
    python -m benchmarks.other_series --rivals ENV/bin/python

writes results/other-series/metrics.json and table.md, series by series: what is there is not run again. Every method
forecasts from the same origins, at most eight, a horizon apart, so that no two forecasts overlap; each knows only what
came before. Rivals are fitted to the last 1,000 values; ours learns on from origin to origin. Nothing is tuned here.
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
SHORT = 300  # fewer values are a short series


def origins_of(case: Case, values: np.ndarray) -> list[int]:
    """The last ones, a horizon apart, as long as four horizons and two seasons have come before."""
    first = max(4 * case.horizon, 2 * max(case.seasons, default=1), len(values) // 3)
    return [at for k in range(ORIGINS, 0, -1) if (at := len(values) - k * case.horizon) >= first]


def ours(case: Case, values: np.ndarray, origins: list[int]) -> tuple[list[dict[str, Any]], float, str]:
    """Means and bands from every origin, seconds of one forecast with its back-test, and the last verdict."""
    season = case.seasons or 1
    hippozoo.forecast(values[: origins[0]][-FITTED:], case.horizon, season=season)  # compiles, once per machine
    begin, made = time.process_time(), []
    result = hippozoo.forecast(values[: origins[0]], case.horizon, season=season)
    for at in origins:
        if at > origins[0]:
            result.update(values[at - case.horizon : at])
        forecast = result.run.forecast
        one: dict[str, Any] = {"mean": forecast.samples()[0]}
        for level in (80, 95):
            lower, upper = forecast.band(level / 100)
            one |= {f"lo-{level}": lower[0], f"hi-{level}": upper[0]}
        made.append(one)
    return made, (time.process_time() - begin) / len(origins), str(result.verdict["value"].sentence)


def repeated(case: Case, values: np.ndarray, origins: list[int]) -> list[dict[str, Any]]:
    """The last season once more; without one, the last value."""
    season = case.seasons[0] if case.seasons else 1
    return [{"mean": values[at - season + np.arange(case.horizon) % season]} for at in origins]


def fitted(case: Case, values: np.ndarray, origins: list[int], rivals: str) -> dict[str, dict[str, Any]]:
    """What each rival forecasts, in an environment of its own, and its seconds."""
    task = {
        "season": case.seasons[0] if case.seasons else 1,
        "horizon": case.horizon,
        "pasts": [values[max(0, at - FITTED) : at].tolist() for at in origins],
    }
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [rivals, str(HERE / "rivals.py")], input=json.dumps(task), capture_output=True, text=True, env=own, check=True
    )
    return json.loads(done.stdout)


def score(values: np.ndarray, origins: list[int], made: list[dict[str, Any]], unit: float) -> dict[str, float]:
    """Mean absolute error in units of the mean change; shares inside the bands, and their width."""
    ahead = len(made[0]["mean"])
    truth = np.stack([values[at : at + ahead] for at in origins])
    found = {"error": float(np.abs(np.stack([one["mean"] for one in made]) - truth).mean() / unit)}
    for level in (80, 95):
        if f"lo-{level}" in made[0]:
            lower, upper = (np.stack([one[f"{side}-{level}"] for one in made]) for side in ("lo", "hi"))
            found[f"inside_{level}"] = float(((lower <= truth) & (truth <= upper)).mean())
            found[f"width_{level}"] = float((upper - lower).mean() / unit)
    return found


def compare(case: Case, rivals: str) -> dict[str, Any]:
    """All methods on one series."""
    values = case.make()
    origins = origins_of(case, values)
    unit = float(np.abs(np.diff(values[: origins[0]])).mean())
    made, seconds, said = ours(case, values, origins)
    methods = {OURS: score(values, origins, made, unit) | {"seconds": seconds}}
    methods[SEASONAL] = score(values, origins, repeated(case, values, origins), unit)
    for name, answer in fitted(case, values, origins, rivals).items():
        methods[name] = score(values, origins, answer["made"], unit) | {"seconds": answer["seconds"]}
    return {
        "horizon": case.horizon,
        "values": len(values),
        "origins": len(origins),
        "verdict": said,
        "methods": methods,
    }


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Error of each method beside ours: geometric mean of the ratios, its standard error; bands and seconds."""
    answer: dict[str, Any] = {}
    for kind, chosen in (
        ("all", list(found.values())),
        ("short", [one for one in found.values() if one["values"] < SHORT]),
        ("long", [one for one in found.values() if one["values"] >= SHORT]),
    ):
        answer[kind] = {"series": len(chosen)}
        for method in (OURS, SEASONAL, *RIVALS) if chosen else ():
            scores = [one["methods"][method] for one in chosen]
            ratio = np.log([one["methods"][method]["error"] / one["methods"][OURS]["error"] for one in chosen])
            mean = float(np.exp(ratio.mean()))
            answer[kind][method] = {
                "ratio": mean,
                "standard_error": mean * float(ratio.std() / np.sqrt(max(len(ratio) - 1, 1))),
                "we_are_ahead_on": int((ratio > 0).sum()),
            } | {
                key: float(np.mean([one[key] for one in scores]))
                for key in ("inside_80", "inside_95", "width_80", "width_95", "seconds")
                if key in scores[0]
            }
    return answer


def table(found: dict[str, Any]) -> str:
    """Markdown: mean absolute errors relative to ours; above 1 we are better."""
    methods, told = (SEASONAL, *RIVALS), summary(found)
    rows = [
        f"| series | values | steps ahead | {' | '.join(methods)} | the command says |",
        "|" + "---|" * (len(methods) + 4),
    ]
    for name, one in found.items():
        scores = one["methods"]
        cells = [f"{scores[method]['error'] / scores[OURS]['error']:.2f}" for method in methods]
        rows.append(f"| {name} | {one['values']:,} | {one['horizon']} | {' | '.join(cells)} | {one['verdict']} |")
    for kind, one in told.items():
        if one["series"]:
            cells = [f"**{one[method]['ratio']:.2f}** ± {one[method]['standard_error']:.2f}" for method in methods]
            rows.append(f"| **{kind}, {one['series']} series** | | | {' | '.join(cells)} | |")
    rows += ["", f"Mean absolute errors relative to ours: above 1 we are better. Short: fewer than {SHORT} values.", ""]
    rows += [
        "| method | inside 80 % | inside 95 % | width of 95 %, to ours | seconds a forecast |",
        "|---|---|---|---|---|",
    ]
    whole = told["all"]
    for method in (OURS, *RIVALS):
        one = whole[method]
        rows.append(
            f"| {method} | {one['inside_80']:.0%} | {one['inside_95']:.0%} | "
            f"{one['width_95'] / whole[OURS]['width_95']:.2f} | {one['seconds']:.3f} |"
        )
    return "\n".join([*rows, ""])


def run(rivals: str, folder: Path, names: list[str]) -> None:
    """The series that are not there yet; numbers and table."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metrics.json"
    found = json.loads(path.read_text())["series"] if path.exists() else {}
    for name in names:
        if name not in found:
            found[name] = compare(SERIES[name], rivals)
            ordered = {one: found[one] for one in SERIES if one in found}
            content = {"origins": ORIGINS, "rivals_fitted_to_the_last": FITTED, "summary": summary(ordered)}
            path.write_text(json.dumps(content | {"series": ordered}, indent=1, ensure_ascii=False) + "\n")
            (folder / "table.md").write_text(table(ordered))
            print(name, {method: round(one["error"], 3) for method, one in found[name]["methods"].items()}, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rivals", required=True, help="Python of the environment with statsforecast")
    parser.add_argument("--out", type=Path, default=Path("results/other-series"))
    parser.add_argument("--only", nargs="*", choices=list(SERIES), default=list(SERIES), metavar="SERIES")
    given = parser.parse_args()
    run(given.rivals, given.out, given.only)
