import errno
import json
import os

import pytest

from hippozoo._internal import files as _files
from hippozoo_studies import Finished, ResultsInUseError
from hippozoo_studies.framework.unit_log import UnitLog, read_lines


def write(path, seeds, fingerprint="abc"):
    with UnitLog(path, "counting", fingerprint) as log:
        for seed in seeds:
            log.add(Finished({"seed": seed}, {"loss": seed / 3}, seconds=0.5))


def seeds_in(path, fingerprint="abc"):
    with UnitLog(path, "counting", fingerprint) as log:
        return [seed for seed in range(9) if log.find({"seed": seed}) is not None]


def test_units_are_found_again_with_the_very_same_numbers(tmp_path):
    write(tmp_path / "units.jsonl", [0, 1])
    write(tmp_path / "units.jsonl", [2])
    with UnitLog(tmp_path / "units.jsonl", "counting", "abc") as log:
        assert log.find({"seed": 1}) == Finished({"seed": 1}, {"loss": 1 / 3}, seconds=0.5)
        assert log.find({"seed": 3}) is None
    assert (tmp_path / "units.jsonl").read_text().count("\n") == 3


def test_the_order_of_a_units_keys_does_not_matter(tmp_path):
    with UnitLog(tmp_path / "units.jsonl", "counting", "abc") as log:
        log.add(Finished({"model": "lstm", "seed": 0}, {}, 0.0))
        assert log.find({"seed": 0, "model": "lstm"}) is not None


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_torn_last_line_is_dropped_and_the_next_one_stands_alone(tmp_path, cut):
    path = tmp_path / "units.jsonl"
    write(path, [0, 1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    kept = [0, 1] if cut == 1 else [0]  # only the line break is lost: the unit is whole
    assert seeds_in(path) == kept
    write(path, [2])
    assert seeds_in(path) == [*kept, 2]
    assert len(read_lines(path)[0]) == len(kept) + 1


def test_a_tear_that_left_zeros_is_dropped(tmp_path):
    path = tmp_path / "units.jsonl"
    write(path, [0])
    path.write_bytes(path.read_bytes() + b"\0" * 40)
    assert seeds_in(path) == [0]


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", "{}", "5", '{"seed": 0}'])
def test_a_spoilt_line_in_the_middle_is_named_and_nothing_is_changed(tmp_path, line):
    path = tmp_path / "units.jsonl"
    write(path, [0])
    spoilt = f"{path.read_text()}{line}\n"
    path.write_text(spoilt)
    with pytest.raises(ValueError, match=r"line 2 of .*units\.jsonl"):
        seeds_in(path)
    assert path.read_text() == spoilt


def test_units_of_another_configuration_are_left_alone(tmp_path):
    path = tmp_path / "units.jsonl"
    write(path, [0, 1], fingerprint="full")
    write(path, [2], fingerprint="quick")
    assert seeds_in(path, "full") == [0, 1]
    assert seeds_in(path, "quick") == [2]
    with UnitLog(path, "counting", "quick") as log:
        assert log.others == 2


def test_two_runs_into_one_file_are_refused(tmp_path):
    with (
        UnitLog(tmp_path / "units.jsonl", "counting", "abc"),
        pytest.raises(ResultsInUseError, match="run is writing"),
        UnitLog(tmp_path / "units.jsonl", "counting", "abc"),
    ):
        pass
    assert seeds_in(tmp_path / "units.jsonl") == []


def test_a_refused_run_leaves_the_log_of_the_first_alone(tmp_path):
    path = tmp_path / "units.jsonl"
    with UnitLog(path, "counting", "abc") as first:
        for _ in range(2):
            with pytest.raises(ResultsInUseError), UnitLog(path, "counting", "abc"):
                pass
            assert path.exists(), "the refused run has removed the file that the first one writes to"
        first.add(Finished({"seed": 0}, {"loss": 0.5}, seconds=1.0))
        assert len(read_lines(path)[0]) == 1
    assert seeds_in(path) == [0]


def test_a_file_removed_by_a_run_that_ends_is_not_the_one_that_the_next_writes_to(tmp_path, monkeypatch):
    path, lock = tmp_path / "units.jsonl", _files.fcntl.flock

    def late(descriptor, how):
        """Between opening and locking, the run before ends and removes its empty file."""
        if not late.done and path.exists():
            late.done = True
            path.unlink()
        lock(descriptor, how)

    late.done = False
    monkeypatch.setattr(_files.fcntl, "flock", late)
    write(path, [0])
    assert seeds_in(path) == [0]


def test_a_full_disk_is_named_with_the_file_and_half_a_line_does_not_stay(tmp_path, monkeypatch):
    path, write_all = tmp_path / "units.jsonl", os.write

    def full(descriptor, text):
        if len(text) < 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_all(descriptor, text[:-40])

    with UnitLog(path, "counting", "abc") as log:
        log.add(Finished({"seed": 0}, {}, 0.0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match=rf"{path} .*disk is full"):
                log.add(Finished({"seed": 1}, {}, 0.0))
        assert log.find({"seed": 1}) is None
        log.add(Finished({"seed": 2}, {}, 0.0))
    assert seeds_in(path) == [0, 2]


def test_a_run_without_units_leaves_no_file(tmp_path):
    write(tmp_path / "units.jsonl", [])
    assert list(tmp_path.iterdir()) == []


def test_a_line_is_whole_however_little_the_system_writes_at_once(tmp_path, monkeypatch):
    write_all = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, text: write_all(descriptor, text[:7]))
    write(tmp_path / "units.jsonl", [0, 1])
    monkeypatch.undo()
    lines = (tmp_path / "units.jsonl").read_text().splitlines()
    assert [json.loads(line)["unit"] for line in lines] == [{"seed": 0}, {"seed": 1}]


def test_of_two_lines_of_one_unit_the_first_counts(tmp_path):
    path = tmp_path / "units.jsonl"
    write(path, [1])
    other = tmp_path / "other.jsonl"
    with UnitLog(other, "counting", "abc") as log:
        log.add(Finished({"seed": 1}, {"loss": 0.999}, seconds=0.5))
    path.write_text(path.read_text() + other.read_text())
    with UnitLog(path, "counting", "abc") as log:
        assert log.find({"seed": 1}) == Finished({"seed": 1}, {"loss": 1 / 3}, seconds=0.5)
    assert len(read_lines(path)[0]) == 2


def test_a_unit_counts_only_after_its_line_is_on_the_disk(tmp_path, monkeypatch):
    path, synced = tmp_path / "units.jsonl", []
    with UnitLog(path, "counting", "abc") as log:

        def sync(descriptor: int) -> None:
            assert os.fstat(descriptor).st_ino == path.stat().st_ino
            synced.append((path.read_text().count("\n"), log.find({"seed": 0}) is not None))

        monkeypatch.setattr(os, "fsync", sync)
        log.add(Finished({"seed": 0}, {}, 0.0))
        assert log.find({"seed": 0}) is not None
    assert synced == [(1, False)]  # the whole line was there to be synced, and nobody relied on it yet
