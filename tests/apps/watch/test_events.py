"""Alarms that people can live with: one event over many columns, changes of mind, acknowledging and muting."""

import io
import json
import math
import sqlite3
import time
from contextlib import nullcontext

import numpy as np
import pytest

from hippozoo.apps.cli import main
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.requests import ask
from hippozoo.apps.watch.run import Settings, Watch

OUTAGE = dict.fromkeys(range(600, 640), 0.0)


def plant(path, count=700, columns=4, fault=OUTAGE, zone=""):
    """Columns of one plant by the minute; all but the last have a fault at once: by reading, what they are then."""
    rng = np.random.default_rng(0)
    values = 50 + np.sin(np.arange(count) / 6)[:, None] + 0.1 * rng.normal(size=(count, columns))
    for number, value in fault.items():
        values[number, : columns - 1] = value
    names = ",".join(f"pump{k}" for k in range(columns))
    rows = [
        f"2024-05-{1 + k // 1440:02d} {k // 60 % 24:02d}:{k % 60:02d}{zone}," + ",".join(f"{v:.5f}" for v in row)
        for k, row in enumerate(values)
    ]
    path.write_text(f"time,{names}\n" + "\n".join(rows) + "\n")
    return path


def watched(source, out, stdin=None, **choices):
    told, warned = [], []
    settings = Settings(str(source), **{"horizon": 6, "rate": 0.1, **choices})
    status = Watch(settings, out, told.append, warned.append, stdin=stdin).run()
    return status, [json.loads(line) for line in told], warned


def rows_of(path, query):
    database = sqlite3.connect(path)
    rows = database.execute(query).fetchall()
    database.close()
    return rows


def after(told, number=500):
    return [one["alarm"] for one in told if "alarm" in one and one["alarm"]["number"] >= number]


@pytest.mark.parametrize("batch", [7, 1024])
def test_one_event_over_many_columns_is_one_alarm_that_lists_them(tmp_path, batch):
    status, told, _ = watched(plant(tmp_path / "plant.csv"), tmp_path / "plant.db", batch=batch)
    [alarm] = after(told)
    assert [one["column"] for one in alarm["columns"]] == ["pump0", "pump1", "pump2"]
    assert alarm["severity"] == "critical"
    assert "pump0, pump1, pump2" in alarm["sentence"]
    [end] = [one["end"] for one in told if "end" in one and one["end"]["event"] == alarm["event"]]
    assert (end["begun"], end["ended"]) == ("2024-05-01 10:00", "2024-05-01 10:40")
    assert status.open_events == 0
    assert len(rows_of(tmp_path / "plant.db", "SELECT * FROM alarms WHERE number = 600")) == 3


def test_times_are_written_in_the_zone_of_the_source(tmp_path):
    _, told, _ = watched(plant(tmp_path / "plant.csv", zone="+05:30"), tmp_path / "plant.db")
    [alarm] = after(told)
    assert alarm["time"] == "2024-05-01 10:00+05:30"
    assert "fell to 0 at 2024-05-01 10:00+05:30" in alarm["sentence"]


def test_the_rate_and_the_silence_of_a_database_change_and_nothing_learnt_is_lost(tmp_path):
    source = plant(tmp_path / "plant.csv", 1400, fault={900: 0.0, 930: 0.0, 1300: 120.0, 1330: -90.0})
    whole = source.read_text().splitlines(keepends=True)
    source.write_text("".join(whole[:1001]))
    _, told, _ = watched(source, tmp_path / "plant.db")
    assert [one["number"] for one in after(told)] == [900]
    source.write_text("".join(whole))
    _, told, warned = watched(source, tmp_path / "plant.db", silence="20", rate=1.0, horizon=None)
    assert {one["number"] for one in after(told)} >= {1300, 1330}
    assert any("--silence" in text and "--rate" in text for text in warned)
    assert not any("rebuilt" in text for text in warned)
    [row] = rows_of(tmp_path / "plant.db", "SELECT reading, what FROM changes WHERE what LIKE '%silence%'")
    assert row[0] == 1000
    _, _, warned = watched(source, tmp_path / "plant.db", horizon=None, rate=None)  # what is not asked for stays
    assert warned == []


@pytest.mark.parametrize("change", [{"horizon": 3}, {"season": 24}, {"columns": ("pump1", "pump3")}])
def test_horizon_season_and_columns_change_by_a_replay(tmp_path, change):
    source = plant(tmp_path / "plant.csv", 800)
    whole = source.read_text().splitlines(keepends=True)
    source.write_text("".join(whole[:701]))
    watched(source, tmp_path / "plant.db")
    source.write_text("".join(whole))
    _, _, warned = watched(source, tmp_path / "plant.db", **change)
    assert any("changed" in text for text in warned)
    assert any("rebuilt from the 700 readings" in text for text in warned)
    watched(source, tmp_path / "once.db", **change)
    query = "SELECT columns.name, number, expected, p FROM readings JOIN columns USING (channel) WHERE number >= 700"
    assert sorted(rows_of(tmp_path / "plant.db", query)) == sorted(rows_of(tmp_path / "once.db", query))
    if "columns" in change:  # a column comes back, and what it had read is known
        with source.open("a") as file:
            file.write("2024-05-01 13:20,50,50,50,50\n")
        watched(source, tmp_path / "plant.db", columns=("pump0", "pump1", "pump3"))
        assert len(rows_of(tmp_path / "plant.db", "SELECT * FROM readings WHERE number = 800")) == 3


def test_what_says_which_rows_are_whose_cannot_be_changed(tmp_path):
    source = plant(tmp_path / "plant.csv", 60, fault={})
    watched(source, tmp_path / "plant.db")
    for change in ({"every": 30.0}, {"panel": ("pump0",)}, {"time": "pump1"}):
        with pytest.raises(WatchError, match="was made with"):
            watched(source, tmp_path / "plant.db", **change)
    with pytest.raises(WatchError, match="no column 'pump9'"):
        watched(source, tmp_path / "plant.db", columns=("pump9",))


# -- acknowledging and muting ------------------------------------------------------------------------------------------


def test_an_event_is_acknowledged_with_and_without_a_watch_that_runs(tmp_path, capsys):
    out = tmp_path / "plant.db"
    _, told, _ = watched(plant(tmp_path / "plant.csv"), out)
    [alarm] = after(told)
    with pytest.raises(SystemExit) as code:
        main(["watch", "--out", str(out), "--ack", str(alarm["id"])])
    assert code.value.code == 0
    assert f"event {alarm['event']} is acknowledged" in capsys.readouterr().out
    [(acknowledged,)] = rows_of(out, f"SELECT acknowledged FROM events WHERE id = {alarm['event']}")
    assert abs(acknowledged - time.time()) < 60
    [(applied, outcome)] = rows_of(out, "SELECT applied, outcome FROM requests")
    assert applied is not None
    assert "acknowledged" in outcome


def test_a_watch_that_runs_does_what_was_asked_at_its_next_commit(tmp_path):
    source, out = plant(tmp_path / "plant.csv"), tmp_path / "plant.db"
    whole = source.read_text().splitlines(keepends=True)
    source.write_text("".join(whole[:500]))
    warned = []
    watch = Watch(Settings(str(source), horizon=6, rate=0.1, follow=True), out, str, warned.append)
    asked = []

    def meddle(status):
        if not asked:
            asked.append(ask(out, {"mute": "pump0", "until": None}))
            asked.append(ask(out, {"rate": 0.05}))
            asked.append(ask(out, {"mute": "nothing"}))
            source.write_text("".join(whole))
        watch._stop = status.readings == 700

    watch.status = meddle
    watch.run()
    assert all("next commit" in one for one in asked)
    assert sum("as was asked" in text for text in warned) == 3
    assert rows_of(out, "SELECT count(*) FROM requests WHERE applied IS NULL") == [(0,)]
    assert rows_of(out, "SELECT value FROM settings WHERE name = 'rate'") == [("0.05",)]
    told = rows_of(out, "SELECT told FROM alarms JOIN columns USING (channel) WHERE name = 'pump0' AND number >= 600")
    assert told == [(2,)]
    [(lead, text)] = rows_of(
        out, "SELECT name, sentence FROM alarms JOIN columns USING (channel) WHERE lead = id AND number >= 600"
    )
    assert (lead, "pump0" in text) == ("pump1", False)
    assert any("not done" in text for text in warned)


@pytest.mark.parametrize(("until", "told"), [("2024-05-01 09:00", True), ("2024-05-01 11:00", False), ("8h", False)])
def test_a_muted_column_is_noted_and_not_told_until_then(tmp_path, until, told, capsys):
    source, out = plant(tmp_path / "plant.csv", columns=2), tmp_path / "plant.db"
    whole = source.read_text().splitlines(keepends=True)
    source.write_text("".join(whole[:301]))
    watched(source, out)
    with pytest.raises(SystemExit):
        main(["watch", "--out", str(out), "--mute", "pump0", "--until", until])
    source.write_text("".join(whole))
    _, lines, _ = watched(source, out)
    assert bool(after(lines)) == told
    assert any("end" in one for one in lines) == told
    assert len(rows_of(out, "SELECT * FROM alarms WHERE number = 600")) == 1
    with pytest.raises(SystemExit):
        main(["watch", "--out", str(out), "--unmute", "pump0"])
    assert rows_of(out, "SELECT * FROM mutes") == []


# -- no data -----------------------------------------------------------------------------------------------------------


def test_a_gap_in_a_file_is_an_alarm_with_its_end(tmp_path):
    source = plant(tmp_path / "plant.csv", fault={})
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join(lines[:400] + lines[460:]))
    _, told, _ = watched(source, tmp_path / "plant.db")
    [alarm] = [one["alarm"] for one in told if "alarm" in one and one["alarm"]["explanation"]["kind"] == "no data"]
    assert "has sent nothing since 2024-05-01 06:38" in alarm["sentence"]
    assert len(alarm["columns"]) == 4
    [end] = [one["end"] for one in told if "end" in one and one["end"]["event"] == alarm["event"]]
    assert end["ended"] == "2024-05-01 07:39"


def test_while_a_file_is_followed_no_data_is_told_by_the_wall_clock(tmp_path):
    rng = np.random.default_rng(0)
    begin = time.time() - 30.0
    rows = [f"{begin + 0.1 * k:.3f},{value:.4f}" for k, value in enumerate(rng.normal(size=300))]
    source = tmp_path / "fast.csv"
    source.write_text("timestamp,x\n" + "\n".join(rows) + "\n")
    told = []
    watch = Watch(Settings(str(source), horizon=2, follow=True), tmp_path / "fast.db", told.append, str)
    deadline = time.monotonic() + 20
    watch.status = lambda status: setattr(watch, "_stop", any("no data" in one for one in told))
    began = time.monotonic()
    while not any("no data" in one for one in told) and time.monotonic() < deadline:
        watch.run()
    assert sum('"no data"' in one for one in told) == 1
    assert time.monotonic() - began < 20
    with source.open("a") as file:
        file.write(f"{begin + 33.0:.3f},0.5\n{begin + 33.1:.3f},0.5\n")
    _, lines, _ = watched(source, tmp_path / "fast.db", horizon=2)
    assert any("end" in one for one in lines)


# -- panels ------------------------------------------------------------------------------------------------------------


def panel(path, sensors=5, count=400, fault=("s1", 300), form="csv", rates=(1,)):
    """Sensors by the minute, one after the other in each minute; each begins later than the one before."""
    rows = []
    for k in range(count):
        for s in range(sensors):
            if k >= 10 * s and k % rates[s % len(rates)] == 0:
                value = math.sin(k / 6 + s) + 0.1 * math.sin(7.7 * k * (s + 1)) + (9 if (f"s{s}", k) == fault else 0)
                rows.append((60 * k, f"s{s}", round(value, 5)))
    if form == "csv":
        path.write_text("time,sensor,flow\n" + "".join(f"{t},{s},{v}\n" for t, s, v in rows))
    else:
        path.write_text("".join(json.dumps({"time": t, "sensor": s, "flow": v}) + "\n" for t, s, v in rows))
    return rows


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_sensor_of_a_panel_is_watched_as_by_itself(tmp_path, form):
    rows = panel(tmp_path / f"long.{form}", form=form)
    status, told, warned = watched(tmp_path / f"long.{form}", tmp_path / "long.db", panel=("sensor",))
    assert (status.readings, status.late, status.left_out, status.sensors) == (len(rows), 0, 0, 5)
    assert "5 sensors" in " ".join(warned)
    assert "6 steps ahead" in " ".join(warned)
    assert [one["sensor"] for one in after(told, 250)] == ["s1"]
    for s in range(5):
        alone = [(t, v) for t, name, v in rows if name == f"s{s}"]
        (tmp_path / "one.csv").write_text("time,flow\n" + "".join(f"{t},{v}\n" for t, v in alone))
        out = tmp_path / f"one{s}.db"
        watched(tmp_path / "one.csv", out)
        query = "SELECT number, time, value, expected, lower, upper, p FROM readings "
        mine = rows_of(
            tmp_path / "long.db",
            query + f"JOIN columns USING (channel) JOIN sensors USING (sensor) WHERE sensors.name = 's{s}' ORDER BY 1",
        )
        assert mine == rows_of(out, query + "ORDER BY number")


@pytest.mark.parametrize("batch", [13, 1024])
def test_a_panel_gives_the_same_tables_in_batches_of_any_size_and_over_restarts(tmp_path, batch):
    panel(tmp_path / "long.csv", rates=(1, 7))
    whole = (tmp_path / "long.csv").read_text()
    part = tmp_path / "part.csv"
    for cut in (len(whole) // 7, len(whole) // 2, len(whole)):
        part.write_text(whole[: whole.index("\n", cut - 1) + 1])
        watched(part, tmp_path / "part.db", panel=("sensor",), batch=batch)
    watched(tmp_path / "long.csv", tmp_path / "once.db", panel=("sensor",))
    for name in ("columns", "readings", "alarms", "events", "troubles", "sensors"):
        query = f"SELECT * FROM {name} ORDER BY 1, 2"
        assert rows_of(tmp_path / "part.db", query) == rows_of(tmp_path / "once.db", query), name


def test_each_sensor_finds_its_own_step(tmp_path):
    panel(tmp_path / "long.csv", rates=(1, 7))
    status, _, _ = watched(tmp_path / "long.csv", tmp_path / "long.db", panel=("sensor",))
    assert status.late == 0
    steps = {
        name: json.loads(clock)["usual"]
        for name, clock in rows_of(tmp_path / "long.db", "SELECT name, clock FROM sensors")
    }
    assert steps == {f"s{s}": 60.0 * (1, 7)[s % 2] for s in range(5)}


def test_a_sensor_that_falls_silent_while_others_go_on_is_told(tmp_path):
    rows = [row for row in panel(tmp_path / "long.csv") if row[1] != "s2" or row[0] < 60 * 200 or row[0] > 60 * 380]
    (tmp_path / "long.csv").write_text("time,sensor,flow\n" + "".join(f"{t},{s},{v}\n" for t, s, v in rows))
    _, told, _ = watched(tmp_path / "long.csv", tmp_path / "long.db", panel=("sensor",))
    [alarm] = [one["alarm"] for one in told if "alarm" in one and one["alarm"]["explanation"]["kind"] == "no data"]
    assert (alarm["sensor"], alarm["time"]) == ("s2", 60.0 * (199 + 5))
    assert any(one["end"]["event"] == alarm["event"] for one in told if "end" in one)


def test_a_panel_without_its_option_is_refused_with_the_way_on(tmp_path):
    panel(tmp_path / "long.csv")
    with pytest.raises(ValueError, match="--panel sensor"):
        watched(tmp_path / "long.csv", tmp_path / "long.db")
    assert not (tmp_path / "long.db").exists()


def test_sensors_on_standard_input_are_gone_on_with_each_at_its_time(tmp_path):
    panel(tmp_path / "long.csv")
    content = (tmp_path / "long.csv").read_bytes()
    head = content[: content.index(b"\n", len(content) // 2) + 1]
    for sent in (head, content):
        status, _, _ = watched("-", tmp_path / "long.db", io.BytesIO(sent), panel=("sensor",))
    watched(tmp_path / "long.csv", tmp_path / "once.db", panel=("sensor",))
    assert status.late == 0
    query = "SELECT * FROM readings ORDER BY 1, 2"
    assert rows_of(tmp_path / "long.db", query) == rows_of(tmp_path / "once.db", query)


def test_monitors_that_do_not_fit_into_the_memory_wait_in_the_database(tmp_path, monkeypatch):
    from hippozoo.apps.watch import opening

    panel(tmp_path / "long.csv")
    watched(tmp_path / "long.csv", tmp_path / "once.db", panel=("sensor",))
    monkeypatch.setattr(opening, "MOST_BYTES", 1)
    watched(tmp_path / "long.csv", tmp_path / "long.db", panel=("sensor",), batch=100)
    for name in ("readings", "alarms", "events"):
        query = f"SELECT * FROM {name} ORDER BY 1, 2"
        assert rows_of(tmp_path / "long.db", query) == rows_of(tmp_path / "once.db", query)


@pytest.mark.parametrize("batch", [3, 7, None])
def test_sensors_that_fail_at_the_same_time_are_one_alarm_whatever_the_batches(tmp_path, batch):
    rows = panel(tmp_path / "long.csv", fault=("none", 0))
    failed = [(t, s, -9.0 if s in ("s0", "s1", "s3") and t >= 60 * 350 else v) for t, s, v in rows]
    (tmp_path / "long.csv").write_text("time,sensor,flow\n" + "".join(f"{t},{s},{v}\n" for t, s, v in failed))
    _, told, _ = watched(tmp_path / "long.csv", tmp_path / "long.db", panel=("sensor",), batch=batch)
    first = after(told, 300)[0]
    assert [one["column"] for one in first["columns"]] == ["s0", "s1", "s3"]
    assert first["sentence"].startswith("3 columns at once (s0, s1, s3): ")
    assert first["severity"] == "critical"
    watched(tmp_path / "long.csv", tmp_path / "once.db", panel=("sensor",))
    for name in ("alarms", "events"):
        query = f"SELECT * FROM {name} ORDER BY 1, 2"
        assert rows_of(tmp_path / "long.db", query) == rows_of(tmp_path / "once.db", query), name


def test_a_group_of_sensors_is_whole_after_a_kill_in_the_midst_of_it(tmp_path):
    rows = [row for row in panel(tmp_path / "long.csv", fault=("none", 0)) if row[0] <= 60 * 350]
    failed = [(t, s, -9.0 if t == 60 * 350 else v) for t, s, v in rows]
    texts = ["time,sensor,flow\n", *(f"{t},{s},{v}\n" for t, s, v in failed)]
    (tmp_path / "long.csv").write_text("".join(texts))
    watched(tmp_path / "long.csv", tmp_path / "once.db", panel=("sensor",))
    part = tmp_path / "part.csv"
    for cut in (3, 2, 0):
        part.write_text("".join(texts[: len(texts) - cut]))
        with pytest.raises(KeyboardInterrupt) if cut else nullcontext():
            settings = Settings(str(part), horizon=6, rate=0.1, panel=("sensor",), batch=1024)
            Watch(settings, tmp_path / "part.db", interrupt if cut else str, str).run()
    query = "SELECT id, channel, time, sentence, severity, lead, told FROM alarms ORDER BY 1"
    assert rows_of(tmp_path / "part.db", query) == rows_of(tmp_path / "once.db", query)
    assert "5 columns at once" in str(rows_of(tmp_path / "part.db", query))


def interrupt(line):
    if '"number": 3' in line:
        raise KeyboardInterrupt


def test_what_is_told_comes_in_the_order_in_which_it_was_known(tmp_path):
    source = plant(tmp_path / "plant.csv", fault={300: 0.0, 500: 999.0})
    _, told, _ = watched(source, tmp_path / "plant.db", silence="12", rate=1.0)
    kinds = [next(iter(one)) for one in told if "end" in one or one["alarm"]["number"] >= 300]
    assert kinds == ["alarm", "end", "alarm", "end"]


def test_a_column_that_is_far_worse_is_told_though_it_joins_an_event(tmp_path):
    source = plant(tmp_path / "plant.csv", columns=2, fault={})
    lines = source.read_text().splitlines()
    for number, change in ((600, lambda a, b: (float(a) + 0.9, b)), (602, lambda a, b: (a, 0.0))):
        at, a, b = lines[1 + number].split(",")
        a, b = change(a, b)
        lines[1 + number] = f"{at},{a},{b}"
    source.write_text("\n".join(lines) + "\n")
    _, told, _ = watched(source, tmp_path / "plant.db", rate=1.0)
    found = [(one["column"], one["number"], one["severity"]) for one in after(told, 600)][:2]
    assert [one[:2] for one in found] == [("pump0", 600), ("pump1", 602)]
    assert found[0][2] != found[1][2] == "critical"


@pytest.mark.parametrize("asked", [["--ack", "999"], ["--mute", "nothing"], ["--unmute", "nothing"]])
def test_what_cannot_be_done_ends_with_an_error(tmp_path, capsys, asked):
    watched(plant(tmp_path / "plant.csv"), tmp_path / "plant.db")
    with pytest.raises(SystemExit) as code:
        main(["watch", "--out", str(tmp_path / "plant.db"), *asked])
    assert code.value.code == 1
    assert "not done: there is no" in capsys.readouterr().err


def test_a_mute_ends_by_the_clock_of_the_source(tmp_path, capsys):
    out = tmp_path / "plant.db"
    watched(plant(tmp_path / "plant.csv", zone="+05:30"), out)
    for until, seconds in (("2024-05-02 12:00", 5.5), ("2024-05-02T12:00Z", 0.0)):
        with pytest.raises(SystemExit):
            main(["watch", "--out", str(out), "--mute", "pump0", "--until", until])
        [(end,)] = rows_of(out, "SELECT until FROM mutes")
        assert end == 1714651200.0 - 3600 * seconds
    assert "muted until 2024-05-02 12:00+05:30" in capsys.readouterr().out


def test_many_sensors_are_given_smaller_states_and_the_first_line_says_so(tmp_path, monkeypatch):
    from hippozoo.apps.watch import settings

    panel(tmp_path / "long.csv", sensors=40, count=60)
    monkeypatch.setattr(settings, "_FREE_BYTES", 4_000_000)
    status, _, warned = watched(tmp_path / "long.csv", tmp_path / "long.db", panel=("sensor",), horizon=None)
    assert status.sensors == 6  # each begins later than the one before
    assert "24 steps ahead" in warned[0]
    rows = [(t, f"s{s}", t % 7) for t in range(60) for s in range(40)]
    (tmp_path / "wide.csv").write_text("time,sensor,flow\n" + "".join(f"{t},{s},{v}\n" for t, s, v in rows))
    _, _, warned = watched(tmp_path / "wide.csv", tmp_path / "wide.db", panel=("sensor",), horizon=None)
    assert warned[0].startswith("40 sensors so far, 6 steps ahead with smaller histories")
    [(order,)] = rows_of(tmp_path / "wide.db", "SELECT value FROM settings WHERE name = 'order'")
    assert order == "12"
    status, _, _ = watched(tmp_path / "wide.csv", tmp_path / "wide.db", panel=("sensor",), horizon=None)
    assert status.readings == 2400
