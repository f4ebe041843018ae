"""Parquet files, in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    with _readable(path):
        # Where a file has checksums, they are looked at.
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
        batches = file.iter_batches(batch_size=chunk_rows)
    while True:
        with _readable(path):
            batch = next(batches, None)
            if batch is None:
                return
            # The metadata would make the column of times an index again, and hide it.
            frame = batch.to_pandas(ignore_metadata=True)
        done += len(frame)
        yield frame, size * done // rows


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever pyarrow makes of a damaged file, the caller learns that the file is to blame."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is no Parquet file, or a damaged one ({reason[:200]}); pass a whole one.") from None
