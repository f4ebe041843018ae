"""docs/watch-in-production.md: its commands run, its unit file is one, and its dashboard reads metrics that exist."""

import configparser
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="hippozoo serve needs starlette")
pytest.importorskip("uvicorn", reason="hippozoo serve needs uvicorn")
pytest.importorskip("paho.mqtt", reason="needs paho-mqtt")

from brokers import Amqtt, free_port, wait_for_port
from hippozoo.apps.watch.metrics import _FAMILIES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "watch-in-production.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines() if line]


def test_the_page_is_short():
    assert len(PAGE.split()) <= 1200


@contextmanager
def web():
    """What takes web hooks, and answers as InfluxDB does."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.end_headers()

        def do_GET(self):
            assert self.headers["Accept"] == "application/csv"
            rows = "".join(f"flow,,{1704067200 + 60 * k},{np.sin(k / 6):.4f}\n" for k in range(100))
            body = f"name,tags,time,value\n{rows}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port, posted
    finally:
        server.shutdown()
        server.server_close()


def rows(start, end):
    values = np.sin(np.arange(end) / 6) + 0.1 * np.random.default_rng(0).normal(size=end)
    for number, size in ((200, 9.0), (400, -60.0), (600, 400.0)):
        values[number : number + 1] += size
    return [f"2024-01-{1 + k // 1440:02d} {k // 60 % 24:02d}:{k % 60:02d},{values[k]:.5f}\n" for k in range(start, end)]


def count(path, table="readings"):
    database = sqlite3.connect(path, timeout=30)
    try:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


@pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("curl") is None or shutil.which("sqlite3") is None,
    reason="needs bash, curl and sqlite3",
)
def test_its_commands_run(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    start = f'#!/bin/sh\nexec {sys.executable} -c "from hippozoo.apps.cli import main; main()" "$@"\n'
    stand_in = "".join(f'{{"time": {1704067200 + 60 * k}, "flow": {np.sin(k / 6):.4f}}}\n' for k in range(100))
    (tmp_path / "kafka.jsonl").write_text(stand_in)
    for name, script in (
        ("hippozoo", start),
        ("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
        ("kcat", f"#!/bin/sh\ncat {tmp_path}/kafka.jsonl\n"),
    ):
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    (tmp_path / "sensor.csv").write_text("time,flow\n" + "".join(rows(0, 300)))
    panel = [f"2024-01-01 00:{k // 2:02d},{'ab'[k % 2]},{np.sin(k / 9):.4f}\n" for k in range(100)]
    (tmp_path / "plant.csv").write_text("time,pump,flow\n" + "".join(panel))
    broker, port = Amqtt(tmp_path), free_port()
    broker.start()
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    seen: dict[str, str] = {}

    def here(command, hook):
        for ours, theirs in (
            ("127.0.0.1:8765", f"127.0.0.1:{port}"), ("--port 8765", f"--port {port}"),
            ("https://hooks.example.com", f"http://127.0.0.1:{hook}"), ("localhost:8086", f"127.0.0.1:{hook}"),
            ("127.0.0.1:1883", f"127.0.0.1:{broker.port}"), ("/opt/venv/bin/", ""), ("/var/log/", f"{tmp_path}/"),
            ("/var/lib/sensor/", f"{tmp_path}/"),
        ):  # fmt: skip
            command = command.replace(ours, theirs)
        return ["bash", "-euo", "pipefail", "-c", command]

    def run(command, hook):
        done = subprocess.run(
            here(command, hook), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        seen[command] = done.stdout

    def wait_until(condition):
        until = time.monotonic() + 90
        while not condition() and time.monotonic() < until:
            time.sleep(0.1)
        assert condition()

    at_work = []
    with web() as (hook, posted):
        try:
            [cron] = [code for language, code in BLOCKS if language == "text"]
            run(cron.strip().removeprefix("*/10 * * * * "), hook)
            assert '"alarm"' in (tmp_path / "alarms.jsonl").read_text()
            for command in COMMANDS:
                if command.startswith("pip install"):
                    continue
                if "--webhook" in command:  # something to tell
                    with (tmp_path / "sensor.csv").open("a") as file:
                        file.writelines(rows(300, 500) if "slack" not in command else rows(500, 700))
                if not command.startswith(("hippozoo serve", "hippozoo watch --mqtt")):
                    run(command, hook)
                    continue
                at_work.append(
                    subprocess.Popen(
                        here("exec " + command, hook), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
                    )
                )
                if "serve" in command:
                    wait_for_port(port, 90)
                    continue
                _publish(broker.port, lambda: count(tmp_path / "plant.db") >= 10)
            wait_until(lambda: count(tmp_path / "plant.db") >= 10)
            assert count(tmp_path / "sensor.db") == count(tmp_path / "sensor-backup.db") == 700
            assert count(tmp_path / "kafka.db") == count(tmp_path / "influx.db") == count(tmp_path / "panel.db") == 100
            assert "hippozoo_readings_total" in (tmp_path / "sensor.prom").read_text()
            assert (tmp_path / "sensor.html").exists()
            assert {path for path, _ in posted} == {"/services/T0/B0/secret"}
            assert [list(body) for _, body in posted][:1] == [["id", "database", "alarm"]]
            assert any("flow rose to" in body.get("text", "") for _, body in posted), posted
            answers = "\n".join(seen.values())
            for part in (
                '"status":"',
                '"severity":"',
                "event 0 is acknowledged",
                "flow is muted",
                "wrote sensor.html",
            ):
                assert part in answers, part
        finally:
            for process in at_work:
                process.send_signal(signal.SIGTERM)
            said = [process.communicate(timeout=60)[1] for process in at_work]
            broker.stop()
    assert [process.returncode for process in at_work] == [0, 0], said


def _publish(port, enough):
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2, "pump")
    client.connect("127.0.0.1", port)
    client.loop_start()
    until = time.monotonic() + 90
    while not enough() and time.monotonic() < until:
        client.publish("plant/a/flow", "1.5", qos=1).wait_for_publish(10)
        time.sleep(0.1)
    client.disconnect()
    client.loop_stop()


def test_its_unit_file_is_one(tmp_path):
    [unit] = [code for language, code in BLOCKS if language == "ini"]
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str
    parsed.read_string(unit)
    assert parsed["Service"]["Type"] == "notify"
    assert parsed["Service"]["Restart"] == "always"
    assert float(parsed["Service"]["WatchdogSec"]) > 0
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze for the rest")
    file = tmp_path / "watch-sensor.service"
    file.write_text(unit.replace("/opt/venv/bin/hippozoo", "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True)
    about = [line for line in checked.stderr.splitlines() if "watch-sensor" in line]
    assert about == []


def test_the_dashboard_reads_metrics_that_exist():
    board = json.loads((ROOT / "examples" / "grafana-dashboard.json").read_text(encoding="utf-8"))
    queries = [one["expr"] for panel in board["panels"] for one in panel["targets"]]
    queries += [one["query"]["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    named = set(re.findall(r"hippozoo_(\w+)", " ".join(queries)))
    assert named <= set(_FAMILIES)
    assert set(_FAMILIES) - named <= {"p", "rate"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [panel["gridPos"] for panel in board["panels"]]
    assert all(one["x"] + one["w"] <= 24 for one in places)
    cells = [
        (x, y)
        for one in places
        for x in range(one["x"], one["x"] + one["w"])
        for y in range(one["y"], one["y"] + one["h"])
    ]
    assert len(set(cells)) == len(cells)  # no panel lies on another
