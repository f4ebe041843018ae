"""One sensor per key: whatever the engine does with its state, alarms and expectations are those of one process."""

import copy
import json
import os
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import hippozoo.scale.flink
from hippozoo.apps.cli import main
from hippozoo.monitor import Clock, Monitor, Plan, Rules
from hippozoo.scale.flink import KeyedWatch, Settings
from hippozoo.scale.flink.__main__ import last_checkpoint, run
from hippozoo.scale.flink.keyed import END
from hippozoo.scale.flink.lines import LineReader, first_lines, infer_settings
from hippozoo.scale.flink.sensor import Sensor, pack_row, time_of_row, unpack_row
from hippozoo.tables.schema import Reading

STEP = 60.0
PLAN = Plan(horizon=2)


class Key:
    """Keyed state and timers in a few lists."""

    def __init__(self):
        self.kept, self.rows, self.waiting = None, [], []
        self.by_watermark, self.by_clock = set(), False

    def snapshot(self):
        return self.kept

    def log(self):
        return list(self.rows)

    def buffer(self):
        return list(self.waiting)

    def save(self, snapshot):
        self.kept, self.rows = snapshot, []

    def add_to_log(self, rows):
        self.rows += rows

    def add_to_buffer(self, row):
        self.waiting.append(row)

    def replace_buffer(self, rows):
        self.waiting = list(rows)

    def wake_at(self, milliseconds):
        self.by_watermark.add(milliseconds)

    def wake_in(self, milliseconds):
        self.by_clock = True


class Engine:
    """Runs keyed functions as Flink does: checkpoints, kills, workers that share the keys, a sink that commits."""

    def __init__(self, settings, workers=1):
        self.settings, self.workers = settings, workers
        self.keys, self.at, self.out, self.watermark = {}, 0, [], -END
        self._begin()
        self.kept = self._everything()

    def _begin(self):
        self.functions = [KeyedWatch(self.settings) for _ in range(self.workers)]

    def _function(self, name):
        return self.functions[sum(name.encode()) % self.workers]

    def _everything(self):
        return copy.deepcopy((self.keys, self.at, len(self.out), self.watermark))

    def checkpoint(self):
        self.kept = self._everything()

    def kill(self, workers=None, exactly_once=True):
        """Go on from the last checkpoint; a sink that does not commit with it keeps what it got."""
        self.keys, self.at, out, self.watermark = copy.deepcopy(self.kept)
        if exactly_once:
            del self.out[out:]
        self.workers = workers or self.workers
        self._begin()

    def advance(self, watermark):
        self.watermark = max(watermark, self.watermark)
        for name, key in list(self.keys.items()):
            while fired := sorted(one for one in key.by_watermark if one <= self.watermark):
                key.by_watermark.remove(fired[0])
                self.out += self._function(name).on_watermark(name, fired[0], self.watermark, key)

    def clock(self):
        for name, key in self.keys.items():
            if key.by_clock:
                key.by_clock = False
                self.out += self._function(name).on_clock(name, key)

    def run(self, rows, rng=None, **kill):
        """All rows; with a generator checkpoints, kills, the wall clock and watermarks come at random moments."""
        latest = max_seen = -END
        while self.at < len(rows):
            name, row = rows[self.at]
            self.at += 1
            key = self.keys.setdefault(name, Key())
            self.out += self._function(name).take(name, row, key)
            max_seen = max(self.settings.milliseconds(time_of_row(row)), max_seen)
            latest = max_seen - self.settings.milliseconds(self.settings.lateness or 0.0) - 1
            chance = 0.5 if rng is None else rng.random()
            if chance < 0.02:
                self.checkpoint()
            elif chance < 0.05:
                self.clock()
            elif chance < 0.2 or rng is None:
                self.advance(latest)
            elif chance > 0.995:
                self.kill(**{name: int(rng.integers(1, 4)) if one is None else one for name, one in kill.items()})
                max_seen = self.watermark + 1
        self.advance(latest)
        self.advance(2**63 - 1)
        return [json.loads(line) for line in self.out]


def panel(sensors=4, count=400, seed=0):
    """Rows of sensors with spikes, a level shift, missing values, a gap, and one that falls silent for good."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(sensors):
        values = np.sin(np.arange(count) / (4 + s)) + 0.1 * rng.normal(size=count)
        values[count * 3 // 4] += 5.0
        values[rng.integers(count // 8, count // 4, size=5)] = np.nan
        times = STEP * np.arange(count) + 7 * s
        keep = np.ones(count, bool)
        if s == 1:
            keep[340:355] = False
        if s == 2:
            keep[350:] = False
        rows += [(f"pump {s}", t, v) for t, v in zip(times[keep].tolist(), values[keep].tolist(), strict=True)]
    rows.sort(key=lambda one: one[1])
    return [(name, pack_row(Reading(0, t, (v,)))) for name, t, v in rows]


def one_process(rows, plan=PLAN, hint=np.inf):
    """By definition: a clock and a monitor for each sensor, row by row; at the end what has fallen silent."""
    clocks, monitors, readings, alarms, ends, late = {}, {}, {}, {}, {}, []
    latest = max(time_of_row(row) for _, row in rows)

    def note(name, outcome):
        for t, number in enumerate(range(outcome.first, outcome.first + len(outcome.times))):
            readings[f"{name}:0:{number}"] = [float(part[t, 0]) for part in outcome[2:7]]
        for alert in outcome.alerts:
            alarms[alert.key(name)] = (alert.time, alert.kind, alert.p, alert.value, alert.expected)
        for over in outcome.over:
            ends[name, over.number, over.no_data] = over.time

    for name, row in rows:
        clock = clocks.setdefault(name, Clock())
        monitor = monitors.setdefault(name, Monitor(plan))
        taken, said = clock.take(unpack_row(row, name), monitor.usual or hint)
        late += [name for one in said if one.kind == "late"]
        for one in taken:
            note(name, monitor.push(np.array([one.time]), np.array([one.values])))
    for name, monitor in monitors.items():
        note(name, monitor.tick(latest - 1e-3))
    return readings, alarms, ends, late


def assert_same(lines, expected, once=True):
    readings, alarms, ends, late = expected
    found = [one["reading"] for one in lines if "reading" in one]
    told = [one["alarm"] for one in lines if "alarm" in one]
    over = [one["end"] for one in lines if "end" in one]
    if once:  # none twice
        assert len({one["id"] for one in found}) == len(found)
        assert len({one["id"] for one in told}) == len(told)
        assert len({one["id"] for one in over}) == len(over)
        assert [one["trouble"]["kind"] for one in lines if "trouble" in one].count("late") == len(late)
    by_id = {one["id"]: one for one in found}
    assert by_id.keys() == readings.keys()
    ours = [[by_id[i][name] for name in ("value", "expected", "lower", "upper", "p")] for i in readings]
    theirs = [[one if np.isfinite(one) else None for one in readings[i]] for i in readings]
    assert ours == theirs
    assert {one["id"]: (one["time"], one["kind"], one["p"], one["value"], one["expected"]) for one in told} == alarms
    assert {(one["sensor"], one["number"], one["id"].endswith("data")): one["ended"] for one in over} == ends
    assert {one["event"] for one in over} <= {one["event"] for one in told}


def settings(**more):
    return Settings(PLAN, ("flow",), dates=False, all_readings=True, **{"every_rows": 50, "batch": 8} | more)


@pytest.fixture(scope="module")
def expected():
    rows = panel()
    found = one_process(rows)
    kinds = {one[1] for one in found[1].values()}
    assert "no data" in kinds  # else the tests below would say less
    assert len(kinds) > 1
    assert found[2]
    return rows, found


@pytest.mark.parametrize("batch", [1, 8, 64])
def test_one_sensor_per_key_gives_what_one_process_gives(expected, batch):
    rows, found = expected
    assert_same(Engine(settings(batch=batch)).run(rows), found)


@pytest.mark.parametrize("seed", range(3))
def test_killed_and_restored_at_random_moments_nothing_is_lost_and_nothing_told_twice(expected, seed):
    rows, found = expected
    engine = Engine(settings(cache=[2, 3, 9][seed % 3], every_rows=[7, 50, 10_000][seed % 3]), workers=1 + seed % 2)
    assert_same(engine.run(rows, np.random.default_rng(seed), workers=None), found)  # rescaled as it goes on


@pytest.mark.parametrize("seed", range(3))
def test_ids_make_alarms_idempotent_where_a_sink_gets_them_twice(expected, seed):
    rows, found = expected
    lines = Engine(settings()).run(rows, np.random.default_rng(seed), exactly_once=False)
    assert len(lines) > len(found[0]) + len(found[1])
    assert_same(lines, found, once=False)


@pytest.mark.parametrize("seed", range(3))
def test_rows_out_of_order_are_sorted_by_the_watermark_within_the_lateness(expected, seed):
    rows, found = expected
    rng = np.random.default_rng(seed)
    order = np.argsort([time_of_row(row) + rng.uniform(0, 5 * STEP) for _, row in rows])
    lines = Engine(settings(lateness=5 * STEP)).run([rows[k] for k in order], rng, workers=None)
    assert_same(lines, found)


def test_rows_that_come_late_or_twice_are_left_out_as_one_process_leaves_them_out():
    rows = panel(2, 300)
    rng = np.random.default_rng(0)
    for at in sorted(rng.integers(50, 500, size=40).tolist(), reverse=True):
        rows.insert(at, rows[at - int(rng.integers(1, 30))])
    found = one_process(rows)
    assert len(found[3]) == 40
    assert_same(Engine(settings()).run(rows, rng), found)


def test_a_row_far_ahead_is_held_and_survives_a_kill():
    rows = panel(1, 200)
    rows.insert(150, ("pump 0", pack_row(Reading(0, 9e6, (1.0,)))))
    found = one_process(rows)
    lines = Engine(settings(every_rows=1)).run(rows, np.random.default_rng(1))
    assert [one["trouble"]["kind"] for one in lines if "trouble" in one] == ["ahead"]
    readings = {one["reading"]["id"] for one in lines if "reading" in one}
    assert readings == found[0].keys()


def test_at_the_end_of_a_source_no_sensor_is_said_to_be_silent_and_what_is_held_is_named():
    rows = [*panel(1, 200), ("pump 0", pack_row(Reading(0, 9e6, (1.0,))))]
    engine = Engine(settings())
    engine.watermark = -END
    lines = engine.run(rows[:-1])
    assert not [one for one in lines if "alarm" in one and one["alarm"]["kind"] == "no data"]
    engine = Engine(settings())
    engine.advance = lambda watermark: None if watermark < END else Engine.advance(engine, watermark)
    assert [one["trouble"]["kind"] for one in engine.run(rows) if "trouble" in one] == ["held"]


def test_bytes_are_versioned_and_of_one_plan():
    sensor = Sensor(PLAN)
    sensor.take([row for _, row in panel(1, 50)])
    data = sensor.to_bytes()
    assert Sensor.from_bytes(data, PLAN).to_bytes() == data
    assert Sensor.from_bytes(data, Plan(horizon=2, rules=Rules(rate=3.0))).plan.rules.rate == 3.0
    with pytest.raises(ValueError, match="another version"):
        Sensor.from_bytes(data[:15] + b"\x63" + data[16:], PLAN)
    with pytest.raises(ValueError, match="horizon"):
        Sensor.from_bytes(data, Plan(horizon=3))
    key = Key()
    key.kept = b"hippozoo sensor\x63"
    with pytest.raises(ValueError, match="sensor 'pump 0': another version"):
        list(KeyedWatch(settings(batch=1)).take("pump 0", panel(1, 20)[0][1], key))


@pytest.mark.parametrize(
    ("given", "match"),
    [({"batch": 0}, "batch=0"), ({"cache": 0}, "cache=0"), ({"lateness": -1.0}, "lateness=-1")],
)
def test_settings_that_make_no_sense_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        settings(**given)
    with pytest.raises(ValueError, match="columns"):
        Settings(PLAN, ("a", "b"))
    with pytest.raises(ValueError, match="no event time"):
        Settings(Plan(timed=False), ("a",))


# -- lines, and the job ------------------------------------------------------------------------------------------------


def write_csv(path, rows):
    lines = [f"{name},{time_of_row(row)!r},{unpack_row(row).values[0]!r}".replace("nan", "") for name, row in rows]
    path.write_text("\n".join(["sensor,time,flow", *lines]) + "\n")


def test_each_key_is_watched_as_hippozoo_watch_watches_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = panel()
    rows.insert(900, rows[700])  # one row that is late
    write_csv(tmp_path / "pumps.csv", rows)
    with pytest.raises(SystemExit):
        main(["watch", "pumps.csv", "--panel", "sensor", "--horizon", "2", "--out", "pumps.db"])
    with sqlite3.connect("pumps.db") as base:
        names = dict(base.execute("SELECT c.channel, s.name FROM columns c JOIN sensors s ON s.sensor = c.sensor"))
        readings = base.execute("SELECT channel, number, value, expected, lower, upper, p FROM readings").fetchall()
        alarms = base.execute("SELECT channel, number, time, p, value, sentence FROM alarms").fetchall()
    base.close()
    schema, found = infer_settings(first_lines(tmp_path / "pumps.csv"), "pumps.csv", ["sensor"], PLAN)
    reader = LineReader(schema, replace(found, all_readings=True))
    read = [row for line in (tmp_path / "pumps.csv").read_text().splitlines() for row in reader.read(line)]
    lines = Engine(reader.settings).run([(row.sensor, row.row) for row in read])
    ours = [one["reading"] for one in lines if "reading" in one]
    fields = ("number", "value", "expected", "lower", "upper", "p")
    assert sorted((one["sensor"], *(one[name] for name in fields)) for one in ours) == sorted(
        (names[channel], *rest) for channel, *rest in readings
    )
    told = [one["alarm"] for one in lines if "alarm" in one]
    fields = ("number", "time", "p", "value", "sentence")
    assert len(told) >= 4
    # The one that fell silent for good: `watch` looks for that after every 1,024 rows, and there are not so many.
    silent = [one for one in told if one["sensor"] == "pump 2" and one["kind"] == "no data"]
    assert len(silent) == 1
    told.remove(silent[0])
    assert sorted((one["sensor"], *(one[name] for name in fields)) for one in told) == sorted(
        (names[channel], *rest) for channel, *rest in alarms
    )


def test_lines_that_are_no_readings_are_named_and_the_others_read():
    lines = [
        "sensor,time,flow",
        "a,0,1",
        "a,60,2",
        "a,120,x",
        "sensor,time,flow",
        "sensor,flow,time",
        "a",
        "",
        ",180,4",
    ]
    schema, settings = infer_settings(lines[:3], "pumps.csv", ["sensor"], Plan(horizon=1))
    found = [row for line in lines for row in LineReader(schema, settings).read(line)]
    assert [unpack_row(row.row).time for row in found if row.row] == [0.0, 60.0, 120.0]
    kinds = [json.loads(row.said)["trouble"]["kind"] for row in found if row.said]
    assert kinds == ["not a number", "other header", "cells", "no series"]


def test_one_wrong_date_does_not_move_the_watermark_and_a_gap_does():
    schema, settings = infer_settings(
        ["sensor,time,flow", "a,0,1", "a,60,2", "a,120,2"], "pumps.csv", ["sensor"], Plan(horizon=1, every=60.0)
    )
    reader = LineReader(schema, settings)
    stamps = [next(iter(reader.read(f"a,{time},1"))).stamp for time in (0, 60, 9e9, 120, 180, 1e6, 1e6 + 60, 1e6 + 120)]
    step = settings.milliseconds(60.0)
    assert stamps[:6] == [0, step, step, 2 * step, 3 * step, 3 * step]
    assert stamps[6:] == [settings.milliseconds(1e6 + 60), settings.milliseconds(1e6 + 120)]


def test_without_pyflink_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyflink", None)
    monkeypatch.delitem(sys.modules, "hippozoo.scale.flink.job", raising=False)
    with pytest.raises(ImportError, match="make flink"):
        _ = hippozoo.scale.flink.watch_lines
    write_csv(tmp_path / "a.csv", panel(1, 50))
    result = job("--source", str(tmp_path / "a.csv"), "--sink", "-", "--panel", "sensor")
    assert (result.exit_code, "make flink" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--source", "kafka://broker/topic", "--sink", "-"], "KafkaSource"),
        (["--source", "socket://localhost:9000", "--sink", "-"], "--like"),
        (["--source", "nothing.csv", "--sink", "-"], "nothing.csv"),
        (["--source", "a.csv", "--sink", "-", "--resume"], "--checkpoints"),
        (["--source", "a.csv", "--sink", "-", "--set", "x"], "KEY=VALUE"),
        (["--source", "a.csv", "--sink", "-", "--rate", "0"], "rate=0"),
        (["--source", "a.csv", "--sink", "-", "--lateness", "soon"], "length of time"),
        (["--source", "b.csv", "--sink", "-"], "no column of times"),
        (["--source", "empty", "--sink", "-"], "holds no file"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_a_sentence(tmp_path, monkeypatch, more, match):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", panel(1, 50))
    (tmp_path / "b.csv").write_text("sensor,flow\na,1.5\nb,2.5\na,1.25\nb,3.5\n")
    (tmp_path / "empty").mkdir()
    result = job(*more, "--panel", "sensor")
    assert result.exit_code == 2
    assert match in result.stderr


def test_a_job_goes_on_from_the_last_whole_checkpoint(tmp_path):
    assert last_checkpoint(tmp_path) is None
    for at, name in enumerate(("a/chk-3", "b/chk-4", "b/chk-5")):
        (tmp_path / name).mkdir(parents=True)
        if name != "b/chk-5":  # killed while it was written
            (tmp_path / name / "_metadata").write_text("")
            os.utime(tmp_path / name / "_metadata", (at, at))
    assert last_checkpoint(tmp_path) == tmp_path / "b/chk-4"


def test_a_job_that_has_finished_is_not_gone_on_from_an_older_checkpoint(tmp_path):
    write_csv(tmp_path / "a.csv", panel(1, 50))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/finished").touch()
    more = ["--sink", "-", "--panel", "sensor", "--checkpoints", str(tmp_path / "kept"), "--resume"]
    result = job("--source", str(tmp_path / "a.csv"), *more)
    assert (result.exit_code, "has finished" in result.stdout) == (0, True)


def job(*arguments):
    app = typer.Typer()
    app.command()(run)
    return CliRunner().invoke(app, arguments)
