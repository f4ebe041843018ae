"""On a cluster of two workers, one of which is killed in the middle: nothing is lost, and nothing is there twice."""

import json
import logging
import os
import signal
import threading
import time
from functools import reduce
from pathlib import Path

import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from hippozoo.apps.forecast.folder import run_panel
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.reading import Reading
from hippozoo.memory import Memory
from hippozoo.scale import connect, fit_forecaster, states
from hippozoo.scale.cluster import each_finished
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster
from hippozoo_studies import UnitsFailedError, load, reproduce
from studies.toy_shop import TOYS, toys

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
toys = toys  # the fixture: toy experiments, here and on the workers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIPPOZOO_EXPERIMENTS", str(TOYS))
        patch.setenv("COUNTING_DIARY", str(tmp_path_factory.mktemp("diary") / "diary"))
        patch.setenv("COUNTING_DIES", "13/0")
        patch.setenv("COUNTING_SECONDS", "0.2")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as found:
            yield found


@pytest.fixture
def client(cluster):
    with connect(cluster.scheduler_address) as client:
        client.wait_for_workers(2, timeout=180)
        yield client


def begun() -> list[tuple[str, int]]:
    diary = Path(os.environ["COUNTING_DIARY"])
    lines = diary.read_text().splitlines() if diary.exists() else []
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def written(folder):
    lines = [json.loads(line) for line in (folder / "counting" / "units.jsonl").read_text().splitlines()]
    return sorted((line["unit"]["length"], line["unit"]["seed"]) for line in lines)


def kill_a_worker_when(ready) -> threading.Thread:
    def wait_and_kill() -> None:
        end = time.monotonic() + 180
        while time.monotonic() < end:
            if (process := ready()) is not None:
                os.kill(process, signal.SIGKILL)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def test_a_study_survives_the_death_of_a_worker(cluster, client, tmp_path):
    before = len(begun())
    killer = kill_a_worker_when(lambda: begun()[before + 2][1] if len(begun()) > before + 2 else None)
    document = reproduce("counting", seeds=range(4), out=tmp_path, scheduler=cluster.scheduler_address)
    killer.join()
    units = sorted((length, seed) for length in (10, 1000) for seed in range(4))
    assert written(tmp_path) == units  # each once
    assert document["metrics"]["total"]["long"]["1000"]["seeds"] == [1000.0, 1001.0, 1002.0, 1003.0]
    assert len(begun()) - before >= len(units)
    after = len(begun())
    reproduce("counting", seeds=range(5), out=tmp_path, scheduler=cluster.scheduler_address)
    assert sorted(unit for unit, _ in begun()[after:]) == ["10/4", "1000/4"]  # only what was missing


def test_states_and_fits_survive_the_death_of_a_worker(client):
    rng = np.random.default_rng(0)
    signals = [rng.normal(size=60 + k % 3) for k in range(20)]
    memory, forecaster = Memory(LegT(8, 20.0)), Forecaster(LegT(8, 20.0), horizon=4.0)
    # A function of this module could not be found by the workers; a lambda is sent whole.
    bag = db.from_sequence(signals, npartitions=10).map(lambda one: (time.sleep(0.1), one)[1])
    table = pd.DataFrame({"name": np.repeat(np.arange(20), 50), "x": rng.normal(size=1000)})
    table = table.iloc[rng.permutation(1000)].reset_index(drop=True)
    with client.as_current():
        workers = client.run(os.getpid)
        futures = client.compute(states(memory, bag))
        time.sleep(0.5)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        found = futures.result(timeout=180)
        state = fit_forecaster(forecaster, db.from_sequence(signals, npartitions=4))
        frame = states(memory, dd.from_pandas(table, npartitions=3, sort=False), id="name", column="x").compute()
    np.testing.assert_allclose(np.stack(found), [memory.final(one) for one in signals], rtol=0, atol=1e-12)
    here = reduce(forecaster.merge, [forecaster.learn(forecaster.initial_state(), one) for one in signals])
    np.testing.assert_allclose(state.learnt[0][0].yx, here.learnt[0][0].yx, rtol=1e-9, atol=1e-9)
    assert sorted(frame.index) == list(range(20))
    for name, rows in table.groupby("name"):
        np.testing.assert_allclose(frame.loc[name], memory.final(rows["x"].to_numpy()), rtol=0, atol=1e-12)


def test_a_data_set_is_forecast_on_the_cluster(cluster, client, tmp_path):
    table = pd.DataFrame({"shop": np.repeat(["a", "b"], 40), "sold": np.cos(np.arange(80) / 3)})
    (tmp_path / "set").mkdir()
    table.to_parquet(tmp_path / "set" / "a.parquet", index=False)
    choices = Choices(horizon=3, season=(1,))
    answer = run_panel(
        tmp_path / "set", Reading(panel=("shop",)), choices, tmp_path / "out", 1, cluster.scheduler_address
    )
    assert (answer["series"], answer["failures"]) == (2, 0)
    assert pd.read_parquet(tmp_path / "out" / "forecast")["shop"].tolist() == ["a"] * 3 + ["b"] * 3


def test_no_scheduler_at_the_address_is_one_sentence(tmp_path):
    with pytest.raises(ConnectionError, match=r"answers at tcp://127\.0\.0\.1:1"):
        connect("tcp://127.0.0.1:1", timeout=0.3)
    with pytest.raises(ValueError, match="exclude each other"):
        reproduce("counting", jobs=2, scheduler="tcp://127.0.0.1:1", out=tmp_path)


def test_a_dead_address_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("hippozoo_studies.framework.on_cluster.connect", lambda address: connect(address, 0.3))
    with pytest.raises(ConnectionError):
        reproduce("counting", scheduler="tcp://127.0.0.1:1", out=tmp_path / "results")
    assert list(tmp_path.iterdir()) == []


def test_work_that_nobody_waits_for_ends(client, tmp_path):
    diary = tmp_path / "diary"

    def work(item):
        from hippozoo.scale.cluster import tell

        for _ in range(600):
            with diary.open("a") as file:
                file.write(f"{item}\n")
            tell(0.5)
            time.sleep(0.05)

    told = []

    def report(*what):
        told.append(what)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(each_finished(client, work, [0, 1, 2, 3], on_report=report))
    size, quiet, deadline = -1, 0, time.monotonic() + 20
    while quiet < 10 and time.monotonic() < deadline:
        time.sleep(0.1)
        quiet = quiet + 1 if diary.stat().st_size == size else 0
        size = diary.stat().st_size
    assert quiet == 10
    assert len(set(diary.read_text().split())) < 4  # those that had not begun never did


def test_a_unit_that_kills_its_workers_is_tried_twice_and_then_reported(cluster, client, tmp_path):
    config = load("counting").module.Config(seeds=(0, 1), lengths=(13,))
    before = len(begun())
    with pytest.raises(UnitsFailedError, match="first length=13 seed=0"):
        reproduce("counting", config=config, out=tmp_path, scheduler=cluster.scheduler_address)
    assert [unit for unit, _ in begun()[before:]].count("13/0") == 2
    assert written(tmp_path) == [(13, 1)]
