"""Ends that no experiment asked for, in processes of their own."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hippozoo_studies import reproduce
from studies.toy_shop import start_hippozoo


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Units that take long enough to be caught in the act, and the file where each notes its start."""
    monkeypatch.setenv("COUNTING_SECONDS", "0.3")
    monkeypatch.setenv("COUNTING_DIARY", str(tmp_path / "diary"))
    return tmp_path / "diary"


def wait_for(ready: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


def wait_for_lines(path: Path, count: int) -> None:
    wait_for(lambda: path.exists() and path.read_text().count("\n") >= count, f"{count} lines in {path}")


def started(diary: Path) -> list[str]:
    return [line.split()[0] for line in diary.read_text().splitlines()]


def workers(diary: Path) -> set[int]:
    return {int(line.split()[1]) for line in diary.read_text().splitlines()} if diary.exists() else set()


def finished(folder: Path) -> list[str]:
    path = folder / "counting" / "units.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [f"{line['unit']['length']}/{line['unit']['seed']}" for line in lines]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_killed_outright_goes_on_where_it_was(tmp_path, slow, jobs):
    arguments = ("reproduce", "counting", "--out", str(tmp_path), "--jobs", jobs, "--json")
    process = start_hippozoo(*arguments)
    wait_for_lines(tmp_path / "counting" / "units.jsonl", 2)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    time.sleep(0.5)  # workers notice that their parent is gone
    kept, begun = finished(tmp_path), started(slow)
    assert 2 <= len(kept) < 6
    with (tmp_path / "counting" / "units.jsonl").open("a") as file:
        file.write('{"experiment": "counting", "fing')  # as if the kill had come in the middle of a line
    again = start_hippozoo(*arguments)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert json.loads(out)["metrics"]["total"]["long"]["1000"]["seeds"] == [1000.0, 1001.0, 1002.0]
    assert not set(kept) & set(started(slow)[len(begun) :])
    assert sorted(finished(tmp_path)) == sorted({"10/0", "10/1", "10/2", "1000/0", "1000/1", "1000/2"})
    assert f"{len(kept)} of 6 units are in" in err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_says_what_is_done_and_how_to_go_on(tmp_path, slow, jobs):
    arguments = ("reproduce", "counting", "--out", str(tmp_path), "--jobs", jobs)
    process = start_hippozoo(*arguments)
    wait_for_lines(tmp_path / "counting" / "units.jsonl", 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    kept = finished(tmp_path)
    assert process.returncode == 130, err
    assert out == ""
    assert f"hippozoo: stopped with {len(kept)} of 6 units of counting done; they are kept in" in err
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    assert not (tmp_path / "counting" / "metrics.json").exists()
    begun = len(started(slow))
    out, err = start_hippozoo(*arguments).communicate(timeout=60)
    assert "does not hold: counting ends" in out
    assert not set(kept) & set(started(slow)[begun:])


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="a terminal sends Ctrl-C to a process group, as POSIX has them")
def test_ctrl_c_reaches_the_workers_too_and_they_leave_it_to_their_parent(tmp_path, slow, monkeypatch):
    monkeypatch.setenv("COUNTING_SECONDS", "1")
    process = start_hippozoo("reproduce", "counting", "--out", str(tmp_path), "--jobs", "2", own_group=True)
    wait_for(lambda: len(workers(slow)) == 2, "two workers at work")
    begun = set(started(slow))
    for worker in workers(slow):
        os.kill(worker, signal.SIGINT)
    wait_for(lambda: process.poll() is not None or begun <= set(finished(tmp_path)), "what they were at")
    assert process.poll() is None, process.communicate()[1]
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "failed" not in err
    kept = finished(tmp_path)
    assert 2 <= len(kept) < 6
    before = len(started(slow))
    monkeypatch.setenv("COUNTING_SECONDS", "0")
    document = reproduce("counting", out=tmp_path)
    assert document["metrics"]["total"]["short"]["seeds"] == [10.0, 11.0, 12.0]
    assert not set(kept) & set(started(slow)[before:])


def test_workers_end_with_a_killed_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTING_SECONDS", "30")
    monkeypatch.setenv("COUNTING_DIARY", str(tmp_path / "diary"))
    process = start_hippozoo("reproduce", "counting", "--out", str(tmp_path), "--jobs", "2")
    wait_for_lines(tmp_path / "diary", 2)
    process.kill()
    process.communicate(timeout=20)  # the workers share its stderr: this returns when all are gone
    assert not (tmp_path / "counting" / "metrics.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end the worker after the call that it is in")
def test_workers_end_with_a_killed_parent_within_a_long_call(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTING_HOLDS", str(10**10))
    monkeypatch.setenv("COUNTING_DIARY", str(tmp_path / "diary"))
    process = start_hippozoo("reproduce", "counting", "--out", str(tmp_path), "--jobs", "2")
    wait_for_lines(tmp_path / "diary", 2)
    time.sleep(0.5)  # now they are in it
    process.kill()
    process.communicate(timeout=8)  # the workers share its stderr: this returns when all are gone
    assert not (tmp_path / "counting" / "metrics.json").exists()
