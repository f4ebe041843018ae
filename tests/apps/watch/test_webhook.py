"""Alarms reach a web hook at least once, in order, and nothing that it does holds up the readings."""

import json
import shutil
import sqlite3
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from hippozoo.apps.cli import main
from hippozoo.apps.watch import outbox, webhook
from hippozoo.apps.watch.outbox import Outbox, UndeliveredError
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.webhook import Webhook

SECRET = "T0-B0-very-secret"


def pump(path, count=500, spikes=((200, 9.0), (300, -40.0), (400, 200.0))):
    values = np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(0).normal(size=count)
    for number, size in spikes:
        values[number] += size
    path.write_text("time,flow\n" + "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)))
    return path


@contextmanager
def receiving(answer=lambda number, handler: 200, context=None):
    """A real server; `answer` gives the status of each request, or writes one of its own and returns None."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answer(len(received), self)
            if status is None:
                return
            received.append((self.path, self.headers["Idempotency-Key"], json.loads(body), status))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.received = True, received
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.url = f"http{'s' * (context is not None)}://127.0.0.1:{server.server_port}/hooks/{SECRET}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def watched(source, out, url, form="json", **choices):
    told, warned = [], []
    settings = Settings(str(source), **{"horizon": 4, "rate": 1.0, "silence": "20", **choices})
    Watch(settings, out, told.append, warned.append, sinks=[Outbox(Webhook(url, form))]).run()
    return [json.loads(line) for line in told], warned


def waiting(out):
    database = sqlite3.connect(out)
    found = database.execute("SELECT sink, key, body FROM outbox ORDER BY id").fetchall()
    database.close()
    return found


@pytest.fixture
def impatient(monkeypatch):
    """Seconds become hundredths."""
    monkeypatch.setattr(outbox, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(outbox, "_LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(webhook, "_TIMEOUT", 0.5)


def test_every_alarm_and_every_end_arrives_once_in_order_with_an_id(tmp_path):
    with receiving() as server:
        told, warned = watched(pump(tmp_path / "pump.csv"), tmp_path / "pump.db", server.url)
    bodies = [body for _, _, body, _ in server.received]
    assert len(told) >= 4
    assert [{kind: body[kind] for kind in ("alarm", "end") if kind in body} for body in bodies] == told
    keys = [key for _, key, _, _ in server.received]
    assert len(set(keys)) == len(keys)
    assert [body["id"] for body in bodies] == keys
    assert {body["database"] for body in bodies} == {"pump.db"}
    assert waiting(tmp_path / "pump.db") == []
    assert not any("webhook" in line for line in warned)


def test_alarms_that_are_told_again_after_a_crash_have_the_same_id(tmp_path):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    with receiving() as server:
        watched(source, out, server.url)
        before = {key: body for _, key, body, _ in server.received}
        database = sqlite3.connect(out)
        database.execute("UPDATE alarms SET told = 0 WHERE lead = id")
        database.commit()
        database.close()
        server.received.clear()
        watched(source, out, server.url)
        again = {key: body for _, key, body, _ in server.received}
    assert again
    assert again == {key: body for key, body in before.items() if "alarm" in body}


def test_two_databases_have_different_ids_for_alarms_of_the_same_number(tmp_path):
    source = pump(tmp_path / "pump.csv")
    with receiving() as server:
        watched(source, tmp_path / "a.db", server.url)
        watched(source, tmp_path / "b.db", server.url)
    keys = [key for _, key, _, _ in server.received]
    assert len(set(keys)) == len(keys)


def test_alarms_wait_in_the_database_while_nobody_listens_and_the_next_run_sends_them(tmp_path, impatient):
    source, out = pump(tmp_path / "pump.csv"), tmp_path / "pump.db"
    with receiving() as server:
        pass
    told, warned = watched(source, out, server.url)  # refused by now
    assert len(waiting(out)) == len(told)
    assert sum("did not take an alarm" in line for line in warned) == 1
    assert any(f"{len(told)} alarms wait" in line for line in warned)
    with receiving() as server:
        watched(source, out, server.url)
    assert [{kind: one[2][kind] for kind in ("alarm", "end") if kind in one[2]} for one in server.received] == told
    assert waiting(out) == []


def test_failures_are_retried_until_the_recipient_takes_it_and_said_once(tmp_path, impatient):
    with receiving(lambda number, _: 503 if number < 4 else 200) as server:
        # Follows, so that there is time to try again; ends when all has arrived.
        source, out, warned = pump(tmp_path / "pump.csv"), tmp_path / "pump.db", []
        sink = Outbox(Webhook(server.url))
        watch = Watch(
            Settings(str(source), horizon=4, silence="20", follow=True), out, str, warned.append, sinks=[sink]
        )

        def look(status):
            watch._stop = status.readings == 500 and not waiting(out)

        watch.status = look
        watch.run()
    arrived = [one for one in server.received if one[3] == 200]
    assert len({key for _, key, _, _ in server.received[:5]}) == 1  # the first one first, however often
    assert len(arrived) == len({key for _, key, _, _ in arrived}) > 1
    assert sum("did not take an alarm: it answered 503" in line for line in warned) == 1
    assert sum("takes alarms again" in line for line in warned) == 1


def test_a_recipient_that_hangs_holds_up_no_reading(tmp_path):
    asked, release = threading.Event(), threading.Event()

    def hang(number, handler):
        asked.set()
        release.wait(30)
        return 200

    with receiving(hang) as server:
        source, out = pump(tmp_path / "pump.csv", spikes=((300, 9.0),)), tmp_path / "pump.db"
        watch = Watch(
            Settings(str(source), horizon=4, silence="20", follow=True, batch=1), out, str, str,
            sinks=[Outbox(Webhook(server.url))],
        )  # fmt: skip
        seen = []

        def look(status):
            seen.append((status.readings, asked.is_set()))
            if status.readings == 500:
                release.set()
                watch._stop = True

        watch.status = look
        watch.run()
    assert seen[-1] == (500, True)  # all were committed while the first alarm hung
    assert waiting(out) == []


def test_a_recipient_that_answers_one_byte_at_a_time_is_given_up(tmp_path, impatient):
    def drip(number, handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-")
        for _ in range(100):
            try:
                handler.wfile.write(b"a")
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)

    with receiving(drip) as server:
        began = time.monotonic()
        with pytest.raises(UndeliveredError):
            Webhook(server.url).deliver("key", "{}")
        assert time.monotonic() - began < 5


def test_redirects_are_not_followed(tmp_path, impatient):
    refused = pytest.raises(UndeliveredError, match="it answered 302, and redirects are not followed")
    with receiving(lambda number, _: 302) as server, refused:
        Webhook(server.url).deliver("key", "{}")
    assert [path for path, _, _, _ in server.received] == [f"/hooks/{SECRET}"]


def test_what_is_refused_for_its_contents_is_set_aside_and_those_behind_it_get_through(tmp_path, impatient):
    with receiving(lambda number, _: 422 if number < 3 else 200) as server:
        source, out, warned = pump(tmp_path / "pump.csv"), tmp_path / "pump.db", []
        watch = Watch(
            Settings(str(source), horizon=4, silence="20", follow=True), out, str, warned.append,
            sinks=[Outbox(Webhook(server.url))],
        )  # fmt: skip
        watch.status = lambda status: setattr(watch, "_stop", status.readings == 500 and not waiting(out))
        watch.run()
    keys = [key for _, key, _, _ in server.received]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert sum("refused an alarm 3 times" in line for line in warned) == 1


def test_the_backlog_is_bounded_and_the_oldest_go_first(tmp_path, monkeypatch, impatient):
    monkeypatch.setattr(outbox, "MOST_WAITING", 3)
    with receiving() as server:
        pass
    told, warned = watched(pump(tmp_path / "pump.csv"), tmp_path / "pump.db", server.url)
    left = [json.loads(body) for _, _, body in waiting(tmp_path / "pump.db")]
    assert [{kind: one[kind] for kind in ("alarm", "end") if kind in one} for one in left] == told[-3:]
    assert any("more than 3 alarms wait" in line for line in warned)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_a_certificate_is_verified(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with receiving(context=context) as server:
        with pytest.raises(UndeliveredError, match="its certificate is not valid"):
            Webhook(server.url).deliver("key", "{}")
        assert server.received == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))  # whom the machine trusts
        Webhook(server.url).deliver("key", "{}")
    assert len(server.received) == 1


@pytest.mark.parametrize("from_file", [True, False])
def test_the_secret_in_the_address_is_neither_printed_nor_kept(tmp_path, capfd, impatient, from_file):
    with receiving() as server:
        pass
    url = server.url.replace("://", "://user:pass-word@")
    (tmp_path / "url.txt").write_text(url + "\n")
    given = f"@{tmp_path / 'url.txt'}" if from_file else url
    pump(tmp_path / "pump.csv")
    arguments = ["watch", str(tmp_path / "pump.csv"), "--out", str(tmp_path / "pump.db"), "--horizon", "4"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--webhook", given, "--webhook-form", "slack"])
    assert ended.value.code == 0
    said = "".join(capfd.readouterr())
    assert "the webhook at http://127.0.0.1:" in said
    kept = (tmp_path / "pump.db").read_bytes()
    for secret in (SECRET, "pass-word"):
        assert secret not in said
        assert secret.encode() not in kept
    for wrong in (url.replace("http", "ftp"), url.replace("127.0.0.1", ""), url + "\x07", "http://[" + SECRET):
        with pytest.raises(WatchError) as refused:
            Webhook(wrong)
        assert SECRET not in str(refused.value)


def test_user_and_password_of_an_address_are_sent_as_such():
    headers = {}
    with receiving(lambda number, handler: headers.update(handler.headers) or 200) as server:
        Webhook(server.url.replace("://", "://user:pass%3Aword@")).deliver("key", "{}")
    assert headers["Authorization"] == "Basic dXNlcjpwYXNzOndvcmQ="
    assert "@" not in headers["Host"]


def test_slack_gets_a_text_in_which_no_name_is_a_command(tmp_path):
    source = pump(tmp_path / "pump.csv")
    source.write_text(source.read_text().replace("time,flow", "time,<!channel> & flow"))
    with receiving() as server:
        watched(source, tmp_path / "pump.db", server.url, "slack")
    texts = [body["text"] for _, _, body, _ in server.received]
    assert all(list(body) == ["text"] for _, _, body, _ in server.received)
    assert "&lt;!channel&gt; &amp; flow rose to" in texts[0]
    assert "back to normal" in texts[-1]
