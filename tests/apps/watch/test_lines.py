"""Sources of a watch: whole lines only, and the place to go on from."""

import io
import os

import pytest

from hippozoo.apps.watch.lines import Lines, Place
from hippozoo.apps.watch.problem import WatchError


def texts(lines):
    return [line.text for line in lines]


def all_lines(source):
    found = []
    while not source.ended:
        found += source.read()
    return found


def test_lines_are_numbered_and_have_no_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufefftime,value\r\n1,2\r\n3,4\r\n".encode())
    with Lines(str(path)) as source:
        found = all_lines(source)
    assert texts(found) == ["time,value", "1,2", "3,4"]
    assert [line.number for line in found] == [1, 2, 3]


@pytest.mark.parametrize("cut", range(0, 30, 3))
def test_reading_goes_on_where_it_stopped(tmp_path, cut):
    path, content = tmp_path / "a.csv", b"time,value\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(9))
    path.write_bytes(content[:cut] if cut else b"")
    with Lines(str(path), follow=True) as source:
        before, place = source.read(), source.place
    path.write_bytes(content)
    with Lines(str(path), place, follow=True) as source:
        after = source.read()
    assert texts(before) + texts(after) == content.decode().splitlines()
    assert [line.number for line in before + after] == list(range(1, 11))


def test_a_torn_line_waits_for_its_rest(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1")
    with Lines(str(path), follow=True) as source:
        assert texts(source.read()) == ["x"]
        assert source.read() == []
        with path.open("a") as file:
            file.write("7\n")
        assert texts(source.read()) == ["17"]


def test_a_growing_file_that_is_replaced_or_cut_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    with Lines(str(path), follow=True) as source:
        source.read()
        path.rename(tmp_path / "a.csv.1")
        assert source.read() == []  # the next one is not there yet
        path.write_text("x\n3\n")
        assert source.read() == []
        assert source.begun_anew == "was replaced"
        assert texts(source.read()) == ["x", "3"]
        path.write_text("x\n")
        assert source.read() == []
        assert source.begun_anew == "was cut"
        assert texts(source.read()) == ["x"]


def test_another_file_under_the_old_name_is_refused_unless_it_grows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    with Lines(str(path)) as source:
        all_lines(source)
        place = source.place
    path.write_text("y\n5\n6\n7\n")
    with pytest.raises(WatchError, match="begins with other bytes: it was replaced since it was last read"):
        Lines(str(path), place)
    with Lines(str(path), place, follow=True) as source:
        assert texts(source.read()) == ["y", "5", "6", "7"]
        assert "other bytes" in source.begun_anew


def test_standard_input_gives_what_is_there():
    with Lines("-", stdin=io.BytesIO(b"x\n1\n2\n")) as source:
        assert texts(all_lines(source)) == ["x", "1", "2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "is not there"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b"PNG\x00\x01"), "is a binary file"),
        (lambda path: path.write_bytes(bytes(range(1, 256))), "is a binary file"),
        (lambda path: path.write_bytes(b"\x1f\x8b\x08\x00rest"), "is compressed; decompress it.*zcat"),
        (lambda path: path.write_bytes(b"PAR1\x00rest"), "is a Parquet file.*hippozoo forecast"),
        (os.mkfifo, "is a pipe.* pass - and <"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, make, message):
    path = tmp_path / "a.csv"
    make(path)
    with pytest.raises(WatchError, match=message):
        Lines(str(path), Place())


@pytest.mark.parametrize("follow", [False, True])
def test_a_line_counts_once_its_end_is_there(tmp_path, follow):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2.4")
    with Lines(str(path), follow=follow) as source:
        assert texts(source.read()) == ["x", "1"]
        assert source.read() == []
        assert source.torn == 3
        place = source.place
    path.write_text("x\n1\n2.45\n")
    with Lines(str(path), place, follow=follow) as source:
        found = source.read()
        assert (texts(found), found[0].number, source.torn) == (["2.45"], 3, None)


def test_what_a_writer_still_adds_to_a_file_that_was_moved_away_is_read_first(tmp_path):
    path, old = tmp_path / "a.csv", tmp_path / "a.csv.1"
    path.write_text("x\n1\n")
    with Lines(str(path), follow=True) as source, path.open("a") as writer:
        assert texts(source.read()) == ["x", "1"]
        path.rename(old)
        path.write_text("")  # as logrotate does, before the writer has heard of it
        assert source.read() == []
        writer.write("2\n")
        writer.flush()
        assert texts(source.read()) == ["2"]
        writer.write("3\n4")
        writer.flush()
        path.write_text("x\n5\n")
        assert texts(source.read()) == ["3"]
        assert source.read() == []
        assert source.begun_anew == "was replaced (its last line, number 5, had no end and is left out)"
        assert texts(source.read()) == ["x", "5"]


def test_a_file_that_was_short_when_it_was_opened_is_known_again_by_all_that_was_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n")
    with Lines(str(path), follow=True) as source:
        source.read()
        path.write_text("x\n1\n2\n")
        assert texts(source.read()) == ["1", "2"]
        place = source.place
    path.write_text("x\n7\n8\n9\n")  # another file of the same name and header, and longer
    with pytest.raises(WatchError, match="begins with other bytes"):
        Lines(str(path), place)
    with Lines(str(path), place, follow=True) as source:
        assert texts(source.read()) == ["x", "7", "8", "9"]


def test_a_file_that_was_cut_and_grew_again_between_two_looks_is_noticed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    with Lines(str(path), follow=True) as source:
        source.read()
        path.write_text("x\n5\n6\n7\n")
        assert source.read() == []
        assert source.begun_anew == "was overwritten"
        assert texts(source.read()) == ["x", "5", "6", "7"]


def test_a_torn_line_that_is_taken_back_is_read_as_it_is_now(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n234567")
    with Lines(str(path), follow=True) as source:
        source.read()
        path.write_text("x\n1\n5\n")
        assert source.read() == []
        assert source.begun_anew is None
        assert texts(source.read()) == ["5"]


def test_a_torn_line_that_is_written_anew_and_longer_is_read_once_and_as_it_is_now(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n23")
    with Lines(str(path), follow=True) as source:
        assert texts(source.read()) == ["x", "1"]
        path.write_text("x\n1\n45678\n9\n")
        assert texts(source.read()) == ["45678", "9"]
        assert source.begun_anew is None


def test_waiting_for_standard_input_leaves_room_for_signals():
    inside, outside = os.pipe()
    with os.fdopen(inside, "rb") as stdin, os.fdopen(outside, "wb") as writer:
        source = Lines("-", stdin=stdin)
        assert source.read() == []  # at once
        assert not source.ended
        writer.write(b"x\n1")
        writer.flush()
        assert texts(source.read()) == ["x"]
        writer.close()
        assert source.read() == []
        assert (source.ended, source.torn) == (True, 2)
