"""Two measured nonlinear circuits with official test sets: Wiener-Hammerstein (2009) and the Silverbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo.tasks.data_files import data_file

__all__ = ["BENCHMARKS", "Benchmark", "load_benchmark", "published_errors", "rmse_mv"]


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A record of input and output voltages, and which rows are for what.

    Examples
    --------
    >>> record = load_benchmark("silverbox", data="DIR")  # doctest: +SKIP
    >>> record.target[record.tests["multisine"]].shape  # doctest: +SKIP
    (21688,)
    """

    name: str  #: Its name.
    #: Input and output, in volts.
    signal: Float[np.ndarray, " time"]
    target: Float[np.ndarray, " time"]
    rate: float  #: Samples per second.
    train: slice  #: Rows to learn from.
    #: Rows of each test set. A model sees their input, and their output for the first `known` samples only.
    tests: Mapping[str, slice]
    published: Mapping[str, Mapping[str, float]]  #: RMSE in mV of published models on each test set.
    known: int = 50  #: So many samples of a test set start a simulation and do not count.


# Splits as in the nonlinear benchmarks' own package; published figures from arXiv 2405.10779.
# By name: the file, its rows, and what is known without it.
_KNOWN: dict[str, tuple[str, int, dict[str, Any]]] = {
    "wiener-hammerstein": (
        "wiener-hammerstein/WienerHammerBenchmark.csv",
        188_000,
        {
            "rate": 51_200.0,
            "train": slice(5200, 105_200),
            "tests": {"test": slice(105_200, 184_000)},
            "published": {"test": {"fir_mlp": 24.8, "rnn": 6.87, "lstm": 4.45, "gru": 3.97}},
        },
    ),
    "silverbox": (
        "silverbox/SNLS80mV.csv",
        131_072,
        {
            "rate": 610.35,
            "train": slice(40_650, 105_712),
            "tests": {
                "multisine": slice(105_712, 127_400),
                "arrow_full": slice(100, 40_575),
                "arrow_no_extrapolation": slice(100, 32_100),
            },
            "published": {
                "multisine": {"fir_mlp": 18.9, "rnn": 1.64, "lstm": 1.50, "gru": 1.49},
                "arrow_full": {"fir_mlp": 20.2, "rnn": 4.88, "lstm": 2.68, "gru": 2.80},
                "arrow_no_extrapolation": {"fir_mlp": 15.3, "rnn": 1.73, "lstm": 0.96, "gru": 0.95},
            },
        },
    ),
}
BENCHMARKS = tuple(_KNOWN)


def load_benchmark(name: str, data: str | Path | None = None) -> Benchmark:
    """Read a benchmark from the user's data folder.

    Parameters
    ----------
    name
        ``"wiener-hammerstein"`` or ``"silverbox"``.
    data
        The data folder, as for `data_file`.

    Examples
    --------
    >>> from hippozoo.tasks.data_files import MissingDataError
    >>> try:
    ...     benchmark = load_benchmark("silverbox")
    ... except MissingDataError:
    ...     benchmark = None
    >>> benchmark is None or benchmark.rate == 610.35
    True
    """
    if name not in _KNOWN:
        raise ValueError(f"name={name!r} is no benchmark; choose from {', '.join(BENCHMARKS)}.")
    file, rows, known = _KNOWN[name]
    path = data_file(file, data)
    # A line ends in a comma: a third, empty column that is not read.
    table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=(0, 1))
    if table.shape != (rows, 2) or not np.isfinite(table).all():
        raise ValueError(
            f"{path} holds {len(table)} rows of numbers, expected {rows:,} rows of input and output; put the "
            f"original file there."
        )
    return Benchmark(name, table[:, 0].copy(), table[:, 1].copy(), **known)


def published_errors(name: str) -> dict[str, dict[str, float]]:
    """RMSE in mV of published models, by test set; known without the data.

    Examples
    --------
    >>> published_errors("wiener-hammerstein")["test"]["gru"]
    3.97
    """
    return {test: dict(errors) for test, errors in _KNOWN[name][2]["published"].items()}


def rmse_mv(simulated: Float[np.ndarray, " time"], measured: Float[np.ndarray, " time"], known: int = 50) -> float:
    """Root mean squared error in millivolts, without the first `known` samples.

    Examples
    --------
    >>> round(rmse_mv(np.zeros(100), np.full(100, 0.002), known=50), 6)
    2.0
    """
    return float(1e3 * np.sqrt(np.mean((simulated - measured)[known:] ** 2)))
