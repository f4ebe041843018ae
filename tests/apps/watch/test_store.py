"""The database of a watch: batches are whole, a second writer is refused, foreign files are left alone."""

import sqlite3
from contextlib import closing

import pytest

from hippozoo.apps.watch.database import is_begun
from hippozoo.apps.watch.lines import Place
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.records import Alarm, Batch, Channel, Kept, Progress, Sensor, State
from hippozoo.apps.watch.store import FullDiskError, Store
from hippozoo.tables.trouble import Place as Where
from hippozoo.tables.trouble import Trouble

SETTINGS = {"horizon": 24, "source": "pump.csv", "columns": ["flow"]}


def reading(number, value=1.0):
    return Kept(number, 0, float(number), value, 0.9, 0.5, 1.5, 0.25)


def alarm(number):
    return Alarm(number, number, 0, float(number), 1e-4, 9.0, 1.0, 0.5, 1.5, {"since": number - 1})


def batch(numbers, **more):
    progress = Progress(Place(10 * numbers[-1], numbers[-1]), numbers[-1] + 1, float(numbers[-1]), late=2)
    return Batch(progress, [reading(n) for n in numbers], sensors=[Sensor(0, "", numbers[-1] + 1, {})], **more)


def readings(path):
    with closing(sqlite3.connect(path)) as database:
        return [Kept(*row) for row in database.execute("SELECT * FROM readings ORDER BY number")]


def test_what_was_committed_is_there_for_the_next_one(tmp_path):
    path = tmp_path / "pump.db"
    with Store(path, SETTINGS) as store:
        troubles, states = [Trouble("no time", Where(line=4))], [State(0, 1, b"state")]
        store.commit(batch([0, 1], alarms=[alarm(1)], troubles=troubles, states=states))
    with Store(path, SETTINGS) as store:
        assert readings(path)[1:] == [reading(1)]
        assert store.progress == batch([0, 1]).progress
        assert store.state(0) == State(0, 1, b"state")
        assert store.untold() == [alarm(1)]
        store.tell([alarm(1)])
        assert store.untold() == []


def test_a_batch_is_there_as_a_whole_or_not_at_all(tmp_path):
    with Store(tmp_path / "pump.db", SETTINGS) as store:
        store.commit(batch([0, 1]))
        with pytest.raises(WatchError, match="damaged"):
            store.commit(batch([1, 2], alarms=[alarm(2)]))  # reading 1 is there already
        assert [one.number for one in readings(tmp_path / "pump.db")] == [0, 1]
        assert store.untold() == []
        assert store.progress.readings == 2


def test_old_readings_go_but_never_those_that_a_replay_needs(tmp_path):
    with Store(tmp_path / "pump.db", SETTINGS) as store:
        store.commit(batch(list(range(10)), states=[State(0, 4, b"early")], channels=[Channel(0, "flow")]), keep=3)
        assert [one.number for one in readings(tmp_path / "pump.db")] == list(range(4, 10))
        store.commit(batch([10, 11], states=[State(0, 12, b"late")]), keep=3)
        assert [one.number for one in readings(tmp_path / "pump.db")] == [9, 10, 11]
        assert store.state(0) == State(0, 12, b"late")


def test_a_second_watch_is_refused_and_harms_nothing(tmp_path):
    path = tmp_path / "pump.db"
    with Store(path, SETTINGS) as store:
        with pytest.raises(WatchError, match="another watch is writing"):
            Store(path, SETTINGS)
        store.commit(batch([0]))
    with Store(path, SETTINGS) as store:
        assert store.progress.readings == 1


def test_a_file_whose_tables_were_never_made_is_begun_anew(tmp_path):
    path = tmp_path / "pump.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")  # and then it was killed
    database.close()
    assert path.stat().st_size > 0
    assert not is_begun(path)
    with Store(path, SETTINGS) as store:
        store.commit(batch([0]))
    assert is_begun(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["pump.db"]


def test_others_may_read_while_a_watch_writes(tmp_path):
    path = tmp_path / "pump.db"
    with Store(path, SETTINGS) as store:
        store.commit(batch([0, 1]))
        other = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert other.execute("SELECT count(*) FROM readings").fetchone() == (2,)
        store.commit(batch([2]))
        assert other.execute("SELECT count(*) FROM readings").fetchone() == (3,)
        other.close()


def test_files_of_others_are_left_as_they_are(tmp_path):
    text = tmp_path / "notes.db"
    text.write_text("not a database, but long enough to look like one" * 10)
    content = text.read_bytes()
    with pytest.raises(WatchError, match="not a database of hippozoo watch"):
        Store(text, SETTINGS)
    assert text.read_bytes() == content
    theirs = tmp_path / "theirs.db"
    database = sqlite3.connect(theirs)
    database.execute("CREATE TABLE t (x)")
    database.close()
    with pytest.raises(WatchError, match="belongs to something else"):
        Store(theirs, SETTINGS)


def test_another_version_is_refused(tmp_path):
    path = tmp_path / "pump.db"
    Store(path, SETTINGS).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(WatchError, match="format 99"):
        Store(path, SETTINGS)


def test_a_full_disk_is_told_apart_and_the_batch_can_be_written_later(tmp_path):
    path = tmp_path / "pump.db"
    with Store(path, SETTINGS) as store:
        store.commit(batch([0]))
        [pages] = store._database.execute("PRAGMA page_count").fetchone()
        store._database.execute(f"PRAGMA max_page_count = {pages}")
        many = batch(list(range(1, 2000)))
        with pytest.raises(FullDiskError, match="disk is full"):
            store.commit(many)
        assert store.progress.readings == 1
        store._database.execute("PRAGMA max_page_count = 1000000")
        store.commit(many)
        assert store.progress.readings == 2000
