"""A file is written whole or not at all, ordinary files only, and a killed writer's leftovers go."""

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hippozoo._internal import files as _files
from hippozoo._internal.files import CannotWriteError, demand_writable, make_folder, remove_leftovers, write_whole

# Writes one file, and stops in the middle for as long as it is let.
SLOW_WRITER = """
import sys, time
from hippozoo._internal import files as _files
def stop(*_):
    print("in the middle", flush=True)
    time.sleep(60)
_files._take_after = stop
_files.write_whole(sys.argv[1], b"never seen")
"""


@pytest.fixture
def slow_writer(tmp_path):
    """A process that holds a half-written file in `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, str(tmp_path / "slow")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_replaced_with_its_permissions_and_nothing_is_left(tmp_path):
    write_whole(tmp_path / "x", b"old")
    (tmp_path / "x").chmod(0o640)
    write_whole(tmp_path / "x", memoryview(b"the new one"))
    assert (tmp_path / "x").read_bytes() == b"the new one"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640
    assert names(tmp_path) == ["x"]


def test_who_reads_while_a_file_is_written_reads_the_old_one_whole(tmp_path):
    write_whole(tmp_path / "a", b"old")
    with (tmp_path / "a").open("rb", buffering=0) as reader:
        write_whole(tmp_path / "a", b"the new content")
        assert reader.read() == b"old"
    assert (tmp_path / "a").read_bytes() == b"the new content"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
@pytest.mark.parametrize("write", [lambda path: write_whole(path, b"new"), demand_writable])
@pytest.mark.parametrize("through_a_link", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "write-protected"])
def test_only_ordinary_files_that_may_be_written_are_replaced(tmp_path, write, through_a_link, kind):
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/null")
    else:
        path.write_bytes(b"old")
        path.chmod(0o444)
    before = path.stat()
    if through_a_link:
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    with pytest.raises(CannotWriteError, match=rf"{path} cannot be written: it is (a |write-).*pass another path"):
        write(path)
    after = path.stat()
    assert (after.st_mode, after.st_ino, after.st_rdev) == (before.st_mode, before.st_ino, before.st_rdev)
    assert [name for name in names(tmp_path) if name not in ("x", "link")] == []


def test_standard_output_is_no_file(tmp_path):
    command = "from hippozoo._internal.files import write_whole; write_whole('/dev/stdout', b'x')"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert "it is a pipe or socket and no ordinary file" in done.stderr


@pytest.mark.parametrize("length", [1, 200, 250, 255])
def test_every_name_the_system_knows_can_be_written(tmp_path, length):
    write_whole(tmp_path / ("n" * length), b"content")
    assert names(tmp_path) == ["n" * length]


def test_names_that_cannot_be_are_refused_in_a_sentence(tmp_path):
    for write in (lambda path: write_whole(path, b""), demand_writable):
        with pytest.raises(CannotWriteError, match="pass a shorter one"):
            write(tmp_path / ("n" * 256))
        with pytest.raises(CannotWriteError, match=r"null (byte|character).*; pass another name"):
            write("a\0b")
        with pytest.raises(CannotWriteError, match=r"create it first"):
            write(tmp_path / "nowhere" / "x")
        (tmp_path / "circle").unlink(missing_ok=True)
        (tmp_path / "circle").symlink_to("circle")
        with pytest.raises(CannotWriteError, match="leads in a circle"):
            write(tmp_path / "circle")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CannotWriteError, match=r"pass another name"):
        make_folder(tmp_path / "file" / "results")


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EINTR, errno.EIO])
def test_a_failure_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch, function, number):
    write_whole(tmp_path / "x", b"old")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(CannotWriteError, match=f"{tmp_path / 'x'}") as caught:
            write_whole(tmp_path / "x", b"new")
    assert caught.value.errno == number
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_full_disk_is_called_so():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        told = r"results/x cannot be written: the disk is full; free some space"
        with pytest.raises(CannotWriteError, match=told), _files.naming("results/x"):
            _files._write(descriptor, b"content")
    finally:
        os.close(descriptor)


@pytest.mark.skipif(_files.fcntl is None, reason="without locks leftovers cannot be told from what is being written")
class TestLeftovers:
    def test_they_go_with_the_next_write_once_their_writer_is_dead(self, tmp_path, slow_writer):
        (half,) = names(tmp_path)
        write_whole(tmp_path / "x", b"content")
        assert names(tmp_path) == [half, "x"], "a living process lost its file"
        slow_writer.send_signal(signal.SIGKILL)
        slow_writer.wait()
        assert names(tmp_path) == [half, "x"], "a killed process cannot clean up"
        write_whole(tmp_path / "x", b"content")
        assert names(tmp_path) == ["x"]

    def test_nothing_else_goes(self, tmp_path):
        kept = [".hippozoo-0123456789abcdef", "0123.tmp", ".hippozoo-link.tmp", ".hippozoo-pipe.tmp", "target"]
        for name in (kept[0], kept[1], "target"):
            (tmp_path / name).write_bytes(b"")
        (tmp_path / ".hippozoo-link.tmp").symlink_to("target")
        os.mkfifo(tmp_path / ".hippozoo-pipe.tmp")
        remove_leftovers(tmp_path)
        assert names(tmp_path) == sorted(kept)

    def test_a_file_taken_away_before_its_writer_could_lock_it_is_made_again(self, tmp_path, monkeypatch):
        lock, taken = _files.fcntl.flock, []

        def late(file, how):
            if not taken:
                taken.extend(names(tmp_path))
                (tmp_path / taken[0]).unlink()
            lock(file, how)

        monkeypatch.setattr(_files.fcntl, "flock", late)
        write_whole(tmp_path / "x", b"content")
        assert len(taken) == 1
        assert (tmp_path / "x").read_bytes() == b"content"

    def test_names_cannot_be_guessed(self, tmp_path, monkeypatch):
        seen, replace = [], os.replace

        def look(source, target):
            seen.append(Path(source).name)
            replace(source, target)

        monkeypatch.setattr(os, "replace", look)
        for _ in range(3):
            write_whole(tmp_path / "x", b"")
        assert len(set(seen)) == 3
