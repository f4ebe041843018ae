"""How long a fit with its back-test takes: every series, from every origin, begun anew, on one core.

    python -m benchmarks.other_series.fits

writes results/other-series/fits.json. Only fits whose back-test judges at least 128 origins count.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

import hippozoo
from benchmarks.other_series.__main__ import origins_of
from benchmarks.other_series.series import SERIES

FEWEST = 128


def main(path: Path = Path("results/other-series/fits.json")) -> None:
    """Time all fits, after one of each series that compiles."""
    seconds, origins, values = [], [], []
    for case in SERIES.values():
        whole = case.make()
        hippozoo.forecast(whole[-1000:], case.horizon, season=case.seasons or 1)
        for at in origins_of(case, whole):
            begin = time.process_time()
            found = hippozoo.forecast(whole[:at], case.horizon, season=case.seasons or 1)
            verdict, judged = str(found.verdict), found.run.origins
            if judged >= FEWEST and verdict:
                seconds.append(time.process_time() - begin)
                origins.append(judged)
                values.append(at)
    told = {
        "fits": len(seconds),
        "seconds": float(np.sum(seconds)),
        "seconds_a_fit": float(np.mean(seconds)),
        "microseconds_an_origin": float(1e6 * np.sum(seconds) / np.sum(origins)),
        "median_origins": float(np.median(origins)),
        "most_origins": max(origins),
        "values": int(np.sum(values)),
    }
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(told)


if __name__ == "__main__":
    main()
