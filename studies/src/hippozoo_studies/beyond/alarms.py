"""Anomalies injected into quiet streams: which detectors find them at equal alarm rates (beyond the paper).

Ten kinds of anomalies at three sizes (`hippozoo_studies.data.injected_anomalies`) go into quiet pieces of ETT, M4, an
electrocardiogram, illness counts and simulated sensors, each anomaly into a copy of its own. Each detector and stream
has its own threshold: the one that gives one alarm per 1,000 readings where nothing is injected. Found means a score
above it during the anomaly or within ten readings after. VUS-PR is of the scores themselves.

Settings of our detector were chosen on the development half only; the check half has other columns, series, beats and
families of sensors. Peers have the settings of their libraries and run on the check half alone, since only there is a
comparison fair. Tables have a column that goes on as it once did elsewhere: ordinary by itself, strange beside the
others.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.ensemble import ForecastStream, forecaster_for
from hippozoo_studies import QUIET, Claim, Context, Finished, Result, drawing, markdown_table
from hippozoo_studies.beyond._alarm_peers import DETECTORS, Scorer
from hippozoo_studies.data.injected_anomalies import KINDS, Injection, inject, inject_table
from hippozoo_studies.data.quiet_streams import (
    FAMILIES,
    QuietStream,
    load_quiet_streams,
    load_quiet_tables,
    simulate_sensor,
)
from hippozoo_studies.data.range_scores import threshold_at_rate, vus_pr

PAPER: dict[str, Any] = {}
SELECTS = ("detectors", "halves", "streams", "rates")
MODEL = "detector"
ASSEMBLES_PARTS = True
OWN, APART = "hippozoo", "hippozoo, columns apart"
#: The half on which no setting was chosen.
CHECK = "check"
#: Scores count from this share of a stream on, so that every detector has learnt.
_FROM = 0.25
#: An exceedance so many readings after the anomaly still finds it.
_GRACE = 10
_BOOTSTRAP = 2000
TABLES = "columns apart"
# Metrics and units keep their keys.
_SHOWN = {APART: "hippozoo, columns scored separately", TABLES: "columns that decouple"}
#: Tables are few, so that each has anomalies of several seeds.
_TABLE_SEEDS = 5


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    detectors: tuple[str, ...] = tuple(DETECTORS)
    halves: tuple[str, ...] = (CHECK, "development")
    streams: tuple[str, ...] = ()  # all of the half
    seed: int = 0
    rates: tuple[str, ...] = (*FAMILIES, "white noise", "heavy tails", "walk", "counts", "constant, then noise")
    readings: int = 40_000  # of each family whose alarm rate is measured


QUICK = Config(
    detectors=(OWN, "z-score"), halves=(CHECK,), streams=("steady voltage/2",), rates=("counts",), readings=2_000
)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per detector and family of streams of a half; and one per family whose alarm rate is measured."""
    found = [
        {"detector": detector, "half": half, "family": family}
        for detector in config.detectors
        for half in config.halves
        for family in _families(half, config)
        if (detector == OWN or half == CHECK) and (detector != APART or family == TABLES)
    ]
    return found + [{"detector": OWN, "half": "rate", "family": family} for family in config.rates]


_REAL = ("ETTh1", "ETTm1", "M4 hourly", "M4 weekly", "electrocardiogram", "illness")


def _families(half: str, config: Config) -> tuple[str, ...]:
    if config.streams:
        return tuple(dict.fromkeys(name.split("/")[0] for name in config.streams))
    return (*_REAL, *(name for name, (own, _, _) in FAMILIES.items() if own == half), TABLES)


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Every anomaly of every stream of a family, found or not."""
    if unit["half"] == "rate":
        return _alarm_rate(unit["family"], config.readings)
    if unit["family"] == TABLES:
        streams = load_quiet_tables(unit["half"], context.data)
    elif config.streams:
        streams = [
            QuietStream(name, unit["family"], _made(name, config.readings), FAMILIES[unit["family"]][1])
            for name in config.streams
        ]
    else:
        streams = [one for one in load_quiet_streams(unit["half"], context.data) if one.family == unit["family"]]
    found = {}
    for place, stream in enumerate(streams):
        seeds = range(config.seed, config.seed + (_TABLE_SEEDS if unit["family"] == TABLES else 1))
        make = inject_table if unit["family"] == TABLES else inject
        injections = [one for seed in seeds for one in make(stream, seed)]
        found[stream.name] = score_stream(stream, injections, DETECTORS[unit["detector"]])
        context.progress((place + 1) / len(streams), stream.name)
    return {"streams": found}


def _made(name: str, readings: int) -> np.ndarray:
    family, seed = name.split("/")
    return simulate_sensor(family, readings, np.random.default_rng(int(seed)))


def score_stream(
    stream: QuietStream, injections: Sequence[Injection], make: Callable[[int], Scorer]
) -> dict[str, list[Any]]:
    """Found or not, after how many readings, and VUS-PR of each anomaly of one stream.

    Parameters
    ----------
    stream
        Without anomalies.
    injections
        Each goes into a copy of its own.
    make
        Makes a detector for so many columns.
    """
    rows = stream.values.reshape(len(stream.values), -1)
    scorer, at, quiet = make(rows.shape[1]), 0, np.zeros(len(rows))
    after: dict[int, np.ndarray] = {}
    for place in sorted(range(len(injections)), key=lambda one: injections[one].begin):
        one = injections[place]
        quiet[at : one.begin], at = scorer.push(rows[at : one.begin]), one.begin
        after[place] = copy.deepcopy(scorer).push(one.values.reshape(len(one.values), -1))
    quiet[at:] = scorer.push(rows[at:])
    first = int(_FROM * len(rows))
    threshold = threshold_at_rate(quiet[first:])
    told: list[Any] = []
    for place, one in enumerate(injections):
        above = np.flatnonzero(after[place][: one.end - one.begin + _GRACE] > threshold)
        scores = np.concatenate([quiet[first : one.begin], after[place]])
        delay = int(above[0]) if len(above) else None
        told.append([one.kind, one.size, delay, round(vus_pr(scores, one.begin - first, one.end - first), 4)])
    return {"trials": told}


def _alarm_rate(family: str, readings: int) -> dict[str, Any]:
    """Alarms per 1,000 readings of a quiet stream, as the stream is shipped with a rate of 1."""
    rng = np.random.default_rng(7)
    if family in FAMILIES:
        values = simulate_sensor(family, readings, rng)
    else:
        values = {
            "white noise": lambda: rng.normal(size=readings),
            "heavy tails": lambda: rng.standard_t(3, size=readings),
            "walk": lambda: np.cumsum(rng.normal(size=readings)),
            "counts": lambda: rng.poisson(2.0, size=readings).astype(float),
            "constant, then noise": lambda: np.where(np.arange(readings) < 500, 3.0, 3.0 + rng.normal(size=readings)),
        }[family]()
    pushed = ForecastStream(forecaster_for(24)).push_many(values)
    return {"alarms_per_1000": 1000 * len(pushed.alarms) / readings}


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Means over kinds, by detector and half; differences between ours and each peer, with intervals by stream."""
    rates = {one.unit["family"]: one.result["alarms_per_1000"] for one in finished if one.unit["half"] == "rate"}
    scored: dict[str, dict[str, dict[str, list[Any]]]] = defaultdict(lambda: defaultdict(dict))
    for one in finished:
        if one.unit["half"] != "rate":
            part = "tables" if one.unit["family"] == TABLES else "streams"
            found = {name: trials["trials"] for name, trials in one.result["streams"].items()}
            scored[f"{one.unit['half']}, {part}"][one.unit["detector"]].update(found)
    metrics: dict[str, Any] = {"alarms_per_1000": rates}
    for part, by_detector in scored.items():
        metrics[part] = {name: _summary(found) for name, found in by_detector.items()}
        if OWN in by_detector:
            metrics[part]["ahead of"] = {
                name: _differences(by_detector[OWN], found)
                for name, found in by_detector.items()
                if name != OWN and set(found) <= set(by_detector[OWN])
            }
    return Result(metrics, _claims(metrics), {})


def _cells(found: dict[str, list[Any]]) -> dict[str, dict[str, np.ndarray]]:
    """By kind: share found, delay and VUS-PR of each trial."""
    kinds: dict[str, list[Any]] = defaultdict(list)
    for trials in found.values():
        for kind, *rest in trials:
            kinds[kind].append(rest)
    return {
        kind: {
            "found": np.array([delay is not None for _, delay, _ in rows], float),
            "delay": np.array([np.nan if delay is None else delay for _, delay, _ in rows], float),
            "vus_pr": np.array([volume for *_, volume in rows]),
        }
        for kind, rows in kinds.items()
    }


def _summary(found: dict[str, list[Any]]) -> dict[str, Any]:
    cells = _cells(found)
    kinds = {}
    for kind in sorted(cells, key=[*KINDS, TABLES].index):
        one = cells[kind]
        median = float(np.nanmedian(one["delay"])) if one["found"].any() else None
        kinds[kind] = {
            "trials": len(one["found"]),
            "found": float(one["found"].mean()),
            "median_delay": median,
            "vus_pr": float(one["vus_pr"].mean()),
        }
    delays = [one["median_delay"] for one in kinds.values() if one["median_delay"] is not None]
    mean = {name: float(np.mean([one[name] for one in kinds.values()])) for name in ("found", "vus_pr")}
    return {
        "streams": len(found),
        "over kinds": mean | {"median_delay": float(np.mean(delays)) if delays else None},
        "kinds": kinds,
    }


def _differences(own: dict[str, list[Any]], other: dict[str, list[Any]]) -> dict[str, Any]:
    """Ours minus theirs on the same streams, means over kinds; 2.5 and 97.5 % points where streams are drawn anew."""
    rng, names = np.random.default_rng(0), sorted(other)
    kinds = [
        kind for kind in (*KINDS, TABLES) if any(trial[0] == kind for trials in other.values() for trial in trials)
    ]
    sums = np.zeros((3, len(names), len(kinds)))  # how many trials, differences of found and of VUS-PR
    for row, name in enumerate(names):
        for mine, theirs in zip(own[name], other[name], strict=True):
            gained = (mine[2] is not None) - float(theirs[2] is not None), mine[3] - theirs[3]
            sums[:, row, kinds.index(mine[0])] += 1.0, *gained
    drawn = rng.integers(len(names), size=(_BOOTSTRAP, len(names)))
    told = {}
    for place, measure in enumerate(("found", "vus_pr"), start=1):
        means = sums[place].sum(axis=0) / sums[0].sum(axis=0)
        counts = sums[0][drawn].sum(axis=1)
        again = np.where(counts > 0, sums[place][drawn].sum(axis=1) / np.maximum(counts, 1), np.nan)
        spread = np.quantile(np.nanmean(again, axis=1), [0.025, 0.975])
        told[measure] = {"mean": float(means.mean()), "interval": [float(one) for one in spread]}
    return told


def _claims(metrics: dict[str, Any]) -> list[Claim]:
    claims = []
    for part, title in (("check, streams", "injected anomalies"), ("check, tables", _SHOWN[TABLES])):
        ahead = metrics.get(part, {}).get("ahead of", {})
        if ahead:
            lowest = {
                measure: min((one[measure]["interval"][0], one[measure]["mean"], name) for name, one in ahead.items())
                for measure in ("found", "vus_pr")
            }
            told = "; ".join(
                f"{measure.replace('_', '-').upper() if measure != 'found' else 'share detected'}: smallest lead, "
                f"over {_shown(name)}: {mean:.3f} (at least {low:.3f})"
                for measure, (low, mean, name) in lowest.items()
            )
            claims.append(
                Claim.judged(
                    f"target: {title}, ahead of every peer at equal alarm rate, in share detected and VUS-PR",
                    [low > 0 for low, *_ in lowest.values()],
                    told,
                )
            )
    rates = metrics["alarms_per_1000"]
    if rates:
        low, high = min(rates, key=lambda name: rates[name]), max(rates, key=lambda name: rates[name])
        claims.append(
            Claim(
                "target: alarm rate within a factor of two of one per 1,000 on anomaly-free families",
                all(0.5 <= one <= 2 for one in rates.values()),
                f"{rates[low]:.2f} ({low}) to {rates[high]:.2f} ({high}) per 1,000 readings",
            )
        )
    return claims


def table(result: Result) -> str:
    """For each half: means over kinds, differences, and one row for each kind."""
    parts = []
    for part, one in result.metrics.items():
        if part == "alarms_per_1000":
            continue
        detectors = [name for name in one if name != "ahead of"]
        rows = []
        for name in detectors:
            mean, ahead = one[name]["over kinds"], one.get("ahead of", {}).get(name)
            rows.append(
                [
                    _shown(name),
                    one[name]["streams"],
                    f"{mean['found']:.1%}",
                    _number(mean["median_delay"]),
                    f"{mean['vus_pr']:.3f}",
                ]
            )
            for measure in ("found", "vus_pr"):
                rows[-1].append(_interval(ahead[measure]) if ahead else "")
        header = [
            "detector",
            "streams",
            "detected",
            "median delay",
            "VUS-PR",
            "lead in share detected",
            "lead in VUS-PR",
        ]
        parts.append(f"## {part.capitalize()}\n\n{markdown_table(header, rows)}")
        kinds = list(one[detectors[0]]["kinds"])
        for title, write in (
            ("detected", lambda cell: f"{cell['found']:.0%}"),
            ("VUS-PR", lambda cell: f"{cell['vus_pr']:.3f}"),
            ("median delay, in readings", lambda cell: _number(cell["median_delay"])),
        ):
            rows = [[_shown(kind), *(write(one[name]["kinds"][kind]) for name in detectors)] for kind in kinds]
            parts.append(markdown_table([title, *(_shown(name) for name in detectors)], rows))
    rates = result.metrics["alarms_per_1000"]
    if rates:
        rows = [[name, f"{rate:.2f}"] for name, rate in rates.items()]
        alarms = markdown_table(["family", "alarms"], rows)
        parts.append(f"## Alarms per 1,000 anomaly-free readings, rate 1\n\n{alarms}")
    return "\n\n".join(parts) + (
        "\n\nMeans are over kinds; intervals have 95 % coverage when streams are resampled. Every detector has, on "
        "each stream,\nthe threshold that gives one alarm per 1,000 readings without an anomaly.\n"
    )


def _shown(name: str) -> str:
    """A detector or kind in the words of the page."""
    return _SHOWN.get(name, name)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _interval(one: dict[str, Any]) -> str:
    return f"{one['mean']:+.3f} ({one['interval'][0]:+.3f} to {one['interval'][1]:+.3f})"


def report(result: Result, folder: Path) -> None:
    """The table, and VUS-PR by kind."""
    (folder / "table.md").write_text(table(result), encoding="utf-8")
    shown = next((one for name, one in result.metrics.items() if name == "check, streams"), None)
    if shown is None:
        return
    detectors = [name for name in shown if name != "ahead of"]
    kinds = list(shown[detectors[0]]["kinds"])
    with drawing(folder, "kinds", (8.0, 3.4)) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, measure, title in zip(axes, ("found", "vus_pr"), ("share detected", "VUS-PR"), strict=True):
            for name in detectors:
                values = [shown[name]["kinds"][kind][measure] for kind in kinds]
                size = 7 if name == OWN else 4
                ax.plot(values, kinds, "o" if name == OWN else ".", markersize=size, label=_shown(name))
            ax.set(xlabel=title, xlim=(0, 1))
        axes[0].invert_yaxis()
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
