"""A file is known again by what was read of it: neither its name, nor its header, nor its length is enough."""

import json
import sqlite3

import pytest

from hippozoo.apps.watch.lines import Lines, Place
from hippozoo.apps.watch.run import Settings, Watch

HEADER = ",".join(["time", "flow", *(f"a_column_with_a_long_name_{k:03d}" for k in range(60))])


def rows(first, count):
    return "".join(f"{60 * k},{k % 7}{',1' * 60}\n" for k in range(first, first + count))


def read_all(source):
    found = []
    while True:
        more = source.read()
        if not more and not source.begun_anew:
            return [line.text for line in found]
        source.begun_anew = None
        found += more


def test_the_header_of_these_tests_is_longer_than_what_was_once_compared():
    assert len(HEADER) > 1024


@pytest.mark.parametrize("replaced", [True, False], ids=["moved into place", "overwritten in place"])
@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "between two runs"])
def test_no_row_is_lost_where_a_file_with_the_same_long_header_takes_its_place(tmp_path, replaced, running):
    path, later = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text(HEADER + "\n" + rows(0, 65))
    source = Lines(str(path), follow=True)
    before = read_all(source)
    new = HEADER + "\n" + rows(65, 100)
    if replaced:
        later.write_text(new)
        later.rename(path)
    else:
        path.write_text(new)
    if not running:
        source.close()
        source = Lines(str(path), source.place, follow=True)
    after = read_all(source)
    source.close()
    assert before[1:] == rows(0, 65).splitlines()
    assert after == new.splitlines()


def test_a_file_without_times_that_is_saved_anew_with_more_rows_is_gone_on_with(tmp_path):
    path, later = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("x\n" + "1\n" * 5000)
    with Lines(str(path)) as source:
        while not source.ended:
            source.read()
        place = source.place
    later.write_text("x\n" + "1\n" * 5000 + "2\n")
    later.rename(path)
    with Lines(str(path), place) as source:
        assert [line.text for line in source.read()] == ["2"]


def test_a_place_of_format_5_is_still_understood(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    with Lines(str(path)) as source:
        source.read()
        place = source.place
    known = {"offset": place.offset, "number": place.number, "inode": place.inode}
    known |= {"head_length": place.head_length, "head": place.head}
    with path.open("a") as file:
        file.write("3\n")
    with Lines(str(path), Place(**known)) as source:
        assert [line.text for line in source.read()] == ["3"]


def test_every_row_of_a_replaced_file_reaches_the_database(tmp_path):
    path = tmp_path / "pump.csv"
    path.write_text(HEADER + "\n" + rows(0, 80))
    for _ in range(2):
        watch = Watch(Settings(str(path), ("flow",), horizon=2, follow=True), tmp_path / "pump.db", str, str)
        watch.status = lambda status, watch=watch: setattr(watch, "_stop", True)
        watch.run()
        path.write_text(HEADER + "\n" + rows(80, 120))
    database = sqlite3.connect(tmp_path / "pump.db")
    [[count]] = database.execute("SELECT count(*) FROM readings").fetchall()
    [[progress]] = database.execute("SELECT content FROM progress").fetchall()
    database.close()
    assert count == 200
    assert json.loads(progress)["readings"] == 200
