"""Requests of a server reach the watch, whether one is busy, killed, or not there at all; each is done once."""

import json
import os
import sqlite3
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("starlette", reason="hippozoo serve needs starlette")
pytest.importorskip("uvicorn", reason="hippozoo serve needs uvicorn")

from hippozoo.apps.watch.run import Settings, Watch
from serving import TOKEN, serving
from trust.live import serve as killed_server


def lines(start, end, spike=400):
    values = np.sin(np.arange(end) / 6) + 0.1 * np.random.default_rng(0).normal(size=end)
    values[spike::spike] += 30.0
    return [f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)][start:]


def query(path, text):
    database = sqlite3.connect(path, timeout=30)
    found = database.execute(text).fetchall()
    database.close()
    return found


def watched(source, out, **choices):
    told = []
    Watch(Settings(str(source), **{"horizon": 4, **choices}), out, told.append, str).run()
    return [json.loads(line) for line in told]


@pytest.fixture
def pump(tmp_path):
    (tmp_path / "pump.csv").write_text("time,flow\n" + "".join(lines(0, 500)))
    watched(tmp_path / "pump.csv", tmp_path / "pump.db")
    return tmp_path / "pump.db"


def test_without_a_watch_requests_are_done_at_once_and_recorded(pump):
    before = time.time()
    with serving(pump) as ask:
        assert ask.change("pump.db", {"acknowledge": 0}) == "event 0 is acknowledged"
        assert ask.change("pump.db", {"mute": "flow", "until": "2h"}).startswith("flow is muted until")
        assert ask.change("pump.db", {"rate": 0.25}) == "the rate is 0.25 per 1,000 readings"
        wrong = {"mute": "no such", "until": None}
        answer = ask("/requests?database=pump.db", wrong, Authorization=f"Bearer {TOKEN}")
        assert answer.status == 409
        assert "there is no column 'no such'" in answer.text
        [found] = ask.json("/streams.json")["databases"]
        [alarm] = ask.json("/alarms.json")["alarms"]
    assert found["rate"] == 0.25
    assert found["streams"][0]["muted"] == f"until {60 * 499 + 7200}"
    assert before <= alarm["acknowledged"] <= time.time()
    rows = query(pump, "SELECT made, request, applied, outcome FROM requests ORDER BY id")
    assert all(before <= made <= applied <= time.time() for made, _, applied, _ in rows)
    assert [json.loads(row[1]) for row in rows[:3:2]] == [{"acknowledge": 0}, {"rate": 0.25}]
    assert [row[3] for row in rows][-1].startswith("not done")
    assert query(pump, "SELECT reading, what FROM changes") == [(500, "--rate to 0.25")]


def test_a_busy_watch_does_what_is_asked_at_its_next_commit_and_its_readings_are_the_same(pump, tmp_path):
    source, rows = tmp_path / "pump.csv", lines(500, 3000)
    watch = Watch(Settings(str(source), horizon=4, follow=True, batch=1), pump, str, str)
    thread = threading.Thread(target=watch.run)
    thread.start()

    def feed():
        with source.open("a") as file:
            for row in rows:
                file.write(row)
                file.flush()

    feeder = threading.Thread(target=feed)
    with serving(pump) as ask:
        until = time.monotonic() + 30
        while not ask.json("/streams.json")["databases"][0]["watched"] and time.monotonic() < until:
            time.sleep(0.02)
        feeder.start()
        slowest = 0.0
        for k in range(20):
            began = time.monotonic()
            said = ask.change("pump.db", {"rate": 0.5 + k / 100})
            slowest = max(slowest, time.monotonic() - began)
            assert said.startswith("noted; the watch that is running")
        ask.change("pump.db", {"acknowledge": 0})
        feeder.join()
        until = time.monotonic() + 60
        while query(pump, "SELECT count(*) FROM readings")[0][0] < 3000 and time.monotonic() < until:
            time.sleep(0.1)
        ask.change("pump.db", {"mute": "flow", "until": None})
        while query(pump, "SELECT count(*) FROM requests WHERE applied IS NULL")[0][0] and time.monotonic() < until:
            time.sleep(0.02)
        watch._stop = True
        thread.join(60)
        assert not ask.json("/streams.json")["databases"][0]["watched"]
        assert ask.json("/streams.json")["databases"][0]["streams"][0]["muted"] == "for good"
    assert slowest < 10
    assert [row[1] for row in query(pump, "SELECT id, what FROM changes ORDER BY id")] == [
        f"--rate to {0.5 + k / 100:g}" for k in range(20)
    ]
    assert query(pump, "SELECT count(*) FROM events WHERE id = 0 AND acknowledged IS NOT NULL") == [(1,)]
    watched(source, tmp_path / "once.db")
    readings = "SELECT * FROM readings ORDER BY channel, number"
    assert query(pump, readings) == query(tmp_path / "once.db", readings)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_was_answered_is_done_once_however_often_server_and_watch_are_killed():
    found = killed_server(12)
    assert found["mishaps"] == []
    assert found["requests_answered"] >= 24


def _try(ask, content):
    with suppress(OSError, AssertionError):
        ask.change("pump.db", content)


def test_a_watch_that_begins_while_others_ask_is_not_refused(pump, tmp_path):
    """Who asks holds the lock of a database without a watch for a moment."""
    stop = threading.Event()
    with serving(pump) as ask:

        def pester():
            while not stop.is_set():
                ask.change("pump.db", {"rate": 0.5})
                ask.json("/streams.json")

        thread = threading.Thread(target=pester)
        thread.start()
        try:
            for _ in range(10):
                watched(tmp_path / "pump.csv", pump)
        finally:
            stop.set()
            thread.join()
