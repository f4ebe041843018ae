"""Signs of life: metrics in a file for Prometheus' node exporter, and messages to systemd."""

import os
import shutil
import socket
import threading
import time

import numpy as np
import pytest

from hippozoo._internal.files import CannotWriteError
from hippozoo.apps.cli import main
from hippozoo.apps.watch import metrics
from hippozoo.apps.watch.metrics import Textfile, write_metrics
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.store import Store
from hippozoo.apps.watch.terminal import heartbeat


def pump(path, count=300):
    values = np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(0).normal(size=count)
    path.write_text("time,flow\n" + "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)))
    return path


def test_a_textfile_holds_the_metrics_of_the_database_at_the_end(tmp_path):
    out, file = tmp_path / "pump.db", tmp_path / "pump.prom"
    settings = Settings(str(pump(tmp_path / "pump.csv")), horizon=4)
    Watch(settings, out, str, str, sinks=[Textfile(file)]).run()
    written = file.read_text()
    assert 'hippozoo_readings_total{database="pump.db"} 300\n' in written
    without = write_metrics([("pump.db", out)])
    changing = ("hippozoo_watch_running",)  # it was, when the file was written
    assert [line for line in written.splitlines() if not line.startswith(changing)] == [
        line for line in without.splitlines() if not line.startswith(changing)
    ]
    assert 'hippozoo_watch_running{database="pump.db"} 1' in written
    assert 'hippozoo_watch_running{database="pump.db"} 0' in without
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pump.csv", "pump.db", "pump.prom"]


def test_a_reader_never_sees_half_a_textfile(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "_EVERY", 0.001)
    out, file = tmp_path / "pump.db", tmp_path / "pump.prom"
    settings = Settings(str(pump(tmp_path / "pump.csv", 2000)), horizon=4, batch=1)
    watch = Watch(settings, out, str, str, sinks=[Textfile(file)])
    thread = threading.Thread(target=watch.run)
    thread.start()
    seen = set()
    while thread.is_alive():
        if file.exists():
            text = file.read_text()
            assert text.endswith("\n")
            assert text.count("# TYPE") == text.count("# HELP") >= 10
            seen.add(text)
    thread.join()
    assert len(seen) > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_watch_that_was_killed_before_its_first_commit_begins_again(tmp_path, monkeypatch):
    out, settings = tmp_path / "pump.db", Settings(str(pump(tmp_path / "pump.csv")), horizon=4)
    process = os.fork()
    if not process:
        monkeypatch.setattr(Store, "commit", lambda *_: os._exit(9))
        Watch(settings, out, str, str).run()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    assert 'hippozoo_readings_total{database="pump.db"} 0' in write_metrics([("pump.db", out)])
    assert Watch(settings, out, str, str).run().readings == 300


def test_a_textfile_that_cannot_be_written_is_refused_at_once_and_said_once_later(tmp_path, monkeypatch):
    with pytest.raises(CannotWriteError, match="there is no folder"):
        Textfile(tmp_path / "no" / "pump.prom")
    monkeypatch.setattr(metrics, "_EVERY", 0.01)
    folder, warned = tmp_path / "textfiles", []
    folder.mkdir()
    sink = Textfile(folder / "pump.prom")
    shutil.rmtree(folder)
    settings = Settings(str(pump(tmp_path / "pump.csv")), horizon=4, batch=1)
    status = Watch(settings, tmp_path / "pump.db", str, warned.append, sinks=[sink]).run()
    assert status.readings == 300
    assert sum("pump.prom cannot be written" in line for line in warned) == 1


@pytest.fixture(params=["file", "abstract"])
def systemd(request, tmp_path, monkeypatch):
    """What systemd does: a socket that it listens on, and an interval."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if request.param == "file":
        name = address = str(tmp_path / "notify")
    else:
        name, address = f"@hippozoo-{os.getpid()}", f"\0hippozoo-{os.getpid()}"
    listener.bind(address)
    listener.setblocking(False)
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    monkeypatch.setenv("WATCHDOG_USEC", "200000")

    def messages():
        found = []
        while True:
            try:
                found.append(listener.recv(1000).decode())
            except BlockingIOError:
                return found

    yield messages
    listener.close()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd is there where such sockets are")
def test_a_watch_says_that_it_is_ready_and_goes_on_saying_that_it_works(tmp_path, systemd):
    source = tmp_path / "pump.csv"
    source.write_text("")  # nothing has come yet: it waits, and is well
    out = tmp_path / "pump.db"
    watch = Watch(Settings(str(source), horizon=4, follow=True), out, str, str, beat=heartbeat())
    thread = threading.Thread(target=watch.run)
    thread.start()
    time.sleep(1.0)
    waiting = systemd()
    pump(source)
    until = time.monotonic() + 30
    while not out.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)
    working = systemd()
    watch._stop = True
    thread.join(30)
    assert waiting[0] == "READY=1\nWATCHDOG=1"
    assert set(waiting[1:]) == set(working) == {"WATCHDOG=1"}
    assert len(waiting) >= 3
    assert len(working) >= 3


def test_without_systemd_nothing_is_sent(monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert heartbeat()() is None
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    assert heartbeat()() is None


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--mqtt", "mqtt://h/t"], "a source or --mqtt, not both", 2),
        (["--webhook", "ftp://host/x"], "pass a URL such as https://host/path", 1),
        (["--webhook", "@no-such-file"], "cannot be read", 1),
        (["--webhook", "http://host/x", "--webhook-form", "xml"], "pass json or slack", 1),
        (["--mqtt-alarms", "mqtt://host/#"], "no wildcards", 1),
        (["--mqtt-alarms", "mqtt://host/x", "--mqtt-credentials", "no-such-file"], "cannot be read", 1),
        (["--textfile", "no/such/folder/x.prom"], "there is no folder", 1),
    ],
)
def test_destinations_that_cannot_be_are_refused_before_anything_is_made(tmp_path, capsys, options, said, code):
    pump(tmp_path / "pump.csv")
    with pytest.raises(SystemExit) as ended:
        main(["watch", str(tmp_path / "pump.csv"), "--out", str(tmp_path / "pump.db"), *options])
    assert ended.value.code == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "pump.db").exists()
