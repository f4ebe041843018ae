"""Damaged files: cut at every length, every bit flipped; refused with a reason, or read, and nothing else."""

import gzip

import numpy as np
import pandas as pd
import pytest

from hippozoo.checkpoint import CheckpointError, load, save
from hippozoo.systems import LegT
from hippozoo.tables import TableError, read_table

CSV = b"when,load\n2024-01-01 00:00,5\n2024-01-01 01:00,\n2024-01-01 02:00,7.25\n"


def damaged(content, *, every):
    """The content cut at every length, and with every bit flipped; or with one in `every` of those."""
    ways = [(size, None) for size in range(len(content))]
    ways += [(byte, bit) for byte in range(len(content)) for bit in range(8)]
    for number, bit in ways[::every]:
        if bit is None:
            yield content[:number]
        else:
            spoilt = bytearray(content)
            spoilt[number] ^= 1 << bit
            yield bytes(spoilt)


def read_all(path):
    return np.concatenate([rows.values for rows, _ in read_table(path, find_time=True).chunks])


@pytest.mark.parametrize("every", [17])
def test_no_damaged_checkpoint_is_loaded(tmp_path, every):
    path = tmp_path / "x"
    save(path, {"numbers": np.arange(3.0), "system": LegT(2)})
    for content in damaged(path.read_bytes(), every=every):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            load(path)


@pytest.mark.parametrize(("name", "every"), [("t.csv", 7), ("t.csv.gz", 7), ("t.parquet", 97)])
def test_a_damaged_table_is_refused_or_read(tmp_path, name, every):
    path = tmp_path / name
    if name == "t.parquet":
        pd.DataFrame({"x": [1.0, 2.5]}).to_parquet(path)
    else:
        path.write_bytes(gzip.compress(CSV) if name.endswith("gz") else CSV)
    refused = []
    for content in damaged(path.read_bytes(), every=every):
        path.write_bytes(content)
        try:
            values = read_all(path)
        except TableError as error:
            refused.append(str(error))
        else:
            assert values.dtype == float
            assert not np.isinf(values).any()
    assert refused
    assert all(name in reason for reason in refused)


def test_a_parquet_file_damaged_in_its_middle_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": np.arange(50.0)}).to_parquet(path, compression=None)
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"t\.parquet is no Parquet file, or a damaged one \(.*\); pass a whole one"):
        read_all(path)
