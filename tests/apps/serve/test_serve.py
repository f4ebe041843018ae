"""What a server tells, and whom it answers."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

pytest.importorskip("starlette", reason="hippozoo serve needs starlette")
pytest.importorskip("uvicorn", reason="hippozoo serve needs uvicorn")

from hippozoo.apps.cli import main
from hippozoo.apps.command_line import UsageError
from hippozoo.apps.serve.server import make_server, read_token
from hippozoo.apps.watch.problem import WatchError
from many_streams import write_streams
from serving import TOKEN, serving

READING = ("/streams.json", "/alarms.json", "/metrics", "/day.json?database=plant.db&channel=1")


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return write_streams(tmp_path_factory.mktemp("plant") / "plant.db", streams=5)


@pytest.fixture(scope="module")
def ask(plant):
    with serving(plant) as asking:
        yield asking


def query(path, text):
    database = sqlite3.connect(path)
    found = database.execute(text).fetchall()
    database.close()
    return found


# -- what it tells -------------------------------------------------------------------------------------------------


def test_streams_are_told_with_their_newest_reading_and_open_events(ask, plant):
    [found] = ask.json("/streams.json")["databases"]
    assert [one["name"] for one in found["streams"]] == [f"pump 00{k}" for k in range(5)]
    newest = query(plant, "SELECT time, value, expected, lower, upper, p FROM readings WHERE number = 287")
    keys = ("time", "value", "expected", "lower", "upper", "p")
    assert [tuple(one[key] for key in keys) for one in found["streams"]] == newest
    assert [one.get("severity") for one in found["streams"]] == [None, None, "critical", None, None]
    assert not found["watched"]
    assert (found["readings"], found["alarms"], found["rate"]) == (5 * 288, 1, 1.0)


def test_a_day_holds_the_last_24_hours_and_no_more(tmp_path):
    path = write_streams(tmp_path / "long.db", streams=2, readings=1000, every=600.0, end=1.7e9)
    with serving(path) as ask:
        day = ask.json("/day.json?database=long.db&channel=0&channel=1")
    assert set(day) == {"0", "1"}
    times = [row[0] for row in day["0"]["points"]]
    assert (times[0], times[-1]) == (1.7e9 - 86_400, 1.7e9)
    seen = query(path, f"SELECT value FROM readings WHERE channel = 0 AND time >= {times[0]} ORDER BY number")
    assert [row[1] for row in day["0"]["points"]] == [value for (value,) in seen]


def test_a_day_of_many_readings_is_thinned_by_lowest_and_highest(tmp_path):
    path = write_streams(tmp_path / "fast.db", streams=1, readings=20_000, every=1.0)
    with serving(path) as ask:
        points = ask.json("/day.json?database=fast.db&channel=0")["0"]["points"]
    values = [value for (value,) in query(path, "SELECT value FROM readings")]
    assert 400 <= len(points) <= 480
    assert min(row[1] for row in points) == min(values)
    assert max(row[2] for row in points) == max(values)


def test_alarms_are_told_with_what_became_of_them(ask):
    [alarm] = ask.json("/alarms.json")["alarms"]
    assert (alarm["database"], alarm["column"], alarm["severity"]) == ("plant.db", "pump 002", "critical")
    assert alarm["open"]
    assert alarm["acknowledged"] is None


def test_metrics_are_in_the_format_of_prometheus(ask, plant):
    answer = ask("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    sample = re.compile(r'^hippozoo_[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\}) \S+$')
    families = {}
    for line in lines:
        if line.startswith("# TYPE"):
            name = line.split()[2]
            assert name not in families  # all samples of a family stand together
            families[name] = line.split()[3]
        elif not line.startswith("#"):
            assert sample.match(line), line
            assert line.partition("{")[0] == name
            float(line.rsplit(" ", 1)[1])
    assert all((kind == "counter") == name.endswith("_total") for name, kind in families.items())
    assert 'hippozoo_readings_total{database="plant.db"} 1440' in lines
    assert 'hippozoo_alarm{database="plant.db",column="pump 002"} 1' in lines
    assert 'hippozoo_events_open{database="plant.db",severity="critical"} 1' in lines
    assert 'hippozoo_value{database="plant.db",column="pump 002"} 0.0' in lines


def test_names_are_escaped_in_metrics(tmp_path):
    path = write_streams(tmp_path / 'a"b\\.db', streams=1)
    database = sqlite3.connect(path)
    database.execute("UPDATE sensors SET name = ?", ['pump "1"\n\\'])
    database.commit()
    database.close()
    with serving(path) as ask:
        assert 'hippozoo_muted{database="a\\"b\\\\.db",column="pump \\"1\\"\\n\\\\"} 0' in ask("/metrics").text


def test_health_says_whether_all_databases_can_be_read(ask, tmp_path):
    assert ask.json("/healthz") == {"status": "ok", "unreadable": 0}
    with serving(tmp_path / "broken.db", tmp_path / "later.db") as other:
        (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
        answer = other("/healthz")
        assert (answer.status, json.loads(answer.text)) == (503, {"status": "failing", "unreadable": 2})
        broken, later = other.json("/streams.json")["databases"]
        assert "broken.db" in broken["error"]
        assert "is not there" in later["error"]
        assert other.json("/alarms.json")["alarms"] == []
        assert 'hippozoo_up{database="later.db"} 0' in other("/metrics").text
        assert other("/day.json?database=later.db&channel=0").status == 503
        write_streams(tmp_path / "later.db", streams=1)
        assert len(other.json("/streams.json")["databases"][1]["streams"]) == 1


def test_databases_of_earlier_formats_are_served(tmp_path):
    import lzma
    from pathlib import Path

    fixtures = Path(__file__).parents[2] / "fixtures"
    paths = []
    for version in (5, 6):
        packed = fixtures / f"watch-format-{version}.db.xz"
        paths.append(tmp_path / f"format-{version}.db")
        paths[-1].write_bytes(lzma.decompress(packed.read_bytes()))
    before = [path.read_bytes() for path in paths]
    with serving(*paths) as ask:
        for found in ask.json("/streams.json")["databases"]:
            assert found["streams"]
            assert "error" not in found
            channel = found["streams"][0]["channel"]
            assert ask.json(f"/day.json?database={found['name']}&channel={channel}")[str(channel)]["points"]
        ask.json("/alarms.json")
        assert ask("/metrics").status == 200
    assert [path.read_bytes() for path in paths] == before


def test_a_page_of_500_streams_takes_less_than_a_second(tmp_path):
    path = write_streams(tmp_path / "plant.db", streams=500, readings=30)
    with serving(path) as ask:
        ask("/")
        took = []
        for _ in range(3):
            began = time.perf_counter()
            for part in ("/", "/serve.js", "/serve.css", "/streams.json", "/alarms.json?count=30"):
                assert ask(part).status == 200
            visible = "".join(f"&channel={k}" for k in range(12))
            assert ask(f"/day.json?database=plant.db{visible}").status == 200
            took.append(time.perf_counter() - began)
    assert min(took) < 1.0


def test_nothing_that_a_query_says_is_taken_for_sql_or_a_path(ask):
    for path in (
        "/day.json?database=plant.db&channel=1;DROP TABLE readings".replace(" ", "%20"),
        "/day.json?database=plant.db&channel=-1",
        "/day.json?database=plant.db" + "&channel=1" * 65,
        "/alarms.json?count=x",
    ):
        assert ask(path).status == 400
    for path in ("/day.json?database=../plant.db&channel=1", "/day.json", "/alarms.json?database=no.db", "/etc/passwd"):
        assert ask(path).status == 404
    assert ask.json("/day.json?database=plant.db&channel=99") == {"99": {"points": [], "alarms": []}}


# -- whom it answers -----------------------------------------------------------------------------------------------


def test_every_answer_has_a_policy_and_the_page_has_no_script_of_its_own(ask):
    for path in ("/", "/serve.js", "/streams.json", "/nowhere", "/healthz"):
        headers = ask(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
    page = ask("/").text
    assert not re.search(r"<script(?! src=)|<style| style=| on\w+=|https?://", page)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "localhost.evil.x"]
)
def test_requests_for_other_hosts_are_refused(ask, host):
    for path in ("/", *READING):
        answer = ask(path, Host=host)
        assert answer.status in (400, 421)
        assert "pump" not in answer.text
    assert ask("/requests?database=plant.db", {"rate": 2}, Host=host, Authorization=f"Bearer {TOKEN}").status in (
        400,
        421,
    )


def test_this_machine_is_answered_by_all_its_names(ask):
    for host in ("localhost", f"localhost:{ask.port}", f"127.0.0.1:{ask.port}", "LOCALHOST:80", "[::1]:8765"):
        assert ask("/healthz", Host=host).status == 200


def test_pages_of_other_sites_are_refused(ask):
    own = f"http://127.0.0.1:{ask.port}"
    token = f"Bearer {TOKEN}"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": own + "0"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        assert ask("/streams.json", **headers).status == 403
        assert ask("/requests?database=plant.db", {"rate": 2}, Authorization=token, **headers).status == 403
    assert ask("/streams.json", Origin=own, Sec_Fetch_Site="same-origin").status == 200
    assert ask("/", Sec_Fetch_Site="cross-site").status == 200  # a link on another page


@pytest.mark.parametrize(
    "given", [None, "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", "Bearer ü"]
)
def test_changes_need_the_token(ask, plant, given):
    headers = {} if given is None else {"Authorization": given.encode()}
    before = query(plant, "SELECT count(*) FROM requests")
    answer = ask("/requests?database=plant.db", {"rate": 2}, **headers)
    assert answer.status == 401
    assert TOKEN not in answer.text
    assert query(plant, "SELECT count(*) FROM requests") == before


def test_without_a_token_nothing_can_be_changed(plant):
    with serving(plant, token=False) as ask:
        assert not ask.json("/streams.json")["changes"]
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {TOKEN}"}):
            answer = ask("/requests?database=plant.db", {"rate": 2}, **headers)
            assert answer.status == 403
            assert "--token-file" in answer.text


def test_beyond_the_loopback_a_token_is_needed_to_listen_and_to_read(plant):
    with pytest.raises(UsageError, match="--token-file"):
        make_server([plant], host="0.0.0.0", port=0)
    said = []
    with serving(plant, host="0.0.0.0", complain=said.append, allow_hosts=["plant.example"]) as ask:
        assert any("unencrypted" in line for line in said)
        ask.host = "127.0.0.1"
        for path in READING:
            assert ask(path).status == 401
            assert ask(path, Authorization=f"Bearer {TOKEN}").status == 200
        assert ask("/").status == ask("/healthz").status == 200
        assert ask("/", Host="plant.example").status == 200
        assert ask("/", Host="evil.example").status == 421
        assert ask("/", Host="localhost").status == 421  # not what it was reached by


def test_tokens_that_can_be_guessed_or_read_by_others_are_said(tmp_path):
    file, said = tmp_path / "token", []
    for text in ("", "short", "with blanks in between them", "x" * 15):
        file.write_text(text)
        with pytest.raises(WatchError, match="at least 16"):
            read_token(file)
    file.write_text(TOKEN + "\n")
    file.chmod(0o644)
    assert read_token(file, said.append) == TOKEN
    assert "chmod 600" in said[0]
    assert TOKEN not in said[0]
    with pytest.raises(WatchError, match="cannot be read"):
        read_token(tmp_path / "not-there")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"1", b"[" * 5000, {}, {"rate": 0}, {"rate": "2"}, {"rate": True}, {"rate": 1000},
        b'{"rate": NaN}', b'{"rate": Infinity}', {"acknowledge": "1"}, {"acknowledge": True}, {"mute": "pump 001"},
        {"mute": 3, "until": None}, {"mute": "pump 001", "until": "soon"}, {"unmute": None},
        {"rate": 2, "acknowledge": 0}, {"delete": "everything"},
    ],
)  # fmt: skip
def test_requests_that_make_no_sense_are_refused_and_leave_nothing(ask, plant, content):
    before = query(plant, "SELECT count(*) FROM requests")
    answer = ask("/requests?database=plant.db", content, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 400
    assert json.loads(answer.text)["error"]
    assert query(plant, "SELECT count(*) FROM requests") == before


def test_a_request_that_is_too_long_is_refused(ask):
    answer = ask("/requests?database=plant.db", b" " * 20_000, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 413


# -- the command ---------------------------------------------------------------------------------------------------


def test_the_command_says_where_it_serves_and_ends_by_a_signal(plant):
    process = subprocess.Popen(
        [sys.executable, "-c", "from hippozoo.apps.cli import main; main()", "serve", str(plant), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = process.stdout.readline().split()[1]
        until = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(address + "healthz", timeout=10) as answer:
                    assert json.load(answer)["status"] == "ok"
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert said == "hippozoo: stopped.\n"


def test_a_port_that_is_taken_is_said(ask, plant, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["serve", str(plant), "--port", str(ask.port)])
    assert ended.value.code == 1
    assert f"port {ask.port} of 127.0.0.1 is in use; pass another --port" in capsys.readouterr().err
    for arguments, said in (
        (["--host", "0.0.0.0"], "--token-file"),
        (["--host", "no-such-host.invalid"], "is no address of this machine"),
    ):
        with pytest.raises(SystemExit):
            main(["serve", str(plant), *arguments])
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["serve", str(plant), str(plant)])
    assert "named twice" in capsys.readouterr().err


def test_numbers_that_damage_has_left_are_null(tmp_path):
    path = write_streams(tmp_path / "plant.db", streams=1)
    database = sqlite3.connect(path)
    database.execute("UPDATE readings SET value = 9e999, p = 'x' WHERE number = 287")
    database.commit()
    database.close()
    with serving(path) as ask:
        [stream] = ask.json("/streams.json")["databases"][0]["streams"]
        assert stream["value"] is None
        assert np.isfinite(stream["expected"])
        assert ask("/metrics").status == 200


@pytest.mark.parametrize("content", [b"hello, I am no database" * 9, None])
def test_what_is_no_database_is_refused_at_the_start(content, tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        main(["serve", str(path), "--port", "0"])
    assert "is a folder" in (said := capsys.readouterr().err) or "is not a database of hippozoo watch" in said
