"""Parquet files, in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hippozoo.tables.problem import TableError

__all__ = ["NAMELESS_INDEX", "open_parquet"]

# What pyarrow calls an index that pandas had no name for.
NAMELESS_INDEX = "__index_level_"


def open_parquet(path: Path, chunk_rows: int) -> Iterator[tuple[Any, int]]:
    """Frames, each with about the number of bytes read so far; an index that pandas wrote is a column like others."""
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise ImportError("Parquet is read by pyarrow, which is not installed; pip install 'hippozoo[data]'") from None
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:
        raise TableError(f"{path} is no Parquet file ({error}); pass a whole one.") from None
    size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
    for batch in file.iter_batches(batch_size=chunk_rows):
        # The metadata would make the column of times an index again, and hide it.
        frame = batch.to_pandas(ignore_metadata=True)
        done += len(frame)
        yield frame, size * done // rows
