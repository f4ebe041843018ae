"""Forecasts of statsforecast, made in an environment of its own: tasks as JSON on stdin, forecasts as JSON lines.

A task is {"name", "season", "horizon", "pasts": [[…], …]}. Every model is fitted anew to each past.
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
    """Answer all tasks, one line for each model."""
    for task in json.load(sys.stdin):
        for name, model in models(task["season"], len(task["pasts"][0])).items():
            made, begin = [], time.process_time()
            for past in task["pasts"]:
                found = model.forecast(y=np.array(past), h=task["horizon"], level=LEVELS)
                made.append({key: np.asarray(one, float).tolist() for key, one in found.items() if key != "fitted"})
            seconds = (time.process_time() - begin) / len(made)
            print(json.dumps({"name": task["name"], "model": name, "made": made, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
