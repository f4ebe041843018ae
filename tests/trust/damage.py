"""Damaged files: cut at every length, every bit flipped; refused with a reason, or read, and nothing else."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hippozoo.checkpoint import CheckpointError, dumps, load
from hippozoo.ensemble import ForecastStream, forecaster_for
from hippozoo.systems import LegT
from hippozoo.tables import TableError, read_table

CSV = b"when,load\n2024-01-01 00:00,5\n2024-01-01 01:00,\n2024-01-01 02:00,7.25\n"


def parquet(compression: str | None = "snappy") -> bytes:
    content = io.BytesIO()
    pd.DataFrame({"x": [1.0, 2.5]}).to_parquet(content, compression=compression)
    return content.getvalue()


def stream_checkpoint() -> bytes:
    """What `hippozoo watch` keeps: a stream with a few readings."""
    stream = ForecastStream(forecaster_for(2.0, history=LegT(2, 4.0), ridge=1e-2))
    stream.push_many(np.arange(12.0))
    return dumps(stream)


# Each with how it is made and one in how many ways of damage is enough for what is large.
FILES: dict[str, tuple[Callable[[], bytes], int]] = {
    "small.safetensors": (lambda: dumps({"numbers": np.arange(3.0), "system": LegT(2, timescale=1.0)}), 1),
    "stream.safetensors": (stream_checkpoint, 97),
    "t.csv": (lambda: CSV, 1),
    "t.csv.gz": (lambda: gzip.compress(CSV, mtime=0), 1),
    "t.parquet": (parquet, 1),
    "uncompressed.parquet": (lambda: parquet(None), 1),
}


def damaged(content: bytes, every: int = 1) -> Iterator[tuple[str, bytes]]:
    """The content cut at every length, and with every bit flipped; or with one in `every` of those."""
    ways: list[tuple[int, int | None]] = [(size, None) for size in range(len(content))]
    ways += [(byte, bit) for byte in range(len(content)) for bit in range(8)]
    for number, bit in ways[::every]:
        if bit is None:
            yield f"cut after {number} bytes", content[:number]
        else:
            spoilt = bytearray(content)
            spoilt[number] ^= 1 << bit
            yield f"bit {bit} of byte {number} flipped", bytes(spoilt)


def read_all(path: Path) -> np.ndarray:
    return np.concatenate([rows.values for rows, _ in read_table(path, find_time=True).chunks])


def what_happens(path: Path) -> str:
    """``"refused"`` in words that name the file, or ``"read"``; else what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values: Any = load(path) if path.suffix == ".safetensors" else read_all(path)
    except (CheckpointError, TableError) as error:
        return "refused" if path.name in str(error) else f"it is refused without its name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if path.suffix == ".safetensors":
        return "a damaged checkpoint was loaded"  # it has a checksum
    return "read" if values.dtype == float and not np.isinf(values).any() else "it is read, and holds no numbers"


def sweep(name: str, every: int = 1) -> dict[str, Any]:
    """Damage one file in every way, or in one in `every`; how often it was refused and read, and what went wrong."""
    content = FILES[name][0]()
    found: dict[str, Any] = {"bytes": len(content), "ways": 0, "refused": 0, "read": 0, "mishaps": []}
    if every > 1:
        found["thinned"] = f"one way in {every}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        for how, spoilt in damaged(content, every):
            path.write_bytes(spoilt)
            outcome = what_happens(path)
            found["ways"] += 1
            if outcome in ("refused", "read"):
                found[outcome] += 1
            else:
                found["mishaps"].append(f"{how}: {outcome}")
    return found
