"""Parquet files, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.extras import needs
from hippozoo.tables.numbers import EXACT, Cells
from hippozoo.tables.trouble import Place, TableError, Trouble

__all__ = ["open_parquet"]


def open_parquet(path: Path, chunk_rows: int, source: str) -> Iterator[tuple[dict[str, Cells], int]]:
    """Columns, each piece with about the number of bytes read so far; an index that pandas wrote is one like others."""
    parquet = needs("pyarrow.parquet", extra="data", feature="reading Parquet")
    with _readable(source):
        # Where a file has checksums, they are looked at.
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
        batches = file.iter_batches(batch_size=chunk_rows)
    while True:
        with _readable(source):
            batch = next(batches, None)
            if batch is None:
                return
            names, columns = batch.schema.names, batch.columns
            cells = {str(name): _cells(column) for name, column in zip(names, columns, strict=True)}
        done += batch.num_rows
        yield cells, size * done // rows


def _cells(column: Any) -> Cells:
    """Numbers as an array, NaN where missing; all else as Python's own values, times to the microsecond."""
    from pyarrow import float64, timestamp, types

    compute: Any = needs("pyarrow.compute", extra="data", feature="reading Parquet")
    kind = column.type
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if types.is_timestamp(kind):
        return column.cast(timestamp("us", kind.tz), safe=False).to_pylist()
    if types.is_integer(kind) and len(column):
        bounds = compute.min_max(column).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) >= EXACT:
            return column.to_pylist()
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.array(column.cast(float64(), safe=False).to_numpy(zero_copy_only=False), float)
    return column.to_pylist()


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Whatever pyarrow makes of a damaged file, the caller learns that the file is to blame."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise TableError(Trouble("parquet", Place(source), reason)) from None
