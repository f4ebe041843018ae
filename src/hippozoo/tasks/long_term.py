"""Long-term forecasting as the literature does it: data sets, splits, windows and published errors.

The protocol is that of Zeng et al. (2023), "Are Transformers Effective for Time Series Forecasting?": every column is
standardised by the training split; from every origin of the test split the next `horizon` rows of all columns are
forecast; errors are averaged over origins, columns and leads. The past may reach back into the splits before.

The published program drops the last incomplete batch of 32 test windows, which a table over all windows does not;
`Split.origins` can do both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from hippozoo._arguments import whole_number
from hippozoo.tasks.data_files import data_file

__all__ = ["PUBLISHED", "LongTermData", "load_long_term", "split_series"]

Name = Literal["ETTh1", "ETTm1", "illness"]
Split = Literal["train", "validation", "test"]

_FILES = {"ETTh1": "ett/ETTh1.csv", "ETTm1": "ett/ETTm1.csv", "illness": "illness/national_illness.csv"}
# Rows per day; the ETT splits are 12, 4 and 4 months of 30 days.
_ROWS_A_DAY = {"ETTh1": 24, "ETTm1": 96}
_BATCH = 32

# Mean squared errors as printed: DLinear, NLinear, repeat-last by Zeng et al. (2023), PatchTST/64 by Nie et al. (2023).
PUBLISHED: dict[str, dict[str, dict[int, float]]] = {
    "ETTh1": {
        "DLinear": {96: 0.375, 192: 0.405, 336: 0.439, 720: 0.472},
        "NLinear": {96: 0.374, 192: 0.408, 336: 0.429, 720: 0.440},
        "PatchTST/64": {96: 0.370, 192: 0.413, 336: 0.422, 720: 0.447},
        "repeat-last": {96: 1.295, 192: 1.325, 336: 1.323, 720: 1.339},
    },
    "ETTm1": {
        "DLinear": {96: 0.299, 192: 0.335, 336: 0.369, 720: 0.425},
        "NLinear": {96: 0.306, 192: 0.349, 336: 0.375, 720: 0.433},
        "PatchTST/64": {96: 0.293, 192: 0.333, 336: 0.369, 720: 0.416},
        "repeat-last": {96: 1.214, 192: 1.261, 336: 1.283, 720: 1.319},
    },
    "illness": {
        "DLinear": {24: 2.215, 36: 1.963, 48: 2.130, 60: 2.368},
        "NLinear": {24: 1.683, 36: 1.703, 48: 1.719, 60: 1.819},
        "PatchTST/64": {24: 1.319, 36: 1.579, 48: 1.553, 60: 1.470},
        "repeat-last": {24: 6.587, 36: 7.130, 48: 6.575, 60: 5.893},
    },
}


@dataclass(frozen=True, eq=False)
class LongTermData:
    """A standardised series with its three splits.

    Parameters
    ----------
    values
        (time, channels); each channel has mean 0 and variance 1 over the training split.
    ends
        Row after the last one of train, validation and test.

    Examples
    --------
    >>> data = split_series(np.random.default_rng(0).normal(size=(100, 2)), (70, 80, 100))
    >>> data.origins("test", horizon=5)[[0, -1]].tolist()  # the last row known, first and last time
    [79, 94]
    >>> data.futures(np.array([79]), horizon=5).shape
    (1, 2, 5)
    """

    values: Float[np.ndarray, "time channels"]
    ends: tuple[int, int, int]

    def origins(
        self, split: Split, horizon: int, lookback: int = 1, drop_last: bool = False
    ) -> Int[np.ndarray, " origins"]:
        """The rows after which a forecast of `horizon` rows is made, so that all of them lie in the split.

        Parameters
        ----------
        split
            Which one.
        horizon
            Rows to forecast.
        lookback
            In training, the first origin has this many rows behind it.
        drop_last
            Leave out the last incomplete batch of 32, as the published program does.
        """
        whole_number("horizon", horizon)
        train, validation, test = self.ends
        first, last = {"train": (lookback, train), "validation": (train, validation), "test": (validation, test)}[split]
        origins = np.arange(first - 1, last - horizon)
        if not len(origins):
            raise ValueError(
                f"horizon={horizon} does not fit into the {last - first} rows of the {split} split; pass a shorter one."
            )
        return origins[: len(origins) // _BATCH * _BATCH] if drop_last else origins

    def futures(
        self, origins: Int[np.ndarray, " origins"], horizon: int
    ) -> Float[np.ndarray, "origins channels horizon"]:
        """What came after each origin."""
        return np.lib.stride_tricks.sliding_window_view(self.values, horizon, axis=0)[origins + 1]


def split_series(values: Float[np.ndarray, "time channels"], ends: tuple[int, int, int]) -> LongTermData:
    """Standardise a series by its training rows, and cut it after the test rows."""
    train, validation, test = ends
    if not 1 < train < validation < test <= len(values):
        raise ValueError(f"ends={ends} do not cut {len(values)} rows into three; pass rising ends within them.")
    level, spread = values[:train].mean(axis=0), values[:train].std(axis=0)
    return LongTermData((values[:test] - level) / np.where(spread > 0, spread, 1.0), ends)


def load_long_term(name: Name, data: str | Path | None = None) -> LongTermData:
    """Read one of the published data sets from the user's data folder and split it as the literature does."""
    if name not in _FILES:
        raise ValueError(f"unknown data set {name!r}; pass one of {', '.join(_FILES)}.")
    path = data_file(_FILES[name], data)
    with path.open() as file:
        columns = len(file.readline().split(","))
        values = np.loadtxt(file, delimiter=",", usecols=range(1, columns), ndmin=2)
    if name == "illness":
        rows = len(values)
        return split_series(values, (int(rows * 0.7), rows - int(rows * 0.2), rows))
    month = 30 * _ROWS_A_DAY[name]
    return split_series(values, (12 * month, 16 * month, 20 * month))
