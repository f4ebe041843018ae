"""The explorer's server: this machine only, its own pages only, and sentences where something is in the way."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("panel", reason="the explorer needs Panel")

from hippozoo.apps.cli import main


@pytest.fixture(scope="module")
def port():
    """The explorer as its users start it."""
    program = "from hippozoo.apps.cli import main; main(['explore', '--no-browser'])"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline()
        yield int(re.fullmatch(r"explorer at http://127\.0\.0\.1:(\d+)/\n", address)[1])
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0


def test_it_listens_on_this_machine_only(port):
    local = socket.gethostbyname(socket.gethostname())
    if local.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(ConnectionRefusedError), socket.create_connection((local, port), timeout=5):
        pass


@pytest.mark.parametrize(
    ("origin", "answer"),
    [("http://127.0.0.1:{}", "101"), ("http://elsewhere.example", "403"), ("http://elsewhere.example:{}", "403")],
)
def test_only_pages_of_its_own_may_talk_to_it(port, origin, answer):
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read().decode()
    token = re.search(r'"token":"([^"]+)"', page)[1]
    request = (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: bokeh, {token}\r\nOrigin: {origin.format(port)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request.encode())
        assert connection.recv(200).split()[1] == answer.encode()


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/bokeh.min.js", "/no-such-page"])
@pytest.mark.parametrize(
    "host", ["evil.example:{}", "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{}", ""]
)
def test_a_name_that_was_made_to_lead_here_is_answered_by_nothing(port, host, path):
    """DNS rebinding: to the browser the foreign page and this server are of one origin."""
    name = f"Host: {host.format(port)}\r\n" if host else ""
    origin = f"Origin: http://{host.format(port)}\r\n"
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    upgrade += "Sec-WebSocket-Version: 13\r\n"
    request = f"GET {path} HTTP/1.1\r\n{name}{origin}{upgrade if path == '/ws' else ''}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request.encode())
        assert connection.recv(200).split()[1] in (b"403", b"400")


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "LOCALHOST:{}"])
def test_its_own_names_are_answered(port, host):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host.format(port)}\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(200).split()[1] == b"200"


def test_the_page_fetches_nothing_from_elsewhere(port):
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read().decode()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', page)


def test_a_port_in_use_is_told_in_a_sentence(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SystemExit) as stopped:
            main(["explore", "--no-browser", "--port", str(port)])
    assert stopped.value.code == 1
    assert f"port {port} is in use" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_told_before_anything_is_served(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["explore", str(tmp_path / "no.csv"), "--no-browser"])
    assert stopped.value.code == 1
    assert "there is no such file" in capsys.readouterr().err


def test_a_column_needs_a_file(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["explore", "--column", "load", "--no-browser"])
    assert stopped.value.code == 2
    assert "needs a file" in capsys.readouterr().err


def test_without_panel_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "panel", None)
    with pytest.raises(SystemExit) as stopped:
        main(["explore", "--no-browser"])
    assert stopped.value.code == 1
    assert "hippozoo[explore]" in capsys.readouterr().err


def test_neither_the_package_nor_its_help_loads_panel():
    program = (
        "import sys, hippozoo, hippozoo.apps.explore\nfrom hippozoo.apps.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit: pass\n"
        "assert not {'panel', 'bokeh', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
