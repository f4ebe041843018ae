"""Alarms on the Numenta Anomaly Benchmark: one detector, one setting, 31 labelled streams.

Every file is pushed through a `ForecastStream` reading by reading, rows being steps. Its alarms, at the default rate of
one per 1,000 quiet readings, are scored by the benchmark's rule. Windows, memory and silence of the detector were
chosen with the scores of these 31 files in sight, as one setting for all; the other 27 files were never seen.
river's HalfSpaceTrees reads the same streams in the same run; its threshold is the best one on these very files.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo.experiments import QUIET, Claim, Context, Finished, Result, save_figure
from hippozoo.tasks.nab import PROFILES, PUBLISHED, load_stream, outcome, total_score
from hippozoo.zoo.forecasting import Detector, ForecastStream, forecaster_for

PAPER = {"score": {"standard": PUBLISHED}}
SELECTS = ("streams",)
_BOOTSTRAP = 2000


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    streams: tuple[str, ...] = ()  # all that the labels speak of
    horizon: int = 24
    # alarms per 1,000 readings
    rates: tuple[float, ...] = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 4.0)
    rate: float = 1.0  # the one that counts
    peer: bool = True
    most_rows: int | None = None


QUICK = Config(streams=("realAdExchange/exchange-2_cpc_results.csv",), rates=(1.0,), most_rows=600)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per stream."""
    names = config.streams or _ALL
    return [{"stream": name} for name in names]


# The 31 files of the development half; the others are kept for a blind test.
_ALL = (
    "artificialNoAnomaly/art_daily_no_noise.csv",
    "artificialNoAnomaly/art_daily_small_noise.csv",
    "artificialNoAnomaly/art_noisy.csv",
    "artificialWithAnomaly/art_daily_flatmiddle.csv",
    "artificialWithAnomaly/art_daily_jumpsup.csv",
    "artificialWithAnomaly/art_increase_spike_density.csv",
    "realAWSCloudwatch/ec2_cpu_utilization_24ae8d.csv",
    "realAWSCloudwatch/ec2_cpu_utilization_5f5533.csv",
    "realAWSCloudwatch/ec2_cpu_utilization_825cc2.csv",
    "realAWSCloudwatch/ec2_cpu_utilization_c6585a.csv",
    "realAWSCloudwatch/ec2_disk_write_bytes_1ef3de.csv",
    "realAWSCloudwatch/ec2_network_in_257a54.csv",
    "realAWSCloudwatch/elb_request_count_8c0756.csv",
    "realAWSCloudwatch/iio_us-east-1_i-a2eb1cd9_NetworkIn.csv",
    "realAWSCloudwatch/rds_cpu_utilization_e47b3b.csv",
    "realAdExchange/exchange-2_cpc_results.csv",
    "realAdExchange/exchange-3_cpc_results.csv",
    "realAdExchange/exchange-4_cpc_results.csv",
    "realKnownCause/ambient_temperature_system_failure.csv",
    "realKnownCause/ec2_request_latency_system_failure.csv",
    "realKnownCause/nyc_taxi.csv",
    "realKnownCause/rogue_agent_key_updown.csv",
    "realTraffic/TravelTime_387.csv",
    "realTraffic/occupancy_6005.csv",
    "realTraffic/speed_6005.csv",
    "realTraffic/speed_t4013.csv",
    "realTweets/Twitter_volume_AAPL.csv",
    "realTweets/Twitter_volume_CRM.csv",
    "realTweets/Twitter_volume_FB.csv",
    "realTweets/Twitter_volume_IBM.csv",
    "realTweets/Twitter_volume_PFE.csv",
)


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Push every reading; the errors of the forecast are kept, so that other rates need no second pass."""
    stream = load_stream(unit["stream"], context.data)
    values = stream.values[: config.most_rows]
    pushing = ForecastStream(forecaster_for(config.horizon), rate=config.rate)
    errors = np.full(len(values), np.nan)
    expected, lower, upper = (np.full(len(values), np.nan) for _ in range(3))
    alarms: list[int] = []
    begun = time.perf_counter()
    for row, value in enumerate(values):
        pushed = pushing.push(float(value))
        assert pushed is not None  # without times nothing is late
        errors[row] = pushed.error
        expected[row], lower[row], upper[row] = pushed.expected, pushed.lower, pushed.upper
        if pushed.alarms:
            alarms.append(row)
        if row % 500 == 0:
            context.progress(0.8 * row / len(values), unit["stream"])
    seconds = time.perf_counter() - begun
    by_rate = {}
    for rate in config.rates:
        detector = Detector(rate=rate)
        _, surprise = detector.watch(detector.initial_state(), values, errors)
        by_rate[f"{rate:g}"] = np.flatnonzero(surprise.alarm).tolist()
    inside = (values >= lower) & (values <= upper)
    known = np.isfinite(lower)
    return {
        "rows": len(values),
        "windows": [list(window) for window in stream.windows],
        "alarms": alarms,
        "by_rate": by_rate,
        "seconds_per_1000": 1000 * seconds / len(values),
        "coverage": float(inside[known].mean()) if known.any() else None,
        "peer": _half_space_trees(values) if config.peer else None,
    }


def _half_space_trees(values: np.ndarray) -> dict[str, Any] | None:
    """The scores of river's HalfSpaceTrees where they are highest, and its time."""
    try:
        from river import anomaly, preprocessing
    except ImportError:
        return None
    scaler, trees = preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=0)
    scores = np.zeros(len(values))
    begun = time.perf_counter()
    for row, value in enumerate(values):
        x: Any = {"value": float(value)}
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        scores[row] = trees.score_one(x)
        trees.learn_one(x)
    seconds = time.perf_counter() - begun
    order = np.argsort(-scores, kind="stable")[:200]
    return {
        "rows": order.tolist(),
        "scores": scores[order].round(6).tolist(),
        "seconds_per_1000": 1000 * seconds / len(values),
    }


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Scores by profile with their uncertainty, by rate and by stream."""
    found = {one.unit["stream"]: one.result for one in finished}
    profiles = {name: [_outcome(one, one["alarms"], name) for one in found.values()] for name in PROFILES}
    standard = profiles["standard"]
    metrics: dict[str, Any] = {
        "score": {name: _score_or_none(outcomes) for name, outcomes in profiles.items()},
        "interval": {name: _interval(outcomes) for name, outcomes in profiles.items()},
        "by_rate": {
            rate: _score_or_none([_outcome(one, one["by_rate"][rate], "standard") for one in found.values()])
            for rate in next(iter(found.values()))["by_rate"]
        },
        "windows": sum(one.windows for one in standard),
        "found": sum(one.found for one in standard),
        "false_alarms": sum(one.outside for one in standard),
        "readings": sum(one["rows"] for one in found.values()),
        "alarms_per_1000": 1000
        * sum(len(one["alarms"]) for one in found.values())
        / sum(one["rows"] for one in found.values()),
        "seconds_per_1000": float(np.mean([one["seconds_per_1000"] for one in found.values()])),
        "coverage_95": float(np.mean([one["coverage"] for one in found.values() if one["coverage"] is not None])),
        "streams": {
            name: {"found": one.found, "windows": one.windows, "false_alarms": one.outside, "score": one.score}
            for name, one in zip(found, standard, strict=True)
        },
    }
    # Steadier than the score at one rate, which may stand on a peak.
    near = [metrics["by_rate"][f"{rate:g}"] for rate in config.rates if 0.7 <= rate / config.rate <= 1.4]
    metrics["mean_score_near_the_rate"] = float(np.mean(near)) if near and None not in near else None
    peers = {name: one["peer"] for name, one in found.items() if one["peer"]}
    if peers:
        metrics["half_space_trees"] = {
            "best_score": _best_peer(found, peers),
            "seconds_per_1000": float(np.mean([one["seconds_per_1000"] for one in peers.values()])),
        }
    return Result(metrics, _claims(metrics), {"found": found, "data": None})


def _outcome(result: dict[str, Any], alarms: list[int], profile: str) -> Any:
    windows = [tuple(window) for window in result["windows"] if window[1] < result["rows"]]
    return outcome(result["rows"], windows, alarms, profile)


def _score_or_none(outcomes: list[Any]) -> float | None:
    return total_score(outcomes) if any(one.windows for one in outcomes) else None


def _interval(outcomes: list[Any]) -> list[float] | None:
    """Between the 2.5 and the 97.5 % point of the score, streams being drawn with replacement."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(_BOOTSTRAP):
        drawn = [outcomes[place] for place in rng.integers(len(outcomes), size=len(outcomes))]
        if any(one.windows for one in drawn):
            scores.append(total_score(drawn))
    return [float(one) for one in np.quantile(scores, [0.025, 0.975])] if scores else None


def _best_peer(found: dict[str, Any], peers: dict[str, Any]) -> float | None:
    """The score at the best of all thresholds, with the same silence after an alarm."""
    silence = Detector().silence
    levels = np.unique(np.concatenate([np.asarray(one["scores"]) for one in peers.values()]))
    best = None
    for level in levels[:: max(len(levels) // 60, 1)]:
        outcomes = []
        for name, peer in peers.items():
            rows = sorted(row for row, score in zip(peer["rows"], peer["scores"], strict=True) if score >= level)
            kept: list[int] = []
            for row in rows:
                if not kept or row - kept[-1] > silence:
                    kept.append(row)
            outcomes.append(_outcome(found[name], kept, "standard"))
        score = _score_or_none(outcomes)
        best = score if best is None or (score is not None and score > best) else best
    return best


def _claims(metrics: dict[str, Any]) -> list[Claim]:
    score, interval = metrics["score"]["standard"], metrics["interval"]["standard"]
    if score is None or interval is None:
        return []
    told = f"{score:.1f} ({interval[0]:.0f} to {interval[1]:.0f} by drawing streams again)"
    return [
        Claim("target: at least 65 with one setting for all files", score >= 65, told),
        Claim("target: past Numenta HTM (71.2)", score > PUBLISHED["Numenta HTM"], told),
        Claim("target: past ARTime (78.1)", score > PUBLISHED["ARTime"], told),
        Claim(
            "ours: alarms come at about the rate asked for, one per 1,000 readings",
            0.5 <= metrics["alarms_per_1000"] <= 2,
            f"{metrics['alarms_per_1000']:.2f} per 1,000, those inside the labelled windows included",
        ),
    ]


def report(result: Result, folder: Path) -> None:
    """Where the alarms are, stream by stream, and the score beside those of others."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import ink, style

    found = result.arrays["found"]
    with style():
        figure = Figure(figsize=(7.2, 0.24 * len(found) + 1.2), layout="constrained")
        ax = figure.subplots()
        for place, one in enumerate(found.values()):
            ax.plot([0, 1], [place, place], color=ink(), linewidth=0.4)
            for first, last in one["windows"]:
                ax.plot([first / one["rows"], last / one["rows"]], [place, place], color="C0", linewidth=6, alpha=0.5)
            ax.plot(np.array(one["alarms"]) / one["rows"], [place] * len(one["alarms"]), "|", color="C1", markersize=9)
        ax.plot([], [], color="C0", linewidth=6, alpha=0.5, label="labelled window")
        ax.plot([], [], "|", color="C1", markersize=9, label="alarm")
        ax.set_yticks(range(len(found)), [name.split("/")[1].removesuffix(".csv") for name in found], fontsize=6)
        ax.set(xlabel="part of the stream", ylim=(len(found) - 0.5, -0.5))
        figure.legend(loc="outside upper right", ncols=2, fontsize=7)
        save_figure(figure, folder, "alarms")

        score = result.metrics["score"]["standard"]
        if score is None:
            return
        others = dict(sorted([*PUBLISHED.items(), ("hippozoo", score)], key=lambda one: one[1]))
        figure = Figure(figsize=(5.4, 3.0), layout="constrained")
        ax = figure.subplots()
        ax.barh(list(others), list(others.values()), color=["C1" if one == "hippozoo" else "C0" for one in others])
        low, high = result.metrics["interval"]["standard"]
        ax.plot([low, high], ["hippozoo", "hippozoo"], color=ink(), linewidth=1)
        ax.set(xlabel="score, standard profile (0: no alarm at all, 100: perfect)")
        save_figure(figure, folder, "scores")
