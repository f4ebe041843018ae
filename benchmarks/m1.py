"""Short series: the M1 competition, by the average of relative sMAPE and MASE (OWA), beside Naive2.

    python benchmarks/m1.py FOLDER            the last horizon of the training values, to choose by
    python benchmarks/m1.py FOLDER --test     the test values, once everything is chosen

FOLDER holds `yearly-train.csv`, `yearly-test.csv` and so on. Standard errors are a bootstrap over series, seed 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from hippozoo.ensemble import forecaster_for
from hippozoo_studies.data.m4 import mase, naive2, smape

# Horizon and season.
FREQUENCIES = {"yearly": (6, 1), "quarterly": (8, 4), "monthly": (18, 12)}


def rows(path: Path) -> list[np.ndarray]:
    """The values of every series."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return [np.array([float(cell) for cell in line.split(",")[1:] if cell]) for line in lines]


def split(folder: Path, name: str, *, test: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Past and future of every series that is long enough."""
    horizon, series = FREQUENCIES[name][0], rows(folder / f"{name}-train.csv")
    if test:
        return list(zip(series, rows(folder / f"{name}-test.csv"), strict=True))
    return [(one[:-horizon], one[-horizon:]) for one in series if len(one) >= 2 * horizon + 4]


def scores(past: np.ndarray, future: np.ndarray, horizon: int, season: int) -> list[float]:
    """MASE of ours and of Naive2, then sMAPE of both."""
    forecaster = forecaster_for(horizon, season=season if season > 1 else None)
    ours = forecaster.forecast(forecaster.learn(forecaster.initial_state(), past)).samples()
    both = (ours, naive2(past, horizon, season))
    return [*(mase(future, one, past, season) for one in both), *(smape(future, one) for one in both)]


def owa(found: np.ndarray) -> float:
    """Overall weighted average: of both errors, relative to Naive2."""
    ours, base, our_share, base_share = found.mean(axis=0)
    return float((ours / base + our_share / base_share) / 2)


def main() -> None:
    """Print one line for each frequency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--test", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    for name, (horizon, season) in FREQUENCIES.items():
        cases = split(arguments.folder, name, test=arguments.test)
        found = np.array([scores(*one, horizon, season) for one in cases])
        drawn = [owa(found[rng.integers(len(found), size=len(found))]) for _ in range(500)]
        print(f"{name:10} {len(found):4} series  OWA {owa(found):.3f} ± {np.std(drawn):.3f}")


if __name__ == "__main__":
    main()
