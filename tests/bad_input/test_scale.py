"""What hippozoo.scale refuses, and how it says so."""

import subprocess
import sys

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from hippozoo.ensemble import forecaster_for
from hippozoo.memory import GrowingMemory, Memory
from hippozoo.scale import fit_forecaster, forecast_panel, states
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster

MEMORY = Memory(LegT(order=12, timescale=30.0), dt=0.5)
PLAIN = Forecaster(LegT(8, 20.0), horizon=4.0)
TABLE = pd.DataFrame({"name": ["a", "b"] * 10, "x": np.arange(20.0), "y": np.ones(20), "when": np.arange(20.0)})


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"series": [np.ones(3)]}, "bag by dask.bag.from_sequence"),
        ({"memory": GrowingMemory(4)}, "another one with a merge"),
        ({"mode": "last"}, "pass 'final' or 'scan'"),
        ({"mode": "scan"}, "one row per series"),
        ({"id": None}, "name the column that tells"),
        ({"id": "shop"}, "names no column; there are 'name'"),
        ({"column": "name"}, "pass a column of numbers"),
        ({"column": "z"}, "there is no column 'z'"),
        ({"time": "name"}, "of numbers or of dates"),
        ({"weights": np.ones(3)}, "but a state has (12,)"),
        ({"series": "no/such/folder"}, "there is no such folder"),
    ],
)
def test_wrong_arguments_are_refused_at_once(change, message):
    given = {"memory": MEMORY, "series": dd.from_pandas(TABLE, npartitions=2), "id": "name", "column": "x"} | change
    with pytest.raises((TypeError, ValueError), match=message.replace("(", r"\(").replace(")", r"\)")):
        states(given.pop("memory"), given.pop("series"), **given)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.assign(name=frame["name"].where(frame.index != 5)), "must name its series"),
        (lambda frame: frame.assign(y=frame["y"].where(frame.index != 5, np.inf)), "infinite number in 'y'"),
        (lambda frame: frame.assign(when=-frame["when"]), "sort the rows of each series by time"),
        (lambda frame: frame.assign(when=frame["when"].where(frame.index != 5)), "has no time"),
        (lambda frame: pd.concat([frame, frame]), "two partitions hold rows of the same time"),
    ],
)
def test_wrong_rows_are_refused_with_their_series(spoil, message):
    frame = dd.from_pandas(spoil(TABLE).reset_index(drop=True), npartitions=2, sort=False)
    with pytest.raises(ValueError, match=message):
        states(MEMORY, frame, id="name", column=["x", "y"], time="when").compute()


def test_a_folder_without_parquet_and_a_damaged_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no Parquet"):
        states(MEMORY, tmp_path, id="name")
    (tmp_path / "part.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match="damaged"):
        states(MEMORY, tmp_path, id="name")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bag: fit_forecaster(LegT(4, timescale=1.0), bag), "pass a Forecaster"),
        (lambda bag: fit_forecaster(PLAIN, bag, validate="never"), "'stretches' or 'series'"),
        (lambda bag: fit_forecaster(forecaster_for(4), bag, validate="series"), "one map shared by a panel"),
        (lambda bag: fit_forecaster(PLAIN, [np.ones(9)]), "dask.bag.from_sequence"),
        (lambda bag: fit_forecaster(PLAIN, bag, id="name"), "has no columns"),
        (lambda bag: fit_forecaster(PLAIN, da.ones(90), normalise=True), "no panel"),
        (lambda bag: fit_forecaster(PLAIN, db.from_sequence(["text"])), "pass real numbers"),
        (lambda bag: forecast_panel(PLAIN, None, bag, "out"), "the state that it has learnt"),
        (lambda bag: forecast_panel(forecaster_for(4), PLAIN.initial_state(), bag, "out"), "by one map"),
        (lambda bag: forecast_panel(PLAIN, PLAIN.initial_state(), bag, "out", coverages=(80,)), "between 0 and 1"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(db.from_sequence([np.ones(30), np.arange(30.0)]))


def test_without_dask_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"install 'hippozoo\[dask\]'"):
        states(MEMORY, "folder", id="name")


def test_dask_is_loaded_when_it_is_needed_and_not_before():
    program = (
        "import sys, hippozoo, hippozoo.scale, hippozoo_studies, hippozoo.apps.cli; from hippozoo.scale import states"
    )
    loaded = f"{program}; print([name for name in ('dask', 'distributed') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
