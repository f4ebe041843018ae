"""A watch goes on after anything: the tables are those of a watch that never stopped."""

import io
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.apps.watch import opening
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.show import write_page
from hippozoo.tables import TableError

# All but the snapshots, whose header safetensors writes in any order.
TABLES = ("settings", "columns", "readings", "alarms", "troubles", "progress")


def series(path, count=700, seed=0, spike=600):
    values = np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(seed).normal(size=count)
    values[spike] += 9.0
    rows = "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values))
    path.write_text("time,flow\n" + rows)
    return path


def watched(source, out, **choices):
    told, warned = [], []
    settings = Settings(str(source), **{"horizon": 6, **choices})
    status = Watch(settings, out, told.append, warned.append).run()
    return status, [json.loads(line) for line in told], warned


def tables(path, names=TABLES):
    database = sqlite3.connect(path)
    found = {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}
    database.close()
    return found


def test_a_spike_becomes_one_alarm_in_the_database_and_on_the_line(tmp_path):
    status, told, _ = watched(series(tmp_path / "pump.csv"), tmp_path / "pump.db")
    told, ends = [one for one in told if "alarm" in one], [one for one in told if "end" in one]
    assert status.readings == 700
    assert [one["end"]["event"] for one in ends] == [one["alarm"]["event"] for one in told]
    assert [one["alarm"]["number"] for one in told if one["alarm"]["number"] >= 500] == [600]
    found = tables(tmp_path / "pump.db")
    assert len(found["readings"]) == 700
    assert [alarm[1] for alarm in found["alarms"]][-1] == 600
    assert told[-1]["alarm"]["column"] == "flow"
    assert told[-1]["alarm"]["explanation"]["kind"] == "spike"


def test_batches_of_any_size_give_the_same_tables(tmp_path):
    source = series(tmp_path / "pump.csv")
    watched(source, tmp_path / "a.db", batch=1000)
    watched(source, tmp_path / "b.db", batch=7)
    assert tables(tmp_path / "a.db") == tables(tmp_path / "b.db")


def test_a_file_that_grows_between_two_runs_gives_the_same_tables(tmp_path):
    whole = series(tmp_path / "whole.csv").read_text()
    part = tmp_path / "part.csv"
    for cut in (1500, 1501, 5000, len(whole)):
        part.write_text(whole[:cut] if cut < len(whole) else whole)
        if cut < len(whole):  # a torn last line is left for the next time by one that follows
            watch = Watch(Settings(str(part), horizon=6, follow=True), tmp_path / "part.db", str, str)
            watch.status = lambda status, watch=watch: setattr(watch, "_stop", True)
            watch.run()
        else:
            watched(part, tmp_path / "part.db", follow=False)
    watched(part, tmp_path / "once.db")
    names = ("readings", "alarms")
    assert tables(tmp_path / "part.db", names) == tables(tmp_path / "once.db", names)


def test_alarms_that_were_not_told_before_a_crash_are_told_again(tmp_path):
    source = series(tmp_path / "pump.csv")
    _, before, _ = watched(source, tmp_path / "pump.db")
    database = sqlite3.connect(tmp_path / "pump.db")
    database.execute("UPDATE alarms SET told = 0 WHERE number = 600")
    database.commit()
    database.close()
    _, again, _ = watched(source, tmp_path / "pump.db")
    assert json.dumps(again) == json.dumps([one for one in before if "alarm" in one][-1:])  # letter for letter
    assert watched(source, tmp_path / "pump.db")[1] == []


def test_rows_sent_again_on_standard_input_are_skipped(tmp_path):
    content = series(tmp_path / "pump.csv").read_bytes()
    head = content[: content.index(b"\n24000,")] + b"\n"
    for sent in (head, content):
        watch = Watch(Settings("-", horizon=6), tmp_path / "pump.db", str, str, stdin=io.BytesIO(sent))
        status = watch.run()
    assert status.readings == 700
    assert status.late == 0
    watched(tmp_path / "pump.csv", tmp_path / "once.db")
    assert tables(tmp_path / "pump.db", ["readings"]) == tables(tmp_path / "once.db", ["readings"])


def test_bad_rows_are_named_and_the_rest_goes_on(tmp_path):
    source = tmp_path / "pump.csv"
    source.write_text("time,flow\n0,1\n60,2\n120,high\ntime,flow\n180\n60,9\n240,3\n")
    status, _, warned = watched(source, tmp_path / "pump.db")
    assert (status.readings, status.late, status.left_out) == (4, 1, 1)
    text = " ".join(warned)
    for part in ("line 4, column 'flow': 'high' is not a number", "line 6 has 1 fields", "line 7: its time 60.0"):
        assert part in text
    assert len(tables(tmp_path / "pump.db", ["troubles"])["troubles"]) == 4  # with the header once more


def test_strict_keeps_what_came_before_and_goes_on_once_the_row_is_corrected(tmp_path):
    source = tmp_path / "pump.csv"
    source.write_text("time,flow\n0,1\n60,2\n120,3\n180,high\n240,3\n")
    with pytest.raises(WatchError, match=r"line 5, column 'flow': 'high' .*--strict"):
        watched(source, tmp_path / "pump.db", strict=True)
    assert len(tables(tmp_path / "pump.db", ["readings"])["readings"]) == 3
    source.write_text(source.read_text().replace("high", "4"))
    status, _, _ = watched(source, tmp_path / "pump.db", strict=True)
    watched(source, tmp_path / "once.db", strict=True)
    assert status.readings == 5
    assert tables(tmp_path / "pump.db") == tables(tmp_path / "once.db")


BAD_ROWS = [
    ({60: "3600,high,3"}, "line 62, column 'flow': 'high' is not a number"),
    ({60: "3600,1e308,3"}, "line 62, column 'flow': '1e308' is beyond"),
    ({60: "3600,1"}, "line 62 has 2 fields, but the header has 3"),
    ({60: "time,flow,level"}, "line 62 is the header once more"),
    ({60: "time,level,flow"}, "line 62 is another header"),
    ({60: "time,flow"}, "line 62 is a header without 'level'"),
    ({60: "noon,1,3"}, "line 62, column 'time': 'noon' is not a number"),
    ({60: "3600,\x00\x01,3"}, "line 62 holds bytes that are not text"),
    ({60: '3600,1"\r2,3'}, "line 62 cannot be read as CSV"),
    ({k: f"{3600 + 5 * (k - 60)},1,2" for k in range(60, 100)}, "line 82: the last 20 readings came every "),
]


@pytest.mark.parametrize(
    ("how", "rows", "words"),
    [*(("file", *one) for one in BAD_ROWS), *((how, *BAD_ROWS[k]) for how in ("follow", "input") for k in (0, 5, 7))],
)
def test_every_bad_row_is_named_wherever_it_comes_from_and_stops_the_strict(tmp_path, how, rows, words):
    lines = ["time,flow,level", *(rows.get(k, f"{60 * k},{k % 5:.8f},{k % 7:.8f}") for k in range(100))]
    content = "\n".join(lines) + "\n"
    (tmp_path / "pump.csv").write_bytes(content.encode())
    told = []
    for strict in (False, True):
        warned = []
        source = "-" if how == "input" else str(tmp_path / "pump.csv")
        settings = Settings(source, horizon=6, strict=strict, follow=how == "follow")
        stdin = io.BytesIO(content.encode())
        watch = Watch(settings, tmp_path / f"{strict}.db", told.append, warned.append, stdin=stdin)
        if how == "follow":
            watch.status = lambda status, watch=watch: setattr(watch, "_stop", True)
        if strict:
            with pytest.raises(WatchError, match=re.escape(words)):
                watch.run()
            continue
        watch.run()
        assert words in " ".join(warned)
        assert len(tables(tmp_path / "False.db", ["readings"])["readings"]) > 2 * 55


def test_what_is_sent_again_is_no_trouble_but_what_comes_twice_is(tmp_path):
    rows = [f"{60 * k},{k % 5}" for k in range(20)]
    rows[10] = "600,high"
    told = []
    for extra in ([], ["1200,3", "1200,4"]):
        stdin = io.BytesIO("\n".join(["time,flow", *rows, *extra, ""]).encode())
        watch = Watch(Settings("-", horizon=6), tmp_path / "pump.db", str, told.append, stdin=stdin)
        watch.run()
    assert [row[1] for row in tables(tmp_path / "pump.db", ["troubles"])["troubles"]] == [12, 23]
    assert told[0].startswith("line 12, column 'flow'")
    assert told[1].startswith("line 23: its time 1200.0 is not after 1200.0")
    with pytest.raises(TableError, match="standard input"):
        Watch(Settings("-"), tmp_path / "none.db", str, str, stdin=io.BytesIO(b"")).run()


def test_another_header_in_the_middle_is_read_by_also_after_a_restart(tmp_path):
    head = "time,flow,level\n" + "".join(f"{60 * k},{k % 5},{100 + k % 7}\n" for k in range(40))
    swapped = "time,note,level,flow\n" + "".join(f"{60 * k},x,{100 + k % 7},{k % 5}\n" for k in range(40, 80))
    source = tmp_path / "pump.csv"
    source.write_text(head + "".join(swapped.splitlines(keepends=True)[:20]))
    watched(source, tmp_path / "pump.db")
    source.write_text(head + swapped)
    watched(source, tmp_path / "pump.db")
    watched(source, tmp_path / "once.db", batch=3)
    found = tables(tmp_path / "pump.db", ["readings", "troubles"])
    assert found == tables(tmp_path / "once.db", ["readings", "troubles"])
    by_channel = np.array([row[3] for row in found["readings"]]).reshape(-1, 2)
    assert_array_equal(by_channel, np.stack([np.arange(80) % 5, 100 + np.arange(80) % 7], axis=1))


def test_a_column_that_vanishes_is_said_twice_at_most_and_noted_every_time(tmp_path):
    rows = [f"{60 * k},1,2" if k < 30 else f"{60 * k},1" for k in range(60)]
    (tmp_path / "pump.csv").write_text("\n".join(["time,flow,level", *rows]) + "\n")
    status, _, warned = watched(tmp_path / "pump.csv", tmp_path / "pump.db")
    assert (status.readings, status.left_out, len(warned)) == (30, 30, 2)
    assert "table troubles" in warned[1]
    assert len(tables(tmp_path / "pump.db", ["troubles"])["troubles"]) == 30


def test_what_was_asked_for_at_first_is_kept_to(tmp_path):
    source = series(tmp_path / "pump.csv", count=60, spike=50)
    watched(source, tmp_path / "pump.db")
    with pytest.raises(WatchError, match="--every"):
        watched(source, tmp_path / "pump.db", every=30.0)


def test_old_readings_go_when_told_so(tmp_path):
    watched(series(tmp_path / "pump.csv"), tmp_path / "pump.db", keep=100)
    assert [row[0] for row in tables(tmp_path / "pump.db", ["readings"])["readings"]] == list(range(600, 700))


@pytest.mark.skipif(os.name != "posix", reason="kills by signals")
def test_killed_at_any_moment_it_goes_on_as_if_it_had_never_stopped(tmp_path):
    source, out = series(tmp_path / "pump.csv", count=3000, spike=2500), tmp_path / "pump.db"
    command = _command(source, out, "--batch", "20")
    rng = random.Random(0)
    kills = 0
    while kills < 3:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = _count(out)
        while process.poll() is None and _count(out) <= before:  # it works, and then the axe falls
            time.sleep(0.02)
        time.sleep(rng.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() != 0
        if _count(out) == 3000:
            break
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "3,000 readings" in done.stderr
    watched(source, tmp_path / "once.db")
    for name in ("readings", "alarms", "troubles"):
        one, other = (tables(path, [name])[name] for path in (out, tmp_path / "once.db"))
        assert one == other


def _command(source, out, *more):
    command = [
        sys.executable,
        "-c",
        "from hippozoo.apps.cli import main; main()",
        "watch",
        str(source),
        "--out",
        str(out),
    ]
    return [*command, "--horizon", "6", *more]


@pytest.mark.skipif(os.name != "posix", reason="a signal")
def test_told_to_stop_it_commits_what_it_has_read_and_leaves_nothing_over(tmp_path):
    source, out = series(tmp_path / "pump.csv"), tmp_path / "pump.db"
    process = subprocess.Popen(_command(source, out, "--follow"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and _count(out) < 700:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"700 readings" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pump.csv", "pump.db"]
    with source.open("a") as file:
        file.write("42000,0.5\n42060,")  # the last line is torn
    watched(source, out, follow=False)
    watched(source, tmp_path / "once.db")
    assert tables(out, ["readings"]) == tables(tmp_path / "once.db", ["readings"])


def test_a_torn_last_line_waits_for_the_next_run_and_is_never_half_a_number(tmp_path):
    source = series(tmp_path / "pump.csv", 300, spike=250)
    watched(source, tmp_path / "once.db")
    content = source.read_text()
    source.write_text(content[: content.index("\n12000,") + 10])  # 12000,0.45 perhaps, and it goes on
    status, _, warned = watched(source, tmp_path / "pump.db")  # as from cron, without --follow
    assert status.readings == 200
    assert "line 202" in warned[-1]
    assert "left for the next run" in warned[-1]
    source.write_text(content)
    watched(source, tmp_path / "pump.db")
    assert tables(tmp_path / "pump.db") == tables(tmp_path / "once.db")


@pytest.mark.parametrize(
    ("choices", "words"),
    [({"every": 0.0}, "--every 0: a step"), ({"rate": 0.0}, "rate=0.0"), ({"horizon": 200_000}, "pass at most")],
)
def test_settings_that_cannot_be_are_refused_before_a_file_is_made(tmp_path, choices, words):
    with pytest.raises(ValueError, match=words):
        watched(series(tmp_path / "pump.csv", 60, spike=50), tmp_path / "pump.db", **choices)
    assert [path.name for path in tmp_path.iterdir()] == ["pump.csv"]


@pytest.mark.skipif(os.name != "posix", reason="a signal")
def test_told_to_stop_while_nothing_comes_it_stops(tmp_path):
    source, out = series(tmp_path / "pump.csv", 300, spike=250), tmp_path / "pump.db"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(_command("-", out), **pipes) as process:
        process.stdin.write(source.read_bytes())
        process.stdin.flush()  # and it stays open
        while process.poll() is None and _count(out) < 300:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
        assert b"300 readings" in process.stderr.read()


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_clock_that_jumps_is_said_and_does_no_harm(tmp_path, batch):
    rows = [f"{60 * k},{k % 5}" for k in range(60)]
    rows[40:40] = ["1e308,1", "-1e308,1"]
    (tmp_path / "far.csv").write_text("\n".join(["time,flow", *rows]) + "\n")
    status, _, warned = watched(tmp_path / "far.csv", tmp_path / "far.db", batch=batch)
    assert (status.readings, status.left_out, status.late) == (60, 1, 1)
    assert "line 42: its time 1e+308 is more than 1e+09 usual steps after 2340.0; the row is left out." in warned
    rows[40:42] = ["999999,1"]  # near enough to be true, but nothing goes on from there
    (tmp_path / "back.csv").write_text("\n".join(["time,flow", *rows]) + "\n")
    status, _, warned = watched(tmp_path / "back.csv", tmp_path / "back.db", batch=batch)
    assert (status.readings, status.late, status.left_out) == (60, 0, 1)
    assert any(text.startswith("line 42: its time 999999.0") for text in warned)


def test_a_step_that_changes_goes_on_and_a_source_that_is_none_is_refused(tmp_path):
    rows = "".join(f"{60 * k if k < 40 else 2400 + 7 * (k - 40)},{k % 5}\n" for k in range(80))
    (tmp_path / "pump.csv").write_text("time,flow\n" + rows)
    status, _, _ = watched(tmp_path / "pump.csv", tmp_path / "pump.db")
    assert (status.readings, status.late) == (80, 0)
    for content, words in ((b"\x00\x01" * 50, "binary file"), (b"", "holds no rows")):
        (tmp_path / "none.csv").write_bytes(content)
        with pytest.raises(ValueError, match=words):
            watched(tmp_path / "none.csv", tmp_path / "none.db")
        assert not (tmp_path / "none.db").exists()
    (tmp_path / "other.csv").write_text("time,flow\n" + rows)
    with pytest.raises(WatchError, match="source="):
        watched(tmp_path / "other.csv", tmp_path / "pump.db")


def _count(path):
    if not path.exists():
        return 0
    database = sqlite3.connect(path)
    try:
        return database.execute("SELECT count(*) FROM readings").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


@pytest.mark.parametrize("at", [50, 2900])
@pytest.mark.parametrize("row", [",0.5", ","])
def test_a_row_without_a_time_is_left_out_and_the_others_keep_theirs(tmp_path, at, row):
    rows = [f"2024-01-{1 + k // 1440:02d} {k // 60 % 24:02d}:{k % 60:02d},{k % 7}" for k in range(3000)]
    rows[at] = row
    (tmp_path / "one.csv").write_text("\n".join(["t,x", *rows]) + "\n")
    status, _, warned = watched(tmp_path / "one.csv", tmp_path / "one.db")
    assert (status.readings, status.left_out, status.dates) == (2999, 1, True)
    assert warned == [f"line {at + 2}, column 't': there is no time; the row is left out."]


def test_a_stream_keeps_the_format_of_dates_that_it_began_with(tmp_path):
    days = [f"{day:02d}/{month:02d}/2024,{day % 7}" for month in (3, 4) for day in range(1, 29)]
    source = tmp_path / "days.csv"
    source.write_text("\n".join(["t,x", *days[:28]]) + "\n")
    watched(source, tmp_path / "days.db", every=86400.0)
    source.write_text("\n".join(["t,x", *days]) + "\n")  # by themselves the next ones could be April or any other month
    status, _, warned = watched(source, tmp_path / "days.db")
    assert (status.readings, status.left_out, status.late, warned) == (56, 0, 0, [])
    times = [row[2] for row in tables(tmp_path / "days.db", ["readings"])["readings"]]
    assert (times[0], times[28]) == (1709251200.0, 1711929600.0)


def test_a_database_of_plain_dates_has_the_settings_that_it_always_had(tmp_path):
    watched(series(tmp_path / "pump.csv", 60, spike=50), tmp_path / "pump.db")
    settings = dict(tables(tmp_path / "pump.db", ["settings"])["settings"])
    assert list(json.loads(settings["layout"])) == ["kind", "names", "columns", "time", "dates", "separator"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["1/5/2024,1"] * 9 + ["31/5/2024,1"] * 9, "column 'time' do not rise in the first 18 rows"),
        (["2024-01-01,1"], "too few rows with times"),
        ([",1"] * 9, "column 'time': its first 9 rows hold no time"),
    ],
)
def test_without_a_usual_step_the_true_cause_is_said(tmp_path, rows, words):
    (tmp_path / "a.csv").write_text("\n".join(["time,x", *rows]) + "\n")
    with pytest.raises(ValueError, match=words):
        watched(tmp_path / "a.csv", tmp_path / "a.db")


def set_aside(path, name):
    """Take a setting away, as in a database that was made before there was one."""
    database = sqlite3.connect(path)
    database.execute("DELETE FROM settings WHERE name = ?", [name])
    database.commit()
    database.close()


@pytest.mark.parametrize("before", [False, True], ids=["new", "made before"])
def test_the_same_file_under_another_path_is_gone_on_with(tmp_path, monkeypatch, before):
    (tmp_path / "w").mkdir()
    content = series(tmp_path / "w" / "s.csv", 60, spike=50).read_text()
    monkeypatch.chdir(tmp_path)
    watched("w/s.csv", tmp_path / "w" / "s.db")
    if before:
        set_aside(tmp_path / "w" / "s.db", "path")
    (tmp_path / "link.csv").symlink_to(tmp_path / "w" / "s.csv")
    (tmp_path / "w" / "other.csv").write_text(content)
    for folder, source in (
        ("w", "s.csv"),
        (".", tmp_path / "w" / "s.csv"),
        (".", "w/../w/s.csv"),
        ("w", "../link.csv"),
    ):
        monkeypatch.chdir(tmp_path / folder)
        with (tmp_path / "w" / "s.csv").open("a") as file:
            content += f"{60 * content.count(chr(10)) - 60},0.5\n"
            file.write(content.splitlines()[-1] + "\n")
        status, _, _ = watched(source, tmp_path / "w" / "s.db")
        assert status.readings == content.count("\n") - 1
    monkeypatch.chdir(tmp_path / "w")
    with pytest.raises(WatchError, match=r"made with source='w/s\.csv'.*'other\.csv'"):
        watched("other.csv", tmp_path / "w" / "s.db")
    with pytest.raises(WatchError, match="source="):
        watched("-", tmp_path / "w" / "s.db")


def test_a_folder_that_moves_with_its_database_is_gone_on_with(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    series(tmp_path / "a" / "s.csv", 60, spike=50)
    monkeypatch.chdir(tmp_path / "a")
    watched("s.csv", tmp_path / "a" / "s.db")
    (tmp_path / "a").rename(tmp_path / "b")
    monkeypatch.chdir(tmp_path / "b")
    assert watched("s.csv", tmp_path / "b" / "s.db")[0].readings == 60


def test_a_file_that_was_replaced_is_known_by_its_path(tmp_path, monkeypatch):
    source = series(tmp_path / "s.csv", 60, spike=50)
    monkeypatch.chdir(tmp_path)
    watched("s.csv", tmp_path / "s.db")
    (tmp_path / "next.csv").write_text(source.read_text() + "3600,0.5\n")  # as an editor saves, another inode
    (tmp_path / "next.csv").rename(source)
    assert watched(source, tmp_path / "s.db")[0].readings == 61


def test_a_column_that_is_empty_at_first_is_watched_from_its_first_number_on(tmp_path):
    rows = [f"2024-01-01 {k // 60:02d}:{k % 60:02d},{'' if k < 3 else k % 5},{k % 7}" for k in range(53)]
    source = tmp_path / "late.csv"
    source.write_text("\n".join(["t,x,y", *rows[:3]]) + "\n")
    _, _, warned = watched(source, tmp_path / "late.db")
    assert "'x'" in warned[0]
    source.write_text("\n".join(["t,x,y", *rows]) + "\n")
    watched(source, tmp_path / "late.db")
    watched(source, tmp_path / "once.db")
    found = tables(tmp_path / "late.db")
    assert found == tables(tmp_path / "once.db")
    assert [row[1] for row in found["columns"]] == ["x", "y"]
    assert [row[3] for row in found["readings"] if row[1] == 0] == [None] * 3 + [float(k % 5) for k in range(3, 53)]
    assert write_page(tmp_path / "late.db", tmp_path / "late.html").exists()


def test_a_page_of_a_column_that_is_still_empty_can_be_drawn(tmp_path):
    (tmp_path / "a.csv").write_text("t,x,y\n" + "".join(f"2024-01-01 00:{k:02d},,{k % 7}\n" for k in range(50)))
    watched(tmp_path / "a.csv", tmp_path / "a.db")
    assert write_page(tmp_path / "a.db", tmp_path / "a.html").exists()


def test_more_alarms_than_can_come_are_not_promised(tmp_path):
    source = series(tmp_path / "pump.csv", 60, spike=50)
    with pytest.raises(WatchError, match=r"--rate 100: .*150 readings.*pass at most 6.67"):
        watched(source, tmp_path / "pump.db", rate=100.0)
    assert not (tmp_path / "pump.db").exists()
    watched(source, tmp_path / "pump.db", rate=6.0)


def test_a_database_that_was_made_with_a_higher_rate_still_opens(tmp_path, monkeypatch):
    source = series(tmp_path / "pump.csv", 60, spike=50)
    with monkeypatch.context() as before:
        before.setattr(opening, "say_too_many", lambda rules, every: "")
        watched(source, tmp_path / "pump.db", rate=100.0)
    _, _, warned = watched(source, tmp_path / "pump.db")
    assert warned[0].startswith("--rate 100: ")


def test_a_bad_row_right_after_the_last_commit_counts_once_when_all_is_sent_again(tmp_path):
    rows = ["time,flow\n", *(f"{60 * k},{k % 7}\n" for k in range(400))]
    rows[301:301] = ["what is this\n", rows[300], "60,1\n"]
    settings = Settings("-", horizon=2)
    for end in (301, len(rows), len(rows)):
        stdin = io.BytesIO("".join(rows[:end]).encode())
        status = Watch(settings, tmp_path / "pump.db", str, str, stdin=stdin).run()
    assert (status.readings, status.late, status.left_out) == (400, 2, 1)
