"""A folder of Parquet files, cut so that every series lies in one part; planned from the files' footers alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo._internal.extras import needs
from hippozoo.tables import TableError

__all__ = ["PARTITION_BYTES", "Folder", "Part", "open_folder"]

#: About how much one task reads, as it lies in memory.
PARTITION_BYTES = 64 * 2**20
_BATCH_ROWS = 2**18
# Reading a little twice is cheaper than sending all of it between workers.
_READ_TWICE = 2.0
_LARGE = 4.0
# Row groups whose names are looked at where the footers do not say how series are spread.
_SAMPLED = 64


@dataclass(frozen=True)
class Part:
    """Series of a folder that one task reads: those whose names lie from `low` up to, not including, `high`."""

    number: int
    files: tuple[tuple[str, tuple[int, ...]], ...]  # and which row groups of them may hold such series
    id: str  # the column of names
    low: Any  # None for no bound
    high: Any
    rows: int  # of these row groups

    def frames(self, columns: list[str]) -> Iterator[Any]:
        """Its rows, batch by batch, in the order of the files."""
        parquet = needs("pyarrow.parquet", extra="dask", feature="a folder of Parquet files")
        from pyarrow.compute import greater_equal, less  # pyright: ignore[reportAttributeAccessIssue]

        for path, groups in self.files:
            try:
                file = parquet.ParquetFile(path)
                for batch in file.iter_batches(
                    _BATCH_ROWS, row_groups=list(groups), columns=columns, use_threads=False
                ):
                    names = batch.column(self.id)
                    if names.null_count:
                        raise TableError(f"{path}: a row has no {self.id!r}; every row must name its series.")
                    if hasattr(names, "dictionary_decode"):
                        names = names.dictionary_decode()
                    for bound, inside in ((self.low, greater_equal), (self.high, less)):
                        if bound is not None:
                            kept = inside(names, bound)
                            batch, names = batch.filter(kept), names.filter(kept)
                    if batch.num_rows:
                        yield batch.to_pandas(ignore_metadata=True)
            except (OSError, ValueError) as error:
                if isinstance(error, TableError):
                    raise
                raise TableError(
                    f"{path} cannot be read ({shorten(str(error), 200)}); pass whole Parquet files."
                ) from None

    def is_ordered(self) -> bool:
        """Whether the rows of each series lie side by side, and series in the order of their names."""
        newest: Any = None
        for frame in self.frames([self.id]):
            names = frame[self.id]
            if not names.is_monotonic_increasing or (newest is not None and names.iloc[0] < newest):
                return False
            newest = names.iloc[-1]
        return True


@dataclass(frozen=True)
class _Group:
    """A row group, as the footer tells of it."""

    file: int
    number: int
    rows: int
    bytes: int
    low: Any
    high: Any


@dataclass(frozen=True)
class Folder:
    """What a folder holds."""

    files: tuple[str, ...]
    meta: Any  # a frame without rows, for its columns
    groups: tuple[_Group, ...]

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(group.rows for group in self.groups)

    @property
    def bytes(self) -> int:
        """How much all of it takes in memory, as the footers say."""
        return sum(group.bytes for group in self.groups)

    def parts(self, id: str, partition_bytes: int = PARTITION_BYTES, *, at_any_cost: bool = False) -> list[Part] | None:
        """Parts that hold whole series, each of about so much; None where much would be read more than twice.

        At any cost, a folder that is not sorted by name is read once for every part.
        """
        size = whole_number("partition_bytes", partition_bytes, minimum=1, why="how much one task reads")
        known = [group for group in self.groups if group.low is not None]
        cuts: list[Any] = []
        if len(known) == len(self.groups):
            filled = 0
            for group in sorted(known, key=lambda one: one.low):
                if filled >= size and (not cuts or group.low > cuts[-1]) and group.low > min(g.low for g in known):
                    cuts.append(group.low)
                    filled = 0
                filled += group.bytes
        parts = self._cut(id, cuts)
        read = sum(part.rows for part in parts)
        if self.bytes <= size or (known and read <= _READ_TWICE * self.rows and self._small(parts, _LARGE * size)):
            return parts
        if not at_any_cost:
            return None
        return self._cut(id, self._sampled_cuts(id, -(-self.bytes // size)))

    def _small(self, parts: list[Part], most: float) -> bool:
        """Whether no part is too large; one long series cannot be cut, and is read in batches."""
        sizes = {(self.files[one.file], one.number): one.bytes for one in self.groups if one.low != one.high}
        return all(
            sum(sizes.get((file, number), 0) for file, groups in part.files for number in groups) <= most
            for part in parts
        )

    def _cut(self, id: str, cuts: list[Any]) -> list[Part]:
        parts = []
        for number, (low, high) in enumerate(zip([None, *cuts], [*cuts, None], strict=True)):
            inside = [
                group
                for group in self.groups
                if (low is None or group.high is None or group.high >= low)
                and (high is None or group.low is None or group.low < high)
            ]
            files: dict[str, tuple[int, ...]] = {}
            for group in inside:
                files[self.files[group.file]] = (*files.get(self.files[group.file], ()), group.number)
            parts.append(Part(number, tuple(files.items()), id, low, high, sum(group.rows for group in inside)))
        return parts

    def _sampled_cuts(self, id: str, count: int) -> list[Any]:
        """Names that cut the folder into parts of about one size, by the names in some of its row groups."""
        parquet = needs("pyarrow.parquet", extra="dask", feature="a folder of Parquet files")

        places = np.unique(np.linspace(0, len(self.groups) - 1, _SAMPLED).astype(int))
        names: set[Any] = set()
        for at in places.tolist():
            group = self.groups[at]
            column = parquet.ParquetFile(self.files[group.file]).read_row_group(group.number, columns=[id]).column(id)
            names.update(column.unique().to_pylist())
        ordered = sorted(names - {None})
        count = min(count, len(ordered))
        return list(dict.fromkeys(ordered[len(ordered) * k // count] for k in range(1, count)))


def open_folder(path: str | Path, id: str | None = None) -> Folder:
    """Look at the footers of all Parquet files below a folder, or of one file."""
    parquet = needs("pyarrow.parquet", extra="dask", feature="a folder of Parquet files")
    path = Path(path)
    if not path.exists():
        raise TableError(f"{path}: there is no such folder; check the path.")
    kinds = ("*.parquet", "*.pq")
    # Writers leave hidden files and folders behind, such as _temporary.
    found = sorted(
        one
        for kind in kinds
        for one in path.rglob(kind)
        if not any(part.startswith(("_", ".")) for part in one.relative_to(path).parts)
    )
    files = [path] if path.is_file() else found
    if not files:
        raise TableError(f"{path} holds no Parquet file; pass a folder with .parquet files.")
    meta, groups = None, []
    for number, file in enumerate(files):
        try:
            opened = parquet.ParquetFile(file)
        except (OSError, ValueError) as error:
            raise TableError(
                f"{file} is not a Parquet file, or is damaged ({shorten(' '.join(str(error).split()), 200)}); "
                f"pass whole ones."
            ) from None
        frame = opened.schema_arrow.empty_table().to_pandas(ignore_metadata=True)
        meta = frame if meta is None else meta
        if list(frame.columns) != list(meta.columns):
            raise TableError(
                f"{file} has the columns {', '.join(map(repr, frame.columns[:20]))}, and {files[0]} has "
                f"{', '.join(map(repr, meta.columns[:20]))}; all files of a folder need the same."
            )
        if id is not None and id not in frame.columns:
            raise TableError(f"{file} has no column {id!r}; it has {', '.join(map(repr, frame.columns[:20]))}.")
        for at in range(opened.metadata.num_row_groups):
            group = opened.metadata.row_group(at)
            stored = None if id is None else _statistics(group, id)
            low, high = (stored.min, stored.max) if stored is not None and stored.has_min_max else (None, None)
            groups.append(_Group(number, at, group.num_rows, group.total_byte_size, low, high))
    assert meta is not None
    groups = [group for group in groups if group.rows]
    if not groups:
        raise TableError(f"{path} holds no rows; pass a folder with samples.")
    return Folder(tuple(str(file.absolute()) for file in files), meta, tuple(groups))


def _statistics(group: Any, name: str | None) -> Any:
    """What the footer says of a column; columns inside others would shift its place, so it is looked for by name."""
    for at in range(group.num_columns):
        if group.column(at).path_in_schema == name:
            return group.column(at).statistics
    return None
