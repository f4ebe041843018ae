import dataclasses
import json
import os
import textwrap

import numpy as np
import pytest
import torch

import hippozoo_studies as experiments
from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies import Claim, Finished, Result, own, reproduce, save_figure, select
from hippozoo_studies.framework import units
from hippozoo_studies.framework.progress import Silence
from hippozoo_studies.framework.unit_log import UnitLog


class Listener(Silence):
    """Writes down what it is told."""

    def __init__(self):
        self.units, self.notes, self.totals = [], [], []

    def start(self, name, total, done):
        self.totals.append((total, done))

    def finished(self, unit, seconds):
        self.units.append(unit)

    def grow(self, total, found=0):
        self.totals.append((total, len(self.units) + found))

    def note(self, text):
        self.notes.append(text)


def computed(**arguments):
    """The units that a call computes, as length/seed."""
    listener = Listener()
    reproduce("counting", progress=listener, **arguments)
    return sorted(f"{unit['length']}/{unit['seed']}" for unit in listener.units)


def test_metrics_follow_the_schema(tmp_path):
    document = reproduce("counting", out=tmp_path)
    assert document == json.loads((tmp_path / "counting" / "metrics.json").read_text())
    assert list(document) == ["name", "quick", "seeds", "metrics", "paper", "claims", "seconds", "versions"]
    assert (document["name"], document["quick"], document["seeds"]) == ("counting", False, [0, 1, 2])
    assert document["metrics"]["total"]["long"]["1000"] == {
        "mean": 1001.0,
        "sem": pytest.approx(np.sqrt(1 / 3)),
        "seeds": [1000.0, 1001.0, 1002.0],
    }
    assert document["paper"] == {"total": {"short": 10, "long": {"1000": 1000}}}
    assert document["claims"][1] == {
        "claim": "counting ends",
        "holds": False,
        "evidence": "it goes on",
        "verdict": "does not hold",
        "quote": "",
    }
    assert document["seconds"] >= 0
    assert document["versions"]["torch"] == torch.__version__


def test_the_folder_holds_configuration_units_and_figures(tmp_path):
    reproduce("counting", out=tmp_path)
    files = sorted(path.name for path in (tmp_path / "counting").iterdir())
    assert files == ["config.json", "count.png", "count.svg", "metrics.json", "units.jsonl"]
    config = json.loads((tmp_path / "counting" / "config.json").read_text())
    assert config["config"] == {"seeds": [0, 1, 2], "lengths": [10, 1000], "step": 1.0}


def test_finished_units_are_not_run_again_and_the_numbers_stay(tmp_path):
    first = reproduce("counting", out=tmp_path)
    assert computed(out=tmp_path) == []
    assert reproduce("counting", out=tmp_path)["metrics"] == first["metrics"]


def test_another_seed_runs_that_seed_only(tmp_path):
    computed(out=tmp_path, seeds=[0, 1])
    assert computed(out=tmp_path, seeds=[0, 1, 5]) == ["10/5", "1000/5"]
    assert reproduce("counting", out=tmp_path, seeds=[5])["seeds"] == [5]


def test_the_seeds_asked_for_are_those_in_the_metrics_in_their_order(tmp_path):
    reproduce("counting", out=tmp_path, seeds=[0, 1, 2])
    document = reproduce("counting", out=tmp_path, seeds=[2, 0])
    assert document["seeds"] == [2, 0]
    assert document["metrics"]["total"]["short"]["seeds"] == [12.0, 10.0]
    assert document["metrics"]["total"]["long"]["1000"]["seeds"] == [1002.0, 1000.0]


def test_a_changed_configuration_runs_everything_and_mixes_nothing(tmp_path):
    counting = experiments.load("counting").module
    computed(out=tmp_path, seeds=[0])
    changed = dataclasses.replace(counting.Config(), step=3.0)
    listener = Listener()
    document = reproduce("counting", config=changed, seeds=[0], out=tmp_path, progress=listener)
    assert len(listener.units) == 2
    assert document["metrics"]["total"]["short"]["mean"] == 30.0
    assert any("2 units of other configurations" in note for note in listener.notes)
    assert computed(out=tmp_path, seeds=[0]) == []


def test_quick_and_full_go_to_different_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reproduce("counting", quick=True)
    reproduce("counting")
    quick = json.loads((tmp_path / "results-quick" / "counting" / "metrics.json").read_text())
    full = json.loads((tmp_path / "results" / "counting" / "metrics.json").read_text())
    assert (quick["quick"], full["quick"]) == (True, False)
    assert quick["metrics"]["total"]["short"]["mean"] == 20.0


def test_a_quick_run_never_overwrites_a_full_result(tmp_path):
    reproduce("counting", out=tmp_path)
    before = (tmp_path / "counting" / "metrics.json").read_bytes()
    with pytest.raises(experiments.FullResultInTheWayError, match="is a full result"):
        reproduce("counting", quick=True, out=tmp_path)
    assert (tmp_path / "counting" / "metrics.json").read_bytes() == before


def test_a_full_run_may_follow_a_quick_one(tmp_path):
    reproduce("counting", quick=True, out=tmp_path)
    assert reproduce("counting", out=tmp_path)["metrics"]["total"]["short"]["mean"] == 11.0


def test_side_by_side_gives_what_one_after_the_other_gives(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTING_DIARY", str(tmp_path / "diary"))
    monkeypatch.setenv("COUNTING_SECONDS", "0.3")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    beside = reproduce("counting", out=tmp_path / "beside", jobs=2)
    processes = {line.split()[1] for line in (tmp_path / "diary").read_text().splitlines()}
    assert len(processes) == 2
    assert str(os.getpid()) not in processes
    lines = map(json.loads, (tmp_path / "beside" / "counting" / "units.jsonl").read_text().splitlines())
    assert {line["result"]["threads"] for line in lines} == {"1"}
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("COUNTING_SECONDS", "0")
    assert reproduce("counting", out=tmp_path / "after")["metrics"] == beside["metrics"]


def test_workers_have_the_threads_that_the_user_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    one_unit = dataclasses.replace(experiments.load("counting").module.Config(), lengths=(10,), seeds=(0,))
    reproduce("counting", config=one_unit, out=tmp_path, jobs=2)
    (line,) = map(json.loads, (tmp_path / "counting" / "units.jsonl").read_text().splitlines())
    assert line["result"]["threads"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_unit_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, jobs):
    monkeypatch.setenv("COUNTING_FAILS", "10/1")
    with pytest.raises(
        experiments.UnitsFailedError,
        match=r"first length=10 seed=1",
    ) as caught:
        reproduce("counting", out=tmp_path, jobs=jobs)
    assert "in run_unit" in caught.value.__notes__[0]  # where it happened, for --debug
    assert not (tmp_path / "counting" / "metrics.json").exists()
    monkeypatch.delenv("COUNTING_FAILS")
    assert computed(out=tmp_path) == ["10/1"]


def test_a_worker_that_dies_costs_its_unit_only(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTING_DIES", "10/0")
    with pytest.raises(experiments.UnitsFailedError, match=r"length=10 seed=0"):
        reproduce("counting", out=tmp_path, jobs=2)
    monkeypatch.delenv("COUNTING_DIES")
    assert computed(out=tmp_path) == ["10/0"]


def test_a_worker_may_make_its_folder_while_another_unit_is_tidied_up_after(tmp_path, monkeypatch):
    def outcomes(experiment, config, tasks, *rest):
        """Two workers, stopped where it matters: the second has made half of its path when the first is done."""
        first, second = tasks
        first.scratch.mkdir(parents=True)
        second.scratch.parent.mkdir(exist_ok=True)
        yield Finished(first.unit, {"total": 1.0}, 0.1)
        second.scratch.mkdir()
        yield Finished(second.unit, {"total": 2.0}, 0.1)

    monkeypatch.setattr(units, "_outcomes", outcomes)
    reproduce("counting", seeds=[0], out=tmp_path, jobs=2)
    assert not (tmp_path / "counting" / ".unfinished").exists()


def test_a_worker_that_cannot_start_says_why(tmp_path, monkeypatch, toys):
    monkeypatch.delenv("HIPPOZOO_EXPERIMENTS")  # the worker will not find the module
    with pytest.raises(experiments.UnitsFailedError, match="ModuleNotFoundError"):
        reproduce("counting", out=tmp_path, jobs=2)


def test_more_units_may_depend_on_those_that_are_done(tmp_path, monkeypatch):
    counting = experiments.load("counting").module

    def more_units(config, finished: list[Finished]):
        best = max(finished, key=lambda one: one.result["total"]).unit["length"]
        return [{"length": best, "seed": 100}]

    monkeypatch.setattr(counting, "more_units", more_units, raising=False)
    listener = Listener()
    document = reproduce("counting", out=tmp_path, progress=listener)
    assert document["metrics"]["total"]["long"]["1000"]["seeds"][-1] == 1100.0
    assert listener.totals == [(6, 0), (7, 6)]
    again = Listener()
    reproduce("counting", out=tmp_path, progress=again)
    assert again.totals == [(6, 6), (7, 1)]  # the seventh is there already, and counts
    assert computed(out=tmp_path) == []


def test_no_process_waits_for_a_slow_unit_where_more_units_can_be_told_at_any_time(tmp_path, monkeypatch):
    counting = experiments.load("counting").module

    def more_units(config, finished: list[Finished]):
        return [{"length": 10, "seed": 100}] if select(finished, length=10, seed=0) else []

    monkeypatch.setattr(counting, "more_units", more_units, raising=False)
    monkeypatch.setattr(counting, "MORE_AT_ANY_TIME", True, raising=False)
    monkeypatch.setenv("COUNTING_DIARY", str(tmp_path / "diary"))
    monkeypatch.setenv("COUNTING_WAITS", "1000/0")  # the slow one ends only when a later one has begun
    monkeypatch.setenv("COUNTING_WAITS_FOR", "10/100")
    assert computed(out=tmp_path, seeds=[0], jobs=2) == ["10/0", "10/100", "1000/0"]
    monkeypatch.delenv("COUNTING_WAITS")
    assert computed(out=tmp_path, seeds=[0], jobs=2) == []


def test_a_unit_finds_its_checkpoints_again_and_they_go_when_it_is_done(tmp_path, monkeypatch):
    counting = experiments.load("counting").module
    plain_run = counting.run_unit
    seen = []

    def run_unit(config, unit, context):
        checkpoint = context.scratch / "checkpoint"
        seen.append(checkpoint.exists())
        checkpoint.write_text("half")
        if len(seen) == 1:
            raise KeyboardInterrupt
        return plain_run(config, unit, context)

    monkeypatch.setattr(counting, "run_unit", run_unit)
    with pytest.raises(experiments.Interrupted, match=r"stopped with 0 of 2"):
        reproduce("counting", seeds=[0], out=tmp_path)
    assert len(list((tmp_path / "counting" / ".unfinished").iterdir())) == 1
    reproduce("counting", seeds=[0], out=tmp_path)
    assert seen == [False, True, False]
    assert not (tmp_path / "counting" / ".unfinished").exists()


def test_what_a_kill_left_of_a_finished_unit_goes_with_the_next_run(tmp_path, monkeypatch):
    killed = []
    remove = units.remove_tree

    def kill_once(scratch):
        if not killed:
            killed.append(scratch)
            raise KeyboardInterrupt  # as early as a kill: the line is written, the folder not yet removed
        remove(scratch)

    with monkeypatch.context() as patched:
        patched.setattr(units, "remove_tree", kill_once)
        patched.setattr(units, "remove_empty", lambda *folders: None)  # nobody tidies up after a kill
        with pytest.raises(experiments.Interrupted):
            reproduce("counting", seeds=[0], out=tmp_path)
    assert killed[0].exists()
    reproduce("counting", seeds=[0], out=tmp_path)
    assert not (tmp_path / "counting" / ".unfinished").exists()


def test_a_checkpoint_of_another_configuration_is_not_found(tmp_path, monkeypatch):
    counting = experiments.load("counting").module
    plain_run = counting.run_unit
    found = []

    def run_unit(config, unit, context):
        found.append(sorted(path.read_text() for path in context.scratch.iterdir()))
        (context.scratch / "checkpoint").write_text(f"step {config.step}")
        if len(found) == 1:
            raise KeyboardInterrupt
        return plain_run(config, unit, context)

    monkeypatch.setattr(counting, "run_unit", run_unit)
    with pytest.raises(experiments.Interrupted):
        reproduce("counting", seeds=[0], out=tmp_path)
    other = dataclasses.replace(counting.Config(), step=3.0)
    reproduce("counting", config=other, seeds=[0], out=tmp_path)
    assert found == [[], [], []]
    reproduce("counting", seeds=[0], out=tmp_path)  # which still has its own
    assert found[3:] == [["step 1.0"], []]


def test_a_checkpoint_stays_until_its_unit_is_written_down(tmp_path, monkeypatch):
    counting = experiments.load("counting").module
    plain_run = counting.run_unit

    def run_unit(config, unit, context):
        (context.scratch / "checkpoint").write_text("all but done")
        return plain_run(config, unit, context)

    def full_disk(log: UnitLog, done: Finished) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(counting, "run_unit", run_unit)
    monkeypatch.setattr(UnitLog, "add", full_disk)
    with pytest.raises(OSError, match="No space left"):
        reproduce("counting", seeds=[0], out=tmp_path)
    (checkpoint,) = (tmp_path / "counting" / ".unfinished").rglob("checkpoint")
    assert checkpoint.read_text() == "all but done"


def test_an_interrupt_right_after_a_line_was_written_counts_that_line(tmp_path, monkeypatch):
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(experiments.Interrupted, match="stopped with 1 of 6"):
        reproduce("counting", out=tmp_path)


@pytest.mark.parametrize("bad", [float("nan"), np.array([1.0, np.inf])])
def test_a_unit_with_nan_is_refused_by_its_place_and_not_written(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(experiments.load("counting").module, "run_unit", lambda config, unit, context: {"loss": bad})
    with pytest.raises(experiments.UnitsFailedError, match=r"result\.loss(\[1\])? is (nan|inf)"):
        reproduce("counting", out=tmp_path)
    assert not (tmp_path / "counting" / "units.jsonl").exists()


def test_metrics_with_nan_are_refused_by_their_place(tmp_path, monkeypatch):
    result = Result(metrics={"mse": {1e3: float("nan")}})
    monkeypatch.setattr(experiments.load("one-go").module, "run", lambda config, context: result)
    with pytest.raises(ValueError, match=r"metrics\.mse\.1000"):
        reproduce("one-go", out=tmp_path)
    assert not (tmp_path / "one-go" / "metrics.json").exists()


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ([{"seed": 0}, {"seed": 0.0}], "twice"),
        ([3], "a unit is a dict"),
        ([{"seed": float("nan")}], "unit.seed is nan"),
    ],
)
def test_units_that_cannot_be_told_apart_are_refused(tmp_path, monkeypatch, units, message):
    monkeypatch.setattr(experiments.load("counting").module, "units", lambda config: units)
    with pytest.raises((TypeError, ValueError), match=message):
        reproduce("counting", out=tmp_path)


def test_what_is_not_a_result_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments.load("one-go").module, "run", lambda config, context: {"size": 1})
    with pytest.raises(TypeError, match=r"'one-go' returned"):
        reproduce("one-go", out=tmp_path)


def test_an_experiment_in_one_go_has_no_seeds_and_leaves_no_scratch(tmp_path):
    document = reproduce("one-go", out=tmp_path)
    assert (document["seeds"], document["metrics"]) == ([], {"size": 4})
    assert sorted(path.name for path in (tmp_path / "one-go").iterdir()) == ["config.json", "metrics.json", "table.txt"]
    with pytest.raises(ValueError, match="'one-go' has no"):
        reproduce("one-go", out=tmp_path, seeds=[1])


def test_no_seeds_at_all_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"seeds=\(\) names none"):
        reproduce("counting", seeds=(), out=tmp_path)


def test_numbers_survive_a_report_that_fails(tmp_path, monkeypatch):
    def report(result, folder):
        raise ArithmeticError("no ink")

    monkeypatch.setattr(experiments.load("one-go").module, "report", report)
    with pytest.raises(ArithmeticError, match="no ink"):
        reproduce("one-go", out=tmp_path)
    assert json.loads((tmp_path / "one-go" / "metrics.json").read_text())["metrics"] == {"size": 4}


def test_missing_data_stops_at_once_and_is_said_once(tmp_path, monkeypatch, capsys):
    asked = []

    def run_unit(config, unit, context):
        asked.append(context.data)
        raise MissingDataError("put it there")

    monkeypatch.setattr(experiments.load("counting").module, "run_unit", run_unit)
    with pytest.raises(experiments.UnitsFailedError, match=r"^put it there\n"):
        reproduce("counting", out=tmp_path, data=tmp_path)
    assert asked == [tmp_path]
    assert "put it there" not in capsys.readouterr().err  # the error that was raised says it


def test_units_here_have_one_torch_thread_and_the_caller_keeps_its_own(tmp_path, monkeypatch):
    threads = []

    def run_unit(config, unit, context):
        threads.append(torch.get_num_threads())
        return {"total": 0.0}

    monkeypatch.setattr(experiments.load("counting").module, "run_unit", run_unit)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        reproduce("counting", out=tmp_path, seeds=[0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert threads == [1, 1]


def test_the_same_figure_is_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        reproduce("counting", quick=True, out=tmp_path / folder)
    for file in ("count.png", "count.svg"):
        assert (tmp_path / "a" / "counting" / file).read_bytes() == (tmp_path / "b" / "counting" / file).read_bytes()


def test_the_example_of_the_guide_runs(tmp_path, monkeypatch):
    guide = experiments.__doc__ or ""
    example = guide.partition("in a folder of your own::\n")[2].partition("\nTest it with")[0]
    (tmp_path / "coin_flips.py").write_text(textwrap.dedent(example))
    monkeypatch.setattr(own, "__path__", [str(tmp_path)])
    document = reproduce("coin-flips", quick=True, out=tmp_path / "out")
    assert set(document["metrics"]["error"]) == {"10", "1000"}
    assert {"error.png", "error.svg"} <= {path.name for path in (tmp_path / "out" / "coin-flips").iterdir()}
    full = reproduce("coin-flips", out=tmp_path / "out2")
    assert full["claims"][0]["holds"]
    assert experiments.describe()["coin-flips"].startswith("Coin flips: ")


def test_the_guide_names_all_that_authors_import():
    guide = experiments.__doc__ or ""
    for thing in (Claim, Finished, Result, select, save_figure, experiments.over_seeds, experiments.mean_and_sem):
        assert thing.__name__ in guide
