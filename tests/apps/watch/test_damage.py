"""Damage, closed pipes, files that vanish, settings that fill the memory: a sentence, and nothing is lost."""

import io
import json
import math
import os
import random
import sqlite3
import stat
import subprocess
import sys

import numpy as np
import pytest

from hippozoo._internal.files import CannotWriteError
from hippozoo.apps.watch.opening import Opening
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.show import last_alarms, write_page


def pump(path, count=300):
    values = np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(0).normal(size=count)
    values[count * 5 // 6] += 9.0
    path.write_text("time,flow\n" + "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)))
    return path


def watched(source, out, **choices):
    told, warned = [], []
    status = Watch(Settings(str(source), **{"horizon": 2, **choices}), out, told.append, warned.append).run()
    return status, [json.loads(line) for line in told], warned


def damaged(content, how, rng):
    found = bytearray(content)
    if how == "cut":
        return bytes(found[: rng.randrange(100, len(found))])
    if how == "page":
        at = 4096 * rng.randrange(1, len(found) // 4096)
        found[at : at + 4096] = bytes(rng.randrange(256) for _ in range(4096))
    if how == "zeros":
        at = 4096 * rng.randrange(1, len(found) // 4096)
        found[at : at + 4096] = bytes(4096)
    if how == "bytes":
        for _ in range(40):
            found[rng.randrange(100, len(found))] = rng.randrange(256)
    return bytes(found)


@pytest.mark.parametrize("how", ["cut", "page", "zeros", "bytes"])
def test_a_damaged_database_is_named_or_still_serves(tmp_path, how):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "whole.db"
    watched(source, out)
    content, rng = out.read_bytes(), random.Random(how)
    with source.open("a") as file:
        file.writelines(f"{60 * k},0.5\n" for k in range(300, 310))
    attempts = (last_alarms, lambda path: write_page(path, tmp_path / "a.html"), lambda path: watched(source, path))
    refused = []
    for k in range(20):
        path = tmp_path / f"damaged-{k}.db"
        for attempt in attempts:
            path.write_bytes(damaged(content, how, rng))
            try:
                attempt(path)
            except WatchError as error:
                refused.append(str(error))
    assert refused
    # What a database says of its source may be damaged too: then the source is named.
    assert all(("damaged-" in text or "pump.csv" in text) and ("--out" in text or "pass" in text) for text in refused)


@pytest.mark.parametrize(
    "spoil",
    [
        "DROP TABLE settings",
        "DELETE FROM settings WHERE name = 'layout'",
        "UPDATE settings SET value = '7' WHERE name = 'layout'",
        "UPDATE settings SET value = '{\"kind\": 3}' WHERE name = 'layout'",
        "UPDATE settings SET value = '{' WHERE name = 'layout'",
        "UPDATE settings SET value = '\"often\"' WHERE name = 'every'",
        "DELETE FROM progress",
        "UPDATE progress SET content = '{}'",
        'UPDATE progress SET content = \'{"place": 3, "names": null}\'',
        "DROP TABLE readings",
        "UPDATE readings SET value = 'high' WHERE number = 9; DELETE FROM states",
        "DELETE FROM readings WHERE number = 9; DELETE FROM states",
        "DELETE FROM columns",
        "UPDATE alarms SET explanation = '{', told = 0",
    ],
)
def test_contents_that_make_no_sense_are_named(tmp_path, spoil):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    watched(source, out)
    database = sqlite3.connect(out)
    database.executescript(spoil)
    database.close()
    refused = []
    attempts = (lambda: watched(source, out), lambda: last_alarms(out), lambda: write_page(out, tmp_path / "a.html"))
    for attempt in attempts:
        try:
            attempt()
        except WatchError as error:
            refused.append(str(error))
    assert refused
    assert all("pump.db" in text for text in refused)


@pytest.mark.skipif(os.name != "posix", reason="files can be removed while they are open")
@pytest.mark.parametrize("how", ["removed", "another"])
def test_a_database_that_vanishes_while_it_is_written_is_noticed(tmp_path, how):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    watch = Watch(Settings(str(source), horizon=2, follow=True, batch=50), out, str, str)
    calls = []

    def meddle(status):
        if out.exists() and not (tmp_path / "moved.db").exists():
            out.rename(tmp_path / "moved.db")
            if how == "another":
                out.write_bytes(b"")
        with source.open("a") as file:
            file.write(f"{99999 + 60 * len(calls)},1\n")
        calls.append(status)
        watch._stop = len(calls) > 5

    watch.status = meddle
    with pytest.raises(WatchError, match=r"pump\.db"):
        watch.run()


@pytest.mark.skipif(os.name != "posix", reason="kinds of files that others do not have")
@pytest.mark.parametrize("kind", ["protected", "pipe", "device", "folder"])
def test_out_is_an_ordinary_file_that_may_be_written(tmp_path, kind):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    if kind == "protected":
        watched(source, out)
        out.chmod(0o444)
    elif kind == "pipe":
        os.mkfifo(out)
    elif kind == "folder":
        out.mkdir()
    else:
        out.symlink_to("/dev/null")
    before = out.read_bytes() if kind == "protected" else b""
    with pytest.raises((CannotWriteError, WatchError), match=r"pump\.db"):
        watched(source, out)
    if kind == "protected":
        assert out.read_bytes() == before
        assert stat.S_IMODE(out.stat().st_mode) == 0o444


@pytest.mark.parametrize("season", [1_000_000, 10**8])
def test_a_season_that_would_fill_the_memory_is_refused_with_the_longest_that_is_not(tmp_path, season):
    source = pump(tmp_path / "pump.csv")
    with pytest.raises(WatchError, match=f"{season}.* MB") as error:
        watched(source, tmp_path / "pump.db", season=season)
    longest = int(str(error.value).split("at most ")[1].split()[0].replace(",", ""))
    assert 10_000 <= longest < season
    assert not (tmp_path / "pump.db").exists()


def test_readings_sent_again_count_as_nothing(tmp_path):
    import io

    rows = [f"{60 * k},{k % 5}" for k in range(40)]
    rows[10:12] = ["600,high", "no time,1"]
    found = []
    for extra in ([], [], [f"{60 * k},1" for k in range(40, 50)]):
        stdin = io.BytesIO("\n".join(["time,flow", *rows, *extra, ""]).encode())
        status = Watch(Settings("-", horizon=2), tmp_path / "pump.db", str, str, stdin=stdin).run()
        found.append((status.readings, status.late, status.left_out))
    assert found == [(39, 0, 1), (39, 0, 1), (49, 0, 1)]


@pytest.mark.skipif(os.name != "posix", reason="a shell's way to close a stream")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_error_and_loses_no_alarm(tmp_path, closed):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    program = "from hippozoo.apps.cli import main; main()"
    command = f'"{sys.executable}" -c "{program}" watch {source} --out {out} --horizon 2'
    done = subprocess.run(["/bin/sh", "-c", f"{command} {closed}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Error" not in done.stderr
    told = done.stdout.splitlines()
    assert bool(told) == (closed == "2>&-")
    again = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [json.loads(line) for line in told + again]  # told as soon as somebody can hear it
    database = sqlite3.connect(out)
    known = [database.execute(f"SELECT id FROM {name}").fetchall() for name in ("alarms", "events WHERE told = 1")]
    database.close()
    assert [one["alarm"]["id"] for one in found if "alarm" in one] == [row[0] for row in known[0]]
    assert [one["end"]["event"] for one in found if "end" in one] == [row[0] for row in known[1]]
    assert all(known)


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_database_whose_watch_was_killed_before_its_first_reading_is_gone_on_with(tmp_path, source):
    rows = "time,flow\n" + "".join(f"{k},{math.sin(k)}\n" for k in range(50))
    (tmp_path / "pump.csv").write_text(rows)
    settings = Settings(str(tmp_path / "pump.csv") if source == "file" else "-", horizon=2)
    watch = Watch(settings, tmp_path / "pump.db", str, str, stdin=io.BytesIO(rows.encode()))
    with Opening(watch).open():
        pass  # the tables are there, and nothing is in them
    status = Watch(settings, tmp_path / "pump.db", str, str, stdin=io.BytesIO(rows.encode())).run()
    assert status.readings == 50
