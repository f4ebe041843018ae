"""Forecasts of statsforecast, made in an environment of its own: a task as JSON on stdin, the answer on stdout.

A task is {"season", "horizon", "pasts": [[…], …]}. Every model is fitted anew to each past.
"""

import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from statsforecast.models import AutoARIMA, AutoETS, AutoTheta

LEVELS = [80, 95]


def models(season: int, length: int) -> dict:
    """One of each kind; ETS knows no season above 24, and ARIMA searches as R's auto.arima does, which is its model."""
    return {
        "AutoETS": AutoETS(season_length=season if season <= 24 else 1),
        "AutoTheta": AutoTheta(season_length=season),
        "AutoARIMA": AutoARIMA(season_length=season, approximation=length > 150 or season > 12),
    }


def main() -> None:
    """Answer a task: what each model forecasts from each past, and seconds of processor time a forecast."""
    task, answer = json.load(sys.stdin), {}
    for name, model in models(task["season"], len(task["pasts"][0])).items():
        made, begin = [], time.process_time()
        for past in task["pasts"]:
            found = model.forecast(y=np.array(past), h=task["horizon"], level=LEVELS)
            made.append({key: np.asarray(one, float).tolist() for key, one in found.items() if key != "fitted"})
        answer[name] = {"made": made, "seconds": (time.process_time() - begin) / len(made)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
