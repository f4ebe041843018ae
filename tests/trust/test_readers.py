"""Some of the damaged files that ``make trust`` reads; there, every length and every bit."""

import numpy as np
import pandas as pd
import pytest

from hippozoo.tables import TableError
from trust import damage
from trust.damage import read_all, sweep


@pytest.mark.parametrize(
    ("name", "every"),
    [("small.safetensors", 17), ("stream.safetensors", 40_009), ("t.csv", 7), ("t.csv.gz", 7), ("t.parquet", 97)],
)
def test_a_damaged_file_is_refused_or_read(name, every):
    found = sweep(name, every)
    assert found["mishaps"] == []
    assert found["refused"]
    assert found["refused"] + found["read"] == found["ways"]


def test_the_sweep_sees_what_is_wrong(monkeypatch):
    monkeypatch.setattr(damage, "load", lambda path: None)
    assert "was loaded" in sweep("small.safetensors", 999)["mishaps"][0]
    monkeypatch.setattr(damage, "read_all", lambda path: 1 / 0)
    assert "ZeroDivisionError" in sweep("t.csv", 99)["mishaps"][0]


def test_a_parquet_file_damaged_in_its_middle_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": np.arange(50.0)}).to_parquet(path, compression=None)
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"t\.parquet.*damaged"):
        read_all(path)
