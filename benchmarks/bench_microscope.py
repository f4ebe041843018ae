"""What does a look cost? A layer of 1,000 numbers over 32 x 512 samples, against refitting for every band and draw."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

import resource
from typing import Any

import numpy as np

from hippozoo.microscope import look

__all__ = ["run"]

BATCH, SAMPLES, SIZE, LAGS = 32, 512, 1_000, 64


def recorded() -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and states that mix the last 200 of them and noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCH, SAMPLES, 1))
    past = np.stack([np.pad(x[..., 0], ((0, 0), (lag, 0)))[:, :SAMPLES] for lag in range(200)], -1)
    return past @ rng.normal(size=(200, SIZE)) + rng.normal(size=(BATCH, SAMPLES, SIZE)), x


def one_fit(states: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The obvious alternative for one lag and one split: least squares on all rows of four fifths of the sequences."""
    rows = states[:26, LAGS:].reshape(-1, SIZE)
    return np.linalg.lstsq(rows, x[:26, :-LAGS].reshape(-1), rcond=None)[0]


def run() -> list[dict[str, Any]]:
    """A profile with chance level and bands, beside one least-squares fit of one lag."""
    states, x = recorded()
    ours = seconds(lambda: look(states, x, LAGS).profile, 1)
    plain = seconds(lambda: one_fit(states, x), 1)
    name = f"profile of {LAGS} lags, {SIZE} numbers, {BATCH} x {SAMPLES} samples"
    found = row(name, ours, plain, against="one fit of one lag by numpy's lstsq", samples=BATCH * SAMPLES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"states {states.nbytes / 2**20:.0f} MB, peak of the process {peak:.0f} MB")
    return [found]


if __name__ == "__main__":
    for one in run():
        print(one)
