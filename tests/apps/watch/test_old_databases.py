"""Readings, alarms and settings are read for ever; a state that cannot be used is rebuilt from the readings."""

import json
import lzma
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from hippozoo import __version__
from hippozoo.apps.watch import sensors as replay
from hippozoo.apps.watch.database import reading
from hippozoo.apps.watch.formats import OLDEST, VERSION
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.show import last_alarms, write_page

FIXTURES = Path(__file__).parents[2] / "fixtures"
FORMATS = sorted(int(path.name.split("-")[2].split(".")[0]) for path in FIXTURES.glob("watch-format-*.db.xz"))
FOR_EVER = ("settings", "columns", "readings", "alarms")


def test_there_is_a_database_of_every_format_since_the_first_that_was_kept():
    """A new format adds one: `tests/fixtures/make_format.py`."""
    assert list(range(OLDEST, VERSION + 1)) == FORMATS


def rows_of(path, name):
    database = sqlite3.connect(path)
    rows = [list(row) for row in database.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
    database.close()
    return rows


def change(path, statement, values=()):
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


def unpack(number, folder):
    """A database of that format, with its source beside it, and what it holds."""
    path, source = folder / "pump.db", folder / "pump.csv"
    path.write_bytes(lzma.decompress((FIXTURES / f"watch-format-{number}.db.xz").read_bytes()))
    shutil.copy(FIXTURES / f"watch-format-{number}.csv", source)
    change(path, "UPDATE settings SET value = ? WHERE name = 'path'", [json.dumps(str(source))])
    return path, source, json.loads((FIXTURES / f"watch-format-{number}.json").read_text())


def watch(source, out, **choices):
    told, warned = [], []
    settings = Settings(str(source), **{"horizon": 2, "rate": 2.0, **choices})
    return Watch(settings, out, told.append, warned.append), told, warned


def more_rows(source, count=40):
    """The same pump for some hours more, with a spike."""
    times = np.datetime64("2026-01-18T08:00") + np.arange(count).astype("timedelta64[h]")
    values = 40 + 6 * np.sin(2 * np.pi * np.arange(320, 320 + count) / 24)
    values[-5] += 80
    with source.open("a") as file:
        file.writelines(f"{at},{value:.3f},3.0,on\n" for at, value in zip(times, values, strict=True))


@pytest.mark.parametrize("number", FORMATS)
def test_what_an_earlier_version_wrote_is_read_and_left_as_it_is(tmp_path, number):
    path, _, held = unpack(number, tmp_path)
    before = path.read_bytes()
    with reading(path) as database:
        settings = database.settings
    for name, value in held["settings"]:
        if name != "path":
            assert settings[name] == json.loads(value)
    leads = [row for row in held["alarms"] if len(row) < 13 or row[12] == row[0]]  # the others are told by these
    assert [one["number"] for one in last_alarms(path)] == [row[1] for row in leads]
    assert write_page(path, tmp_path / "pump.html").exists()
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", FORMATS)
def test_a_database_of_an_earlier_version_is_gone_on_with(tmp_path, number):
    path, source, held = unpack(number, tmp_path)
    more_rows(source)
    one, _, warned = watch(source, path)
    seen = []
    one.rebuilt = lambda done, total: seen.append((done, total))
    status = one.run()
    assert status.readings == 354
    assert rows_of(path, "readings")[: len(held["readings"])] == held["readings"]
    width = len(held["alarms"][0])
    assert [row[:width] for row in rows_of(path, "alarms")][: len(held["alarms"])] == held["alarms"]
    width = len(held["troubles"][0])
    assert [row[:width] for row in rows_of(path, "troubles")][: len(held["troubles"])] == held["troubles"]
    if len(rows_of(path, "writers")) > 1:  # another arithmetic had made its state
        assert seen[-1] == (314, 314)
        assert any("314" in text for text in warned)
    # What is expected of the new rows is what a watch expects that has seen everything itself.
    watch(source, tmp_path / "once.db")[0].run()
    assert rows_of(path, "readings")[628:] == rows_of(tmp_path / "once.db", "readings")[628:]
    new, once = ([row[1] for row in rows_of(one, "alarms") if row[1] >= 314] for one in (path, tmp_path / "once.db"))
    assert new == once
    assert len(rows_of(path, "alarms")) > len(held["alarms"])


@pytest.mark.parametrize("number", FORMATS)
def test_a_database_knows_who_wrote_it(tmp_path, number):
    path, source, _ = unpack(number, tmp_path)
    more_rows(source)
    for _ in range(2):
        watch(source, path)[0].run()
    writers = rows_of(path, "writers")
    assert writers[-1][1] == __version__
    assert writers[-1][2] == rows_of(path, "states")[0][3]
    if number == 5:
        assert [row[0] for row in writers] == [0, 314]
        assert writers[0][2] != writers[-1][2]


def begun(tmp_path, count=120, **choices):
    source, out = tmp_path / "pump.csv", tmp_path / "pump.db"
    rows = [f"{60 * k},{np.sin(k / 4) + 0.01 * (k % 7):.4f}" for k in range(count)]
    source.write_text("\n".join(["time,flow", *rows]) + "\n")
    watch(source, out, **choices)[0].run()
    return source, out


def append(source, first=120, count=30):
    with source.open("a") as file:
        file.writelines(f"{60 * k},{np.sin(k / 4) + 0.01 * (k % 7):.4f}\n" for k in range(first, first + count))


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE states SET arithmetic = 'another'",
        "UPDATE states SET state = zeroblob(1000)",
        "UPDATE states SET state = substr(state, 1, 5000)",
        "UPDATE states SET state = 'text'",
        "UPDATE states SET number = 1000",
    ],
)
def test_a_state_that_cannot_be_used_is_rebuilt_and_changes_nothing(tmp_path, spoil):
    source, out = begun(tmp_path)
    change(out, spoil)
    append(source)
    _, _, warned = found = watch(source, out)
    found[0].run()
    watch(source, tmp_path / "once.db")[0].run()
    for name in ("readings", "alarms", "troubles"):
        assert rows_of(out, name) == rows_of(tmp_path / "once.db", name)
    assert any("120" in text for text in warned)
    _, _, warned = found = watch(source, out)
    found[0].run()
    assert warned == []  # once


def test_with_few_readings_kept_it_is_said_from_when_the_state_is_rebuilt(tmp_path):
    source, out = begun(tmp_path, keep=50)
    change(out, "UPDATE states SET arithmetic = 'another'")
    append(source)
    one, _, warned = watch(source, out, keep=50)
    status = one.run()
    assert status.readings == 150
    assert any("50" in text and "4200" in text for text in warned)
    assert [row[0] for row in rows_of(out, "readings")] == list(range(100, 150))
    append(source, 150, 900)
    with source.open("a") as file:
        file.write("63000,99\n")
    one, told, warned = watch(source, out, keep=50)
    assert one.run().readings == 1051
    assert warned == []
    alarm = json.loads([line for line in told if "alarm" in line][-1])["alarm"]
    assert (alarm["number"], alarm["time"]) == (1050, 63000.0)
    assert alarm["explanation"]["since"] == 1050


def test_told_to_stop_while_a_state_is_rebuilt_it_goes_on_from_there(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "_PIECE", 32)
    source, out = begun(tmp_path)
    change(out, "UPDATE states SET arithmetic = 'another'")
    append(source)
    one, _, _ = watch(source, out)
    one.rebuilt = lambda done, total: setattr(one, "_stop", done >= 64)
    assert one.run().readings == 120
    assert rows_of(out, "states")[0][1] == 64
    assert watch(source, out)[0].run().readings == 150
    watch(source, tmp_path / "once.db")[0].run()
    assert rows_of(out, "readings") == rows_of(tmp_path / "once.db", "readings")


def test_alarms_and_a_page_need_no_state(tmp_path):
    _, out = begun(tmp_path)
    change(out, "UPDATE states SET state = zeroblob(10), arithmetic = 'another'")
    assert last_alarms(out) == []
    assert write_page(out, tmp_path / "page.html").exists()


@pytest.mark.parametrize("number", [4, 99])
def test_a_format_that_is_not_known_is_named_and_left_alone(tmp_path, number):
    source, out = begun(tmp_path)
    change(out, f"PRAGMA user_version = {number}")
    before = out.read_bytes()
    for attempt in (watch(source, out)[0].run, lambda: last_alarms(out)):
        with pytest.raises(WatchError, match=f"format {number}") as error:
            attempt()
        assert str(out) in str(error.value)
    assert out.read_bytes() == before


def test_the_arithmetic_of_this_version_is_the_one_that_its_number_names():
    """If this fails, forecasts have changed: raise ARITHMETIC, so that states are rebuilt, and store the new ones."""
    from hippozoo.apps.watch.settings import ARITHMETIC, arithmetic_of
    from hippozoo.ensemble import ForecastStream, forecaster_for
    from hippozoo.monitor import Plan

    known = json.loads((FIXTURES / "arithmetic.json").read_text())
    signal = np.sin(np.arange(300) / 6) + 0.1 * np.random.default_rng(7).normal(size=300)
    pushed = ForecastStream(forecaster_for(120.0, 60.0)).push_many(signal, 60.0 * np.arange(300))
    assert known["arithmetic"] == ARITHMETIC
    for name in ("expected", "lower", "upper", "p"):
        np.testing.assert_allclose(getattr(pushed, name)[20::20], known[name], rtol=1e-6)
    one, other = (Plan(horizon=steps, every=60.0) for steps in (2, 3))
    assert arithmetic_of(one) == arithmetic_of(Plan(horizon=2, every=60.0))
    assert arithmetic_of(one) != arithmetic_of(other)  # another horizon, another layout of the state
