"""The page of a watch, and its last alarms."""

import json
import os
import re
import sqlite3
from base64 import b64decode
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.show import last_alarms, write_page
from hippozoo.monitor import write_time
from many_streams import write_streams


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watch")
    values = np.sin(np.arange(700) / 6) + 0.1 * np.random.default_rng(0).normal(size=700)
    values[600] += 9.0
    rows = "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values))
    (folder / "pump.csv").write_text("time,<b>flow</b> $x$\n" + rows)
    Watch(Settings(str(folder / "pump.csv"), horizon=6), folder / "pump.db", str, str).run()
    return folder / "pump.db"


def test_the_last_alarm_says_what_was_expected(database):
    alarm = last_alarms(database)[-1]
    assert (alarm["number"], alarm["column"]) == (600, "<b>flow</b> $x$")
    assert alarm["lower"] < alarm["expected"] < alarm["upper"] < alarm["value"]


def test_the_page_names_the_alarm_and_shows_names_as_they_are(database, tmp_path):
    text = write_page(database, tmp_path / "pump.html").read_text()
    assert "&lt;b&gt;flow&lt;/b&gt;" in text
    assert "spike" in text
    assert "700 readings" in text
    assert len(text) < 3_000_000
    assert "It most likely began with this reading." in text
    assert "of the reading 1 before" in text  # which past it came from
    neighbour = last_alarms(database)[-1]["explanation"]["neighbour"]
    assert 0 <= neighbour < 600
    assert f"The most similar moment was at {write_time(60.0 * neighbour, dates=False)}." in text
    assert 'id="alarm-' in text
    assert 'id="weights-' in text


def test_a_database_that_is_none_is_said(tmp_path):
    (tmp_path / "x.db").write_text("hello " * 100)
    with pytest.raises(WatchError, match="not a database of hippozoo watch"):
        write_page(tmp_path / "x.db", tmp_path / "x.html")
    with pytest.raises(WatchError, match="is not there"):
        last_alarms(tmp_path / "none.db")
    with pytest.raises(WatchError, match="is a folder"):
        last_alarms(tmp_path)


def test_a_page_never_takes_the_place_of_its_database(database, tmp_path):
    path = tmp_path / "pump.html"
    path.write_bytes(database.read_bytes())
    with pytest.raises(WatchError, match=r"is the database.*\.db"):
        write_page(path, path)
    assert path.read_bytes() == database.read_bytes()


def test_reading_leaves_nothing_beside_the_database(database, tmp_path):
    last_alarms(database)
    write_page(database, tmp_path / "pump.html")
    assert sorted(path.name for path in database.parent.iterdir()) == ["pump.csv", "pump.db"]


def test_a_database_of_another_version_is_not_shown(database, tmp_path):
    path = tmp_path / "old.db"
    path.write_bytes(database.read_bytes())
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA user_version = 1")
    with pytest.raises(WatchError, match="format 1"):
        last_alarms(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_who_may_only_read_can_look_too(database, tmp_path):
    path = tmp_path / "pump.db"
    path.write_bytes(database.read_bytes())
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert last_alarms(path)
    finally:
        tmp_path.chmod(0o755)


def test_the_page_has_the_clock_of_the_source(tmp_path):
    rows = "".join(f"2024-05-01T{k // 60:02d}:{k % 60:02d}:00+05:30,{k % 7}\n" for k in range(120))
    (tmp_path / "pump.csv").write_text("time,flow\n" + rows)
    Watch(Settings(str(tmp_path / "pump.csv"), horizon=2), tmp_path / "pump.db", str, str).run()
    text = write_page(tmp_path / "pump.db", tmp_path / "page.html").read_text()
    assert "2024-05-01 00:00+05:30 to 2024-05-01 01:59+05:30" in text
    assert "time (+05:30)" in text
    assert "(UTC)" not in text


def test_many_columns_share_one_chart_below_the_alarms(tmp_path):
    path = write_streams(tmp_path / "plant.db", end=1.7e9)
    text = write_page(path, tmp_path / "page.html").read_text()
    assert text.index('id="alarms"') < text.index('id="wanted"') < text.index('id="chosen"')
    assert 'id="column-0"' not in text
    assert "Search 500 columns" in text
    assert len(text) < 7_000_000
    found = json.loads(re.search("const COLUMNS=(.*);\n", text)[1])
    assert len(found) == 500
    name, alarms, start, numbers, marks = found[0]  # the one with the newest alarm
    assert (name, alarms, marks[0][:2]) == ("pump 002", 1, [1.7e9 - 600, 0.0])
    time, low, high, *_ = np.frombuffer(b64decode(numbers), "<f4").reshape(6, -1)
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT time, value FROM readings WHERE channel = 2 ORDER BY number").fetchall()
    moments, values = np.reshape(rows, (144, 2, 2)).transpose(2, 0, 1)  # two readings to a point
    assert_allclose(start + time, moments.mean(axis=1), atol=1.0)
    assert_allclose(low, values.min(axis=1), rtol=1e-6)
    assert_allclose(high, values.max(axis=1), rtol=1e-6)
