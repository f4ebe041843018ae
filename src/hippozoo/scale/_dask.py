"""Dask, where it is installed; a sentence on how to get it, where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import needs

__all__ = ["checked_samples", "dask_module", "is_a", "kind_of"]


def dask_module(name: str = "dask") -> Any:
    """A module of Dask, loaded when it is needed and not before."""
    return needs(name, extra="dask", feature="hippozoo.scale")


def is_a(thing: Any, module: str, kind: str) -> bool:
    """Whether it is a Dask collection of this kind; Dask's modules are not loaded to find out."""
    return any(
        one.__module__.partition(".")[0] == "dask" and one.__module__.startswith(module) and one.__name__ == kind
        for one in type(thing).__mro__
    )


def kind_of(series: Any, **columns: Any) -> str:
    """What was given: "bag", "array", "frame" or "folder"; refused where the names of columns do not fit it."""
    for kind in ("bag", "array"):
        if is_a(series, f"dask.{kind}", kind.capitalize()):
            for name, value in columns.items():
                if value is not None:
                    raise ValueError(f"{name}={shorten(value)}: a bag or an array has no columns; leave it out.")
            return kind
    folder = isinstance(series, (str, Path))
    if not folder and not is_a(series, "dask.dataframe", "DataFrame"):
        raise TypeError(
            f"series={shorten(series)}: pass a Dask bag, array or dataframe, or the path of a folder of Parquet files; "
            f"a list becomes a bag by dask.bag.from_sequence."
        )
    if columns["id"] is None:
        raise ValueError("id=None: name the column that tells the series of a table apart.")
    return "folder" if folder else "frame"


def checked_samples(given: Any) -> np.ndarray:
    """The samples of one series of a bag or an array."""
    values = np.asarray(given)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"a series of dtype {values.dtype}: {shorten(given)}; pass real numbers.")
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(
            f"a series has shape {values.shape}; pass (time,) or (time, channels), with a sample at least."
        )
    return values.astype(float, copy=False)
