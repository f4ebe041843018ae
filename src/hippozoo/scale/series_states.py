"""States of many series, and of one long series in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hippozoo._internal.arguments import real_array, shorten
from hippozoo.memory.base import PureMemory
from hippozoo.scale._dask import checked_samples, dask_module, kind_of
from hippozoo.scale.arrays import array_states
from hippozoo.scale.folder import PARTITION_BYTES
from hippozoo.scale.frames import FrameStates
from hippozoo.scale.whole_series import rows_of_table

__all__ = ["states"]

Mode = Literal["final", "scan"]


def states(
    memory: PureMemory,
    series: Any,
    *,
    mode: Mode = "final",
    weights: np.ndarray | None = None,
    id: str | None = None,
    column: str | Sequence[str] | None = None,
    time: str | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> Any:
    """The states of many series, or of one long series in chunks; lazy, as the collection that was given.

    Equal to ``memory.final`` of each series in one process, to rounding, whatever the partitions, the workers and the
    order in which they finish: a series that lies in several partitions is remembered in pieces, and pieces are merged
    in the order of the rows. NaN is a missing sample: the last value seen is held, across partitions too.

    Parameters
    ----------
    memory
        A `Memory`, or any other memory of NumPy arrays with a `merge`.
    series
        A Dask bag of arrays ``(time,)`` or ``(time, channels)``, or of pairs (name, array); a Dask array ``(time,)``,
        ``(series, time)`` or ``(series, time, channels)``, in chunks of series and of time; a Dask dataframe with one
        row per sample; or the path of a folder of Parquet files.
    mode
        ``"final"``: the state after the last sample. ``"scan"``: after every sample, for bags and arrays.
    weights
        Gives features in place of states: ``state @ weights``, of shape (order,) or (order, outputs).
    id
        Of a dataframe or a folder: the column that names the series. In a folder that is sorted by it every series is
        read in one place, and nothing moves between workers; else pieces are shuffled.
    column
        The column of values, or several, the channels; by default all numbers beside `id` and `time`.
    time
        The column of times, rising in every series: samples hold until the next one, the last one for ``memory.dt``.
        Dates count in seconds. Without it every row is a step of ``memory.dt``.
    partition_bytes
        Of a folder: about how much of it one task reads, as it lies in memory.

    Returns
    -------
    collection
        A bag for a bag, an array for an array; a dataframe indexed by `id` for a dataframe or a folder, with columns
        ``load_0, load_1, …`` for the coefficients of ``load``.

    Examples
    --------
    >>> import dask, dask.array, dask.bag
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> memory = Memory(LegT(order=8, timescale=30.0))
    >>> long = np.cos(np.arange(1000) / 7)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     one = states(memory, dask.array.from_array(long, chunks=300)).compute()
    ...     many = states(memory, dask.bag.from_sequence([long[:50], long[:80]])).compute()
    >>> bool(np.allclose(one, memory.final(long))), bool(np.allclose(many[1], memory.final(long[:80])))
    (True, True)
    """
    if not isinstance(memory, PureMemory):
        raise TypeError(f"memory={shorten(memory)}: pass a Memory of hippozoo.memory, or another one with a merge.")
    if mode not in ("final", "scan"):
        raise ValueError(f"mode={shorten(mode)} is unknown; pass 'final' or 'scan'.")
    dask_module()
    matrix = None if weights is None else _checked_weights(memory, weights)
    kind = kind_of(series, id=id, column=column, time=time)
    if kind == "bag":
        return series.map_partitions(_bag_states, memory, mode, matrix)
    if kind == "array":
        return array_states(memory, series, mode, matrix)
    if mode == "scan":
        raise ValueError("mode='scan' needs a bag or an array; a table gives one row per series, its final state.")
    reading, rows = rows_of_table(series, id, column, time, partition_bytes)
    work = FrameStates(memory, reading, matrix)
    return work.of_parts(rows) if isinstance(rows, list) else work.of_frame(rows)


def _checked_weights(memory: PureMemory, weights: Any) -> np.ndarray:
    matrix, shape = real_array("weights", weights), memory.initial_state().shape
    if matrix.shape[: len(shape)] != shape or matrix.ndim - len(shape) not in (0, 1):
        raise ValueError(
            f"weights has shape {matrix.shape}, but a state has {shape}; pass {shape} or {(*shape, 'outputs')}."
        )
    return matrix


def _bag_states(series: Any, memory: PureMemory, mode: Mode, weights: np.ndarray | None) -> list[Any]:
    """States of a partition of a bag; series of one shape are remembered side by side."""
    elements = list(series)
    named = [isinstance(one, tuple) and len(one) == 2 for one in elements]
    arrays = [checked_samples(one[1] if pair else one) for one, pair in zip(elements, named, strict=True)]
    found: list[Any] = [None] * len(arrays)
    for shape in dict.fromkeys(one.shape for one in arrays):
        places = [at for at, one in enumerate(arrays) if one.shape == shape]
        stack = np.stack([arrays[at] for at in places], axis=1)
        known = ~np.isnan(stack)
        flat, mask = stack.reshape(shape[0], -1), None if known.all() else known.reshape(shape[0], -1)
        several = getattr(memory, mode)(flat, mask=mask)
        kept = memory.initial_state().shape
        before = several.shape[: several.ndim - len(kept) - 1]
        end = kept
        if weights is not None:
            several, end = np.tensordot(several, weights, axes=len(kept)), weights.shape[len(kept) :]
        several = several.reshape(*before, len(places), *shape[1:], *end)
        for at, one in zip(places, np.moveaxis(several, len(before), 0), strict=True):
            found[at] = np.ascontiguousarray(one)
    return [(element[0], one) if pair else one for element, one, pair in zip(elements, found, named, strict=True)]
