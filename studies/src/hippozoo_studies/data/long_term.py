"""Long-term forecasting as the literature does it: data sets, splits, windows and published errors.

The protocol is that of Zeng et al. (2023), "Are Transformers Effective for Time Series Forecasting?": every column is
standardised by the training split; from every origin of the test split the next `horizon` rows of all columns are
forecast; errors are averaged over origins, columns and leads. The past may reach back into the splits before.

The published program drops the last incomplete batch of 32 test windows, which a table over all windows does not;
`LongTermData.origins` can do both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.tasks.data_files import data_file

__all__ = ["PUBLISHED", "LongTermData", "load_long_term", "split_series"]

Name = Literal["ETTh1", "ETTm1", "illness"]
Split = Literal["train", "validation", "test"]

_FILES = {"ETTh1": "ett/ETTh1.csv", "ETTm1": "ett/ETTm1.csv", "illness": "illness/national_illness.csv"}
# Rows per day; the ETT splits are 12, 4 and 4 months of 30 days.
_ROWS_A_DAY = {"ETTh1": 24, "ETTm1": 96}
# The published file has this many weeks; its splits are shares of all rows, so that fewer would be other splits.
_WEEKS = 966
_BATCH = 32

#: Mean squared errors as printed: DLinear, NLinear, repeat-last: Zeng et al. (2023), PatchTST/64: Nie et al. (2023).
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
    """Standardise a series by its training rows, and cut it after the test rows.

    Examples
    --------
    >>> data = split_series(np.array([[1.0], [3.0], [5.0], [7.0], [9.0]]), (2, 3, 4))
    >>> data.values[:, 0].tolist()  # mean 2 and spread 1 of the two training rows
    [-1.0, 1.0, 3.0, 5.0]
    """
    train, validation, test = ends
    if not 1 < train < validation < test <= len(values):
        raise ValueError(f"ends={ends} do not cut {len(values)} rows into three; pass rising ends within them.")
    level, spread = values[:train].mean(axis=0), values[:train].std(axis=0)
    return LongTermData((values[:test] - level) / np.where(spread > 0, spread, 1.0), ends)


def load_long_term(name: Name, data: str | Path | None = None) -> LongTermData:
    r"""Read one of the published data sets from the user's data folder and split it as the literature does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = "\n".join(f"week {week},{week % 7}" for week in range(966))
    ...     _ = (Path(folder) / "national_illness.csv").write_text("date,OT\n" + rows)
    ...     load_long_term("illness", folder).ends
    (676, 773, 966)
    """
    if name not in _FILES:
        raise ValueError(f"unknown data set {name!r}; pass one of {', '.join(_FILES)}.")
    path = data_file(_FILES[name], data)
    month = 30 * _ROWS_A_DAY.get(name, 0)
    values = _numbers_after_the_date(path, 20 * month or _WEEKS)
    rows = len(values)
    by_share = (int(rows * 0.7), rows - int(rows * 0.2), rows)
    return split_series(values, (12 * month, 16 * month, 20 * month) if month else by_share)


def _numbers_after_the_date(path: Path, fewest: int) -> Float[np.ndarray, "time channels"]:
    """All columns but the first, and at least so many rows of them."""
    with path.open(encoding="utf-8", errors="replace") as file:
        names = file.readline().strip().split(",")
        lines = [line for line in file if line.strip()]
    columns = len(names)
    if columns < 2 or len(lines) < fewest:
        raise ValueError(
            f"{path} holds {len(lines)} rows of {columns} columns, expected at least {fewest:,} rows of a date and "
            f"numbers; put the original file there."
        )
    row = next((row for row, line in enumerate(lines, 1) if line.count(",") != columns - 1), None)
    if row is not None:
        raise ValueError(
            f"{path}, row {row} has {lines[row - 1].count(',') + 1} fields, the header has {columns}; put the original "
            f"file there."
        )
    values = np.genfromtxt(
        lines,
        delimiter=",",
        usecols=range(1, columns),
        comments=None,  # pyright: ignore[reportArgumentType]  # a stub that forgets None
    ).reshape(len(lines), -1)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0] + 1
        cell = lines[row - 1].split(",")[column].strip()
        raise ValueError(
            f"{path}, row {row}, column {names[column]!r}: {shorten(cell)} is not a finite number; put the original "
            f"file there."
        )
    return values
