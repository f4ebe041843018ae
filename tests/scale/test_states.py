"""States on Dask are those of one process, whatever the partitions; the synchronous scheduler computes them here."""

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from hippozoo.memory import Memory, hold_missing
from hippozoo.scale import states
from hippozoo.scale.folder import open_folder
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleMemory

MEMORY = Memory(LegT(order=12, timescale=30.0), dt=0.5)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def table():
    """Series of several lengths with gaps, their rows interleaved but each in order."""
    rng = np.random.default_rng(0)
    parts = []
    for name, length in (("a", 40), ("b", 7), ("c", 1), ("d", 40), ("e", 90)):
        frame = pd.DataFrame({"name": name, "x": rng.normal(size=length), "y": rng.normal(size=length)})
        frame["when"] = np.cumsum(rng.uniform(0.1, 2.0, size=length))
        frame.loc[rng.random(length) < 0.3, "x"] = np.nan
        parts.append(frame)
    parts[1]["x"] = np.nan  # never seen
    parts[4].loc[:44, "x"] = np.nan  # not seen for several partitions
    parts[4].loc[60:80, "x"] = np.nan
    tall = pd.concat(parts)
    tall["place"] = tall.groupby("name").cumcount()
    share = tall["place"] / tall.groupby("name")["place"].transform("size")
    return tall.iloc[np.argsort(share.to_numpy(), kind="stable")].reset_index(drop=True)


def by_one_process(frame, memory=MEMORY, timed=False, columns=("x", "y")):
    found = {}
    for name, rows in frame.groupby("name"):
        values = rows[list(columns)].to_numpy()
        steps = np.append(np.diff(rows["when"].to_numpy()), memory.dt) if timed else None
        found[name] = memory.final(hold_missing(values, ~np.isnan(values)), dt=steps).ravel()
    return pd.DataFrame(found).T


def same(found, expected, tolerance=1e-12):
    assert sorted(found.index) == sorted(expected.index)  # nothing lost, nothing twice
    np.testing.assert_allclose(found.loc[expected.index].to_numpy(), expected.to_numpy(), rtol=0, atol=tolerance)


@pytest.mark.parametrize("partitions", [1, 7])
def test_a_dataframe_gives_the_states_of_one_process(table, partitions):
    frame = dd.from_pandas(table, npartitions=partitions, sort=False)
    same(states(MEMORY, frame, id="name", column=["x", "y"]).compute(), by_one_process(table))


def test_times_come_from_a_column_and_partitions_in_any_order(table):
    parts = [table.iloc[at : at + 20] for at in range(0, len(table), 20)]
    frame = dd.concat([dd.from_pandas(parts[at], npartitions=1, sort=False) for at in (3, 0, 5, 1, 8, 7, 2, 4, 6)])
    assert sum(map(len, parts)) == len(table)
    found = states(MEMORY, frame, id="name", column=["x", "y"], time="when").compute()
    same(found, by_one_process(table, timed=True))
    dates = table.assign(when=pd.to_datetime((table["when"] * 1e9).round().astype("int64")))
    dated = states(MEMORY, dd.from_pandas(dates, npartitions=4, sort=False), id="name", column=["x", "y"], time="when")
    same(dated.compute(), by_one_process(table, timed=True), 1e-7)


def test_an_index_with_divisions_needs_no_shuffle(table):
    frame = dd.from_pandas(table.sort_values(["name", "place"], kind="stable").set_index("name"), npartitions=3)
    found = states(MEMORY, frame, id="name", column="y")
    assert not any("shuffle" in str(key) for key in found.optimize().__dask_graph__())
    same(found.compute(), by_one_process(table, columns=("y",)))


@pytest.mark.parametrize("ordered", [True, False])
def test_a_folder_gives_the_states_of_one_process(table, ordered, tmp_path):
    rows = table.sort_values(["name", "place"], kind="stable") if ordered else table
    for number, begin in enumerate(range(0, len(rows), 60)):
        part = rows.iloc[begin : begin + 60]
        part.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=7, index=False)
    parts = open_folder(tmp_path, "name").parts("name", 1500)
    assert (parts is not None and len(parts) > 2) if ordered else parts is None
    found = states(MEMORY, tmp_path, id="name", column=["x", "y"], partition_bytes=1500)
    assert found.npartitions > 2
    same(found.compute(), by_one_process(table))
    weights = MEMORY.system.basis(np.array([1.0, 5.0])).T
    read = states(MEMORY, str(tmp_path), id="name", column="y", weights=weights, partition_bytes=1500).compute()
    same(read, by_one_process(table, columns=("y",)) @ weights)


@pytest.mark.parametrize("chunks", [(5, 100), (2, 17)])
@pytest.mark.parametrize(
    "memory", [MEMORY, MultiscaleMemory(LegT(order=4, timescale=3.0), longest=50.0, scales=3)], ids=["one", "bank"]
)
def test_an_array_in_chunks_of_series_and_of_time(memory, chunks):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5, 100, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[2, :70] = np.nan
    values[1, 30:60] = np.nan  # a whole chunk, and part of the next
    held = [hold_missing(one, ~np.isnan(one)) for one in values]
    lazy = da.from_array(values, chunks=(*chunks, 1))
    np.testing.assert_allclose(states(memory, lazy), [memory.final(one) for one in held], rtol=0, atol=1e-12)
    scanned = states(memory, lazy, mode="scan")
    np.testing.assert_allclose(scanned, [memory.scan(one) for one in held], rtol=0, atol=1e-12)


def test_one_long_series_in_chunks():
    values = np.random.default_rng(2).normal(size=5000).cumsum()
    lazy = da.from_array(values, chunks=(700, 1, 299, 4000))
    size = np.abs(values).max()
    np.testing.assert_allclose(states(MEMORY, lazy), MEMORY.final(values), rtol=0, atol=1e-12 * size)
    ago = MEMORY.system.basis(7.0)
    read = states(MEMORY, lazy, mode="scan", weights=ago)
    assert read.chunks == lazy.chunks
    np.testing.assert_allclose(read, MEMORY.readout(values, ago), rtol=0, atol=1e-11 * size)
    single = Memory(LegS(order=8, timescale=40.0), dtype="float32")
    found = states(single, lazy).compute()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, single.final(values), rtol=0, atol=1e-5 * size)


def test_a_bag_keeps_names_order_and_shapes():
    rng = np.random.default_rng(3)
    series = [rng.normal(size=shape) for shape in (30, 30, (30, 2), 11, (11, 2))]
    series[1][:4] = np.nan
    expected = [MEMORY.final(hold_missing(one, ~np.isnan(one))) for one in series]
    for bag in (db.from_sequence(series, npartitions=2), db.from_sequence(list(enumerate(series)), partition_size=1)):
        found = states(MEMORY, bag).compute()
        if isinstance(found[0], tuple):
            assert [name for name, _ in found] == [0, 1, 2, 3, 4]
            found = [one for _, one in found]
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
    read = states(MEMORY, db.from_sequence(series), mode="scan", weights=MEMORY.system.basis(2.0)).compute()
    np.testing.assert_allclose(read[2], MEMORY.readout(series[2], MEMORY.system.basis(2.0)), rtol=0, atol=1e-12)
