"""A server that runs, and somebody who asks."""

import json
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection

from hippozoo.apps.serve.server import make_server

TOKEN = "correct-horse-battery-staple"


class Asking:
    """Asks a server, over a connection of its own each time."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.address = f"http://{host}:{port}/"

    def __call__(self, path, content=None, method=None, **headers):
        connection = HTTPConnection(self.host, self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        answer.text = text
        return answer

    def json(self, path, content=None, **headers):
        answer = self(path, content, **headers)
        assert answer.status == 200, answer.text
        return json.loads(answer.text)

    def change(self, database, content):
        return self.json(f"/requests?database={database}", content, Authorization=f"Bearer {TOKEN}")["outcome"]


@contextmanager
def serving(*paths, token=True, folder=None, **choices):
    folder = folder or paths[0].parent
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    server, listener = make_server(paths, port=0, token_file=folder / "token" if token else None, **choices)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield Asking(*listener.getsockname()[:2])
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
