"""Line breaks in quotes, times from the future, poison: each row is read rightly, or left out and named."""

import io
import json
import sqlite3

import numpy as np
import pytest

from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.tables import read_table
from hippozoo.tables.schema import Schema


def watched(source, out, stdin=None, **choices):
    told, warned = [], []
    settings = Settings(str(source), **{"horizon": 2, **choices})
    status = Watch(settings, out, told.append, warned.append, stdin=stdin).run()
    return status, [json.loads(line) for line in told], warned


def readings(out):
    database = sqlite3.connect(out)
    rows = database.execute("SELECT time, value FROM readings ORDER BY number, channel").fetchall()
    database.close()
    return rows


def kinds(out):
    database = sqlite3.connect(out)
    rows = database.execute("SELECT line, kind FROM troubles ORDER BY id").fetchall()
    database.close()
    return rows


# -- line breaks in quotes ---------------------------------------------------------------------------------------------


def noted(count=60, notes=()):
    rows = [f"{60 * k},{k % 5},{dict(notes).get(k, 'fine')}" for k in range(count)]
    return "time,flow,note\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_line_break_inside_quotes_is_no_reading_and_both_commands_read_the_same(tmp_path, batch):
    source = tmp_path / "pump.csv"
    source.write_text(noted(notes={20: '"see\n1230,99,below"', 41: '"a ""quoted""\n\nword"', 59: '"at\nthe end"'}))
    status, told, warned = watched(source, tmp_path / "pump.db", batch=batch)
    assert (status.readings, status.left_out, told, warned[1:]) == (60, 0, [], [])
    table = read_table(source, ("flow",), "time")
    rows = [rows for rows, _ in table.chunks]
    assert readings(tmp_path / "pump.db") == list(
        zip(
            np.concatenate([one.times for one in rows]), np.concatenate([one.values[:, 0] for one in rows]), strict=True
        )
    )


def test_a_record_that_is_not_whole_yet_waits_for_its_rest_also_over_a_restart(tmp_path):
    whole = noted(notes={30: '"two\nlines"'})
    source = tmp_path / "pump.csv"
    cut = whole.index('lines"')
    source.write_text(whole[:cut])
    watch = Watch(Settings(str(source), horizon=2, follow=True), tmp_path / "pump.db", str, str)
    watch.status = lambda status: setattr(watch, "_stop", True)
    assert watch.run().readings == 30
    source.write_text(whole)
    status, _, _ = watched(source, tmp_path / "pump.db")
    assert (status.readings, status.left_out) == (60, 0)


@pytest.mark.parametrize("batch", [3, 1000])
def test_a_quote_that_never_closes_costs_its_own_row_only(tmp_path, batch):
    source = tmp_path / "pump.csv"
    source.write_text(noted(200, {20: '"never closed'}))
    status, _, _ = watched(source, tmp_path / "pump.db", batch=batch)
    assert (status.readings, status.left_out) == (199, 1)
    assert kinds(tmp_path / "pump.db") == [(22, "quotes")]


# -- times from the future ---------------------------------------------------------------------------------------------


def clock(times):
    return "time,flow\n" + "".join(f"{time},{k % 5}\n" for k, time in enumerate(times))


@pytest.mark.parametrize("batch", [1, 1000])
def test_one_time_from_the_future_costs_its_own_row_only(tmp_path, batch):
    times = [60 * k for k in range(200)]
    times[50] = 9_999_999
    (tmp_path / "pump.csv").write_text(clock(times))
    status, _, _ = watched(tmp_path / "pump.csv", tmp_path / "pump.db", batch=batch)
    assert (status.readings, status.late, status.left_out) == (199, 0, 1)
    assert kinds(tmp_path / "pump.db") == [(52, "ahead")]


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_gap_is_a_gap_and_loses_nothing(tmp_path, batch):
    times = [60 * k + (100_000 if k >= 50 else 0) for k in range(100)]
    (tmp_path / "pump.csv").write_text(clock(times))
    status, _, warned = watched(tmp_path / "pump.csv", tmp_path / "pump.db", batch=batch)
    assert (status.readings, status.left_out, warned) == (100, 0, [])
    assert [time for time, _ in readings(tmp_path / "pump.db")] == times


@pytest.mark.parametrize("follows", ["goes on from it", "goes on before it"])
@pytest.mark.parametrize("how", ["file", "standard input"])
def test_at_the_end_of_the_input_such_a_row_is_held_and_the_next_run_decides(tmp_path, how, follows):
    times = [60 * k for k in range(50)] + [9_999_960]
    more = [9_999_960 + 60 * k for k in range(1, 10)] if follows == "goes on from it" else range(3000, 3600, 60)
    source = tmp_path / "pump.csv"

    def run(times):
        source.write_text(clock(times))
        stdin = io.BytesIO(source.read_bytes()) if how == "standard input" else None
        return watched("-" if stdin else source, tmp_path / "pump.db", stdin)

    status, _, warned = run(times)
    assert (status.readings, status.left_out, status.late) == (50, 0, 0)
    assert any(text.startswith("line 52: its time 9999960.0") for text in warned)
    status, _, _ = run([*times, *more])
    expected = [*times, *more] if follows == "goes on from it" else [*times[:-1], *more]
    assert [time for time, _ in readings(tmp_path / "pump.db")] == expected
    assert (status.left_out, status.late) == (int(follows == "goes on before it"), 0)


def test_the_strict_stop_where_time_does_not_go_on_and_then_go_on_without_that_row(tmp_path):
    times = [60 * k for k in range(60)]
    times[50] = 9_999_999
    source = tmp_path / "pump.csv"
    source.write_text(clock(times))
    with pytest.raises(WatchError, match="line 52"):
        watched(source, tmp_path / "pump.db", strict=True)
    assert watched(source, tmp_path / "pump.db", strict=True)[0].readings == 59


# -- poison ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [30, 100])  # among the first rows, from which the layout is seen, and later
def test_json_that_is_nested_beyond_reason_is_left_out_at_every_start(tmp_path, place):
    rows = [json.dumps({"time": 60 * k, "flow": k % 5}) for k in range(120)]
    rows[place] = "[" * 3000 + "]" * 3000
    rows[place + 1] = '{"time": 1, "flow": ' + "[" * 100_000 + "]" * 100_000 + "}"
    source = tmp_path / "pump.jsonl"
    source.write_text("\n".join(rows) + "\n")
    status, _, _ = watched(source, tmp_path / "pump.db")
    assert (status.readings, status.left_out) == (118, 2)
    assert kinds(tmp_path / "pump.db")[-1] == (place + 2, "not JSON")
    with source.open("a") as file:
        file.write(json.dumps({"time": 7200, "flow": 1}) + "\n")
    assert watched(source, tmp_path / "pump.db")[0].readings == 119


@pytest.mark.parametrize("how", ["file", "follow", "standard input"])
@pytest.mark.parametrize("size", [1 << 20, 3 << 20])
def test_a_line_of_megabytes_is_left_out_and_the_next_ones_are_read(tmp_path, how, size):
    rows = [f"{60 * k},{k % 5}" for k in range(100)]
    rows[60] = "3600," + "9" * size
    source, content = tmp_path / "pump.csv", "\n".join(["time,flow", *rows]) + "\n"
    source.write_text(content)
    stdin = io.BytesIO(content.encode()) if how == "standard input" else None
    settings = Settings("-" if stdin else str(source), horizon=2, follow=how == "follow")
    watch = Watch(settings, tmp_path / "pump.db", str, str, stdin=stdin)
    watch.status = lambda status: setattr(watch, "_stop", how == "follow" and status.readings == 99)
    status = watch.run()
    assert (status.readings, status.left_out) == (99, 1)
    assert kinds(tmp_path / "pump.db") == [(62, "too long")]


# -- once --------------------------------------------------------------------------------------------------------------


def test_the_strict_read_every_line_once(tmp_path, monkeypatch):
    source, seen, read = tmp_path / "pump.csv", [], Schema.read

    def counted(layout, line):
        seen.append(line.number)
        return read(layout, line)

    source.write_text(clock([60 * k for k in range(300)]))
    monkeypatch.setattr(Schema, "read", counted)
    watched(source, tmp_path / "pump.db", strict=True)
    assert len(seen) == 301 + 51  # once each, and the first ones to see the usual step
